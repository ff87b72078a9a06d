/* fuzz_tries.c - the history of tries behind a reason. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "model/tries.h"

FUZZ_TARGET(tries)
{
    char *stored = calloc(1, size + 1); /* as in a reply, a NUL stands behind it */
    struct tries tries;

    if (stored == NULL) {
        abort();
    }
    memcpy(stored, data, size);
    tries_decode(&tries, stored, size);
    FUZZ_CHECK(tries.count <= SMQ_TRIES_MAX);
    for (size_t i = 0; i < tries.count; i++) {
        FUZZ_CHECK(strcmp(smq_try_how_name(tries.item[i].how), "unknown") != 0);
        FUZZ_CHECK(tries.item[i].at_ms >= 0);
        FUZZ_CHECK(strlen(tries.item[i].reason) <= SMQ_REASON_MAX);
    }
    free(stored);
}
