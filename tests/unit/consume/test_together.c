/* test_together.c - calls that wait for those of other slots, against a fake of the Redis client:
 * what goes together, and what does not wait. */
#include <string.h>

#include <slotmq/consumer.h>
#include <slotmq/topic.h>

#include "scripts.h"
#include "support/group.h"
#include "unit/fixture/fake_slots.h"

enum { WAIT_MS = 30000, LONG_MS = 120000, SLOTS = 2, BATCH = 10, FEW = 4 };

/* A shared topic.  Slot 0 has one batch of messages; slot 1 has none, and its second call is not
 * answered until the test says so. */
static struct model {
    int looks[SLOTS];    /* calls without answers */
    bool hold;           /* those of slot 1 after its first one */
    int calls, answered; /* of slot 0: calls with answers, and how many these were */
} model;

static smq_client *client;

/* --- the server --- */

static bool consume(const struct redis_command *command, struct fake_answer *answer)
{
    size_t answers = (size_t) fake_number(command, SCRIPT_CONSUME_ARGV_NDONE);
    int slot = fake_arg_is(command, 0, "t_1");

    if (slot == 1 && model.looks[1] > 0 && model.hold) {
        return false;
    }
    answer->reply =
        fake_consumed(1, slot == 0 && model.looks[0] == 0 ? BATCH : 0, answers, '1', false);
    model.looks[slot] += answers == 0;
    model.calls += answers > 0;
    model.answered += (int) answers;
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
    memset(model.looks, 0, sizeof(model.looks));
    model.hold = true;
    model.calls = model.answered = 0;
    client = fake_slots_client(&served, NULL);
    return 0;
}

/* A consumer that has polled the batch of slot 0, while a call of slot 1 is in progress. */
static smq_consumer *consumer_of_batch(smq_delivery **polled, int64_t linger_ms)
{
    smq_consumer *consumer = NULL;
    size_t count = 0, more;

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "t", .per_slot = BATCH, .max_in_flight = SLOTS * BATCH,
                             .linger_ms = linger_ms);
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
    while (count < BATCH) {
        assert_int_equal(
            smq_consumer_poll(consumer, polled + count, BATCH - count, &more, WAIT_MS, NULL),
            SMQ_OK);
        count += more;
    }
    fake_await(&model.looks[0], 1);
    fake_await(&model.looks[1], 1);
    fake_publish("wake{t_1}", "", 0);
    fake_await_held(1);
    return consumer;
}

static void answer(smq_delivery **polled, int from, int to)
{
    for (int i = from; i < to; i++) {
        assert_int_equal(smq_done(polled[i], NULL), SMQ_OK);
    }
}

/* Wait until the answers so far are with their slot: what is asked now is asked after that. */
static void await_answered(void)
{
    (void) smq_topic_get(client, "t", NULL, NULL);
}

static void end(smq_consumer *consumer, smq_delivery **polled, int answered)
{
    fake_let_go(&model.hold);
    answer(polled, answered, BATCH);
    assert_int_equal(smq_consumer_flush(consumer, WAIT_MS, NULL), SMQ_OK);
    smq_consumer_free(consumer);
}

/* --- the tests --- */

static void answers_wait_for_calls_in_progress_and_go_together(void **state)
{
    smq_delivery *polled[BATCH];
    smq_consumer *consumer = consumer_of_batch(polled, LONG_MS);

    for (int i = 0; i < FEW; i++) {
        answer(polled, i, i + 1);
        await_answered();
    }
    fake_let_go(&model.hold);
    fake_await(&model.answered, FEW);
    assert_int_equal(model.calls, 1);
    end(consumer, polled, FEW);
}

static void without_linger_the_first_answer_goes_at_once(void **state)
{
    smq_delivery *polled[BATCH];
    smq_consumer *consumer = consumer_of_batch(polled, SMQ_NONE);

    for (int i = 0; i < FEW; i++) {
        answer(polled, i, i + 1);
        fake_await(&model.answered, i + 1);
    }
    assert_int_equal(model.calls, FEW);
    end(consumer, polled, FEW);
}

static void more_than_half_a_batch_of_answers_does_not_wait(void **state)
{
    smq_delivery *polled[BATCH];
    smq_consumer *consumer = consumer_of_batch(polled, LONG_MS);

    answer(polled, 0, BATCH / 2 + 1);
    fake_await(&model.answered, BATCH / 2 + 1);
    end(consumer, polled, BATCH / 2 + 1);
}

static void flush_does_not_wait_for_company(void **state)
{
    smq_delivery *polled[BATCH];
    smq_consumer *consumer = consumer_of_batch(polled, LONG_MS);

    answer(polled, 0, FEW);
    await_answered();
    assert_int_equal(smq_consumer_flush(consumer, WAIT_MS, NULL), SMQ_OK);
    assert_int_equal(model.answered, FEW);
    end(consumer, polled, FEW);
}

static void stop_does_not_wait_for_company(void **state)
{
    smq_delivery *polled[BATCH];
    smq_consumer *consumer = consumer_of_batch(polled, LONG_MS);

    answer(polled, 0, FEW);
    await_answered();
    smq_consumer_stop(consumer);
    fake_await(&model.answered, FEW);
    end(consumer, polled, FEW);
}

TEST_GROUP(together)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_wait_for_calls_in_progress_and_go_together, set_up,
                                        fake_tear_down),
        cmocka_unit_test_setup_teardown(without_linger_the_first_answer_goes_at_once, set_up,
                                        fake_tear_down),
        cmocka_unit_test_setup_teardown(more_than_half_a_batch_of_answers_does_not_wait, set_up,
                                        fake_tear_down),
        cmocka_unit_test_setup_teardown(flush_does_not_wait_for_company, set_up, fake_tear_down),
        cmocka_unit_test_setup_teardown(stop_does_not_wait_for_company, set_up, fake_tear_down),
    };

    return cmocka_run_group_tests_name("together", tests, NULL, NULL);
}
