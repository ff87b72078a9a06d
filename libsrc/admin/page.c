/* page.c - a page of messages of one slot: copied from a reply, and described for users.
 *
 * Thread: as page.h says. */
#include "admin/page.h"

#include <stdlib.h>
#include <string.h>

#include "admin/fail.h"
#include "base/memory.h"
#include "model/headers.h"
#include "model/member.h"
#include "model/whole.h"

struct page_item {
    size_t name_at, score_at, reason_at, stored_at;
};

void page_fini(struct page *page)
{
    free(page->rows);
    free(page->items);
    buf_fini(&page->bytes);
    *page = (struct page){0};
}

/* Append `data` and a NUL to `bytes`; returns its offset. */
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
    const struct store_page_row *row = &page->rows[index];

    page->items[index] =
        (struct page_item){.name_at = page_copy(&page->bytes, row->name, row->name_len),
                           .score_at = page_copy(&page->bytes, row->score, strlen(row->score)),
                           .reason_at = page_copy(&page->bytes, row->reason, row->reason_len),
                           .stored_at = page_copy(&page->bytes, row->stored, row->stored_len)};
}

/* Set the pointers of a message, because `bytes` may have moved while it grew. */
static void page_point_to_kept(struct page *page, size_t index)
{
    const struct page_item *item = &page->items[index];
    struct store_page_row *row = &page->rows[index];
    const char *data = page->bytes.data;

    row->entry.member = data + item->name_at + (row->entry.member - row->name);
    row->name = data + item->name_at;
    row->score = data + item->score_at;
    row->reason = data + item->reason_at;
    row->stored = data + item->stored_at;
}

static void page_make_room(struct page *page, size_t count)
{
    if (page->size < count) {
        page->rows = memory_grow(page->rows, count, sizeof(*page->rows));
        page->items = memory_grow(page->items, count, sizeof(*page->items));
        page->size = count;
    }
}

