/* test_ordinary.c - which script takes a consume call: what is known before it is sent, and what
 * becomes of a call that `consume` does not take. */
#include <slotmq/consumer.h>
#include <slotmq/topic.h>

#include "consume/slot/ordinary.h"
#include "scripts.h"
#include "store/consume.h"
#include "support/group.h"
#include "unit/fixture/fake_slots.h"

enum { LEASE_MS = 600000, CALLS_MAX = 32, REDIS_MS = 5 };

/* --- what the call shows --- */

static void some_calls_are_never_ordinary(void **state)
{
    static const struct store_known part = {.entry = "1c1:m", .entry_len = 5};
    static const struct store_answer done[] = {{.op = STORE_DONE}, {.op = STORE_DONE}},
                                     retried[] = {{.op = STORE_DONE}, {.op = STORE_DONE_RETRIED}},
                                     retry[] = {{.op = STORE_DONE},
                                                {.op = STORE_RETRY, .delay_ms = 5}},
                                     at_once[] = {{.op = STORE_RETRY}},
                                     reject[] = {{.op = STORE_REJECT}},
                                     release[] = {{.op = STORE_RELEASE, .delay_ms = 5}},
                                     hung[] = {{.op = STORE_HUNG}};
    static const struct {
        const char *why;
        struct store_slot slot;
        struct store_consume consume;
        bool any;
    } cases[] = {
        {"a claim", {.kind = 't'}, {.n = 1}, false},
        {"answers", {.kind = 'm'}, {.answers = done, .answer_count = 2}, false},
        {"priorities", {.kind = 'p'}, {.n = 1}, false},
        {"keyed", {.kind = 't', .keyed = true}, {.answers = done, .answer_count = 2}, false},
        {"a window, and nothing is done", {.keyed = true, .dedup_ms = 5}, {.n = 1}, false},
        {"a window", {.keyed = true, .dedup_ms = 5}, {.answers = done, .answer_count = 1}, true},
        {"a window inline", {.dedup_ms = 5}, {.answers = done, .answer_count = 1}, false},
        {"shared", {.kind = 't', .shared = true}, {.n = 1}, false},
        {"fifo", {.kind = 'f', .keyed = true}, {.n = 1}, true},
        {"a repeat", {.kind = 't'}, {.n = 1, .repeated = true}, true},
        {"a part of a claim", {.kind = 't'}, {.n = 1, .part = &part}, true},
        {"keys to pass over", {.kind = 't'}, {.n = 1, .passes = "1:k", .passes_len = 3}, true},
        {"done after a retry", {.kind = 't'}, {.answers = retried, .answer_count = 2}, false},
        {"a retry", {.kind = 't'}, {.answers = retry, .answer_count = 2}, false},
        {"a retry at once", {.kind = 't'}, {.answers = at_once, .answer_count = 1}, true},
        {"a reject", {.kind = 't'}, {.answers = reject, .answer_count = 1}, true},
        {"a release", {.kind = 't'}, {.answers = release, .answer_count = 1}, true},
        {"a handler that hung", {.kind = 't'}, {.answers = hung, .answer_count = 1}, true},
        {"after rests", {.kind = 't'}, {.n = 1, .rested = true}, false},
        {"what the slot knows", {.kind = 't'}, {.n = 1, .any = true}, true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (store_consume_is_any(&cases[i].slot, &cases[i].consume) != cases[i].any) {
            fail_msg("%s", cases[i].why);
        }
    }
}

/* --- what the slot knows --- */

static void after_a_takeover_suspects_may_wait(void **state)
{
    struct ordinary ordinary;

    ordinary_begin(&ordinary, 0);
    assert_false(ordinary_is(&ordinary, 0));
    ordinary_replied(&ordinary, 1000, true);
    assert_false(ordinary_is(&ordinary, 1001));
    ordinary_replied(&ordinary, 1002, false);
    assert_true(ordinary_is(&ordinary, 1003));
}

static void after_a_strict_takeover_what_was_claimed_lasts_for_a_lease(void **state)
{
    struct ordinary ordinary;

    ordinary_begin(&ordinary, 500);
    ordinary_replied(&ordinary, 1000, false);
    assert_false(ordinary_is(&ordinary, 1001));
    ordinary_replied(&ordinary, 1400, false);
    assert_false(ordinary_is(&ordinary, 1500));
    assert_true(ordinary_is(&ordinary, 1501));
}

static void what_was_requeued_is_due_once(void **state)
{
    struct ordinary ordinary = {.rare = false};

    ordinary_rests(&ordinary, 2000);
    ordinary_rests(&ordinary, 1500);
    assert_false(ordinary_has_rested(&ordinary, 1499));
    assert_true(ordinary_has_rested(&ordinary, 1500));
    ordinary_replied(&ordinary, 1499, false); /* it was too early */
    assert_true(ordinary_has_rested(&ordinary, 1500));
    assert_true(ordinary_is(&ordinary, 1500));
    ordinary_replied(&ordinary, 1500, false);
    assert_false(ordinary_has_rested(&ordinary, 1999));
    assert_true(ordinary_has_rested(&ordinary, 2000));
}

static void of_many_that_were_requeued_the_earliest_are_known(void **state)
{
    struct ordinary ordinary = {.rare = false};

    for (int i = 0; i < ORDINARY_RESTS; i++) {
        ordinary_rests(&ordinary, 5000 + i);
    }
    ordinary_rests(&ordinary, 9000); /* is forgotten */
    ordinary_rests(&ordinary, 1000); /* takes the place of the latest */
    assert_int_equal(ordinary.count, ORDINARY_RESTS);
    assert_true(ordinary_has_rested(&ordinary, 1000));
    ordinary_replied(&ordinary, 1000, false);
    assert_int_equal(ordinary.count, ORDINARY_RESTS - 1);
    ordinary_replied(&ordinary, 5000 + ORDINARY_RESTS - 2, false);
    assert_false(ordinary_has_rested(&ordinary, INT64_MAX));
}

/* --- a call that `consume` does not take --- */

/* A topic of one slot and two messages, which come one by one.  Each call: the script, and whether
 * it says that it is repeated. */
static struct model {
    bool lose; /* the first reply of consume_any that answers something */
    int claims;
    bool refused; /* consume has not taken a call */
    size_t args;  /* of that call */
    struct {
        bool any, repeated, settles;
    } calls[CALLS_MAX];
    size_t count;
    int settled, lost; /* answers that were settled and whose reply came; events */
} model;

static redisReply *definition(void)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.name = "t", .type = SMQ_TYPE_FIXED_TIME,
                                                  .slots = 1, .lease_ms = LEASE_MS);
    return fake_topic_of(&options, "ready");
}

