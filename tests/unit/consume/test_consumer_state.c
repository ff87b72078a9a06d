/* test_consumer_state.c - which state of a consumer may follow which. */
#include "consume/consumer/consumer.h"
#include "support/group.h"

/* A row is the state before, a column the state after; 'x': it may follow. */
static void consumer_rests_and_begins_again_but_ends_once(void **state)
{
    static const char *const rows[CONSUMER_STATES] = {
        [CONSUMER_NEW] = ".x..x",        [CONSUMER_RUNNING] = "..xx.",
        [CONSUMER_SUSPENDING] = "x..x.", [CONSUMER_STOPPING] = "....x",
        [CONSUMER_ENDED] = ".....",
    };

    for (int from = 0; from < CONSUMER_STATES; from++) {
        for (int to = 0; to < CONSUMER_STATES; to++) {
            assert_int_equal(consumer_may((enum consumer_state) from, (enum consumer_state) to),
                             rows[from][to] == 'x');
        }
    }
}

TEST_GROUP(consumer_state)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(consumer_rests_and_begins_again_but_ends_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
