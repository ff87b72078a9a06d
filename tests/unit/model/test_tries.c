/* test_tries.c - how the last tries of a message ended, as they are stored. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "model/tries.h"
#include "support/group.h"

#define RS10   "rrrrrrrrrr"
#define RS100  RS10 RS10 RS10 RS10 RS10 RS10 RS10 RS10 RS10 RS10
#define RS200  RS100 RS100
#define LATEST "t9223372036854775807"

/* What is stored, from REASON|TRY|TRY...: lua/lib/reason.lua. */
static void store(struct buf *out, const char *text)
{
    const char *history = strchr(text, '|');

    buf_clear(out);
    buf_add(out, text, history != NULL ? (size_t) (history - text) : strlen(text));
    for (size_t i = 0; history != NULL && history[i] != '\0'; i++) {
        char byte = (char) (history[i] != '|' ? (unsigned char) history[i] ^ 0x80U : 0x80U);

        buf_add(out, i == 0 ? "" : &byte, 1);
    }
    buf_add(out, "", 1);
    out->len--;
}

/* "HOW TIME REASON, HOW TIME REASON" */
static void show(struct buf *out, const struct tries *tries)
{
    buf_clear(out);
    buf_add(out, "", 0);
    for (size_t i = 0; i < tries->count; i++) {
        buf_printf(out, "%s%s %lld %s", i > 0 ? ", " : "", smq_try_how_name(tries->item[i].how),
                   (long long) tries->item[i].at_ms, tries->item[i].reason);
    }
}

static void what_is_stored_is_read(void **state)
{
    static const struct {
        const char *stored, *read;
    } rows[] = {
        {"", ""},
        {"bad", ""},
        {"bad|t1000", "retried 1000 bad"},
        {"|t1000", "retried 1000 "},
        {"bad|x1005|t1000:worse", "rejected 1005 bad, retried 1000 worse"},
        {"its process died or hung|l1010|h1005:|l:", "lost 1010 , timed_out 1005 , lost 0 "},
        {"expired|t1000:bad", "retried 1000 bad"},
        {"b|t5|t4:a:b|t3:\xc3\xa9|t2:|t:old",
         "retried 5 b, retried 4 a:b, retried 3 \xc3\xa9, retried 2 , retried 0 old"},
        {"b|t6|t5:|t4:|t3:|t2:|t1:", "retried 6 b, retried 5 , retried 4 , retried 3 , retried 2 "},
        {RS200 "|" LATEST, "retried 9223372036854775807 " RS200},
        {"|" LATEST ":" RS200, "retried 9223372036854775807 " RS200},
        /* no tries, or none from there on */
        {"bad|", ""},
        {"bad|z1000", ""},
        {"bad|t1000|", "retried 1000 bad"},
        {"bad|t1000|q1:x|t900:y", "retried 1000 bad"},
        {"bad|t10x0", ""},
        {"bad|t-5", ""},
        {"bad|t9223372036854775808", ""},
        {"r" RS200 "|t1000", ""},
        {"|t1:r" RS200, ""},
        {"|t1:" RS200 RS200, ""},
    };
    struct buf stored = {0}, seen = {0};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tries tries;

        store(&stored, rows[i].stored);
        tries_decode(&tries, stored.data, stored.len);
        show(&seen, &tries);
        assert_string_equal(seen.data, rows[i].read);
    }
    buf_fini(&stored);
    buf_fini(&seen);
}

TEST_GROUP(tries)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
