/* test_leftovers.c - the keys of Redis that are left when a topic or a group is deleted, and the
 * nodes of ZooKeeper that are left of members, topics and clients. */
#include <stdio.h>
#include <string.h>

#include "integration/coord/raw.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 8, HOUR_MS = 3600000 };

/* All keys of all nodes, but for the tree of the fleet and those that go by themselves within an
 * hour; how many those are. */
static int64_t keys_left(int64_t *ending)
{
    int64_t left = 0;

    *ending = 0;
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        const struct server *node = servers_node(cluster_servers(), i);
        redisReply *keys = keys_command_at(node, "KEYS *");

        for (size_t k = 0; k < keys->elements; k++) {
            if (strncmp(keys->element[k]->str, "tree{", strlen("tree{")) == 0) {
                continue;
            }
            redisReply *ttl = keys_command_at(node, "PTTL %s", keys->element[k]->str);
            bool ends = ttl->integer >= 0 && ttl->integer <= HOUR_MS;

            if (!ends) {
                print_message("left: %s\n", keys->element[k]->str);
            }
            left += ends ? 0 : 1;
            *ending += ends ? 1 : 0;
            freeReplyObject(ttl);
        }
        freeReplyObject(keys);
    }
    return left;
}

/* One small key for each slot and one for the topic, which end. */
static void assert_tombstones(int64_t slots, int64_t topics)
{
    int64_t ending;

    assert_int_equal(keys_left(&ending), 0);
    assert_int_equal(ending, slots + topics);
}

static void create(const char *groups, smq_layout layout, bool shared)
{
    cluster_create_topic(client, &SMQ_TOPIC_OPTIONS(.name = "t", .type = SMQ_TYPE_FIXED_TIME,
                                                    .layout = layout, .slots = SLOTS,
                                                    .shared = shared, .groups = groups));
}

static void send_and_handle(const char *topic, const char *consumed)
{
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    messages_send_numbers(client, topic, 0, 40);
    worker = handler_log_worker(client, consumed, log);
    handler_log_await(log, 20);
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

static void delete_topic(const char *name)
{
    smq_error err;

    assert_ok(smq_topic_delete(client, name, true, &err), &err);
}

static void a_deleted_topic_leaves_what_ends(void **state)
{
    static const struct {
        smq_layout layout;
        bool shared;
    } cases[] = {{SMQ_LAYOUT_KEYED, false}, {SMQ_LAYOUT_INLINE, false}, {SMQ_LAYOUT_KEYED, true}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        create(NULL, cases[i].layout, cases[i].shared);
        send_and_handle("t", "t");
        delete_topic("t");
        assert_tombstones(SLOTS, 1);
    }
}

static void so_does_a_group_that_is_dropped(void **state)
{
    smq_error err;
    int64_t before, after, ending;

    create("a,b", SMQ_LAYOUT_KEYED, false);
    before = keys_left(&ending);
    for (int i = 0; i < 3; i++) {
        assert_ok(cluster_alter(client, "t", "groups", "a,b,c", &err), &err);
        send_and_handle("t", "t/c");
        delete_topic("t/c");
    }
    after = keys_left(&ending);
    assert_int_equal(after, before);
    assert_int_equal(ending, SLOTS + 1);
    delete_topic("t");
    assert_tombstones(INT64_C(3) * SLOTS, 3 + 1);
}

/* Its generation goes on, so calls of the deleted one that come late change nothing. */
static void a_topic_that_is_created_anew_goes_on_from_the_tombstone(void **state)
{
    char nonce[512], other[512];
    int64_t ending;

    create(NULL, SMQ_LAYOUT_KEYED, false);
    keys_text(nonce, "topic{t}", "HGET topic{t} nonce");
    delete_topic("t");
    create(NULL, SMQ_LAYOUT_KEYED, false);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} generation"), 2);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} deletes"), 1);
    assert_int_equal(keys_number("t_1", "HGET slot{t_1} sealed"), 1);
    assert_string_not_equal(keys_text(other, "topic{t}", "HGET topic{t} nonce"), nonce);
    send_and_handle("t", "t");
    delete_topic("t");
    assert_tombstones(SLOTS, 1);
    assert_string_equal(keys_text(other, "topic{t}", "GET tombstone{t}"), "2 2");
    assert_string_equal(keys_text(other, "t_1", "GET tombstone{t_1}"), "2 2");
    keys_flush();
    create(NULL, SMQ_LAYOUT_KEYED, false);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} generation"), 1);
    assert_true(keys_left(&ending) > 0);
}

/* Its node returned empty; the slots remember. */
static void so_does_one_whose_own_tombstone_is_lost(void **state)
{
    create(NULL, SMQ_LAYOUT_KEYED, false);
    delete_topic("t");
    create(NULL, SMQ_LAYOUT_KEYED, false);
    delete_topic("t");
    freeReplyObject(keys_command("topic{t}", "DEL tombstone{t}"));
    create(NULL, SMQ_LAYOUT_KEYED, false);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} generation"), 3);
    send_and_handle("t", "t");
}

