/* test_topic.c - the topic script: a definition is created, used, deleted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "play.h"

/* A topic that is ready, at 1000. */
static void given_a_topic(void **state)
{
    fixture_flush(*state);
    PLAY(state, {"topic create slots=4 n", "OK creating slots=4 n 1 1"}, {"topic ready n", "OK"},
         {"at 1000", ""});
}

static void test_a_create_is_finished_by_ready(void **state)
{
    fixture_flush(*state);
    PLAY(state, {"topic create slots=4 n", "OK creating slots=4 n 1 1"},
         /* repeated, or by somebody else: what is stored */
         {"topic create slots=8 m", "OK creating slots=4 n 1 1"}, {"topic ready m", "NO_TOPIC"},
         {"topic ready n", "OK"}, {"topic ready n", "OK"},
         {"topic create slots=4 o", "OK ready slots=4 n 1 1"},
         {"topic", "definition=slots=4 generation=1 nonce=n state=ready version=1"});
}

static void test_nothing_is_there(void **state)
{
    fixture_flush(*state);
    PLAY(state, {"topic ready n", "NO_TOPIC"}, {"topic delete", "NO_TOPIC"},
         {"topic bind n zk", "NO_TOPIC"}, {"topic removed n", "OK"}, {"topic", ""});
}

static void test_the_first_consumer_binds_the_fleet(void **state)
{
    given_a_topic(state);
    PLAY(state, {"topic bind n zookeeper:/slotmq", "OK 1"},
         {"topic bind n zookeeper:/slotmq", "OK 1"},
         {"topic bind n standalone", "OTHER_FLEET zookeeper:/slotmq"},
         {"topic bind m zookeeper:/slotmq", "NO_TOPIC"}, {"topic delete", "OK n slots=4"},
         {"topic bind n zookeeper:/slotmq", "DELETING"});
}

static void test_a_rebind_raises_the_generation(void **state)
{
    given_a_topic(state);
    PLAY(state, {"topic bind n standalone", "OK 1"},
         {"topic rebind n zookeeper:/slotmq 0 0", "OK 2"},
         {"topic bind n standalone", "OTHER_FLEET zookeeper:/slotmq"},
         {"topic bind n zookeeper:/slotmq", "OK 2"},
         {"topic rebind n standalone 7 0", "OK 8"}, /* a slot has a token of generation 7 */
         {"topic rebind n standalone 3 0", "OK 9"}, /* the same again: still a new generation */
         {"topic rebind m standalone 0 1", "NO_TOPIC"}, {"topic delete", "OK n slots=4"},
         {"topic rebind n standalone 0 1", "DELETING"}, {"topic removed n", "OK"},
         {"topic rebind n standalone 0 1", "NO_TOPIC"}, {"topic", "generation=9"});
}

static void test_a_rebind_ends_the_lease(void **state)
{
    given_a_topic(state);
    PLAY(state, {"topic bind n standalone", "OK 1"}, {"lease acquire n me 15000", "OK 1 1 15000"},
         {"at 2000", ""}, {"topic rebind n zookeeper:/slotmq 0 0", "HELD me 14000"},
         {"topic bind n standalone", "OK 1"}, {"topic rebind n zookeeper:/slotmq 0 1", "OK 2"},
         {"lease renew n me 15000", "HELD '' 0"},
         {"lease acquire n me 15000", "OTHER_FLEET zookeeper:/slotmq"},
         {"topic rebind n standalone 0 0", "OK 3"}, {"lease acquire n me 15000", "OK 3 2 15000"},
         {"at 17000", ""}, {"topic rebind n standalone 0 0", "OK 4"}); /* it is over */
}

static void test_a_delete_is_finished_by_removed(void **state)
{
    given_a_topic(state);
    PLAY(state, {"topic bind n standalone", "OK 1"}, {"lease acquire n me 15000", "OK 1 1 15000"},
         {"topic removed n", "NO_TOPIC"}, /* nobody deletes it */
         {"topic delete", "OK n slots=4"}, {"topic delete", "OK n slots=4"},
         {"topic create slots=4 m", "OK deleting slots=4 n 1 1"}, {"topic removed n", "OK"},
         {"topic removed n", "OK"}, {"topic", "generation=1 lease_epoch=1"});
}

static void test_altered_by_one_at_a_time(void **state)
{
    given_a_topic(state);
    PLAY(state, {"topic alter n 1 slots=5", "OK 2"}, {"topic alter n 1 slots=5", "OK 2"},
         {"topic alter n 1 slots=6", "CHANGED"}, {"topic alter n 3 slots=6", "CHANGED"},
         {"topic alter n 2 slots=6", "OK 3"}, {"topic alter m 3 slots=7", "NO_TOPIC"},
         {"topic", "definition=slots=6 generation=1 nonce=n state=ready version=3"},
         {"topic delete", "OK n slots=6"}, {"topic alter n 3 slots=7", "DELETING"},
         {"topic removed n", "OK"}, {"topic alter n 3 slots=7", "NO_TOPIC"});
    fixture_flush(*state);
    PLAY(state, {"topic create slots=4 n", "OK creating slots=4 n 1 1"},
         {"topic alter n 1 slots=5", "NO_TOPIC"}, {"topic pause n 1", "NO_TOPIC"});
}

static void test_paused_until_resumed_or_deleted(void **state)
{
    given_a_topic(state);
    PLAY(state, {"topic pause n 1", "OK"}, {"topic pause n 1", "OK"},
         {"topic", "definition=slots=4 generation=1 nonce=n paused=1 state=ready version=1"},
         {"topic pause n 0", "OK"}, {"topic pause n 0", "OK"},
         {"topic", "definition=slots=4 generation=1 nonce=n state=ready version=1"},
         {"topic pause m 1", "NO_TOPIC"}, {"topic pause n 1", "OK"}, {"topic delete", NULL},
         {"topic pause n 0", "DELETING"}, {"topic removed n", "OK"}, {"topic", "generation=1"});
}

static void test_a_refused_delete_is_taken_back(void **state)
{
    given_a_topic(state);
    PLAY(state, {"topic delete", "OK n slots=4"}, {"topic ready n", "OK"},
         {"topic removed n", "NO_TOPIC"}, {"topic create slots=4 m", "OK ready slots=4 n 1 1"});
}

static void test_tokens_grow_across_creations(void **state)
{
    given_a_topic(state);
    PLAY(state, {"lease acquire n me 15000", "OK 1 1 15000"}, {"topic delete", "OK n slots=4"},
         {"topic removed n", "OK"}, {"topic create slots=2 m", "OK creating slots=2 m 1 2"},
         {"topic ready m", "OK"}, {"topic removed n", "OK"}, /* late: that creation is gone */
         {"topic ready n", "NO_TOPIC"}, {"lease acquire m me 15000", "OK 2 2 15000"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_create_is_finished_by_ready),
        cmocka_unit_test(test_nothing_is_there),
        cmocka_unit_test(test_the_first_consumer_binds_the_fleet),
        cmocka_unit_test(test_a_rebind_raises_the_generation),
        cmocka_unit_test(test_a_rebind_ends_the_lease),
        cmocka_unit_test(test_a_delete_is_finished_by_removed),
        cmocka_unit_test(test_altered_by_one_at_a_time),
        cmocka_unit_test(test_paused_until_resumed_or_deleted),
        cmocka_unit_test(test_a_refused_delete_is_taken_back),
        cmocka_unit_test(test_tokens_grow_across_creations),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
