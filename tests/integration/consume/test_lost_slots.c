/* test_lost_slots.c - a slot that its owner loses while answers are not sent yet, and gets again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/waiter.h"
#include "consume/consumer/consumer.h"
#include "consume/slot/owned_slot.h"
#include "integration/coord/raw.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/proxy.h"
#include "support/wait.h"

/* The only member of a fleet, with its worker behind a proxy. */
struct owner {
    smq_client *direct, *behind;
    struct proxy *proxy;
    struct handler_log *log;
    smq_consumer *worker;
};

/* --- what the slot knows, asked on its own thread --- */

struct question {
    struct loop_task task;
    struct waiter waiter;
    smq_consumer *worker;
    int returning; /* retries that are not sent */
    bool acquiring;
    bool sleeps; /* it has looked beside its messages, and found nothing */
};

static void on_question(struct loop_task *task)
{
    struct question *question = (struct question *) task; /* its first member */
    const struct owned_slot *slot = question->worker->set.slots[0];

    question->returning = slot != NULL ? (int) slot->requeue_count : 0;
    question->sleeps = slot != NULL && slot->consuming == NULL && slot->look_us == NEXT_CALL_NEVER;
    question->acquiring = slot != NULL && slot->state == OWNED_ACQUIRING;
    waiter_done(&question->waiter);
}

static struct question ask(const struct owner *owner)
{
    struct question question = {.task.run = on_question, .worker = owner->worker};

    waiter_init(&question.waiter, 1);
    loop_post(owner->worker->set.core->io, &question.task);
    (void) waiter_wait(&question.waiter, SMQ_FOREVER);
    waiter_fini(&question.waiter);
    return question;
}

static bool retry_is_unsent(void *arg)
{
    return ask(arg).returning == 1;
}

static bool sleeps(void *arg)
{
    return ask(arg).sleeps;
}

static bool is_granted_anew(void *arg)
{
    return ask(arg).acquiring;
}

static bool has_kept(void *arg)
{
    const struct owner *owner = arg;

    return proxy_has_kept(owner->proxy);
}

/* "a" is done, "b" fails once. */
static smq_verdict fail_b(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    return index == 1 ? SMQ_RETRY : SMQ_DONE;
}

/* The member's node is deleted: its slots are lost, it joins again. */
static void expel(void)
{
    zhandle_t *handle = raw_connect(servers_zookeeper(cluster_servers()), NULL);

    assert_int_equal(zoo_delete(handle, "/slotmq/members/owner", -1), ZOK);
    zookeeper_close(handle);
}

/* What fails keeps back what waits behind it until its retry is stored.  Here it never is: the
 * slot is lost before, and granted anew while the call before it is still in flight. */
static void a_retry_that_is_lost_with_the_slot_keeps_nothing_back(void **state)
{
    smq_consumer_options work = SMQ_CONSUMER_OPTIONS_INIT;
    struct owner owner = {.direct = cluster_client(), .log = handler_log_new(fail_b)};
    const char *name = NULL;

    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIFO);
    name = cluster_topic(owner.direct, &topic);
    messages_send(owner.direct, name, (struct test_message){.body = "a", .key = "k", .id = "a"});
    messages_send(owner.direct, name, (struct test_message){.body = "b", .key = "k", .id = "b"});
    owner.proxy = proxy_start(server_port(servers_node(cluster_servers(), 0)));
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = proxy_address(owner.proxy), .request_timeout_ms = 60000,
                           .zookeeper = servers_zookeeper(cluster_servers()), .name = "owner");
    owner.behind = cluster_client_with(&options);
    handler_log_gate(owner.log);
    owner.worker = handler_log_worker_with(owner.behind, &work, name, owner.log);

    handler_log_await(owner.log, 1);
    assert_true(wait_until(sleeps, &owner, TIMEOUT_MS));
    proxy_hold(owner.proxy);
    handler_log_open(owner.log, 1);
    assert_true(wait_until(has_kept, &owner, TIMEOUT_MS)); /* "a" is settled */
    handler_log_await(owner.log, 2);
    handler_log_open(owner.log, 1);
    assert_true(wait_until(retry_is_unsent, &owner, TIMEOUT_MS));
    expel();
    assert_true(wait_until(is_granted_anew, &owner, TIMEOUT_MS));
    proxy_release(owner.proxy);

    handler_log_open(owner.log, 8);
    handler_log_await(owner.log, 3);
    assert_string_equal(handler_log_seen(owner.log, 2).body, "b");
    messages_await_counts(owner.direct, name, (struct message_counts){.done = 2});
    handler_log_stop_worker(owner.worker);
    smq_client_free(owner.behind);
    proxy_stop(owner.proxy);
    handler_log_free(owner.log);
    smq_client_free(owner.direct);
}

TEST_GROUP(lost_slots)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_that_is_lost_with_the_slot_keeps_nothing_back),
    };

    return cmocka_run_group_tests(tests, cluster_start_single_fleet, cluster_end);
}
