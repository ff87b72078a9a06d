/* test_fifo.c - kind f: the order of sends, also across failures. */
#include "script_table.h"
#include "support/group.h"

/* clang-format off */
#define OPENED                                               \
    {"open f keyed", "OK"},                                  \
    {"takeover 1", "OK 0 0 0"},                              \
    {"at 1000", ""},                                         \
    {"send c 0 1 '' '' a 0 2 '' '' b 0 3 '' ''", "OK aaa"}
/* The same messages, all with the key k. */
#define OPENED_ONE_KEY                                       \
    {"open f keyed", "OK"},                                  \
    {"takeover 1", "OK 0 0 0"},                              \
    {"at 1000", ""},                                         \
    {"send !1:kc 0 1 '' '' !1:ka 0 2 '' '' !1:kb 0 3 '' ''", "OK aaa"}
/* clang-format on */

#define WHOLE(key, last) "!w," key "0000000003e80000000000000000000" last

static void test_messages_come_in_the_order_of_sends(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"store", "c@1 a@2 b@3"},
        {"at 1001", ""},
        {"send c 0 4 '' ''", "OK m"},
        {"store", "c@1 a@2 b@3"},
        {"consume 1", "OK 1001 31001 1 '' 0 1c1:c 0 1000 4 2c1:a 0 1000 2 3c1:b 0 1000 3"},
        {"send c 0 5 '' ''", "OK a"},
        {"store", "c@4"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_failure_without_back_off_comes_again_first(void **state)
{
    static const struct script_row rows[] = {
        OPENED_ONE_KEY,
        {"consume 1 n=1", NULL},
        {"send !1:kc 0 4 '' ''", "OK a"},
        {"consume 1 last=1 retry 1c1:!1:kc 0 why", "OK 1000 31000 2 1 0 1c2:!1:kc 2 1000,,,2 4"},
        {"consume 1 last=2 done 1c2:!1:kc",
         "OK 1000 31000 3 1 0 2c3:!1:ka 0 1000 2 3c3:!1:kb 0 1000 3 4c3:!1:kc 0 1000 4"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_first_sent_of_two_failures_is_first(void **state)
{
    static const struct script_row rows[] = {
        OPENED_ONE_KEY,
        {"consume 1 n=2", NULL},
        {"consume 1 last=1 retry 1c1:!1:kc 500 why retry 2c1:!1:ka 100 why", "OK 1000 1500 1 11 0"},
        {"at 1200", ""},
        {"consume 1 last=1", "OK 1200 1500 1 '' 0"},
        {"at 1500", ""},
        {"consume 1 last=1", "OK 1500 31500 2 '' 0 1c2:!1:kc 2 1000 1"},
        {"consume 1 last=2 done 1c2:!1:kc", "OK 1500 31500 3 1 0 2c3:!1:ka 2 1000 2"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_others_pass_when_the_topic_says_so(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=1", NULL},
        {"consume 1 last=1 n=1 flags=s retry 1c1:c 500 why", "OK 1000 1000 2 1 1 2c2:a 0 1000 2"},
        {"consume 1 last=2 n=0 flags=s done 2c2:a", "OK 1000 1000 2 1 1"},
        {"at 1500", ""},
        {"consume 1 last=2 flags=s", "OK 1500 31500 3 '' 0 1c3:c 2 1000 1 3c3:b 0 1000 3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_dead_message_blocks_no_longer(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=1", NULL},
        {"consume 1 last=1 n=1 max=0 retry 1c1:c 500 why", "OK 1000 1000 2 1 1 2c2:a 0 1000 2"},
        {"dead", "1d:c@1000"},
        {"edit requeue 1d:c", "OK 1"},
        {"store", "c@1 b@3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_lost_claim_keeps_its_place(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=2", NULL},
        {"send c 0 4 '' ''", "OK a"},
        {"takeover 2", "OK 1 2 0"},
        {"store", "c@1~0s a@2~0s b@3"},
        {"field merged", "1"},
        {"consume 2 last=1", "OK 1000 31000 2 '' 0 1c2:c 1 1000 4"},
        {"consume 2 last=2 done 1c2:c", "OK 1000 31000 3 1 0 2c3:a 1 1000 2"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Places are numbers: 10 comes behind 9. */
static void test_a_lost_reply_comes_again_in_the_order_of_sends(void **state)
{
    static const struct script_row rows[] = {
        {"open f", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0", "OK aaaaaaaaaa"},
        {"consume 1", NULL},
        {"consume 1 last=0",
         "OK 1000 31000 1 '' 1 1c1:a 0 2c1:b 0 3c1:c 0 4c1:d 0 5c1:e 0 6c1:f 0 7c1:g 0 8c1:h 0"
         " 9c1:i 0 10c1:j 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_released_message_keeps_its_place(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=2", NULL},
        {"consume 1 n=0 last=1 release 1c1:c 0 release 2c1:a 0", "OK 1000 1000 1 11 1"},
        {"store", "c@1 a@2 b@3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_rest_that_expires_lets_others_go_on(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 1 '' 100 b 0 2 '' ''", "OK aa"},
        {"consume 1 n=1", NULL},
        {"consume 1 n=0 last=1 retry 1c1:a 500 why", NULL},
        {"at 1500", ""},
        {"consume 1 last=1", "OK 1500 1500 2 '' 1 2c2:b 0 1000 2 1"},
        {"field expired", "1"},
        {"prepare", "2c2:b@31500"},
        {"body", "bb=2 hb=1000"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

/* The topic let others pass a suspect that rests, and was altered. */
static void test_a_suspect_whose_rest_is_over_blocks_until_it_can_be_claimed(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=1", NULL},
        {"consume 1 n=0 last=1 hung 1c1:c 0", NULL},
        {"consume 1 last=1", "OK 1000 31000 2 '' 0 1c2:c 1 1000 1"},
        {"consume 1 n=1 last=2 flags=s release 1c2:c 10", "OK 1000 1000 3 1 1 2c3:a 0 1000 2"},
        {"at 1010", ""},
        {"consume 1 last=3", "OK 1010 31000 3 '' 0"},
        {"consume 1 last=3 done 2c3:a", "OK 1010 31010 4 1 0 1c4:c 1 1000 1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_suspect_that_rests_lets_no_later_rest_pass(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=1", NULL},
        {"consume 1 n=0 last=1 hung 1c1:c 0", NULL},
        {"consume 1 last=1", NULL},
        {"consume 1 n=2 last=2 flags=s release 1c2:c 10",
         "OK 1000 1010 3 1 0 2c3:a 0 1000 2 3c3:b 0 1000 3"},
        {"consume 1 n=0 last=3 retry 2c3:a 10 why", NULL},
        {"at 1010", ""},
        {"consume 1 last=3", "OK 1010 31000 3 '' 0"},
        {"prepare", "3c3:b@31000 1r2:c@17592186045426~0s 2r3:a@17592186045426~1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Answers of a batch: nothing came of 2, and 3 failed. */
static void test_what_was_sent_before_a_failure_passes_it(void **state)
{
    static const struct script_row rows[] = {
        OPENED_ONE_KEY,
        {"consume 1", NULL},
        {"consume 1 last=1 done 1c1:!1:kc retry 3c1:!1:kb 500 why release 2c1:!1:ka 0",
         "OK 1000 1500 2 111 0 2c2:!1:ka 0 1000 2"},
        {"at 1500", ""},
        {"consume 1 last=2 n=0 release 2c2:!1:ka 0", "OK 1500 1500 2 1 1"},
        {"consume 1 last=2", "OK 1500 31500 3 '' 0 2c3:!1:ka 0 1000 2 3c3:!1:kb 2 1000 3"},
        {"consume 1 last=3", "OK 1500 31500 3 '' 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_rests_count_for_the_size_of_a_claim(void **state)
{
    static const struct script_row rows[] = {
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 0123456789 '' '' b 0 0123456789 '' '' c 0 1 '' ''", "OK aaa"},
        {"consume 1 flags=s n=2", NULL},
        {"consume 1 flags=s bytes=20 last=1 retry 1c1:a 0 why retry 2c1:b 0 why",
         "OK 1000 1000 2 11 1 1c2:a 2 1000 0123456789"},
        {"consume 1 flags=s bytes=12 last=2", "OK 1000 1000 3 '' 1 2c3:b 2 1000 0123456789"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_skipped_rest_ends_in_time(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=2 flags=s", NULL},
        {"consume 1 n=1 last=1 flags=s retry 1c1:c 500 why retry 2c1:a 0 why",
         "OK 1000 1000 2 11 1 2c2:a 2 1000 2"},
        {"consume 1 last=2 flags=s done 2c2:a", "OK 1000 1500 3 1 0 3c3:b 0 1000 3"},
        {"consume 1 n=0 last=3 flags=s done 3c3:b", "OK 1000 1500 3 1 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_failure_holds_back_its_key_only(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=1", NULL},
        {"send c 0 4 '' ''", "OK a"},
        {"consume 1 last=1 retry 1c1:c 500 why",
         "OK 1000 1500 2 1 0 2c2:a 0 1000 2 3c2:b 0 1000 3"},
        {"store", "c@4"},
        {"field passed", "4:4:1:c"}, /* no call looks at it again */
        {"consume 1 last=2", "OK 1000 1500 2 '' 0"},
        {"field parked", "1500"},
        {"at 1500", ""},
        {"consume 1 last=2", "OK 1500 31000 3 '' 0 1c3:c 2 1000,,,2 4"},
        {"consume 1 last=3", "OK 1500 31000 3 '' 0"}, /* the key has a failure in work */
        {"consume 1 last=3 retried-done 1c3:c 0", "OK 1500 31000 4 1 0 4c4:c 0 1000 4"},
        {"field passed", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Its key is in the member, or is its id. */
static void test_a_whole_message_holds_back_its_key(void **state)
{
    static const struct script_row rows[] = {
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"whole " WHOLE(",1:k", "a") " 0 " WHOLE(",0:", "b") " 0", "OK aa"},
        {"send !1:kc 0 3 '' '' d 0 4 '' ''", "OK aa"},
        {"whole " WHOLE(",0:", "c") " 0", "OK a"},
        {"consume 1 n=2", NULL},
        {"consume 1 n=9 last=1 retry 1c1:" WHOLE(",1:k", "a") " 500 why retry 2c1:" WHOLE(
             ",0:", "b") " 500 why",
         "OK 1000 1500 2 11 0 4c2:d 0 1000 4 5c2:" WHOLE(",0:", "c") " 0 '' ''"},
        {"store", "!1:kc@3"},
        {"field passed", "3:3:1:k"},
        {"at 1500", ""},
        {"consume 1 n=9 last=2", "OK 1500 31000 3 '' 0 1c3:" WHOLE(
                                     ",1:k", "a") " 2 '' '' 2c3:" WHOLE(",0:", "b") " 2 '' ''"},
        {"consume 1 n=9 last=3 retried-done 1c3:" WHOLE(",1:k", "a") " 0",
         "OK 1500 31000 4 1 0 3c4:!1:kc 0 1000 3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_is_given_back_is_found(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=2", NULL},
        {"send c 0 4 '' ''", "OK a"},
        {"consume 1 n=1 last=1 retry 1c1:c 500 why", "OK 1000 1500 2 1 0 3c2:b 0 1000 3"},
        {"consume 1 last=2", "OK 1000 1500 2 '' 0"},
        {"field passed", "4:4:1:c"},
        {"consume 1 last=2 release 2c1:a 0", "OK 1000 1500 3 1 0 2c3:a 0 1000 2"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_suspect_is_alone_in_its_slot(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=1", NULL},
        {"consume 1 n=1 last=1 hung 1c1:c 0", "OK 1000 31000 2 1 0 1c2:c 1 1000 1"},
        {"consume 1 last=2", "OK 1000 31000 2 '' 0"},
        {"consume 1 n=1 last=2 done 1c2:c", "OK 1000 1000 3 1 1 2c3:a 0 1000 2"},
        {"consume 1 last=3 passes=1:b", "OK 1000 31000 3 '' 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_suspect_of_a_key_that_is_passed_over_stops_no_claim(void **state)
{
    static const struct script_row rows[] = {
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 1 '' '' b 0 2 '' ''", "OK aa"},
        {"consume 1 n=1", "OK 1000 1000 1 '' 1 1c1:a 0 1000 1"},
        {"takeover 2", "OK 1 1 0"},
        {"consume 2 n=1 last=1 passes=1:a", "OK 1000 31000 2 '' 0 2c2:b 0 1000 2"},
        {"send c 0 3 '' ''", "OK a"},
        {"consume 2 last=2 passes=1:a", "OK 1000 31000 3 '' 0 3c3:c 0 1000 3"},
        {"consume 2 last=3", "OK 1000 31000 3 '' 0"},
        {"consume 2 last=3 done 2c2:b done 3c3:c", "OK 1000 31000 4 11 0 1c4:a 1 1000 1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_rest_ends_before_a_suspect_that_waits_behind_it(void **state)
{
    static const struct script_row rows[] = {
        OPENED,
        {"consume 1 n=1", NULL},
        {"consume 1 n=1 last=1 retry 1c1:c 500 why", "OK 1000 1000 2 1 1 2c2:a 0 1000 2"},
        {"consume 1 n=1 last=2", "OK 1000 1500 3 '' 0 3c3:b 0 1000 3"},
        {"consume 1 n=0 last=3 hung 3c3:b 0", "OK 1000 1500 3 1 0"},
        {"consume 1 last=3", "OK 1000 1500 3 '' 0"},
        {"field parked", "1500"},
        {"at 1500", ""},
        {"consume 1 last=3", "OK 1500 31000 4 '' 0 1c4:c 2 1000 1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* The first expires where it rests, and the next of its key comes before the suspect. */
static void test_what_a_rest_held_is_claimed_before_a_suspect(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send !1:ka 0 1 '' 100 !1:kb 0 2 '' '' y 0 3 '' '' x 0 4 '' ''", "OK aaaa"},
        {"consume 1 n=1", NULL},
        {"consume 1 n=2 last=1 retry 1c1:!1:ka 500 why",
         "OK 1000 1500 2 1 0 3c2:y 0 1000 3 4c2:x 0 1000 4"},
        {"consume 1 n=0 last=2 hung 3c2:y 0", NULL},
        {"at 1500", ""},
        {"consume 1 last=2", "OK 1500 1500 2 '' 1 1"},
        {"consume 1 last=2", "OK 1500 31000 3 '' 0 2c3:!1:kb 0 1000 2"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(fifo)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_come_in_the_order_of_sends),
        cmocka_unit_test(test_a_failure_without_back_off_comes_again_first),
        cmocka_unit_test(test_the_first_sent_of_two_failures_is_first),
        cmocka_unit_test(test_others_pass_when_the_topic_says_so),
        cmocka_unit_test(test_a_dead_message_blocks_no_longer),
        cmocka_unit_test(test_a_lost_claim_keeps_its_place),
        cmocka_unit_test(test_a_lost_reply_comes_again_in_the_order_of_sends),
        cmocka_unit_test(test_a_released_message_keeps_its_place),
        cmocka_unit_test(test_a_rest_that_expires_lets_others_go_on),
        cmocka_unit_test(test_a_suspect_whose_rest_is_over_blocks_until_it_can_be_claimed),
        cmocka_unit_test(test_a_suspect_that_rests_lets_no_later_rest_pass),
        cmocka_unit_test(test_what_was_sent_before_a_failure_passes_it),
        cmocka_unit_test(test_rests_count_for_the_size_of_a_claim),
        cmocka_unit_test(test_a_skipped_rest_ends_in_time),
        cmocka_unit_test(test_a_failure_holds_back_its_key_only),
        cmocka_unit_test(test_a_whole_message_holds_back_its_key),
        cmocka_unit_test(test_what_is_given_back_is_found),
        cmocka_unit_test(test_a_suspect_is_alone_in_its_slot),
        cmocka_unit_test(test_a_suspect_of_a_key_that_is_passed_over_stops_no_claim),
        cmocka_unit_test(test_a_rest_ends_before_a_suspect_that_waits_behind_it),
        cmocka_unit_test(test_what_a_rest_held_is_claimed_before_a_suspect),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
