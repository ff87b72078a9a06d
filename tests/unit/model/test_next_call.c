/* test_next_call.c - when the next call of a slot leaves, with how many messages, and why. */
#include <inttypes.h>

#include "model/next_call.h"
#include "support/group.h"

/* Times are relative to NOW, which is 0 in a row. */
#define NOW   INT64_C(1000000)
#define NEVER NEXT_CALL_NEVER

enum { BATCH = 100, ROOM = 200, SHARE = 15, PLACES = 1000, OPEN = -1, NONE = -1 };

struct row {
    const char *what;
    struct next_call_view view; /* a 0 in what limits a claim stands for much; NONE for nothing */
    struct next_call next;
};

static int64_t or_else(int64_t value, int64_t usual)
{
    return value == NONE ? 0 : value != 0 ? value : usual;
}

static int64_t at(int64_t us)
{
    return us == NEVER ? NEVER : NOW + us;
}

/* 0: not set */
static int64_t at_or_0(int64_t us)
{
    return us == 0 ? 0 : NOW + us;
}

static struct next_call_view view_of(const struct row *row)
{
    struct next_call_view view = row->view;

    view.now_us = NOW;
    view.batch = (int32_t) or_else(view.batch, BATCH);
    view.room = (int32_t) or_else(view.room, ROOM);
    view.pass_room = (int32_t) or_else(view.pass_room, (int64_t) 2 * ROOM);
    view.share = (int32_t) or_else(view.share, PLACES);
    view.places = or_else(view.places, PLACES);
    view.spare = or_else(view.spare, PLACES / 4);
    view.quota = or_else(view.quota, INT64_MAX);
    view.credit = or_else(view.credit, INT64_MAX);
    view.look_us = at(view.look_us);
    view.pass_us = at(view.pass_us);
    view.turn_us = at(view.turn_us);
    view.opens_us = at(view.opens_us);
    view.waits_us = at_or_0(view.waits_us);
    view.due_us = at_or_0(view.due_us);
    view.rest_us = at_or_0(view.rest_us);
    return view;
}

static void check(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        struct next_call_view view = view_of(row);
        struct next_call next = next_call_of(&view);
        int64_t left_us = next.leave_at_us == NEVER ? NEVER : next.leave_at_us - NOW;

        if (next.why != row->next.why || next.n != row->next.n ||
            left_us != row->next.leave_at_us || next.passes != row->next.passes ||
            next.queues != row->next.queues) {
            fail_msg("%s: why %d, n %" PRId32 ", in %" PRId64 " us%s%s", row->what, next.why,
                     next.n, left_us, next.passes ? ", passes" : "", next.queues ? ", queues" : "");
        }
    }
}

#define CHECK_ROWS(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

/* --- what it claims --- */

#define EMPTY   .store = NEXT_CALL_EMPTY
#define PERHAPS .store = NEXT_CALL_PERHAPS
#define MORE    .store = NEXT_CALL_MORE
#define HAS(claimed, open, answered)                                                               \
    .in_flight = (claimed), .unanswered = (open), .answers = (answered)
#define NO_CALL(reason)                                                                            \
    {                                                                                              \
        .why = NEXT_CALL_##reason, .leave_at_us = NEVER                                            \
    }
#define NO_CALL_FOR(reason, us)                                                                    \
    {                                                                                              \
        .why = NEXT_CALL_##reason, .leave_at_us = (us)                                             \
    }
#define QUEUES(reason)                                                                             \
    {                                                                                              \
        .why = NEXT_CALL_##reason, .leave_at_us = NEVER, .queues = true                            \
    }
#define LEAVES(count)                                                                              \
    {                                                                                              \
        .why = NEXT_CALL_NOW, .n = (count)                                                         \
    }

static void a_claim_takes_what_there_is_room_for(void **state)
{
    static const struct row rows[] = {
        {"nothing is known to wait", {EMPTY}, NO_CALL(NOTHING)},
        {"the first claim takes its share", {PERHAPS, .share = SHARE}, LEAVES(SHARE)},
        {"a share of none is two", {PERHAPS, .share = NONE}, LEAVES(2)},
        {"one place is less than a share", {PERHAPS, .places = 1, .spare = NONE}, LEAVES(1)},
        {"more waits", {MORE, .share = SHARE}, LEAVES(BATCH)},
        {"half of the room is free", {MORE, HAS(100, 100, 0)}, LEAVES(BATCH)},
        {"less than half is free", {MORE, HAS(101, 101, 0)}, NO_CALL(ANSWERS)},
        {"less than a batch is free", {MORE, HAS(150, 150, 0), .per_slot = 200}, LEAVES(50)},
        {"nothing is free", {MORE, HAS(200, 200, 0), .per_slot = 300}, NO_CALL(ANSWERS)},
        {"a session may be lost", {PERHAPS, .doubted = true}, NO_CALL_FOR(MEMBER, 500000)},
    };

    CHECK_ROWS(rows);
}

