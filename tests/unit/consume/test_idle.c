/* test_idle.c - answers for which nothing waits leave with the calls of other slots, against a
 * fake of the Redis client. */
#include <string.h>

#include <slotmq/consumer.h>
#include <slotmq/topic.h>

#include "consume/slot/sleep.h"
#include "fake_clock.h"
#include "scripts.h"
#include "support/group.h"
#include "support/wait.h"
#include "unit/fixture/fake_slots.h"

enum { WAIT_MS = 30000, LONG_MS = 120000, SLOTS = 2, PER_ANSWER = 4 };

#define LATER_US  (INT64_C(10000) * 1000000) /* so answers linger for longer than WAIT_MS */
#define ASLEEP_MS (INT64_C(1000000) * 1000)  /* no slot looks by itself, however late it is */

/* A shared topic, whose slots have the messages that the test gives them. */
static struct model {
    size_t given[SLOTS];  /* to be claimed */
    size_t stored[SLOTS]; /* answers */
    int calls;            /* with answers */
} model;

static smq_client *client;
static smq_consumer *consumer;

/* --- the server --- */

static bool consume(const struct redis_command *command, struct fake_answer *answer)
{
    size_t done = (size_t) fake_number(command, SCRIPT_CONSUME_ARGV_NDONE);
    size_t others = (fake_argv_count(command, SCRIPT_CONSUME_ARGV_ANSWERS) - done) / PER_ANSWER;
    size_t answers = done + others;
    int slot = fake_arg_is(command, 0, "t_1") ? 1 : 0;
    size_t count = model.given[slot];

    model.given[slot] = 0;
    model.stored[slot] += answers;
    model.calls += answers > 0;
    answer->reply = fake_consumed(1, count, answers, '1', false);
    return true;
}

static redisReply *definition(void)
{
    return fake_shared_topic(SLOTS, 0);
}

static const struct fake_slots served = {.definition = definition, .consume = consume};

/* --- the consumer --- */

static int set_up(void **state)
{
    memset(model.given, 0, sizeof(model.given));
    memset(model.stored, 0, sizeof(model.stored));
    model.calls = 0;
    fake_clock_reset();
    sleep_times.least = sleep_times.most = ASLEEP_MS;
    client = fake_slots_client(&served, NULL);
    return 0;
}

static int tear_down(void **state)
{
    smq_consumer_free(consumer);
    return fake_tear_down(state);
}

static void begin(int64_t linger_ms)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.topic = "t", .linger_ms = linger_ms);
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
}

static void give(int slot)
{
    fake_lock();
    model.given[slot] = 1;
    fake_unlock();
    fake_publish(slot == 0 ? "wake{t_0}" : "wake{t_1}", "", 0);
}

static smq_delivery *poll_one(void)
{
    smq_delivery *delivery = NULL;
    size_t count = 0;

    while (count == 0) {
        assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, &count, WAIT_MS, NULL), SMQ_OK);
    }
    return delivery;
}

/* The slot has a message, and it is answered; the answer is with the slot. */
static void answer_one(int slot)
{
    give(slot);
    assert_int_equal(smq_done(poll_one(), NULL), SMQ_OK);
    (void) smq_topic_get(client, "t", NULL, NULL);
}

static size_t stored(int slot)
{
    size_t count;

    fake_lock();
    count = model.stored[slot];
    fake_unlock();
    return count;
}

struct wanted {
    int slot;
    size_t count;
};

static bool are_stored(void *arg)
{
    const struct wanted *wanted = arg;

    return stored(wanted->slot) == wanted->count;
}

static void await_stored(int slot, size_t count)
{
    struct wanted wanted = {slot, count};

    assert_true(wait_until(are_stored, &wanted, WAIT_MS));
}

/* Both slots have had a message, and another one a long time later is answered in slot 0. */
static void linger(void)
{
    begin(LONG_MS);
    for (int slot = 0; slot < SLOTS; slot++) {
        answer_one(slot);
        await_stored(slot, 1);
    }
    fake_clock_advance(LATER_US);
    answer_one(0);
    assert_int_equal(stored(0), 1);
}

/* --- the tests --- */

static void answers_of_rare_messages_leave_with_the_next_call(void **state)
{
    linger();
    give(1);
    await_stored(0, 2);
    assert_int_equal(smq_done(poll_one(), NULL), SMQ_OK);
}

static void answers_of_several_slots_leave_together(void **state)
{
    int before;

    linger();
    before = model.calls;
    fake_clock_advance(LATER_US); /* the first one has lingered for long enough */
    give(1);
    await_stored(0, 2);
    assert_int_equal(smq_done(poll_one(), NULL), SMQ_OK);
    (void) smq_topic_get(client, "t", NULL, NULL);
    assert_int_equal(model.calls, before + 1);
    assert_int_equal(stored(1), 1);
}

static void answers_of_frequent_messages_leave_at_once(void **state)
{
    begin(LONG_MS);
    for (size_t i = 1; i <= 3; i++) {
        answer_one(0);
        await_stored(0, i);
    }
}

static void without_linger_no_answer_waits(void **state)
{
    begin(SMQ_NONE);
    answer_one(0);
    await_stored(0, 1);
    fake_clock_advance(LATER_US);
    answer_one(0);
    await_stored(0, 2);
}

static void a_message_of_the_slot_ends_the_wait(void **state)
{
    linger();
    answer_one(0);
    assert_int_equal(stored(0), 2);
}

static void a_requeued_message_does_not_wait(void **state)
{
    linger();
    give(1);
    assert_int_equal(smq_retry(poll_one(), 0, NULL, NULL), SMQ_OK);
    await_stored(1, 2);
}

static void flush_ends_the_wait(void **state)
{
    linger();
    assert_int_equal(smq_consumer_flush(consumer, WAIT_MS, NULL), SMQ_OK);
    assert_int_equal(stored(0), 2);
}

static void stop_ends_the_wait(void **state)
{
    linger();
    smq_consumer_stop(consumer);
    await_stored(0, 2);
}

TEST_GROUP(idle)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_of_rare_messages_leave_with_the_next_call, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(answers_of_several_slots_leave_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_of_frequent_messages_leave_at_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_linger_no_answer_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_of_the_slot_ends_the_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_requeued_message_does_not_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flush_ends_the_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stop_ends_the_wait, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
