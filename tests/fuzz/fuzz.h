/* fuzz.h - what the targets share.  A target reads bytes as the library reads them from a server, a
 * znode or a user, and checks what the reader promises.
 *
 * Linked with libFuzzer it is given inputs without end; with replay.c those of tests/fuzz/corpus.
 *
 * Pure. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <hiredis/hiredis.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stop, with where, unless `condition` holds: also where assert() does not look. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void) fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Call `read` with a reply: that which the bytes describe, or none when they do not.  A line is an
 * element: "$text", "+status", "-error", ":17", "_" for nil, "(" and ")" around the elements of an
 * array; others are left out.  The reply goes through the reader of the library. */
typedef void fuzz_reply_fn(const redisReply *reply, void *user);
void fuzz_reply(const uint8_t *data, size_t size, fuzz_reply_fn *read, void *user);

#endif
