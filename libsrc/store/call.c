/* call.c - building calls of scripts, and the results of their replies.
 *
 * Thread: smq:io. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "model/number.h"
#include "model/statistic.h"
#include "store/call.h"

/* X(word, outcome, status, text): the words with which scripts reply. */
#define WORD_MAP(X)                                                                                \
    X("OK", STORE_OK, SMQ_OK, "")                                                                  \
    X("NO_TOPIC", STORE_NO_TOPIC, SMQ_NO_TOPIC, "the topic does not exist in this slot")           \
    X("STALE", STORE_STALE, SMQ_NO_TOPIC, "the topic has another definition now")                  \
    X("FENCED", STORE_FENCED, SMQ_FENCED, "a newer owner holds the slot")                          \
    X("FULL", STORE_REFUSED, SMQ_FULL, "the arrival sequence of the slot is used up; drain it")    \
    X("CHANGED", STORE_REFUSED, SMQ_TOPIC_DIFFERS, "the topic was altered in the meantime")        \
    X("NO_MESSAGE", STORE_REFUSED, SMQ_NO_MESSAGE, "no such message waits")                        \
    X("HELD", STORE_REFUSED, SMQ_IN_WORK, "another process holds the lease")                       \
    X("OTHER_FLEET", STORE_REFUSED, SMQ_OTHER_FLEET, "another fleet consumes the topic")           \
    X("DELETING", STORE_REFUSED, SMQ_NO_TOPIC, "the topic is being deleted")                       \
    X("FOREIGN", STORE_REFUSED, SMQ_INVALID, "a key of another program has the same name")         \
    X("TAKEN", STORE_REFUSED, SMQ_TOPIC_DIFFERS,                                                   \
      "the slot belongs to another creation of the topic")                                         \
    X("IN_USE", STORE_REFUSED, SMQ_IN_WORK, "the slot was opened again in the meantime")           \
    X("NOT_EMPTY", STORE_REFUSED, SMQ_NOT_EMPTY, "the slot still holds messages")                  \
    X("MOVED", STORE_REFUSED, SMQ_IN_WORK, "the schedule was changed in the meantime")             \
    X("GONE", STORE_REFUSED, SMQ_NO_TOPIC, "the slot belongs to another creation of the topic")

static const struct word {
    const char *name;
    enum store_outcome outcome;
    smq_status status;
    const char *text;
} words[] = {
#define X(name, outcome, status, text) {name, outcome, status, text},
    WORD_MAP(X)
#undef X
};

static enum store_outcome call_outcome_of_failure(enum redis_outcome outcome)
{
    switch (outcome) {
    case REDIS_NOT_DONE:
        return STORE_NOT_DONE;
    case REDIS_PARTLY:
        return STORE_PARTLY;
    case REDIS_DONE:
    case REDIS_UNKNOWN:
        break;
    }
    return STORE_UNKNOWN;
}

static const struct word *call_word_find(const redisReply *reply)
{
    const char *data;
    size_t len;

    if (!reply_string(&data, &len, reply, 0)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].name) == len && memcmp(words[i].name, data, len) == 0) {
            return &words[i];
        }
    }
    return NULL;
}

static struct store_result call_result_of_script(const redisReply *reply)
{
    const struct word *word = call_word_find(reply);

    if (word == NULL) {
        return (struct store_result){.outcome = STORE_PARTLY,
                                     .status = SMQ_INTERNAL,
                                     .word = "",
                                     .text = "the reply of a script cannot be read"};
    }
    return (struct store_result){.outcome = word->outcome,
                                 .status = word->status,
                                 .word = word->name,
                                 .text = word->text,
                                 .reply = reply};
}

static struct store_result call_result_of(const struct store_call *call,
                                          const struct redis_result *redis)
{
    if (redis->outcome != REDIS_DONE) {
        return (struct store_result){.outcome = call_outcome_of_failure(redis->outcome),
                                     .status = redis->status,
                                     .word = "",
                                     .text = redis->text,
                                     .cut = redis->cut};
    }
    if (call->command.script != NULL) {
        return call_result_of_script(redis->reply);
    }
    return (struct store_result){
        .outcome = STORE_OK, .status = SMQ_OK, .word = "", .text = "", .reply = redis->reply};
}

/* The script does not take the call; another one does. */
static bool call_is_for_another(const struct store_call *call, const struct redis_result *redis)
{
    const char *data;
    size_t len;

    return call->any != NULL && redis->outcome == REDIS_DONE &&
           reply_string(&data, &len, redis->reply, 0) && len == 3 && memcmp(data, "ANY", len) == 0;
}