/* A process hung before it opened this slot, and the topic was deleted since. */
static void a_late_call_makes_no_slot_again(void **state)
{
    smq_error err;
    int64_t ending;

    create(NULL, SMQ_LAYOUT_KEYED, false);
    delete_topic("t");
    assert_int_equal(smq_topic_repair(client, "t", NULL, &err), SMQ_NO_TOPIC);
    assert_int_equal(smq_topic_delete(client, "t", true, &err), SMQ_NO_TOPIC);
    assert_int_equal(cluster_alter(client, "t", "max_retries", "3", &err), SMQ_NO_TOPIC);
    assert_int_equal(keys_left(&ending), 0);
}

/* --- what earlier versions have left --- */

static bool count_deleted(const smq_topic_info *topic, void *user)
{
    *(int *) user += topic->deleted ? topic->options->slots : 100;
    return true;
}

static void what_an_earlier_version_has_left_is_counted_and_removed(void **state)
{
    static const char *const kept[] = {
        "ZADD old_%d inf %s",
        "ZADD prepare{old_%d} inf %s",
        "ZADD dead{old_%d} inf %s",
        "HSET why{old_%d} %s 1",
        "HSET slot{old_%d} %s 1 token 000000050000000000000123 claims 7 generation 3 sealed 2",
        "HSET body{old_%d} %s 1",
        "ZADD done{old_%d} inf %s",
    };
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;
    int slots = 0;

    for (int slot = 0; slot < SLOTS; slot++) {
        char store[16];

        (void) snprintf(store, sizeof(store), "old_%d", slot);
        for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
            freeReplyObject(keys_command(store, kept[i], slot, ""));
        }
    }
    freeReplyObject(keys_command("topic{old}", "HSET topic{old} %s 1 generation 3 deletes 2", ""));
    freeReplyObject(keys_command("slot{others_1}", "SET slot{others_1} precious"));
    assert_ok(cluster_visit(client, "*", count_deleted, &slots, &err), &err);
    assert_int_equal(slots, SLOTS);
    assert_ok(smq_topic_repair(client, "*", &report, &err), &err);
    assert_non_null(strstr(report.text, "old: it was deleted, and its last keys are removed"));
    freeReplyObject(keys_command("slot{others_1}", "DEL slot{others_1}"));
    assert_tombstones(SLOTS, 1);
}

/* --- nodes of ZooKeeper --- */

enum { SESSION_MS = 2000 };

/* Of the fleet: its root, the epoch, and two folders; a topic adds two. */
enum { FLEET_NODES = 4, TOPIC_NODES = 2 };

/* All nodes of the fleet. */
static int nodes(void)
{
    zhandle_t *raw = raw_connect(servers_zookeeper(cluster_servers()), NULL);
    const int count = raw_count(raw, "/slotmq");

    zookeeper_close(raw);
    return count;
}

static bool nodes_are(void *arg)
{
    return nodes() == *(int *) arg;
}

static void await_nodes(const char *after, int wanted)
{
    if (!wait_until(nodes_are, &wanted, TIMEOUT_MS)) {
        fail_msg("after %s: %d nodes, and not %d", after, nodes(), wanted);
    }
}

/* A client of the fleet for one action, which leaves with it. */
static void with_client(void (*act)(smq_client *fleet))
{
    smq_client *fleet = cluster_fleet_client(SESSION_MS);

    act(fleet);
    smq_client_free(fleet);
}

