/* bench_tree.c - fleets that agree in a tree in Redis: what 250 members cost while they are idle
 * and when one joins; how long handlers wait, and which slots move, when a master fails over by
 * agreement, when the tree's master forgets its last half second, and when a member dies with it.
 *
 * Whether a message is lost or handled twice then is judged by chaos runs; here it is counted for
 * the failovers by agreement alone.
 *
 * Thread: main. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "benches.h"
#include "fleet.h"
#include "meter.h"
#include "support/servers.h"
#include "wire.h"

enum { MANY = 250, MANY_MS = 10000, FEW = 16, FEW_MS = 4000, SLOTS = 1024 };
enum { MASTERS = 3, NODE_TIMEOUT_MS = 5000, LOST_MS = 500, SEEN_MS = 3000, SETTLE_S = 15 };

static const char tree_key[] = "tree{slotmq:/slotmq}";

struct tree {
    struct lab *lab;
    struct fleet *fleet;
    int members; /* that live */
};

static void tell(struct tree *tree, const char *who, const char *what, const char *unit,
                 double value)
{
    char figure[64];

    snprintf(figure, sizeof(figure), "tree-%s-%s", who, what);
    report_value(lab_report(tree->lab), figure, unit, value);
}

static void pass(int seconds)
{
    const struct timespec time = {.tv_sec = seconds};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* The first fleet of a server that has not answered for longer than T would wait for that. */
static bool open_fleet(struct tree *tree, int members, int64_t session_ms)
{
    const struct fleet_options options = {
        .slots = SLOTS, .members = members + 1, .session_ms = session_ms, .in_redis = true};
    int64_t start_ns = 0;
    bool good = false;

    pass((int) session_ms / 1000 + 1);
    tree->members = members;
    start_ns = meter_now_ns();
    tree->fleet = fleet_open(tree->lab, &options);
    good = tree->fleet != NULL;
    for (int i = 0; i < members && good; i++) {
        good = fleet_start_member(tree->fleet, i);
    }
    good = good && fleet_await_shares(tree->fleet, members);
    tell(tree, members == FEW ? "few" : "many", "start", "s",
         (double) (meter_now_ns() - start_ns) / 1e9);
    return good;
}

/* One more joins. */
static bool join(struct tree *tree, const char *who)
{
    if (!fleet_start_member(tree->fleet, tree->members) ||
        !fleet_await_shares(tree->fleet, tree->members + 1)) {
        return false;
    }
    tell(tree, who, "join", "s",
         fleet_coverage_s(tree->fleet, fleet_joined_ns(tree->fleet, tree->members), NULL));
    return true;
}

static bool leave(struct tree *tree)
{
    fleet_tell_leave(tree->fleet, tree->members);
    return fleet_await_shares(tree->fleet, tree->members) &&
           fleet_await_end(tree->fleet, tree->members);
}

/* --- many members --- */

static bool idle(struct tree *tree)
{
    struct meter cost;

    pass(SETTLE_S);
    if (!meter_start(&cost, tree->lab)) {
        return false;
    }
    pass((int) lab_count(tree->lab, 20, 5));
    if (!meter_stop(&cost, tree->lab)) {
        return false;
    }
    tell(tree, "many-idle", "calls", "calls/s", (double) cost.calls / cost.seconds);
    tell(tree, "many-idle", "commands", "commands/s", (double) cost.commands / cost.seconds);
    tell(tree, "many-idle", "redis-cpu", "%", cost.redis_cpu_s * 100 / cost.seconds);
    return true;
}

static bool tell_size(struct tree *tree, const char *what, const char *node)
{
    redisReply *size = wire_ask(lab_wire(tree->lab, 0), "HSTRLEN %s n:%s", tree_key, node);
    bool good = size != NULL && size->type == REDIS_REPLY_INTEGER && size->integer > 0;

    if (good) {
        tell(tree, what, "node", "bytes", (double) size->integer);
    }
    freeReplyObject(size);
    return good;
}

/* Every member reads each version of the assignment. */
static bool join_many(struct tree *tree)
{
    struct meter cost;
    char path[96];

    if (!meter_start(&cost, tree->lab) || !join(tree, "many") || !meter_stop(&cost, tree->lab)) {
        return false;
    }
    tell(tree, "many-join", "bytes", "bytes", (double) cost.bytes_out);
    snprintf(path, sizeof(path), "topics/%s/assignment", fleet_topic(tree->fleet));
    return tell_size(tree, "many-assignment", path);
}

static bool measure_many(struct tree *tree)
{
    bool good = lab_servers(tree->lab, 1, false) &&
                open_fleet(tree, (int) lab_count(tree->lab, MANY, 40), MANY_MS) && idle(tree) &&
                join_many(tree);

    fleet_close(tree->fleet);
    return good;
}

/* --- what happens to masters --- */

/* Ask a node; false: it did not answer, or with an error. */
static bool asked(struct server *node, const char *command)
{
    struct wire *wire = wire_open(server_address(node));
    redisReply *reply = wire != NULL ? wire_ask(wire, command) : NULL;
    bool good = reply != NULL && reply->type != REDIS_REPLY_ERROR;

    if (!good) {
        fprintf(stderr, "bench: %s of %s failed\n", command, server_address(node));
    }
    freeReplyObject(reply);
    wire_close(wire);
    return good;
}

struct promotion {
    struct lab *lab;
    const char *key;
    struct server *node;
};

static bool is_promoted(void *arg)
{
    const struct promotion *promotion = arg;

    return lab_node_of(promotion->lab, promotion->key) == promotion->node;
}

/* What handlers waited for, and what moved, since the counts before. */
static void tell_waits(struct tree *tree, const char *who, const struct server *node,
                       const struct owners_counts *before)
{
    tell(tree, who, "wait", "ms", fleet_longest_wait_ms(tree->fleet, node, false));
    tell(tree, who, "wait-others", "ms", fleet_longest_wait_ms(tree->fleet, node, true));
    tell(tree, who, "lost", "slots", (double) (fleet_counts(tree->fleet).losses - before->losses));
}

/* The number of the node that has the tree. */
static int tree_node(const struct tree *tree)
{
    const struct server *node = lab_node_of(tree->lab, tree_key);
    int number = 0;

    while (number < 2 * MASTERS - 1 && lab_node(tree->lab, number) != node) {
        number++;
    }
    return number;
}

static bool has_it_all(void *arg)
{
    const struct promotion *promotion = arg;
    struct wire *wire = wire_open(server_address(promotion->node));
    redisReply *reply = wire != NULL ? wire_ask(wire, "INFO replication") : NULL;
    bool good = reply != NULL && reply->str != NULL &&
                strstr(reply->str, "master_link_status:up") != NULL &&
                strstr(reply->str, "master_sync_in_progress:0") != NULL;

    freeReplyObject(reply);
    wire_close(wire);
    return good;
}

/* A replica takes the place of the master of `key` by agreement. */
static bool take_over(struct tree *tree, struct server *replica, const char *key)
{
    struct promotion promotion = {.lab = tree->lab, .key = key, .node = replica};

    return fleet_await(tree->fleet, has_it_all, &promotion,
                       "the replica has what its master has") &&
           asked(replica, "CLUSTER FAILOVER") &&
           fleet_await(tree->fleet, is_promoted, &promotion, "the replica is a master");
}

/* By agreement; and back, and then a member joins at once. */
static bool fail_over(struct tree *tree, int master, const char *key)
{
    struct server *replica = lab_node(tree->lab, MASTERS + master);
    struct owners_counts before = fleet_counts(tree->fleet);
    char who[32];

    snprintf(who, sizeof(who), "failover-%d%s", master, tree_node(tree) == master ? "-tree" : "");
    fleet_watch(tree->fleet);
    if (!take_over(tree, replica, key)) {
        return false;
    }
    fleet_pass(tree->fleet, SEEN_MS);
    tell_waits(tree, who, replica, &before);
    return lab_wait(tree->lab) && take_over(tree, lab_node(tree->lab, master), key) &&
           join(tree, who) && leave(tree) && lab_wait(tree->lab);
}

static bool fail_over_each(struct tree *tree)
{
    static const char *const keys[] = {"{3}", "{1}", "{a}"}; /* one on each third */
    bool good = true;

    fleet_pass(tree->fleet, SEEN_MS); /* what had waited for the start has come */
    for (int i = 0; i < MASTERS && good; i++) {
        const char *key = NULL;
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            key = lab_node_of(tree->lab, keys[k]) == lab_node(tree->lab, i) ? keys[k] : key;
        }
        good = key != NULL && fail_over(tree, i, key);
    }
    return good && fleet_settle(tree->fleet, "failovers by agreement");
}

