/* expiring.h - topics that are deleted when they are not used.
 *
 * Thread: smq:io. */
#ifndef STORE_EXPIRING_H
#define STORE_EXPIRING_H

#include "store/store.h"

/* How often the producers and consumers of such a topic note in Redis that they use it. */
static inline int64_t store_use_ms(int64_t expires_ms)
{
    return expires_ms / 10;
}

/* After how long without a note the topic may be deleted: the last use can be later than its note
 * by store_use_ms(). */
static inline int64_t store_unused_ms(int64_t expires_ms)
{
    return expires_ms + store_use_ms(expires_ms);
}

/* Mark the topic as used; or ask for how long it is still to be left: 0: it may be deleted. `topic`
 * is no group.  REFUSED "DELETING". */
void store_topic_used(struct store_call *call, struct redis *redis, const char *topic,
                      const char *nonce, int64_t expires_ms, bool mark, int64_t timeout_ms);
bool store_topic_used_read(int64_t *left_ms, const struct store_result *result);

/* The list of these topics: look at one in this time; forget one; get up to STORE_DUE_MAX that are
 * to be looked at now, which no other client gets for a minute. */
enum { STORE_DUE_MAX = 16 };
void store_expiring_note(struct store_call *call, struct redis *redis, const char *topic,
                         int64_t in_ms, int64_t timeout_ms);
void store_expiring_remove(struct store_call *call, struct redis *redis, const char *topic,
                           int64_t timeout_ms);
void store_expiring_due(struct store_call *call, struct redis *redis, int64_t timeout_ms);
size_t store_expiring_due_read(char names[STORE_DUE_MAX][TOPIC_NAME_MAX + 1],
                               const struct store_result *result);

#endif