static void consume(smq_client *fleet, const char *sent_to, const char *consumed)
{
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    messages_send_numbers(client, sent_to, 0, 20);
    worker = handler_log_worker(fleet, consumed, log);
    handler_log_await(log, 20);
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

static void consume_t(smq_client *fleet)
{
    consume(fleet, "t", "t");
}

static void consume_group(smq_client *fleet)
{
    consume(fleet, "g", "g/b");
}

static void repair_all(smq_client *fleet)
{
    smq_error err;

    assert_ok(smq_topic_repair(fleet, "*", NULL, &err), &err);
}

static void do_nothing(smq_client *fleet)
{
    (void) fleet;
}

static void raise_fence(smq_client *fleet)
{
    smq_error err;

    assert_ok(smq_fleet_raise_fence(fleet, NULL, &err), &err);
}

static void describe(smq_client *fleet)
{
    const smq_fleet_visitor visitor = SMQ_FLEET_VISITOR_INIT;
    smq_error err;

    assert_ok(smq_fleet_describe(fleet, &visitor, &err), &err);
}

static void rebind(smq_client *fleet)
{
    smq_error err;

    assert_ok(smq_topic_rebind(fleet, "t", true, &err), &err);
}

static void start_group(smq_client *fleet)
{
    smq_error err;

    (void) fleet;
    cluster_create_topic(client, &SMQ_TOPIC_OPTIONS(.name = "g", .type = SMQ_TYPE_FIXED_TIME,
                                                    .slots = SLOTS, .groups = "a"));
    assert_ok(cluster_alter(client, "g", "groups", "a,b", &err), &err);
}

static void drop_group(smq_client *fleet)
{
    smq_error err;

    (void) fleet;
    assert_ok(cluster_alter(client, "g", "groups", "a", &err), &err);
}

static void delete_g(smq_client *fleet)
{
    (void) fleet;
    delete_topic("g");
}

static void delete_t(smq_client *fleet)
{
    (void) fleet;
    delete_topic("t");
}

static void create_t(smq_client *fleet)
{
    (void) fleet;
    create(NULL, SMQ_LAYOUT_KEYED, false);
}

/* A process joins and leaves, or dies. */
static void have_member(void (*end)(struct member *member))
{
    struct members members;
    struct member *member;

    members_init(&members, "t");
    members.zookeeper = true;
    members.session_ms = SESSION_MS;
    member = members_start(&members);
    members_send(&members, client, "k", 4, 0, 20);
    assert_true(wait_until(nodes_are, &(int){FLEET_NODES + TOPIC_NODES + 2}, TIMEOUT_MS));
    end(member);
    members_fini(&members);
}

static void have_member_leave(smq_client *fleet)
{
    (void) fleet;
    have_member(member_leave);
}

static void have_member_die(smq_client *fleet)
{
    (void) fleet;
    have_member(member_kill);
}

/* After each step there are as many nodes as the table says, in each life anew. */
static void each_life_ends_with_the_nodes_that_it_began_with(void **state)
{
    static const struct {
        const char *name;
        void (*act)(smq_client *fleet);
        int topics; /* that have nodes afterwards */
    } steps[] = {
        {"a topic is created", create_t, 0},
        {"a client is opened and closed", do_nothing, 0},
        {"a topic is consumed", consume_t, 1},
        {"a member leaves", have_member_leave, 1},
        {"a member dies", have_member_die, 1},
        {"the fence is raised", raise_fence, 1},
        {"the fleet is described", describe, 1},
        {"a topic is rebound", rebind, 1},
        {"a repair of what is whole", repair_all, 1},
        {"a topic is deleted", delete_t, 1},
        {"a topic is created anew", create_t, 1},
        {"it is consumed", consume_t, 1},
        {"it is deleted", delete_t, 1},
        {"a repair of what was deleted", repair_all, 0},
        {"a group is added", start_group, 0},
        {"it is consumed", consume_group, 1},
        {"it is dropped", drop_group, 1},
        {"a repair after that", repair_all, 0},
        {"all groups are deleted", delete_g, 0},
    };

    create_t(NULL);
    with_client(consume_t); /* makes the root and the folders */
    delete_topic("t");
    with_client(repair_all);
    for (int life = 0; life < 2; life++) {
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
            with_client(steps[i].act);
            await_nodes(steps[i].name, FLEET_NODES + TOPIC_NODES * steps[i].topics);
        }
    }
}

/* No member is left that would remove them.  Its tokens are larger all the same. */
static void a_repair_says_of_how_many_topics_it_removes_nodes(void **state)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_client *fleet = cluster_fleet_client(SESSION_MS);
    smq_client *lost = cluster_client_with(
        &SMQ_CLIENT_OPTIONS(.zookeeper = "127.0.0.1:1", .session_timeout_ms = SESSION_MS));
    smq_binding before = SMQ_BINDING_INIT, after = SMQ_BINDING_INIT;
    smq_error err;

    create_t(NULL);
    with_client(consume_t);
    assert_ok(smq_topic_binding(client, "t", &before, &err), &err);
    delete_topic("t");
    assert_ok(smq_topic_repair(lost, "*", &report, &err), &err);
    assert_non_null(strstr(report.text, "not known whether ZooKeeper has nodes of deleted topics"));
    assert_ok(smq_topic_repair(fleet, "*", &report, &err), &err);
    assert_string_equal(report.text, "the nodes of 1 deleted topic are removed from ZooKeeper");
    assert_true(report.repaired);
    assert_ok(smq_topic_repair(fleet, "*", &report, &err), &err);
    assert_string_equal(report.text, "");
    create_t(NULL);
    with_client(consume_t);
    assert_ok(smq_topic_binding(client, "t", &after, &err), &err);
    assert_true(after.token_generation > before.token_generation ||
                (after.token_generation == before.token_generation &&
                 after.token_epoch > before.token_epoch));
    delete_topic("t");
    repair_all(fleet);
    smq_client_free(lost);
    smq_client_free(fleet);
}

TEST_GROUP(leftovers)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(a_deleted_topic_leaves_what_ends),
        FRESH_CLIENT_TEST(so_does_a_group_that_is_dropped),
        FRESH_CLIENT_TEST(a_topic_that_is_created_anew_goes_on_from_the_tombstone),
        FRESH_CLIENT_TEST(so_does_one_whose_own_tombstone_is_lost),
        FRESH_CLIENT_TEST(a_late_call_makes_no_slot_again),
        FRESH_CLIENT_TEST(what_an_earlier_version_has_left_is_counted_and_removed),
        FRESH_CLIENT_TEST(each_life_ends_with_the_nodes_that_it_began_with),
        FRESH_CLIENT_TEST(a_repair_says_of_how_many_topics_it_removes_nodes),
    };

    return cmocka_run_group_tests_name("leftovers", tests, cluster_start_fleet, cluster_end);
}
