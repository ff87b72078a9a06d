/* pace.h - when requests that wait for company may leave.
 *
 * What is ready leaves together: this is a flush.  The next one waits until a reply to a request of
 * the last one has come, but never longer than a quarter of the linger time, because a message
 * waits several times: to be sent, to be claimed, and to be answered.  So what comes rarely leaves
 * at once, and the more Redis has to do, the more leaves together.
 *
 * A request for which nothing waits may linger: it leaves with the next flush, or a little later on
 * its own.  While the answers of a slot linger, a new message of the slot would have to wait, so
 * they linger only for a small part of the time between its messages, and never longer than the
 * linger time.
 *
 * Pure. */
#ifndef MODEL_PACE_H
#define MODEL_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Times are microseconds of one clock. */
struct pace {
    int64_t linger_us;  /* the longest of all waits; 0: nothing waits */
    int64_t flushed_us; /* the last flush; -1: none yet */
    bool answered;      /* a reply to the last flush has come */
};

void pace_init(struct pace *pace, int64_t linger_ms);

/* The longest time between two flushes. */
int64_t pace_together_us(const struct pace *pace);

/* From when on is what is ready flushed?  0: now. */
int64_t pace_opens_us(const struct pace *pace);

/* How long may answers linger, if the messages of their slot come so far apart? */
int64_t pace_linger_us(const struct pace *pace, int64_t apart_us);

/* Requests leave now. */
void pace_flush(struct pace *pace, int64_t now_us);

/* A reply has come to a request that left at `flushed_us`. */
void pace_answered(struct pace *pace, int64_t flushed_us);

#endif