/* No owner that lives may lose a slot, for longer than all sessions last. */
static void see_owners(struct tree *tree, const char *who, const struct owners_counts *before,
                       int64_t start_ns)
{
    fleet_pass(tree->fleet, INT64_C(3) * FEW_MS);
    tell_waits(tree, who, lab_node_of(tree->lab, tree_key), before);
    tell(tree, who, "regained", "slots",
         (double) (fleet_counts(tree->fleet).gains - before->gains));
    tell(tree, who, "regained-after", "s", fleet_coverage_s(tree->fleet, start_ns, NULL));
}

/* The replica takes over, and lacks what was written in the last half second. */
static bool lose_writes(struct tree *tree)
{
    struct server *node = lab_node_of(tree->lab, tree_key);
    struct server *replica = lab_node(tree->lab, (tree_node(tree) + MASTERS) % (2 * MASTERS));
    struct promotion promotion = {.lab = tree->lab, .key = tree_key, .node = replica};
    struct owners_counts before = fleet_counts(tree->fleet);

    if (!asked(node, "ACL SETUSER default -psync -sync") ||
        !asked(node, "CLIENT KILL TYPE replica")) {
        return false;
    }
    fleet_pass(tree->fleet, LOST_MS);
    fleet_watch(tree->fleet);
    int64_t start_ns = meter_now_ns();
    server_kill(node);
    if (!fleet_await(tree->fleet, is_promoted, &promotion, "the replica is a master")) {
        return false;
    }
    tell(tree, "lost-writes", "promoted", "s", (double) (meter_now_ns() - start_ns) / 1e9);
    see_owners(tree, "lost-writes", &before, start_ns);
    return server_restart(node) && lab_wait(tree->lab);
}

