/* test_backlog.c - a consumer on slots in which more waits than it may have, against a fake of the
 * Redis client: how much each of its calls claims and settles, and when one leaves with less. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <slotmq/consumer.h>
#include <slotmq/topic.h>

#include "fake_clock.h"
#include "scripts.h"
#include "support/group.h"
#include "support/wait.h"
#include "unit/fixture/fake_slots.h"

enum { WAIT_MS = 30000, LONG_MS = 120000, SHORT_MS = 2, SLOTS_MAX = 8, BATCH = 10, FEW = 3 };

/* A shared topic.  Each slot has as many messages as are asked for; but if `hold` is set slot 1 has
 * none, and its second call is not answered until the test says so. */
static struct model {
    int32_t slots;
    bool hold;
    int looks[SLOTS_MAX], claims[SLOTS_MAX]; /* calls of each slot; those that claimed */
    int odd;              /* claims of less than a batch, but for the first one of each slot */
    int settled;          /* answers that were stored */
    int handled, allowed; /* messages; the handler waits before it handles more than `allowed` */
    bool stopping;        /* nothing is counted any more */
} model;

static smq_client *client;

/* --- the server --- */

static void count_call(int slot, size_t n, size_t done)
{
    if (model.stopping) {
        return;
    }
    model.odd += n > 0 && n != BATCH && model.claims[slot] > 0;
    model.settled += (int) done;
}

static int slot_of(const struct redis_command *command)
{
    char name[16];
    int slot = -1;

    do {
        assert_true(++slot < SLOTS_MAX);
        snprintf(name, sizeof(name), "t_%d", slot);
    } while (!fake_arg_is(command, 0, name));
    return slot;
}

static bool consume(const struct redis_command *command, struct fake_answer *answer)
{
    size_t done = (size_t) fake_number(command, SCRIPT_CONSUME_ARGV_NDONE);
    size_t requeued = (fake_argv_count(command, SCRIPT_CONSUME_ARGV_ANSWERS) - done) / 4;
    size_t n = (size_t) fake_number(command, SCRIPT_CONSUME_ARGV_N);
    int slot = slot_of(command);
    bool empty = slot == 1 && model.hold;

    if (empty && model.looks[slot] > 0) {
        return false;
    }
    count_call(slot, n, done);
    model.looks[slot]++;
    model.claims[slot] += n > 0 && !empty;
    answer->reply =
        fake_consumed(model.claims[slot], empty ? 0 : n, done + requeued, '1', n > 0 && !empty);
    return true;
}

static redisReply *definition(void)
{
    return fake_shared_topic(model.slots, 0);
}

static const struct fake_slots served = {.definition = definition, .consume = consume};

/* --- the consumer --- */

static int set_up(void **state)
{
    memset(model.looks, 0, sizeof(model.looks));
    memset(model.claims, 0, sizeof(model.claims));
    model.odd = model.settled = model.handled = 0;
    model.hold = model.stopping = false;
    model.allowed = INT_MAX;
    fake_clock_reset();
    client = fake_slots_client(&served, NULL);
    return 0;
}

static bool is_allowed(void *arg)
{
    bool allowed;

    (void) arg;
    fake_lock();
    allowed = model.handled < model.allowed;
    fake_unlock();
    return allowed;
}

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    assert_true(wait_until(is_allowed, NULL, WAIT_MS));
    fake_lock();
    model.handled++;
    fake_unlock();
    return SMQ_DONE;
}

static void allow(int count)
{
    fake_lock();
    model.allowed = count;
    fake_unlock();
}

static smq_consumer *consumer_of(int32_t slots, int32_t max_in_flight, int64_t linger_ms)
{
    smq_consumer *consumer = NULL;

    model.slots = slots;
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "t", .handler = handle, .threads = 1, .batch_size = BATCH,
                             .max_in_flight = max_in_flight, .linger_ms = linger_ms);
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_start(consumer, NULL), SMQ_OK);
    return consumer;
}

/* A consumer that has two claims of slot 0, and has not begun them, while a call of slot 1 is in
 * progress. */
static smq_consumer *consumer_of_claims(void)
{
    smq_consumer *consumer;

    model.hold = true;
    model.allowed = 0;
    consumer = consumer_of(2, 0, LONG_MS);
    fake_await(&model.claims[0], 2);
    fake_await(&model.looks[1], 1);
    fake_lock();
    assert_int_equal(model.claims[0], 2);
    assert_int_equal(model.looks[1], 1);
    fake_unlock();
    fake_publish("wake{t_1}", "", 0);
    fake_await_held(1);
    return consumer;
}

/* Have this many handled, and wait until their answers, but for the last one, are with their slot:
 * what is asked now is asked after that. */
static void have_handled(int count)
{
    allow(count);
    fake_await(&model.handled, count);
    (void) smq_topic_get(client, "t", NULL, NULL);
}

static void end(smq_consumer *consumer)
{
    fake_lock();
    model.stopping = true;
    model.hold = false;
    model.allowed = INT_MAX;
    fake_unlock();
    fake_resume();
    smq_consumer_free(consumer);
}

/* --- the tests --- */

static void stop_does_not_wait_for_more_answers(void **state)
{
    smq_consumer *consumer = consumer_of_claims();

    have_handled(FEW);
    smq_consumer_stop(consumer);
    fake_await(&model.settled, FEW);
    end(consumer);
}

static void a_call_does_not_wait_longer_than_linger_for_more_answers(void **state)
{
    smq_consumer *consumer;

    model.allowed = FEW;
    consumer = consumer_of(1, 0, SHORT_MS);
    fake_await(&model.settled, FEW);
    end(consumer);
}

/* Here no call waits for more answers, so they leave max_in_flight free one by one.  The clock
 * stands still, because the last places are taken when no answer has come for a moment. */
static void no_claim_takes_what_little_is_left_of_max_in_flight(void **state)
{
    smq_consumer *consumer;

    fake_clock_stop();
    consumer = consumer_of(SLOTS_MAX, 4 * BATCH, SMQ_NONE);
    fake_await(&model.settled, 40 * BATCH);
    end(consumer);
    assert_int_equal(model.odd, 0);
}

/* Else the handler would have nothing to do until the claim has come. */
static void a_claim_takes_a_quarter_of_max_in_flight_if_a_batch_is_more(void **state)
{
    smq_consumer *consumer;

    fake_clock_stop();
    model.allowed = FEW;
    consumer = consumer_of(1, BATCH, SMQ_NONE);
    fake_await(&model.settled, FEW);
    fake_lock();
    assert_int_equal(model.claims[0], 2);
    fake_unlock();
    end(consumer);
}

TEST_GROUP(backlog)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stop_does_not_wait_for_more_answers, set_up,
                                        fake_tear_down),
        cmocka_unit_test_setup_teardown(a_call_does_not_wait_longer_than_linger_for_more_answers,
                                        set_up, fake_tear_down),
        cmocka_unit_test_setup_teardown(no_claim_takes_what_little_is_left_of_max_in_flight, set_up,
                                        fake_tear_down),
        cmocka_unit_test_setup_teardown(a_claim_takes_a_quarter_of_max_in_flight_if_a_batch_is_more,
                                        set_up, fake_tear_down),
    };

    return cmocka_run_group_tests_name("backlog", tests, NULL, NULL);
}
