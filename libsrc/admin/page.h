/* page.h - a page of messages of one slot, copied out of its reply, and how it is shown.
 *
 * Thread: seen_send() and seen_take() smq:io; a page is its reader's otherwise. */
#ifndef ADMIN_PAGE_H
#define ADMIN_PAGE_H

#include "admin/fanout.h"
#include "store/store.h"

/* Look at so many messages, and read about so much, a call: no call takes long, however much a slot
 * holds. */
enum { SEEN_LIMIT = 256, SEEN_BYTES = 262144 };

struct seen_item; /* where the strings of a message stand in the bytes */

/* Zero is empty and valid.  What it points to stands in `bytes`, until the next page is taken. */
struct seen_page {
    struct store_paged paged; /* count messages */
    struct store_seen *seen;
    struct seen_item *items;
    size_t size; /* of the two arrays */
    struct buf bytes;
};

void seen_fini(struct seen_page *page);

/* Copy a reply.  false: it cannot be read. */
bool seen_take(struct seen_page *page, const struct store_result *result,
               const struct store_slot *slot, const struct store_page *query);

/* Make a page of one message, or of none (NULL). */
void seen_keep(struct seen_page *page, const struct store_seen *seen, const char *token);

/* Which messages to read, and the last page read.  query.from points into `page`, or to what
 * outlives the reader. */
struct seen_reader {
    struct core *core;
    const struct topic *topic;
    int32_t slot;
    struct store_page query;
    struct seen_page page;
};

/* Read the next page: for a job of fanout.h.  seen_read_done() answers CALLS_STOP with `err`, or
 * CALLS_DONE. */
void seen_read_send(struct store_call *call, const struct seen_reader *reader);
enum calls_next seen_read_done(struct seen_reader *reader, const struct store_result *result,
                               smq_error *err);

/* Both, from the caller's thread. */
smq_status seen_read(struct seen_reader *reader, smq_error *err);

/* After a page: go on behind it.  false: there is no more. */
bool seen_next(struct seen_reader *reader);

/* A message as users see it; it borrows from its arguments.  Without a cursor. */
void seen_describe(smq_message_info *out, const struct topic *topic, int32_t slot,
                   const char *token, const struct store_seen *seen);

#endif
