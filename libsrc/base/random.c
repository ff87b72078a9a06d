/* random.c - random numbers from getrandom(2), so that a fork() never repeats them.
 *
 * Thread: any. */
#include "base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

enum { DOUBLINGS_MAX = 16 };

static void random_fill(unsigned char *out, size_t len)
{
    while (len > 0) {
        ssize_t got = getrandom(out, len, 0);

        if (got < 0 && errno != EINTR) {
            abort(); /* fails only on a kernel without getrandom(2) */
        }
        if (got > 0) {
            out += got;
            len -= (size_t) got;
        }
    }
}

uint64_t random_u64(void)
{
    uint64_t value = 0;

    random_fill((unsigned char *) &value, sizeof(value));
    return value;
}

int64_t random_backoff_ms(uint64_t failures, int64_t min, int64_t max)
{
    int64_t most = failures > DOUBLINGS_MAX ? max : min << failures;

    most = most > max ? max : most;
    return min / 2 + (int64_t) (random_u64() % (uint64_t) most);
}

void random_hex(char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    if (size == 0) {
        return;
    }
    random_fill((unsigned char *) out, size - 1);
    for (size_t i = 0; i < size - 1; i++) {
        out[i] = digits[(unsigned char) out[i] & 0xf];
    }
    out[size - 1] = '\0';
}
