/* page.c - reading the messages of a slot: a page of them, one of them, its rank.
 *
 * Thread: smq:io. */
#include <string.h>

#include "scripts.h"
#include "store/call.h"
#include "store/message.h"

/* Elements of a reply before the messages, and of each message. */
enum { PAGE_HEAD = 9, FIND_HEAD = 7, ROW_WIDTH = 3, ROW_WIDTH_KEYED = 5 };

static size_t page_row_width(const struct store_slot *slot)
{
    return slot->keyed ? ROW_WIDTH_KEYED : ROW_WIDTH;
}

static const struct {
    char letter;
    smq_state state;
    bool scheduled;
} states[] = {{'w', SMQ_STATE_WAITING, false},
              {'s', SMQ_STATE_WAITING, true},
              {'c', SMQ_STATE_CLAIMED, false},
              {'r', SMQ_STATE_RESTING, false},
              {'d', SMQ_STATE_DEAD, false}};

void call_state(struct store_call *call, int place, smq_state state, bool scheduled)
{
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (states[i].state == state && states[i].scheduled == scheduled) {
            redis_arg(call_argv(call, place), &states[i].letter, 1);
        }
    }
}

static void page_call_bytes(struct store_call *call, int place, const void *data, size_t len)
{
    redis_arg(call_argv(call, place), len > 0 ? data : "", len);
}

void store_page(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct store_page *page, int64_t timeout_ms)
{
    call_begin_slot(call, &script_page, slot);
    call_kind(call, SCRIPT_PAGE_ARGV_KIND, slot);
    call_state(call, SCRIPT_PAGE_ARGV_STATE, page->state, page->scheduled);
    redis_arg_string(call_argv(call, SCRIPT_PAGE_ARGV_SCORE),
                     page->from.name_len > 0 ? page->from.score : "");
    page_call_bytes(call, SCRIPT_PAGE_ARGV_NAME, page->from.name, page->from.name_len);
    redis_arg_int(call_argv(call, SCRIPT_PAGE_ARGV_LIMIT), page->limit);
    redis_arg_int(call_argv(call, SCRIPT_PAGE_ARGV_MAX_BYTES), page->max_bytes);
    redis_arg_int(call_argv(call, SCRIPT_PAGE_ARGV_BODIES), page->bodies);
    page_call_bytes(call, SCRIPT_PAGE_ARGV_MEMBER, page->member, page->member_len);
    redis_arg_string(call_argv(call, SCRIPT_PAGE_ARGV_CONTAINS), page->contains);
    redis_arg_string(call_argv(call, SCRIPT_PAGE_ARGV_REASON), page->reason);
    redis_arg_int(call_argv(call, SCRIPT_PAGE_ARGV_EXACT), page->exact);
    page_call_bytes(call, SCRIPT_PAGE_ARGV_HEADER, page->header, page->header_len);
    if (page->older_ms >= 0) {
        redis_arg_int(call_argv(call, SCRIPT_PAGE_ARGV_OLDER_MS), page->older_ms);
    } else {
        redis_arg_string(call_argv(call, SCRIPT_PAGE_ARGV_OLDER_MS), "");
    }
    redis_arg_int(call_argv(call, SCRIPT_PAGE_ARGV_WHOLE), page->whole);
    call_submit(call, redis, PAGE_HEAD + page_row_width(slot) * (size_t) page->limit, timeout_ms);
}

bool reply_token(char out[TOKEN_TEXT_LEN + 1], const redisReply *reply, size_t index)
{
    if (!reply_text(out, TOKEN_TEXT_LEN + 1, reply, index)) {
        return false;
    }
    if (strcmp(out, "shared") == 0) {
        out[0] = '\0';
    }
    return true;
}

static bool page_read_holder(struct store_holder *out, const redisReply *reply)
{
    if (!reply_token(out->token, reply, 2) ||
        !reply_text(out->owner, sizeof(out->owner), reply, 3) ||
        !reply_count(&out->base, reply, 4) || !reply_note(&out->note, reply, 5)) {
        return false;
    }
    if (out->token[0] == '\0') {
        out->owner[0] = '\0'; /* it may be left of a deleted topic */
    }
    return true;
}

