/* test_claiming.c - claiming and settling against a fake of the Redis client: what may be said of
 * answers whose reply was lost, who may claim next, and when a slot is damaged. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include <slotmq/consumer.h>
#include <slotmq/metrics.h>
#include <slotmq/topic.h>

#include "base/clock.h"
#include "consume/slot/sleep.h"
#include "scripts.h"
#include "support/group.h"
#include "support/wait.h"
#include "unit/fixture/fake_slots.h"

enum {
    WAIT_MS = 30000,
    MANY = 64,
    ENDLESS = 1000000,
    FULL_BATCH = 1000, /* the most that batch_size may be */
    CALLS_MAX = 8,
    ALONE = 600,     /* messages of a full batch that are answered one by one */
    ARGS_MAX = 3999, /* of a command, on a managed server */
    HEAD_ARGS = 3,   /* EVALSHA, the digest, the number of keys */
    SHORT_LEASE_MS = 100,
    LONG_LEASE_MS = 3600000
};

/* A shared topic: what waits in each slot, and how answers are met. */
static struct model {
    int64_t lease_ms;
    int32_t slots;
    int waiting, claims;               /* in all slots; ENDLESS: in each */
    bool lose;                         /* the reply to the next answers, which are stored */
    bool hold_repeated;                /* keep what is repeated back */
    char result;                       /* of what is not repeated */
    bool hold_answers, hold_claims;    /* keep them back */
    size_t answered[CALLS_MAX], calls; /* the answers of each call that has some */
    size_t most_args;                  /* of one consume, with the name of the command */
    int refuse;                        /* this many claims: the slot has another definition */
    bool altered;                      /* before each read of the definition */
    int version;                       /* of the definition */
    int damaged, repaired;             /* of these events */
    smq_status lease_lost;             /* of that event; 1: it has not come */
} model;

static smq_client *client;

/* --- the server --- */

static redisReply *consumed(const struct redis_command *command, size_t answers, char result)
{
    int64_t n = fake_number(command, SCRIPT_CONSUME_ARGV_N);
    size_t count = (size_t) (n < model.waiting ? n : model.waiting);

    model.claims += count > 0;
    model.waiting -= model.waiting < ENDLESS ? (int) count : 0;
    return fake_consumed(model.claims, count, answers, result, false);
}

static bool consume(const struct redis_command *command, struct fake_answer *answer)
{
    size_t done = (size_t) fake_number(command, SCRIPT_CONSUME_ARGV_NDONE);
    size_t others = fake_argv_count(command, SCRIPT_CONSUME_ARGV_ANSWERS) - done;
    size_t answers = done + others / 4;
    bool repeated = fake_arg_is(command, fake_argv(command, SCRIPT_CONSUME_ARGV_FLAGS), "r");
    char result = model.result;

    if (model.refuse > 0) {
        model.refuse--;
        answer->reply = fake_word("STALE");
        return true;
    }
    if ((repeated && model.hold_repeated) || (answers > 0 && model.hold_answers) ||
        (model.hold_claims && fake_number(command, SCRIPT_CONSUME_ARGV_N) > 0)) {
        return false;
    }
    if (command->args.count + HEAD_ARGS > model.most_args) {
        model.most_args = command->args.count + HEAD_ARGS;
    }
    if (answers > 0 && model.calls < CALLS_MAX) {
        model.answered[model.calls++] = answers;
    }
    if (answers > 0 && model.lose) {
        model.lose = false;
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
        return true;
    }
    if (repeated) {
        result = '0';
    }
    answer->reply = consumed(command, answers, result);
    return true;
}

static redisReply *definition(void)
{
    redisReply *reply = fake_shared_topic(model.slots, model.lease_ms);
    char version[16];

    model.version += model.altered ? 1 : 0;
    (void) snprintf(version, sizeof(version), "%d", model.version);
    freeReplyObject(reply->element[FAKE_VERSION]);
    fake_put(reply, FAKE_VERSION, fake_text(version));
    return reply;
}

static const struct fake_slots served = {.definition = definition, .consume = consume};

/* --- the client --- */

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    fake_lock();
    if (event->kind == SMQ_EVENT_LEASE_LOST) {
        model.lease_lost = event->status;
    }
    model.damaged += event->kind == SMQ_EVENT_DAMAGED ? 1 : 0;
    model.repaired += event->kind == SMQ_EVENT_REPAIRED ? 1 : 0;
    fake_unlock();
}

