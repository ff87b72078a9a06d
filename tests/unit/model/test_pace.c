/* test_pace.c - when requests that wait for company may leave. */
#include "model/pace.h"
#include "support/group.h"

enum { LINGER_MS = 20 };

static void first_request_leaves_at_once(void **state)
{
    struct pace pace;

    pace_init(&pace, LINGER_MS);
    assert_int_equal(pace_opens_us(&pace), 0);
}

/* A flush at 1,000,000 us: when the next one may leave, before a reply has come. */
static void next_ones_wait_for_a_reply_but_not_long(void **state)
{
    static const struct {
        int64_t linger_ms, opens_us;
    } rows[] = {{20, 1005000}, {2, 1000500}, {0, 1000000}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pace pace;

        pace_init(&pace, rows[i].linger_ms);
        pace_flush(&pace, 1000000);
        assert_int_equal(pace_opens_us(&pace), rows[i].opens_us);
        pace_answered(&pace, 1000000);
        assert_int_equal(pace_opens_us(&pace), 0);
    }
}

/* All requests of one turn are one flush. */
static void late_replies_of_earlier_flushes_say_nothing(void **state)
{
    struct pace pace;

    pace_init(&pace, LINGER_MS);
    pace_flush(&pace, 1000000);
    pace_flush(&pace, 1000000);
    pace_answered(&pace, 1000000);
    pace_flush(&pace, 1000000);
    assert_int_equal(pace_opens_us(&pace), 0);
    pace_flush(&pace, 1000300);
    assert_int_equal(pace_opens_us(&pace), 1005300);
    pace_answered(&pace, 1000000);
    assert_int_equal(pace_opens_us(&pace), 1005300);
    pace_answered(&pace, 1000300);
    assert_int_equal(pace_opens_us(&pace), 0);
}

static void answers_linger_for_a_part_of_the_time_between_messages(void **state)
{
    static const struct {
        int64_t linger_ms, apart_us, wait_us;
    } rows[] = {
        {2, 0, 0},           /* the first message */
        {2, 320, 10},        /* messages come often */
        {2, 64000, 2000},    /* 1,000 a second in 64 slots */
        {2, 1000000, 2000},  /* never longer than linger_ms */
        {20, 320000, 10000}, /* messages come rarely */
        {0, 1000000, 0},     /* nothing waits */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pace pace;

        pace_init(&pace, rows[i].linger_ms);
        assert_int_equal(pace_linger_us(&pace, rows[i].apart_us), rows[i].wait_us);
    }
}

TEST_GROUP(pace)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_request_leaves_at_once),
        cmocka_unit_test(next_ones_wait_for_a_reply_but_not_long),
        cmocka_unit_test(late_replies_of_earlier_flushes_say_nothing),
        cmocka_unit_test(answers_linger_for_a_part_of_the_time_between_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