/* Copy a reply; false: it cannot be read. */
static bool page_copy_reply(struct page *page, const struct store_result *result,
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
        if (!store_page_message(&page->rows[i], result, slot, query, &paged.holder, i)) {
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

void page_set_one(struct page *page, const struct store_page_row *row,
                  const struct store_holder *holder)
{
    buf_clear(&page->bytes);
    page->paged = (struct store_paged){.holder = *holder, .count = row != NULL ? 1 : 0};
    if (row != NULL) {
        page_make_room(page, 1);
        page->rows[0] = *row;
        page_copy_seen(page, 0);
        page_point_to_kept(page, 0);
    }
}

/* --- reading --- */

void page_read_send(struct store_call *call, void *user)
{
    const struct page_reader *reader = user;
    struct store_slot slot;

    store_slot_fill(&slot, reader->topic, reader->slot);
    store_page(call, reader->core->redis, &slot, &reader->query, 0);
}

enum fanout_next page_read_done(const struct store_result *result, void *user, smq_error *err)
{
    struct page_reader *reader = user;
    struct store_slot slot;

    store_slot_fill(&slot, reader->topic, reader->slot);
    if (result->outcome == STORE_OK &&
        page_copy_reply(&reader->page, result, &slot, &reader->query)) {
        return FANOUT_DONE;
    }
    return admin_fail(err, reader->topic, reader->slot, result);
}

smq_status page_read(struct page_reader *reader, smq_error *err)
{
    return fanout_one(reader->core, page_read_send, page_read_done, reader, err);
}

bool page_next(struct page_reader *reader)
{
    reader->query.from = reader->page.paged.next;
    return reader->page.paged.more;
}

/* --- showing --- */

static void page_describe_time(smq_message_info *out, const struct topic *topic,
                               const struct store_page_row *row)
{
    if (topic->type == SMQ_TYPE_PRIORITY) {
        out->priority = entry_priority(topic_kind(topic), row->entry.before);
    } else if (topic->type != SMQ_TYPE_FIFO) {
        out->due_at_ms = row->entry.before;
    }
    if (row->state == SMQ_STATE_RESTING || row->scheduled) {
        out->due_at_ms = row->integer;
    } else if (row->state == SMQ_STATE_CLAIMED) {
        out->lease_at_ms = row->integer;
    } else if (row->state == SMQ_STATE_DEAD) {
        out->dead_at_ms = row->integer;
    }
}

/* Waiting and resting messages were delivered as often as they used retries, claimed and dead ones
 * once more. */
static void page_describe_attempts(smq_message_info *out, const struct topic *topic,
                                   const struct store_page_row *row)
{
    bool own_limit = topic->layout == SMQ_LAYOUT_KEYED && row->header.max_retries >= 0;
    int32_t limit = own_limit ? row->header.max_retries : topic->max_retries;
    bool in_delivery = row->state == SMQ_STATE_CLAIMED || row->state == SMQ_STATE_DEAD;

    out->attempt = row->attempts.retries + (in_delivery ? 1 : 0);
    out->redelivered = attempts_any(&row->attempts);
    out->retries_left = limit > row->attempts.retries ? limit - row->attempts.retries : 0;
}

/* If the name is no valid member all its bytes are the id. */
static void page_describe_member(smq_message_info *out, const struct store_page_row *row)
{
    struct member member;

    if (!member_decode(&member, row->entry.member, row->entry.member_len)) {
        member = (struct member){.id = row->entry.member, .id_len = row->entry.member_len};
    }
    out->key = (smq_bytes){member.key, member.key_len};
    out->id.data = out->body.data = member.id;
    out->id.len = out->body.len = member.id_len;
    out->whole = whole_begins(row->entry.member, row->entry.member_len);
}

/* Headers that were damaged by hand are shown as a part of the body. */
static void page_describe_stored(smq_message_info *out, struct page *page,
                                 const struct store_page_row *row)
{
    size_t len = row->header.headers_len;
    size_t count = len > 0 ? headers_decode(page->headers, row->stored, len) : 0;

    len = count > 0 ? len : 0;
    out->body = (smq_bytes){row->stored + len, row->stored_len - len};
    out->headers = count > 0 ? page->headers : NULL;
    out->header_count = count;
}

static void page_describe_keyed(smq_message_info *out, struct page *page,
                                const struct store_page_row *row)
{
    if (out->key.data == NULL) {
        out->key = out->id;
    }
    page_describe_stored(out, page, row);
    out->sent_at_ms = row->header.first_ms;
    out->expires_at_ms = row->header.expires_ms > 0 ? row->header.expires_ms : 0;
}

/* A claim that is not noted is the owner's, unless it is older than that. */
static void page_describe_claim(smq_message_info *out, const struct store_holder *holder,
                                const struct store_page_row *row)
{
    if (row->noted) {
        out->claimed_at_ms = holder->note.since_ms;
        out->claimed_by = holder->note.owner;
    } else if (row->state == SMQ_STATE_CLAIMED && row->entry.claim > holder->base) {
        out->claimed_by = holder->owner;
    }
}

void page_describe(smq_message_info *out, struct page *page, size_t index,
                   const struct topic *topic, int32_t slot)
{
    const struct store_page_row *row = &page->rows[index];

    tries_decode(&page->tries, row->reason, row->reason_len);
    *out = (smq_message_info){.struct_size = sizeof(*out),
                              .topic = topic->name,
                              .slot = slot,
                              .state = row->state,
                              .token = page->paged.holder.token,
                              .reason = row->reason,
                              .tries = page->tries.count > 0 ? page->tries.item : NULL,
                              .try_count = page->tries.count,
                              .cursor = "",
                              .claimed_by = ""};
    page_describe_member(out, row);
    if (topic->layout == SMQ_LAYOUT_KEYED) {
        page_describe_keyed(out, page, row);
    }
    page_describe_time(out, topic, row);
    page_describe_claim(out, &page->paged.holder, row);
    page_describe_attempts(out, topic, row);
}