static int set_up(void **state)
{
    model.lease_ms = LONG_LEASE_MS;
    model.slots = 1;
    model.waiting = 1;
    model.claims = 0;
    model.calls = model.most_args = 0;
    model.refuse = model.damaged = model.repaired = 0;
    model.version = 1;
    model.altered = false;
    model.hold_answers = model.hold_claims = false;
    model.lose = model.hold_repeated = false;
    model.result = '1';
    model.lease_lost = 1;
    client = fake_slots_client(&served, on_event);
    return 0;
}

static smq_consumer *consumer_of_topic(int32_t max_in_flight)
{
    smq_consumer *consumer = NULL;

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "t", .max_in_flight = max_in_flight);
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
    return consumer;
}

/* Poll one and answer it; its slot. */
static int32_t answer_done(smq_consumer *consumer)
{
    smq_delivery *delivery = NULL;
    size_t count = 0;
    int32_t slot;

    assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, &count, WAIT_MS, NULL), SMQ_OK);
    assert_int_equal(count, 1);
    slot = smq_delivery_info(delivery)->slot;
    assert_int_equal(smq_done(delivery, NULL), SMQ_OK);
    return slot;
}

static bool event_has_come(void *arg)
{
    bool come;

    (void) arg;
    fake_lock();
    come = model.lease_lost != 1;
    fake_unlock();
    return come;
}

/* All report the same of the answer: flush, metrics and event. */
static void assert_told(smq_consumer *consumer, smq_status status)
{
    smq_metrics metrics = SMQ_METRICS_INIT;

    assert_int_equal(smq_consumer_flush(consumer, WAIT_MS, NULL), status);
    assert_int_equal(smq_client_metrics(client, &metrics, NULL), SMQ_OK);
    assert_int_equal(metrics.done, status == SMQ_OK ? 1 : 0);
    assert_int_equal(metrics.lease_lost, status == SMQ_OK ? 0 : 1);
    if (status != SMQ_OK) {
        assert_true(wait_until(event_has_come, NULL, WAIT_MS));
        assert_int_equal(model.lease_lost, status);
    }
    assert_int_equal(smq_consumer_flush(consumer, WAIT_MS, NULL), SMQ_OK); /* said once */
}

/* --- the tests --- */

static void an_answer_is_what_the_script_says(void **state)
{
    static const struct {
        char result;
        smq_status status;
    } cases[] = {{'1', SMQ_OK}, {'0', SMQ_LEASE_LOST}, {'u', SMQ_UNKNOWN}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        smq_consumer *consumer;

        (void) fake_tear_down(state);
        (void) set_up(state);
        model.result = cases[i].result;
        consumer = consumer_of_topic(0);
        answer_done(consumer);
        assert_told(consumer, cases[i].status);
        smq_consumer_free(consumer);
    }
}

/* No other owner can have taken it in between: the first try has settled it. */
static void a_repeated_answer_within_its_lease_is_stored(void **state)
{
    smq_consumer *consumer = consumer_of_topic(0);

    model.lose = true;
    answer_done(consumer);
    assert_told(consumer, SMQ_OK);
    smq_consumer_free(consumer);
}

/* The first try may have settled it, or come to nothing and another owner has it. */
static void nobody_knows_of_a_repeated_answer_after_its_lease(void **state)
{
    smq_consumer *consumer;

    model.lease_ms = SHORT_LEASE_MS;
    model.lose = model.hold_repeated = true;
    consumer = consumer_of_topic(0);
    answer_done(consumer);
    fake_await_held(1);
    fake_await_ms(SHORT_LEASE_MS);
    fake_let_go(&model.hold_repeated);
    assert_told(consumer, SMQ_UNKNOWN);
    smq_consumer_free(consumer);
}

/* However much waits in each: those that have nothing in flight are not passed for ever. */
static void every_slot_has_its_turn(void **state)
{
    smq_consumer *consumer;
    int64_t deadline = clock_now_ms() + WAIT_MS;
    bool seen[MANY] = {false};
    int count = 0;

    model.slots = MANY;
    model.waiting = ENDLESS;
    consumer = consumer_of_topic(1);
    while (count < MANY && clock_now_ms() < deadline) {
        int32_t slot = answer_done(consumer);

        count += !seen[slot];
        seen[slot] = true;
    }
    assert_int_equal(count, MANY);
    smq_consumer_free(consumer);
}

static smq_verdict all_done(smq_delivery *const *deliveries, size_t count, void *user)
{
    (void) deliveries;
    (void) count;
    (void) user;
    return SMQ_DONE;
}

