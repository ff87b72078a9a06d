/* fuzz_push.c - publications on the wake channel of a slot. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "store/store.h"

static const struct store_slot slot_inline = {.kind = 'm'};
static const struct store_slot slot_keyed = {.kind = 't', .keyed = true};

/* Do the parts lie in the publication, one behind the other? */
static void check_parts(const struct store_claimed *message, bool keyed, const char *data,
                        size_t size)
{
    const char *end = message->entry + message->entry_len;

    FUZZ_CHECK(message->entry > data && end <= data + size);
    FUZZ_CHECK(message->attempts.retries == 0 && !message->attempts.suspect);
    if (keyed) {
        FUZZ_CHECK(message->body > end && message->body + message->body_len == data + size);
        FUZZ_CHECK(message->header.first_ms >= 0);
    } else {
        FUZZ_CHECK(end == data + size && message->body == NULL);
    }
}

static void read_push(const struct store_slot *slot, const char *data, size_t size)
{
    struct store_push push;
    struct entry entry;

    if (!store_push_read(&push, slot, data, size)) {
        return;
    }
    check_parts(&push.message, slot->keyed, data, size);
    FUZZ_CHECK(push.now_ms >= 0 && push.lease_ms >= 0);
    FUZZ_CHECK(entry_decode(&entry, push.message.entry, push.message.entry_len));
    FUZZ_CHECK(entry.kind == ENTRY_CLAIMED && entry.claim == push.claim);
}

static void read_told(const char *data, size_t size)
{
    struct store_told told;

    if (store_told_read(&told, data, size)) {
        FUZZ_CHECK(told.in_ms >= 0 && size >= 2);
    }
}

FUZZ_TARGET(push)
{
    read_told((const char *) data, size);
    read_push(&slot_inline, (const char *) data, size);
    read_push(&slot_keyed, (const char *) data, size);
}
