/* test_clock_steps.c - every time that scripts store, and a clock of the node that steps: it is set
 * back or forward, or a replica with another clock takes over.
 *
 * Each stored time has a row: what is given at T, and two looks, right after the step and some time
 * later.  docs/guarantees.md has what follows for users. */
#include <stdio.h>

#include "script_table.h"
#include "support/group.h"

enum { GIVEN_MAX = 10, LOOKS = 3, STEPS = 4, COMMAND_SIZE = 64 };

#define T 10000000 /* when a time is stored */

static const struct {
    const char *name;
    int64_t ms;
} steps[STEPS] = {{"back by a minute", -60000},
                  {"back by an hour", -3600000},
                  {"forward by a minute", 60000},
                  {"forward by an hour", 3600000}};

struct stored_time {
    const char *name;
    const char *given[GIVEN_MAX];
    const char *look[LOOKS];
    int64_t later; /* how long after the first look the second one comes */
    const char *seen[STEPS][LOOKS];
};

static void run_row(struct fixture *fixture, const char *command, const char *expected)
{
    const struct script_row row = {command, expected};

    script_table_run(fixture, &row, 1);
}

static void set_time(struct fixture *fixture, int64_t ms)
{
    char command[COMMAND_SIZE];

    snprintf(command, sizeof(command), "at %lld", (long long) ms);
    run_row(fixture, command, "");
}

static void run_cell(struct fixture *fixture, const struct stored_time *time, size_t step)
{
    print_message("%s, %s\n", time->name, steps[step].name);
    fixture_flush(fixture);
    for (size_t i = 0; i < GIVEN_MAX && time->given[i] != NULL; i++) {
        run_row(fixture, time->given[i], NULL);
        if (i == 0) {
            set_time(fixture, T);
        }
    }
    for (int64_t i = 0; i < LOOKS && time->look[i] != NULL; i++) {
        set_time(fixture, T + steps[step].ms + i * time->later);
        run_row(fixture, time->look[i], time->seen[step][i]);
    }
}

static void run_times(struct fixture *fixture, const struct stored_time times[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t step = 0; step < STEPS; step++) {
            run_cell(fixture, &times[i], step);
        }
    }
}

#define RUN_TIMES(state, times) run_times(*(state), times, sizeof(times) / sizeof((times)[0]))

/* --- what a step back must not make longer --- */

static void test_a_lease_of_a_shared_topic_lasts_no_longer(void **state)
{
    static const struct stored_time times[] = {
        {"a claim",
         {"open b shared", "send a 5", "consume shared"},
         {"consume shared", "consume shared"},
         30000,
         {{"OK 9940000 9970000 1 '' 0", "OK 9970000 10000000 2 '' 0 5c2:a 1"},
          {"OK 6400000 6430000 1 '' 0", "OK 6430000 6460000 2 '' 0 5c2:a 1"},
          {"OK 10060000 10090000 2 '' 0 5c2:a 1", "OK 10090000 10120000 3 '' 0 5c3:a 3"},
          {"OK 13600000 13630000 2 '' 0 5c2:a 1", "OK 13630000 13660000 3 '' 0 5c3:a 3"}}},
        {"a claim, and another consumer renews its own first",
         {"open b shared", "send a 5 b 4", "consume shared n=1", "consume shared n=1"},
         {"renew shared 4c2:b", "consume shared"},
         30000,
         {{"OK 9940000 1", "OK 9970000 10000000 3 '' 0 5c3:a 1"},
          {"OK 6400000 1", "OK 6430000 6460000 3 '' 0 5c3:a 1"},
          {"OK 10060000 1", "OK 10090000 10120000 3 '' 0 5c3:a 1"},
          {"OK 13600000 1", "OK 13630000 13660000 3 '' 0 5c3:a 1"}}},
        {"a claim that was renewed",
         {"open b shared", "send a 5", "consume shared lease=100", "renew shared 5c1:a"},
         {"consume shared", "consume shared"},
         30000,
         {{"OK 9940000 9970000 1 '' 0", "OK 9970000 10000000 2 '' 0 5c2:a 1"},
          {"OK 6400000 6430000 1 '' 0", "OK 6430000 6460000 2 '' 0 5c2:a 1"},
          {"OK 10060000 10090000 2 '' 0 5c2:a 1", "OK 10090000 10120000 3 '' 0 5c3:a 3"},
          {"OK 13600000 13630000 2 '' 0 5c2:a 1", "OK 13630000 13660000 3 '' 0 5c3:a 3"}}},
        {"a claim that was extended by two hours",
         {"open b shared", "send a 5", "consume shared", "renew shared lease=7200000 5c1:a"},
         {"consume shared", "consume shared"},
         7200000,
         {{"OK 9940000 17140000 1 '' 0", "OK 17140000 17170000 2 '' 0 5c2:a 1"},
          {"OK 6400000 13600000 1 '' 0", "OK 13600000 13630000 2 '' 0 5c2:a 1"},
          {"OK 10060000 17200000 1 '' 0", "OK 17260000 17290000 2 '' 0 5c2:a 1"},
          {"OK 13600000 17200000 1 '' 0", "OK 20800000 20830000 2 '' 0 5c2:a 1"}}},
    };

    RUN_TIMES(state, times);
}

