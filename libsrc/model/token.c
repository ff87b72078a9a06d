/* token.c - the fencing token of a slot's owner.
 *
 * Pure. */
#include "model/token.h"

#include <inttypes.h>
#include <stdio.h>

enum { GENERATION_LEN = 8, EPOCH_LEN = 16 };

void token_format(char out[TOKEN_TEXT_LEN + 1], struct token token)
{
    snprintf(out, TOKEN_TEXT_LEN + 1, "%08" PRIx32 "%016" PRIx64, token.generation, token.epoch);
}

/* The value of `len` <= 16 lower-case hex digits. */
static bool token_hex(uint64_t *out, const char *text, size_t len)
{
    uint64_t value = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            value = value << 4 | (uint64_t) (text[i] - '0');
        } else if (text[i] >= 'a' && text[i] <= 'f') {
            value = value << 4 | (uint64_t) (text[i] - 'a' + 10);
        } else {
            return false;
        }
    }
    *out = value;
    return true;
}

bool token_parse(struct token *out, const char *text, size_t len)
{
    uint64_t generation = 0;
    uint64_t epoch = 0;

    if (len != TOKEN_TEXT_LEN || !token_hex(&generation, text, GENERATION_LEN) ||
        !token_hex(&epoch, text + GENERATION_LEN, EPOCH_LEN)) {
        return false;
    }
    out->generation = (uint32_t) generation;
    out->epoch = epoch;
    return true;
}

int token_compare(struct token a, struct token b)
{
    if (a.generation != b.generation) {
        return a.generation < b.generation ? -1 : 1;
    }
    if (a.epoch != b.epoch) {
        return a.epoch < b.epoch ? -1 : 1;
    }
    return 0;
}
