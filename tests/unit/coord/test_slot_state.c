/* test_slot_state.c - every state of a slot with every input. */
#include "coord/member/slot_state.h"
#include "support/group.h"

/* clang-format off */
static const struct {
    enum slot_state from;
    enum slot_input input;
    enum slot_state to;
} moves[] = {
    {SLOT_IDLE, SLOT_GRANT, SLOT_ACQUIRING},
    {SLOT_ACQUIRING, SLOT_ACQUIRED, SLOT_OWNED},
    {SLOT_ACQUIRING, SLOT_REFUSED, SLOT_IDLE},
    {SLOT_ACQUIRING, SLOT_REVOKE, SLOT_STOPPING},
    {SLOT_ACQUIRING, SLOT_RELEASED, SLOT_IDLE},
    {SLOT_ACQUIRING, SLOT_LOSE, SLOT_IDLE},
    {SLOT_OWNED, SLOT_REFUSED, SLOT_IDLE},
    {SLOT_OWNED, SLOT_REVOKE, SLOT_STOPPING},
    {SLOT_OWNED, SLOT_RELEASED, SLOT_IDLE},
    {SLOT_OWNED, SLOT_LOSE, SLOT_IDLE},
    {SLOT_STOPPING, SLOT_REFUSED, SLOT_IDLE},
    {SLOT_STOPPING, SLOT_RELEASED, SLOT_IDLE},
    {SLOT_STOPPING, SLOT_LOSE, SLOT_IDLE},
};
/* clang-format on */

static enum slot_state expected(enum slot_state from, enum slot_input input)
{
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        if (moves[i].from == from && moves[i].input == input) {
            return moves[i].to;
        }
    }
    return from;
}

/* What the table does not name changes nothing; a slot being stopped is not granted again before
 * it was released. */
static void each_input_moves_as_the_table_says(void **state)
{
    for (int from = 0; from < SLOT_STATES; from++) {
        for (int input = 0; input < SLOT_INPUTS; input++) {
            assert_int_equal(slot_state_next((enum slot_state) from, (enum slot_input) input),
                             expected((enum slot_state) from, (enum slot_input) input));
        }
    }
}

TEST_GROUP(slot_state)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_input_moves_as_the_table_says),
    };

    return cmocka_run_group_tests_name("slot_state", tests, NULL, NULL);
}