/* They do not know of messages, so their claims share the room that the consumer has. */
static void all_slots_may_claim_at_once(void **state)
{
    smq_consumer *consumer = NULL;

    model.slots = MANY;
    model.hold_claims = true;
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "t", .batch = all_done, .batch_size = FULL_BATCH,
                             .max_in_flight = FULL_BATCH);
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_start(consumer, NULL), SMQ_OK);
    fake_await_held(MANY);
    assert_int_equal(fake_held(), MANY);
    fake_let_go(&model.hold_claims);
    smq_consumer_free(consumer);
}

static bool batch_is_done(void *arg)
{
    smq_metrics metrics = SMQ_METRICS_INIT;

    (void) arg;
    assert_int_equal(smq_client_metrics(client, &metrics, NULL), SMQ_OK);
    return metrics.done == FULL_BATCH;
}

/* What a handler answers for all of a batch is stored at once, however large that may be. */
static void a_full_batch_is_settled_by_one_call(void **state)
{
    smq_consumer *consumer = NULL;

    model.waiting = FULL_BATCH;
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "t", .batch = all_done, .batch_size = FULL_BATCH);
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_start(consumer, NULL), SMQ_OK);
    assert_true(wait_until(batch_is_done, NULL, WAIT_MS));
    smq_consumer_free(consumer);
    assert_int_equal(model.calls, 1);
}

/* The first of them are answered one by one, behind a first answer that is in flight; the rest is
 * one group. */
static smq_verdict some_alone(smq_delivery *const *deliveries, size_t count, void *user)
{
    const size_t *alone = user;

    assert_int_equal(count, FULL_BATCH);
    for (size_t i = 0; i < *alone; i++) {
        assert_int_equal(smq_retry(deliveries[i], 1, NULL, NULL), SMQ_OK);
        fake_await_held(i > 0 ? 0 : 1);
    }
    return SMQ_RETRY;
}

static bool batch_is_answered(void *arg)
{
    smq_metrics metrics = SMQ_METRICS_INIT;

    (void) arg;
    assert_int_equal(smq_client_metrics(client, &metrics, NULL), SMQ_OK);
    return metrics.handling_count == FULL_BATCH;
}

static bool batch_is_retried(void *arg)
{
    smq_metrics metrics = SMQ_METRICS_INIT;

    (void) arg;
    assert_int_equal(smq_client_metrics(client, &metrics, NULL), SMQ_OK);
    return metrics.retried == FULL_BATCH;
}

/* Retry a full batch, this many of them one by one; the calls that store the answers are in the
 * model. */
static void retry_batch(size_t alone)
{
    smq_consumer *consumer = NULL;

    model.waiting = FULL_BATCH;
    model.hold_answers = true;
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.topic = "t", .batch = some_alone,
                                                        .user = &alone, .batch_size = FULL_BATCH);
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_start(consumer, NULL), SMQ_OK);
    assert_true(wait_until(batch_is_answered, NULL, WAIT_MS));
    fake_let_go(&model.hold_answers);
    assert_true(wait_until(batch_is_retried, NULL, WAIT_MS));
    smq_consumer_free(consumer);
}

/* A call has room for a part of the group that is behind the others: the group goes with the next.
 */
static void a_group_of_answers_is_not_cut(void **state)
{
    retry_batch(ALONE);
    assert_int_equal(model.calls, 3);
    assert_int_equal(model.answered[0], 1);
    assert_int_equal(model.answered[1], ALONE - 1);
    assert_int_equal(model.answered[2], FULL_BATCH - ALONE);
}

/* Of the answers that wait behind a first one, and of a group that no call has room for, a call has
 * as many as every server takes. */
static void no_call_has_more_arguments_than_a_managed_server_takes(void **state)
{
    static const size_t alone[] = {FULL_BATCH, 1};

    for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
        (void) fake_tear_down(state);
        (void) set_up(state);
        retry_batch(alone[i]);
        assert_in_range(model.most_args, ARGS_MAX * 9 / 10, ARGS_MAX);
        assert_int_equal(model.calls, 3);
    }
}

/* --- slots that refuse the definition of their topic --- */

/* All events have been reported. */
static void end_client(smq_consumer *consumer)
{
    smq_consumer_free(consumer);
    (void) fake_tear_down(NULL);
}

/* It looks like this for a moment when a topic is altered: the definition was not read twice since.
 */
