/* filter.h - which message, and which messages: what callers of the public API say, checked
 * against the topic.
 *
 * Thread: any. */
#ifndef ADMIN_FILTER_H
#define ADMIN_FILTER_H

#include <slotmq/admin.h>

#include "admin/page.h"
#include "model/cursor.h"

/* One message of a topic: by what it has in the sorted sets of its slot. */
struct message_ref {
    smq_message message; /* its lengths resolved; pointers are the caller's */
    int32_t slot;
    const void *member;
    size_t member_len;
    struct buf scratch; /* what `member` may point to */
};

/* Fails: INVALID (what names it in the topic's layout is missing), TOO_BIG. */
smq_status message_ref_take(struct message_ref *out, const struct topic *topic,
                            const smq_message *message, smq_error *err);
void message_ref_fini(struct message_ref *which);

/* A checked smq_filter; its strings are the caller's. */
struct filter {
    unsigned states;
    struct message_ref which;
    bool one; /* just `which` */
    struct cursor cursor;
    struct buf cursor_bytes;
    bool from_cursor;
    uint64_t limit;                /* UINT64_MAX: none */
    int64_t rate_per_s;            /* 0: none */
    const char *contains, *reason; /* "": any */
    int64_t older_ms;              /* -1: any */
};

/* `states` when the filter gives none.  Fails: INVALID, WRONG_TYPE, TOO_BIG. */
smq_status filter_take(struct filter *out, const struct topic *topic, const smq_filter *filter,
                       unsigned states, smq_error *err);
void filter_fini(struct filter *filter);

/* The slots that it lets through. */
int32_t filter_first_slot(const struct filter *filter);
int32_t filter_end_slot(const struct filter *filter, const struct topic *topic);

/* Ask for the messages of a slot and state from the first that it lets through.  false: for none.
 */
bool filter_begin(const struct filter *filter, struct page_reader *reader, int32_t slot,
                  smq_state state);

/* The states in their order: waiting, claimed, resting, dead. */
enum { FILTER_STATES = 4 };
extern const smq_state filter_states[FILTER_STATES];

/* How many messages of a state a look found. */
uint64_t filter_count(const struct store_look *look, smq_state state);

#endif
