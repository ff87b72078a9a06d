/* test_tree_master.c - the master of the tree of a fleet in Redis dies with a member, forgets a
 * grant and its takeover, or serves one half of a network.  Three masters with one replica each. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/hash_slots.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/load.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "integration/fixture/pairs.h"
#include "support/group.h"
#include "support/port.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { SESSION_MS = 3000, BOUND_MS = SESSION_MS * 2 / 3, KEYS = 4, SOME = 10 };

/* A replica takes over however old its data is, and nodes serve what they have beside a master that
 * is away. */
static int start(void **state)
{
    static const char *const config[] = {"cluster-replica-validity-factor 0",
                                         "cluster-require-full-coverage no", NULL};
    struct servers_options options = {
        .redis = REDIS_CLUSTER, .masters = 3, .replicas = 1, .redis_config = config};

    (void) state;
    return cluster_start(&options);
}

/* --- a fleet in Redis ------------------------------------------------------------------------ */

/* A topic of one slot, which its first member owns at first; `token` is that of this owner. */
struct fleet {
    smq_client *client;
    struct members members;
    struct pair pair; /* that has the tree */
    char store[64], token[512];
    int sent;
};

static void fleet_send(struct fleet *fleet, const char *prefix, int count)
{
    members_send(&fleet->members, fleet->client, prefix, KEYS, fleet->sent, count);
    fleet->sent += count;
}

static bool all_have_begun(void *arg)
{
    struct fleet *fleet = arg;

    return members_begun(&fleet->members, NULL, 0) >= fleet->sent;
}

static void await_begun(struct fleet *fleet)
{
    assert_true(wait_until(all_have_begun, fleet, TIMEOUT_MS));
}

/* All are done, each by an answer that counted. */
static void await_done(struct fleet *fleet)
{
    messages_await_counts(fleet->client, fleet->members.topic,
                          (struct message_counts){.done = fleet->sent});
}

/* A topic whose slot is on the master of the tree, or on another one. */
static const char *topic_at_tree(smq_client *client, bool at_tree)
{
    const struct server *tree = servers_node_of(cluster_servers(), LOAD_TREE);
    const char *topic;
    char store[64];

    do {
        topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
        snprintf(store, sizeof(store), "%s_0", topic);
    } while ((servers_node_of(cluster_servers(), store) == tree) != at_tree);
    return topic;
}

static bool has_another_token(void *arg)
{
    const struct fleet *fleet = arg;
    char token[512];

    return strcmp(keys_text(token, fleet->store, "HGET slot{%s} token", fleet->store),
                  fleet->token) != 0;
}

struct sessions {
    const struct server *server;
    int count;
};

static bool are_in_tree(void *arg)
{
    static const char script[] = "local n = 0 for _, field in ipairs(redis.call('HKEYS', KEYS[1])) "
                                 "do n = n + (string.find(field, '^s:') and 1 or 0) end return n";
    const struct sessions *sessions = arg;
    redisReply *reply = keys_command_at(sessions->server, "EVAL %s 1 " LOAD_TREE, script);
    bool are = reply->integer == sessions->count;

    freeReplyObject(reply);
    return are;
}

static void await_sessions(const struct server *server, int count)
{
    struct sessions sessions = {server, count};

    assert_true(wait_until(are_in_tree, &sessions, TIMEOUT_MS));
}

static void fleet_init(struct fleet *fleet, bool at_tree, int members)
{
    memset(fleet, 0, sizeof(*fleet));
    fleet->client = cluster_client();
    members_init(&fleet->members, topic_at_tree(fleet->client, at_tree));
    fleet->members.session_ms = SESSION_MS;
    snprintf(fleet->store, sizeof(fleet->store), "%s_0", fleet->members.topic);
    fleet->pair = pair_of_key(LOAD_TREE);
    members_start(&fleet->members);
    keys_await_open(fleet->members.topic, 1, 1);
    for (int i = 1; i < members; i++) {
        members_start(&fleet->members);
    }
    await_sessions(fleet->pair.master, members);
    (void) keys_text(fleet->token, fleet->store, "HGET slot{%s} token", fleet->store);
}

