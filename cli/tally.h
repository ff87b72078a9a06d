/* tally.h - what became of many sends: how many are stored, and the first that failed.
 *
 * Thread: any; receipts come on smq:call. */
#ifndef CLI_TALLY_H
#define CLI_TALLY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

#include "exit.h"

/* Sends have numbers; `number` is that of the first that failed, and `code` tells whether one did.
 * All but the lock is guarded by the lock. */
struct tally {
    pthread_mutex_t lock;
    uint64_t sent;
    uint64_t merged;
    enum exit_code code;
    uint64_t number;
    char text[256];
};

#define TALLY_INIT                                                                                 \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }

/* Send `number` has failed, or was not tried. */
void tally_failed(struct tally *tally, uint64_t number, enum exit_code code, const char *text);
bool tally_has_failed(struct tally *tally);

/* One that is stored. */
void tally_count(struct tally *tally, const smq_receipt *receipt);

/* Sends it without waiting for its receipt, which the tally counts; `number` as above.  The tally
 * must live until the producer was flushed. */
void tally_send(struct tally *tally, uint64_t number, smq_producer *producer, const char *topic,
                const smq_message *message);

/* Waits for all receipts. */
void tally_flush(struct tally *tally, smq_producer *producer);

#endif
