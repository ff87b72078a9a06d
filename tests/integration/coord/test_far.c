/* test_far.c - members far from ZooKeeper: a proxy makes each round trip long, and loses replies.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet.h"
#include "raw.h"
#include "support/group.h"
#include "support/proxy.h"
#include "support/servers.h"
#include "support/wait.h"

enum { SESSION_MS = 4000, LONG_SESSION_MS = 30000, NEVER_MS = 600000 };

enum { ONE_WAY_MS = 200 }; /* long beside what the machine needs */

/* Invariant: `near` and `far` are "host:port/root" with a root of its own for each test; `far` goes
 * through the proxy. */
struct stage {
    struct fleet fleet;
    struct proxy *proxy;
    char root[32];
    char near[128], far[128];
};

static int set_up(void **state)
{
    static struct stage stage;
    static int number;

    stage.proxy = proxy_start(server_port(servers_zookeeper_server(fleet_servers)));
    (void) snprintf(stage.root, sizeof(stage.root), "/far-%d", ++number);
    (void) snprintf(stage.near, sizeof(stage.near), "%s%s", servers_zookeeper(fleet_servers),
                    stage.root);
    (void) snprintf(stage.far, sizeof(stage.far), "%s%s", proxy_address(stage.proxy), stage.root);
    fleet_init(&stage.fleet, stage.near, SESSION_MS);
    *state = &stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    fleet_fini(&stage->fleet);
    proxy_stop(stage->proxy);
    return 0;
}

static int start_far(struct stage *stage, const char *name)
{
    int member = 0;

    stage->fleet.servers = stage->far;
    member = fleet_start(&stage->fleet, name);
    stage->fleet.servers = stage->near;
    return member;
}

/* Waiting for a node to be written. */
struct node {
    zhandle_t *handle;
    char path[128];
    int32_t version;
};

static bool node_is_written(void *arg)
{
    const struct node *node = arg;

    return raw_version(node->handle, node->path) > node->version;
}

/* A write of the member's node is executed, its reply is lost with the connection: the version that
 * the member knows is old.  It still acknowledges a revocation, without which nothing moves here.
 */
static void a_member_whose_reply_was_lost_still_acknowledges(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    struct node node = {.handle = raw_connect(servers_zookeeper(fleet_servers), NULL)};
    int near = fleet_start(fleet, "near");
    int far = 0;
    int third = 0;
    int64_t began = 0;

    fleet_join(fleet, near, "orders", "n1", 64);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){near, -1}));
    proxy_delay(stage->proxy, 30);
    far = start_far(stage, "far");
    fleet_tell(fleet, far, "join orders n1 1 64 1 %d", NEVER_MS);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){near, far, -1}));

    (void) snprintf(node.path, sizeof(node.path), "%s/members/far", stage->root);
    node.version = raw_version(node.handle, node.path);
    proxy_hold(stage->proxy);
    fleet_join(fleet, far, "others", "n1", 1);
    assert_true(wait_until(node_is_written, &node, FLEET_TIMEOUT_MS));
    proxy_cut(stage->proxy);
    zookeeper_close(node.handle);

    third = fleet_start(fleet, "third");
    began = clock_now_ms();
    fleet_join(fleet, third, "orders", "n1", 64);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){near, far, third, -1}));
    print_message("a join after a cut connection took %lld ms, 60 ms from ZooKeeper\n",
                  (long long) (clock_now_ms() - began));
    assert_int_equal(fleet_board(fleet, "orders")->overlaps, 0);
}

/* Waits until the first `count` members hold "orders", but for one; -1: all of them do. */
static void await_even(struct fleet *fleet, int count, int without)
{
    int members[FLEET_MEMBERS + 1];
    int used = 0;

    for (int i = 0; i < count; i++) {
        if (i != without) {
            members[used++] = i;
        }
    }
    members[used] = -1;
    assert_true(fleet_wait_even(fleet, "orders", members));
}

/* The first member is far, and so becomes the assigner; the second is near, and its session ends
 * soon.  The session of all others is so long that they hardly say anything without a reason. */
static void start_many(struct stage *stage, int count)
{
    struct fleet *fleet = &stage->fleet;
    char name[32];

    fleet->session_ms = LONG_SESSION_MS;
    fleet_join(fleet, start_far(stage, "assigner"), "orders", "n1", 64);
    await_even(fleet, 1, -1);
    fleet->session_ms = SESSION_MS;
    (void) fleet_start(fleet, "victim");
    fleet->session_ms = LONG_SESSION_MS;
    for (int i = 2; i < count; i++) {
        (void) snprintf(name, sizeof(name), "member-%d", i);
        (void) start_far(stage, name);
    }
    for (int i = 1; i < count; i++) {
        fleet_join(fleet, i, "orders", "n1", 64);
    }
    await_even(fleet, count, -1);
}

/* What a join and a failover take is some round trips, not several for each member: the assigner
 * needs 10 and 4, and 115 were counted for a join while it read one member after the other.  So a
 * join takes less than 2 s where a round trip takes 40 ms: 20 of them are 0.8 s, and it waits 0.15
 * s for others.  The delay keeps what is sent at once together. */
static void round_trips_do_not_grow_with_the_members(void **state)
{
    enum { MEMBERS = 30, JOIN_TRIPS = 20, FAILOVER_TRIPS = 15, VICTIM = 1 };

    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    int joiner = 0;

    start_many(stage, MEMBERS - 1);
    proxy_delay(stage->proxy, ONE_WAY_MS);
    joiner = start_far(stage, "joiner");
    proxy_count(stage->proxy);
    fleet_join(fleet, joiner, "orders", "n1", 64);
    await_even(fleet, MEMBERS, -1);
    print_message("a join of the last of %d members took %d round trips\n", MEMBERS,
                  proxy_round_trips(stage->proxy));
    assert_in_range(proxy_round_trips(stage->proxy), 1, JOIN_TRIPS);

    proxy_count(stage->proxy);
    fleet_kill(fleet, VICTIM);
    await_even(fleet, MEMBERS, VICTIM);
    print_message("the slots of a killed one were granted after %d round trips\n",
                  proxy_round_trips(stage->proxy));
    assert_in_range(proxy_round_trips(stage->proxy), 1, FAILOVER_TRIPS);
    assert_int_equal(fleet_board(fleet, "orders")->overlaps, 0);
}

TEST_GROUP(far)
{
#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STAGED(a_member_whose_reply_was_lost_still_acknowledges),
        STAGED(round_trips_do_not_grow_with_the_members),
    };

    return cmocka_run_group_tests_name("far", tests, fleet_servers_start, fleet_servers_stop);
}
