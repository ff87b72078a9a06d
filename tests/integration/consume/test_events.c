/* test_events.c - what a worker tells of slots and messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/scene.h"
#include "support/wait.h"

enum { EVENTS_MAX = 256 };

struct log {
    pthread_mutex_t lock;
    int count;
    struct {
        smq_event_kind kind;
        int32_t slot, attempt;
        char token[32], topic[32], message_id[70];
    } events[EVENTS_MAX];
};

static int start(void **state)
{
    struct servers_options options = {.redis = REDIS_SINGLE};

    (void) state;
    return scene_start(&options);
}

static void on_event(const smq_event *event, void *user)
{
    struct log *log = user;

    pthread_mutex_lock(&log->lock);
    if (log->count < EVENTS_MAX) {
        log->events[log->count].kind = event->kind;
        log->events[log->count].slot = event->slot;
        log->events[log->count].attempt = event->attempt;
        snprintf(log->events[log->count].token, sizeof(log->events[0].token), "%s",
                 event->token != NULL ? event->token : "");
        snprintf(log->events[log->count].topic, sizeof(log->events[0].topic), "%s",
                 event->topic != NULL ? event->topic : "");
        snprintf(log->events[log->count].message_id, sizeof(log->events[0].message_id), "%s",
                 event->message_id != NULL ? event->message_id : "");
        log->count++;
    }
    pthread_mutex_unlock(&log->lock);
}

/* The kinds about one topic, as letters, in their order. */
static void kinds_of(struct log *log, const char *topic, char out[EVENTS_MAX])
{
    static const char letters[] = {
        [SMQ_EVENT_SENT] = 's',       [SMQ_EVENT_CLAIMED] = 'c', [SMQ_EVENT_DONE] = 'd',
        [SMQ_EVENT_RELEASED] = 'b',   [SMQ_EVENT_RETRIED] = 't', [SMQ_EVENT_DEAD] = 'x',
        [SMQ_EVENT_LEASE_LOST] = 'l', [SMQ_EVENT_FENCED] = 'f',  [SMQ_EVENT_SLOT_GAINED] = '+',
        [SMQ_EVENT_SLOT_LOST] = '-',  [SMQ_EVENT_STOPPED] = '!', [SMQ_EVENT_PAUSED] = 'p',
        [SMQ_EVENT_RESUMED] = 'r',
    };
    int used = 0;

    pthread_mutex_lock(&log->lock);
    for (int i = 0; i < log->count; i++) {
        if (strcmp(log->events[i].topic, topic) == 0 && log->events[i].kind != SMQ_EVENT_SENT) {
            out[used++] = letters[log->events[i].kind];
        }
    }
    pthread_mutex_unlock(&log->lock);
    out[used] = '\0';
}

static smq_verdict answers(smq_delivery *delivery, const struct seen *seen, int index)
{
    static const smq_verdict verdicts[] = {SMQ_RELEASE, SMQ_RETRY, SMQ_RETRY, SMQ_DONE};

    (void) delivery;
    (void) seen;
    return verdicts[index];
}

struct expectation {
    struct log *log;
    const char *topic, *kinds;
    char seen[EVENTS_MAX];
};

static bool kinds_are_so(void *arg)
{
    struct expectation *expectation = arg;

    kinds_of(expectation->log, expectation->topic, expectation->seen);
    return strncmp(expectation->seen, expectation->kinds, strlen(expectation->kinds)) == 0;
}

static void await_kinds(struct log *log, const char *topic, const char *kinds)
{
    struct expectation expectation = {.log = log, .topic = topic, .kinds = kinds};

    if (!wait_until(kinds_are_so, &expectation, SCENE_TIMEOUT_MS)) {
        fail_msg("%s, not %s", expectation.seen, kinds);
    }
}

