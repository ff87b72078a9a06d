/* consume.c - the scripts `consume` and `consume_any`: they settle answers and claim messages in
 * one round trip.  The first takes ordinary calls alone, with the same arguments.
 *
 * Thread: smq:io. */

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "model/headers.h"
#include "model/number.h"
#include "model/whole.h"
#include "scripts.h"
#include "store/call.h"
#include "store/consume.h"

/* CONSUME_HEAD: elements of a reply before the claimed messages.  CONSUME_MAX: claimed messages
 * that a lost reply can leave behind. */
_Static_assert((int) SCRIPT_CONSUME_ARGV_ANSWERS == (int) SCRIPT_CONSUME_ANY_ARGV_ANSWERS,
               "both scripts have the same arguments");
enum { CONSUME_HEAD = 6, CONSUME_MAX = 1000, CONSUME_INLINE = 2, CONSUME_KEYED = 4 };

/* How many elements one message has. */
static size_t consume_width(const struct store_slot *slot)
{
    return slot->keyed ? CONSUME_KEYED : CONSUME_INLINE;
}

/* "16", or "16,2,20c17:order-7": of claim 17 the messages up to this one are known, too. */
static void consume_arg_last(struct store_call *call, const struct store_slot *slot,
                             const struct store_consume *consume)
{
    const struct store_known *part = consume->part;
    struct buf last = {0};

    if (slot->shared) {
        redis_arg_string(call_argv(call, SCRIPT_CONSUME_ARGV_LAST), consume->caller);
    } else if (part == NULL) {
        redis_arg_int(call_argv(call, SCRIPT_CONSUME_ARGV_LAST), (int64_t) consume->last);
    } else {
        buf_printf(&last, "%" PRIu64 ",%d,", consume->last,
                   2 * part->attempts.retries + (part->attempts.suspect ? 1 : 0));
        buf_add(&last, part->entry, part->entry_len);
        redis_arg(call_argv(call, SCRIPT_CONSUME_ARGV_LAST), last.data, last.len);
        buf_fini(&last);
    }
}

static void consume_arg_oldest(struct store_call *call, const struct store_slot *slot,
                               uint64_t oldest)
{
    struct redis_command *arg = call_argv(call, SCRIPT_CONSUME_ARGV_OLDEST);

    if (slot->shared) {
        redis_arg_string(arg, "-");
    } else {
        redis_arg_int(arg, (int64_t) oldest);
    }
}

static size_t consume_count_done(const struct store_answer *answers, size_t count)
{
    size_t done = 0;

    while (done < count && answers[done].op == STORE_DONE) {
        done++;
    }
    return done;
}

/* Are all answers that are done of whole messages, and is there one? */
static bool consume_all_whole(const struct store_consume *consume)
{
    size_t done = consume_count_done(consume->answers, consume->answer_count);

    for (size_t i = 0; i < done; i++) {
        const struct store_answer *answer = &consume->answers[i];
        const char *colon = memchr(answer->entry, ':', answer->entry_len);
        size_t head = colon != NULL ? (size_t) (colon + 1 - answer->entry) : answer->entry_len;

        if (!whole_begins(answer->entry + head, answer->entry_len - head)) {
            return false;
        }
    }
    return done > 0;
}

static void consume_arg_flags(struct store_call *call, const struct store_slot *slot,
                              const struct store_consume *consume)
{
    char flags[8] = "-";
    size_t count = 0;

    if (slot->skip_failed) {
        flags[count++] = 's';
    }
    if (slot->expired_to_dead) {
        flags[count++] = 'x';
    }
    if (consume->repeated) {
        flags[count++] = 'r';
    }
    if (slot->strict_takeover && !slot->shared) {
        flags[count++] = 'w';
    }
    if (slot->keyed && consume_all_whole(consume)) {
        flags[count++] = 'e';
    }
    if (consume->rested) {
        flags[count++] = 't';
    }
    redis_arg_string(call_argv(call, SCRIPT_CONSUME_ARGV_FLAGS), flags);
}