static void call_done(const struct redis_result *redis, void *user)
{
    struct store_call *call = user;
    struct store_result result;

    if (call_is_for_another(call, redis)) {
        call->command.script = call->any;
        call->any = NULL;
        redis_send(call->publishes, &call->command);
        return;
    }
    result = call_result_of(call, redis);
    if (call->publishes != NULL && result.outcome == STORE_OK) {
        call_report_lack(call, result.reply);
    }
    call->done(call, &result);
}

void store_call_init(struct store_call *call, store_done_fn *done, void *user)
{
    *call = (struct store_call){.done = done, .user = user};
    redis_command_init(&call->command, NULL, REDIS_ANY_NODE, call_done, call);
}

void store_call_fini(struct store_call *call)
{
    redis_command_fini(&call->command);
}

void store_replicas(struct store_call *call, int replicas, int64_t until_ms)
{
    call->command.replicas = replicas;
    call->command.until_ms = until_ms;
}

void store_await(struct redis_await *await, const struct store_call *call)
{
    redis_await(await, &call->command);
}

/* The share of one slot, rounded up so that a limit never becomes 0, which means none. */
static int64_t call_share_of(int64_t whole, int32_t slots)
{
    return (whole + slots - 1) / slots;
}

void store_slot_fill(struct store_slot *out, const struct topic *topic, int32_t slot)
{
    *out = (struct store_slot){.number = slot,
                               .kind = topic_kind(topic),
                               .shared = topic->shared,
                               .keyed = topic->layout == SMQ_LAYOUT_KEYED,
                               .skip_failed = topic->skip_failed,
                               .expired_to_dead = topic->expired_to_dead,
                               .strict_takeover = topic->takeover == SMQ_TAKEOVER_STRICT,
                               .debounce_ms = topic->debounce_ms,
                               .dedup_ms = topic->dedup_window_ms,
                               .field_from = topic_field_from(topic),
                               .ttl_ms = topic->ttl_ms,
                               .max_waiting = call_share_of(topic->max_waiting, topic->slots)};
    topic_stamp(out->stamp, topic);
    slot_keys_fill(&out->keys, topic->name, slot);
}

void call_begin(struct store_call *call, const struct script *script, int32_t hash_slot)
{
    redis_command_clear(&call->command);
    call->publishes = NULL;
    call->any = NULL;
    call->command.script = script;
    call->command.keys = script != NULL ? script->keys : 0;
    call->command.hash_slot = hash_slot;
}

void call_drop_keyed(struct store_call *call, const struct store_slot *slot)
{
    call->command.keys -= slot->keyed ? 0 : call->command.script->optional;
}

void call_begin_keys(struct store_call *call, const struct script *script,
                     const struct store_slot *slot)
{
    const struct slot_keys *keys = &slot->keys;

    call_begin(call, script, keys->hash_slot);
    redis_arg_string(&call->command, keys->store);
    redis_arg_string(&call->command, keys->prepare);
    redis_arg_string(&call->command, keys->dead);
    redis_arg_string(&call->command, keys->why);
    redis_arg_string(&call->command, keys->slot);
    if (slot->keyed && script->optional > 0) {
        redis_arg_string(&call->command, keys->body);
    }
    if (slot->keyed && script->optional > 1) {
        redis_arg_string(&call->command, keys->done);
    }
    call_drop_keyed(call, slot);
}

void call_begin_slot(struct store_call *call, const struct script *script,
                     const struct store_slot *slot)
{
    call_begin_keys(call, script, slot);
    redis_arg_string(&call->command, slot->stamp);
}

void call_begin_topic(struct store_call *call, const struct script *script, const char *topic)
{
    char key[SLOT_KEY_MAX];

    slot_topic_key(key, topic);
    call_begin(call, script, slot_hash(key, strlen(key)));
    redis_arg_string(&call->command, key);
}

void call_key_topic(struct store_call *call, const char *topic)
{
    char key[SLOT_KEY_MAX];

    slot_topic_key(key, topic);
    redis_arg_string(&call->command, key);
    call->command.keys++;
}

void call_submit(struct store_call *call, struct redis *redis, size_t max_elements,
                 int64_t timeout_ms)
{
    call->command.max_elements = max_elements;
    call->command.timeout_ms = timeout_ms;
    redis_send(redis, &call->command);
}

