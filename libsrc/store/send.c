/* send.c - the script `send`.
 *
 * Thread: smq:io. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scripts.h"
#include "store/call.h"
#include "store/send.h"

/* Add the keys of one slot, in the order of the script. */
static void send_keys(struct store_call *call, const struct slot_keys *keys, bool keyed)
{
    redis_arg_string(&call->command, keys->store);
    redis_arg_string(&call->command, keys->prepare);
    redis_arg_string(&call->command, keys->slot);
    if (keyed) {
        redis_arg_string(&call->command, keys->body);
        redis_arg_string(&call->command, keys->done);
    }
}

static void send_begin_one(struct store_call *call, const struct store_slot *slot,
                           const char *producer, uint64_t sequence)
{
    call_begin(call, &script_send, slot->keys.hash_slot);
    send_keys(call, &slot->keys, slot->keyed);
    call_drop_keyed(call, slot);
    redis_arg_string(call_argv(call, SCRIPT_SEND_ARGV_DEF), slot->stamp);
    call_kind(call, SCRIPT_SEND_ARGV_KIND, slot);
    redis_arg_string(call_argv(call, SCRIPT_SEND_ARGV_CHANNEL), slot->keys.wake);
    redis_arg_int(call_argv(call, SCRIPT_SEND_ARGV_MAX_WAITING), slot->max_waiting);
    redis_arg_int(call_argv(call, SCRIPT_SEND_ARGV_DEBOUNCE_MS), slot->debounce_ms);
    redis_arg_int(call_argv(call, SCRIPT_SEND_ARGV_DEDUP_MS), slot->dedup_ms);
    redis_arg_int(call_argv(call, SCRIPT_SEND_ARGV_FIELD_FROM), slot->field_from);
    redis_arg_string(call_argv(call, SCRIPT_SEND_ARGV_PRODUCER), producer);
    redis_arg_int(call_argv(call, SCRIPT_SEND_ARGV_SEQUENCE), (int64_t) sequence);
}

/* The keys of the slot in one group. */
static void send_group_keys(struct slot_keys *out, const struct topic *topic, int group,
                            int32_t slot)
{
    char name[TOPIC_NAME_MAX + 1];

    topic_part_name(name, topic, group);
    slot_keys_fill(out, name, slot);
}

static void send_begin_groups(struct store_call *call, const struct store_slot *slot,
                              const struct topic *topic, const char *producer, uint64_t sequence)
{
    struct slot_keys keys;
    int count = topic_parts(topic);

    call_begin(call, &script_send_groups, slot->keys.hash_slot);
    for (int i = 0; i < count; i++) {
        send_group_keys(&keys, topic, i, slot->number);
        send_keys(call, &keys, slot->keyed);
    }
    call->command.keys = (int) call->command.args.count;
    redis_arg_string(call_argv(call, SCRIPT_SEND_GROUPS_ARGV_DEF), slot->stamp);
    call_kind(call, SCRIPT_SEND_GROUPS_ARGV_KIND, slot);
    redis_arg_int(call_argv(call, SCRIPT_SEND_GROUPS_ARGV_GROUPS), count);
    redis_arg_int(call_argv(call, SCRIPT_SEND_GROUPS_ARGV_MAX_WAITING), slot->max_waiting);
    redis_arg_int(call_argv(call, SCRIPT_SEND_GROUPS_ARGV_DEBOUNCE_MS), slot->debounce_ms);
    redis_arg_int(call_argv(call, SCRIPT_SEND_GROUPS_ARGV_DEDUP_MS), slot->dedup_ms);
    redis_arg_int(call_argv(call, SCRIPT_SEND_GROUPS_ARGV_FIELD_FROM), slot->field_from);
    redis_arg_string(call_argv(call, SCRIPT_SEND_GROUPS_ARGV_PRODUCER), producer);
    redis_arg_int(call_argv(call, SCRIPT_SEND_GROUPS_ARGV_SEQUENCE), (int64_t) sequence);
    for (int i = 0; i < count; i++) {
        send_group_keys(&keys, topic, i, slot->number);
        redis_arg_string(&call->command, keys.wake);
    }
}

void store_send_begin(struct store_call *call, const struct store_slot *slot,
                      const struct topic *topic, const char *producer, uint64_t sequence)
{
    producer = producer != NULL ? producer : "-";
    if (topic->groups[0] == '\0') {
        send_begin_one(call, slot, producer, sequence);
    } else {
        send_begin_groups(call, slot, topic, producer, sequence);
    }
    call->command.apart = true; /* sends keep their order, and consume calls theirs */
}

/* Add a number, or an empty argument for a negative one. */
static void send_arg_optional(struct store_call *call, int64_t value)
{
    if (value < 0) {
        redis_arg_string(&call->command, "");
    } else {
        redis_arg_int(&call->command, value);
    }
}

/* "LIMIT", or with headers "LIMIT/BYTES"; LIMIT is empty where the topic's counts. */
static void send_arg_limit(struct store_call *call, const struct store_message *message)
{
    char limit[16] = "", text[48];

    if (message->headers_len == 0) {
        send_arg_optional(call, message->max_retries);
        return;
    }
    if (message->max_retries >= 0) {
        (void) snprintf(limit, sizeof(limit), "%" PRId32, message->max_retries);
    }
    (void) snprintf(text, sizeof(text), "%s/%zu", limit, message->headers_len);
    redis_arg_string(&call->command, text);
}

void store_send_add(struct store_call *call, const struct store_slot *slot,
                    const struct store_message *message)
{
    redis_arg(&call->command, message->member, message->member_len);
    redis_arg_string(&call->command, message->when);
    if (slot->keyed) {
        redis_arg(&call->command, message->body, message->body_len);
        send_arg_limit(call, message);
        send_arg_optional(call, message->ttl_ms);
    }
}

void store_send(struct store_call *call, struct redis *redis, int64_t timeout_ms)
{
    call_submit_publishing(call, redis, 8, timeout_ms);
}

bool store_send_read(const char **results, const struct store_result *result, size_t count)
{
    return reply_results(results, result->reply, 1, count, "amfdu");
}

int store_send_full_group(const struct store_result *result)
{
    int64_t group;

    return reply_number(&group, result->reply, 1) && group >= 1 && group <= GROUP_MOST
               ? (int) group - 1
               : -1;
}

int store_send_full(const struct store_result *result, size_t index)
{
    const char *groups;
    size_t len;

    if (!reply_string(&groups, &len, result->reply, 2) || index >= len || groups[index] < 'A' ||
        groups[index] >= 'A' + GROUP_MOST) {
        return -1;
    }
    return groups[index] - 'A';
}

void store_sent(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct topic *topic, const char *producer)
{
    struct slot_keys keys;
    char field[64];

    (void) snprintf(field, sizeof(field), "P%s", producer);
    send_group_keys(&keys, topic, 0, slot->number);
    call_begin(call, NULL, slot->keys.hash_slot);
    call->command.alone = false;
    redis_arg_string(&call->command, "HGET");
    redis_arg_string(&call->command, keys.slot);
    redis_arg_string(&call->command, field);
    call_submit(call, redis, 1, 0);
}

/* "LAST,COUNT,TIME,RESULTS". */
bool store_sent_read(uint64_t *last, const struct store_result *result)
{
    const redisReply *reply = result->reply;
    char *end = NULL;

    *last = 0;
    if (reply->type == REDIS_REPLY_NIL) {
        return true;
    }
    if (reply->type != REDIS_REPLY_STRING) {
        return false;
    }
    *last = strtoull(reply->str, &end, 10);
    return end != reply->str && *end == ',';
}
