/* page.h - a page of messages of one slot, copied out of its reply, and how it is shown.
 *
 * Thread: page_read_send() and page_read_done() smq:io; a page is its reader's otherwise. */
#ifndef ADMIN_PAGE_H
#define ADMIN_PAGE_H

#include "admin/fanout.h"
#include "store/store.h"

/* Look at so many messages, and read about so much, a call: no call takes long, however much a slot
 * holds. */
enum { PAGE_LIMIT = 256, PAGE_BYTES = 262144 };

struct page_item; /* where the strings of a message stand in the bytes */

/* Zero is empty and valid.  What it points to stands in `bytes`, until the next page is taken. */
struct page {
    struct store_paged paged; /* count messages */
    struct store_seen *seen;
    struct page_item *items;
    size_t size; /* of the two arrays */
    struct buf bytes;
};

void page_fini(struct page *page);

/* Make a page of one message, or of none (NULL). */
void page_keep(struct page *page, const struct store_seen *seen, const char *token);

/* Which messages to read, and the last page read.  query.from points into `page`, or to what
 * outlives the reader. */
struct page_reader {
    struct core *core;
    const struct topic *topic;
    int32_t slot;
    struct store_page query;
    struct page page;
};

/* Read the next page: for a job of fanout.h.  page_read_done() answers FANOUT_STOP with `err`, or
 * FANOUT_DONE. */
void page_read_send(struct store_call *call, const struct page_reader *reader);
enum fanout_next page_read_done(struct page_reader *reader, const struct store_result *result,
                                smq_error *err);

/* Both, from the caller's thread. */
smq_status page_read(struct page_reader *reader, smq_error *err);

/* After a page: go on behind it.  false: there is no more. */
bool page_next(struct page_reader *reader);

/* A message as users see it; it borrows from its arguments.  Without a cursor. */
void page_describe(smq_message_info *out, const struct topic *topic, int32_t slot,
                   const char *token, const struct store_seen *seen);

#endif