/* Of a former owner, after a strict takeover: it keeps the key of `a`. */
static void test_a_lease_of_a_former_owner_keeps_its_key_no_longer(void **state)
{
    static const struct stored_time times[] = {
        {"a claim, and the takeover comes after the step",
         {"open b", "takeover 1", "send a 5", "consume 1 flags=w", "send a 4"},
         {"takeover 2 mode=strict", "consume 2 last=1 flags=w"},
         30000,
         {{"OK 1 0 0", "OK 9970000 10000000 2 '' 0 4c2:a 1"},
          {"OK 1 0 0", "OK 6430000 6460000 2 '' 0 4c2:a 1"},
          {"OK 1 0 0", "OK 10090000 10120000 2 '' 0 4c2:a 1"},
          {"OK 1 0 0", "OK 13630000 13660000 2 '' 0 4c2:a 1"}}},
        {"a claim, and the takeover came before the step",
         {"open b", "takeover 1", "send a 5", "consume 1 flags=w", "send a 4",
          "takeover 2 mode=strict"},
         {"consume 2 last=1 flags=w", "consume 2 last=1 flags=w"},
         30000,
         {{"OK 9940000 9970000 1 '' 0", "OK 9970000 10000000 2 '' 0 4c2:a 1"},
          {"OK 6400000 6430000 1 '' 0", "OK 6430000 6460000 2 '' 0 4c2:a 1"},
          {"OK 10060000 10090000 2 '' 0 4c2:a 1", NULL},
          {"OK 13600000 13630000 2 '' 0 4c2:a 1", NULL}}},
        {"a claim, and its owner claimed more after the step",
         {"open b", "takeover 1", "send a 5 b 4 a 5", "consume 1 n=1 flags=w"},
         {"consume 1 n=1 last=1 oldest=1 flags=w", "prepare"},
         0,
         {{"OK 9940000 9970000 2 '' 0 4c2:b 0", "4c2:b@9970000 5c1:a@9970000"},
          {"OK 6400000 6430000 2 '' 0 4c2:b 0", "4c2:b@6430000 5c1:a@6430000"},
          {"OK 10060000 10090000 2 '' 0 4c2:b 0", "4c2:b@10090000 5c1:a@10090000"},
          {"OK 13600000 13630000 2 '' 0 4c2:b 0", "4c2:b@13630000 5c1:a@13630000"}}},
    };

    RUN_TIMES(state, times);
}

/* That of a process of version 0.2. */
static void test_a_lease_of_a_topic_lasts_no_longer(void **state)
{
    static const struct stored_time times[] = {
        {"the topic is bound to a fleet",
         {"topic create slots=4 n 0 0 0", "topic ready n",
          "redis HSET topic{x} lease_owner me lease_until 10015000 lease_at 10000000"},
         {"topic rebind n fleet 0 0", "topic rebind n fleet 0 0"},
         15000,
         {{"HELD me 15000", "OK 2"},
          {"HELD me 15000", "OK 2"},
          {"OK 2", "OK 3"},
          {"OK 2", "OK 3"}}},
    };

    RUN_TIMES(state, times);
}

/* What others may see of it, and a push, which gives a lease as well. */
static void test_a_lease_of_an_owner_is_known_after_a_step(void **state)
{
    static const struct stored_time times[] = {
        {"how long the last lease lasts",
         {"open b", "takeover 1", "send a 5", "consume 1 flags=w"},
         {"owner", "owner"},
         10000,
         {{"OK 000000010000000000000001 me 30000 1", "OK 000000010000000000000001 me 30000 1"},
          {"OK 000000010000000000000001 me 30000 1", "OK 000000010000000000000001 me 30000 1"},
          {"OK 000000010000000000000001 me 0 1", "OK 000000010000000000000001 me 0 1"},
          {"OK 000000010000000000000001 me 0 1", "OK 000000010000000000000001 me 0 1"}}},
        {"a push after the step",
         {"open b", "takeover 1", "listen", "send a 5", "consume 1 flags=w",
          "consume 1 last=1 oldest=2 flags=w open=1 done 5c1:a",
          "redis HSET slot{x} parked 99999999999/30000"},
         {"send c 4", "prepare"},
         0,
         {{"OK a", ""}, {"OK a", ""}, {"OK a", "4c2:c@10090000"}, {"OK a", "4c2:c@13630000"}}},
    };

    RUN_TIMES(state, times);
    fixture_listen(*state, false);
}

