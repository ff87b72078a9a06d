/* page.h - a page of messages of one slot: copied from a reply, and described for users.
 *
 * Thread: page_read_send() and page_copy_reply() run on smq:io; otherwise a page belongs to its
 * reader. */
#ifndef ADMIN_PAGE_H
#define ADMIN_PAGE_H

#include "admin/fanout.h"
#include "model/tries.h"
#include "store/message.h"

/* How many messages a call inspects, and about how many bytes it reads, so that no call takes
 * long. */
enum { PAGE_LIMIT = 256, PAGE_BYTES = 262144 };

struct page_item; /* offsets of a message's strings in `bytes` */

/* A zeroed page is empty and valid.  Its pointers point into `bytes`, until the next page is
 * copied. */
struct page {
    struct store_paged paged; /* its `count` is the number of messages */
    struct store_page_row *rows;
    struct page_item *items;
    size_t size; /* of the two arrays */
    struct buf bytes;
    /* of the message that was described last */
    smq_header headers[SMQ_HEADERS_MAX];
    struct tries tries;
};

void page_fini(struct page *page);

/* Make a page that holds one message, or none (NULL). */
void page_set_one(struct page *page, const struct store_page_row *row,
                  const struct store_holder *holder);

/* Which messages to read, and the last page that was read.  query.from points into `page`, or to
 * memory that outlives the reader. */
struct page_reader {
    struct core *core;
    const struct topic *topic;
    int32_t slot;
    struct store_page query;
    struct page page;
};

/* Read the next page as a call of fanout.h; `user` is a struct page_reader.  page_read_done()
 * returns FANOUT_STOP with `err` filled, or FANOUT_DONE. */
void page_read_send(struct store_call *call, void *user);
enum fanout_next page_read_done(const struct store_result *result, void *user, smq_error *err);

/* Read the next page.  Thread: the caller's, which waits. */
smq_status page_read(struct page_reader *reader, smq_error *err);

/* Continue after the page; false: there are no more messages. */
bool page_next(struct page_reader *reader);

/* Describe a message of the page for users.  The result borrows from the arguments, its headers
 * and tries until the next message is described, and has no cursor. */
void page_describe(smq_message_info *out, struct page *page, size_t index,
                   const struct topic *topic, int32_t slot);

#endif
