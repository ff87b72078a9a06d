/* test_reverted_deletion.c - a deletion of a topic that is taken back, because the topic was not
 * empty, while a worker consumes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/waiter.h"
#include "consume/slot/owned_slot.h"
#include "consume/worker/worker.h"
#include "integration/fixture/scene.h"
#include "support/wait.h"

enum { MISSING_MS = 1000 };

static int start(void **state)
{
    struct servers_options options = {.redis = REDIS_SINGLE};

    (void) state;
    return scene_start(&options);
}

struct deletion {
    smq_worker *worker;
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
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;
    smq_client *client = scene_client();
    struct recorder *recorder = recorder_new(NULL);
    struct deletion deletion = {.redis = scene_redis()};

    (void) state;
    options.type = SMQ_TYPE_PRIORITY;
    deletion.topic = scene_topic(client, &options);
    deletion.worker = scene_worker(client, deletion.topic, recorder);
    scene_send(client, deletion.topic, (struct scene_message){.body = "a"});
    recorder_await(recorder, 1); /* the slot is owned */
    for (int i = 0; i < 2; i++) {
        begin(&deletion);
        assert_true(wait_until(was_taken_back, &deletion, SCENE_TIMEOUT_MS));
        assert_true(wait_until(is_seen_again, &deletion, SCENE_TIMEOUT_MS));
        scene_send(client, deletion.topic, (struct scene_message){.body = bodies[i]});
        recorder_await(recorder, i + 2);
        scene_await_clock(scene_now_ms() + MISSING_MS);
    }
    scene_await_counts(client, deletion.topic, (struct scene_counts){.done = 3});
    scene_stop(deletion.worker);
    redisFree(deletion.redis);
    recorder_free(recorder);
    smq_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_outlives_deletions_that_are_taken_back),
    };

    return cmocka_run_group_tests(tests, start, scene_end);
}
