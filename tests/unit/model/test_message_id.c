/* test_message_id.c - the ids that the library makes for messages without one. */
#include <string.h>

#include "model/message_id.h"
#include "model/slot.h"
#include "support/group.h"

static void id_is_time_counter_and_random(void **state)
{
    struct message_ids ids = {0};
    char id[MESSAGE_ID_LEN + 1];

    message_id_make(id, &ids, INT64_C(1700000000000), UINT64_C(0xabcdef));
    assert_string_equal(id, "018bcfe5680000000000000000abcdef");
    message_id_make(id, &ids, INT64_C(1700000000000), UINT64_MAX);
    assert_string_equal(id, "018bcfe568000001ffffffffffffffff");
    message_id_make(id, &ids, INT64_C(1700000000001), 0);
    assert_string_equal(id, "018bcfe5680100000000000000000000");
}

static void ids_grow_whatever_the_clock_does(void **state)
{
    static const int64_t clock[] = {5, 5, 9, 3, 9, 0, 10};
    struct message_ids ids = {0};
    char last[MESSAGE_ID_LEN + 1] = "";
    char id[MESSAGE_ID_LEN + 1];

    for (size_t i = 0; i < sizeof(clock) / sizeof(clock[0]); i++) {
        message_id_make(id, &ids, clock[i], UINT64_MAX - i);
        assert_true(strcmp(id, last) > 0);
        memcpy(last, id, sizeof(last));
    }
    for (int i = 0; i < 70000; i++) {
        message_id_make(id, &ids, 10, 0);
        assert_true(strcmp(id, last) > 0);
        memcpy(last, id, sizeof(last));
    }
}

/* A moved id keeps its time and counter, belongs to the slot, and stays one of hex digits. */
static void ids_move_to_any_slot(void **state)
{
    static const int32_t slots[] = {1, 2, 64, 1024, 65536};
    struct message_ids ids = {0};
    char id[MESSAGE_ID_LEN + 1], before[MESSAGE_ID_LEN + 1];

    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        for (int32_t step = slots[i] > 1024 ? 61 : 1, slot = 0; slot < slots[i]; slot += step) {
            message_id_make(id, &ids, 1700000000000 + slot,
                            UINT64_C(0x9e3779b97f4a7c15) * (1 + slot));
            memcpy(before, id, sizeof(before));
            message_id_move(id, slot, slots[i]);
            assert_int_equal(slot_of_key(id, MESSAGE_ID_LEN, slots[i]), slot);
            assert_memory_equal(id, before, MESSAGE_ID_LEN - 7);
            assert_int_equal(strspn(id, "0123456789abcdef"), MESSAGE_ID_LEN);
        }
    }
}

static void moved_ids_differ_by_their_random_bits(void **state)
{
    struct message_ids ids[2] = {{0}, {0}};
    char one[MESSAGE_ID_LEN + 1], other[MESSAGE_ID_LEN + 1];

    for (int bit = 28; bit < 64; bit++) { /* those below decide about the tail */
        message_id_make(one, &ids[0], 5, 0);
        message_id_make(other, &ids[1], 5, UINT64_C(1) << bit);
        message_id_move(one, 3, 64);
        message_id_move(other, 3, 64);
        assert_string_not_equal(one, other);
    }
}

TEST_GROUP(message_id)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(id_is_time_counter_and_random),
        cmocka_unit_test(ids_grow_whatever_the_clock_does),
        cmocka_unit_test(ids_move_to_any_slot),
        cmocka_unit_test(moved_ids_differ_by_their_random_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