static bool consume(const struct redis_command *command, struct fake_answer *answer)
{
    bool any = command->script == &script_consume_any;
    size_t done = (size_t) fake_number(command, SCRIPT_CONSUME_ARGV_NDONE);
    bool repeated = fake_arg_is(command, fake_argv(command, SCRIPT_CONSUME_ARGV_FLAGS), "r");
    bool claims = model.claims < 2 && fake_number(command, SCRIPT_CONSUME_ARGV_N) > 0;

    assert_true(model.count < CALLS_MAX);
    model.calls[model.count].any = any;
    model.calls[model.count].repeated = repeated;
    model.calls[model.count++].settles = done > 0;
    if (!any && done > 0 && !model.refused) {
        model.refused = true;
        model.args = command->args.count;
        answer->reply = fake_word("ANY");
        return true;
    }
    assert_true(!model.refused || model.args == 0 || command->args.count == model.args);
    model.args = 0;
    if (model.lose && any && done > 0) {
        model.lose = false;
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
        return true;
    }
    model.settled += (int) done;
    model.claims += claims ? 1 : 0;
    answer->reply = fake_consumed(model.claims, claims ? 1 : 0, done, repeated ? '0' : '1', false);
    return true;
}

static const struct fake_slots served = {.definition = definition, .consume = consume};

static smq_verdict on_message(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    return SMQ_DONE;
}

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    fake_lock();
    model.lost += event->kind == SMQ_EVENT_LEASE_LOST ? 1 : 0;
    fake_unlock();
}

/* Both messages are done.  Which call settled the first is left to the caller. */
static size_t handle_two(bool lose)
{
    smq_client *client = fake_slots_client(&served, on_event);
    smq_consumer *consumer = NULL;
    size_t first = 0;

    model.lose = lose;
    model.refused = false;
    model.claims = model.settled = model.lost = 0;
    model.args = model.count = 0;
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "t", .threads = 1, .max_in_flight = 1, .handler = on_message);
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_start(consumer, NULL), SMQ_OK);
    fake_await(&model.settled, 2);
    smq_consumer_free(consumer);
    (void) fake_tear_down(NULL);
    assert_int_equal(model.settled, 2);
    assert_int_equal(model.lost, 0);
    assert_true(model.calls[0].any); /* after the takeover */
    while (!model.calls[first].settles) {
        first++;
    }
    assert_false(model.calls[first].any);
    assert_true(model.calls[first + 1].any && model.calls[first + 1].settles);
    assert_false(model.calls[first + 1].repeated);
    return first;
}

static void a_call_that_is_not_ordinary_is_sent_to_the_other_script(void **state)
{
    size_t first = handle_two(false);

    for (size_t i = first + 2; i < model.count; i++) {
        assert_false(model.calls[i].repeated || model.calls[i].any);
    }
}

static void only_the_second_of_both_calls_may_have_been_executed(void **state)
{
    size_t first = handle_two(true);

    assert_true(model.calls[first + 2].any && model.calls[first + 2].repeated &&
                model.calls[first + 2].settles);
}

TEST_GROUP(ordinary)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_calls_are_never_ordinary),
        cmocka_unit_test(after_a_takeover_suspects_may_wait),
        cmocka_unit_test(after_a_strict_takeover_what_was_claimed_lasts_for_a_lease),
        cmocka_unit_test(what_was_requeued_is_due_once),
        cmocka_unit_test(of_many_that_were_requeued_the_earliest_are_known),
        cmocka_unit_test(a_call_that_is_not_ordinary_is_sent_to_the_other_script),
        cmocka_unit_test(only_the_second_of_both_calls_may_have_been_executed),
    };

    return cmocka_run_group_tests_name("ordinary", tests, NULL, NULL);
}
