/* test_buf.c - a growing byte buffer. */
#include <string.h>

#include "base/buf.h"
#include "support/group.h"

static void zero_is_an_empty_buffer(void **state)
{
    struct buf buf = {0};

    buf_clear(&buf);
    buf_consume(&buf, 0);
    buf_consume(&buf, 5);
    assert_null(buf.data);
    assert_int_equal(buf.len, 0);
    buf_fini(&buf);
    buf_fini(&buf);
}

static void bytes_are_added_behind_each_other(void **state)
{
    struct buf buf = {0};

    buf_add(&buf, NULL, 0);
    assert_string_equal(buf.data, "");
    buf_add(&buf, "ab", 2);
    buf_add(&buf, "\0c", 2);
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.data, "ab\0c\0", 5);
    buf_clear(&buf);
    assert_int_equal(buf.len, 0);
    assert_string_equal(buf.data, "");
    buf_fini(&buf);
    assert_null(buf.data);
}

static void growing_keeps_the_bytes(void **state)
{
    struct buf buf = {0};

    for (int i = 0; i < 10000; i++) {
        char byte = (char) i;

        buf_add(&buf, &byte, 1);
    }
    assert_int_equal(buf.len, 10000);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(buf.data[i], (char) i);
    }
    assert_int_equal(buf.data[10000], '\0');
    assert_true(buf.size > buf.len);
    buf_fini(&buf);
}

static void formatted_text_has_any_length(void **state)
{
    struct buf buf = {0};

    buf_printf(&buf, "%s", "");
    assert_string_equal(buf.data, "");
    buf_printf(&buf, "%d-%s", 17, "x");
    buf_printf(&buf, "%0*d", 500, 7);
    assert_int_equal(buf.len, 504);
    assert_memory_equal(buf.data, "17-x0000", 8);
    assert_int_equal(buf.data[503], '7');
    assert_int_equal(buf.data[504], '\0');
    buf_fini(&buf);
}

static void room_is_filled_by_its_user(void **state)
{
    struct buf buf = {0};
    char *room = NULL;

    buf_add(&buf, "ab", 2);
    room = buf_room(&buf, 5000);
    memset(room, 'x', 5000);
    buf.len += 5000;
    assert_memory_equal(buf.data, "abxx", 4);
    assert_true(buf.size > buf.len);
    assert_true(buf_room(&buf, 0) == buf.data + buf.len);
    buf_fini(&buf);
}

static void front_is_consumed(void **state)
{
    struct buf buf = {0};

    buf_add(&buf, "abcdef", 6);
    buf_consume(&buf, 0);
    assert_string_equal(buf.data, "abcdef");
    buf_consume(&buf, 4);
    assert_string_equal(buf.data, "ef");
    assert_int_equal(buf.len, 2);
    buf_consume(&buf, 99);
    assert_string_equal(buf.data, "");
    assert_int_equal(buf.len, 0);
    buf_fini(&buf);
}

TEST_GROUP(buf)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_is_an_empty_buffer),
        cmocka_unit_test(bytes_are_added_behind_each_other),
        cmocka_unit_test(growing_keeps_the_bytes),
        cmocka_unit_test(formatted_text_has_any_length),
        cmocka_unit_test(room_is_filled_by_its_user),
        cmocka_unit_test(front_is_consumed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