static void a_claim_waits_for_room_and_rates(void **state)
{
    static const struct row rows[] = {
        {"no place is free", {PERHAPS, .places = NONE}, QUEUES(ROOM)},
        {"too many are used", {PERHAPS, .places = -3}, QUEUES(ROOM)},
        {"few are", {MORE, .places = 99}, QUEUES(ROOM)},
        {"a batch is", {MORE, .places = 100}, LEAVES(100)},
        {"a quarter is", {MORE, .places = 50, .spare = 50}, LEAVES(50)},
        {"max_messages are handled", {MORE, .quota = NONE}, QUEUES(ROOM)},
        {"nearly so many are", {MORE, .quota = 7}, LEAVES(7)},
        {"the rate allows none", {MORE, .credit = NONE, .spare = NONE}, QUEUES(RATE)},
        {"it allows some", {MORE, .credit = 3, .spare = NONE}, LEAVES(3)},
        {"others wait for room", {MORE, .contended = true, .turn_us = -19999}, LEAVES(BATCH)},
        {"for as long as a turn", {MORE, .contended = true, .turn_us = -20000}, QUEUES(ROOM)},
        {"a rate that may have changed",
         {MORE, .credit = NONE, .spare = NONE, .woken = true, .rate_long = true},
         {.why = NEXT_CALL_NOW, .queues = true}},
        {"one that the slot waits for",
         {EMPTY, .woken = true, .rate_long = true, .queued = true},
         LEAVES(0)},
    };

    CHECK_ROWS(rows);
}

#define FULL .in_flight = ROOM, .unanswered = ROOM, .lacks_keys = true

static void a_slot_claims_beside_what_it_has(void **state)
{
    static const struct row rows[] = {
        {"nothing is in flight", {PERHAPS, .look_us = 5000}, LEAVES(BATCH)},
        {"an answer may come soon",
         {PERHAPS, HAS(2, 2, 0), .look_us = 5000},
         NO_CALL_FOR(TIME, 5000)},
        {"it did not", {PERHAPS, HAS(2, 2, 0)}, LEAVES(BATCH)},
        {"a send will wake it", {PERHAPS, HAS(2, 2, 0), .look_us = NEVER}, NO_CALL(NOTHING)},
        {"more waits", {MORE, HAS(2, 2, 0), .look_us = NEVER}, LEAVES(BATCH)},
        {"full of a few keys", {MORE, FULL}, {.why = NEXT_CALL_NOW, .n = BATCH, .passes = true}},
        {"few places are left",
         {MORE, FULL, .places = 5},
         {.why = NEXT_CALL_NOW, .n = 5, .passes = true}},
        {"none is", {MORE, FULL, .places = NONE}, QUEUES(ROOM)},
        {"it has passed over keys a moment ago",
         {MORE, FULL, .pass_us = 20000},
         NO_CALL_FOR(TIME, 20000)},
        {"an answer may come", {PERHAPS, FULL, .look_us = 5000}, NO_CALL_FOR(TIME, 5000)},
        {"full of a few keys, and nothing else waits",
         {PERHAPS, FULL, .look_us = NEVER},
         NO_CALL(NOTHING)},
        {"full of many keys", {MORE, .in_flight = ROOM, .unanswered = ROOM}, NO_CALL(ANSWERS)},
        {"the room for other keys is full, too",
         {MORE, .in_flight = 400, .unanswered = 400, .lacks_keys = true},
         NO_CALL(ANSWERS)},
        {"a part of it is left",
         {MORE, .in_flight = 350, .unanswered = 350, .lacks_keys = true},
         {.why = NEXT_CALL_NOW, .n = 50, .passes = true}},
    };

    CHECK_ROWS(rows);
}

/* --- when it leaves --- */

#define LATER .opens_us = 400
#define WAITS(reason, count, us)                                                                   \
    {                                                                                              \
        .why = NEXT_CALL_##reason, .n = (count), .leave_at_us = (us)                               \
    }