static void resume_halted(const struct member *member)
{
    assert_true(process_pause(member->pid)); /* until it has stopped itself */
    assert_true(process_resume(member->pid));
}

/* Nothing was lost, and all was handled by `most` handlers at most. */
static void fleet_end(struct fleet *fleet, int most)
{
    struct verdict verdict;

    for (int i = 0; i < fleet->members.count; i++) {
        if (fleet->members.member[i].pid != 0) {
            member_leave(&fleet->members.member[i]);
        }
    }
    verdict = members_judge(&fleet->members);
    verdict_print(&verdict, stdout);
    if (!verdict_good(&verdict)) {
        fail_msg("%s", verdict.example);
    }
    assert_int_equal(verdict.handled, fleet->sent);
    assert_in_range(verdict.runs, fleet->sent, most);
    members_fini(&fleet->members);
    smq_client_free(fleet->client);
}

static void start_master_again(struct pair *pair)
{
    assert_true(server_restart(pair->master));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
}

/* --- it dies ------------------------------------------------------------------------------- */

/* A host dies that has the owner of a slot, in the middle of a handler, and the master of the tree
 * and of the slot. */
static void slots_of_a_member_that_dies_with_the_tree_go_to_others(void **state)
{
    struct fleet fleet = {0};
    struct member *owner = &fleet.members.member[0];

    (void) state;
    fleet_init(&fleet, true, 2);
    fleet.members.bound_ms = BOUND_MS;
    fleet_send(&fleet, "k", SOME);
    await_done(&fleet);
    fleet_send(&fleet, "halt", 1);
    await_begun(&fleet);
    assert_true(process_pause(owner->pid));
    fleet_send(&fleet, "k", SOME);
    pair_await_level(&fleet.pair);
    member_kill(owner);
    server_kill(fleet.pair.master);
    pair_await_takeover(&fleet.pair);
    fleet_send(&fleet, "k", SOME);
    await_done(&fleet);
    start_master_again(&fleet.pair);
    fleet_end(&fleet, fleet.sent + 1); /* what had begun */
}

static bool one_begins_again(void *arg)
{
    struct fleet *fleet = arg;

    return members_begun(&fleet->members, NULL, 0) > fleet->sent;
}

/* The former owner was away until another one had its slot; a failover loses that, and now the
 * newer owner does not reach the new master for as long as its session lasts.  The former one owns
 * the slot again, and begins what the newer one is at.  Its answer counts, and that of the newer
 * one does not. */
static void two_may_handle_a_key_when_a_failover_loses_a_grant_and_its_takeover(void **state)
{
    struct fleet fleet = {0};
    struct member *former = &fleet.members.member[0], *newer = &fleet.members.member[1];
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    fleet_init(&fleet, true, 2);
    assert_ok(smq_topic_pause(fleet.client, fleet.members.topic, &err), &err);
    fleet_send(&fleet, "halt", 1);
    pair_await_level(&fleet.pair);
    pair_leave_behind(&fleet.pair);
    assert_true(process_pause(former->pid));
    assert_true(wait_until(has_another_token, &fleet, TIMEOUT_MS));
    assert_ok(smq_topic_resume(fleet.client, fleet.members.topic, &err), &err);
    await_begun(&fleet);
    assert_true(process_pause(newer->pid));

    server_kill(fleet.pair.master);
    pair_await_takeover(&fleet.pair);
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    assert_false(has_another_token(&fleet)); /* that is lost */
    assert_ok(smq_topic_resume(fleet.client, fleet.members.topic, &err), &err);
    assert_true(process_resume(former->pid));
    assert_true(wait_until(one_begins_again, &fleet, TIMEOUT_MS));
    resume_halted(former);
    await_sessions(fleet.pair.replica, 1);
    await_done(&fleet);

    assert_true(process_resume(newer->pid));
    await_sessions(fleet.pair.replica, 2);
    start_master_again(&fleet.pair);
    fleet_send(&fleet, "k", SOME);
    await_done(&fleet);
    fleet_end(&fleet, fleet.sent + 1);
}

/* --- both halves of a network --- */

static const struct server *other_node(const struct pair *pair, size_t number)
{
    const struct server *node = servers_node(cluster_servers(), number);

    return node != pair->master ? node : NULL;
}

