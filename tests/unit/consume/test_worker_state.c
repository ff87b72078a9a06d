/* test_worker_state.c - which state of a worker may follow which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "consume/worker/worker.h"
#include "support/group.h"

/* A row is the state before, a column the state after; 'x': it may follow. */
static void worker_rests_and_begins_again_but_ends_once(void **state)
{
    static const char *const rows[WORKER_STATES] = {
        [WORKER_NEW] = ".x..x",      [WORKER_RUNNING] = "..xx.", [WORKER_SUSPENDING] = "x..x.",
        [WORKER_STOPPING] = "....x", [WORKER_ENDED] = ".....",
    };

    (void) state;
    for (int from = 0; from < WORKER_STATES; from++) {
        for (int to = 0; to < WORKER_STATES; to++) {
            assert_int_equal(worker_may((enum worker_state) from, (enum worker_state) to),
                             rows[from][to] == 'x');
        }
    }
}

TEST_GROUP(worker_state)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_rests_and_begins_again_but_ends_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