static void calls_leave_together(void **state)
{
    static const struct row rows[] = {
        {"a claim", {PERHAPS, LATER}, WAITS(TOGETHER, BATCH, 400)},
        {"answers", {PERHAPS, LATER, HAS(9, 5, 4)}, WAITS(TOGETHER, BATCH, 400)},
        {"it is time", {PERHAPS, .opens_us = OPEN, HAS(9, 5, 4)}, LEAVES(BATCH)},
        {"another call has left", {PERHAPS, LATER, HAS(9, 5, 4), .left = true}, LEAVES(BATCH)},
        {"a flush", {PERHAPS, LATER, HAS(9, 5, 4), .awaited = true}, LEAVES(BATCH)},
        {"half a batch of answers", {EMPTY, LATER, HAS(60, 10, 50)}, WAITS(TOGETHER, 0, 400)},
        {"more than that", {EMPTY, LATER, HAS(61, 10, 51)}, LEAVES(0)},
        {"the slot is given up", {EMPTY, LATER, HAS(9, 5, 4), .ending = true}, LEAVES(0)},
        {"the slot is to be closed", {EMPTY, .must = true, .ending = true}, LEAVES(0)},
        {"an owed call", {EMPTY, LATER, .must = true}, WAITS(TOGETHER, 0, 400)},
        {"answers, and no room for a claim",
         {PERHAPS, LATER, HAS(9, 5, 4), .places = NONE},
         {.why = NEXT_CALL_TOGETHER, .leave_at_us = 400, .queues = true}},
    };

    CHECK_ROWS(rows);
}

static void the_call_of_a_slot_with_a_backlog_waits_no_longer(void **state)
{
    static const struct row rows[] = {
        {"a few answers", {MORE, LATER, HAS(100, 90, 10)}, WAITS(TOGETHER, BATCH, 400)},
        {"others leave", {MORE, LATER, HAS(100, 90, 10), .left = true}, LEAVES(BATCH)},
        {"a flush", {MORE, LATER, HAS(100, 90, 10), .awaited = true}, LEAVES(BATCH)},
        {"more than half a batch", {MORE, LATER, HAS(199, 100, 99)}, LEAVES(BATCH)},
        {"all is answered", {MORE, LATER, HAS(10, 0, 10)}, WAITS(TOGETHER, BATCH, 400)},
        {"the slot is given up", {MORE, LATER, HAS(100, 90, 10), .ending = true}, LEAVES(BATCH)},
    };

    CHECK_ROWS(rows);
}

#define ANSWERED EMPTY, HAS(1, 0, 1), .linger_us = 2000
static void answers_of_an_idle_slot_wait_for_another_call(void **state)
{
    static const struct row rows[] = {
        {"rare messages", {ANSWERED, .opens_us = OPEN}, WAITS(IDLE, 0, 2000)},
        {"longer than together", {ANSWERED, LATER}, WAITS(IDLE, 0, 2000)},
        {"some time ago", {ANSWERED, .waits_us = -500}, WAITS(IDLE, 0, 1500)},
        {"long ago", {ANSWERED, .opens_us = OPEN, .waits_us = -2000}, LEAVES(0)},
        {"long ago, and others wait",
         {ANSWERED, LATER, .waits_us = -2000},
         WAITS(TOGETHER, 0, 400)},
        {"a message is due", {ANSWERED, .due_us = 700}, WAITS(IDLE, 0, 700)},
        {"one is due later", {ANSWERED, .due_us = 7000}, WAITS(IDLE, 0, 2000)},
        {"frequent messages", {EMPTY, HAS(1, 0, 1), .opens_us = OPEN}, LEAVES(0)},
        {"another call leaves", {ANSWERED, .left = true}, LEAVES(0)},
        {"a flush", {ANSWERED, .awaited = true}, LEAVES(0)},
        {"it was woken", {ANSWERED, .woken = true}, LEAVES(0)},
        {"a message is requeued", {ANSWERED, .requeued = 1}, LEAVES(0)},
        {"others wait for room", {ANSWERED, .contended = true}, LEAVES(0)},
        {"more than half a batch", {EMPTY, HAS(51, 0, 51), .linger_us = 2000}, LEAVES(0)},
        {"one is not answered", {EMPTY, HAS(2, 1, 1), .linger_us = 2000}, LEAVES(0)},
        {"the slot is given up", {ANSWERED, .ending = true}, LEAVES(0)},
        {"it claims as well", {PERHAPS, HAS(1, 0, 1), .linger_us = 2000}, WAITS(IDLE, BATCH, 2000)},
    };

    CHECK_ROWS(rows);
}

