/* test_topic.c - the topic script: a definition is created, used, deleted, repaired. */
#include <stdio.h>

#include "script_table.h"
#include "support/group.h"

/* A topic that is ready, at 1000. */
static void given_a_topic(void **state)
{
    static const struct script_row rows[] = {
        {"topic create slots=4 n 0 0 0", "OK creating slots=4 n 1 1"},
        {"topic ready n", "OK"},
        {"at 1000", ""},
    };

    fixture_flush(*state);
    SCRIPT_TABLE(state, rows);
}

static void test_a_create_is_finished_by_ready(void **state)
{
    static const struct script_row rows[] = {
        {"topic create slots=4 n 0 0 0", "OK creating slots=4 n 1 1"},
        /* repeated, or by another caller: what is stored */
        {"topic create slots=8 m 0 0 0", "OK creating slots=4 n 1 1"},
        {"topic ready m", "NO_TOPIC"},
        {"topic ready n", "OK"},
        {"topic ready n", "OK"},
        {"topic create slots=4 o 0 0 0", "OK ready slots=4 n 1 1"},
        {"topic", "definition=slots=4 generation=1 nonce=n state=ready version=1"},
    };

    fixture_flush(*state);
    SCRIPT_TABLE(state, rows);
}

static void test_nothing_is_there(void **state)
{
    static const struct script_row rows[] = {
        {"topic ready n", "NO_TOPIC"},
        {"topic delete n 0 a", "NO_TOPIC"},
        {"topic bind n zk", "NO_TOPIC"},
        {"topic removed n 1", "OK"},
        {"topic keep n 1", "NO_TOPIC"},
        {"topic undone n", "OK"},
        {"topic", ""},
    };

    fixture_flush(*state);
    SCRIPT_TABLE(state, rows);
}

static void test_a_creation_that_cannot_be_finished_leaves_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"topic create slots=4 n 0 0 0", NULL},
        {"topic undone m", "OK"},
        {"redis HGET topic{x} state", "creating"},
        {"topic undone n", "OK"},
        {"topic undone n", "OK"},
        {"redis EXISTS topic{x}", "0"},
        /* what must never go back stays */
        {"topic create slots=4 n 0 0 0", NULL},
        {"topic ready n", "OK"},
        {"topic undone n", "OK"},
        {"topic delete n 0 a", "OK 1"},
        {"topic removed n 1", "OK"},
        {"topic create slots=4 m 1 0 0", "OK creating slots=4 m 1 2"},
        {"topic undone m", "OK"},
        {"topic", "deletes=1 generation=2"},
    };

    fixture_flush(*state);
    SCRIPT_TABLE(state, rows);
}

/* Of a process of version 0.2 without ZooKeeper, as its script wrote it at 1000, for 15 s. */
#define AN_OLD_LEASE                                                                               \
    "redis HSET topic{x} lease_owner me lease_until 16000 lease_at 1000 lease_epoch 1"

