/* fake_node.h - a scripted Redis node: what it answers, and when it falls silent or hangs up, is
 * the test's choice.
 *
 * It knows the greeting of a plain server (INFO, CLUSTER SLOTS: no cluster) and answers ASKING,
 * AUTH, PING, SCRIPT LOAD and SSUBSCRIBE as Redis does; everything else is -ERR unknown command.
 * Standing rules come before that, one-time steps before both.
 *
 * Thread: the test's; the node serves on a thread of its own. */
#ifndef TEST_REDIS_FAKE_NODE_H
#define TEST_REDIS_FAKE_NODE_H

#include <stdbool.h>
#include <stddef.h>

struct fake_node;

struct fake_step {
    const char *command; /* its words begin so: "EVALSHA", "CLUSTER SLOTS" */
    const char *reply;   /* bytes; NULL: none.  Must outlive the node */
    bool close;          /* then hang up */
    size_t len;          /* of `reply`; 0: up to the NUL */
};

/* Listens on a free port of 127.0.0.1. */
struct fake_node *fake_node_new(void);
void fake_node_free(struct fake_node *node);
const char *fake_node_address(const struct fake_node *node); /* "127.0.0.1:7000" */
int fake_node_port(const struct fake_node *node);

/* Answer each command that begins so in this way, from now on; the latest rule wins. */
void fake_node_rule(struct fake_node *node, const char *command, const char *reply);

/* Answer the next command that begins so in this way, once; steps for one command are used in the
 * order in which they were added. */
void fake_node_step(struct fake_node *node, const struct fake_step *step);

/* How many commands came that begin so, and the words of number `index` (from 0) of them; NULL:
 * fewer.  Valid until the next call. */
size_t fake_node_count(struct fake_node *node, const char *command);
const char *fake_node_command(struct fake_node *node, const char *command, size_t index);

/* Wait until `count` such commands have come. */
bool fake_node_wait(struct fake_node *node, const char *command, size_t count);

/* Wait until all connections have ended. */
bool fake_node_wait_left(struct fake_node *node);

/* Send bytes, unasked, over every connection. */
void fake_node_send(struct fake_node *node, const char *bytes);

/* Hang up on everybody. */
void fake_node_hang_up(struct fake_node *node);

/* Stop taking connections (and hang up); take them again, on the same port. */
void fake_node_stop(struct fake_node *node);
void fake_node_start(struct fake_node *node);

/* Connections taken so far. */
size_t fake_node_connections(struct fake_node *node);

#endif
