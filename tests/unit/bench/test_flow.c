/* test_flow.c - an open loop: what is sent when, how late it counts, and when it gives up. */
#include "flow.h"
#include "meter.h"
#include "support/group.h"

#define FAST 1e6 /* messages/s */

/* A way that notes what it is asked. */
struct notes {
    struct flow *flow; /* whose messages are handled at once; NULL: never */
    uint64_t sent;
    int64_t waited_until_ns;
    bool in_order, early, ended;
};

static bool note_send(void *user, uint64_t number)
{
    struct notes *notes = user;
    char body[TALLY_BODY];

    notes->in_order = notes->in_order && number == notes->sent;
    notes->early = notes->early || meter_now_ns() < notes->waited_until_ns;
    notes->sent++;
    if (notes->flow != NULL) {
        tally_body(body, sizeof(body), number);
        flow_seen(notes->flow, 0, body, sizeof(body));
    }
    return true;
}

static bool note_wait(void *user, int64_t until_ns)
{
    struct notes *notes = user;

    notes->waited_until_ns = until_ns;
    return flow_sleep(user, until_ns);
}

static bool note_end(void *user)
{
    struct notes *notes = user;

    notes->ended = true;
    return true;
}

static const struct flow_way noting = {.send = note_send, .wait = note_wait, .end = note_end};

static bool fail_to_send(void *user, uint64_t number)
{
    (void) user;
    return number < 3;
}

/* ======================================================================== */

static void each_message_when_it_is_due(void **state)
{
    struct flow flow;
    struct notes notes = {.flow = &flow, .in_order = true};

    flow_init(&flow, FAST, 0.002);
    assert_true(flow_send(&flow, &noting, &notes));
    struct flow_result result = flow_result(&flow);
    assert_int_equal(notes.sent, 2000);
    assert_true(notes.in_order && notes.ended);
    assert_false(notes.early);
    assert_int_equal(result.counts.sent, 2000);
    assert_int_equal(result.counts.handled, 2000);
    assert_int_equal(result.counts.lost, 0);
    assert_false(result.gave_up);
    assert_true(result.p50_ms >= 0 && result.p99_ms >= result.p50_ms);
    flow_fini(&flow);
}

/* Nothing is handled: after a thousandth of a second it is clear. */
static void gives_up_when_the_backlog_is_long(void **state)
{
    struct flow flow;
    struct notes notes = {.in_order = true};

    flow_init(&flow, 100000, 30);
    flow.give_up_s = 0.001;
    assert_true(flow_send(&flow, &noting, &notes));
    struct flow_result result = flow_result(&flow);
    assert_true(result.gave_up);
    assert_true(notes.ended);
    assert_int_equal(result.counts.sent, notes.sent);
    assert_int_equal(result.counts.lost, notes.sent);
    flow_fini(&flow);
}

static void a_way_that_fails_ends_it(void **state)
{
    const struct flow_way failing = {.send = fail_to_send, .wait = flow_sleep, .end = note_end};
    struct flow flow;
    struct notes notes = {.ended = false};

    flow_init(&flow, FAST, 0.001);
    assert_false(flow_send(&flow, &failing, &notes));
    assert_int_equal(flow.sent, 3);
    assert_false(notes.ended);
    flow_fini(&flow);
}

/* Of 100 messages/s for 10 s, message n is `first` + n * `each` nanoseconds late. */
static struct flow_result result_of(int64_t first, int64_t each)
{
    struct flow flow;

    flow_init(&flow, 100, 10);
    flow.sent = flow.messages;
    for (uint64_t i = 0; i < flow.messages; i++) {
        flow.late_ns[i] = first + (int64_t) i * each;
    }
    struct flow_result result = flow_result(&flow);
    flow_fini(&flow);
    return result;
}

static bool is_near(double value, double wanted)
{
    return value > wanted - 1e-6 && value < wanted + 1e-6;
}

/* The first half second does not count: 50 messages. */
static void quantiles_and_growth(void **state)
{
    struct flow_result same = result_of(3000000, 0), later = result_of(0, 1000000);

    assert_true(is_near(same.growth, 0) && is_near(same.p50_ms, 3) && is_near(same.p99_ms, 3));
    assert_true(is_near(later.growth, 0.1)); /* 100 messages of 1 ms each second */
    assert_true(is_near(later.p50_ms, 50 + 474));
    assert_true(is_near(later.p99_ms, 50 + 939));
}

/* Also of the first half second, but not of what was not handled. */
static void least_of_all_that_were_handled(void **state)
{
    struct flow flow;

    assert_true(is_near(result_of(2000000, 0).least_ms, 2));
    assert_true(is_near(result_of(3000000, -1000).least_ms, 3 - 0.999));
    flow_init(&flow, 100, 10);
    flow.sent = 100;
    assert_true(is_near(flow_result(&flow).least_ms, 0));
    flow.late_ns[3] = 5000000;
    flow.late_ns[70] = 7000000;
    assert_true(is_near(flow_result(&flow).least_ms, 5));
    flow_fini(&flow);
}

static void lateness_counts_from_the_due_time(void **state)
{
    struct flow flow;
    char body[TALLY_BODY];

    flow_init(&flow, 10, 1);
    flow.start_ns = meter_now_ns() - 1000000000;
    tally_body(body, sizeof(body), 4); /* due 0.4 s after the start */
    flow_seen(&flow, 0, body, sizeof(body));
    assert_true(flow.late_ns[4] >= 600000000);
    int64_t late_ns = flow.late_ns[4];
    flow_seen(&flow, 0, body, sizeof(body)); /* the second time does not count */
    assert_true(flow.late_ns[4] == late_ns);
    flow_fini(&flow);
}

TEST_GROUP(flow)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_message_when_it_is_due),
        cmocka_unit_test(gives_up_when_the_backlog_is_long),
        cmocka_unit_test(a_way_that_fails_ends_it),
        cmocka_unit_test(quantiles_and_growth),
        cmocka_unit_test(least_of_all_that_were_handled),
        cmocka_unit_test(lateness_counts_from_the_due_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
