/* tally.h - what became of many sends: how many are stored, and the first that failed.
 *
 * Thread: any; receipts come on smq:call. */
#ifndef CLI_TALLY_H
#define CLI_TALLY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

#include "cli/text/exit.h"

enum { TALLY_FAILED_MOST = 8 };

/* Sends have numbers; `number` is that of the first that failed, and `code` tells whether one did.
 * All but the lock is guarded by the lock. */
struct tally {
    pthread_mutex_t lock;
    uint64_t sent;
    uint64_t merged;
    uint64_t duplicates; /* refused, because their ids were handled or are being handled */
    enum exit_code code;
    uint64_t number;
    char text[256];
    uint64_t last; /* the largest number of those that were stored or are duplicates */
    size_t failures;
    uint64_t failed[TALLY_FAILED_MOST]; /* the numbers of the first `failures` that failed */
};

enum { TALLY_COUNTS_SIZE = 128, TALLY_CONTINUE_SIZE = 256 };

#define TALLY_INIT                                                                                 \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }

/* Send `number` has failed, or was not tried. */
void tally_failed(struct tally *tally, uint64_t number, enum exit_code code, const char *text);
bool tally_has_failed(struct tally *tally);

/* How to send the lines again that were not stored, and no other: "; to continue: --skip 4"; or "".
 * A line that cannot be stored is left out.  `out` has TALLY_CONTINUE_SIZE bytes. */
void tally_continue(char *out, const struct tally *tally);

/* One that is stored. */
void tally_count(struct tally *tally, const smq_receipt *receipt);

/* "sent 3 merged 1", and behind it "duplicate 2" if there are any; `verb` is "sent". */
void tally_counts(char out[TALLY_COUNTS_SIZE], const struct tally *tally, const char *verb);

/* The exit code of a command none of whose sends failed: that of a duplicate if there is one. */
enum exit_code tally_code(const struct tally *tally);

/* Says these counts, and why there are duplicates; gives the exit code. */
enum exit_code tally_say_duplicates(const struct tally *tally, const char *counts);

/* Sends it without waiting for its receipt, which the tally counts; `number` as above.  A duplicate
 * is counted and is no failure, so that others can follow it.  The tally must live until the
 * producer was flushed. */
void tally_send(struct tally *tally, uint64_t number, smq_producer *producer, const char *topic,
                const smq_message *message);
void tally_restore(struct tally *tally, uint64_t number, smq_producer *producer, const char *topic,
                   const smq_message_copy *copy);

/* Waits for all receipts. */
void tally_flush(struct tally *tally, smq_producer *producer);

#endif