bool store_page_read(struct store_paged *out, const struct store_result *result,
                     const struct store_slot *slot, const struct store_page *page)
{
    const redisReply *reply = result->reply;
    size_t width = page_row_width(slot), score_len;
    int64_t more;

    if (!reply_number(&out->now_ms, reply, 1) || !page_read_holder(&out->holder, reply) ||
        !reply_number(&more, reply, 6) || !reply_string(&out->next.score, &score_len, reply, 7) ||
        !reply_string(&out->next.name, &out->next.name_len, reply, 8) ||
        (reply->elements - PAGE_HEAD) % width != 0) {
        return false;
    }
    out->more = more != 0;
    out->count = (reply->elements - PAGE_HEAD) / width;
    return out->count <= (size_t) page->limit;
}

static enum entry_kind page_entry_kind_of(smq_state state)
{
    return state == SMQ_STATE_WAITING   ? ENTRY_SCHEDULED
           : state == SMQ_STATE_CLAIMED ? ENTRY_CLAIMED
           : state == SMQ_STATE_RESTING ? ENTRY_RESTING
                                        : ENTRY_DEAD;
}

/* Read name and score. */
static bool page_read_place(struct store_page_row *out, const redisReply *reply, size_t at)
{
    size_t score_len;

    if (!reply_string(&out->name, &out->name_len, reply, at) || out->name_len == 0 ||
        !reply_string(&out->score, &score_len, reply, at + 1) ||
        !entry_score_parse(&out->integer, &out->attempts, out->score, score_len)) {
        return false;
    }
    if (out->state == SMQ_STATE_WAITING && !out->scheduled) {
        out->entry = (struct entry){
            .before = out->integer, .member = out->name, .member_len = out->name_len};
        return true;
    }
    if (out->state == SMQ_STATE_RESTING) {
        out->integer -= ENTRY_REST_OFFSET;
    } else if (out->scheduled) {
        out->integer -= ENTRY_SCHEDULE_OFFSET;
    }
    return entry_decode(&out->entry, out->name, out->name_len) &&
           out->entry.kind == page_entry_kind_of(out->state);
}

/* Header and body may have been removed by hand; then the rest of the message is shown. */
static bool page_read_stored(struct store_page_row *out, const redisReply *reply, size_t at)
{
    const char *header;
    size_t len;

    out->header = (struct header){.first_ms = 0, .max_retries = -1, .expires_ms = -1};
    if (!reply_string(&header, &len, reply, at) ||
        (len > 0 && !header_parse(&out->header, header, len)) ||
        !reply_string(&out->stored, &out->stored_len, reply, at + 1)) {
        return false;
    }
    if (out->header.headers_len > out->stored_len) {
        out->header.headers_len = 0;
    }
    return true;
}

/* Read the message that begins at element `at` of a reply. */
static bool page_read_row(struct store_page_row *out, const redisReply *reply,
                          const struct store_slot *slot, const struct store_note *note,
                          smq_state state, bool scheduled, size_t at)
{
    *out = (struct store_page_row){.state = state, .scheduled = scheduled};
    if (!page_read_place(out, reply, at)) {
        return false;
    }
    out->noted = state == SMQ_STATE_CLAIMED && out->name_len == note->entry_len &&
                 memcmp(out->name, note->entry, note->entry_len) == 0;
    return reply_string(&out->reason, &out->reason_len, reply, at + 2) &&
           (!slot->keyed || page_read_stored(out, reply, at + 3));
}

bool store_page_message(struct store_page_row *out, const struct store_result *result,
                        const struct store_slot *slot, const struct store_page *page,
                        const struct store_holder *holder, size_t index)
{
    return page_read_row(out, result->reply, slot, &holder->note, page->state, page->scheduled,
                         PAGE_HEAD + page_row_width(slot) * index);
}

/* --- find --- */

