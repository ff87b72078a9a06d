/* rules.c - see rules.h.
 *
 * Pure. */
#include "rules.h"

#include <zlib.h>

const char *const rules_topics[RULES_TOPICS] = {"demo.merge", "demo.priority", "demo.time"};

static unsigned long checksum(const void *body, size_t len)
{
    return crc32(0, body, (unsigned) len);
}

bool rules_always_fails(const void *body, size_t len)
{
    return checksum(body, len) % 5000 == 7;
}

bool rules_fails_first(const void *body, size_t len)
{
    return checksum(body, len) % 10 == 3;
}
