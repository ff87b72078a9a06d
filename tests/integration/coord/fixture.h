/* fixture.h - what the programs share whose members live in the process of the test: one ZooKeeper,
 * a root of its own for each test, and members that consume the topic "t".
 *
 * Thread: one. */
#ifndef INTEGRATION_COORD_FIXTURE_H
#define INTEGRATION_COORD_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "queue_side.h"
#include "raw.h"
#include "support/servers.h"

enum { SLOTS = 64, DRAIN_MS = 30000 };

/* Invariant: `fleet` is the address of `servers`, then `root`. */
struct fixture {
    struct servers *servers;
    char root[32];
    char fleet[128];
    int64_t session_ms; /* of the members that are made from now on */
    zhandle_t *raw;     /* between fixture_setup_raw() and fixture_teardown_raw() */
};

extern struct fixture fixture;

/* Start ZooKeeper.  The roots are `roots` and a number; the members have this time-out.  false: no
 * server could be started. */
bool fixture_start(const char *roots, int64_t session_ms);
void fixture_end(void);

/* For cmocka: the next root, the time-out of fixture_start(), and short waits for joins. */
int fixture_setup(void **state);

/* The same for tests that look at nodes themselves, over the bare connection `raw` without
 * credentials. */
int fixture_setup_raw(void **state);
int fixture_teardown_raw(void **state);

/* Of members that are made from now on: joins wait 50 ms, also when no member owns anything. */
void fixture_wait_little(void);

/* A member of the fleet; one that consumes "t", with the nonce "n1". */
struct queue_side *fixture_member(const char *name);
struct queue_side *fixture_consumer(const char *name);

/* The absolute path of a node, such as "/members/a", until the next call. */
const char *fixture_path(const char *node);

/* A bare connection to the server, with "user:password" or NULL. */
zhandle_t *fixture_connect(const char *auth);

/* Damage the assignment of "t" and end the office of the assigner in one step: the next one has
 * never seen a good assignment. */
void fixture_damage_assignment(zhandle_t *raw);

/* With `raw`: delete a node; is the node of the member "a" one that can be read (for wait_until());
 * the epoch of the assigner that wrote the assignment of "t", -1: there is no good one. */
void fixture_delete(const char *node);
bool fixture_node_of_a_is_good(void *arg);
int32_t fixture_assignment_epoch(void);

/* Requests that the server has received so far; since `before` there were only a few. */
long fixture_requests(void);
void fixture_assert_no_storm(long before);

/* Another member joins: half of the slots of `a`, which has all, move to it, and no token was
 * refused on the way. */
void fixture_assert_works(struct queue_side *a);

#endif
