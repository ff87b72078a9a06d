/* header.h - what layout keyed stores of a message beside its body.
 *
 *   FIRST                      ms of its first send
 *   FIRST,LIMIT,EXPIRY,REFS    retry limit of its own or nothing, ms of its expiry or nothing,
 *                              entries of store and prepare that refer to the body
 *
 * Written by the scripts alone (lua/lib/body.lua).
 *
 * Pure. */
#ifndef MODEL_HEADER_H
#define MODEL_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct header {
    int64_t first_ms;
    int32_t max_retries; /* -1: the topic's */
    int64_t expires_ms;  /* -1: never */
};

/* false: not a header. */
bool header_parse(struct header *out, const char *text, size_t len);

#endif
