/* fixture.c - one ZooKeeper, a root of its own for each test, and members in this process.
 *
 * Thread: one. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "coord/zookeeper.h"

enum { FIXTURE_JOIN_MS = 50 };

struct fixture fixture;

static struct zookeeper_timings fixture_timings; /* of the library */
static const char *fixture_roots;
static int64_t fixture_session_ms;

bool fixture_start(const char *roots, int64_t session_ms, int argc, char **argv)
{
    fixture.servers = servers_start(&(struct servers_options){.zookeeper = true});
    if (fixture.servers == NULL) {
        return false;
    }
    fixture_timings = zookeeper_timings;
    fixture_roots = roots;
    fixture_session_ms = session_ms;
    if (argc == 2) {
        cmocka_set_test_filter(argv[1]);
    }
    return true;
}

void fixture_end(void)
{
    servers_free(fixture.servers);
}

void fixture_wait_little(void)
{
    zookeeper_timings.join = zookeeper_timings.cold = FIXTURE_JOIN_MS;
}

int fixture_setup(void **state)
{
    static int number;

    (void) state;
    (void) snprintf(fixture.root, sizeof(fixture.root), "%s%d", fixture_roots, ++number);
    (void) snprintf(fixture.fleet, sizeof(fixture.fleet), "%s%s",
                    servers_zookeeper(fixture.servers), fixture.root);
    fixture.session_ms = fixture_session_ms;
    zookeeper_timings = fixture_timings;
    fixture_wait_little();
    return 0;
}

struct queue_side *fixture_member(const char *name)
{
    return queue_side_new(name, fixture.fleet, fixture.session_ms, SMQ_ZK_LOSS_CONTINUE);
}

struct queue_side *fixture_consumer(const char *name)
{
    struct queue_side *side = fixture_member(name);

    queue_side_join(side, "t", "n1", SLOTS, DRAIN_MS);
    return side;
}

const char *fixture_path(const char *node)
{
    static char path[128];

    (void) snprintf(path, sizeof(path), "%s%s", fixture.root, node);
    return path;
}

zhandle_t *fixture_connect(const char *auth)
{
    return raw_connect(servers_zookeeper(fixture.servers), auth);
}

void fixture_damage_assignment(zhandle_t *raw)
{
    char epoch[128];
    char leader[128];
    zoo_op_result_t results[3];
    struct Stat stats[2];
    zoo_op_t ops[3];

    (void) snprintf(epoch, sizeof(epoch), "%s/leader_epoch", fixture.root);
    (void) snprintf(leader, sizeof(leader), "%s/leader", fixture.root);
    zoo_set_op_init(&ops[0], epoch, "x", 1, -1, &stats[0]);
    zoo_set_op_init(&ops[1], fixture_path("/topics/t/assignment"), "x", 1, -1, &stats[1]);
    zoo_delete_op_init(&ops[2], leader, -1);
    assert_int_equal(zoo_multi(raw, 3, ops, results), ZOK);
}
