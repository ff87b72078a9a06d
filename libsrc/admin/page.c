/* page.c - a page of messages of one slot, copied out of its reply, and how it is shown.
 *
 * Thread: as page.h says. */
#include "admin/page.h"

#include <stdlib.h>
#include <string.h>

#include "admin/fail.h"
#include "base/memory.h"
#include "model/member.h"

struct page_item {
    size_t name_at, score_at, reason_at, body_at;
};

void page_fini(struct page *page)
{
    free(page->seen);
    free(page->items);
    buf_fini(&page->bytes);
    *page = (struct page){0};
}

/* With a NUL behind it; where it stands. */
static size_t page_copy(struct buf *bytes, const void *data, size_t len)
{
    size_t at = bytes->len;

    if (len > 0) {
        buf_add(bytes, data, len);
    }
    buf_add(bytes, "", 1);
    return at;
}

static void page_copy_seen(struct page *page, size_t index)
{
    const struct store_seen *seen = &page->seen[index];

    page->items[index] =
        (struct page_item){.name_at = page_copy(&page->bytes, seen->name, seen->name_len),
                           .score_at = page_copy(&page->bytes, seen->score, strlen(seen->score)),
                           .reason_at = page_copy(&page->bytes, seen->reason, strlen(seen->reason)),
                           .body_at = page_copy(&page->bytes, seen->body, seen->body_len)};
}

/* The bytes moved while they grew. */
static void page_point_to_kept(struct page *page, size_t index)
{
    const struct page_item *item = &page->items[index];
    struct store_seen *seen = &page->seen[index];
    const char *data = page->bytes.data;

    seen->entry.member = data + item->name_at + (seen->entry.member - seen->name);
    seen->name = data + item->name_at;
    seen->score = data + item->score_at;
    seen->reason = data + item->reason_at;
    seen->body = data + item->body_at;
}

static void page_make_room(struct page *page, size_t count)
{
    if (page->size < count) {
        page->seen = memory_grow(page->seen, count, sizeof(*page->seen));
        page->items = memory_grow(page->items, count, sizeof(*page->items));
        page->size = count;
    }
}

/* Copy a reply.  false: it cannot be read. */
static bool page_take(struct page *page, const struct store_result *result,
                      const struct store_slot *slot, const struct store_page *query)
{
    struct store_paged paged;
    size_t score_at, name_at;

    if (!store_page_read(&paged, result, slot, query)) {
        return false;
    }
    page->paged.count = 0;
    buf_clear(&page->bytes);
    page_make_room(page, paged.count);
    for (size_t i = 0; i < paged.count; i++) {
        if (!store_page_message(&page->seen[i], result, slot, query->state, i)) {
            return false;
        }
        page_copy_seen(page, i);
    }
    score_at = page_copy(&page->bytes, paged.next.score, strlen(paged.next.score));
    name_at = page_copy(&page->bytes, paged.next.name, paged.next.name_len);
    for (size_t i = 0; i < paged.count; i++) {
        page_point_to_kept(page, i);
    }
    page->paged = paged;
    page->paged.next.score = page->bytes.data + score_at;
    page->paged.next.name = page->bytes.data + name_at;
    return true;
}

void page_keep(struct page *page, const struct store_seen *seen, const char *token)
{
    buf_clear(&page->bytes);
    page->paged = (struct store_paged){.count = seen != NULL ? 1 : 0};
    memcpy(page->paged.token, token, strlen(token) + 1);
    if (seen != NULL) {
        page_make_room(page, 1);
        page->seen[0] = *seen;
        page_copy_seen(page, 0);
        page_point_to_kept(page, 0);
    }
}

/* --- reading --- */

void page_read_send(struct store_call *call, const struct page_reader *reader)
{
    struct store_slot slot;

    store_slot_fill(&slot, reader->topic, reader->slot);
    store_page(call, reader->core->redis, &slot, &reader->query, 0);
}

