/* test_member.c - members, and headers of layout keyed. */
#include <string.h>

#include "model/header.h"
#include "model/member.h"
#include "model/whole.h"
#include "support/group.h"

struct bytes {
    const char *data;
    size_t len;
};
#define BYTES(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

/* `shown`: the key of its own, which differs from the id. */
static void a_member_holds_key_and_id(void **state)
{
    static const struct {
        struct bytes key, id, shown, member;
    } rows[] = {
        {BYTES(""), BYTES("order-7"), BYTES(""), BYTES("order-7")},
        {BYTES("order-7"), BYTES("order-7"), BYTES(""), BYTES("order-7")},
        {BYTES("ann"), BYTES("daily"), BYTES("ann"), BYTES("\0003:anndaily")},
        {BYTES("annd"), BYTES("aily"), BYTES("annd"), BYTES("\0004:anndaily")},
        {BYTES("1:"), BYTES(":2"), BYTES("1:"), BYTES("\0002:1::2")},
        {BYTES("order-8"), BYTES("order-7"), BYTES("order-8"), BYTES("\0007:order-8order-7")},
        {BYTES("\0"), BYTES("id"), BYTES("\0"), BYTES("\0001:\0id")},
        {BYTES(""), BYTES("\0id"), BYTES(""), BYTES("\0000:\0id")},
        {BYTES("\0id"), BYTES("\0id"), BYTES(""), BYTES("\0000:\0id")},
        {BYTES("ann"), BYTES("\0id"), BYTES("ann"), BYTES("\0003:ann\0id")},
        {BYTES(""), BYTES("\0000:x"), BYTES(""), BYTES("\0000:\0000:x")},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out = {0};
        struct member member;

        assert_int_equal(
            member_is_plain(rows[i].key.data, rows[i].key.len, rows[i].id.data, rows[i].id.len),
            rows[i].member.data[0] != '\0');
        member_encode(&out, rows[i].key.data, rows[i].key.len, rows[i].id.data, rows[i].id.len);
        assert_int_equal(out.len, rows[i].member.len);
        assert_memory_equal(out.data, rows[i].member.data, out.len);
        assert_true(member_decode(&member, out.data, out.len));
        assert_int_equal(member.id_len, rows[i].id.len);
        assert_memory_equal(member.id, rows[i].id.data, member.id_len);
        assert_int_equal(member.key_len, rows[i].shown.len);
        assert_int_equal(member.key != NULL, rows[i].shown.len > 0);
        assert_true(member.key == NULL ||
                    memcmp(member.key, rows[i].shown.data, member.key_len) == 0);
        buf_fini(&out);
    }
}

static void what_is_no_member_is_refused(void **state)
{
    static const struct bytes rows[] = {
        BYTES(""),           BYTES("\000"),      BYTES("\0003"),    BYTES("\000:ab"),
        BYTES("\0000:"),     BYTES("\0000:ab"),  BYTES("\0002:ab"), BYTES("\0009:ab"),
        BYTES("\00001:ab"),  BYTES("\000-1:ab"), BYTES("\0001:aa"), BYTES("\0003:\0id\0id"),
        BYTES("\0001025:ab")};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct member member;

        assert_false(member_decode(&member, rows[i].data, rows[i].len));
    }
}

static void a_header_is_read(void **state)
{
    static const struct {
        const char *text;
        struct header header;
    } rows[] = {
        {"1700000000000", {1700000000000, -1, -1, 0}},
        {"5,,,2", {5, -1, -1, 0}},
        {"5,0,,1", {5, 0, -1, 0}},
        {"5,63,77,1", {5, 63, 77, 0}},
        {"5,,77,3", {5, -1, 77, 0}},
        {"5,/9,,1", {5, -1, -1, 9}},
        {"5,3/8576,77,2", {5, 3, 77, 8576}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct header header;

        assert_true(header_parse(&header, rows[i].text, strlen(rows[i].text)));
        assert_int_equal(header.first_ms, rows[i].header.first_ms);
        assert_int_equal(header.max_retries, rows[i].header.max_retries);
        assert_int_equal(header.expires_ms, rows[i].header.expires_ms);
        assert_int_equal(header.headers_len, rows[i].header.headers_len);
    }
}

static void what_is_no_header_is_refused(void **state)
{
    static const char *const rows[] = {
        "",   "x",      "1,2", "1,2,3",  "1,2,3,",   "1,64,3,1",    "1,2,x,1",  "1,2,3,4,5", "-1",
        "01", ",1,2,3", "1.5", "1,/,,1", "1,//2,,1", "1,2/8577,,1", "1,2,/3,1", "1/2"};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct header header;

        assert_false(header_parse(&header, rows[i], strlen(rows[i])));
    }
}

