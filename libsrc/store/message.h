/* message.h - the messages of a slot: a page of them, one of them, and edits.
 *
 * Thread: smq:io. */
#ifndef STORE_MESSAGE_H
#define STORE_MESSAGE_H

#include <slotmq/message.h>

#include "model/entry.h"
#include "model/header.h"
#include "model/token.h"
#include "store/store.h"

/* --- messages of a slot --- */

/* Where a walk continues: after the message with this score and name.  name_len 0: at the first
 * message. */
struct store_position {
    const char *score;
    const char *name; /* member of the store, or entry */
    size_t name_len;
};
/* Which messages to read; empty strings and lengths of 0 mean any. */
struct store_page {
    smq_state state;
    bool scheduled; /* those that wait and are scheduled; else those that wait and are not */
    struct store_position from;
    int32_t limit;     /* messages to inspect, at most STORE_PAGE_MAX */
    int64_t max_bytes; /* about how many bytes to read; at least one message is read */
    bool bodies;       /* keyed: read the bodies, too */
    const char *member;
    size_t member_len;
    bool whole; /* that message may be whole (model/whole.h) */
    const char *contains, *reason;
    bool exact;         /* `reason` is the whole reason; "": none was given */
    const void *header; /* a header that it has, as headers_encode() writes it */
    size_t header_len;
    int64_t older_ms; /* -1: any */
};
enum { STORE_PAGE_MAX = 1000 };
/* Whose the claims of a slot are. */
struct store_holder {
    char token[TOKEN_TEXT_LEN + 1]; /* "" if the topic is shared */
    char owner[STORE_OWNER_MAX];    /* "": none, or the topic is shared */
    uint64_t base;                  /* the owner's claims have larger numbers */
    /* If its claim is among the messages of the reply, into which its entry points. */
    struct store_note note;
};
/* The result of reading a page; valid only during `done`. */
struct store_paged {
    int64_t now_ms;
    struct store_holder holder;
    bool more; /* there are messages after `next` */
    /* the last message inspected; if there is none, the given position */
    struct store_position next;
    size_t count;
};
void store_page(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct store_page *page, int64_t timeout_ms);
bool store_page_read(struct store_paged *out, const struct store_result *result,
                     const struct store_slot *slot, const struct store_page *page);
/* A message of a page; points into the reply. */
struct store_page_row {
    smq_state state;
    bool scheduled; /* it waits for its time, in a priority topic */
    const char *name, *score;
    size_t name_len;
    struct entry entry; /* waiting: only member and before-image */
    /* integer part of the score: time, place, end of the lease or rest, time for which it is
     * scheduled, or time of death */
    int64_t integer;
    struct attempts attempts;
    bool noted;         /* it is claimed, and the note of its slot is of this claim */
    const char *reason; /* why it failed last; "": no reason.  Behind its NUL: model/tries.h */
    size_t reason_len;  /* with what is behind it */
    /* keyed */
    const char *stored; /* the first header.headers_len bytes are its headers, the rest the body */
    size_t stored_len;  /* 0: it was not read */
    struct header header; /* first_ms 0: no header is stored */
};
bool store_page_message(struct store_page_row *out, const struct store_result *result,
                        const struct store_slot *slot, const struct store_page *page,
                        const struct store_holder *holder, size_t index);

/* Find a message: among the waiting ones, then part by part among the claimed, the resting and the
 * dead ones. */
enum { STORE_FIND_MAX = 1000 };
struct store_find {
    const char *member;
    size_t member_len;
    bool whole; /* it may be whole (model/whole.h) */
    char where; /* where to continue; 0: at the begin */
    struct store_position from;
};
struct store_found {
    int64_t now_ms;
    struct store_holder holder;
    bool found;
    struct store_page_row row; /* if found; points into the reply */
    /* not found yet: continue with `next`, which points into the reply */
    bool more;
    struct store_find next;
};
void store_find(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct store_find *find, int64_t timeout_ms);
bool store_find_read(struct store_found *out, const struct store_result *result,
                     const struct store_slot *slot, const struct store_find *find);

/* How many waiting messages of its slot come before a message (REFUSED with status NO_MESSAGE: it
 * does not wait), and how many of another slot come before it, by its score. */
enum { STORE_SCORE_MAX = 40 };
void store_rank(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const void *member, size_t member_len, int64_t timeout_ms);
void store_rank_elsewhere(struct store_call *call, struct redis *redis,
                          const struct store_slot *slot, const char *score, int64_t timeout_ms);
bool store_rank_read(uint64_t *count, char score[STORE_SCORE_MAX],
                     const struct store_result *result);

/* --- editing --- */

/* Begin a call with one of these, add up to 1,000 names as in store_page_row, and send it.  Remove:
 * messages of one state, not claimed ones.  Requeue: dead ones. */
void store_remove_begin(struct store_call *call, const struct store_slot *slot, smq_state state,
                        bool scheduled);
void store_requeue_begin(struct store_call *call, const struct store_slot *slot);
void store_edit_add(struct store_call *call, const void *name, size_t len);
void store_edit(struct store_call *call, struct redis *redis, int64_t timeout_ms);
/* Give a waiting message another time, priority or place; `when` as for a send.  REFUSED with
 * status FULL. */
void store_reschedule(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const void *member, size_t len, const char *when, int64_t timeout_ms);
/* *results has one character per name: '1' done, '0' gone; valid only during `done`. */
bool store_edit_read(const char **results, const struct store_result *result, size_t count);

#endif
