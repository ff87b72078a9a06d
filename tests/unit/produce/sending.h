/* sending.h - one topic "orders" (fixed_time, 4 slots) on a model of the servers behind the fake of
 * the Redis client, a client of it, and sends that are counted.
 *
 * Thread: the test's, unless a function says more. */
#ifndef SENDING_H
#define SENDING_H

#include <pthread.h>
#include <slotmq/producer.h>

#include "model/topic.h"

enum { WAIT_MS = 30000 };

/* What happens to a send. */
enum sending_fault {
    FAULT_NONE,
    FAULT_LOST_BEFORE, /* no reply, not executed */
    FAULT_LOST_AFTER,  /* no reply, executed */
    FAULT_NOT_DONE,    /* no server */
    FAULT_OOM,
    FAULT_SCRIPT_ERROR
};

struct sending_stored {
    int32_t slot;
    char body[64]; /* its beginning */
};

enum { SENDING_RECORDS_MAX = 64 };

/* What a slot remembers of a producer: its last request. */
struct sending_record {
    char producer[32]; /* "": this one and those behind it are free */
    int32_t slot;
    uint64_t last;
    size_t count;
    char results[512];
};

/* What was stored, in order, and how the next commands are met.  The lock of the fake guards all
 * but the client. */
extern struct sending {
    smq_client *client;
    bool exists, hold, hold_reads, garbled;
    struct topic topic;
    enum sending_fault fault;
    int faulty;     /* this many sends more; -1: all */
    int32_t broken; /* a slot without a definition; -1: none */
    int sends, reads;
    int reads_most; /* reads of the definition after these are held back; 0: none */
    size_t count, largest;
    struct sending_stored *stored;
    struct sending_record records[SENDING_RECORDS_MAX];
} sending;

int sending_set_up(void **state);
int sending_tear_down(void **state);
#define SENDING_TEST(test) cmocka_unit_test_setup_teardown(test, sending_set_up, sending_tear_down)

/* Create the topic anew; delete it; let one slot be without a definition (-1: none). */
void sending_topic(int32_t slots, const char *nonce);
void sending_delete(void);

/* The same, and what the slots answer when they are asked for the topic cannot be read. */
void sending_delete_garbled(void);
void sending_break(int32_t slot);

/* The next `count` sends meet this; -1: all. */
void sending_fault(enum sending_fault fault, int count);

/* Hold sends, or reads of the definition, back, or let them go.  Thread: any. */
void sending_hold(bool hold);
void sending_hold_reads(bool hold);

/* Let this many reads of the definition more pass, and hold back those after them. */
void sending_hold_reads_after(int count);

smq_producer *sending_producer(const smq_producer_options *options);
smq_message sending_message(const char *body, const char *key);

/* Receipts of asynchronous sends, counted by status. */
struct sending_receipts {
    pthread_mutex_t lock;
    int ok, merged, other, total;
    smq_status last;
};

/* Thread: smq:call. */
void sending_on_sent(const smq_receipt *receipt, void *user);

/* Send KEY-from ... KEY-(to - 1) without waiting.  Thread: any. */
void sending_numbered(smq_producer *producer, int from, int to, const char *key,
                      struct sending_receipts *receipts);
void sending_flush(smq_producer *producer);

/* Were KEY-0 ... KEY-(count - 1) stored in this order? */
void sending_assert_in_order(const char *key, int count);

#endif
