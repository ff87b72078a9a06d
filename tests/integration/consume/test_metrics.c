/* test_metrics.c - what a process counts is what its handlers saw: answers, moved slots, fenced
 * calls; and the text of it. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/process.h"
#include "support/wait.h"

enum { MESSAGES = 50, KINDS = 5, SLOTS = 16, LONG_SESSION_MS = 60000 };

static const char *topic_of(smq_client *client, int32_t slots)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = slots, .max_retries = 1);
    return cluster_topic(client, &options);
}

static smq_metrics metrics_of(smq_client *client)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_client_metrics(client, &metrics, &err), &err);
    return metrics;
}

static uint64_t ended(const smq_metrics *metrics)
{
    return metrics->done + metrics->retried + metrics->dead + metrics->released +
           metrics->lease_lost;
}

struct await_claims {
    smq_client *client;
    uint64_t claimed;
};

static bool claims_have_ended(void *arg)
{
    const struct await_claims *await = arg;
    smq_metrics metrics = metrics_of(await->client);

    return metrics.claimed == await->claimed && ended(&metrics) == await->claimed &&
           metrics.in_flight == 0;
}

/* Wait until this many claims were made, and all have ended. */
static smq_metrics await_claims(smq_client *client, uint64_t claimed)
{
    struct await_claims await = {.client = client, .claimed = claimed};

    if (!wait_until(claims_have_ended, &await, TIMEOUT_MS)) {
        smq_metrics metrics = metrics_of(client);

        fail_msg("claimed %" PRIu64 " and ended %" PRIu64 ", not %" PRIu64, metrics.claimed,
                 ended(&metrics), claimed);
    }
    return metrics_of(client);
}

struct await_ms {
    int64_t since;
};

static bool ms_are_over(void *arg)
{
    return clock_wall_ms() > ((struct await_ms *) arg)->since + 2;
}

/* What lives for a millisecond has ended then: servers and test have one clock. */
static void await_next_ms(void)
{
    struct await_ms await = {.since = clock_wall_ms()};

    assert_true(wait_until(ms_are_over, &await, TIMEOUT_MS));
}

/* Each message has waited for these, and all of them for less than a minute each. */
static void assert_waits(const smq_metrics *metrics)
{
    const uint64_t us[] = {metrics->wait_send_us, metrics->wait_request_us, metrics->wait_claim_us,
                           metrics->wait_handler_us};

    for (size_t i = 0; i < sizeof(us) / sizeof(us[0]); i++) {
        assert_in_range(us[i], 1, metrics->claimed * 60 * 1000000);
    }
}

static void assert_handling(const smq_metrics *metrics, uint64_t count)
{
    uint64_t sum = 0;

    for (int i = 0; i < SMQ_HISTOGRAM_SIZE; i++) {
        sum += metrics->handling_ms[i];
    }
    assert_int_equal(metrics->handling_count, count);
    assert_int_equal(sum, count);
}

/* --- answers --- */

/* What the handler has seen and said. */
static struct {
    atomic_int seen[MESSAGES];
    atomic_uint claimed, done, retried, rejected, released, failed;
} told;

static void tell(smq_verdict verdict, bool last)
{
    atomic_fetch_add(&told.claimed, 1);
    switch (verdict) {
    case SMQ_DONE:
        atomic_fetch_add(&told.done, 1);
        break;
    case SMQ_REJECT:
        atomic_fetch_add(&told.rejected, 1);
        break;
    case SMQ_RELEASE:
        atomic_fetch_add(&told.released, 1);
        break;
    case SMQ_RETRY:
    case SMQ_LATER:
    case SMQ_ANSWERED:
        atomic_fetch_add(last ? &told.failed : &told.retried, 1);
        break;
    }
}

/* By the number of the message and whether it came before. */
static smq_verdict answer(smq_delivery *delivery, const struct seen *seen, int index)
{
    static const smq_verdict first[KINDS] = {SMQ_DONE, SMQ_RETRY, SMQ_REJECT, SMQ_RELEASE,
                                             SMQ_RETRY};
    static const smq_verdict then[KINDS] = {SMQ_DONE, SMQ_DONE, SMQ_DONE, SMQ_DONE, SMQ_RETRY};
    int number = atoi(seen->body);
    bool again = atomic_fetch_add(&told.seen[number], 1) > 0;
    smq_verdict verdict = again ? then[number % KINDS] : first[number % KINDS];

    (void) delivery;
    (void) index;
    tell(verdict, seen->retries_left == 0);
    return verdict;
}