static void consume_arg_answers(struct store_call *call, const struct store_answer *answers,
                                size_t count)
{
    size_t done = consume_count_done(answers, count);

    redis_arg_int(call_argv(call, SCRIPT_CONSUME_ARGV_NDONE), (int64_t) done);
    for (size_t i = 0; i < done; i++) {
        redis_arg(&call->command, answers[i].entry, answers[i].entry_len);
    }
    for (size_t i = done; i < count; i++) {
        char op = (char) answers[i].op;

        redis_arg(&call->command, &op, 1);
        redis_arg(&call->command, answers[i].entry, answers[i].entry_len);
        redis_arg_int(&call->command, answers[i].delay_ms);
        redis_arg_string(&call->command, answers[i].reason != NULL ? answers[i].reason : "");
    }
}

/* Does `consume` take them?  It does not take retries that make dead letters. */
static bool consume_takes(const struct store_slot *slot, const struct store_answer *answers,
                          size_t count)
{
    bool remembers = slot->keyed && slot->dedup_ms > 0 && count > 0;

    for (size_t i = 0; i < count; i++) {
        const struct store_answer *answer = &answers[i];

        if (answer->op != STORE_DONE && answer->op != STORE_DONE_RETRIED &&
            (answer->op != STORE_RETRY || answer->delay_ms <= 0)) {
            return false;
        }
    }
    return !remembers;
}

bool store_consume_is_any(const struct store_slot *slot, const struct store_consume *consume)
{
    return slot->kind == 'f' || consume->repeated || consume->part != NULL ||
           consume->passes_len > 0 || consume->any ||
           !consume_takes(slot, consume->answers, consume->answer_count);
}

void store_consume(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                   const struct store_consume *consume, int64_t timeout_ms)
{
    bool any = store_consume_is_any(slot, consume);

    call_begin_slot(call, any ? &script_consume_any : &script_consume, slot);
    call->any = any ? NULL : &script_consume_any;
    call_token(call, SCRIPT_CONSUME_ARGV_TOKEN, slot, consume->token);
    call_kind(call, SCRIPT_CONSUME_ARGV_KIND, slot);
    redis_arg_string(call_argv(call, SCRIPT_CONSUME_ARGV_CHANNEL), slot->keys.wake);
    redis_arg_int(call_argv(call, SCRIPT_CONSUME_ARGV_N), consume->n);
    redis_arg_int(call_argv(call, SCRIPT_CONSUME_ARGV_MAX_BYTES), consume->max_bytes);
    redis_arg_int(call_argv(call, SCRIPT_CONSUME_ARGV_LEASE_MS), consume->lease_ms);
    redis_arg_int(call_argv(call, SCRIPT_CONSUME_ARGV_MAX_RETRIES), consume->max_retries);
    redis_arg_int(call_argv(call, SCRIPT_CONSUME_ARGV_DEDUP_MS), slot->dedup_ms);
    consume_arg_last(call, slot, consume);
    consume_arg_oldest(call, slot, consume->oldest);
    redis_arg_string(call_argv(call, SCRIPT_CONSUME_ARGV_OPEN), consume->open ? "1" : "0");
    redis_arg_int(call_argv(call, SCRIPT_CONSUME_ARGV_PUSHED), consume->pushed_ms);
    redis_arg(call_argv(call, SCRIPT_CONSUME_ARGV_PASSES),
              consume->passes_len > 0 ? consume->passes : "-",
              consume->passes_len > 0 ? consume->passes_len : 1);
    consume_arg_flags(call, slot, consume);
    consume_arg_answers(call, consume->answers, consume->answer_count);
    call_submit_publishing(call, redis, CONSUME_HEAD + consume_width(slot) * CONSUME_MAX + 1,
                           timeout_ms);
}

/* Read what follows the head: messages, and in a keyed topic perhaps a number after them. */
static bool consume_read_tail(struct store_consumed *out, const redisReply *reply, size_t width)
{
    size_t elements = reply_elements(reply);
    size_t tail = elements - CONSUME_HEAD;

    if (elements < CONSUME_HEAD) {
        return false;
    }
    out->count = tail / width;
    out->expired = 0;
    if (tail % width == 0) {
        return true;
    }
    return width == CONSUME_KEYED && tail % width == 1 &&
           reply_count(&out->expired, reply, elements - 1);
}