static void life_of_messages_is_told(void **state)
{
    struct log log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_topic_options topic_options = SMQ_TOPIC_OPTIONS_INIT;
    struct recorder *recorder = recorder_new(answers);
    smq_client *client;
    smq_worker *worker;
    const char *topic;

    (void) state;
    options.event = on_event;
    options.event_user = &log;
    options.event_level = SMQ_LEVEL_TRACE;
    client = scene_client_with(&options);
    topic_options.type = SMQ_TYPE_FIXED_TIME;
    topic_options.max_retries = 1;
    topic = scene_topic(client, &topic_options);
    worker = scene_worker(client, topic, recorder);
    scene_send(client, topic, (struct scene_message){.body = "a\n\xff"});
    recorder_await(recorder, 3);
    scene_send(client, topic, (struct scene_message){.body = "b"});
    recorder_await(recorder, 4);
    scene_stop(worker);
    await_kinds(&log, topic, "+cbctcxcd-");
    for (int i = 0; i < log.count; i++) {
        if (log.events[i].kind == SMQ_EVENT_DEAD) {
            assert_string_equal(log.events[i].message_id, "a\\x0a\\xff");
            assert_int_equal(log.events[i].attempt, 2);
            assert_string_equal(log.events[i].token, recorder_seen(recorder, 0).token);
        }
    }
    smq_client_free(client);
    recorder_free(recorder);
}

static void fenced_slot_is_told_with_its_token(void **state)
{
    struct log log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_topic_options topic_options = SMQ_TOPIC_OPTIONS_INIT;
    struct recorder *recorder = recorder_new(NULL);
    redisContext *redis = scene_redis();
    smq_client *client;
    smq_worker *worker;
    const char *topic;

    (void) state;
    options.event = on_event;
    options.event_user = &log;
    client = scene_client_with(&options);
    topic_options.type = SMQ_TYPE_FIXED_TIME;
    topic = scene_topic(client, &topic_options);
    recorder_gate(recorder);
    worker = scene_worker(client, topic, recorder);
    scene_send(client, topic, (struct scene_message){.body = "a"});
    recorder_await(recorder, 1);
    freeReplyObject(redisCommand(redis, "HSET slot{%s_0} token 0000000200000000000000ff", topic));
    recorder_open(recorder, 1); /* its answer is refused */
    await_kinds(&log, topic, "+f-f");
    assert_int_equal(scene_stats(client, topic).done, 0);
    scene_stop(worker);
    smq_client_free(client);
    redisFree(redis);
    recorder_free(recorder);
}

/* Of many slots the first one that pauses is told, and the last one that goes on. */
static void pause_is_told_once_for_a_topic(void **state)
{
    struct log log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_topic_options topic_options = SMQ_TOPIC_OPTIONS_INIT;
    struct recorder *recorder = recorder_new(NULL);
    smq_client *client;
    smq_worker *worker;
    const char *topic;
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    options.event = on_event;
    options.event_user = &log;
    client = scene_client_with(&options);
    topic_options.type = SMQ_TYPE_FIXED_TIME;
    topic_options.slots = 2;
    topic = scene_topic(client, &topic_options);
    worker = scene_worker(client, topic, recorder);
    await_kinds(&log, topic, "++");
    scene_must(smq_topic_pause(client, topic, &err), &err, "smq_topic_pause");
    await_kinds(&log, topic, "++p");
    scene_send(client, topic, (struct scene_message){.body = "a"});
    scene_send(client, topic, (struct scene_message){.body = "b"});
    scene_must(smq_topic_resume(client, topic, &err), &err, "smq_topic_resume");
    recorder_await(recorder, 2);
    await_kinds(&log, topic, "++pr");
    scene_must(smq_topic_pause(client, topic, &err), &err, "smq_topic_pause");
    await_kinds(&log, topic, "++prp");
    scene_stop(worker); /* which says nothing about the pause */
    await_kinds(&log, topic, "++prp--");
    smq_client_free(client);
    recorder_free(recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(life_of_messages_is_told),
        cmocka_unit_test(fenced_slot_is_told_with_its_token),
        cmocka_unit_test(pause_is_told_once_for_a_topic),
    };

    return cmocka_run_group_tests(tests, start, scene_end);
}
