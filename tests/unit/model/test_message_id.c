/* test_message_id.c - the ids that the library makes for messages without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/message_id.h"
#include "support/group.h"

static void id_is_time_counter_and_random(void **state)
{
    struct message_ids ids = {0};
    char id[MESSAGE_ID_LEN + 1];

    (void) state;
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

    (void) state;
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

TEST_GROUP(message_id)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(id_is_time_counter_and_random),
        cmocka_unit_test(ids_grow_whatever_the_clock_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
