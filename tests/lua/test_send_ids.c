/* test_send_ids.c - send ids: what the send script answers to repeats and to calls that come late.
 */
#include <stdio.h>

#include "script_table.h"
#include "support/group.h"

/* clang-format off */
/* `stored` follows the time of each message: in layout keyed what is stored beside it. */
static void check_repeated(void **state, const char *open, const char *stored)
{
    char first[64], second[64], of_another[64], both[64];
    const struct script_row rows[] = {
        {open, "OK"},
        {"at 1000", ""},
        {first, "OK a"},
        {first, "OK a"},
        {"field sent", "1"},
        {"field merged", "nil"},
        {second, "OK m"},
        {second, "OK m"},
        {first, "OK u"}, /* one comes late */
        {"field sent", "1"},
        {"field merged", "1"},
        {of_another, "OK m"},
        {both, "OK ma"},
        {both, "OK ma"},
        {"field sent", "2"},
        {"field merged", "3"},
        {"field Pme", "4,2,1000,ma"},
        {"field Pyou", "1,1,1000,m"},
    };

    snprintf(first, sizeof(first), "send id=me.1 a 0%s", stored);
    snprintf(second, sizeof(second), "send id=me.2 a 0%s", stored);
    snprintf(of_another, sizeof(of_another), "send id=you.1 a 0%s", stored);
    snprintf(both, sizeof(both), "send id=me.3 a 0%s b 0%s", stored, stored);
    SCRIPT_TABLE(state, rows);
}

static void test_a_repeat_gets_the_first_answer(void **state)
{
    check_repeated(state, "open m", "");
    check_repeated(state, "open t", "");
    check_repeated(state, "open p", "");
    check_repeated(state, "open b", "");
    check_repeated(state, "open t keyed", " '' '' ''");
    check_repeated(state, "open f keyed", " '' '' ''");
}

static void test_a_repeat_of_what_is_gone_stores_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", NULL},
        {"at 1000", ""},
        {"send id=me.1 a 0 b 0", "OK aa"},
        {"consume 1 n=2", NULL},
        {"send id=me.1 a 0 b 0", "OK aa"},
        {"consume 1 n=0 last=1 done 1000c1:a done 1000c1:b", NULL},
        {"send id=me.1 a 0 b 0", "OK aa"},
        {"store", ""},
        {"prepare", ""},
        {"send id=me.3 a 0", "OK a"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Some messages of a request have run out of time; or a part was sent again, and then the first try
 * comes. */
static void test_a_part_of_a_request_is_repeated(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1000", ""},
        {"send a 9000", "OK a"},
        {"send id=me.1 a 9000 b 9000 c 9000", "OK maa"},
        {"send id=me.2 b 9000 c 9000", "OK aa"},
        {"send id=me.1 a 9000", "OK m"},
        {"send id=me.9 d 9000", "OK a"},
        {"send id=me.8 x 9000 d 9000 y 9000", "OK uau"},
        {"store", "a@9000 b@9000 c@9000 d@9000"},
        {"field Pme", "9,1,1000,a"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_refusal_is_repeated_when_there_is_room(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1000", ""},
        {"send id=me.1 bound=1 a 0 b 0", "OK af"},
        {"redis ZREM x a", "1"},
        {"send id=me.1 bound=1 a 0 b 0", "OK af"},
        {"store", ""},
        {"send id=me.3 bound=1 b 0", "OK a"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_repeat_wakes_and_is_written_again(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", NULL},
        {"at 1000", ""},
        {"consume 1", NULL},
        {"send id=me.1 a 5000", "OK a"}, /* nobody hears it */
        {"field parked", "9007199254740992"},
        {"listen", ""},
        {"at 1010", ""},
        {"send id=me.1 a 5000", "OK a"},
        {"woken", "1"},
        {"field parked", "nil"},
        {"field Pme", "1,1,1010,a"},
        {"send id=me.1 a 5000", "OK a"},
        {"woken", "0"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_repeat_needs_the_definition_of_the_slot(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1000", ""},
        {"send id=me.1 a 0", "OK a"},
        {"send id=me.1 def=n.2 a 0", "OK a"},
        {"field def", "n.2"},
        {"send id=me.1 a 0", "STALE"},
        {"send id=me.1 def=m.2 a 0", "STALE"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A send is repeated for half an hour at most. */
static void test_producers_are_forgotten_after_an_hour(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1000", ""},
        {"send id=me.1 a 0", "OK a"},
        {"at 3601000", ""},
        {"send id=you.1 b 0", "OK a"},
        {"field Pme", "1,1,1000,a"},
        {"send id=me.1 a 0", "OK a"}, /* that renews it */
        {"at 7201001", ""},
        {"send id=you.2 c 0", "OK a"}, /* not a new one */
        {"field Pme", "1,1,3601000,a"},
        {"send id=they.1 d 0", "OK a"},
        {"field Pme", "nil"},
        {"field Pyou", "2,1,7201001,a"},
        {"field Pthey", "1,1,7201001,a"},
        {"field def", "n.1"},
        {"send d 0", "OK m"},
        {"field P-", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Its publication may be lost, too: a repeat after a second wakes the owner. */
static void test_a_repeat_is_not_pushed_again(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"listen", ""},
        {"woken", NULL},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send id=me.1 a 0", "OK a"},
        {"heard", "000000010000000000000001 1000 30000 8 0\n1000c1:a"},
        {"field Pme", "1,1,1000,a"},
        {"send id=me.1 a 0", "OK a"},
        {"woken", "0"},
        {"store", ""},
        {"prepare", "1000c1:a@31000"},
        {"field claims", "1"},
        {"field parked", "-1000"},
        {"at 2000", ""},
        {"send id=me.1 a 0", "OK a"},
        {"heard", "''"},
        {"consume 1 n=0 last=1 pushed=1000 oldest=1 done 1000c1:a", "OK 2000 '' 1 1 0"},
        {"consume 1 open=1 last=1 pushed=1000 oldest=2", NULL},
        {"send id=me.1 a 0", "OK a"}, /* a late one wakes, and that is all */
        {"heard", "''"},
        {"store", ""},
        {"prepare", ""},
        {"field sent", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* clang-format on */

TEST_GROUP(send_ids)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_repeat_gets_the_first_answer),
        cmocka_unit_test(test_a_repeat_of_what_is_gone_stores_nothing),
        cmocka_unit_test(test_a_part_of_a_request_is_repeated),
        cmocka_unit_test(test_a_refusal_is_repeated_when_there_is_room),
        cmocka_unit_test(test_a_repeat_wakes_and_is_written_again),
        cmocka_unit_test(test_a_repeat_needs_the_definition_of_the_slot),
        cmocka_unit_test(test_producers_are_forgotten_after_an_hour),
        cmocka_unit_test(test_a_repeat_is_not_pushed_again),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
