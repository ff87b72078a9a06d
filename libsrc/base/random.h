/* random.h - random numbers for jitter, nonces and member names; from getrandom(2).
 *
 * Thread: any. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

uint64_t random_u64(void);

/* Fill out[0..size) with size - 1 lower-case hex digits and a NUL. */
void random_hex(char *out, size_t size);

#endif
