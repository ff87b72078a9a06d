/* nodes.h - a client and the two scripted nodes of its cluster, of which A serves everything.
 *
 * Thread: the test's. */
#ifndef TEST_REDIS_NODES_H
#define TEST_REDIS_NODES_H

#include "../../integration/redis/client.h"
#include "fake_node.h"

/* The texts are answers: of CLUSTER SLOTS, that A or B serves everything; redirects of the hash
 * slot of the key.  `moved_a` leaves the host open. */
struct nodes {
    struct fake_node *a, *b;
    struct client client;
    char map_a[128], map_b[128], moved_a[64], moved_b[64], ask_b[64];
};

void nodes_init(struct nodes *nodes, const char *key);
void nodes_fini(struct nodes *nodes);

/* Set-up and tear-down of cmocka: nodes for the key "k", of which A answers a script with 1 and B
 * with 2. */
int nodes_set_up(void **state);
int nodes_tear_down(void **state);

/* Start the client with the address of A; it must become ready. */
void nodes_start(struct nodes *nodes, int64_t timeout_ms);

/* A script, and a call of it with the key "k". */
extern const struct script nodes_script;
struct outcome nodes_eval(struct nodes *nodes);

/* Make the client's loop late: it does nothing else until A has sent `reply` over every connection
 * and `ms` have passed. */
void nodes_delay(struct nodes *nodes, const char *reply, int64_t ms);

/* Answer the next such command so, once; NULL: not at all. */
void nodes_step(struct fake_node *node, const char *command, const char *reply);

#endif
