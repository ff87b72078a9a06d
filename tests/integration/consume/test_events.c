/* test_events.c - what a worker tells of slots and messages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/heard.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { EVENTS_MAX = 256 };

struct logged_event {
    smq_event_kind kind;
    int32_t slot, attempt;
    char token[32], topic[32], message_id[70], reason[70], text[256];
};

struct event_log {
    pthread_mutex_t lock;
    int count;
    struct logged_event events[EVENTS_MAX];
};

static void on_event(const smq_event *event, void *user)
{
    struct event_log *event_log = user;

    pthread_mutex_lock(&event_log->lock);
    if (event_log->count < EVENTS_MAX) {
        struct logged_event *logged = &event_log->events[event_log->count++];

        logged->kind = event->kind;
        logged->slot = event->slot;
        logged->attempt = event->attempt;
        snprintf(logged->token, sizeof(logged->token), "%s", event->token ? event->token : "");
        snprintf(logged->topic, sizeof(logged->topic), "%s", event->topic ? event->topic : "");
        snprintf(logged->message_id, sizeof(logged->message_id), "%s",
                 event->message_id ? event->message_id : "");
        snprintf(logged->reason, sizeof(logged->reason), "%s",
                 event->reason ? event->reason : "none");
        snprintf(logged->text, sizeof(logged->text), "%s", event->text);
    }
    pthread_mutex_unlock(&event_log->lock);
}

/* The kinds about one topic, as letters, in their order; not what comes when it comes. */
static void kinds_of(struct event_log *event_log, const char *topic, char out[EVENTS_MAX])
{
    static const char letters[] = {
        [SMQ_EVENT_CLAIMED] = 'c', [SMQ_EVENT_DONE] = 'd',        [SMQ_EVENT_RELEASED] = 'b',
        [SMQ_EVENT_RETRIED] = 't', [SMQ_EVENT_DEAD] = 'x',        [SMQ_EVENT_LEASE_LOST] = 'l',
        [SMQ_EVENT_FENCED] = 'f',  [SMQ_EVENT_SLOT_GAINED] = '+', [SMQ_EVENT_SLOT_LOST] = '-',
        [SMQ_EVENT_STOPPED] = '!', [SMQ_EVENT_PAUSED] = 'p',      [SMQ_EVENT_RESUMED] = 'r',
    };
    int used = 0;

    pthread_mutex_lock(&event_log->lock);
    for (int i = 0; i < event_log->count; i++) {
        if (strcmp(event_log->events[i].topic, topic) == 0 &&
            event_log->events[i].kind != SMQ_EVENT_SENT &&
            event_log->events[i].kind != SMQ_EVENT_ASSIGNED) {
            out[used++] = letters[event_log->events[i].kind];
        }
    }
    pthread_mutex_unlock(&event_log->lock);
    out[used] = '\0';
}

static smq_verdict answers(smq_delivery *delivery, const struct seen *seen, int index)
{
    static const smq_verdict verdicts[] = {SMQ_RELEASE, SMQ_ANSWERED, SMQ_ANSWERED, SMQ_DONE};
    static const char *const reasons[] = {NULL, "busy", "card\ndeclined: \xc3\xa4", NULL};

    (void) seen;
    if (reasons[index] != NULL) {
        assert_int_equal(smq_retry(delivery, SMQ_BACKOFF, reasons[index], NULL), SMQ_OK);
    }
    return verdicts[index];
}

/* Of a failed attempt; its reason ends the text. */
static void assert_failure(const struct logged_event *event, const char *what, int32_t attempt,
                           const char *reason)
{
    char text[256];

    snprintf(text, sizeof(text),
             "%s: message \"a\\x0a\\xff\" of slot 0 of topic %s, attempt %d: %s", what,
             event->topic, attempt, reason);
    assert_string_equal(event->text, text);
    assert_string_equal(event->reason, reason);
}

struct expectation {
    struct event_log *event_log;
    const char *topic, *kinds;
    char seen[EVENTS_MAX];
};

static bool kinds_are_so(void *arg)
{
    struct expectation *expectation = arg;

    kinds_of(expectation->event_log, expectation->topic, expectation->seen);
    return strncmp(expectation->seen, expectation->kinds, strlen(expectation->kinds)) == 0;
}

static void await_kinds(struct event_log *event_log, const char *topic, const char *kinds)
{
    struct expectation expectation = {.event_log = event_log, .topic = topic, .kinds = kinds};

    if (!wait_until(kinds_are_so, &expectation, TIMEOUT_MS)) {
        fail_msg("%s, not %s", expectation.seen, kinds);
    }
}

/* One call stores an answer and claims what comes next; by key a look may come between them. */
static void life_of_messages_is_told(void **state)
{
    struct event_log event_log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct handler_log *log = handler_log_new(answers);
    smq_client *client;
    smq_consumer *worker;
    const char *topic;

    smq_client_options options = SMQ_CLIENT_OPTIONS(.event = on_event, .event_user = &event_log,
                                                    .event_level = SMQ_LEVEL_TRACE);
    client = cluster_client_with(&options);
    smq_topic_options topic_options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .max_retries = 1);
    topic = cluster_topic(client, &topic_options);
    smq_consumer_options work = SMQ_CONSUMER_OPTIONS(.max_in_flight = 1);
    worker = handler_log_worker_with(client, &work, topic, log);
    messages_send(client, topic, (struct test_message){.body = "a\n\xff"});
    handler_log_await(log, 3);
    await_kinds(&event_log, topic, "+cbctcx"); /* a push could come before it */
    messages_send(client, topic, (struct test_message){.body = "b"});
    handler_log_await(log, 4);
    handler_log_stop_worker(worker);
    await_kinds(&event_log, topic, "+cbctcxcd-");
    for (int i = 0; i < event_log.count; i++) {
        if (event_log.events[i].kind == SMQ_EVENT_RETRIED) {
            assert_failure(&event_log.events[i], "to be retried", 1, "busy");
        } else if (event_log.events[i].kind != SMQ_EVENT_DEAD) {
            assert_string_equal(event_log.events[i].reason, "none");
        } else {
            assert_failure(&event_log.events[i], "dead after its last retry", 2,
                           "card\\x0adeclined: \xc3\xa4");
            assert_string_equal(event_log.events[i].message_id, "a\\x0a\\xff");
            assert_int_equal(event_log.events[i].attempt, 2);
            assert_string_equal(event_log.events[i].token, handler_log_seen(log, 0).token);
        }
    }
    smq_client_free(client);
    handler_log_free(log);
}

