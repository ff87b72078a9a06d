/* fuzz_push.c - publications on the wake channels of a slot, and who sleeps in it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz/fuzz.h"
#include "store/consume.h"

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

/* Who sleeps, as the slot stores it. */
static void read_sleepers(const char *data, size_t size)
{
    char *text = memcpy(memory_new(size + 1), data, size); /* with a zero behind it */
    redisReply reply = {.type = REDIS_REPLY_STRING, .str = text, .len = size};
    const struct store_result result = {.outcome = STORE_OK, .reply = &reply};
    struct store_sleepers sleepers;

    if (store_sleepers_read(&sleepers, &result, "w1")) {
        FUZZ_CHECK(sleepers.look_ms <= sleepers.due_ms || sleepers.due_ms == -1);
    }
    free(text);
}

FUZZ_TARGET(push)
{
    read_sleepers((const char *) data, size);
    read_told((const char *) data, size);
    read_push(&slot_inline, (const char *) data, size);
    read_push(&slot_keyed, (const char *) data, size);
}
