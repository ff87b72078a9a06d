/* test_whole.c - messages of format 5 that are whole in their members, beside others. */
#include "script_table.h"
#include "support/group.h"

/* Ids of the library begin with 12 hex digits of ms: these with 1000. */
#define A   "0000000003e80000000000000000000a"
#define B   "0000000003e80000000000000000000b"
#define C   "0000000003e80000000000000000000c"
#define W_A "!w,,0:" A "one"
#define W_B "!w,,1:k" B "two"
#define E_C "!e3/7,50,0:" C "headersbody"

/* clang-format off */
static void test_nothing_is_stored_beside_them(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"whole " W_A " +0 " W_B " +0", "OK aa"},
        {"whole " W_A " +0", "OK m"},
        {"send plain +0 text '' ''", "OK a"},
        {"store", W_A "@1000 " W_B "@1000 plain@1000"},
        {"body", "bplain=text hplain=1000"},
        {"ordinary 1 n=2", "OK 1000 1000 1 '' 1 1000c1:" W_A " 0 '' '' 1000c1:" W_B " 0 '' ''"},
        {"ordinary 1 flags=e n=2 last=1 done 1000c1:" W_A " done 1000c1:" W_B,
         "OK 1000 31000 2 11 0 1000c2:plain 0 1000 text"},
        {"ordinary 1 last=2 done 1000c1:" W_A " done 1000c2:plain", "OK 1000 '' 2 01 0"},
        {"prepare", ""},
        {"body", ""},
        {"field done", "3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_one_by_one(void **state)
{
    static const struct script_row rows[] = {
        {"open p keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"whole " W_A " 5", "OK a"},
        {"ordinary 1 n=10 last=0", "OK 1000 31000 1 '' 0 25769803775c1:" W_A " 0 '' ''"},
        {"send plain 5 text '' ''", "OK a"},
        {"ordinary 1 flags=e n=10 last=1 done 25769803775c1:" W_A,
         "OK 1000 31000 2 1 0 25769803774c2:plain 0 1000 text"},
        {"whole " W_B " 5", "OK a"},
        {"ordinary 1 n=10 last=2 done 25769803774c2:plain",
         "OK 1000 31000 3 1 0 25769803773c3:" W_B " 0 '' ''"},
        {"ordinary 1 flags=e n=10 last=3 done 25769803773c3:" W_B, "OK 1000 '' 3 1 0"},
        {"field parked", "9007199254740992"},
        {"body", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* Its ttl counts from its place, and its limit is its own. */
static void test_ttl_and_limit(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"whole " E_C " +0 " W_A " +0", "OK aa"},
        {"at 1049", ""},
        {"ordinary 1 n=1", "OK 1049 1000 1 '' 1 1000c1:" E_C " 0 '' ''"},
        {"consume 1 n=0 last=1 retry 1000c1:" E_C " 0 why", "OK 1049 1000 1 1 1"},
        {"at 1050", ""},
        {"ordinary 1 n=2 last=1", "ANY"},
        {"consume 1 n=2 last=1 flags=x", "OK 1050 31050 2 '' 0 1000c2:" W_A " 0 '' '' 1"},
        {"dead", "1000d:" C "@1050~1"},
        {"why", "1000d:" C "=expired|t1049:why B1000d:" C "=headersbody H1000d:" C "=1000,3/7,1050,1"},
        {"whole " E_C " +0", "OK a"},
        {"at 1060", ""},
        {"consume 1 n=1 last=2", "OK 1060 31050 3 '' 0 1050c3:" E_C " 0 '' ''"},
        {"consume 1 n=0 last=3 retry 1050c3:" E_C " 0 a", "OK 1060 1050 3 1 1"},
        {"consume 1 n=1 last=3", "OK 1060 31050 4 '' 0 1050c4:" E_C " 2 '' ''"},
        {"consume 1 n=0 last=4 retry 1050c4:" E_C " 0 b", NULL},
        {"consume 1 n=1 last=4", NULL},
        {"consume 1 n=0 last=5 retry 1050c5:" E_C " 0 c", NULL},
        {"consume 1 n=1 last=5", NULL},
        {"consume 1 n=0 last=6 retry 1050c6:" E_C " 0 d", "OK 1060 31050 6 1 0"},
        {"dead", "1000d:" C "@1050~1 1050d:" C "@1060~3"},
        {"edit requeue 1050d:" C, "OK 1"},
        {"store", C "@1050"},
        {"body", "b" C "=headersbody h" C "=1050,3/7,,1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_reject_release_and_loss(void **state)
{
    static const struct script_row rows[] = {
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"whole " W_B " 0", "OK a"},
        {"send !1:kplain 0 text '' ''", "OK a"},
        {"consume 1 n=1", "OK 1000 1000 1 '' 1 1c1:" W_B " 0 '' ''"},
        {"consume 1 n=9 last=1 retry 1c1:" W_B " 100 why", "OK 1000 1100 1 1 0"}, /* holds its key */
        {"prepare", "1r1:" W_B "@17592186045516~1"},
        {"why", "R" W_B "=why|t1000"},
        {"at 1100", ""},
        {"consume 1 n=9 last=1", "OK 1100 31100 2 '' 0 1c2:" W_B " 2 '' ''"},
        {"consume 1 n=9 last=2 passes=1:k release 1c2:" W_B " 0", "OK 1100 '' 2 1 0"},
        {"consume 1 n=9 last=2", "OK 1100 31100 3 '' 0 1c3:" W_B " 2 '' ''"},
        {"consume 1 n=9 last=3 reject 1c3:" W_B " no",
         "OK 1100 31100 4 1 0 2c4:!1:kplain 0 1000 text"},
        {"dead", "1d:!1:k" B "@1100~1"},
        {"why", "1d:!1:k" B "=no|x1100|t1000:why B1d:!1:k" B "=two H1d:!1:k" B "=1000"},
        {"inspect", NULL},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_handed_over_and_taken_over(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"whole " W_A " +0 " W_B " +0", "OK aa"},
        {"send plain +0 text '' ''", "OK a"},
        {"consume 1 n=9", NULL},
        {"consume 1 n=0",
         "OK 1000 31000 1 '' 1 1000c1:" W_A " 0 '' '' 1000c1:" W_B " 0 '' '' 1000c1:plain 0 1000 text"},
        {"takeover 2", "OK 1 3 0"},
        {"store", W_A "@1000~0s " W_B "@1000~0s plain@1000~0s"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_found_by_key_and_id(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"whole " W_A " +0", "OK a"},
        {"at 3000", ""},
        {"whole " W_B " +0 " E_C " +0", "OK aa"},
        {"find !1:k" B " w '' ''", "OK 3000 000000010000000000000001 me 0 '' w " W_B " 3000 '' 3000 two"},
        {"find " A " w '' ''", "OK 3000 000000010000000000000001 me 0 '' w " W_A " 1000 '' 1000 one"},
        {"find " C " w '' '' limit=1", NULL},
        {"find " C " p '' ''", "OK 3000 000000010000000000000001 me 0 '' -"},
        {"page w member=" C, "OK 3000 000000010000000000000001 me 0 '' 0 '' ''"},
        {"page w whole=1 member=" C, NULL},
        {"page w contains=one", NULL},
        {"rank " W_B, "OK 2 3000"},
        {"edit reschedule " W_B " +10", "OK 1"},
        {"store", NULL},
        {"body", "b!1:k" B "=two h!1:k" B "=3000"},
        {"edit reschedule " E_C " 2999", "OK 1"},
        {"body", NULL},
        {"edit remove w " W_A, "OK 1"},
        {"consume 1 n=1", NULL},
        {"find !1:k" B " w '' ''", NULL},
    };

    SCRIPT_TABLE(state, rows);
}
/* It is sent again as it was, although its topic has a window or debounces by now. */
static void test_sent_again_with_a_window(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"whole " W_A " +0", "OK a"},
        {"at 1010", ""},
        {"whole bound=2 dedup=100 " W_A " +0 " W_B " +5", "OK ma"},
        {"whole bound=2 debounce=100 " W_A " +0 " W_B " +0", "OK mm"},
        {"store", W_A "@1000 " W_B "@1015"},
        {"open t keyed", "OK"},
        {"whole debounce=100 " W_A " +0 " W_B " +5", "OK aa"},
        {"whole debounce=100 " W_A " +9 " W_B " +5", "OK mm"},
        {"store", W_B "@1005 " W_A "@1009"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Of a reply it takes the room of its member, however it is claimed. */
static void test_room(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"whole " W_A " +0 " W_B " +0", "OK aa"},
        {"consume 1 n=2 bytes=82", "OK 1000 1000 1 '' 1 1000c1:" W_A " 0 '' ''"},
        {"consume 1 n=0 last=1 release 1000c1:" W_A " 0", NULL},
        {"consume 1 n=2 last=1 bytes=83",
         "OK 1000 31000 2 '' 0 1000c2:" W_A " 0 '' '' 1000c2:" W_B " 0 '' ''"},
        {"whole " W_A " +0", "OK a"},
        {"send z +0 text '' 5", "OK a"},
        {"at 1005", ""}, /* behind one that fills the reply */
        {"consume 1 n=2 last=2 bytes=1", "OK 1005 31000 3 '' 0 1000c3:" W_A " 0 '' '' 1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* In kinds without times it may wait anywhere. */
static void test_found_by_priority(void **state)
{
    static const struct script_row rows[] = {
        {"open b keyed", "OK"},
        {"whole " W_A " 5 " W_B " 7", "OK aa"},
        {"find " A " w '' ''", "OK 1000 000000000000000000000000 '' 0 '' w " W_A " 5 '' 1000 one"},
        {"find !1:k" B " w '' ''", "OK 1000 000000000000000000000000 '' 0 '' w " W_B " 7 '' 1000 two"},
        {"find " C " w '' ''", "OK 1000 000000000000000000000000 '' 0 '' -"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A whole message whose time changes becomes one with what has its id already. */
static void test_divided_beside_another(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"whole " W_B " +0", "OK a"},
        {"consume 1 n=1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:" W_B " 0 why", NULL},
        {"send !1:k" B " +0 later '' ''", "OK a"},
        {"consume 1 n=1 last=1", "OK 1000 1000 2 '' 1 1000c2:!1:k" B " 0 1000 later"},
        {"edit reschedule " W_B " +10", "OK 1"},
        {"store", "!1:k" B "@1010~1"},
        {"body", "b!1:k" B "=later h!1:k" B "=1000,,,2"},
        {"why", "R!1:k" B "=why|t1000"},
        {"whole " W_B " +0", "OK a"},
        {"edit reschedule " W_B " +20", "OK 1"},
        {"store", "!1:k" B "@1020~1"},
        {"body", "b!1:k" B "=later h!1:k" B "=1000,,,2"},
        {"field merged", "1"},
        {"field sent", "3"},
    };

    SCRIPT_TABLE(state, rows);
}
/* clang-format on */

TEST_GROUP(whole)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_stored_beside_them),
        cmocka_unit_test(test_one_by_one),
        cmocka_unit_test(test_ttl_and_limit),
        cmocka_unit_test(test_reject_release_and_loss),
        cmocka_unit_test(test_handed_over_and_taken_over),
        cmocka_unit_test(test_found_by_key_and_id),
        cmocka_unit_test(test_sent_again_with_a_window),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_found_by_priority),
        cmocka_unit_test(test_divided_beside_another),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
