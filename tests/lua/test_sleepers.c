/* test_sleepers.c - who sleeps in a slot of a shared topic: who is woken, and who is told when to
 * look. */
#include <string.h>

#include "script_table.h"
#include "store/consume.h"
#include "support/group.h"

/* In turn; who was woken and has not called yet keeps others from being woken for a moment, and
 * another one looks a moment later. */
static void test_a_send_wakes_one_that_sleeps(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume shared", "OK 1000 '' 1 '' 0"},
        {"consume shared caller=wb", "OK 1000 '' 2 '' 0"},
        {"consume shared caller=wc", "OK 1000 '' 3 '' 0"},
        {"field parked", "9007199254740992 0 -|wa wb wc "},
        {"send a +0", "OK a"},
        {"heard", "'' ?400"},
        {"field parked", "9007199254740992 1000 wa|wb wc@1400 "},
        {"send b +0", "OK a"},
        {"woken", "0"},
        {"at 1300", ""},
        {"send c +0", "OK a"}, /* it may have died */
        {"heard", "''"},
        {"field parked", "9007199254740992 1300 wb|wc@1400 "},
        /* more is due: the next one is called, but for one that is on its way */
        {"consume shared n=1", "OK 1300 1000 1 '' 1 1000c1:a 0"},
        {"woken", "0"},
        {"consume shared caller=wb n=1", "OK 1300 1300 2 '' 1 1000c2:b 0"},
        {"heard", "''"},
        {"field parked", "nil"},
        {"consume shared caller=wc", "OK 1300 31300 3 '' 0 1300c3:c 0"},
        {"consume shared caller=wc n=0 done 1300c3:c", "OK 1300 31300 3 1 0"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* Who cannot claim calls with n = 0. */
static void test_who_cannot_claim_passes_it_on(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume shared", NULL},
        {"consume shared caller=wb", NULL},
        {"send a +0", "OK a"},
        {"heard", "'' ?400"},
        {"at 1001", ""},
        {"consume shared n=0", "OK 1001 1000 0 '' 1"},
        {"heard", "''"},
        {"field parked", "nil"},
        {"consume shared caller=wb", "OK 1001 31001 1 '' 0 1000c1:a 0"},
        {"consume shared", "OK 1001 31001 1 '' 0"},
        {"consume shared n=0", "OK 1001 31001 1 '' 0"}, /* it sleeps on */
        {"field parked", "31001 0 -|wa@31001 "},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_two_that_sleep_know_when_something_is_due(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"send b +500", "OK a"},
        {"consume shared", "OK 1000 1500 1 '' 0"},
        {"consume shared caller=wb", "OK 1000 2000 2 '' 3"},
        {"consume shared caller=wc", "OK 1000 '' 3 '' 0"},
        {"field parked", "1500 0 -|wa@1500 wb@2000 wc "},
        {"woken", "0"},
        {"send c +100", "OK a"}, /* earlier than all of them know */
        {"heard", "!100 ?600"},
        {"field parked", "1100 0 -|wa@1100 wb@2000 wc@1600 "},
        {"send d +0", "OK a"}, /* not to those that look in a moment, if there is another */
        {"heard", "''"},
        {"field parked", "1100 1000 wb|wa@1100 wc@1600 "},
        {"consume shared caller=wb n=1", "OK 1000 1100 1 '' 0 1000c1:d 0"},
        {"woken", "0"},
        {"field parked", "1100 0 -|wa@1100 wc@1600 "},
        {"at 1100", ""},
        {"consume shared lease=50 n=1", "OK 1100 1150 2 '' 0 1100c2:c 0"},
        {"heard", "!50"},
        {"field parked", "1150 0 -|wc@1150 "},
        /* who gives back and takes nothing must tell */
        {"consume shared n=0 retry 1100c2:c 10 why", "OK 1100 1110 2 1 0"},
        {"heard", "!10"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* The owner of a lease may sleep, too, for more messages: another one knows when the lease ends. */
static void test_two_know_when_a_lease_ends(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume shared lease=500 n=1", "OK 1000 1500 1 '' 0 1000c1:a 0"},
        {"consume shared", "OK 1000 1500 1 '' 0"},
        {"consume shared caller=wb", "OK 1000 2000 2 '' 3"},
    };

    SCRIPT_TABLE(state, rows);
}

/* It is not woken again: it claims as soon as it has room. */
static void test_who_was_told_to_look_and_cannot_claim_passes_it_on(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume shared", NULL},
        {"consume shared caller=wb", NULL},
        {"send a +100", "OK a"},
        {"heard", "!100 ?600"},
        {"field parked", "1100 0 -|wa@1100 wb@1600 "},
        {"at 1100", ""},
        {"consume shared n=0", "OK 1100 1100 0 '' 1"},
        {"heard", "''"},
        {"field parked", "nil"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* The one that was woken may die.  Who was to look then has no room, and leaves it to another one.
 */
static void test_a_backup_that_cannot_claim_sees_to_another_one(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume shared caller=wb", NULL},
        {"consume shared caller=wc", NULL},
        {"consume shared", NULL},
        {"send a +0", "OK a"},
        {"heard", "'' ?400"},
        {"consume shared caller=wb n=1", NULL},
        {"consume shared caller=wb n=1 done 1000c1:a", "OK 1000 '' 3 1 0"},
        {"at 1390", ""},
        {"send b +0", "OK a"},
        {"field parked", "9007199254740992 1390 wc|wa@1400 wb "},
        {"at 1400", ""},
        {"heard", NULL},
        {"consume shared n=0", "OK 1400 1390 1 '' 1"},
        {"heard", "?400"},
        {"field parked", "9007199254740992 1390 wc|wb@1800 "},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* They have died. */
static void test_names_that_nobody_hears_are_removed(void **state)
{
    static const struct script_row rows[] = {
        {"open b shared", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume shared caller=wd", "OK 1000 '' 1 '' 0"},
        {"consume shared", "OK 1000 '' 2 '' 0"},
        {"consume shared caller=we", "OK 1000 '' 3 '' 0"},
        {"send a 1", "OK a"},
        {"heard", "''"},
        {"field parked", "nil"},
        {"consume shared lease=100", "OK 1000 1100 1 '' 0 1c1:a 0"},
        {"consume shared caller=wd", "OK 1000 1100 1 '' 0"},
        {"deaf", ""},
        {"send b 1", "OK a"},
        {"field parked", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Those that knew when something is due have died: the next send wakes another one. */
static void test_what_nobody_looked_at_is_found(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"send a +500", "OK a"},
        {"consume shared caller=wd", "OK 1000 1500 1 '' 0"},
        {"consume shared caller=we", "OK 1000 2000 2 '' 3"},
        {"consume shared", "OK 1000 '' 3 '' 0"},
        {"at 2501", ""},
        {"send b +500", "OK a"},
        {"heard", "''"},
        {"field parked", "nil"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_is_told_is_read(void **state)
{
    static const struct {
        const char *text;
        bool read, backup;
        int64_t in_ms;
    } rows[] = {
        {"!0", true, false, 0},
        {"?400", true, true, 400},
        {"!1500", true, false, 1500},
        {"", false, false, 0},
        {"!", false, false, 0},
        {"!-1", false, false, 0},
        {"?1x", false, false, 0},
        {"1500", false, false, 0},
        {"!99999999999999999", false, false, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct store_told told = {0};

        assert_int_equal(store_told_read(&told, rows[i].text, strlen(rows[i].text)), rows[i].read);
        assert_int_equal(told.backup, rows[i].read && rows[i].backup);
        assert_int_equal(told.in_ms, rows[i].in_ms);
    }
}

/* Of the others that look, the last one that does not come too late counts. */
static void test_who_sleeps_is_read(void **state)
{
    static const struct {
        const char *text;
        bool read;
        struct store_sleepers sleepers;
    } rows[] = {
        {"9007199254740992 0 -|wa wb ", true, {-1, false, true, -1, 2}},
        {"1500 0 -|wb@1500 wa@2000 ", true, {1500, false, true, 1500, 2}},
        {"1500 1000 wd|wb wc@1400 ", true, {1500, true, false, 1400, 2}},
        {"1500 0 -|wb@1400 wc@1300 wa@1200 wd@1501 ", true, {1500, false, true, 1400, 4}},
        {"1500 0 -|wa@1500 wb@1501 ", true, {1500, false, true, -1, 2}},
        {"1500 0 -|wab@1500 wa ", true, {1500, false, true, 1500, 2}},
        {"1500 0 -|@1500 ", true, {1500, false, false, 1500, 1}},
        {"9007199254740992", false, {0}},
        {"|wa@1", false, {0}},
        {"-5 0 -|wa ", false, {0}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        redisReply reply = {.type = REDIS_REPLY_STRING, .str = (char *) rows[i].text};
        struct store_result result = {.outcome = STORE_OK, .reply = &reply};
        const struct store_sleepers *wanted = &rows[i].sleepers;
        struct store_sleepers found = {0};

        assert_int_equal(store_sleepers_read(&found, &result, "wa"), rows[i].read);
        if (rows[i].read) {
            assert_int_equal(found.due_ms, wanted->due_ms);
            assert_int_equal(found.woken, wanted->woken);
            assert_int_equal(found.listed, wanted->listed);
            assert_int_equal(found.look_ms, wanted->look_ms);
            assert_int_equal(found.asleep, wanted->asleep);
        }
    }
}

/* Nobody knows who slept: a resume that nobody heard, or an older list. */
static void test_a_list_that_is_lost_wakes_all(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"redis HSET slot{x} parked 9007199254740992", "1"},
        {"send a +0", "OK a"},
        {"woken", "1"},
        {"field parked", "nil"},
        {"redis HSET slot{x} parked 9007199254740992", "1"},
        {"consume shared", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"field parked", "nil"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(sleepers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_send_wakes_one_that_sleeps),
        cmocka_unit_test(test_who_cannot_claim_passes_it_on),
        cmocka_unit_test(test_two_that_sleep_know_when_something_is_due),
        cmocka_unit_test(test_two_know_when_a_lease_ends),
        cmocka_unit_test(test_who_was_told_to_look_and_cannot_claim_passes_it_on),
        cmocka_unit_test(test_a_backup_that_cannot_claim_sees_to_another_one),
        cmocka_unit_test(test_names_that_nobody_hears_are_removed),
        cmocka_unit_test(test_what_nobody_looked_at_is_found),
        cmocka_unit_test(test_what_is_told_is_read),
        cmocka_unit_test(test_who_sleeps_is_read),
        cmocka_unit_test(test_a_list_that_is_lost_wakes_all),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