enum fanout_next page_read_done(struct page_reader *reader, const struct store_result *result,
                                smq_error *err)
{
    struct store_slot slot;

    store_slot_fill(&slot, reader->topic, reader->slot);
    if (result->outcome == STORE_OK && page_take(&reader->page, result, &slot, &reader->query)) {
        return FANOUT_DONE;
    }
    return admin_fail(err, reader->topic, reader->slot, result);
}

static void page_reader_send(struct store_call *call, void *user)
{
    page_read_send(call, user);
}

static enum fanout_next page_reader_done(const struct store_result *result, void *user,
                                         smq_error *err)
{
    return page_read_done(user, result, err);
}

smq_status page_read(struct page_reader *reader, smq_error *err)
{
    return fanout_one(reader->core, page_reader_send, page_reader_done, reader, err);
}

bool page_next(struct page_reader *reader)
{
    reader->query.from = reader->page.paged.next;
    return reader->page.paged.more;
}

/* --- showing --- */

static void page_describe_time(smq_message_info *out, const struct topic *topic,
                               const struct store_seen *seen)
{
    if (topic->type == SMQ_TYPE_PRIORITY) {
        out->priority = entry_priority(topic_kind(topic), seen->entry.before);
    } else if (topic->type != SMQ_TYPE_FIFO) {
        out->due_at_ms = seen->entry.before;
    }
    if (seen->state == SMQ_STATE_RESTING) {
        out->due_at_ms = seen->integer;
    } else if (seen->state == SMQ_STATE_CLAIMED) {
        out->lease_at_ms = seen->integer;
    } else if (seen->state == SMQ_STATE_DEAD) {
        out->dead_at_ms = seen->integer;
    }
}

/* What waits or rests was delivered as often as it used retries; what is claimed or dead once more
 * than that. */
static void page_describe_attempts(smq_message_info *out, const struct topic *topic,
                                   const struct store_seen *seen)
{
    bool own_limit = topic->layout == SMQ_LAYOUT_KEYED && seen->header.max_retries >= 0;
    int32_t limit = own_limit ? seen->header.max_retries : topic->max_retries;
    bool in_delivery = seen->state == SMQ_STATE_CLAIMED || seen->state == SMQ_STATE_DEAD;

    out->attempt = seen->attempts.retries + (in_delivery ? 1 : 0);
    out->retries_left = limit > seen->attempts.retries ? limit - seen->attempts.retries : 0;
}

/* Of what is no member all bytes are the id. */
static void page_describe_member(smq_message_info *out, const struct store_seen *seen)
{
    struct member member;

    if (!member_decode(&member, seen->entry.member, seen->entry.member_len)) {
        member = (struct member){.id = seen->entry.member, .id_len = seen->entry.member_len};
    }
    out->key = (smq_bytes){member.key, member.key_len};
    out->id.data = out->body.data = member.id;
    out->id.len = out->body.len = member.id_len;
}

static void page_describe_keyed(smq_message_info *out, const struct store_seen *seen)
{
    if (out->key.data == NULL) {
        out->key = out->id;
    }
    out->body = (smq_bytes){seen->body, seen->body_len};
    out->sent_at_ms = seen->header.first_ms;
    out->expires_at_ms = seen->header.expires_ms > 0 ? seen->header.expires_ms : 0;
}

void page_describe(smq_message_info *out, const struct topic *topic, int32_t slot,
                   const char *token, const struct store_seen *seen)
{
    *out = (smq_message_info){.struct_size = sizeof(*out),
                              .topic = topic->name,
                              .slot = slot,
                              .state = seen->state,
                              .token = token,
                              .reason = seen->reason,
                              .cursor = ""};
    page_describe_member(out, seen);
    if (topic->layout == SMQ_LAYOUT_KEYED) {
        page_describe_keyed(out, seen);
    }
    page_describe_time(out, topic, seen);
    page_describe_attempts(out, topic, seen);
}
