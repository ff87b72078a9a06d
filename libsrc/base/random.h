/* random.h - random numbers for jitter, nonces and member names; from getrandom(2).
 *
 * Thread: any. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

uint64_t random_u64(void);

/* How long to wait after this many consecutive failures, in milliseconds: at least half of `min`,
 * and a random part of a time that doubles with each failure from `min` up to `max`.  Both are at
 * least 1. */
int64_t random_backoff_ms(uint64_t failures, int64_t min, int64_t max);

/* Fill out[0..size) with size - 1 lower-case hex digits and a NUL. */
void random_hex(char *out, size_t size);

#endif