static void a_slot_that_refuses_twice_is_not_called_damaged(void **state)
{
    smq_consumer *consumer;

    model.refuse = 2;
    consumer = consumer_of_topic(0);
    answer_done(consumer);
    end_client(consumer);
    assert_int_equal(model.refuse, 0);
    assert_int_equal(model.damaged, 0);
    assert_int_equal(model.repaired, 0);
}

/* Each read finds a later definition than the slot has refused. */
static void one_of_a_topic_that_is_altered_all_the_time_is_not_damaged(void **state)
{
    smq_consumer *consumer;

    model.altered = true;
    model.refuse = 8;
    consumer = consumer_of_topic(0);
    answer_done(consumer);
    end_client(consumer);
    assert_true(model.version > 8);
    assert_int_equal(model.damaged, 0);
}

static bool damage_is_told(void *arg)
{
    bool told;

    (void) arg;
    fake_lock();
    told = model.damaged > 0;
    model.refuse = told ? 0 : model.refuse;
    fake_unlock();
    return told;
}

static void one_that_goes_on_refusing_is_until_it_accepts(void **state)
{
    smq_consumer *consumer;

    model.refuse = INT_MAX;
    consumer = consumer_of_topic(0);
    assert_true(wait_until(damage_is_told, NULL, WAIT_MS));
    answer_done(consumer);
    end_client(consumer);
    assert_int_equal(model.damaged, 1);
    assert_int_equal(model.repaired, 1);
}

/* --- how long a slot sleeps --- */

static void a_slot_that_sleeps_looks_as_often_as_its_client_may(void **state)
{
    static const struct {
        int64_t slots, quiet_ms, sleeps_ms;
        const char *why;
    } cases[] = {
        {1, -1, 30000, "one slot"},
        {64, -1, 30000, "a topic"},
        {300, -1, 30000, "ten looks a second, of as many as that are"},
        {1000, -1, 100000, "ten looks a second"},
        {3000, -1, 300000, "ten looks a second"},
        {64000, -1, 300000, "as rarely as may be"},
        {1, 0, 1000, "a message came without a notice"},
        {64, 16000, 1000, "a moment ago"},
        {64, 160000, 10000, "a while ago"},
        {64, 480000, 30000, "long ago"},
        {64, 86400000, 30000, "a day ago"},
        {1000, 0, 10000, "a hundred looks a second"},
        {64000, 0, 300000, "as rarely as may be"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t sleeps_ms = sleep_most_ms(&sleep_times, cases[i].slots, cases[i].quiet_ms);

        if (sleeps_ms != cases[i].sleeps_ms) {
            fail_msg("%s: %" PRId64, cases[i].why, sleeps_ms);
        }
    }
}

/* All of them together look no more often than one alone, and no two at the same time. */
static void those_that_sleep_in_one_slot_share_its_looks(void **state)
{
    assert_int_equal(sleep_beside_others_ms(30000, 2, 0), 30000);
    assert_int_equal(sleep_beside_others_ms(30000, 2, 120000), 150000);
    assert_int_equal(sleep_beside_others_ms(30000, 250, UINT64_MAX / 2) >= 30000, 1);
    assert_in_range(sleep_beside_others_ms(300000, UINT64_MAX, UINT64_MAX), 300000, 600300000);
}

#define CLAIMING_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, fake_tear_down)

TEST_GROUP(claiming)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_sleep_in_one_slot_share_its_looks),
        CLAIMING_TEST(an_answer_is_what_the_script_says),
        CLAIMING_TEST(a_repeated_answer_within_its_lease_is_stored),
        CLAIMING_TEST(nobody_knows_of_a_repeated_answer_after_its_lease),
        CLAIMING_TEST(every_slot_has_its_turn),
        CLAIMING_TEST(all_slots_may_claim_at_once),
        CLAIMING_TEST(a_full_batch_is_settled_by_one_call),
        CLAIMING_TEST(a_group_of_answers_is_not_cut),
        CLAIMING_TEST(a_slot_that_refuses_twice_is_not_called_damaged),
        CLAIMING_TEST(one_of_a_topic_that_is_altered_all_the_time_is_not_damaged),
        CLAIMING_TEST(one_that_goes_on_refusing_is_until_it_accepts),
        cmocka_unit_test(a_slot_that_sleeps_looks_as_often_as_its_client_may),
        CLAIMING_TEST(no_call_has_more_arguments_than_a_managed_server_takes),
    };

    return cmocka_run_group_tests_name("claiming", tests, NULL, NULL);
}
