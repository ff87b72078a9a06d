/* test_schedule.c - schedules: what is stored of them, and that each tick is stored once. */
#include "script_table.h"
#include "support/group.h"

/* The message of a schedule, behind what the scripts do not read. */
#define INLINE "1:s1:m2:+00:0:0:"

/* clang-format off */

static void test_a_change_needs_the_version_that_was_read(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"schedule_read get s", "OK 1000 0"},
        {"schedule_put s 1 5000 5000,0,,0, " INLINE, "MOVED"},
        {"schedule_put s 0 5000 5000,0,,0, " INLINE, "OK 1000"},
        {"schedule_read get s", "OK 1000 0 s 1000,5000,0,,0, " INLINE},
        {"field tick", "5000"},
        {"ticks", "s@5000"},
        {"schedule_put s 0 5000 5000,0,,0, " INLINE, "MOVED"},
        {"schedule_put z 0 4000 4000,0,,0, " INLINE, "OK 1000"},
        {"field tick", "4000"},
        {"schedule_put z 1000 '' 4000,0,,1,note ''", "OK 1001"},
        {"schedule_read get z", "OK 1000 0 z 1001,4000,0,,1,note " INLINE},
        {"field tick", "5000"},
        {"schedule_read list 0 100", "OK 1000 0 s 1000,5000,0,,0, s z 1001,4000,0,,1,note s"},
        {"schedule_put s 1000 '' '' ''", "OK 1001"},
        {"schedule_read list 0 100", "OK 1000 0 z 1001,4000,0,,1,note s"},
        {"field tick", "9007199254740992"},
        {"field Ys", "nil"},
        {"ticks", ""},
        {"schedule_put s 0 5000 5000,0,,0, " INLINE, "OK 1000"},
        {"schedule_put def=o.1 s 1000 '' '' ''", "STALE"},
        {"schedule_read def=o.1 list 0 100", "STALE"},
        {"schedule_tick def=o.1 s 1000 5000 '' f", "STALE"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_tick_is_stored_once_and_not_before_its_time(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"schedule_put s 0 5000 5000,0,,0, " INLINE, "OK 1000"},
        {"at 4999", ""},
        {"schedule_read due 100", "OK 4999 5000"},
        {"schedule_tick s 1000 5000 6000 f", "OK o 5000"},
        {"at 5001", ""},
        {"schedule_read due 100", "OK 5001 9007199254740992 s 1000,5000,0,,0, s"},
        {"schedule_tick s 1001 5000 6000 f", "OK o 5000"},
        {"schedule_tick s 1000 4000 6000 f", "OK o 5000"},
        {"store", ""},
        {"schedule_tick s 1000 5000 6000 f", "OK a 6000"},
        {"schedule_tick s 1000 5000 6000 f", "OK o 6000"},
        {"store", "m@5001"},
        {"field sent", "1"},
        {"schedule_read get s", "OK 5001 0 s 5001,6000,1,5000,0, " INLINE},
        {"schedule_put s 1000 '' 5000,0,,1,late ''", "MOVED"},
        {"at 6500", ""},
        {"schedule_tick s 5001 6000 7000 s", "OK s 7000"},
        {"schedule_read get s", "OK 6500 0 s 6500,7000,1,5000,0, " INLINE},
        {"at 7000", ""},
        {"schedule_tick s 6500 7000 '' f", "OK m 9007199254740992"},
        {"schedule_read get s", "OK 7000 0 s 7000,,2,7000,0, " INLINE},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_clock_that_steps_makes_no_tick_twice(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"schedule_put s 0 5000 5000,0,,0, " INLINE, "OK 1000"},
        {"at 5000", ""},
        {"schedule_tick s 1000 5000 6000 f", "OK a 6000"},
        {"at 1000", ""},
        {"schedule_read due 100", "OK 1000 6000"},
        {"schedule_tick s 1000 5000 6000 f", "OK o 6000"},
        {"schedule_tick s 5000 6000 7000 f", "OK o 6000"},
        {"at 3600000", ""},
        {"schedule_read due 100", "OK 3600000 9007199254740992 s 5000,6000,1,5000,0, s"},
        {"schedule_tick s 5000 6000 3601000 f", "OK m 3601000"},
        {"schedule_tick s 5000 6000 3601000 f", "OK o 3601000"},
        {"field sent", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A script reads the clock once, so what it stores is of the time at which the schedule was due. */
static void test_a_clock_that_steps_within_a_call_makes_no_tick_early(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"schedule_put z 0 5000 5000,0,,0, 1:s2:z@2:+00:0:0:", "OK 1000"},
        {"redis SET test.now 5000/-3000", NULL},
        {"schedule_tick z 1000 5000 6000 f", "OK a 6000"},
        {"store", "z@5000@5000"},
        {"body", "bz@5000= hz@5000=5000"},
        {"schedule_read due 100", "OK 2000 6000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_paused_one_does_not_fire_but_runs(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"schedule_put s 0 '' 5000,0,,1,why " INLINE, "OK 1000"},
        {"schedule_put - 0 9000 9000,0,,0, " INLINE, "OK 1000"},
        {"at 5000", ""},
        {"schedule_tick s 1000 5000 6000 f", "OK o 9000"},
        {"schedule_tick s 0 0 '' r", "OK a 9000"},
        {"store", "m@5000"},
        {"schedule_tick gone 0 0 '' r", "OK o 9000"},
        {"ticks", "-@9000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_message_has_the_time_of_its_tick_in_its_id(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"schedule_put s 0 5000 5000,0,,0, 1:s2:s@2:+04:body2:3/5:60000", "OK 1000"},
        {"schedule_put z 0 4000 4000,0,,0, 1:s2:z@2:+00:0:0:", "OK 1000"},
        {"at 5500", ""},
        {"schedule_tick s 1000 5000 6000 f z 1000 4000 5600 f", "OK aa 5600"},
        {"store", "s@5000@5500 z@4000@5500"},
        {"body", "bs@5000=body bz@4000= hs@5000=5500,3/,65500,1 hz@4000=5500"},
        {"schedule_tick dedup=1000 s 0 0 '' r z 0 0 '' r", "OK aa 5600"},
        {"schedule_tick dedup=1000 s 0 0 '' r z 0 0 '' r", "OK mm 5600"},
        {"schedule_put y 0 4000 4000,0,,0, 1:s2:y@2:+00:0:1:-", "OK 5500"},
        {"schedule_tick ttl=100 y 0 1 '' r z 0 1 '' r", "OK aa 4000"},
        {"redis HMGET body{x} hy@1 hz@1", "5500 5500,,5600,1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* What was handled within the window of ids is not stored again, as after a failover. */
static void test_a_tick_that_was_handled_is_a_duplicate(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send dedup=60000 z@5000 +0 x '' ''", "OK a"},
        {"consume 1 n=1 dedup=60000", NULL},
        {"consume 1 last=1 n=0 dedup=60000 done 1000c1:z@5000", NULL},
        {"schedule_put z 0 5000 5000,0,,0, 1:s2:z@2:+01:x0:0:", "OK 1000"},
        {"at 5000", ""},
        {"schedule_tick dedup=60000 z 1000 5000 6000 f", "OK d 6000"},
        {"store", ""},
        {"field duplicates", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_full_slot_keeps_the_tick_for_later(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"send other +0", "OK a"},
        {"schedule_put s 0 5000 5000,0,,0, " INLINE, "OK 1000"},
        {"schedule_put z 0 5000 5000,0,,0, " INLINE, "OK 1000"},
        {"at 5000", ""},
        {"schedule_tick bound=1 s 1000 5000 6000 f z 1000 5000 6000 s", "OK fs 5000"},
        {"schedule_tick bound=2 s 1000 5000 6000 f", "OK a 6000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_consume_says_when_the_first_is_due(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"listen", ""},
        {"consume 1 n=1", "OK 1000 '' 0 '' 0"},
        {"schedule_put s 0 5000 5000,0,,0, " INLINE, "OK 1000"},
        {"woken", "1"},
        {"redis HSET slot{x} parked 9000", NULL},
        {"schedule_put z 0 4000 4000,0,,0, " INLINE, "OK 1000"},
        {"woken", "1"},
        {"ordinary 1 n=1", "OK 1000 '' 0 '' 0 4000"},
        {"schedule_put y 0 4500 4500,0,,0, " INLINE, "OK 1000"}, /* not the first */
        {"woken", "0"},
        {"at 4000", ""},
        {"ordinary 1 n=1", "OK 4000 '' 0 '' 0 4000"},
        {"schedule_tick z 1000 4000 8000 f", "OK a 4500"},
        {"woken", "1"},
        {"consume 1 n=1 flags=r", "OK 4000 34000 1 '' 0 4500 4000c1:m 0"},
        {"slot_pause 1", "OK"},
        {"consume 1 n=1 last=1", "OK 4000 '' 1 '' 2"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* Of those that sleep, some look when the schedule is due. */
static void test_callers_of_a_shared_slot_look_when_it_is_due(void **state)
{
    static const struct script_row rows[] = {
        {"open t shared", "OK"},
        {"schedule_put s 0 5000 5000,0,,0, " INLINE, "OK 1000"},
        {"consume shared n=1", "OK 1000 5000 1 '' 0 5000"},
        {"consume shared n=1 caller=wb", "OK 1000 5500 2 '' 3 5000"},
        {"at 5000", ""},
        {"consume shared n=1", "OK 5000 6500 2 '' 3 5000"},
        {"schedule_tick s 1000 5000 9000 f", "OK a 9000"},
        {"store", "m@5000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_deleted_topic_has_none_left(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"schedule_put s 0 5000 5000,0,,0, 1:s2:s@2:+01:x0:0:", "OK 1000"},
        {"inspect", NULL},
        {"slot_seal 1", "OK"},
        {"schedule_tick s 1000 5000 6000 f", "NO_TOPIC"},
        {"slot_clear 1000", "OK 0"},
        {"field Xs", "nil"},
        {"field Ys", "nil"},
        {"field tick", "nil"},
        {"slot_forget 1 '' 1000 schedule{x}", "OK"},
        {"redis EXISTS schedule{x} slot{x}", "0"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A slot that lost its hash has times without schedules: they are removed when they come. */
static void test_a_time_without_a_schedule_is_removed(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"redis ZADD schedule{x} 500 lost", NULL},
        {"schedule_put s 0 5000 5000,0,,0, " INLINE, "OK 1000"},
        {"field tick", "500"},
        {"schedule_read due 100", "OK 1000 5000 lost '' ''"},
        {"schedule_read due 100 1", "OK 1000 5000"},
        {"schedule_tick lost 0 0 '' s", "OK o 5000"},
        {"ticks", "s@5000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Redis has lost the times: they are made of what is stored. */
static void test_times_that_are_lost_are_made_anew(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"schedule_put s 0 5000 5000,0,,0, " INLINE, "OK 1000"},
        {"schedule_put z 0 6000 6000,1,5000,0, " INLINE, "OK 1000"},
        {"schedule_put y 0 '' 4000,0,,1,paused " INLINE, "OK 1000"},
        {"redis DEL schedule{x}", NULL},
        {"schedule_read due 100", "OK 1000 9007199254740992"},
        {"schedule_tick", "OK '' 5000"},
        {"ticks", "s@5000 z@6000"},
        {"redis DEL schedule{x}", NULL},
        {"schedule_put x 0 7000 7000,0,,0, " INLINE, "OK 1000"},
        {"ticks", "s@5000 z@6000 x@7000"},
        {"field tick", "5000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* clang-format on */

TEST_GROUP(schedule)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_change_needs_the_version_that_was_read),
        cmocka_unit_test(test_a_tick_is_stored_once_and_not_before_its_time),
        cmocka_unit_test(test_a_clock_that_steps_makes_no_tick_twice),
        cmocka_unit_test(test_a_clock_that_steps_within_a_call_makes_no_tick_early),
        cmocka_unit_test(test_a_paused_one_does_not_fire_but_runs),
        cmocka_unit_test(test_a_message_has_the_time_of_its_tick_in_its_id),
        cmocka_unit_test(test_a_tick_that_was_handled_is_a_duplicate),
        cmocka_unit_test(test_a_full_slot_keeps_the_tick_for_later),
        cmocka_unit_test(test_consume_says_when_the_first_is_due),
        cmocka_unit_test(test_callers_of_a_shared_slot_look_when_it_is_due),
        cmocka_unit_test(test_a_deleted_topic_has_none_left),
        cmocka_unit_test(test_a_time_without_a_schedule_is_removed),
        cmocka_unit_test(test_times_that_are_lost_are_made_anew),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
