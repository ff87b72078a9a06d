/* library.h - the same loops by the library: what programs would write with the public headers.
 *
 * Thread: main.  What fails is said on standard error. */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

#include "lab.h"
#include "meter.h"
#include "tally.h"

/* Send messages 0 .. count - 1 and wait until all are stored. */
bool library_send_async(smq_producer *producer, const char *topic, uint64_t count);
bool library_send_batches(smq_producer *producer, const char *topic, uint64_t count, int batch);
bool library_send_blocking(smq_producer *producer, const char *topic, uint64_t count, int threads);

/* smq_producer_flush(), and no send has failed: `failed` is what library_count_failed() counted. */
bool library_flush(smq_producer *producer, atomic_ulong *failed);
void library_count_failed(const smq_receipt *receipt, void *user);

/* A patient producer, and library_send_async() by it; what that has cost. */
smq_producer *library_producer(smq_client *client);
bool library_store(struct lab *lab, smq_client *client, const char *topic, uint64_t count,
                   struct meter *cost);

/* The same message that the loops send. */
smq_message library_message(char body[TALLY_BODY], uint64_t number);

/* How a worker of the topic does it. */
struct library_drain {
    const char *topic;
    int threads, batch; /* 0: one thread, the library's own batch */
    uint64_t messages;  /* stop after so many */
};

/* Consume with an empty handler; `cost` is from the start of the worker until it has stopped
 * cleanly. */
bool library_drain(struct lab *lab, smq_client *client, const struct library_drain *drain,
                   struct tally *tally, struct meter *cost);

#endif