static void send_numbers(smq_client *client, const char *topic)
{
    char body[16];

    for (int i = 0; i < MESSAGES; i++) {
        snprintf(body, sizeof(body), "%d", i);
        assert_false(messages_send(client, topic, (struct test_message){.body = body}));
    }
}

static void assert_as_the_server_says(const smq_metrics *metrics, const smq_stats *stats)
{
    assert_int_equal(metrics->sent, stats->sent);
    assert_int_equal(metrics->merged, stats->merged);
    assert_int_equal(metrics->done, stats->done);
    assert_int_equal(metrics->retried, stats->retried);
    assert_int_equal(metrics->dead, stats->rejected);
    assert_int_equal(metrics->dead, stats->dead);
    assert_int_equal(metrics->released, stats->released);
    assert_int_equal(metrics->lease_lost, stats->lease_lost);
}

static void answers_are_counted_as_handlers_gave_them(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 4);
    struct handler_log *log = handler_log_new(answer);
    smq_consumer *worker;
    smq_metrics metrics;
    smq_stats stats;

    send_numbers(client, topic);
    assert_true(messages_send(client, topic, (struct test_message){.body = "0"}));
    worker = handler_log_worker(client, topic, log);
    messages_await_counts(
        client, topic,
        (struct message_counts){.dead = 2 * MESSAGES / KINDS, .done = 3 * MESSAGES / KINDS});
    metrics = await_claims(client, MESSAGES + 3 * MESSAGES / KINDS);
    stats = messages_stats(client, topic);
    assert_as_the_server_says(&metrics, &stats);
    assert_int_equal(metrics.sent, MESSAGES);
    assert_int_equal(metrics.merged, 1);
    assert_int_equal(metrics.send_failures, 0);
    assert_int_equal(metrics.send_pending, 0);
    assert_int_equal(metrics.claimed, told.claimed);
    assert_int_equal(metrics.done, told.done);
    assert_int_equal(metrics.retried, told.retried);
    assert_int_equal(metrics.rejected, told.rejected);
    assert_int_equal(metrics.released, told.released);
    assert_int_equal(metrics.dead, told.rejected + told.failed);
    assert_int_equal(metrics.fenced, 0);
    assert_handling(&metrics, metrics.claimed);
    assert_waits(&metrics);
    assert_int_equal(metrics.slots_owned, 4);
    handler_log_stop_worker(worker);
    metrics = metrics_of(client);
    assert_int_equal(metrics.slots_gained, 4);
    assert_int_equal(metrics.slots_lost, 4);
    assert_int_equal(metrics.slots_owned, 0);
    handler_log_free(log);
    smq_client_free(client);
}

/* A gauge while the handler runs; what it had not begun is released by the stop. */
static void what_is_in_flight_is_released_by_a_stop(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    smq_metrics metrics;

    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_send(client, topic, (struct test_message){.body = "b"});
    messages_send(client, topic, (struct test_message){.body = "c"});
    handler_log_gate(log);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 1);
    metrics = metrics_of(client);
    assert_int_equal(metrics.claimed, 3);
    assert_int_equal(metrics.in_flight, 3);
    assert_int_equal(metrics.handling_count, 0);
    smq_consumer_stop(worker);
    messages_await_counts(client, topic,
                          (struct message_counts){.waiting = 2, .claimed = 1, .done = -1});
    handler_log_open(log, 1);
    handler_log_stop_worker(worker);
    metrics = await_claims(client, 3);
    assert_int_equal(metrics.done, 1);
    assert_int_equal(metrics.released, 2);
    assert_handling(&metrics, 1); /* of those that a handler answered */
    handler_log_free(log);
    smq_client_free(client);
}

static void what_has_expired_is_counted_and_not_claimed(void **state)
{
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    smq_producer *producer = NULL;
    smq_message message = SMQ_MESSAGE_INIT;
    smq_error err = SMQ_ERROR_INIT;
    smq_consumer *worker;
    smq_metrics metrics;
    const char *topic;

    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED);
    topic = cluster_topic(client, &options);
    assert_ok(smq_producer_new(&producer, client, NULL, &err), &err);
    message.body = (smq_bytes){"x", 1};
    for (int i = 0; i < 3; i++) {
        message.ttl_ms = i < 2 ? 1 : SMQ_NONE;
        assert_ok(smq_send(producer, topic, &message, NULL, &err), &err);
    }
    smq_producer_free(producer);
    await_next_ms();
    worker = handler_log_worker(client, topic, log);
    metrics = await_claims(client, 1);
    assert_int_equal(metrics.expired, 2);
    assert_int_equal(metrics.done, 1);
    assert_int_equal(messages_stats(client, topic).expired, 2);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* The first time it is a lost lease; the second one, with no retry left, is the end. */
