/* fuzz_header.c - what is stored beside a body, and tokens. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "model/header.h"
#include "model/token.h"
#include "model/topic.h"

FUZZ_TARGET(header)
{
    const char *text = (const char *) data;
    char again[TOKEN_TEXT_LEN + 1];
    struct header header;
    struct token token;

    if (header_parse(&header, text, size)) {
        FUZZ_CHECK(header.first_ms >= 0 && header.expires_ms >= -1);
        FUZZ_CHECK(header.max_retries >= -1 && header.max_retries <= TOPIC_RETRIES_MAX);
    }
    if (token_parse(&token, text, size)) {
        token_format(again, token);
        FUZZ_CHECK(size == TOKEN_TEXT_LEN && memcmp(again, text, size) == 0);
    }
}