/* AGAIN, or if the slot has schedules "AGAIN TICK". */
static bool consume_read_again(struct store_consumed *out, const redisReply *reply, size_t index)
{
    const char *text, *blank;
    int64_t again;
    size_t len;

    out->tick_ms = -1;
    if (!reply_number(&again, reply, index)) {
        if (!reply_string(&text, &len, reply, index)) {
            return false;
        }
        blank = memchr(text, ' ', len);
        if (blank == NULL || !number_parse(&again, text, (size_t) (blank - text), 3) ||
            !number_parse(&out->tick_ms, blank + 1, len - (size_t) (blank + 1 - text), INT64_MAX)) {
            return false;
        }
    }
    out->again = again == 1;
    out->paused = again == 2;
    out->backup = again == 3;
    return true;
}

bool store_consume_read(struct store_consumed *out, const struct store_result *result,
                        const struct store_slot *slot, size_t answer_count)
{
    const redisReply *reply = result->reply;

    if (!reply_number(&out->now_ms, reply, 1) || !reply_time(&out->next_ms, reply, 2) ||
        !reply_count(&out->claims, reply, 3) ||
        !reply_results(&out->results, reply, 4, answer_count, "01u") ||
        !consume_read_again(out, reply, 5) || !consume_read_tail(out, reply, consume_width(slot))) {
        return false;
    }
    out->asleep = slot->shared ? out->claims : 0;
    return true;
}

/* Divide headers and body; false: these are no headers. */
static bool consume_split(struct store_claimed *out, const char *stored, size_t len)
{
    smq_header headers[SMQ_HEADERS_MAX];
    size_t headers_len = out->header.headers_len;

    if (headers_len > len ||
        (headers_len > 0 && headers_decode(headers, stored, headers_len) == 0)) {
        return false;
    }
    out->body = stored + headers_len;
    out->body_len = len - headers_len;
    return true;
}

static bool consume_fill_whole(struct store_claimed *out, char kind)
{
    struct entry entry;
    struct whole whole;

    if (!entry_decode(&entry, out->entry, out->entry_len) ||
        !whole_decode(&whole, entry.member, entry.member_len)) {
        return false;
    }
    whole_header(&out->header, &whole, kind, entry.before);
    return consume_split(out, whole.stored, whole.stored_len);
}

bool store_claimed_fill(struct store_claimed *out, const struct store_slot *slot,
                        const smq_bytes *header, const smq_bytes *stored)
{
    if (header->len == 0 && stored->len == 0) {
        return consume_fill_whole(out, slot->kind);
    }
    return header_parse(&out->header, header->data, header->len) &&
           consume_split(out, stored->data, stored->len);
}

static bool consume_read_body(struct store_claimed *out, const redisReply *reply,
                              const struct store_slot *slot, size_t at)
{
    const char *header_text, *stored_text;
    smq_bytes header = {NULL, 0}, stored = {NULL, 0};

    if (!reply_string(&header_text, &header.len, reply, at) ||
        !reply_string(&stored_text, &stored.len, reply, at + 1)) {
        return false;
    }
    header.data = header_text;
    stored.data = stored_text;
    return store_claimed_fill(out, slot, &header, &stored);
}

static bool consume_read_attempts(struct attempts *out, const redisReply *reply, size_t at)
{
    int64_t number;

    if (!reply_number(&number, reply, at) || number < 0 || number > 2 * TOPIC_RETRIES_MAX + 1) {
        return false;
    }
    *out = (struct attempts){.retries = (int) (number / 2), .suspect = number % 2 != 0};
    return true;
}

bool store_consume_known(struct store_known *out, const struct store_result *result,
                         const struct store_slot *slot, size_t index)
{
    size_t at = CONSUME_HEAD + consume_width(slot) * index;

    return reply_string(&out->entry, &out->entry_len, result->reply, at) &&
           consume_read_attempts(&out->attempts, result->reply, at + 1);
}

bool store_consume_message(struct store_claimed *out, const struct store_result *result,
                           const struct store_slot *slot, size_t index)
{
    size_t at = CONSUME_HEAD + consume_width(slot) * index;

    return reply_string(&out->entry, &out->entry_len, result->reply, at) &&
           consume_read_attempts(&out->attempts, result->reply, at + 1) &&
           (!slot->keyed || consume_read_body(out, result->reply, slot, at + 2));
}
