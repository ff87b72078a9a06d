/* fuzz_header.c - what is stored beside a body and in front of it, and tokens. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "model/header.h"
#include "model/headers.h"
#include "model/token.h"
#include "model/topic.h"

/* A block of headers that is read is written again as it was. */
static void check_block(const char *text, size_t size)
{
    smq_header headers[SMQ_HEADERS_MAX];
    size_t count = headers_decode(headers, text, size);
    struct buf again = {0};

    FUZZ_CHECK(count <= SMQ_HEADERS_MAX);
    if (count > 0) {
        headers_encode(&again, headers, count);
        FUZZ_CHECK(again.len == size && memcmp(again.data, text, size) == 0);
        FUZZ_CHECK(headers_size(headers, count) == size);
    }
    buf_fini(&again);
}

FUZZ_TARGET(header)
{
    const char *text = (const char *) data;
    char again[TOKEN_TEXT_LEN + 1];
    struct header header;
    struct token token;

    if (header_parse(&header, text, size)) {
        FUZZ_CHECK(header.first_ms >= 0 && header.expires_ms >= -1);
        FUZZ_CHECK(header.max_retries >= -1 && header.max_retries <= TOPIC_RETRIES_MAX);
        FUZZ_CHECK(header.headers_len <= HEADERS_BLOCK_MAX);
    }
    check_block(text, size);
    if (token_parse(&token, text, size)) {
        token_format(again, token);
        FUZZ_CHECK(size == TOKEN_TEXT_LEN && memcmp(again, text, size) == 0);
    }
}