#define BUSY .busy = true, .opens_us = OPEN
static void a_call_waits_while_its_server_is_busy(void **state)
{
    static const struct row rows[] = {
        {"a claim", {PERHAPS, BUSY}, WAITS(BUSY, BATCH, NEXT_CALL_NEVER)},
        {"answers", {EMPTY, BUSY, HAS(9, 5, 4)}, WAITS(BUSY, 0, NEXT_CALL_NEVER)},
        {"a call that fills itself",
         {EMPTY, BUSY, HAS(99, 0, 99)},
         WAITS(BUSY, 0, NEXT_CALL_NEVER)},
        {"another call has left",
         {PERHAPS, BUSY, .left = true},
         WAITS(BUSY, BATCH, NEXT_CALL_NEVER)},
        {"first it waits for others", {PERHAPS, LATER, .busy = true}, WAITS(TOGETHER, BATCH, 400)},
        {"there is a place after it has waited", {PERHAPS, LATER, .gated = true}, LEAVES(BATCH)},
        {"it does not idle any more", {ANSWERED, .gated = true}, LEAVES(0)},
        {"the slot is given up", {PERHAPS, BUSY, .ending = true}, LEAVES(BATCH)},
        {"it must call", {EMPTY, BUSY, .must = true}, LEAVES(0)},
    };

    CHECK_ROWS(rows);
}

/* --- sends --- */

#define READY(many, waiting) .sends = (many), .callers = (waiting), .halves = true

static void sends_leave_together_and_callers_in_halves(void **state)
{
    static const struct row rows[] = {
        {"nothing was sent lately", {READY(4, 0), .idle = true}, LEAVES(4)},
        {"something was", {READY(4, 0), LATER}, WAITS(TOGETHER, 0, 400)},
        {"one must not wait", {READY(4, 0), LATER, .urgent = true}, LEAVES(4)},
        {"one caller", {READY(4, 1), .idle = true, .urgent = true}, LEAVES(4)},
        {"two callers", {READY(2, 2), .idle = true, .urgent = true}, WAITS(HALF, 1, 30)},
        {"several callers", {READY(4, 4), .idle = true, .urgent = true}, WAITS(HALF, 2, 30)},
        {"an odd number", {READY(3, 3), .idle = true, .urgent = true}, WAITS(HALF, 2, 30)},
        {"callers with one slot", {READY(1, 4), .idle = true, .urgent = true}, WAITS(HALF, 1, 30)},
        {"Redis is not idle", {READY(4, 4), .urgent = true}, LEAVES(4)},
        {"nothing may wait", {.sends = 4, .callers = 4, .idle = true, .urgent = true}, LEAVES(4)},
        {"the first half has left",
         {READY(2, 4), .urgent = true, .rest_us = 29},
         WAITS(TOGETHER, 0, 29)},
        {"a moment ago", {READY(2, 4), .urgent = true, .rest_us = -1}, LEAVES(2)},
        {"it is answered", {READY(2, 4), .idle = true, .urgent = true, .rest_us = 29}, LEAVES(2)},
    };

    CHECK_ROWS(rows);
}

static void there_is_room_if_a_claim_would_not_be_made_small(void **state)
{
    static const struct {
        struct next_call_view view;
        bool room;
    } rows[] = {
        {{.places = BATCH, .spare = PLACES, .quota = 1, .credit = 1}, true},
        {{.places = BATCH - 1, .spare = PLACES, .quota = 1, .credit = 1}, false},
        {{.places = BATCH - 1, .spare = BATCH - 1, .quota = 1, .credit = 1}, true},
        {{.places = BATCH, .spare = PLACES, .quota = 0, .credit = 1}, false},
        {{.places = BATCH, .spare = PLACES, .quota = 1, .credit = 0}, false},
        {{.places = 0, .spare = 0, .quota = 1, .credit = 1}, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(next_call_has_room(&rows[i].view, BATCH), rows[i].room);
    }
}

static void a_call_waits_to_leave_for_three_reasons(void **state)
{
    for (int why = 0; why < NEXT_CALLS; why++) {
        assert_int_equal(next_call_waits((enum next_call_why) why), why == NEXT_CALL_TOGETHER ||
                                                                        why == NEXT_CALL_BUSY ||
                                                                        why == NEXT_CALL_IDLE);
    }
}

TEST_GROUP(next_call)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_takes_what_there_is_room_for),
        cmocka_unit_test(a_claim_waits_for_room_and_rates),
        cmocka_unit_test(a_slot_claims_beside_what_it_has),
        cmocka_unit_test(calls_leave_together),
        cmocka_unit_test(the_call_of_a_slot_with_a_backlog_waits_no_longer),
        cmocka_unit_test(answers_of_an_idle_slot_wait_for_another_call),
        cmocka_unit_test(a_call_waits_while_its_server_is_busy),
        cmocka_unit_test(sends_leave_together_and_callers_in_halves),
        cmocka_unit_test(there_is_room_if_a_claim_would_not_be_made_small),
        cmocka_unit_test(a_call_waits_to_leave_for_three_reasons),
    };

    return cmocka_run_group_tests_name("next_call", tests, NULL, NULL);
}
