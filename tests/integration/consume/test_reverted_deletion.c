/* test_reverted_deletion.c - a deletion of a topic that is taken back, because the topic was not
 * empty, while a worker consumes it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/waiter.h"
#include "consume/consumer/consumer.h"
#include "consume/slot/owned_slot.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { MISSING_MS = 1000 };

struct deletion {
    smq_consumer *worker;
    redisContext *redis;
    const char *topic;
    char def[1024]; /* of the slot, which the deletion withdraws */
};

static void command(redisContext *redis, const char *format, ...)
{
    va_list args;
    redisReply *reply = NULL;

    va_start(args, format);
    reply = redisvCommand(redis, format, args);
    va_end(args);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static void begin(struct deletion *deletion)
{
    redisReply *reply = redisCommand(deletion->redis, "HGET slot{%s_0} def", deletion->topic);

    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    (void) snprintf(deletion->def, sizeof(deletion->def), "%s", reply->str);
    freeReplyObject(reply);
    command(deletion->redis, "HSET topic{%s} state deleting", deletion->topic);
    command(deletion->redis, "HDEL slot{%s_0} def", deletion->topic);
    command(deletion->redis, "SPUBLISH wake{%s_0} 1", deletion->topic);
}

static void take_back(struct deletion *deletion)
{
    command(deletion->redis, "HSETNX slot{%s_0} def %s", deletion->topic, deletion->def);
    command(deletion->redis, "HSET topic{%s} state ready", deletion->topic);
}

/* --- what the worker knows, asked on its own thread --- */

struct question {
    struct loop_task task;
    struct waiter waiter;
    struct deletion *deletion;
    bool take_back; /* if the topic is missing, before the worker can look again */
    bool missing;
};

static void on_question(struct loop_task *task)
{
    struct question *question = (struct question *) task; /* its first member */

    question->missing = question->deletion->worker->set.missing_at != 0;
    if (question->missing && question->take_back) {
        take_back(question->deletion);
    }
    waiter_done(&question->waiter);
}

static bool ask(struct deletion *deletion, bool take_back)
{
    struct question question = {
        .task.run = on_question, .deletion = deletion, .take_back = take_back};

    waiter_init(&question.waiter, 1);
    loop_post(deletion->worker->set.core->io, &question.task);
    (void) waiter_wait(&question.waiter, SMQ_FOREVER);
    waiter_fini(&question.waiter);
    return question.missing;
}

static bool was_taken_back(void *arg)
{
    return ask(arg, true);
}

static bool is_seen_again(void *arg)
{
    return !ask(arg, false);
}

/* Twice, with more time between than a worker gives a topic that seems to be deleted. */
static void a_worker_outlives_deletions_that_are_taken_back(void **state)
{
    static const char *const bodies[] = {"b", "c"};
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    struct deletion deletion = {.redis = keys_connect()};

    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_PRIORITY);
    deletion.topic = cluster_topic(client, &options);
    deletion.worker = handler_log_worker(client, deletion.topic, log);
    messages_send(client, deletion.topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1); /* the slot is owned */
    for (int i = 0; i < 2; i++) {
        begin(&deletion);
        assert_true(wait_until(was_taken_back, &deletion, TIMEOUT_MS));
        assert_true(wait_until(is_seen_again, &deletion, TIMEOUT_MS));
        messages_send(client, deletion.topic, (struct test_message){.body = bodies[i]});
        handler_log_await(log, i + 2);
        messages_await_clock(clock_wall_ms() + MISSING_MS);
    }
    messages_await_counts(client, deletion.topic, (struct message_counts){.done = 3});
    handler_log_stop_worker(deletion.worker);
    redisFree(deletion.redis);
    handler_log_free(log);
    smq_client_free(client);
}

TEST_GROUP(reverted_deletion)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_outlives_deletions_that_are_taken_back),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