static void fenced_slot_is_told_with_its_token(void **state)
{
    struct event_log event_log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct handler_log *log = handler_log_new(NULL);
    redisContext *redis = keys_connect();
    smq_client *client;
    smq_consumer *worker;
    const char *topic;

    smq_client_options options = SMQ_CLIENT_OPTIONS(.event = on_event, .event_user = &event_log,
                                                    .event_level = SMQ_LEVEL_DEBUG);
    client = cluster_client_with(&options);
    smq_topic_options topic_options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME);
    topic = cluster_topic(client, &topic_options);
    handler_log_gate(log);
    worker = handler_log_worker(client, topic, log);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1);
    freeReplyObject(redisCommand(redis, "HSET slot{%s_0} token 0000000200000000000000ff", topic));
    handler_log_open(log, 1); /* its answer is refused */
    await_kinds(&event_log, topic, "+f-f");
    assert_int_equal(messages_stats(client, topic).done, 0);
    handler_log_stop_worker(worker);
    smq_client_free(client);
    redisFree(redis);
    handler_log_free(log);
}

/* Of many slots the first one that pauses is reported, and the last one that continues. */
static void pause_is_told_once_for_a_topic(void **state)
{
    struct event_log event_log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct handler_log *log = handler_log_new(NULL);
    smq_client *client;
    smq_consumer *worker;
    const char *topic;
    smq_error err = SMQ_ERROR_INIT;

    smq_client_options options = SMQ_CLIENT_OPTIONS(.event = on_event, .event_user = &event_log,
                                                    .event_level = SMQ_LEVEL_DEBUG);
    client = cluster_client_with(&options);
    smq_topic_options topic_options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = 2);
    topic = cluster_topic(client, &topic_options);
    worker = handler_log_worker(client, topic, log);
    await_kinds(&event_log, topic, "++");
    assert_ok(smq_topic_pause(client, topic, &err), &err);
    await_kinds(&event_log, topic, "++p");
    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_send(client, topic, (struct test_message){.body = "b"});
    assert_ok(smq_topic_resume(client, topic, &err), &err);
    handler_log_await(log, 2);
    await_kinds(&event_log, topic, "++pr");
    assert_ok(smq_topic_pause(client, topic, &err), &err);
    await_kinds(&event_log, topic, "++prp");
    handler_log_stop_worker(worker); /* which says nothing about the pause */
    await_kinds(&event_log, topic, "++prp--");
    smq_client_free(client);
    handler_log_free(log);
}

/* Of what a handler returns: no verdict at all, then DONE. */
static smq_verdict returns_nothing_once(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    return index == 0 ? (smq_verdict) 0 : SMQ_DONE;
}

/* It answers the first message by a call, the second one not, and then that one. */
static smq_verdict answers_all_but_one(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) seen;
    if (index != 1) {
        assert_int_equal(smq_done(delivery, NULL), SMQ_OK);
    }
    return SMQ_ANSWERED;
}

/* Each message is retried and then done, and one event names the mistake. */
static void a_mistaken_handler_is_named(smq_verdict (*handler)(smq_delivery *, const struct seen *,
                                                               int),
                                        const char *const bodies[], int runs, const char *text)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    struct handler_log *log = handler_log_new(handler);
    struct heard *heard = heard_new(text);
    smq_client *client;
    smq_consumer *worker;
    const char *topic;

    heard_listen(heard, &options);
    client = cluster_client_with(&options);
    smq_topic_options topic_options = SMQ_TOPIC_OPTIONS(.backoff = "none");
    topic = cluster_topic(client, &topic_options);
    worker = handler_log_worker(client, topic, log);
    for (int i = 0; bodies[i] != NULL; i++) {
        messages_send(client, topic, (struct test_message){.body = bodies[i]});
        handler_log_await(log, i + 1);
    }
    handler_log_await(log, runs);
    handler_log_stop_worker(worker);
    heard_await_error(heard, text);
    assert_int_equal(heard->marked, 1);
    assert_int_equal(messages_stats(client, topic).retried, 1);
    assert_int_equal(messages_stats(client, topic).waiting, 0);
    smq_client_free(client);
    handler_log_free(log);
    heard_free(heard);
}

static void a_handler_that_returns_no_verdict_is_named(void **state)
{
    a_mistaken_handler_is_named(returns_nothing_once, (const char *const[]){"a", NULL}, 2,
                                "returned 0, which is no verdict");
}

static void a_handler_that_has_not_answered_is_named(void **state)
{
    a_mistaken_handler_is_named(answers_all_but_one, (const char *const[]){"a", "b", NULL}, 3,
                                "had not answered 1 of 1 messages");
}

TEST_GROUP(events)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_that_returns_no_verdict_is_named),
        cmocka_unit_test(a_handler_that_has_not_answered_is_named),
        cmocka_unit_test(life_of_messages_is_told),
        cmocka_unit_test(fenced_slot_is_told_with_its_token),
        cmocka_unit_test(pause_is_told_once_for_a_topic),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
