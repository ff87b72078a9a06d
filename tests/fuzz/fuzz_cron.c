/* fuzz_cron.c - cron expressions: what is taken has a next time, which it names. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "model/cron.h"

FUZZ_TARGET(cron)
{
    char *text = calloc(1, size + 1);
    struct cron cron;
    smq_error err;

    if (text == NULL) {
        abort();
    }
    memcpy(text, data, size);
    if (cron_parse(&cron, text, &err) == SMQ_OK) {
        const int64_t first = cron_after(&cron, 1764443040);
        const int64_t second = cron_after(&cron, first);

        FUZZ_CHECK(first > 1764443040 && second > first && second != CRON_NEVER);
        FUZZ_CHECK(cron_after(&cron, first - 1) == first &&
                   cron_after(&cron, second - 1) == second);
    } else {
        FUZZ_CHECK(err.status == SMQ_INVALID && err.text[0] != '\0');
    }
    free(text);
}
