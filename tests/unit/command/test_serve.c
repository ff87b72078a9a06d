/* test_serve.c - the pure parts of slotmq serve: addresses, who may do what, the last hour, the
 * pace of readings, and what reasons have in common. */
#include <stdlib.h>
#include <string.h>

#include "cli/http/address.h"
#include "cli/http/guard.h"
#include "cli/http/query.h"
#include "cli/message/reason_fold.h"
#include "serve/history.h"
#include "serve/readings.h"
#include "support/group.h"

/* === Addresses ========================================================== */

static void test_addresses_are_read(void **state)
{
    static const struct {
        const char *text;
        const char *again; /* NULL: it is none */
        bool loopback;
    } rows[] = {
        {"127.0.0.1:9095", "127.0.0.1:9095", true},
        {"127.9.9.9:1", "127.9.9.9:1", true},
        {"localhost:80", "127.0.0.1:80", true},
        {"0.0.0.0:0", "0.0.0.0:0", false},
        {"[::1]:9095", "[::1]:9095", true},
        {"[::]:65535", "[::]:65535", false},
        {"10.0.0.1:65536", NULL, false},
        {"10.0.0.1", NULL, false},
        {":9095", NULL, false},
        {"example.com:80", NULL, false},
        {"::1:80", NULL, false},
        {"[127.0.0.1]:80", NULL, false},
        {"127.1:80", "127.0.0.1:80", true},
        {"", NULL, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct address address;
        char again[ADDRESS_ROOM];
        if (address_parse(&address, rows[i].text) != (rows[i].again != NULL)) {
            fail_msg("\"%s\"", rows[i].text);
        }
        if (rows[i].again) {
            address_text(again, &address);
            assert_string_equal(again, rows[i].again);
            assert_int_equal(address.loopback, rows[i].loopback);
        }
    }
}

/* === Who may do what ==================================================== */

#define TOKEN  "0123456789abcdef"
#define BEARER "Bearer " TOKEN

static void test_rights_follow_from_flags_and_token(void **state)
{
    static const struct {
        bool open, show_bodies, write;
        const char *authorization;
        bool read, personal, writes;
    } rows[] = {
        {true, false, false, NULL, true, false, false},
        {true, true, false, NULL, true, true, false},
        {true, false, true, NULL, true, false, false},
        {true, true, true, NULL, true, true, false},
        {true, false, true, BEARER, true, true, true},
        {true, false, false, BEARER, true, true, false},
        {false, false, false, NULL, false, false, false},
        {false, true, true, NULL, false, false, false},
        {false, false, true, "Basic " TOKEN, false, false, false},
        {false, false, true, "bearer " TOKEN, true, true, true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct guard guard = {.open = rows[i].open,
                                    .show_bodies = rows[i].show_bodies,
                                    .write = rows[i].write,
                                    .token = TOKEN};
        const struct guard_facts facts = {.host = "127.0.0.1",
                                          .authorization = rows[i].authorization};
        struct guard_caller caller;
        assert_int_equal(guard_check(&caller, &guard, &facts), GUARD_KNOWN);
        assert_int_equal(caller.read, rows[i].read);
        assert_int_equal(caller.personal, rows[i].personal);
        assert_int_equal(caller.write, rows[i].writes);
    }
}

static void test_a_token_is_wrong_where_none_is_known(void **state)
{
    const struct guard guard = {.open = true};
    const struct guard_facts facts = {.host = "localhost", .authorization = BEARER};
    struct guard_caller caller;

    assert_int_equal(guard_check(&caller, &guard, &facts), GUARD_BAD_TOKEN);
    assert_false(caller.read);
}

/* === The last hour ====================================================== */

static void add_points(struct history *history, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct history_point point = {.at_ms = (int64_t) i * HISTORY_STEP_MS,
                                            .sent_per_s = i == 0 ? -1 : (float) i,
                                            .lag_ms = i % 2 == 0 ? (int64_t) i : SMQ_AGE_UNKNOWN,
                                            .waiting = i};
        assert_true(history_wants(history, point.at_ms));
        history_add(history, &point);
        assert_false(history_wants(history, point.at_ms + HISTORY_STEP_MS - 1));
    }
}

static void assert_series(json_t *document, const char *name, const char *wanted)
{
    char *text = json_dumps(json_object_get(document, name), JSON_COMPACT | JSON_REAL_PRECISION(4));

    assert_string_equal(text, wanted);
    free(text);
}

static void test_points_become_fewer(void **state)
{
    struct history history = {.count = 0};
    json_t *document = NULL;

    add_points(&history, 5);
    document = history_json(&history, (int64_t) 5 * HISTORY_STEP_MS, 3);
    assert_series(document, "at_ms", "[10000,30000,40000]");
    assert_series(document, "sent_per_s", "[1.0,2.5,4.0]"); /* the first rate was not known */
    assert_series(document, "oldest_due_age_ms", "[0,2,4]");
    assert_series(document, "waiting", "[1,3,4]");
    json_decref(document);
    document = history_json(&history, (int64_t) 5 * HISTORY_STEP_MS, 0);
    assert_series(document, "at_ms", "[]");
    json_decref(document);
    history_fini(&history);
}

static void test_an_hour_is_kept(void **state)
{
    struct history history = {.count = 0};
    const size_t count = HISTORY_POINTS + 100;

    add_points(&history, count);
    json_t *document =
        history_json(&history, (int64_t) (count - 1) * HISTORY_STEP_MS, HISTORY_POINTS);
    const json_t *at_ms = json_object_get(document, "at_ms");
    assert_int_equal(json_array_size(at_ms), HISTORY_POINTS);
    assert_int_equal(json_integer_value(json_array_get(at_ms, 0)), 100 * HISTORY_STEP_MS);
    json_decref(document);
    document = history_json(&history, (int64_t) (count - 1) * HISTORY_STEP_MS + HISTORY_SPAN_MS, 9);
    assert_series(document, "waiting", "[459]"); /* the others are older than an hour */
    json_decref(document);
    history_fini(&history);
}

/* === Readings =========================================================== */

/* A survey makes a call for a definition and for each slot; what they take is counted, not timed.
 */
static void test_a_reading_is_no_older_than_its_calls_take(void **state)
{
    static const struct {
        int64_t topics, slots, seconds;
    } rows[] = {{1, 64, 2},    {10, 64, 2},    {100, 64, 5},
                {500, 64, 20}, {1000, 64, 20}, {4000, 8, 20}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int64_t calls = rows[i].topics * (1 + rows[i].slots);
        assert_in_range(readings_calls_per_s(calls), 1500, 4000);
        assert_true(calls <= rows[i].seconds * readings_calls_per_s(calls));
    }
    assert_int_equal(readings_calls_per_s(0), 4000);       /* not known yet */
    assert_int_equal(readings_calls_per_s(1000000), 4000); /* Redis comes first */
}

/* === Reasons ============================================================ */

static void test_reasons_fold_where_they_may_differ(void **state)
{
    static const struct {
        const char *reason, *folded, *common;
    } rows[] = {
        {"", "", ""},
        {"card declined", "card declined", "card declined"},
        {"no stock for {\"order\":1007}", "no stock for {\"#\":#}", "no stock for {"},
        {"exit 65: no 'tea' today", "exit #: no '#' today", " today"},
        {"can't open 'a b.txt'", "can't open '#'", "can't open "},
        {"it's 5 o'clock", "it's # o'clock", " o'clock"},
        {"\"\" and \" alone", "\"\" and \" alone", "\"\" and \" alone"},
        {"job 3f1c9a52-6d0e died", "job #-# died", " died"},
        {"17", "#", ""},
        {"\xc3\xa4 17 \xc3\xb6\xc3\xb6", "\xc3\xa4 # \xc3\xb6\xc3\xb6", " \xc3\xb6\xc3\xb6"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char folded[64];
        smq_bytes common;
        reason_fold(folded, &common, rows[i].reason);
        assert_string_equal(folded, rows[i].folded);
        assert_int_equal(common.len, strlen(rows[i].common));
        assert_memory_equal(common.data, rows[i].common, common.len);
    }
}

TEST_GROUP(serve)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_are_read),
        cmocka_unit_test(test_rights_follow_from_flags_and_token),
        cmocka_unit_test(test_a_token_is_wrong_where_none_is_known),
        cmocka_unit_test(test_a_reading_is_no_older_than_its_calls_take),
        cmocka_unit_test(test_reasons_fold_where_they_may_differ),
        cmocka_unit_test(test_points_become_fewer),
        cmocka_unit_test(test_an_hour_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