static void message_that_hangs_again_is_dead(void **state)
{
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    smq_metrics metrics;
    const char *topic;

    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .max_retries = SMQ_NONE);
    topic = cluster_topic(client, &options);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_gate(log);
    smq_consumer_options hasty = SMQ_CONSUMER_OPTIONS(.threads = 2, .handler_timeout_ms = 100);
    worker = handler_log_worker_with(client, &hasty, topic, log);
    metrics = await_claims(client, 2);
    assert_int_equal(metrics.lease_lost, 1);
    assert_int_equal(metrics.dead, 1);
    assert_int_equal(metrics.rejected, 0);
    assert_int_equal(messages_stats(client, topic).dead, 1);
    handler_log_open(log, 2);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static char *text_of(smq_client *client, const char *topics)
{
    char *text = NULL;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_metrics_text(client, topics, &text, &err), &err);
    return text;
}

/* How long the oldest delivery of the topic has no answer, as the text shows it; "": it does not.
 */
static void oldest_of(char value[32], smq_client *client, const char *topic)
{
    char begin[128], *text = text_of(client, NULL);
    const char *line;

    snprintf(begin, sizeof(begin), "\nslotmq_oldest_delivery_age_seconds{topic=\"%s\"} ", topic);
    line = strstr(text, begin);
    snprintf(value, 32, "%s", "");
    if (line != NULL) {
        assert_int_equal(sscanf(line + strlen(begin), "%31s", value), 1);
    }
    smq_free(text);
}

struct oldest {
    smq_client *client;
    const char *topic;
};

static bool is_oldest_seen(void *arg)
{
    const struct oldest *oldest = arg;
    char value[32];

    oldest_of(value, oldest->client, oldest->topic);
    return value[0] != '\0' && strcmp(value, "0.000") != 0;
}

/* Polled ones are claims like all others; what is never answered is lost with its consumer. */
static void polled_deliveries_are_counted(void **state)
{
    smq_client *client = cluster_client();
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    smq_consumer *consumer = NULL;
    smq_delivery *held[2] = {NULL, NULL};
    smq_error err = SMQ_ERROR_INIT;
    smq_metrics metrics;
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = 1);
    struct oldest oldest = {.client = client};
    char value[32];
    size_t count = 0, got;

    topic.lease_ms = 6000; /* it is looked at each second */
    options.topic = oldest.topic = cluster_topic(client, &topic);
    options.per_slot = 2;
    options.drain_timeout_ms = 1;
    messages_send(client, options.topic, (struct test_message){.body = "a"});
    messages_send(client, options.topic, (struct test_message){.body = "b"});
    assert_ok(smq_consumer_new(&consumer, client, &options, &err), &err);
    while (count < 2) {
        assert_ok(smq_consumer_poll(consumer, held + count, 2 - count, &got, TIMEOUT_MS, &err),
                  &err);
        count += got;
    }
    assert_int_equal(metrics_of(client).in_flight, 2);
    assert_true(wait_until(is_oldest_seen, &oldest, TIMEOUT_MS));
    assert_int_equal(smq_done(held[0], NULL), SMQ_OK);
    assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
    smq_consumer_free(consumer);
    assert_int_equal(smq_done(held[1], NULL), SMQ_CLOSED);
    metrics = await_claims(client, 2);
    assert_int_equal(metrics.done, 1);
    assert_int_equal(metrics.lease_lost, 1);
    assert_handling(&metrics, 1);
    oldest_of(value, client, oldest.topic);
    assert_string_equal(value, "0.000");
    smq_client_free(client);
}

/* --- slots --- */

static redisContext *node_of(const char *key)
{
    struct server *node = servers_node_of(cluster_servers(), key);
    redisContext *redis = redisConnect("127.0.0.1", server_port(node));

    assert_non_null(redis);
    assert_int_equal(redis->err, 0);
    return redis;
}

static bool has_been_fenced(void *arg)
{
    smq_metrics metrics = metrics_of(arg);

    return metrics.fenced > 0 && metrics.slots_owned == 0;
}