struct others {
    const struct pair *pair;
    const char *command, *text;
};

static bool others_say(void *arg)
{
    const struct others *others = arg;
    bool all = true;

    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        if (other_node(others->pair, i) != NULL) {
            redisReply *reply = keys_command_at(other_node(others->pair, i), others->command);

            all = all && strstr(reply->str, others->text) != NULL;
            freeReplyObject(reply);
        }
    }
    return all;
}

/* Wait until the answers of all others to a command have this text. */
static void await_others(const struct pair *pair, const char *command, const char *text)
{
    struct others others = {pair, command, text};

    assert_true(wait_until(others_say, &others, TIMEOUT_MS));
}

/* The master forgets all others in one step: else it would have them forget each other. */
static void forget_others(const struct pair *pair)
{
    redisContext *redis = redisConnect("127.0.0.1", server_port(pair->master));
    size_t count = servers_count(cluster_servers());
    char id[64];

    for (size_t i = 0; i < count; i++) {
        if (other_node(pair, i) != NULL) {
            hash_slot_node_id(id, other_node(pair, i));
            assert_int_equal(redisAppendCommand(redis, "CLUSTER FORGET %s", id), REDIS_OK);
        }
    }
    for (size_t i = 1; i < count; i++) {
        redisReply *reply = NULL;

        assert_int_equal(redisGetReply(redis, (void **) &reply), REDIS_OK);
        assert_int_equal(reply->type, REDIS_REPLY_STATUS);
        freeReplyObject(reply);
    }
    redisFree(redis);
}

/* The other nodes do not reach the master, nor does it look for them: it serves its half, and does
 * not notice, and it finds no way back.  They know a proxy as its bus. */
static struct proxy *cut_bus(const struct pair *pair)
{
    struct proxy *proxy = proxy_start(server_port(pair->master) + PORT_BUS_OFFSET);
    const char *port = strrchr(proxy_address(proxy), ':') + 1;
    char address[64];

    freeReplyObject(keys_command_at(pair->master, "CONFIG SET cluster-announce-bus-port %s", port));
    snprintf(address, sizeof(address), "%s@%s", server_address(pair->master), port);
    await_others(pair, "CLUSTER NODES", address);
    proxy_silence(proxy);
    forget_others(pair);
    return proxy;
}

/* The master of the tree serves its half for longer than a session lasts.  Each of the trees has a
 * member, to which it gives the slot, whose master both reach: the token decides.  Then the old
 * master is gone, and its member joins the others. */
static void a_slot_has_one_owner_while_there_are_two_trees(void **state)
{
    struct fleet fleet = {0};
    struct proxy *bus;

    (void) state;
    fleet_init(&fleet, false, 1);
    fleet.members.bound_ms = BOUND_MS;
    fleet_send(&fleet, "k", SOME);
    await_done(&fleet);
    pair_await_level(&fleet.pair);
    bus = cut_bus(&fleet.pair);
    pair_await_takeover(&fleet.pair);
    await_others(&fleet.pair, "CLUSTER INFO", "cluster_slots_ok:16384");
    members_start(&fleet.members); /* it asks the first node who is a master */
    assert_true(wait_until(has_another_token, &fleet, TIMEOUT_MS));
    fleet_send(&fleet, "k", SOME);
    await_done(&fleet);
    await_sessions(fleet.pair.master, 1);
    await_sessions(fleet.pair.replica, 1);
    assert_true(pair_says(fleet.pair.master, "role:master"));

    server_kill(fleet.pair.master);
    proxy_stop(bus);
    await_sessions(fleet.pair.replica, 2);
    fleet_send(&fleet, "k", SOME);
    await_done(&fleet);
    fleet_end(&fleet, 2 * fleet.sent);
}

TEST_GROUP(tree_master)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_of_a_member_that_dies_with_the_tree_go_to_others),
        cmocka_unit_test(two_may_handle_a_key_when_a_failover_loses_a_grant_and_its_takeover),
        /* the last one: its cluster is not whole again */
        cmocka_unit_test(a_slot_has_one_owner_while_there_are_two_trees),
    };

    return cmocka_run_group_tests(tests, start, cluster_end);
}
