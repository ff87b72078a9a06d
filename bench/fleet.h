/* fleet.h - processes that consume one topic: what each owns, as the lines of the members tell.
 *
 * While something is awaited a few messages are sent all the time, none of which may be lost.
 *
 * Thread: main.  Failures are printed on standard error. */
#ifndef BENCH_FLEET_H
#define BENCH_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "lab.h"
#include "owners.h"
#include "samples.h"

struct fleet;
struct server;

struct fleet_options {
    int slots;
    int members;        /* the most that live at once; they have numbers below this */
    int64_t session_ms; /* session time-out of each */
    bool in_redis;      /* they agree in a tree in Redis, and not in ZooKeeper */
};

/* A topic of its own, and no member yet.  NULL: it failed. */
struct fleet *fleet_open(struct lab *lab, const struct fleet_options *options);

const char *fleet_topic(const struct fleet *fleet);

/* Ends all members that live. */
void fleet_close(struct fleet *fleet);

/* Start the process of a member, under the same name each time. */
bool fleet_start_member(struct fleet *fleet, int number);

/* Ask it to leave; wait until its process has ended well. */
void fleet_tell_leave(struct fleet *fleet, int number);
bool fleet_await_end(struct fleet *fleet, int number);

/* SIGKILL: from now on its slots have no owner. */
void fleet_kill_member(struct fleet *fleet, int number);

/* Wait until every slot has an owner, `members` of them share all slots alike, and those that were
 * asked to leave have none. */
bool fleet_await_shares(struct fleet *fleet, int members);

/* Wait while lines are read and messages are sent. */
bool fleet_await(struct fleet *fleet, bool (*condition)(void *arg), void *arg, const char *what);

/* The same for so long. */
void fleet_pass(struct fleet *fleet, int64_t ms);

/* From now on it counts how long messages wait, from when they should have been sent until their
 * handler begins; and the longest such time of the slots on a node, or of all others. */
void fleet_watch(struct fleet *fleet);
double fleet_longest_wait_ms(const struct fleet *fleet, const struct server *node, bool others);

/* How many times a slot was gained and lost, by now. */
struct owners_counts fleet_counts(struct fleet *fleet);

/* When a member began to join, by CLOCK_MONOTONIC. */
int64_t fleet_joined_ns(const struct fleet *fleet, int number);

/* As owners_coverage_s(). */
double fleet_coverage_s(const struct fleet *fleet, int64_t start_ns, struct samples *pauses);

/* Do Redis and ZooKeeper say the same as the members: is the token of each slot that of its owner,
 * and does the assignment grant to each member what it owns, and nothing moves? */
bool fleet_is_agreed(struct fleet *fleet);

/* Wait until what was sent is handled, and report the counts of the messages as `who`. */
bool fleet_settle(struct fleet *fleet, const char *who);

#endif