static void fenced_call_is_counted_and_its_claim_is_lost(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 1);
    struct handler_log *log = handler_log_new(NULL);
    char slot[64];
    redisContext *redis;
    smq_consumer *worker;
    smq_metrics metrics;

    snprintf(slot, sizeof(slot), "slot{%s_0}", topic);
    redis = node_of(slot);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_gate(log);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 1);
    freeReplyObject(redisCommand(redis, "HSET %s token 0000000200000000000000ff", slot));
    handler_log_open(log, 1); /* its answer is refused */
    assert_true(wait_until(has_been_fenced, client, TIMEOUT_MS));
    metrics = await_claims(client, 1);
    assert_int_equal(metrics.lease_lost, 1);
    assert_int_equal(metrics.done, 0);
    assert_int_equal(metrics.slots_gained, 1);
    assert_int_equal(metrics.slots_lost, 1);
    handler_log_stop_worker(worker);
    redisFree(redis);
    handler_log_free(log);
    smq_client_free(client);
}

static void answer_that_came_too_late_is_a_lost_lease(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 1);
    struct handler_log *log = handler_log_new(NULL);
    char prepare[64];
    redisContext *redis;
    smq_consumer *worker;
    smq_metrics metrics;

    snprintf(prepare, sizeof(prepare), "prepare{%s_0}", topic);
    redis = node_of(prepare);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_gate(log);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 1);
    freeReplyObject(redisCommand(redis, "ZREMRANGEBYRANK %s 0 0", prepare));
    handler_log_open(log, 1);
    metrics = await_claims(client, 1);
    assert_int_equal(metrics.lease_lost, 1);
    assert_int_equal(metrics.done, 0);
    assert_handling(&metrics, 1);
    handler_log_stop_worker(worker);
    redisFree(redis);
    handler_log_free(log);
    smq_client_free(client);
}

struct await_slots {
    smq_client *first, *second;
};

static bool slots_are_halved(void *arg)
{
    const struct await_slots *await = arg;

    return metrics_of(await->first).slots_owned == SLOTS / 2 &&
           metrics_of(await->second).slots_owned == SLOTS / 2;
}

static bool first_has_half(void *arg)
{
    return metrics_of(((struct await_slots *) arg)->first).slots_owned == SLOTS / 2;
}

static bool first_has_all(void *arg)
{
    return metrics_of(((struct await_slots *) arg)->first).slots_owned == SLOTS;
}

static void moved_slots_are_counted_on_both_sides(void **state)
{
    struct handler_log *log = handler_log_new(NULL);
    struct await_slots await;
    const char *topic;
    smq_consumer *first, *second;
    smq_metrics one, two;

    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.zookeeper = servers_zookeeper(cluster_servers()));
    await.first = cluster_client_with(&options);
    await.second = cluster_client_with(&options);
    topic = topic_of(await.first, SLOTS);
    first = handler_log_worker(await.first, topic, log);
    assert_true(wait_until(first_has_all, &await, TIMEOUT_MS));
    second = handler_log_worker(await.second, topic, log);
    assert_true(wait_until(slots_are_halved, &await, TIMEOUT_MS));
    send_numbers(await.first, topic);
    messages_await_counts(await.first, topic, (struct message_counts){.done = MESSAGES});
    handler_log_stop_worker(second);
    assert_true(wait_until(first_has_all, &await, TIMEOUT_MS));
    handler_log_stop_worker(first);
    one = metrics_of(await.first);
    two = metrics_of(await.second);
    assert_int_equal(one.slots_gained, SLOTS + SLOTS / 2);
    assert_int_equal(one.slots_lost, SLOTS + SLOTS / 2);
    assert_int_equal(two.slots_gained, SLOTS / 2);
    assert_int_equal(two.slots_lost, SLOTS / 2);
    assert_int_equal(one.sent, MESSAGES);
    assert_int_equal(two.sent, 0);
    assert_int_equal(one.done + two.done, MESSAGES);
    assert_int_equal(one.claimed + two.claimed, handler_log_count(log));
    handler_log_free(log);
    smq_client_free(await.first);
    smq_client_free(await.second);
}

static bool is_counted(void *arg)
{
    return metrics_of(arg).slots_not_released > 0;
}

static bool third_has_its_share(void *arg)
{
    return metrics_of(arg).slots_owned == SLOTS / 3;
}

/* The second of three members stands still, with a session that lives on, while slots of it are to
 * move: the assigner, which is the first one, counts those that it gave away all the same. */