void call_submit_publishing(struct store_call *call, struct redis *redis, size_t max_elements,
                            int64_t timeout_ms)
{
    call->publishes = redis;
    call_submit(call, redis, max_elements + 1, timeout_ms);
}

struct redis_command *call_argv(struct store_call *call, int place)
{
    assert(call->command.args.count + 1 == (size_t) (call->command.keys + place));
    return &call->command;
}

void call_token(struct store_call *call, int place, const struct store_slot *slot,
                struct token token)
{
    char text[TOKEN_TEXT_LEN + 1];

    if (slot->shared) {
        redis_arg_string(call_argv(call, place), "shared");
        return;
    }
    token_format(text, token);
    redis_arg_string(call_argv(call, place), text);
}

void call_kind(struct store_call *call, int place, const struct store_slot *slot)
{
    redis_arg(call_argv(call, place), &slot->kind, 1);
}

void call_counters(struct store_call *call, int place)
{
    for (size_t i = 0; i < statistic_count; i++) {
        const smq_number_info *number = &statistic_table[i].info;

        if (number->kind == SMQ_NUMBER_COUNTER) {
            redis_arg_string(call_argv(call, place++), number->name);
        }
    }
}

static const redisReply *reply_at(const redisReply *reply, size_t index)
{
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || index >= reply->elements) {
        return NULL;
    }
    return reply->element[index];
}

bool reply_string(const char **data, size_t *len, const redisReply *reply, size_t index)
{
    const redisReply *element = reply_at(reply, index);

    if (element == NULL ||
        (element->type != REDIS_REPLY_STRING && element->type != REDIS_REPLY_STATUS)) {
        return false;
    }
    *data = element->str;
    *len = element->len;
    return true;
}

static bool call_number_parse(int64_t *out, const char *data, size_t len)
{
    char text[24];
    char *end;

    if (len == 0 || len >= sizeof(text) || (data[0] != '-' && (data[0] < '0' || data[0] > '9'))) {
        return false;
    }
    memcpy(text, data, len);
    text[len] = '\0';
    *out = strtoll(text, &end, 10);
    return end == text + len;
}

bool reply_number(int64_t *out, const redisReply *reply, size_t index)
{
    const redisReply *element = reply_at(reply, index);
    const char *data;
    size_t len;

    if (element != NULL && element->type == REDIS_REPLY_INTEGER) {
        *out = element->integer;
        return true;
    }
    return reply_string(&data, &len, reply, index) && call_number_parse(out, data, len);
}

bool reply_count(uint64_t *out, const redisReply *reply, size_t index)
{
    int64_t number;

    if (!reply_number(&number, reply, index) || number < 0) {
        return false;
    }
    *out = (uint64_t) number;
    return true;
}

bool reply_time(int64_t *out, const redisReply *reply, size_t index)
{
    const char *data;
    size_t len;

    if (reply_string(&data, &len, reply, index) && len == 0) {
        *out = -1;
        return true;
    }
    return reply_number(out, reply, index) && *out >= 0;
}

bool reply_results(const char **out, const redisReply *reply, size_t index, size_t count,
                   const char *allowed)
{
    const char *data;
    size_t len;

    if (!reply_string(&data, &len, reply, index) || len != count || strspn(data, allowed) != len) {
        return false;
    }
    *out = data;
    return true;
}

bool reply_text(char *out, size_t size, const redisReply *reply, size_t index)
{
    const char *data;
    size_t len;

    if (!reply_string(&data, &len, reply, index) || len >= size || memchr(data, '\0', len)) {
        return false;
    }
    memcpy(out, data, len);
    out[len] = '\0';
    return true;
}

bool reply_note(struct store_note *out, const redisReply *reply, size_t index)
{
    const char *note, *owner, *entry;
    size_t len;

    *out = (struct store_note){.since_ms = -1, .entry = ""};
    if (!reply_string(&note, &len, reply, index)) {
        return false;
    }
    if (len == 0) {
        return true;
    }
    owner = memchr(note, ' ', len);
    entry = owner == NULL ? NULL : memchr(owner + 1, ' ', len - (size_t) (owner + 1 - note));
    if (entry == NULL || entry - owner > STORE_OWNER_MAX ||
        !number_parse(&out->since_ms, note, (size_t) (owner - note), INT64_MAX)) {
        return false;
    }
    memcpy(out->owner, owner + 1, (size_t) (entry - owner - 1));
    out->entry = entry + 1;
    out->entry_len = len - (size_t) (entry + 1 - note);
    return true;
}
