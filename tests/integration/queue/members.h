/* members.h - a fleet of consuming processes (member.c), and what their handlers wrote down.
 *
 * Thread: the test's main thread. */
#ifndef QUEUE_MEMBERS_H
#define QUEUE_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <slotmq/slotmq.h>

#include "support/history.h"

enum { MEMBERS_MAX = 64 };

struct member {
    pid_t pid; /* 0: it has ended */
    char history[512];
};

/* Everything that ever ran on one topic. */
struct members {
    const char *topic;
    bool zookeeper;
    int session_ms, threads, work_us;
    int64_t bound_ms; /* a handler may begin so long after its slot has a newer owner */
    int count;
    struct member member[MEMBERS_MAX];
    char sent_path[512];
    struct history *sent; /* what the test itself sent */
};

void members_init(struct members *members, const char *topic);
void members_fini(struct members *members); /* kills who is left */

struct member *members_start(struct members *members);
void member_kill(struct member *member);
void member_leave(struct member *member); /* SIGTERM; must end with 0 */

/* Send messages "<prefix>K N", keys K of `keys`, N from `from` on, and write them down. */
void members_send(struct members *members, smq_client *client, const char *prefix, int keys,
                  int from, int count);

/* Judge what was written; fails the test when it cannot be read. */
struct verdict members_judge(struct members *members);

/* How often did a handler begin with a body that starts so? */
int members_runs(struct members *members, const char *body);

/* How many handlers began.  When they did, in ns of CLOCK_MONOTONIC and the earliest first, is put
 * into at_ns[0..most), unless at_ns is NULL. */
int members_begun(struct members *members, int64_t *at_ns, int most);

#endif
