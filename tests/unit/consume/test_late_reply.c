/* test_late_reply.c - a claim or a renewal whose reply lay about for longer than it is good for, as
 * after a stop of the process: how old it is counts from the question. */
#include <limits.h>
#include <string.h>

#include <slotmq/consumer.h>
#include <slotmq/topic.h>

#include "scripts.h"
#include "support/group.h"
#include "unit/fixture/fake_slots.h"

enum { LEASE_MS = 500 };

/* A topic of one slot and one message. */
static struct model {
    bool shared;
    bool hold_consume, hold_renew; /* keep these back */
    int held_consume, held_renew;  /* 1: one was */
    bool claimed;
    int renews; /* that were answered */
    int before; /* this many before the handler began; -1: it has not */
} model;

/* --- the server --- */

static redisReply *definition(void)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.name = "t", .type = SMQ_TYPE_FIXED_TIME, .shared = model.shared,
                          .slots = 1, .lease_ms = LEASE_MS);
    return fake_topic_of(&options, "ready");
}

/* An answer, if there is one, is done. */
static bool consume(const struct redis_command *command, struct fake_answer *answer)
{
    bool claim = !model.claimed && fake_number(command, SCRIPT_CONSUME_ARGV_N) > 0;

    if (model.hold_consume) {
        model.held_consume = 1;
        return false;
    }
    model.claimed = model.claimed || claim;
    answer->reply =
        fake_consumed(model.claimed ? 1 : 0, claim ? 1 : 0,
                      (size_t) fake_number(command, SCRIPT_CONSUME_ARGV_NDONE), '1', false);
    return true;
}

static bool other(const struct redis_command *command, struct fake_answer *answer)
{
    (void) answer;
    if (strcmp(command->script->name, "renew") != 0) {
        return true;
    }
    assert_int_equal(fake_argv_count(command, SCRIPT_RENEW_ARGV_ENTRIES), 1);
    model.held_renew = model.hold_renew ? 1 : model.held_renew;
    model.renews += model.hold_renew ? 0 : 1;
    return !model.hold_renew;
}

static const struct fake_slots served = {
    .definition = definition, .consume = consume, .script = other};

/* --- the consumer --- */

static smq_verdict on_message(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    fake_lock();
    model.before = model.renews;
    fake_unlock();
    return SMQ_DONE;
}

/* What is held back is answered when it is worth nothing any more. */
static void answer_late(const int *held, bool *hold)
{
    fake_await(held, 1);
    fake_await_ms(LEASE_MS);
    fake_let_go(hold);
}

/* How many renewals were answered before the handler began.  One message at a time, because with
 * room for more the consumer looks again while it waits for the renewal, and the reply to that
 * confirms the slot, too. */
static int renewals_before(bool shared, bool late_renewal)
{
    smq_client *client = fake_slots_client(&served, NULL);
    smq_consumer *consumer = NULL;

    model.shared = shared;
    model.hold_consume = true;
    model.hold_renew = late_renewal;
    model.held_consume = model.held_renew = 0;
    model.claimed = false;
    model.renews = 0;
    model.before = -1;
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "t", .max_in_flight = 1, .handler = on_message);
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_start(consumer, NULL), SMQ_OK);
    answer_late(&model.held_consume, &model.hold_consume);
    if (late_renewal) {
        answer_late(&model.held_renew, &model.hold_renew);
    }
    fake_await(&model.before, 0);
    smq_consumer_free(consumer);
    (void) fake_tear_down(NULL);
    return model.before;
}

static void a_late_claim_is_renewed_before_its_handler_begins(void **state)
{
    assert_in_range(renewals_before(false, false), 1, INT_MAX);
}

static void so_is_one_of_a_shared_topic(void **state)
{
    assert_in_range(renewals_before(true, false), 1, INT_MAX);
}

static void a_late_renewal_is_asked_for_again(void **state)
{
    assert_in_range(renewals_before(false, true), 2, INT_MAX);
}

static void so_is_one_of_a_claim_of_a_shared_topic(void **state)
{
    assert_in_range(renewals_before(true, true), 2, INT_MAX);
}

TEST_GROUP(late_reply)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_claim_is_renewed_before_its_handler_begins),
        cmocka_unit_test(so_is_one_of_a_shared_topic),
        cmocka_unit_test(a_late_renewal_is_asked_for_again),
        cmocka_unit_test(so_is_one_of_a_claim_of_a_shared_topic),
    };

    return cmocka_run_group_tests_name("late_reply", tests, NULL, NULL);
}
