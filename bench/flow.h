/* flow.h - an open loop: each message has a time at which it is due to be sent, however fast others
 * are handled, and its lateness counts from that time.  So a stall counts for every message that it
 * delays.
 *
 * Thread: flow_seen() from any, for each message once; the rest is main. */
#ifndef BENCH_FLOW_H
#define BENCH_FLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tally.h"

enum { FLOW_SLOTS = 64 };

/* Invariant: `sent` <= `messages`; late_ns[n] is written once, by what handles message n. */
struct flow {
    double rate; /* messages/s */
    uint64_t messages;
    int64_t later_ns; /* so much later it is to be handled */
    double give_up_s; /* stop sending when what was due so long ago is not handled; 0: never */
    int64_t start_ns; /* when message 0 is due */
    uint64_t sent;
    int64_t *late_ns;
    struct tally *tally;
    atomic_uint_fast64_t handled; /* with repeats: the tally knows better */
};

/* For `seconds` of messages. */
void flow_init(struct flow *flow, double rate, double seconds);
void flow_fini(struct flow *flow);

/* A way to send.  Its functions return false when they fail, and say why. */
struct flow_way {
    bool (*send)(void *user, uint64_t number);
    /* Nothing is due until then: wait, and do what has to be done between. */
    bool (*wait)(void *user, int64_t until_ns);
    bool (*end)(void *user); /* wait until all that was sent is stored */
};

/* Sleep until then, as a way that has nothing else to do waits. */
bool flow_sleep(void *user, int64_t until_ns);

/* When is this message due? */
int64_t flow_due_ns(const struct flow *flow, uint64_t number);

/* Send all messages, each when it is due.  false: it failed, and has printed why. */
bool flow_send(struct flow *flow, const struct flow_way *way, void *user);

/* A handler has this message of this slot. */
void flow_seen(struct flow *flow, int slot, const char *body, size_t len);

/* Wait until all that was sent is handled, or nothing was for half a minute. */
void flow_await(const struct flow *flow);

/* Lateness counts from the second in which the flow has become steady: FLOW_WARM_S. */
#define FLOW_WARM_S 0.5

struct flow_result {
    struct tally_counts counts;
    double p50_ms, p99_ms;
    double least_ms; /* the lateness of the earliest message, the warm ones too */
    /* How many seconds later messages become with each second of sending; 0.01: 1 % of them are not
     * handled in time. */
    double growth;
    bool gave_up;
};

/* When nothing handles messages of the flow any more. */
struct flow_result flow_result(const struct flow *flow);

#endif
