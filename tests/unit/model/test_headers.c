/* test_headers.c - headers of messages: which are allowed, and how they are stored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/header.h"
#include "model/headers.h"
#include "support/group.h"
#include "support/vectors.h"

static char large[SMQ_HEADERS_BYTES_MAX + 1];

static int fill_large(void **state)
{
    memset(large, 'v', sizeof(large));
    return 0;
}

static void check_block(const struct vector *vector, void *user)
{
    smq_header headers[SMQ_HEADERS_MAX], again[SMQ_HEADERS_MAX];
    size_t len = vector_unhex(vector->fields[1]), count = (size_t) (vector->count - 2) / 2;
    struct buf block = {0};

    (void) user;
    for (size_t i = 0; i < count; i++) {
        char *value = vector->fields[3 + 2 * i];

        headers[i] = (smq_header){vector->fields[2 + 2 * i], {value, vector_unhex(value)}};
    }
    assert_int_equal(headers_check(headers, count, NULL), SMQ_OK);
    headers_encode(&block, headers, count);
    assert_int_equal(block.len, len);
    assert_memory_equal(block.data, vector->fields[1], len);
    assert_int_equal(headers_size(headers, count), len);
    assert_int_equal(headers_decode(again, vector->fields[1], len), count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(again[i].name, headers[i].name);
        assert_int_equal(again[i].value.len, headers[i].value.len);
        if (again[i].value.len > 0) {
            assert_memory_equal(again[i].value.data, headers[i].value.data, again[i].value.len);
        }
    }
    buf_fini(&block);
}

static void what_is_stored_is_read_again(void **state)
{
    vector_each(VECTORS "/headers.txt", "block", -1, check_block, NULL);
}

static void check_notblock(const struct vector *vector, void *user)
{
    smq_header headers[SMQ_HEADERS_MAX];

    (void) user;
    assert_int_equal(headers_decode(headers, vector->fields[1], vector_unhex(vector->fields[1])),
                     0);
}

static int64_t optional(const char *text)
{
    return strcmp(text, "-") == 0 ? -1 : strtoll(text, NULL, 10);
}

static void check_beside(const struct vector *vector, void *user)
{
    struct header header;

    (void) user;
    assert_true(header_parse(&header, vector->fields[5], strlen(vector->fields[5])));
    assert_int_equal(header.first_ms, optional(vector->fields[1]));
    assert_int_equal(header.expires_ms, optional(vector->fields[3]));
    assert_int_equal(header.max_retries, optional(vector->fields[6]));
    assert_int_equal(header.headers_len, optional(vector->fields[7]));
}

static void check_notbeside(const struct vector *vector, void *user)
{
    struct header header;

    (void) user;
    assert_false(header_parse(&header, vector->fields[1], strlen(vector->fields[1])));
}

static void what_is_beside_a_body_is_read(void **state)
{
    vector_each(VECTORS "/headers.txt", "beside", 7, check_beside, NULL);
    vector_each(VECTORS "/headers.txt", "notbeside", 1, check_notbeside, NULL);
}

static void what_is_no_block_is_refused(void **state)
{
    struct buf many = {0};
    smq_header headers[SMQ_HEADERS_MAX];

    vector_each(VECTORS "/headers.txt", "notblock", 1, check_notblock, NULL);
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
        cmocka_unit_test(what_is_beside_a_body_is_read),
        cmocka_unit_test(headers_that_are_not_allowed_are_named),
        cmocka_unit_test(the_largest_headers_are_stored),
    };

    return cmocka_run_group_tests(tests, fill_large, NULL);
}