/* --- what goes with the clock --- */

static void test_rests_and_due_times_go_with_the_clock(void **state)
{
    static const struct stored_time times[] = {
        {"the end of a rest, in 30 s",
         {"open b", "takeover 1", "send a 5", "consume 1",
          "consume 1 last=1 retry 5c1:a 30000 why"},
         {"consume 1 last=1 oldest=2", "consume 1 last=1 oldest=2"},
         30000,
         {{"OK 9940000 10030000 1 '' 0", "OK 9970000 10030000 1 '' 0"},
          {"OK 6400000 10030000 1 '' 0", "OK 6430000 10030000 1 '' 0"},
          {"OK 10060000 10090000 2 '' 0 5c2:a 2", NULL},
          {"OK 13600000 13630000 2 '' 0 5c2:a 2", NULL}}},
        {"of a fifo topic, where it holds the others of its key",
         {"open f keyed", "takeover 1", "send !1:ka 0 A '' '' !1:kb 0 B '' ''", "consume 1 n=1",
          "consume 1 n=0 last=1 retry 1c1:!1:ka 30000 why"},
         {"consume 1 last=1 oldest=2", "consume 1 last=1 oldest=2"},
         30000,
         {{"OK 9940000 10030000 1 '' 0", "OK 9970000 10030000 1 '' 0"},
          {"OK 6400000 10030000 1 '' 0", "OK 6430000 10030000 1 '' 0"},
          {"OK 10060000 10090000 2 '' 0 1c2:!1:ka 2 10000000 A", NULL},
          {"OK 13600000 13630000 2 '' 0 1c2:!1:ka 2 10000000 A", NULL}}},
        {"the time at which a message is due, sent without a delay",
         {"open m", "takeover 1", "send a +0"},
         {"consume 1", "consume 1"},
         60000,
         {{"OK 9940000 10000000 0 '' 0", "OK 10000000 10030000 1 '' 0 10000000c1:a 0"},
          {"OK 6400000 10000000 0 '' 0", "OK 6460000 10000000 0 '' 0"},
          {"OK 10060000 10090000 1 '' 0 10000000c1:a 0", NULL},
          {"OK 13600000 13630000 1 '' 0 10000000c1:a 0", NULL}}},
        {"of fixed_time, in 30 s",
         {"open t", "takeover 1", "send a +30000"},
         {"consume 1", "consume 1"},
         90000,
         {{"OK 9940000 10030000 0 '' 0", "OK 10030000 10060000 1 '' 0 10030000c1:a 0"},
          {"OK 6400000 10030000 0 '' 0", "OK 6490000 10030000 0 '' 0"},
          {"OK 10060000 10090000 1 '' 0 10030000c1:a 0", NULL},
          {"OK 13600000 13630000 1 '' 0 10030000c1:a 0", NULL}}},
        {"the latest time to which sends put a message off, in 30 s",
         {"open m keyed", "takeover 1", "send debounce=30000 a +20000 A '' ''"},
         {"send debounce=30000 a +20000 B '' ''", "store"},
         0,
         {{"OK m", "a@9960000"},
          {"OK m", "a@6420000"},
          {"OK m", "a@10030000"},
          {"OK m", "a@10030000"}}},
        {"the expiry of a message, in 90 s",
         {"open b keyed", "takeover 1", "send a 5 A '' 90000"},
         {"consume 1 n=0", "consume 1"},
         90000,
         {{NULL, "OK 10030000 10060000 1 '' 0 5c1:a 0 10000000,,10090000,1 A"},
          {NULL, "OK 6490000 6520000 1 '' 0 5c1:a 0 10000000,,10090000,1 A"},
          {NULL, "OK 10150000 '' 0 '' 0 1"},
          {NULL, "OK 13690000 '' 0 '' 0 1"}}},
    };

    RUN_TIMES(state, times);
}

