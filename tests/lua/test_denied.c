/* test_denied.c - a user that may not publish, or may not ask who listens: the call does its work,
 * and its reply says what failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "script_table.h"
#include "support/group.h"

#define NEVER "9007199254740992"
#define DENY  "redis ACL SETUSER default -spublish"
#define ALLOW "redis ACL SETUSER default +spublish"
#define FAILS " SPUBLISH wake{x} ERR ..."

static void test_sends_say_that_they_woke_nobody(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {"listen", ""},
        {"woken", NULL},
        {DENY, "OK"},
        {"send a +0", "OK a" FAILS},
        {"send a +0 b +0", "OK ma" FAILS},
        {"send a +0 c 5000 bound=9", "OK ma" FAILS},
        {"send id=p.1 d +0", "OK a" FAILS},
        {"send id=p.1 d +0", "OK a" FAILS},
        {"send id=p.2 e +0", "OK a" FAILS},
        {"woken", "0"},
        {"field parked", NEVER},
        {"store", "a@1000 b@1000 d@1000 e@1000 c@5000"},
        {ALLOW, "OK"},
        {"send f +0", "OK a"},
        {"woken", "1"},
        /* nobody sleeps, so there is nothing that could be denied */
        {DENY, "OK"},
        {"send g +0", "OK a"},
        {ALLOW, "OK"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_channel_is_denied(void **state)
{
    static const struct script_row rows[] = {
        {"deaf", ""}, /* the server ends who listens and may not any more */
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {"redis ACL SETUSER default resetchannels", "OK"},
        {"send a +0", "OK a" FAILS},
        {"redis ACL SETUSER default allchannels", "OK"},
        {"send b +0", "OK a"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_push_that_may_not_ask_who_listens(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"woken", NULL},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"redis ACL SETUSER default -pubsub|shardnumsub", "OK"},
        {"send a +0", "OK a PUBSUB wake{x} ERR ..."},
        {"heard", "''"},
        {"store", "a@1000"},
        {"redis ACL SETUSER default +pubsub|shardnumsub", "OK"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* The owner of a push has not called for a second. */
static void test_a_second_wake_up_is_denied(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {DENY, "OK"},
        {"at 1500", ""},
        {"send b +0", "OK a"},
        {"at 2500", ""},
        {"send c +0", "OK a" FAILS},
        {"field parked", "-1000:2500"},
        {ALLOW, "OK"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_who_shares_a_slot_wakes_nobody(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"consume shared", "OK 1000 '' 0 '' 0"},
        {DENY, "OK"},
        {"send a +0 b +9", "OK aa" FAILS},
        {"consume shared n=1", "OK 1000 1009 1 '' 0 1000c1:a 0" FAILS},
        {"consume shared n=1", "OK 1000 1009 1 '' 0" FAILS},
        {ALLOW, "OK"},
        {"field parked", NEVER},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_an_edit_wakes_nobody(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 9000", "OK a"},
        {"consume 1", "OK 1000 9000 0 '' 0"},
        {DENY, "OK"},
        {"edit reschedule a 2000", "OK 1" FAILS},
        {"store", "a@2000"},
        {ALLOW, "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_changes_of_the_topic_wake_nobody(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {DENY, "OK"},
        {"slot_alter def=n.2", "OK" FAILS},
        {"slot_pause def=n.2 1", "OK" FAILS},
        {"slot_pause def=n.2 pauses=2 0", "OK" FAILS},
        {"field def", "n.2"},
        {"field paused", "nil"},
        {"field parked", NEVER},
        {"slot_open def=n.2 m 0", "OK 0"},
        {"redis HDEL slot{x} def", "1"},
        {"slot_open def=n.2 m 0", "OK 0" FAILS},
        {ALLOW, "OK"},
        {"slot_pause def=n.2 pauses=3 1", "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_rights_of_an_owner(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"rights", "OK ''"},
        {"redis ACL SETUSER default -zadd -hstrlen -time", "OK"},
        {"rights", "OK ZADD,HSTRLEN,TIME"},
        {"redis ACL SETUSER default +@all -ssubscribe", "OK"},
        {"rights", "OK SSUBSCRIBE"},
        {"redis ACL SETUSER default +@all resetchannels", "OK"},
        {"rights", "OK SSUBSCRIBE"},
        /* what an owner can do without */
        {"redis ACL SETUSER default allchannels -spublish -pubsub|shardnumsub -type", "OK"},
        {"rights", "OK ''"},
        {"redis ACL SETUSER default +@all", "OK"},
        {"open m keyed", "OK"},
        {"rights", "OK ''"},
        {"redis ACL SETUSER default -zmscore", "OK"},
        {"rights", "OK ZMSCORE"},
        {"redis ACL SETUSER default +@all", "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(denied)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends_say_that_they_woke_nobody),
        cmocka_unit_test(test_a_channel_is_denied),
        cmocka_unit_test(test_a_push_that_may_not_ask_who_listens),
        cmocka_unit_test(test_a_second_wake_up_is_denied),
        cmocka_unit_test(test_who_shares_a_slot_wakes_nobody),
        cmocka_unit_test(test_an_edit_wakes_nobody),
        cmocka_unit_test(test_changes_of_the_topic_wake_nobody),
        cmocka_unit_test(test_the_rights_of_an_owner),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
