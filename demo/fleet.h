/* fleet.h - the worker processes of the demo, and who of them owns how many slots.
 *
 * Thread: main. */
#ifndef DEMO_FLEET_H
#define DEMO_FLEET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <slotmq/slotmq.h>

#include "rules.h"

enum { FLEET_MAX = 5, FLEET_SLOTS = 64, FLEET_PATH_MAX = 256 };

/* Invariant: `pid` is 0 before the start, and stays that of the process after its end. */
struct fleet_worker {
    pid_t pid;
    bool alive, paused;
    bool clean; /* ended by itself, with status 0 */
    char name[24];
    char history[FLEET_PATH_MAX];
    int slots[RULES_TOPICS];        /* as of the last fleet_look() */
    uint64_t claimed[RULES_TOPICS]; /* messages of these slots, as of the same look */
};

struct fleet {
    const char *program, *redis, *folder;
    const char *zookeeper;   /* NULL: the fleet agrees in Redis */
    struct history *changes; /* what is done to the fleet is written there */
    struct fleet_worker workers[FLEET_MAX];
    int count;
};

/* Start one more; a join when `said`. */
bool fleet_start(struct fleet *fleet, bool said);

/* SIGUSR1: until the worker is resumed, its handlers take a second each, so that most of what it
 * claims is not begun. */
void fleet_slow_down(const struct fleet *fleet, int index);

/* SIGKILL, SIGSTOP, SIGCONT, SIGTERM. */
void fleet_kill(struct fleet *fleet, int index);
void fleet_pause(struct fleet *fleet, int index);
void fleet_resume(struct fleet *fleet, int index);
void fleet_leave(struct fleet *fleet, int index);

/* Has the worker ended? */
bool fleet_ended(struct fleet *fleet, int index);

/* Count again who owns what and how many messages are claimed.  false: Redis did not answer
 * (`err`). */
bool fleet_look(struct fleet *fleet, smq_client *client, smq_error *err);

/* Slots of all topics that this worker, or (-1) all workers own, as of the last look. */
int fleet_slots(const struct fleet *fleet, int index);

/* End what still runs: gracefully, or at once.  false: one did not end cleanly. */
bool fleet_stop(struct fleet *fleet, bool graceful);

#endif
