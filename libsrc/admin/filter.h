/* filter.h - smq_message_ref and smq_filter of the caller, checked against the topic: which message
 * or messages.
 *
 * Thread: any. */
#ifndef ADMIN_FILTER_H
#define ADMIN_FILTER_H

#include <slotmq/admin.h>

#include "admin/page.h"
#include "model/cursor.h"
#include "model/send.h"
#include "store/slot.h"

/* Refers to one message of a topic by its member in the sorted sets of its slot. */
struct message_ref {
    struct message message; /* its pointers belong to the caller */
    int32_t slot;
    const void *member;
    size_t member_len;
    bool whole;         /* it may be whole, and have another member (model/whole.h) */
    struct buf scratch; /* `member` may point into it */
};

/* Fails: INVALID (the id or body by which the layout identifies the message is missing),
 * TOO_BIG. */
smq_status message_ref_check_and_copy(struct message_ref *out, const struct topic *topic,
                                      const smq_message_ref *which, smq_error *err);
void message_ref_fini(struct message_ref *which);

/* A checked smq_filter; its strings belong to the caller. */
struct filter {
    unsigned states;
    struct message_ref which;
    bool one; /* only the message `which` */
    struct cursor cursor;
    struct buf cursor_bytes;
    bool from_cursor;
    uint64_t limit;                /* UINT64_MAX: no limit */
    int64_t rate_per_s;            /* 0: no limit */
    const char *contains, *reason; /* "": any */
    bool exact;                    /* `reason` is the whole reason; "": none was given */
    struct buf header;             /* as it is stored; empty: any */
    int64_t older_ms;              /* -1: any */
};

/* `states` is used if the filter has none.  Fails: INVALID, WRONG_TYPE, TOO_BIG. */
smq_status filter_check_and_copy(struct filter *out, const struct topic *topic,
                                 const smq_filter *filter, unsigned states, smq_error *err);
void filter_fini(struct filter *filter);

/* Must a message be looked at, in order to know whether it passes the filter? */
bool filter_looks(const struct filter *filter);

/* The first slot that passes the filter, and the one after the last. */
int32_t filter_first_slot(const struct filter *filter);
int32_t filter_end_slot(const struct filter *filter, const struct topic *topic);

/* The parts of a slot, by their numbers, in the order of visits: waiting, of these the scheduled
 * ones, claimed, resting, dead. */
enum { FILTER_PARTS = 5 };
smq_state filter_state(int part);

/* Set up a reader for the messages of a slot and part that pass the filter; false: none can. */
bool filter_begin(const struct filter *filter, struct page_reader *reader, int32_t slot, int part);

/* How many messages the part of the slot holds. */
uint64_t filter_count(const struct store_inspected *look, int part);

#endif