static void slots_that_are_not_released_are_counted_by_the_assigner(void **state)
{
    struct handler_log *log = handler_log_new(NULL);
    struct members members;
    struct await_slots await = {0};
    smq_consumer *first, *third;
    smq_metrics metrics;

    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.zookeeper = servers_zookeeper(cluster_servers()),
                           .session_timeout_ms = LONG_SESSION_MS);
    await.first = cluster_client_with(&options);
    await.second = cluster_client_with(&options);
    members_init(&members, topic_of(await.first, SLOTS));
    members.zookeeper = true;
    members.session_ms = LONG_SESSION_MS;
    members.drain_ms = 100;
    members.threads = 1; /* as many as the workers have */
    first = handler_log_worker(await.first, members.topic, log);
    assert_true(wait_until(first_has_all, &await, TIMEOUT_MS));
    members_start(&members);
    assert_true(wait_until(first_has_half, &await, TIMEOUT_MS));
    assert_true(process_pause(members.member[0].pid));
    third = handler_log_worker(await.second, members.topic, log);
    assert_true(wait_until(is_counted, await.first, TIMEOUT_MS));
    assert_true(wait_until(third_has_its_share, await.second, TIMEOUT_MS));
    metrics = metrics_of(await.first);
    assert_in_range(metrics.slots_not_released, 2, 3); /* of 8, and 5 or 6 stay */
    assert_int_equal(metrics_of(await.second).slots_not_released, 0);
    members_fini(&members);
    handler_log_stop_worker(third);
    handler_log_stop_worker(first);
    handler_log_free(log);
    smq_client_free(await.first);
    smq_client_free(await.second);
}

/* --- text --- */

static void assert_sample(const char *text, const char *name, const char *topic, const char *value)
{
    char line[256];

    snprintf(line, sizeof(line), "\n%s{topic=\"%s\"} %s\n", name, topic, value);
    if (strstr(text, line) == NULL) {
        fail_msg("no line%s in%s", line, text);
    }
}

static void text_shows_the_process_and_the_topics_asked_for(void **state)
{
    smq_client *client = cluster_client();
    const char *one = topic_of(client, 4), *two = topic_of(client, 1);
    char list[64], *text;

    messages_send(client, one, (struct test_message){.body = "a"});
    messages_send(client, one, (struct test_message){.body = "b"});
    messages_send(client, two, (struct test_message){.body = "a"});
    text = text_of(client, NULL);
    assert_non_null(strstr(text, "\nslotmq_messages_sent_total 3\n"));
    assert_null(strstr(text, "slotmq_topic_"));
    smq_free(text);
    text = text_of(client, two);
    assert_sample(text, "slotmq_topic_messages_waiting", two, "1");
    assert_null(strstr(text, one));
    smq_free(text);
    snprintf(list, sizeof(list), "%s,%s,%s", two, one, two);
    text = text_of(client, list);
    assert_sample(text, "slotmq_topic_messages_due", two, "1");
    assert_sample(text, "slotmq_topic_messages_due", one, "2");
    smq_free(text);
    text = text_of(client, "*");
    assert_sample(text, "slotmq_topic_messages_sent_total", one, "2");
    assert_sample(text, "slotmq_topic_messages_sent_total", two, "1");
    smq_free(text);
    smq_client_free(client);
}

static void bad_names_of_topics_are_refused(void **state)
{
    static const struct {
        const char *topics;
        smq_status status;
    } cases[] = {
        {"", SMQ_INVALID},   {"a b", SMQ_INVALID},      {"a,", SMQ_INVALID},
        {",a", SMQ_INVALID}, {"no-such", SMQ_NO_TOPIC}, {"*,a", SMQ_INVALID},
    };
    smq_client *client = cluster_client();
    char mark, *text = &mark;
    smq_error err;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        err.text[0] = '\0';
        assert_int_equal(smq_metrics_text(client, cases[i].topics, &text, &err), cases[i].status);
        assert_ptr_equal(text, &mark);
        assert_true(err.text[0] != '\0');
    }
    assert_int_equal(smq_metrics_text(client, NULL, NULL, &err), SMQ_INVALID);
    assert_int_equal(smq_metrics_text(NULL, NULL, &text, &err), SMQ_INVALID);
    smq_client_free(client);
}

TEST_GROUP(metrics)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_counted_as_handlers_gave_them),
        cmocka_unit_test(what_is_in_flight_is_released_by_a_stop),
        cmocka_unit_test(what_has_expired_is_counted_and_not_claimed),
        cmocka_unit_test(message_that_hangs_again_is_dead),
        cmocka_unit_test(polled_deliveries_are_counted),
        cmocka_unit_test(fenced_call_is_counted_and_its_claim_is_lost),
        cmocka_unit_test(answer_that_came_too_late_is_a_lost_lease),
        cmocka_unit_test(moved_slots_are_counted_on_both_sides),
        cmocka_unit_test(slots_that_are_not_released_are_counted_by_the_assigner),
        cmocka_unit_test(text_shows_the_process_and_the_topics_asked_for),
        cmocka_unit_test(bad_names_of_topics_are_refused),
    };

    return cmocka_run_group_tests(tests, cluster_start_fleet, cluster_end);
}
