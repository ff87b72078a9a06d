/* owner.c - the scripts that change the owner of a slot, and that keep claims: takeover, vacate,
 * renew, bind.  Also reads who owns a slot.
 *
 * Thread: smq:io. */
#include <string.h>

#include "scripts.h"
#include "store/call.h"
#include "store/owner.h"

enum { TAKEOVER_LIMIT = 1000 };

void store_renew_begin(struct store_call *call, const struct store_slot *slot, struct token token,
                       int64_t lease_ms, const struct store_oldest *oldest)
{
    call_begin(call, &script_renew, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.prepare);
    redis_arg_string(&call->command, slot->keys.slot);
    redis_arg_string(call_argv(call, SCRIPT_RENEW_ARGV_DEF), slot->stamp);
    call_token(call, SCRIPT_RENEW_ARGV_TOKEN, slot, token);
    redis_arg_int(call_argv(call, SCRIPT_RENEW_ARGV_LEASE_MS), lease_ms);
    redis_arg_string(call_argv(call, SCRIPT_RENEW_ARGV_OWNER), oldest->owner);
    redis_arg_int(call_argv(call, SCRIPT_RENEW_ARGV_AGE_MS), oldest->age_ms);
    redis_arg(call_argv(call, SCRIPT_RENEW_ARGV_OLDEST), oldest->entry, oldest->entry_len);
}

void store_renew_add(struct store_call *call, const char *entry, size_t len)
{
    redis_arg(&call->command, entry, len);
}

void store_renew(struct store_call *call, struct redis *redis, int64_t timeout_ms)
{
    call_submit(call, redis, 8, timeout_ms);
}

bool store_renew_read(const char **results, const struct store_result *result, size_t count)
{
    return reply_results(results, result->reply, 2, count, "01");
}

void store_rights(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                  int64_t timeout_ms)
{
    call_begin_keys(call, &script_rights, slot);
    redis_arg_string(call_argv(call, SCRIPT_RIGHTS_ARGV_CHANNEL), slot->keys.wake);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_rights_read(char *missing, size_t size, const struct store_result *result)
{
    return reply_text(missing, size, result->reply, 1);
}

void store_takeover(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                    const struct store_taker *taker, const struct topic *topic, int64_t timeout_ms)
{
    call_begin_slot(call, &script_takeover, slot);
    call_token(call, SCRIPT_TAKEOVER_ARGV_TOKEN, slot, taker->token);
    call_kind(call, SCRIPT_TAKEOVER_ARGV_KIND, slot);
    redis_arg_string(call_argv(call, SCRIPT_TAKEOVER_ARGV_MODE),
                     topic->takeover == SMQ_TAKEOVER_STRICT ? "strict" : "fast");
    redis_arg_int(call_argv(call, SCRIPT_TAKEOVER_ARGV_MAX_RETRIES), topic->max_retries);
    redis_arg_int(call_argv(call, SCRIPT_TAKEOVER_ARGV_LIMIT), TAKEOVER_LIMIT);
    redis_arg_string(call_argv(call, SCRIPT_TAKEOVER_ARGV_OWNER), taker->name);
    redis_arg_string(call_argv(call, SCRIPT_TAKEOVER_ARGV_COORD), taker->coord);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_takeover_read(uint64_t *base, bool *more, const struct store_result *result)
{
    int64_t left;

    if (!reply_count(base, result->reply, 1) || !reply_number(&left, result->reply, 3)) {
        return false;
    }
    *more = left != 0;
    return true;
}

void store_vacate(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                  struct token token, int64_t timeout_ms)
{
    call_begin(call, &script_vacate, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.slot);
    redis_arg_string(call_argv(call, SCRIPT_VACATE_ARGV_DEF), slot->stamp);
    call_token(call, SCRIPT_VACATE_ARGV_TOKEN, slot, token);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_fenced_token(struct token *out, const struct store_result *result)
{
    const char *data;
    size_t len;

    return reply_string(&data, &len, result->reply, 1) && token_parse(out, data, len);
}

void store_bind(struct store_call *call, struct redis *redis, const char *topic, const char *nonce,
                const char *coord, bool succeeds, int64_t timeout_ms)
{
    call_begin_topic(call, &script_topic, topic);
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_VERB), "bind");
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_OPERANDS), nonce);
    redis_arg_string(&call->command, coord);
    redis_arg_int(&call->command, succeeds ? 1 : 0);
    call_submit(call, redis, 8, timeout_ms);
}

enum store_first store_bound_first(const struct store_result *result)
{
    int64_t first;

    if (!reply_number(&first, result->reply, 2) || first < 0 || first > STORE_FIRST_SURE) {
        return STORE_FIRST_NOT;
    }
    return (enum store_first) first;
}

bool store_bound_read(char *out, size_t size, const struct store_result *result)
{
    return reply_text(out, size, result->reply, 1);
}

void store_rebind(struct store_call *call, struct redis *redis, const char *topic,
                  const struct store_rebind *rebind, int64_t timeout_ms)
{
    call_begin_topic(call, &script_topic, topic);
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_VERB), "rebind");
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_OPERANDS), rebind->nonce);
    redis_arg_string(&call->command, rebind->coord);
    redis_arg_int(&call->command, rebind->above);
    redis_arg_int(&call->command, rebind->force ? 1 : 0);
    call_submit(call, redis, 8, timeout_ms);
}

void store_follow(struct store_call *call, struct redis *redis, const char *topic,
                  const char *nonce, const char *from, const char *to, int64_t timeout_ms)
{
    call_begin_topic(call, &script_topic, topic);
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_VERB), "follow");
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_OPERANDS), nonce);
    redis_arg_string(&call->command, from);
    redis_arg_string(&call->command, to);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_lease_holder_read(struct store_lease_holder *out, const struct store_result *result)
{
    return reply_text(out->owner, sizeof(out->owner), result->reply, 1) &&
           reply_number(&out->remaining_ms, result->reply, 2);
}

void store_owner(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                 int64_t timeout_ms)
{
    call_begin(call, &script_owner, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.prepare);
    redis_arg_string(&call->command, slot->keys.slot);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_owner_read(struct store_owner *out, const struct store_result *result)
{
    char text[TOKEN_TEXT_LEN + 1];
    uint64_t bound_at;

    *out = (struct store_owner){0};
    if (!reply_text(text, sizeof(text), result->reply, 1) ||
        !reply_number(&out->leased_ms, result->reply, 3) ||
        !reply_count(&bound_at, result->reply, 4) || bound_at > UINT32_MAX) {
        return false;
    }
    out->bound_at = (uint32_t) bound_at;
    out->shared = strcmp(text, "shared") == 0;
    return out->shared || text[0] == '\0' || token_parse(&out->token, text, strlen(text));
}

void store_listeners(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     int64_t timeout_ms)
{
    call_begin(call, NULL, slot->keys.hash_slot);
    redis_arg_string(&call->command, "PUBSUB");
    redis_arg_string(&call->command, "SHARDNUMSUB");
    redis_arg_string(&call->command, slot->keys.wake);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_listeners_read(uint64_t *count, const struct store_result *result)
{
    return reply_count(count, result->reply, 1);
}
