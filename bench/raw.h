/* raw.h - hand-written loops over the slots of a topic, on one connection, with which the library
 * is compared.  They have one thread, as many requests in flight as helps, and nothing that a queue
 * needs beyond the scripts.
 *
 * Thread: main.  Failures are printed on standard error. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "lab.h"
#include "tally.h"
#include "wire.h"

struct raw;

/* For an existing topic of type fixed_time on one master.  NULL: it failed. */
struct raw *raw_open(struct lab *lab, const char *topic, int slots);
void raw_close(struct raw *raw);

/* Send messages 0 .. count - 1, `batch` in each command, each command to the next slot: by ZADD, or
 * by the send script. */
bool raw_zadd(struct raw *raw, uint64_t count, int batch);
bool raw_send(struct raw *raw, uint64_t count, int batch);

/* Send one message to a slot; read the reply to the oldest such send. */
bool raw_post(struct raw *raw, int slot, uint64_t number);
bool raw_posted(struct raw *raw);

/* Let Redis finish moving its sets to larger hash tables.  It moves a part with each command, so
 * sets that were just filled are slower than others.  `count` messages wait. */
bool raw_end_growth(struct raw *raw, uint64_t count);

/* The number of waiting messages. */
bool raw_waiting(struct raw *raw, uint64_t *out);

/* Become the owner of every slot, with a token above all that the library gives. */
bool raw_own(struct raw *raw);

/* Claim `batch` messages at a time from each slot and answer done with the next claim, until none
 * is left. */
bool raw_drain(struct raw *raw, struct tally *tally, int batch);

/* Claim in one slot, and answer done for the messages of the last reply; park if none is there. */
void raw_consume(struct raw *raw, int slot, int batch, const redisReply *answered);
redisReply *raw_consumed(struct raw *raw, int slot); /* its reply, checked; NULL: refused */

/* Tick off the messages of such a reply, and return their number. */
size_t raw_count(const redisReply *reply);
void raw_tick(struct tally *tally, int slot, const redisReply *reply);

/* Subscribe to the wake channels of all slots on another connection; wait for one: its slot, or
 * -1. */
bool raw_listen(struct raw *raw, struct wire *listener);
int raw_woken(struct wire *listener);

#endif
