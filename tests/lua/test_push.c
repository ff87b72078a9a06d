/* test_push.c - sends that claim for an owner that sleeps, and what its calls make of that. */
#include <stdio.h>
#include <string.h>

#include "script_table.h"
#include "store/consume.h"
#include "support/group.h"

#define NEVER "9007199254740992"
#define HEAD  "000000010000000000000001 1000 30000"

/* clang-format off */
#define WHOLE "!w,,1:k0000000003e80000000000000000000a"

static void test_a_send_claims_for_an_owner_that_sleeps(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"listen", ""},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"field parked", NEVER "/30000"},
        {"send a +0", "OK a"},
        {"heard", HEAD " 8 0\n1000c1:a"},
        {"store", ""},
        {"prepare", "1000c1:a@31000"},
        {"field parked", "-1000"},
        {"field claims", "1"},
        {"field claimed_until", "31000"},
        {"field sent", "1"},
        /* its owner is not asleep any more */
        {"send b +0", "OK a"},
        {"woken", "0"},
        {"store", "b@1000"},
        {"consume 1 last=1 pushed=1000 open=1 oldest=1 done 1000c1:a",
         "OK 1000 31000 2 1 0 1000c2:b 0"},
        {"field parked", "nil"},
        {"consume 1 last=2 pushed=1000 open=1 oldest=2 done 1000c2:b", "OK 1000 '' 2 1 0"},
        {"field parked", NEVER "/30000"},
        {"at 2000", ""},
        {"send a +0", "OK a"},
        {"heard", "000000010000000000000001 2000 30000 8 0\n2000c3:a"},
        {"field done", "2"},
        {"field sent", "3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_each_kind_is_pushed_with_its_place(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a 500", "OK a"}, /* long ago is now */
        {"heard", HEAD " 8 0\n1000c1:a"},
        {"open p", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a 3", "OK a"},
        {"heard", HEAD " 15 0\n17179869183c1:a"},
        {"field seq", "1"},
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a -5", "OK a"},
        {"heard", HEAD " 6 0\n-5c1:a"},
        {"field seq", "nil"},
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a 0 text '' ''", "OK a"},
        {"heard", HEAD " 5 4\n1c1:a1000text"},
        {"field seq", "1"},
        {"body", "ba=text ha=1000"},
        {"consume 1 last=1 pushed=1000 oldest=1 done 1c1:a", "OK 1000 '' 1 1 0"},
        {"body", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_body_is_pushed_with_its_header(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a 0 text 3 500", "OK a"},
        {"heard", HEAD " 8 13\n1000c1:a1000,3,1500,1text"},
        {"body", "ba=text ha=1000,3,1500,1"},
        {"consume 1 last=1 pushed=1000 oldest=1 open=1 done 1000c1:a", "OK 1000 '' 1 1 0"},
        {"send a 0 text '' 500", "OK a"},
        {"heard", HEAD " 8 12\n1000c2:a1000,,1500,1text"},
        /* it is in flight: the body would be that of both */
        {"consume 1 last=2 pushed=1000 oldest=2 open=1", "OK 1000 31000 2 '' 0"},
        {"send a 0 other '' ''", "OK a"},
        {"heard", "''"},
        {"store", "a@1000"},
        {"body", "ba=other ha=1000,,,2"},
        {"consume 1 last=2 pushed=1000 oldest=2", "OK 1000 31000 3 '' 0 1000c3:a 0 1000,,,2 other"},
        {"consume 1 last=3 pushed=1000 oldest=2 open=1 done 1000c2:a done 1000c3:a",
         "OK 1000 '' 3 11 0"},
        {"send b 0 text '' 0", "OK a"}, /* it has expired */
        {"heard", "''"},
        {"store", "b@1000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Its entry is all that is pushed, also while another copy is in flight. */
static void test_a_whole_message_is_pushed_alone(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"whole " WHOLE " 0", "OK a"},
        {"heard", HEAD " 46 0\n1000c1:" WHOLE},
        {"prepare", "1000c1:" WHOLE "@31000"},
        {"body", ""},
        {"consume 1 open=1", "OK 1000 31000 1 '' 1 1000c1:" WHOLE " 0 '' ''"}, /* it was lost */
        {"consume 1 last=1 oldest=1 open=1", "OK 1000 31000 1 '' 0"},
        {"whole " WHOLE " 0", "OK a"},
        {"heard", HEAD " 46 0\n1000c2:" WHOLE},
        {"consume 1 last=2 pushed=1000 oldest=1 open=1 flags=e done 1000c1:" WHOLE
         " done 1000c2:" WHOLE,
         "OK 1000 '' 2 11 0"},
        {"store", ""},
        {"prepare", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* a is a suspect, and its time is that of the call: the part of its score behind the point is not a
 * time. */
static void test_a_push_does_not_pass_a_suspect_that_is_due(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 1000", "OK a"},
        {"consume 1", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"takeover 2", NULL},
        {"send a 32000", "OK m"},
        {"at 20000", ""},
        {"send b 20000", "OK a"},
        {"consume 2 last=1 oldest=2", "OK 20000 50000 2 '' 0 20000c2:b 0"},
        {"at 32000", ""},
        {"consume 2 last=2 oldest=2 open=1", "OK 32000 50000 2 '' 0"},
        {"store", "a@32000~0s"},
        {"field parked", "50000/30000"},
        {"heard", NULL},
        {"send c 500", "OK a"},
        {"heard", "''"},
        {"field claims", "2"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_only_an_owner_that_sleeps_and_says_so_is_pushed_to(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a +0", "OK a"}, /* it has not slept yet */
        {"woken", "0"},
        {"consume 1 open=1", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"send b +0", "OK a"}, /* it is awake */
        {"woken", "0"},
        {"consume 1 last=1 oldest=1 done 1000c1:a", "OK 1000 31000 2 1 0 1000c2:b 0"},
        {"consume 1 last=2 oldest=2 done 1000c2:b", "OK 1000 '' 2 1 0"},
        {"field parked", NEVER},
        {"send a +0", "OK a"}, /* it does not say so */
        {"heard", "''"},
        {"store", "a@1000"},
        /* n = 0 ends it, in the call that says which claims there are; so does open = 0 */
        {"consume 1 last=2 oldest=3", "OK 1000 31000 3 '' 0 1000c3:a 0"},
        {"consume 1 last=3 oldest=3 open=1 done 1000c3:a", "OK 1000 '' 3 1 0"},
        {"field parked", NEVER "/30000"},
        {"consume 1 last=3 oldest=4 open=1 n=0", "OK 1000 '' 3 '' 0"},
        {"field parked", NEVER},
        {"consume 1 last=3 oldest=4 open=1", "OK 1000 '' 3 '' 0"},
        {"consume 1 last=3 oldest=4", "OK 1000 '' 3 '' 0"},
        {"field parked", NEVER},
        {"consume 1 last=3 oldest=4 open=1 lease=70", "OK 1000 '' 3 '' 0"},
        {"field parked", NEVER "/70"},
        {"consume 1 last=3 oldest=4 open=1 n=0 flags=r", "OK 1000 '' 3 '' 0"},
        {"field parked", NEVER},
        {"send b +0", "OK a"},
        {"heard", "''"},
        {"field parked", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_shared_slots_are_never_open(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m shared", "OK"},
        {"consume shared open=1", "OK 1000 '' 1 '' 0"},
        {"field parked", NEVER " 0 -|wa "},
        {"send a +0", "OK a"},
        {"heard", "''"},
        {"store", "a@1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_is_not_due_is_stored(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +1", "OK a"},
        {"heard", "''"}, /* the owner learns the time */
        {"store", "a@1001"},
        {"consume 1 open=1", "OK 1000 1001 0 '' 0"},
        {"field parked", "1001/30000"},
        {"send b +50", "OK a"},
        {"woken", "0"},
        {"send c +0", "OK a"}, /* before what is due later */
        {"heard", HEAD " 8 0\n1000c1:c"},
        {"store", "a@1001 b@1050"},
        {"consume 1 open=1 last=1 pushed=1000 oldest=1 done 1000c1:c", "OK 1000 1001 1 1 0"},
        {"at 1001", ""}, /* the owner wakes by itself */
        {"send c +0", "OK a"},
        {"woken", "0"},
        {"store", "a@1001 c@1001 b@1050"},
        /* also if nothing is there any more */
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"redis HSET slot{x} parked 1000/30000", "1"},
        {"send c +0", "OK a"},
        {"woken", "0"},
        {"store", "c@1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_nothing_waits_before_it_and_it_merges_with_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"redis ZADD x 1001 z", "1"},
        {"consume 1 open=1", "OK 1000 1001 0 '' 0"},
        {"send z +0", "OK m"},
        {"store", "z@1001"},
        {"heard", ""},
        {"field parked", "1001/30000"},
        {"redis ZADD x 1000 y", "1"},
        {"send a +0", "OK a"},
        {"heard", "''"},
        {"store", "a@1000 y@1000 z@1001"},
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"redis ZADD x 1001 z", "1"},
        {"consume 1 open=1", "OK 1000 1001 0 '' 0"},
        {"send z 0", "OK m"},
        {"heard", "''"},
        {"store", "z@1000"},
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"redis ZADD x 1 z", "1"},
        {"send a 7", "OK a"},
        {"heard", "''"},
        {"store", "z@1 a@7"},
        {"open p", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"redis ZADD x 1 z", "1"},
        {"send a 7", "OK a"},
        {"heard", "''"},
        {"field seq", "1"}, /* it has one place */
    };

    SCRIPT_TABLE(state, rows);
}

static void test_several_messages_are_stored(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0 b +0", "OK aa"},
        {"heard", "''"},
        {"store", "a@1000 b@1000"},
        {"field parked", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_full_slot_refuses_it(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send z +50", "OK a"},
        {"consume 1 open=1", "OK 1000 1050 0 '' 0"},
        {"send a +0 bound=1", "OK f"},
        {"woken", "0"},
        {"send a +0 bound=2", "OK a"},
        {"heard", HEAD " 8 0\n1000c1:a"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_claims_in_flight_do_not_matter_but_suspects_and_rests_do(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a +0", "OK a"},
        {"consume 1", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"consume 1 last=1 oldest=1 open=1", "OK 1000 31000 1 '' 0"},
        {"field parked", "31000/30000"},
        {"send b +0", "OK a"},
        {"heard", HEAD " 8 0\n1000c2:b"},
        {"prepare", "1000c1:a@31000 1000c2:b@31000"},
        /* a rest */
        {"consume 1 last=2 oldest=1 pushed=1000 open=1 done 1000c2:b retry 1000c1:a 100 why",
         "OK 1000 1100 2 11 0"},
        {"field parked", "1100/30000"},
        {"send b +0", "OK a"},
        {"heard", "''"},
        {"store", "b@1000"},
        /* a rest behind a claim */
        {"consume 1 last=2 oldest=3 n=1", "OK 1000 1100 3 '' 0 1000c3:b 0"},
        {"consume 1 last=3 oldest=3 open=1", "OK 1000 1100 3 '' 0"},
        {"send c +0", "OK a"},
        {"heard", "''"},
        /* a suspect */
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a +0", "OK a"},
        {"consume 1", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"takeover 2", "OK 1 1 0"},
        {"consume 2 last=1 oldest=2", "OK 1000 31000 2 '' 0 1000c2:a 1"},
        {"consume 2 last=2 oldest=2 open=1", "OK 1000 31000 2 '' 0"},
        {"field parked", "31000/30000"},
        {"send b +0", "OK a"},
        {"heard", "''"},
        {"store", "b@1000"},
        /* the lease of a former owner has ended, or will soon */
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a +0", "OK a"},
        {"consume 1 lease=500", "OK 1000 1500 1 '' 0 1000c1:a 0"},
        {"takeover 2 mode=strict", "OK 1 0 0"},
        {"consume 2 last=1 oldest=2 open=1", "OK 1000 1500 1 '' 0"},
        {"at 1499", ""},
        {"send b +0", "OK a"},
        {"heard", "000000010000000000000002 1499 30000 8 0\n1499c2:b"},
        {"consume 2 last=2 oldest=2 pushed=1499 open=1 done 1499c2:b", "OK 1499 1500 2 1 0"},
        {"redis HSET slot{x} parked " NEVER "/30000", "0"},
        {"at 1500", ""},
        {"send b +0", "OK a"},
        {"heard", "''"},
        {"store", "b@1500"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_pause_ends_it(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"slot_pause 1 pauses=1", "OK"},
        {"heard", "''"},
        {"send a +0", "OK a"},
        {"heard", "''"},
        {"store", "a@1000"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 2"},
        {"field parked", "0"},
        {"slot_pause 0 pauses=2", "OK"},
        {"heard", "''"},
        {"consume 1 open=1", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        /* what was pushed before the pause is known after it */
        {"consume 1 last=1 oldest=1 open=1 done 1000c1:a", "OK 1000 '' 1 1 0"},
        {"send b +0", "OK a"},
        {"heard", HEAD " 8 0\n1000c2:b"},
        {"slot_pause 1 pauses=3", "OK"},
        {"heard", "''"},
        {"consume 1 last=1 oldest=2 open=1", "OK 1000 '' 2 '' 2 1000c2:b 0"},
        {"field parked", "0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_definition_must_be_the_same(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0 def=n.2", "OK a"},
        {"heard", "''"},
        {"store", "a@1000"},
        {"field def", "n.2"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_nobody_hears_is_stored(void **state)
{
    static const struct script_row rows[] = {
        {"deaf", ""},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {"store", "a@1000"},
        {"prepare", ""},
        {"field claims", "0"},
        {"field parked", NEVER "/30000"}, /* the next send tries again */
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a 0 text '' ''", "OK a"},
        {"store", "a@1"},
        {"field seq", "1"},
        {"body", "ba=text ha=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- what is lost or overtaken --- */

static void test_a_lost_push_is_handed_over(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {"at 1200", ""},
        /* also by a call that claims nothing */
        {"consume 1 n=0 open=1", "OK 1200 31000 1 '' 1 1000c1:a 0"},
        {"prepare", "1000c1:a@31200"},
        {"field parked", "nil"},
        /* the owner knows it from a reply now, and its reply may be lost */
        {"consume 1 open=1", "OK 1200 31200 1 '' 1 1000c1:a 0"},
        {"consume 1 open=1 last=1 oldest=1", "OK 1200 31200 1 '' 0"},
        {"prepare", "1000c1:a@31200"},
        {"consume 1 open=1 last=1 oldest=1 done 1000c1:a", "OK 1200 '' 1 1 0"},
        {"field lease_lost", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_send_wakes_an_owner_that_does_not_answer_a_push(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {"woken", "1"},
        {"at 1999", ""},
        {"send b +0", "OK a"},
        {"woken", "0"},
        {"at 2000", ""},
        {"send c +5000", "OK a"}, /* whenever that is due */
        {"heard", "''"},
        {"field parked", "-1000:2000"},
        {"at 2999", ""},
        {"send d +0", "OK a"},
        {"woken", "0"},
        {"at 3000", ""},
        {"send e +0", "OK a"},
        {"heard", "''"},
        {"field parked", "-1000:3000"},
        {"at 1500", ""}, /* the clock is set back */
        {"send f +0", "OK a"},
        {"heard", "''"},
        {"field parked", "-1000:1500"},
        {"deaf", ""},
        {"at 9000", ""},
        {"send g +0", "OK a"},
        {"listen", ""},
        {"field parked", "-1000:9000"},
        /* the owner has got it, and has no room */
        {"consume 1 open=1 n=0 last=1 pushed=1000 oldest=1", "OK 9000 1500 1 '' 1"},
        {"field parked", "-1000:9000"},
        {"consume 1 open=1 n=1 last=1 pushed=1000 oldest=1 done 1000c1:a",
         "OK 9000 1999 2 1 1 1500c2:f 0"},
        {"field parked", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- owners --- */

static void test_a_new_owner_gets_a_push_back(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {"woken", "1"},
        {"takeover 2", "OK 1 1 0"},
        {"field parked", "nil"},
        {"store", "a@1000~0s"},
        {"field lease_lost", "1"},
        /* an open slot is closed: this owner has not said anything yet */
        {"consume 2 last=1 oldest=2", "OK 1000 31000 2 '' 0 1000c2:a 1"},
        {"consume 2 last=2 oldest=2 open=1 done 1000c2:a", "OK 1000 '' 2 1 0"},
        {"takeover 3", "OK 2 0 0"},
        {"field parked", "nil"},
        {"send b +0", "OK a"},
        {"woken", "0"},
        {"store", "b@1000"},
        {"takeover 3", "OK 2 0 0"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A graceful end: the last call closes the slot, knows the push, and gives it back. */
static void test_an_owner_that_leaves_gives_a_push_back(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {"woken", "1"},
        {"consume 1 n=0", "OK 1000 31000 1 '' 1 1000c1:a 0"},
        {"send b +0", "OK a"},
        {"woken", "0"},
        {"consume 1 n=0 last=1 oldest=1 release 1000c1:a 0", "OK 1000 1000 1 1 1"},
        {"vacate 1", "OK"},
        {"store", "a@1000 b@1000"},
        {"prepare", ""},
        {"field lease_lost", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- failovers --- */

static void test_a_push_has_no_number_that_its_owner_knows(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        /* Redis has lost five claims */
        {"consume 1 last=5 oldest=6 open=1 pushed=900", "OK 1000 '' 5 '' 0"},
        {"field claims", "5"},
        {"send a +0", "OK a"},
        {"heard", HEAD " 8 0\n1000c6:a"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_push_before_the_owner_looked_is_undone(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"}, /* its owner has got a push of this number before */
        {"prepare", "1000c1:a@31000"},
        {"consume 1 last=1 oldest=2 pushed=900 open=1", "OK 1000 31000 2 '' 0 1000c2:a 0"},
        {"prepare", "1000c2:a@31000"},
        {"field lease_lost", "1"},
        /* or more of them; and it looks without claiming */
        {"consume 1 last=2 oldest=2 pushed=900 open=1 done 1000c2:a", "OK 1000 '' 2 1 0"},
        {"send b +0", "OK a"},
        {"consume 1 last=7 oldest=8 pushed=900 n=0", "OK 1000 1000 7 '' 1"},
        {"store", "b@1000"},
        {"field parked", "nil"},
        {"field claims", "7"},
        {"consume 1 last=7 oldest=8 pushed=900", "OK 1000 31000 8 '' 0 1000c8:b 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_push_that_may_be_what_its_owner_has_stays(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {"send b +0", "OK a"},
        {"consume 1 last=1 oldest=1 pushed=900 open=1", "OK 1000 2000 1 '' 0"},
        {"field parked", "-1000"},
        {"prepare", "1000c1:a@31000"},
        {"consume 1 last=1 oldest=2 pushed=900 open=1",
         "OK 1000 31000 2 '' 0 1000c2:a 0 1000c2:b 0"},
        /* it was that, and is answered */
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {"consume 1 last=2 oldest=1 pushed=900 open=1 done 1000c1:a", "OK 1000 '' 2 1 0"},
        {"field parked", NEVER "/30000"},
        {"field claims", "2"},
        {"field lease_lost", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}
/* clang-format on */

/* --- size --- */

static void send_keyed(struct fixture *fixture, size_t body_len)
{
    static char body[5000];
    struct args args = {0};
    redisReply *reply;

    memset(body, 'x', sizeof(body));
    args_add(&args, "n.1");
    args_add(&args, "t");
    args_add(&args, "wake{x}");
    args_add(&args, "0");
    args_add(&args, "0");
    args_add(&args, "0");
    args_add(&args, "0");
    args_add(&args, "-");
    args_add(&args, "0");
    args_add(&args, "a");
    args_add(&args, "0");
    args_add_bytes(&args, body, body_len);
    args_add(&args, "");
    args_add(&args, "");
    reply = fixture_call(fixture, fixture_script("send"), &args);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_string_equal(reply->element[1]->str, "a");
    freeReplyObject(reply);
    args_clear(&args);
}

/* The entry has 8 bytes, the header 4. */
static void test_at_most_four_kilobytes_are_pushed(void **state)
{
    static const struct script_row begin[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
    };
    static const struct script_row pushed[] = {
        {"woken", "1"},
        {"store", ""},
        {"prepare", "1000c1:a@31000"},
    };
    static const struct script_row stored[] = {
        {"heard", "''"},
        {"store", "a@1000"},
        {"prepare", ""},
    };

    SCRIPT_TABLE(state, begin);
    send_keyed(*state, 4096 - 12);
    SCRIPT_TABLE(state, pushed);
    SCRIPT_TABLE(state, begin);
    send_keyed(*state, 4096 - 11);
    SCRIPT_TABLE(state, stored);
}

/* --- the reader --- */

static void read_push(struct fixture *fixture, struct store_push *push, bool keyed,
                      struct buf *heard)
{
    const struct store_slot slot = {.kind = 't', .keyed = keyed}, other = {.keyed = !keyed};

    buf_clear(heard);
    assert_int_equal(fixture_hear(fixture, heard), 1);
    assert_false(store_push_read(push, &other, heard->data, heard->len));
    assert_true(store_push_read(push, &slot, heard->data, heard->len));
    assert_int_equal(push->token.generation, 1);
    assert_int_equal(push->token.epoch, 1);
    assert_int_equal(push->now_ms, 1000);
    assert_int_equal(push->lease_ms, 30000);
    assert_int_equal(push->claim, 1);
    assert_int_equal(push->message.attempts.retries, 0);
    assert_false(push->message.attempts.suspect);
    assert_int_equal(push->message.entry_len, 8);
    assert_memory_equal(push->message.entry, "1000c1:a", 8);
}

static void test_the_library_reads_what_is_pushed(void **state)
{
    static const struct script_row of_inline[] = {
        {"listen", ""},
        {"heard", NULL},
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a 0", "OK a"},
    };
    static const struct script_row of_keyed[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a 0 text 3 500", "OK a"},
    };
    struct buf heard = {0};
    struct store_push push;

    SCRIPT_TABLE(state, of_inline);
    read_push(*state, &push, false, &heard);
    assert_null(push.message.body);
    SCRIPT_TABLE(state, of_keyed);
    read_push(*state, &push, true, &heard);
    assert_int_equal(push.message.body_len, 4);
    assert_memory_equal(push.message.body, "text", 4);
    assert_int_equal(push.message.header.first_ms, 1000);
    assert_int_equal(push.message.header.max_retries, 3);
    assert_int_equal(push.message.header.expires_ms, 1500);
    buf_fini(&heard);
}

TEST_GROUP(push)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_send_claims_for_an_owner_that_sleeps),
        cmocka_unit_test(test_each_kind_is_pushed_with_its_place),
        cmocka_unit_test(test_a_body_is_pushed_with_its_header),
        cmocka_unit_test(test_a_whole_message_is_pushed_alone),
        cmocka_unit_test(test_a_push_does_not_pass_a_suspect_that_is_due),
        cmocka_unit_test(test_only_an_owner_that_sleeps_and_says_so_is_pushed_to),
        cmocka_unit_test(test_shared_slots_are_never_open),
        cmocka_unit_test(test_what_is_not_due_is_stored),
        cmocka_unit_test(test_nothing_waits_before_it_and_it_merges_with_nothing),
        cmocka_unit_test(test_several_messages_are_stored),
        cmocka_unit_test(test_a_full_slot_refuses_it),
        cmocka_unit_test(test_claims_in_flight_do_not_matter_but_suspects_and_rests_do),
        cmocka_unit_test(test_a_pause_ends_it),
        cmocka_unit_test(test_the_definition_must_be_the_same),
        cmocka_unit_test(test_what_nobody_hears_is_stored),
        cmocka_unit_test(test_a_lost_push_is_handed_over),
        cmocka_unit_test(test_a_send_wakes_an_owner_that_does_not_answer_a_push),
        cmocka_unit_test(test_a_new_owner_gets_a_push_back),
        cmocka_unit_test(test_an_owner_that_leaves_gives_a_push_back),
        cmocka_unit_test(test_a_push_has_no_number_that_its_owner_knows),
        cmocka_unit_test(test_a_push_before_the_owner_looked_is_undone),
        cmocka_unit_test(test_a_push_that_may_be_what_its_owner_has_stays),
        cmocka_unit_test(test_at_most_four_kilobytes_are_pushed),
        cmocka_unit_test(test_the_library_reads_what_is_pushed),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
