/* push.c - publications in which the script `send` hands a claimed message to its owner.
 *
 *   TOKEN NOW LEASE ENTRY_LEN HEADER_LEN\n   then the entry, the header and the body
 *
 * lua/send.lua writes them.
 *
 * Pure. */
#include <string.h>

#include "model/number.h"
#include "store/consume.h"

/* What is left to read. */
struct push_text {
    const char *data;
    size_t len;
};

static void push_skip(struct push_text *text, size_t len)
{
    text->data += len;
    text->len -= len;
}

static bool push_read_token(struct token *out, struct push_text *text)
{
    if (text->len < TOKEN_TEXT_LEN || !token_parse(out, text->data, TOKEN_TEXT_LEN)) {
        return false;
    }
    push_skip(text, TOKEN_TEXT_LEN);
    return true;
}

/* A byte and a number after it. */
static bool push_read_number(int64_t *out, struct push_text *text, char before)
{
    size_t digits;

    if (text->len == 0 || text->data[0] != before) {
        return false;
    }
    push_skip(text, 1);
    digits = number_read_prefix(out, text->data, text->len, INT64_MAX);
    push_skip(text, digits);
    return digits > 0;
}

/* The next `len` bytes; NULL: there are fewer. */
static const char *push_read_bytes(struct push_text *text, int64_t len)
{
    const char *data = text->data;

    if ((uint64_t) len > text->len) {
        return NULL;
    }
    push_skip(text, (size_t) len);
    return data;
}

static bool push_read_entry(struct store_push *out, struct push_text *text, int64_t len)
{
    const char *data = push_read_bytes(text, len);
    struct entry entry;

    if (data == NULL || !entry_decode(&entry, data, (size_t) len) || entry.kind != ENTRY_CLAIMED) {
        return false;
    }
    out->claim = entry.claim;
    out->message.entry = data;
    out->message.entry_len = (size_t) len;
    return true;
}

/* Layout keyed has a header and a body, layout inline and whole messages none. */
static bool push_read_body(struct store_claimed *out, struct push_text *text, int64_t header_len,
                           const struct store_slot *slot)
{
    const char *header = push_read_bytes(text, header_len);

    if (!slot->keyed) {
        return header_len == 0 && text->len == 0;
    }
    return header != NULL &&
           store_claimed_fill(out, slot, &(smq_bytes){header, (size_t) header_len},
                              &(smq_bytes){text->data, text->len});
}

bool store_push_read(struct store_push *out, const struct store_slot *slot, const char *data,
                     size_t len)
{
    struct push_text text = {.data = data, .len = len};
    int64_t entry_len, header_len;

    memset(out, 0, sizeof(*out));
    if (!push_read_token(&out->token, &text) || !push_read_number(&out->now_ms, &text, ' ') ||
        !push_read_number(&out->lease_ms, &text, ' ') ||
        !push_read_number(&entry_len, &text, ' ') || !push_read_number(&header_len, &text, ' ') ||
        text.len == 0 || text.data[0] != '\n') {
        return false;
    }
    push_skip(&text, 1);
    return push_read_entry(out, &text, entry_len) &&
           push_read_body(&out->message, &text, header_len, slot);
}