static void test_the_first_consumer_binds_the_fleet(void **state)
{
    static const struct script_row rows[] = {
        {"topic bind n zookeeper:/slotmq", "OK 1 2"},
        {"topic bind n zookeeper:/slotmq", "OK 1 0"},
        {"topic bind n standalone", "OTHER_FLEET zookeeper:/slotmq"},
        {"topic bind m zookeeper:/slotmq", "NO_TOPIC"},
        {"topic delete n 0 a", "OK 1"},
        {"topic bind n zookeeper:/slotmq", "DELETING"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

/* As after a failover or a restart that has brought the topic back, but perhaps not its binding. */
static void test_a_server_that_was_another_cannot_know_who_was_first(void **state)
{
    static const struct script_row rows[] = {
        {"redis HSET topic{x} life another", "0"},
        {"topic bind n redis:/slotmq", "OK 1 1"},
        {"topic bind n redis:/slotmq", "OK 1 0"},
        {"redis HDEL topic{x} life coord", "2"}, /* by a version that did not note it */
        {"topic bind n redis:/slotmq", "OK 1 1"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_a_rebind_raises_the_generation(void **state)
{
    static const struct script_row rows[] = {
        {"topic bind n standalone", "OK 1 2"},
        {"topic rebind n zookeeper:/slotmq 0 0", "OK 2"},
        {"topic bind n standalone", "OTHER_FLEET zookeeper:/slotmq"},
        {"topic bind n zookeeper:/slotmq", "OK 2 0"},
        {"topic rebind n standalone 7 0", "OK 8"}, /* a slot has a token of generation 7 */
        {"topic rebind n standalone 3 0", "OK 9"}, /* the same again: still a new generation */
        {"topic rebind m standalone 0 1", "NO_TOPIC"},
        {"topic delete n 0 a", "OK 1"},
        {"topic rebind n standalone 0 1", "DELETING"},
        {"topic removed n 1", "OK"},
        {"topic rebind n standalone 0 1", "NO_TOPIC"},
        {"topic", "deletes=1 generation=9"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

/* The same fleet under another identity: no new generation, so its members continue. */
static void test_a_topic_follows_its_fleet(void **state)
{
    static const struct script_row rows[] = {
        {"topic follow n z:1 z:2", "OTHER_FLEET ''"},
        {"topic bind n z:1", "OK 1 2"},
        {"topic follow n z:1 z:2", "OK"},
        {"topic follow n z:1 z:2", "OK"}, /* a repeat */
        {"topic bind n z:2", "OK 1 0"},
        {"topic bind n z:1", "OTHER_FLEET z:2"},
        {"topic follow n z:3 z:4", "OTHER_FLEET z:2"},
        {"topic follow m z:2 z:3", "NO_TOPIC"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_a_rebind_ends_the_lease(void **state)
{
    static const struct script_row rows[] = {
        {"topic bind n standalone", "OK 1 2"},
        {AN_OLD_LEASE, "4"},
        {"at 2000", ""},
        {"topic rebind n zookeeper:/slotmq 0 0", "HELD me 14000"},
        {"topic bind n standalone", "OK 1 0"},
        {"topic rebind n zookeeper:/slotmq 0 1", "OK 2"},
        {"redis HMGET topic{x} lease_owner lease_until", "'' 0"},
        {"topic rebind n standalone 0 0", "OK 3"},
        {AN_OLD_LEASE, "0"},
        {"at 17000", ""},
        {"topic rebind n standalone 0 0", "OK 4"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows); /* it has ended */
}

/* One script binds the topic and ends the lease, which its owner cannot renew then. */
static void test_a_fleet_in_redis_succeeds_a_lease_that_has_ended(void **state)
{
    static const struct script_row rows[] = {
        {"topic bind n standalone", "OK 1 2"},
        {AN_OLD_LEASE, "4"},
        {"at 2000", ""},
        {"topic bind n redis:/slotmq 1", "HELD me 14000"},
        {"topic bind n redis:/slotmq 0", "OTHER_FLEET standalone"}, /* of who consumes already */
        {"topic bind n zookeeper:/slotmq 1", "OTHER_FLEET standalone"},
        {"at 16000", ""},
        {"topic bind n redis:/slotmq 0", "OTHER_FLEET standalone"},
        {"topic bind n redis:/slotmq 1", "OK 2 1"},
        {"topic bind n redis:/slotmq 1", "OK 2 0"},
        {"redis HMGET topic{x} lease_owner lease_until", "'' 0"},
        {"topic rebind n standalone 0 0", "OK 3"}, /* the way back */
        {"topic bind n redis:/slotmq 0", "OTHER_FLEET standalone"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_a_delete_is_finished_by_removed(void **state)
{
    static const struct script_row rows[] = {
        {"topic bind n standalone", "OK 1 2"},
        {AN_OLD_LEASE, "4"},
        {"topic removed n 1", "CHANGED"}, /* nobody deletes it */
        {"topic delete n 0 a", "OK 1"},
        {"topic delete n 0 a", "OK 1"},
        {"topic create slots=4 m 1 0 0", "OK deleting slots=4 n 1 1"},
        {"topic removed n 1", "OK"},
        {"topic removed n 1", "OK"},
        {"topic", "deletes=1 generation=1 lease_epoch=1"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

/* topic{x} was lost after earlier creations and deletions, of which the slots know. */
static void test_a_creation_passes_what_the_slots_have_seen(void **state)
{
    static const struct script_row rows[] = {
        {"topic create slots=4 n 0 5 3", "OK creating slots=4 n 1 6"},
        {"topic", "definition=slots=4 deletes=3 generation=6 nonce=n state=creating version=1"},
    };

    fixture_flush(*state);
    SCRIPT_TABLE(state, rows);
}

/* Each deletion has a number; only the last one may end it or take it back. */
static void test_two_deletions(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"topic delete n 0 a", "OK 1"},
        {"topic delete n 0 b", "CHANGED"},
        {"topic delete n 1 b", "OK 2"},
        {"topic keep n 1", "CHANGED"},
        {"topic removed n 1", "CHANGED"},
        {"topic ready n", "DELETING"},
        {"topic removed n 2", "OK"},
        {"topic", "deletes=2 generation=1"},
    };
    /* clang-format on */

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_late_calls_change_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"topic delete n 0 a", "OK 1"},
        {"topic keep n 1", "OK"},
        {"topic keep n 1", "OK"},
        /* the deletion once more, when it was taken back */
        {"topic delete n 0 a", "CHANGED"},
        {"topic delete n 1 b", "OK 2"},
        {"topic keep n 1", "CHANGED"},
        {"topic ready n", "DELETING"},
        {"topic removed n 2", "OK"},
        /* the creation, and the pause, once more, when the topic is gone */
        {"topic create slots=4 n 0 0 0", "CHANGED"},
        {"topic pause n 0 1", "NO_TOPIC"},
        {"topic create slots=4 m 1 0 0", "OK creating slots=4 m 1 2"},
        {"topic keep m 2", "CHANGED"},
        {"redis HGET topic{x} state", "creating"},
        {"topic ready m", "OK"},
        {"topic delete n 0 a", "NO_TOPIC"},
        {"topic keep n 1", "NO_TOPIC"},
        {"topic removed n 2", "OK"},
        {"topic pause m 0 1", "OK 1"},
        {"topic pause m 1 0", "OK 2"},
        {"topic pause m 0 1", "CHANGED"},
        {"topic pause m 1 1", "CHANGED"},
        {"topic pause m 1 0", "OK 2"},
        {"topic", "definition=slots=4 deletes=2 generation=2 nonce=m pauses=2 state=ready "
                  "version=1"},
        {"topic pause m 2 1", "OK 3"},
        {"topic pause m 0 1", "CHANGED"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_altered_by_one_at_a_time(void **state)
{
    static const struct script_row before[] = {
        {"topic alter n 1 slots=5", "OK 2"},
        {"topic alter n 1 slots=5", "OK 2"},
        {"topic alter n 1 slots=6", "CHANGED"},
        {"topic alter n 3 slots=6", "CHANGED"},
        {"topic alter n 2 slots=6", "OK 3"},
        {"topic alter n 1 slots=6", "CHANGED"},
        {"topic alter m 3 slots=7", "NO_TOPIC"},
        {"topic", "definition=slots=6 generation=1 nonce=n state=ready version=3"},
        {"topic delete n 0 a", "OK 1"},
        {"topic alter n 3 slots=7", "DELETING"},
        {"topic removed n 1", "OK"},
        {"topic alter n 3 slots=7", "NO_TOPIC"},
    };
    static const struct script_row after[] = {
        {"topic create slots=4 n 0 0 0", "OK creating slots=4 n 1 1"},
        {"topic alter n 1 slots=5", "NO_TOPIC"},
        {"topic pause n 0 1", "NO_TOPIC"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, before);
    fixture_flush(*state);
    SCRIPT_TABLE(state, after);
}

/* Alter the topic and its groups a and b, of which this many are new. */
static void alter_groups(void **state, int version, int added, const char *expected)
{
    char command[256];
    const struct script_row row = {command, expected};

    snprintf(command, sizeof(command),
             "redis EVALSHA %s 3 topic{x} topic.a{x} topic.b{x} alter n %d groups=a,b slots=4 %d",
             fixture_script("topic")->sha1, version, added);
    script_table_run(*state, &row, 1);
}

/* Another caller may be removing a group, new or not. */
static void test_altered_with_groups_that_stay(void **state)
{
    static const struct script_row made[] = {
        {"redis HSET topic.a{x} state ready nonce n version 1", NULL},
        {"redis HSET topic.b{x} state deleting nonce n version 1", NULL},
    };
    static const struct script_row stays[] = {
        {"topic", "definition=slots=4 generation=1 nonce=n state=ready version=1"},
        {"redis HMGET topic.a{x} version definition", "1 nil"},
        {"redis HSET topic.b{x} state ready nonce m", NULL},
    };
    static const struct script_row made_again[] = {
        {"topic", "definition=slots=4 generation=1 nonce=n state=ready version=1"},
        {"redis HSET topic.b{x} state ready nonce n", NULL},
    };
    static const struct script_row altered[] = {
        {"topic", "definition=groups=a,b generation=1 nonce=n state=ready version=2"},
        {"redis HMGET topic.a{x} version definition", "2 slots=4"},
        {"redis HMGET topic.b{x} version definition", "2 slots=4"},
        {"redis HSET topic.a{x} state deleting", NULL},
    };
    static const struct script_row lost[] = {
        {"topic", "definition=groups=a,b generation=1 nonce=n state=ready version=2"},
        {"redis DEL topic.a{x}", NULL},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, made);
    alter_groups(state, 1, 1, "CHANGED");
    SCRIPT_TABLE(state, stays);
    alter_groups(state, 1, 1, "CHANGED");
    SCRIPT_TABLE(state, made_again);
    alter_groups(state, 1, 1, "OK 2");
    SCRIPT_TABLE(state, altered);
    alter_groups(state, 1, 1, "OK 2"); /* a repeat */
    alter_groups(state, 2, 0, "CHANGED");
    SCRIPT_TABLE(state, lost);
    alter_groups(state, 2, 0, "OK 3"); /* a group that is lost stops no alteration */
}

static void test_paused_until_resumed_or_deleted(void **state)
{
    static const struct script_row rows[] = {
        {"topic pause n 0 0", "OK 0"},
        {"topic pause n 0 1", "OK 1"},
        {"topic pause n 0 1", "OK 1"},
        {"topic pause n 1 1", "OK 1"},
        {"topic",
         "definition=slots=4 generation=1 nonce=n paused=1 pauses=1 state=ready version=1"},
        {"topic pause n 1 0", "OK 2"},
        {"topic pause n 1 0", "OK 2"},
        {"topic", "definition=slots=4 generation=1 nonce=n pauses=2 state=ready version=1"},
        {"topic pause m 2 1", "NO_TOPIC"},
        {"topic pause n 2 1", "OK 3"},
        {"topic delete n 0 a", NULL},
        {"topic pause n 3 0", "DELETING"},
        {"topic pause m 3 0", "NO_TOPIC"},
        {"topic removed n 1", "OK"},
        {"topic", "deletes=1 generation=1"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_a_refused_delete_is_taken_back(void **state)
{
    static const struct script_row rows[] = {
        {"topic delete n 0 a", "OK 1"},
        {"topic keep n 1", "OK"},
        {"topic removed n 1", "CHANGED"},
        {"topic create slots=4 m 1 0 0", "OK ready slots=4 n 1 1"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_generations_grow_across_creations(void **state)
{
    static const struct script_row rows[] = {
        {"topic delete n 0 a", "OK 1"},
        {"topic removed n 1", "OK"},
        {"topic create slots=2 m 1 0 0", "OK creating slots=2 m 1 2"},
        {"topic ready m", "OK"},
        {"topic removed n 1", "OK"}, /* late: that creation is gone */
        {"topic ready n", "NO_TOPIC"},
        {"topic bind m fleet", "OK 2 2"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

/* repair: nonce, definition, version, generation, pauses, paused, deletes; what is to be replaced;
 * what it is bound to. */
static void test_a_lost_definition_is_put_back(void **state)
{
    static const struct script_row rows[] = {
        {"topic repair n slots=4 3 2 5 1 7 0.0.0.0 ''", "OK"},
        {"topic repair n slots=4 3 2 5 1 7 0.0.0.0 ''", "OK"},
        {"topic", "definition=slots=4 deletes=7 generation=2 nonce=n paused=1 pauses=5 "
                  "state=ready version=3"},
        {"topic repair m slots=4 3 2 5 1 7 3.2.5.7 ''", "CHANGED"},
        {"topic repair n slots=5 4 2 6 0 7 2.2.5.7 ''", "CHANGED"},
        {"topic repair n slots=5 4 2 6 0 7 3.1.5.7 ''", "CHANGED"},
        {"topic repair n slots=5 4 2 6 0 7 3.2.4.7 ''", "CHANGED"},
        {"topic repair n slots=5 4 2 6 0 7 3.2.5.6 ''", "CHANGED"},
        {"topic repair n slots=5 4 2 6 0 7 3.2.5.7 ''", "OK"},
        {"topic", "definition=slots=5 deletes=7 generation=2 nonce=n pauses=6 state=ready "
                  "version=4"},
        {"topic delete n 7 a", "OK 8"},
        {"topic repair n slots=6 5 3 6 0 8 4.2.6.8 ''", "CHANGED"},
        {"topic removed n 8", "OK"},
        /* late: the topic was deleted since */
        {"topic repair n slots=4 3 2 5 1 7 0.0.0.0 ''", "CHANGED"},
        {"topic create slots=2 m 2 0 0", NULL},
        {"topic repair m slots=6 5 3 6 0 8 1.3.0.8 ''", "CHANGED"},
    };

    fixture_flush(*state);
    SCRIPT_TABLE(state, rows);
}

static void test_what_it_was_bound_to_is_put_back(void **state)
{
    static const struct script_row rows[] = {
        {"topic repair n slots=4 3 2 5 0 7 0.0.0.0 fleet", "OK"},
        {"topic repair n slots=4 3 2 5 0 7 0.0.0.0 fleet", "OK"},
        {"topic bind n other", "OTHER_FLEET fleet"},
        {"topic bind n fleet", "OK 2 0"},
        /* nobody had to be asked */
        {"topic repair n slots=5 4 2 6 0 7 3.2.5.7 ''", "OK"},
        {"topic bind n other", "OTHER_FLEET fleet"},
    };

    fixture_flush(*state);
    SCRIPT_TABLE(state, rows);
}

/* Whoever looks doubts it first, and leaves those who use it time to mark it. */
static void test_a_topic_that_is_not_used_is_doubted_and_then_deleted(void **state)
{
    static const struct script_row rows[] = {
        {"topic used n 1100 200 1", "OK 1100"},
        {"at 1600", ""},
        {"topic used n 1100 200 0", "OK 500"},
        {"topic delete n 0 xa", "CHANGED"},
        {"topic used n 1100 200 1", "OK 1100"},
        {"at 2700", ""},
        {"topic delete n 0 xa", "CHANGED"}, /* nobody has doubted it */
        {"topic used n 1100 200 0", "OK 200"},
        {"at 2800", ""},
        {"topic used n 1100 200 0", "OK 100"},
        {"topic used n 1100 200 1", "OK 1100"}, /* a use ends the doubt */
        {"topic delete n 0 xa", "CHANGED"},
        {"at 4000", ""},
        {"topic used n 1100 200 0", "OK 200"},
        {"at 9000", ""},
        {"topic used n 1100 200 0", "OK 0"},
        {"topic used m 1100 200 0", "NO_TOPIC"},
        {"topic delete m 0 xa", "NO_TOPIC"},
        {"topic delete n 0 xa", "OK 1"},
        {"topic delete n 0 xa", "OK 1"},
        {"topic used n 1100 200 1", "DELETING"},
        {"topic delete n 1 xb", "OK 2"}, /* by another client, as the first one may have died */
        {"topic delete n 0 xa", "CHANGED"},
        {"topic removed n 2", "OK"},
        {"topic used n 1100 200 1", "NO_TOPIC"},
        {"topic", "deletes=2 generation=1"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_a_deletion_of_a_user_is_not_joined(void **state)
{
    static const struct script_row rows[] = {
        {"topic used n 1100 200 1", "OK 1100"},
        {"at 5000", ""},
        {"topic used n 1100 200 0", "OK 200"},
        {"topic delete n 0 a", "OK 1"},
        {"topic delete n 1 xa", "CHANGED"},
        {"topic keep n 1", "OK"},
        {"topic delete n 1 xa", "OK 2"},
        {"topic keep n 2", "OK"},
        /* a clock that goes back, and a mark that is lost */
        {"at 900", ""},
        {"topic used n 1100 200 0", "OK 1100"},
        {"redis HDEL topic{x} used", "1"},
        {"topic used n 1100 200 0", "OK 1100"},
        {"topic delete n 2 xa", "CHANGED"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

/* Who asks gets what is due, and nobody else until some time later. */
static void test_each_topic_that_is_due_is_given_to_one(void **state)
{
    static const struct script_row rows[] = {
        {"expiring due 60000 2", "OK"},
        {"expiring note a 100", "OK"},
        {"expiring note b 200", "OK"},
        {"expiring note c 200", "OK"},
        {"expiring note d 300", "OK"},
        {"expiring due 60000 2", "OK"},
        {"at 1200", ""},
        {"expiring due 60000 2", "OK a b"},
        {"expiring due 60000 2", "OK c"},
        {"expiring due 60000 2", "OK"},
        {"expiring note b 50", "OK"}, /* looked at */
        {"redis ZREM slotmq{expiring} a", "1"},
        {"at 1250", ""},
        {"expiring due 60000 2", "OK b"},
        {"at 61200", ""},
        {"expiring due 60000 9", "OK d c"},
    };

    fixture_flush(*state);
    fixture_set_time(*state, 1000);
    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(topic)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_create_is_finished_by_ready),
        cmocka_unit_test(test_nothing_is_there),
        cmocka_unit_test(test_a_creation_that_cannot_be_finished_leaves_nothing),
        cmocka_unit_test(test_the_first_consumer_binds_the_fleet),
        cmocka_unit_test(test_a_server_that_was_another_cannot_know_who_was_first),
        cmocka_unit_test(test_a_rebind_raises_the_generation),
        cmocka_unit_test(test_a_topic_follows_its_fleet),
        cmocka_unit_test(test_a_rebind_ends_the_lease),
        cmocka_unit_test(test_a_fleet_in_redis_succeeds_a_lease_that_has_ended),
        cmocka_unit_test(test_a_delete_is_finished_by_removed),
        cmocka_unit_test(test_a_creation_passes_what_the_slots_have_seen),
        cmocka_unit_test(test_two_deletions),
        cmocka_unit_test(test_late_calls_change_nothing),
        cmocka_unit_test(test_altered_by_one_at_a_time),
        cmocka_unit_test(test_altered_with_groups_that_stay),
        cmocka_unit_test(test_paused_until_resumed_or_deleted),
        cmocka_unit_test(test_a_refused_delete_is_taken_back),
        cmocka_unit_test(test_generations_grow_across_creations),
        cmocka_unit_test(test_a_lost_definition_is_put_back),
        cmocka_unit_test(test_what_it_was_bound_to_is_put_back),
        cmocka_unit_test(test_a_topic_that_is_not_used_is_doubted_and_then_deleted),
        cmocka_unit_test(test_a_deletion_of_a_user_is_not_joined),
        cmocka_unit_test(test_each_topic_that_is_due_is_given_to_one),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
