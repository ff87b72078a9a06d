/* test_gate.c - how many requests to a server may be in flight, and who leaves next. */
#include "model/gate.h"
#include "support/group.h"

enum { SLOW_US = 4000, WINDOW_US = 5000000, MANY = 64 };

static void a_slow_server_gets_fewer_requests(void **state)
{
    static const struct {
        const char *what;
        int64_t rest_us, reply_us;
        int32_t least, most;
    } rows[] = {
        {"nothing is known", 0, 0, INT32_MAX, INT32_MAX},
        {"no reply has come", 0, 1000, INT32_MAX, INT32_MAX},
        {"as fast as ever", 100, 100, INT32_MAX, INT32_MAX},
        {"nearly", 100, 110, 2 * MANY, INT32_MAX},
        {"a little slower", 100, 125, MANY, 2 * MANY},
        {"twice as slow", 100, 200, MANY / 4, MANY},
        {"five times", 100, 500, MANY / 8, MANY / 2},
        {"very slow", 100, 1000000, MANY / 8, MANY / 4},
        {"from afar, at rest", 1000, 1050, 4 * MANY, INT32_MAX},
        {"from afar, the server is full", 1000, 1500, MANY / 2, MANY},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int32_t bound = gate_bound(rows[i].rest_us, rows[i].reply_us);

        if (bound < rows[i].least || bound > rows[i].most) {
            fail_msg("%s: %d", rows[i].what, (int) bound);
        }
    }
}

/* The bound of a gate with nothing in flight after `count` replies of this time, from `now_us` on.
 * Returns when the last one came. */
static int64_t reply(struct gate *gate, int count, int64_t took_us, int64_t now_us)
{
    for (int i = 0; i < count; i++) {
        gate_sent(gate);
        gate_ended(gate, now_us, now_us + took_us, true);
        now_us += took_us;
    }
    return now_us;
}

static void the_shortest_reply_is_forgotten_after_a_while(void **state)
{
    struct gates gates = {.count = 0};
    struct gate *gate = gates_get(&gates, 1);
    int64_t now_us = reply(gate, MANY, 100, 1);

    assert_true(gate_places(gate) > 1000 * MANY);
    now_us = reply(gate, MANY, SLOW_US, now_us);
    assert_in_range(gate_places(gate), 1, MANY);
    while (now_us < INT64_C(3) * WINDOW_US) {
        now_us = reply(gate, 1, SLOW_US, now_us);
    }
    assert_true(gate_places(gate) > 1000 * MANY); /* the server is farther away now */
    gates_fini(&gates);
}

static void requests_without_a_reply_say_nothing(void **state)
{
    struct gates gates = {.count = 0};
    struct gate *gate = gates_get(&gates, 0);
    int64_t now_us = reply(gate, MANY, 100, 1);

    for (int i = 0; i < MANY; i++) {
        gate_sent(gate);
        gate_ended(gate, now_us, now_us + WINDOW_US, false);
    }
    assert_int_equal(gate->in_flight, 0);
    assert_true(gate_places(gate) > 1000 * MANY);
    gates_fini(&gates);
}

static void who_has_waited_longest_leaves_first(void **state)
{
    struct gates gates = {.count = 0};
    struct gate *gate = gates_get(&gates, 3), *other = gates_get(&gates, 7);
    struct gate_waiter first = {.gate = NULL}, second = {.gate = NULL}, third = {.gate = NULL};

    (void) reply(gate, MANY, SLOW_US, reply(gate, MANY, 100, 1));
    assert_true(gate_admits(gate, &first));
    while (gate_places(gate) > 0) {
        gate_sent(gate);
    }
    assert_false(gate_admits(gate, &first));
    gate_wait(gate, &first);
    gate_wait(gate, &second);
    assert_true(gate_admits(other, &second));
    gate_ended(gate, 0, 0, false);
    assert_true(gate_admits(gate, &first));
    assert_false(gate_admits(gate, &second));
    gate_ended(gate, 0, 0, false);
    assert_true(gate_admits(gate, &second)); /* the place of the first one is kept */
    assert_false(gate_admits(gate, &third));
    gate_sent(gate);
    gate_leave(&first);
    assert_null(first.gate);
    assert_true(gate_admits(gate, &second));
    gate_leave(&second); /* the slot has moved */
    gate_wait(other, &second);
    assert_ptr_equal(TAILQ_FIRST(&other->waiting), &second);
    assert_true(TAILQ_EMPTY(&gate->waiting));
    gate_leave(&second);
    gates_fini(&gates);
}

TEST_GROUP(gate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_server_gets_fewer_requests),
        cmocka_unit_test(the_shortest_reply_is_forgotten_after_a_while),
        cmocka_unit_test(requests_without_a_reply_say_nothing),
        cmocka_unit_test(who_has_waited_longest_leaves_first),
    };

    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
