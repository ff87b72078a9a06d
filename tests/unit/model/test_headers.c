/* test_headers.c - headers of messages: which are allowed, and how they are stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/headers.h"
#include "support/group.h"

static char large[SMQ_HEADERS_BYTES_MAX + 1];

static int fill_large(void **state)
{
    (void) state;
    memset(large, 'v', sizeof(large));
    return 0;
}

static void what_is_stored_is_read_again(void **state)
{
    static const struct {
        smq_header headers[3];
        size_t count;
        const char *block;
        size_t len;
    } rows[] = {
        {{{"a", {"x", 1}}}, 1, "a\0001:x", 5},
        {{{"traceparent", {"00-4bf9-01", 10}}}, 1, "traceparent\00010:00-4bf9-01", 25},
        {{{"empty", {NULL, 0}}, {"b", {"a\0001:x", 5}}}, 2, "empty\0000:b\0005:a\0001:x", 17},
        {{{"A", {"\0\xff", 2}}, {"a", {":", 1}}, {"~", {"9", 1}}},
         3,
         "A\0002:\0\xff"
         "a\0001::~\0001:9",
         16},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_header again[SMQ_HEADERS_MAX];
        struct buf block = {0};

        assert_int_equal(headers_check(rows[i].headers, rows[i].count, NULL), SMQ_OK);
        headers_encode(&block, rows[i].headers, rows[i].count);
        assert_int_equal(block.len, rows[i].len);
        assert_memory_equal(block.data, rows[i].block, rows[i].len);
        assert_int_equal(headers_size(rows[i].headers, rows[i].count), rows[i].len);
        assert_int_equal(headers_decode(again, rows[i].block, rows[i].len), rows[i].count);
        for (size_t j = 0; j < rows[i].count; j++) {
            assert_string_equal(again[j].name, rows[i].headers[j].name);
            assert_int_equal(again[j].value.len, rows[i].headers[j].value.len);
            if (again[j].value.len > 0) {
                assert_memory_equal(again[j].value.data, rows[i].headers[j].value.data,
                                    again[j].value.len);
            }
        }
        buf_fini(&block);
    }
}

static void what_is_no_block_is_refused(void **state)
{
    static const struct {
        const char *block;
        size_t len;
    } rows[] = {
        {"a", 1},         {"a\0", 2},        {"a\0001", 3},     {"a\0001:", 4},
        {"\0001:x", 4},   {"a\0002:x", 5},   {"a\000-1:x", 6},  {"a\0001x", 4},
        {"a\00001:x", 6}, {"a=b\0001:x", 7}, {"a b\0001:x", 7}, {"a\0009999999999999999999:x", 24},
        {"a\0001:xb", 6}, {"a\000:x", 4},
    };
    struct buf many = {0};
    smq_header headers[SMQ_HEADERS_MAX];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(headers_decode(headers, rows[i].block, rows[i].len), 0);
    }
    for (size_t i = 0; i < SMQ_HEADERS_MAX; i++) {
        buf_add(&many, "a\0000:", 4);
    }
    assert_int_equal(headers_decode(headers, many.data, many.len), SMQ_HEADERS_MAX);
    buf_add(&many, "a\0000:", 4);
    assert_int_equal(headers_decode(headers, many.data, many.len), 0);
    buf_fini(&many);
}

static void headers_that_are_not_allowed_are_named(void **state)
{
    static const struct {
        smq_header headers[3];
        size_t count;
        smq_status status;
        const char *text;
    } rows[] = {
        {{{NULL, {"x", 1}}},
         1,
         SMQ_INVALID,
         "\"\" cannot be the name of a header: it needs printable ASCII characters without blanks "
         "and '='"},
        {{{"", {"x", 1}}},
         1,
         SMQ_INVALID,
         "\"\" cannot be the name of a header: it needs printable ASCII characters without blanks "
         "and '='"},
        {{{"a=b", {"x", 1}}},
         1,
         SMQ_INVALID,
         "\"a=b\" cannot be the name of a header: it needs printable ASCII characters without "
         "blanks and '='"},
        {{{"slotmq-x", {"x", 1}}},
         1,
         SMQ_INVALID,
         "header slotmq-x: names that begin with slotmq- are kept for slotmq"},
        {{{"SlotMQ-", {"x", 1}}},
         1,
         SMQ_INVALID,
         "header SlotMQ-: names that begin with slotmq- are kept for slotmq"},
        {{{"a", {NULL, 1}}}, 1, SMQ_INVALID, "the value of header a has a length but no pointer"},
        {{{"a", {"x", 1}}, {"b", {"x", 1}}, {"a", {"y", 1}}},
         3,
         SMQ_INVALID,
         "header a is given twice"},
        {{{"a", {large, SMQ_HEADERS_BYTES_MAX - 2}}, {"b", {"x", 1}}},
         2,
         SMQ_TOO_BIG,
         "the headers of a message may have 8192 bytes in all, names and values; with b these have "
         "more"},
        {{{"a", {large, SIZE_MAX}}},
         1,
         SMQ_TOO_BIG,
         "the headers of a message may have 8192 bytes in all, names and values; with a these have "
         "more"},
    };
    smq_header same[SMQ_HEADERS_MAX + 1] = {{"a", {"x", 1}}};
    smq_error err;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(headers_check(rows[i].headers, rows[i].count, &err), rows[i].status);
        assert_string_equal(err.text, rows[i].text);
    }
    assert_int_equal(headers_check(same, SMQ_HEADERS_MAX + 1, &err), SMQ_TOO_BIG);
    assert_string_equal(err.text, "the message has 65 headers: at most 64 are allowed");
    assert_int_equal(headers_check(NULL, 1, &err), SMQ_INVALID);
    assert_string_equal(err.text, "the headers have a count but no pointer");
}

/* The largest that are allowed make no block that is refused. */
static void the_largest_headers_are_stored(void **state)
{
    smq_header headers[SMQ_HEADERS_MAX], again[SMQ_HEADERS_MAX];
    char names[SMQ_HEADERS_MAX][3];
    size_t each = SMQ_HEADERS_BYTES_MAX / SMQ_HEADERS_MAX - 2;
    struct buf block = {0};

    (void) state;
    for (size_t i = 0; i < SMQ_HEADERS_MAX; i++) {
        names[i][0] = (char) ('A' + i / 8);
        names[i][1] = (char) ('A' + i % 8);
        names[i][2] = '\0';
        headers[i] = (smq_header){names[i], {large, each}};
    }
    assert_int_equal(headers_check(headers, SMQ_HEADERS_MAX, NULL), SMQ_OK);
    headers_encode(&block, headers, SMQ_HEADERS_MAX);
    assert_in_range(block.len, SMQ_HEADERS_BYTES_MAX, HEADERS_BLOCK_MAX);
    assert_int_equal(headers_decode(again, block.data, block.len), SMQ_HEADERS_MAX);
    assert_string_equal(headers_find(again, SMQ_HEADERS_MAX, "HH")->name, "HH");
    assert_null(headers_find(again, SMQ_HEADERS_MAX, "hh"));
    buf_fini(&block);
}

TEST_GROUP(headers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_is_read_again),
        cmocka_unit_test(what_is_no_block_is_refused),
        cmocka_unit_test(headers_that_are_not_allowed_are_named),
        cmocka_unit_test(the_largest_headers_are_stored),
    };

    return cmocka_run_group_tests(tests, fill_large, NULL);
}
