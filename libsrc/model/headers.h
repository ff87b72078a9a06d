/* headers.h - the headers of a message: checked, and as they are stored.
 *
 * They are stored in front of the body as one block, in their order, each as
 *
 *   NAME NUL LEN ':' VALUE     LEN: bytes of the value, in decimal digits
 *
 * and the text beside the body says how long the block is (model/header.h).  The scripts pass it
 * on unread, but for a search (lua/page.lua).
 *
 * Pure. */
#ifndef MODEL_HEADERS_H
#define MODEL_HEADERS_H

#include <slotmq/message.h>

#include "base/buf.h"

/* The largest block: each header has a NUL, a colon, and a length of at most 4 digits. */
enum { HEADERS_BLOCK_MAX = SMQ_HEADERS_BYTES_MAX + SMQ_HEADERS_MAX * 6 };

/* Fails: INVALID (a name that is not allowed, or comes twice), TOO_BIG (too many, or too large). */
smq_status headers_check(const smq_header *headers, size_t count, smq_error *err);

/* Bytes of the block.  The headers have passed headers_check(), here and below. */
size_t headers_size(const smq_header *headers, size_t count);

/* Append the block. */
void headers_encode(struct buf *out, const smq_header *headers, size_t count);

/* Read a block.  `out` has room for SMQ_HEADERS_MAX headers, and points into the block.  Returns
 * their number; 0: this is no block of headers. */
size_t headers_decode(smq_header *out, const char *block, size_t len);

/* NULL: there is none of that name. */
const smq_header *headers_find(const smq_header *headers, size_t count, const char *name);

#endif
