/* header.h - what layout keyed stores of a message next to its body.
 *
 *   FIRST                      ms of its first send
 *   FIRST,LIMIT,EXPIRY,REFS    own retry limit or nothing, ms of its expiry or nothing, number of
 * entries of store and prepare that refer to the body.  LIMIT/BYTES: the message has headers, which
 * take that many bytes in front of its body (model/headers.h)
 *
 * Only the scripts write it (lua/lib/body.lua).
 *
 * Pure. */
#ifndef MODEL_HEADER_H
#define MODEL_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct header {
    int64_t first_ms;
    int32_t max_retries; /* -1: that of the topic */
    int64_t expires_ms;  /* -1: never */
    size_t headers_len;  /* bytes in front of the body; 0: the message has no headers */
};

/* Returns false if the text is no header. */
bool header_parse(struct header *out, const char *text, size_t len);

#endif