#define ID "0000000003e8abcdef0000000000000a"

static void a_whole_message_is_its_member(void **state)
{
    static const struct {
        struct bytes key;
        int32_t limit;
        int64_t ttl;
        size_t headers;
        struct bytes stored, member;
        char kind;
        struct header header; /* where it waits with 5000 */
    } rows[] = {
        {BYTES(""), -1, -1, 0, BYTES("body"), BYTES("\0w,,0:" ID "body"), 't', {5000, -1, -1, 0}},
        {BYTES("k"), -1, -1, 0, BYTES(""), BYTES("\0w,,1:k" ID), 'm', {5000, -1, -1, 0}},
        {BYTES("\0:,"),
         0,
         -1,
         0,
         BYTES("\0"),
         BYTES("\0w0,,3:\0:," ID "\0"),
         'p',
         {1000, 0, -1, 0}},
        {BYTES("k"),
         63,
         9,
         3,
         BYTES("abcd"),
         BYTES("\0e63/3,9,1:k" ID "abcd"),
         't',
         {5000, 63, 5009, 3}},
        {BYTES(""), -1, -1, 4, BYTES("abcd"), BYTES("\0w/4,,0:" ID "abcd"), 'f', {1000, -1, -1, 4}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct whole whole = {.key = rows[i].key.data,
                              .key_len = rows[i].key.len,
                              .id = ID,
                              .max_retries = rows[i].limit,
                              .ttl_ms = rows[i].ttl,
                              .headers_len = rows[i].headers,
                              .stored = rows[i].stored.data,
                              .stored_len = rows[i].stored.len};
        struct header header;
        struct member member;
        struct buf out = {0};

        whole_encode(&out, &whole);
        assert_int_equal(out.len, rows[i].member.len);
        assert_memory_equal(out.data, rows[i].member.data, out.len);
        assert_true(member_decode(&member, out.data, out.len));
        assert_int_equal(member.id_len, strlen(ID));
        assert_memory_equal(member.id, ID, member.id_len);
        assert_int_equal(member.key_len, rows[i].key.len);
        assert_true(whole_decode(&whole, out.data, out.len));
        assert_int_equal(whole.stored_len, rows[i].stored.len);
        whole_header(&header, &whole, rows[i].kind, 5000);
        assert_memory_equal(&header.first_ms, &rows[i].header.first_ms, sizeof(header.first_ms));
        assert_int_equal(header.max_retries, rows[i].header.max_retries);
        assert_int_equal(header.expires_ms, rows[i].header.expires_ms);
        assert_int_equal(header.headers_len, rows[i].header.headers_len);
        buf_fini(&out);
    }
    assert_true(whole_may_have_id(ID, strlen(ID)));
    assert_false(whole_may_have_id(ID, strlen(ID) - 1));
    assert_false(whole_may_have_id("0000000003e8abcdef0000000000000X", strlen(ID)));
}

static void what_is_no_whole_message_is_refused(void **state)
{
    static const struct bytes rows[] = {
        BYTES("\0w"),
        BYTES("\0w,,0:"
              "0000000003e8abcdef0000000000000"),
        BYTES("\0w,9,0:" ID),
        BYTES("\0e,,0:" ID),
        BYTES("\0w64,,0:" ID),
        BYTES("\0w/5,,0:" ID "abcd"),
        BYTES("\0w,,2:" ID),
        BYTES("\0w,,1025:" ID),
        BYTES("\0w,0:" ID),
        BYTES("\0w-1,,0:" ID),
        BYTES("\0w/,,0:" ID),
        BYTES("\0e,9,:" ID),
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct member member;

        assert_true(whole_begins(rows[i].data, rows[i].len));
        assert_false(member_decode(&member, rows[i].data, rows[i].len));
    }
}

TEST_GROUP(member)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_holds_key_and_id),
        cmocka_unit_test(what_is_no_member_is_refused),
        cmocka_unit_test(a_header_is_read),
        cmocka_unit_test(what_is_no_header_is_refused),
        cmocka_unit_test(a_whole_message_is_its_member),
        cmocka_unit_test(what_is_no_whole_message_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
