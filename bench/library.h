/* library.h - the same loops with the library, as programs write them with the public headers.
 *
 * Thread: main.  Failures are printed on standard error. */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

#include "lab.h"
#include "meter.h"
#include "tally.h"

/* The same message that all loops send: `number` in a body of TALLY_BODY bytes, due at once. */
smq_message library_message(char body[TALLY_BODY], uint64_t number);

/* Change message `number`, which is as above, or wait until it is time to send it. */
typedef void library_shape_fn(smq_message *message, uint64_t number, void *user);

/* The digits of its number become the message's id, and so its key. */
void library_give_id(smq_message *message, uint64_t number, void *user);

/* Send messages 0 .. count - 1 and wait until all are stored.  false: some are not. */
bool library_send_async(smq_producer *producer, const char *topic, uint64_t count);
bool library_send_shaped(smq_producer *producer, const char *topic, uint64_t count,
                         library_shape_fn *shape, void *user);
bool library_send_polled(smq_producer *producer, const char *topic, uint64_t count);
bool library_send_batches(smq_producer *producer, const char *topic, uint64_t count, int batch);
bool library_send_blocking(smq_producer *producer, const char *topic, uint64_t count, int threads);

/* A producer that waits for room; and the cost of sending with it. */
smq_producer *library_producer(smq_client *client);

/* A producer for library_send_polled(): one thread sends and takes the receipts. */
smq_producer *library_polled_producer(smq_client *client);
bool library_store(struct lab *lab, smq_client *client, const char *topic, uint64_t count,
                   struct meter *cost);
bool library_store_shaped(struct lab *lab, smq_client *client, const char *topic, uint64_t count,
                          library_shape_fn *shape, void *user, struct meter *cost);

/* The forms of use that cost more: the first try of one message of MISHAPS_EACH fails, and the
 * handlers of MISHAPS_BUSY of MISHAPS_KEYS keys take 1 ms.  `key` is that of the message that is
 * made now. */
enum { MISHAPS_EACH = 20, MISHAPS_KEYS = 1000, MISHAPS_BUSY = 20, MISHAPS_THREADS = 8 };
struct library_key {
    char key[16];
};
void library_give_key(smq_message *message, uint64_t number, void *key);
bool library_fails(const smq_message_info *info);
bool library_is_busy(const smq_message_info *info);
void library_sleep_if_busy(const smq_message_info *info);

/* Called for each message, on the thread of the handler. */
typedef void library_seen_fn(const smq_message_info *info, void *user);

typedef smq_verdict library_answer_fn(const smq_message_info *info, void *user);

/* A worker that only ticks off the messages that it gets.
 *
 * Invariant: threads, tally, messages, seen, answer and user are set by the owner and stay
 * while it runs; `all` is posted when `messages` different ones were handled. */
struct library_consumer {
    int threads;         /* that handle; 0: one */
    struct tally *tally; /* NULL: `seen` counts */
    uint64_t messages;
    library_seen_fn *seen;     /* NULL: nothing */
    library_answer_fn *answer; /* NULL: all are done.  Others are not ticked off */
    void *user;
    sem_t all;
    smq_consumer *worker;
};

/* `batch`: messages of a claim; 0: the library's default.  Stop may be called once, whatever start
 * has returned. */
bool library_consumer_start(struct library_consumer *consumer, smq_client *client,
                            const char *topic, int batch);
void library_consumer_stop(struct library_consumer *consumer);

/* Wait until all messages are handled, or none was for half a minute; the tally has the counts. */
void library_consumer_await(struct library_consumer *consumer);

/* Consume until `messages` are handled; `cost` is from the start of the worker until it has stopped
 * cleanly. */
bool library_drain(struct lab *lab, smq_client *client, const char *topic, int batch,
                   uint64_t messages, struct tally *tally, struct meter *cost);

/* Wait for a post, at most this long. */
bool library_await(sem_t *semaphore, int seconds);

#endif