static void test_what_a_slot_remembers_goes_with_the_clock(void **state)
{
    static const struct stored_time times[] = {
        {"an id that is done, for 30 s",
         {"open b keyed", "takeover 1", "send dedup=30000 a 5 A '' ''", "consume 1 dedup=30000",
          "consume 1 last=1 oldest=2 dedup=30000 done 5c1:a"},
         {"send dedup=30000 a 5 A '' ''", "send dedup=30000 a 5 A '' ''"},
         30000,
         {{"OK d", "OK d"}, {"OK d", "OK d"}, {"OK a", "OK m"}, {"OK a", "OK m"}}},
        {"the last send of a producer, for an hour",
         {"open b", "takeover 1", "at 9999999", "send id=one.1 a 5", "consume 1",
          "consume 1 last=1 oldest=2 done 5c1:a"},
         {"send id=two.1 b 4", "send id=one.1 a 5", "store"},
         0,
         {{"OK a", "OK a", "b@4"},
          {"OK a", "OK a", "b@4"},
          {"OK a", "OK a", "b@4"},
          {"OK a", "OK a", "b@4 a@5"}}},
        {"a dead letter: which are older than a minute",
         {"open b", "takeover 1", "send a 5", "consume 1", "consume 1 last=1 reject 5c1:a why"},
         {"page d older=60000", "page d older=60000"},
         60000,
         {{"OK 9940000...", "OK 10000000..."},
          {"OK 6400000...", "OK 6460000..."},
          {"OK 10060000...", "OK 10120000..."},
          {"OK 13600000...", "OK 13660000..."}}},
    };

    fixture_store_compactly(*state);
    RUN_TIMES(state, times);
}

/* These keys end by the clock of Redis itself. */
static void test_a_tombstone_goes_with_the_clock_of_redis(void **state)
{
    static const char *const given[] = {"open m", "slot_seal n deletion=1", "slot_clear 100",
                                        "slot_forget 1 tombstone{x} 3600000 ''"};
    static const char *const ends[STEPS] = {"7260000", "10800000", "3540000", "0"};
    static const char *const seen[STEPS] = {"GONE", "GONE", "GONE", "OK 1"};

    for (size_t step = 0; step < STEPS; step++) {
        char command[COMMAND_SIZE];

        for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
            run_row(*state, given[i], "OK...");
        }
        snprintf(command, sizeof(command), "redis PEXPIRE tombstone{x} %s", ends[step]);
        run_row(*state, command, "1");
        run_row(*state, "slot_open m 0 tombstone=tombstone{x}", seen[step]);
    }
}

static void test_who_sleeps_is_woken_whatever_the_clock_does(void **state)
{
    static const struct stored_time times[] = {
        {"until a message is due, and another is sent",
         {"open m", "takeover 1", "listen", "send a +30000", "consume 1", "woken"},
         {"send b +0", "woken"},
         0,
         {{"OK a", "1"}, {"OK a", "1"}, {"OK a", "0"}, {"OK a", "0"}}},
        {"without an end",
         {"open m", "takeover 1", "listen", "consume 1", "woken"},
         {"send b +0", "woken"},
         0,
         {{"OK a", "1"}, {"OK a", "1"}, {"OK a", "1"}, {"OK a", "1"}}},
        {"a push is not answered",
         {"open m", "takeover 1", "listen", "consume 1 open=1", "send a +0", "woken"},
         {"send b +0", "woken"},
         0,
         {{"OK a", "1"}, {"OK a", "1"}, {"OK a", "1"}, {"OK a", "1"}}},
        {"a sharer",
         {"open m shared", "listen", "send a +30000", "consume shared", "woken"},
         {"send b +0", "woken"},
         0,
         {{"OK a", "1"}, {"OK a", "1"}, {"OK a", "1"}, {"OK a", "1"}}},
    };

    RUN_TIMES(state, times);
    fixture_listen(*state, false);
}

TEST_GROUP(clock_steps)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lease_of_a_shared_topic_lasts_no_longer),
        cmocka_unit_test(test_a_lease_of_a_former_owner_keeps_its_key_no_longer),
        cmocka_unit_test(test_a_lease_of_a_topic_lasts_no_longer),
        cmocka_unit_test(test_a_lease_of_an_owner_is_known_after_a_step),
        cmocka_unit_test(test_rests_and_due_times_go_with_the_clock),
        cmocka_unit_test(test_what_a_slot_remembers_goes_with_the_clock),
        cmocka_unit_test(test_a_tombstone_goes_with_the_clock_of_redis),
        cmocka_unit_test(test_who_sleeps_is_woken_whatever_the_clock_does),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
