/* long_form.c - the table of sizes of the tests of faults.
 *
 * Thread: any. */
#include "support/long_form.h"

#include <assert.h>
#include <stdlib.h>

static const struct long_form_row {
    int quick, extended;
} long_form_rows[LONG_FORM_SIZES] = {
    [SIZE_BURST] = {300, 500},
    [SIZE_MOVED_KINDS] = {6, 8},
    [SIZE_HALF_MOVED_MS] = {0, 30000},
    [SIZE_REQUEST_TIMEOUT_MS] = {200, 3000},
    [SIZE_PAUSE_MS] = {0, 10000},
    [SIZE_BLACK_HOLE_MS] = {0, 26000},
    [SIZE_LOST_REPLY_ROUNDS] = {3, 2},
    [SIZE_AWAY_MS] = {0, 15000},
    [SIZE_BEHIND_MS] = {0, 15000},
    [SIZE_FAILOVERS] = {2, 10},
    [SIZE_DISTURBANCES] = {3, 30},
    [SIZE_FULL_MS] = {0, 20000},
    [SIZE_BUSY_MS] = {0, 10000},
    [SIZE_READ_ONLY_MS] = {0, 20000},
    [SIZE_LOADING_MESSAGES] = {2000, 20000},
    [SIZE_NODE_ROUNDS] = {1, 5},
    [SIZE_CLIENTS] = {40, 1000},
    [SIZE_NO_DESCRIPTORS_MS] = {0, 20000},
    [SIZE_RESTARTS] = {4, 20},
};

int long_form(enum long_form_size size)
{
    assert(size < LONG_FORM_SIZES);
    return getenv("SLOTMQ_TEST_LONG") != NULL ? long_form_rows[size].extended
                                              : long_form_rows[size].quick;
}
