/* raw.h - hand-written loops over the slots of a topic, on one connection: the limit that the
 * library is held against.  One thread, as much in flight as helps, nothing that a queue would
 * need beyond the scripts themselves.
 *
 * Thread: main.  What fails is said on standard error. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "lab.h"
#include "tally.h"
#include "wire.h"

struct raw;

/* For a topic of type fixed_time that exists, on one master.  NULL: it cannot be had. */
struct raw *raw_open(struct lab *lab, const char *topic, int slots);
void raw_close(struct raw *raw);

/* Send messages 0 .. count - 1, `batch` a command, each command to the next slot: by ZADD of so
 * many members, or by the send script. */
bool raw_zadd(struct raw *raw, uint64_t count, int batch);
bool raw_send(struct raw *raw, uint64_t count, int batch);

/* Send one message to a slot; read the reply of the oldest of these. */
bool raw_post(struct raw *raw, int slot, uint64_t number);
bool raw_posted(struct raw *raw);

/* Lets Redis end what it puts off: a set that outgrows its hash table moves to the next one a
 * little with each command, so those that are just filled are slower than those that stand. `count`
 * is that of the messages that wait. */
bool raw_end_growth(struct raw *raw, uint64_t count);

/* How many messages wait. */
bool raw_waiting(struct raw *raw, uint64_t *out);

/* Become the owner of every slot, with a token above all that the library gives. */
bool raw_own(struct raw *raw);

/* Claim `batch` at once from each slot and answer done with the next claim, until nothing is left.
 */
bool raw_drain(struct raw *raw, struct tally *tally, int batch);

/* Claim in one slot, and answer done to what the last reply brought; park when nothing is there. */
void raw_consume(struct raw *raw, int slot, int batch, const redisReply *answered);
redisReply *raw_consumed(struct raw *raw, int slot); /* its reply, checked; NULL: refused */

/* The messages of such a reply: how many; and tick them off. */
size_t raw_count(const redisReply *reply);
void raw_tick(struct tally *tally, int slot, const redisReply *reply);

/* Hear the wake-ups of all slots on a connection of its own; wait for one: its slot, or -1. */
bool raw_listen(struct raw *raw, struct wire *listener);
int raw_woken(struct wire *listener);

#endif
