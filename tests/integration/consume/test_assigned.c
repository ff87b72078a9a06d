/* test_assigned.c - how many slots a process has is reported once for a change of the assignment,
 * and not once for each slot. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "integration/coord/raw.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 64 };

/* --- one process, and its events --- */

struct process {
    smq_client *client;
    struct handler_log *log;
    smq_consumer *worker;
    int64_t since_ms;
    const char *topic;
    pthread_mutex_t lock;
    int events;                 /* ASSIGNED */
    int gained, lost;           /* slots, as these say */
    int owned;                  /* as the last of them says; -1: there was none */
    int slot_gained, slot_lost; /* events of DEBUG, each of one slot */
    char wrong[128];            /* the last ASSIGNED that was not as it should be */
};

/* Does it say by how much the number before it has changed, in its fields and in its text? */
static bool is_right(const struct process *process, const smq_event *event)
{
    const int before = process->owned < 0 ? 0 : process->owned;
    char text[128];

    snprintf(text, sizeof(text),
             "topic %s: %" PRId32 " %s gained, %" PRId32 " lost; this process owns %" PRId32
             " of %d",
             process->topic, event->slots_gained, event->slots_gained == 1 ? "slot" : "slots",
             event->slots_lost, event->slots_owned, SLOTS);
    return event->level == SMQ_LEVEL_INFO && event->status == SMQ_OK && event->slot == -1 &&
           event->slots_gained + event->slots_lost > 0 &&
           event->slots_owned == before + event->slots_gained - event->slots_lost &&
           strcmp(event->topic, process->topic) == 0 && strcmp(event->text, text) == 0;
}

static void see_assigned(struct process *process, const smq_event *event)
{
    if (!is_right(process, event)) {
        snprintf(process->wrong, sizeof(process->wrong), "%s", event->text);
    }
    process->events++;
    process->gained += event->slots_gained;
    process->lost += event->slots_lost;
    process->owned = event->slots_owned;
}

static void on_event(const smq_event *event, void *user)
{
    struct process *process = user;

    pthread_mutex_lock(&process->lock);
    if (event->kind == SMQ_EVENT_ASSIGNED) {
        see_assigned(process, event);
    } else if (event->level == SMQ_LEVEL_DEBUG) {
        process->slot_gained += event->kind == SMQ_EVENT_SLOT_GAINED ? 1 : 0;
        process->slot_lost += event->kind == SMQ_EVENT_SLOT_LOST ? 1 : 0;
    }
    pthread_mutex_unlock(&process->lock);
}

static int number(struct process *process, const int *field)
{
    int value;

    pthread_mutex_lock(&process->lock);
    value = *field;
    pthread_mutex_unlock(&process->lock);
    return value;
}

/* `name` NULL: without ZooKeeper. */
static void process_init(struct process *process, const char *name, const char *topic)
{
    *process = (struct process){.lock = PTHREAD_MUTEX_INITIALIZER, .owned = -1, .topic = topic};
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.name = name,
                           .zookeeper = name != NULL ? servers_zookeeper(cluster_servers()) : NULL,
                           .event = on_event, .event_user = process,
                           .event_level = SMQ_LEVEL_DEBUG);
    process->since_ms = clock_now_ms();
    process->client = cluster_client_with(&options);
}

static void process_start(struct process *process, const char *name, const char *topic)
{
    process_init(process, name, topic);
    process->log = handler_log_new(NULL);
    process->worker = handler_log_worker(process->client, topic, process->log);
}

static void process_stop(struct process *process)
{
    handler_log_stop_worker(process->worker);
    handler_log_free(process->log);
    smq_client_free(process->client);
}

struct owns {
    struct process *process;
    int count;
};

static bool owns_so_many(void *arg)
{
    const struct owns *owns = arg;

    return number(owns->process, &owns->process->owned) == owns->count;
}

static void await_owned(struct process *process, int count)
{
    struct owns owns = {process, count};

    if (!wait_until(owns_so_many, &owns, TIMEOUT_MS)) {
        fail_msg("it owns %d slots, not %d", number(process, &process->owned), count);
    }
}

/* After its end: it has lost what it had gained.  There was at most one event a second, besides the
 * one at the end; and each slot was reported, too. */
static void assert_reported(const struct process *process, int slots)
{
    const int64_t ms = clock_now_ms() - process->since_ms;

    assert_string_equal(process->wrong, "");
    assert_int_equal(process->owned, 0);
    assert_int_equal(process->gained, slots);
    assert_int_equal(process->lost, slots);
    assert_int_equal(process->slot_gained, slots);
    assert_int_equal(process->slot_lost, slots);
    assert_true(process->events <= 2 + ms / 1000);
    print_message("%d events for %d slots gained and lost\n", process->events, slots);
}

/* --- what happens to a fleet --- */

static void joins_and_leaves_are_reported_once(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct process first, second;

    process_start(&first, "first", topic);
    await_owned(&first, SLOTS);
    process_start(&second, "second", topic);
    await_owned(&first, SLOTS / 2);
    await_owned(&second, SLOTS / 2);
    process_stop(&second);
    await_owned(&first, SLOTS);
    process_stop(&first);
    assert_reported(&second, SLOTS / 2);
    assert_reported(&first, SLOTS + SLOTS / 2);
    smq_client_free(client);
}

static bool has_lost_all(void *arg)
{
    struct process *process = arg;

    return number(process, &process->lost) == SLOTS;
}

/* Its node is deleted, as at the end of its session; then it joins again. */
static void lost_membership_is_reported_once(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct process process;
    zhandle_t *handle;

    process_start(&process, "expelled", topic);
    await_owned(&process, SLOTS);
    handle = raw_connect(servers_zookeeper(cluster_servers()), NULL);
    assert_int_equal(zoo_delete(handle, "/slotmq/members/expelled", -1), ZOK);
    zookeeper_close(handle);
    assert_true(wait_until(has_lost_all, &process, TIMEOUT_MS));
    await_owned(&process, SLOTS);
    process_stop(&process);
    assert_reported(&process, 2 * SLOTS);
    smq_client_free(client);
}

/* --- without ZooKeeper --- */

static void polled_consumer_reports_it_too(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct process process;
    smq_consumer *consumer;

    process_init(&process, NULL, topic);
    consumer = messages_consumer(process.client, topic);
    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_done(messages_poll(consumer));
    await_owned(&process, SLOTS);
    smq_consumer_free(consumer);
    smq_client_free(process.client);
    assert_reported(&process, SLOTS);
    smq_client_free(client);
}

/* The slots of a shared topic have no owner. */
static void shared_topic_has_no_slots_to_report(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, true, SLOTS);
    struct process process;

    process_start(&process, NULL, topic);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(process.log, 1);
    process_stop(&process);
    assert_int_equal(process.events, 0);
    assert_int_equal(process.slot_gained + process.slot_lost, 0);
    smq_client_free(client);
}

TEST_GROUP(assigned)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_and_leaves_are_reported_once),
        cmocka_unit_test(lost_membership_is_reported_once),
        cmocka_unit_test(polled_consumer_reports_it_too),
        cmocka_unit_test(shared_topic_has_no_slots_to_report),
    };

    return cmocka_run_group_tests(tests, cluster_start_single_fleet, cluster_end);
}
