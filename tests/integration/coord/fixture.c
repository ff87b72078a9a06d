/* fixture.c - one ZooKeeper, a root of its own for each test, and members in this process.
 *
 * Thread: one. */
#include "fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "coord/node/assignment.h"
#include "coord/zookeeper.h"
#include "support/testing.h"

enum { FIXTURE_JOIN_MS = 50, FIXTURE_STORM = 400 };

struct fixture fixture;

static struct zookeeper_timings fixture_timings; /* of the library */
static const char *fixture_roots;
static int64_t fixture_session_ms;

bool fixture_start(const char *roots, int64_t session_ms)
{
    fixture.servers = servers_start(&(struct servers_options){.zookeeper = true});
    if (fixture.servers == NULL) {
        return false;
    }
    fixture_timings = zookeeper_timings;
    fixture_roots = roots;
    fixture_session_ms = session_ms;
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

    (void) snprintf(fixture.root, sizeof(fixture.root), "%s%d", fixture_roots, ++number);
    (void) snprintf(fixture.fleet, sizeof(fixture.fleet), "%s%s",
                    servers_zookeeper(fixture.servers), fixture.root);
    fixture.session_ms = fixture_session_ms;
    zookeeper_timings = fixture_timings;
    fixture_wait_little();
    return 0;
}

int fixture_setup_raw(void **state)
{
    fixture.raw = fixture_connect(NULL);
    return fixture_setup(state);
}

int fixture_teardown_raw(void **state)
{
    zookeeper_close(fixture.raw);
    return 0;
}

struct queue_side *fixture_member(const char *name)
{
    return queue_side_new(name, fixture.fleet, fixture.session_ms, SMQ_COORDINATION_LOSS_CONTINUE);
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

long fixture_requests(void)
{
    char text[2048];
    const char *line = NULL;
    size_t len = 0;
    ssize_t got = 0;
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((in_port_t) server_port(servers_zookeeper_server(fixture.servers))),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *) &address, sizeof(address)), 0);
    assert_int_equal(write(fd, "srvr", 4), 4);
    while (len < sizeof(text) - 1 && (got = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
        len += (size_t) got;
    }
    text[len] = '\0';
    (void) close(fd);
    line = strstr(text, "Received: ");
    assert_non_null(line);
    return strtol(line + strlen("Received: "), NULL, 10);
}

void fixture_assert_no_storm(long before)
{
    long requests = fixture_requests() - before;

    print_message("%ld requests\n", requests);
    assert_true(requests < FIXTURE_STORM);
}

void fixture_delete(const char *node)
{
    assert_int_equal(zoo_delete(fixture.raw, fixture_path(node), -1), ZOK);
}

bool fixture_node_of_a_is_good(void *arg)
{
    char text[4096];

    (void) arg;
    return raw_get(fixture.raw, fixture_path("/members/a"), text, sizeof(text), NULL) &&
           strncmp(text, "slotmq-member 1\n", strlen("slotmq-member 1\n")) == 0;
}

int32_t fixture_assignment_epoch(void)
{
    static char text[ASSIGNMENT_SIZE_MAX];
    int len = (int) sizeof(text);
    struct assignment assignment = {0};
    int32_t epoch = -1;

    if (zoo_get(fixture.raw, fixture_path("/topics/t/assignment"), 0, text, &len, NULL) == ZOK &&
        len > 0 && assignment_decode(&assignment, text, (size_t) len)) {
        epoch = assignment.epoch;
    }
    assignment_fini(&assignment);
    return epoch;
}

void fixture_assert_works(struct queue_side *a)
{
    struct queue_side *b = fixture_consumer("b");

    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    assert_int_equal(queue_side_get(a, &a->token_errors), 0);
    assert_int_equal(queue_side_get(b, &b->token_errors), 0);
    queue_side_free(b);
}