void store_find(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct store_find *find, int64_t timeout_ms)
{
    const char *begin = find->whole ? "w" : "p";
    const char *where = find->where != 0 ? &find->where : begin;

    call_begin_slot(call, &script_find, slot);
    call_kind(call, SCRIPT_FIND_ARGV_KIND, slot);
    redis_arg(call_argv(call, SCRIPT_FIND_ARGV_MEMBER), find->member, find->member_len);
    redis_arg(call_argv(call, SCRIPT_FIND_ARGV_WHERE), where, 1);
    redis_arg_string(call_argv(call, SCRIPT_FIND_ARGV_FROM_SCORE),
                     find->from.name_len > 0 ? find->from.score : "");
    page_call_bytes(call, SCRIPT_FIND_ARGV_FROM_NAME, find->from.name, find->from.name_len);
    redis_arg_int(call_argv(call, SCRIPT_FIND_ARGV_LIMIT), STORE_FIND_MAX);
    call_submit(call, redis, 16, timeout_ms);
}

/* "+", state, score, name */
static bool page_read_more(struct store_found *out, const redisReply *reply,
                           const struct store_find *find)
{
    const char *where;
    size_t where_len, score_len;

    out->more = true;
    out->next = *find;
    if (!reply_string(&where, &where_len, reply, FIND_HEAD) || where_len != 1 ||
        !reply_string(&out->next.from.score, &score_len, reply, FIND_HEAD + 1) ||
        !reply_string(&out->next.from.name, &out->next.from.name_len, reply, FIND_HEAD + 2)) {
        return false;
    }
    out->next.where = where[0];
    return strchr("wvpd", where[0]) != NULL;
}

bool store_find_read(struct store_found *out, const struct store_result *result,
                     const struct store_slot *slot, const struct store_find *find)
{
    const redisReply *reply = result->reply;
    const char *state;
    size_t len;

    *out = (struct store_found){.found = false};
    if (!reply_number(&out->now_ms, reply, 1) || !page_read_holder(&out->holder, reply) ||
        !reply_string(&state, &len, reply, FIND_HEAD - 1) || len != 1) {
        return false;
    }
    if (state[0] == '-') {
        return true;
    }
    if (state[0] == '+') {
        return page_read_more(out, reply, find);
    }
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (states[i].letter == state[0]) {
            out->found = true;
            return page_read_row(&out->row, reply, slot, &out->holder.note, states[i].state,
                                 states[i].scheduled, FIND_HEAD);
        }
    }
    return false;
}

/* --- rank --- */

static void page_begin_rank(struct store_call *call, const struct store_slot *slot)
{
    call_begin(call, &script_rank, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.store);
    redis_arg_string(&call->command, slot->keys.prepare);
    redis_arg_string(&call->command, slot->keys.slot);
    if (slot->keyed) {
        redis_arg_string(&call->command, slot->keys.body);
    }
    call_drop_keyed(call, slot);
    redis_arg_string(call_argv(call, SCRIPT_RANK_ARGV_DEF), slot->stamp);
    call_kind(call, SCRIPT_RANK_ARGV_KIND, slot);
}

void store_rank(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const void *member, size_t member_len, int64_t timeout_ms)
{
    page_begin_rank(call, slot);
    redis_arg(call_argv(call, SCRIPT_RANK_ARGV_MEMBER), member, member_len);
    redis_arg_string(call_argv(call, SCRIPT_RANK_ARGV_SCORE), "");
    call_submit(call, redis, 8, timeout_ms);
}

void store_rank_elsewhere(struct store_call *call, struct redis *redis,
                          const struct store_slot *slot, const char *score, int64_t timeout_ms)
{
    page_begin_rank(call, slot);
    redis_arg_string(call_argv(call, SCRIPT_RANK_ARGV_MEMBER), "");
    redis_arg_string(call_argv(call, SCRIPT_RANK_ARGV_SCORE), score);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_rank_read(uint64_t *count, char score[STORE_SCORE_MAX],
                     const struct store_result *result)
{
    return reply_count(count, result->reply, 1) &&
           reply_text(score, STORE_SCORE_MAX, result->reply, 2);
}
