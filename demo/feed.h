/* feed.h - the demo's sender: the packages of this machine, round after round, to all three topics.
 *
 * Thread: main may call everything; a thread of the feed sends. */
#ifndef DEMO_FEED_H
#define DEMO_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

struct feed;

/* Read the package list and begin to send `per_second` messages per second.  Every acknowledged
 * send is appended to the history at `path`.  NULL: no packages, or no sender; the reason went to
 * stderr. */
struct feed *feed_start(smq_client *client, const char *path, int per_second);

/* Messages acknowledged so far, and the always failing ones among them. */
uint64_t feed_sent(const struct feed *feed);
uint64_t feed_failing(const struct feed *feed);

/* End after the round in work, wait for every acknowledgement.  false: a send failed (its reason
 * went to stderr). */
bool feed_stop(struct feed *feed);

/* Also of a feed that still sends: what it has sent may then stay without an acknowledgement. */
void feed_free(struct feed *feed);

#endif