/* How many keys a node has; 0 while it does not say. */
static long long keys_of(struct server *node)
{
    struct wire *wire = wire_open(server_address(node));
    redisReply *reply = wire != NULL ? wire_ask(wire, "DBSIZE") : NULL;
    long long keys = reply != NULL && reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;

    freeReplyObject(reply);
    wire_close(wire);
    return keys;
}

/* The master starts again in place with what it had half a second before. */
static bool restart(struct tree *tree)
{
    struct server *node = lab_node_of(tree->lab, tree_key);
    struct owners_counts before = fleet_counts(tree->fleet);

    long long keys = keys_of(node);

    if (!asked(node, "SAVE")) {
        return false;
    }
    fleet_pass(tree->fleet, LOST_MS);
    fleet_watch(tree->fleet);
    int64_t start_ns = meter_now_ns();
    server_kill(node);
    if (!server_launch(node)) {
        return false;
    }
    see_owners(tree, "restart", &before, start_ns);
    if (lab_node_of(tree->lab, tree_key) != node || keys_of(node) < keys / 2) {
        report_void(lab_report(tree->lab), "the master did not start again with its data");
    }
    return lab_wait(tree->lab);
}

static bool slow_down(const struct tree *tree)
{
    char command[64];
    bool good = true;

    snprintf(command, sizeof(command), "CONFIG SET cluster-node-timeout %d", NODE_TIMEOUT_MS);
    for (int i = 0; i < 2 * MASTERS; i++) {
        good = asked(lab_node(tree->lab, i), command) && good;
    }
    return good;
}

/* A host dies, with a member and the master of the tree. */
static bool die_together(struct tree *tree)
{
    struct owners_counts before = fleet_counts(tree->fleet);
    int64_t start_ns = meter_now_ns();

    fleet_kill_member(tree->fleet, 0);
    server_kill(lab_node_of(tree->lab, tree_key));
    if (!fleet_await_shares(tree->fleet, FEW - 1)) {
        return false;
    }
    tell(tree, "host-dies", "kill", "s", fleet_coverage_s(tree->fleet, start_ns, NULL));
    tell(tree, "host-dies", "lost", "slots",
         (double) (fleet_counts(tree->fleet).losses - before.losses));
    return true;
}

static bool measure_masters(struct tree *tree)
{
    bool good = lab_servers_with_replicas(tree->lab, MASTERS, 1, false) &&
                open_fleet(tree, FEW, FEW_MS) && fail_over_each(tree) && restart(tree) &&
                lose_writes(tree) && slow_down(tree) && die_together(tree);

    fleet_close(tree->fleet);
    return good;
}

/* Its servers change their places, so it has one run. */
bool bench_tree(struct lab *lab)
{
    struct tree tree = {.lab = lab};

    report_run(lab_report(lab));
    return measure_many(&tree) && measure_masters(&tree);
}
