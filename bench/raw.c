#include "raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scripts.h"

enum {
    KEY_SIZE = 48,
    DEF_SIZE = 96,
    WINDOW = 6400,      /* messages in flight to Redis, */
    WINDOW_LEAST = 16,  /* but never fewer commands, */
    WINDOW_MOST = 1000, /* nor more */
    SCRIPT_HEAD = 3,    /* EVALSHA, the digest, the number of keys */
    HEAD = 6            /* elements of a reply of consume before its messages */
};

#define TOKEN "ffffffff0000000000000001"

/* Keys in the order of every contract. */
struct raw_slot {
    char store[KEY_SIZE], prepare[KEY_SIZE], dead[KEY_SIZE], why[KEY_SIZE], slot[KEY_SIZE];
    char wake[KEY_SIZE], plain[KEY_SIZE];
    char last[24]; /* claim number */
};

struct raw {
    struct wire *wire;
    int count;
    char def[DEF_SIZE];
    struct raw_slot *slots;
    int *asked; /* slots whose replies are still to come, a ring of `count` */
    char producer[24];
    uint64_t sequence; /* of the next message */
};

static void name_keys(struct raw_slot *slot, const char *topic, int number)
{
    char store[32];

    snprintf(store, sizeof(store), "%.20s_%d", topic, number);
    snprintf(slot->store, KEY_SIZE, "%s", store);
    snprintf(slot->prepare, KEY_SIZE, "prepare{%s}", store);
    snprintf(slot->dead, KEY_SIZE, "dead{%s}", store);
    snprintf(slot->why, KEY_SIZE, "why{%s}", store);
    snprintf(slot->slot, KEY_SIZE, "slot{%s}", store);
    snprintf(slot->wake, KEY_SIZE, "wake{%s}", store);
    snprintf(slot->plain, KEY_SIZE, "plain{%s}", store);
    snprintf(slot->last, sizeof(slot->last), "0");
}

static bool load(struct wire *wire, const struct script *script)
{
    redisReply *reply = wire_ask(wire, "SCRIPT LOAD %b", script->text, script->text_len);
    bool good = reply != NULL;

    freeReplyObject(reply);
    return good;
}

static bool read_def(struct raw *raw)
{
    redisReply *reply = wire_ask(raw->wire, "HGET %s def", raw->slots[0].slot);
    bool good = reply != NULL && reply->type == REDIS_REPLY_STRING;

    if (good) {
        snprintf(raw->def, sizeof(raw->def), "%s", reply->str);
    }
    freeReplyObject(reply);
    return good;
}

struct raw *raw_open(struct lab *lab, const char *topic, int slots)
{
    static unsigned opened; /* makes the name of a producer */
    struct raw *raw = calloc(1, sizeof(*raw));

    if (raw == NULL || (raw->slots = calloc((size_t) slots, sizeof(*raw->slots))) == NULL ||
        (raw->asked = calloc((size_t) slots, sizeof(*raw->asked))) == NULL) {
        abort();
    }
    raw->count = slots;
    raw->sequence = 1;
    snprintf(raw->producer, sizeof(raw->producer), "%08x%08x", (unsigned) getpid(), ++opened);
    for (int i = 0; i < slots; i++) {
        name_keys(&raw->slots[i], topic, i);
    }
    raw->wire = wire_open(lab_redis(lab));
    if (raw->wire == NULL || !load(raw->wire, &script_send) || !load(raw->wire, &script_consume) ||
        !load(raw->wire, &script_takeover) || !read_def(raw)) {
        raw_close(raw);
        return NULL;
    }
    return raw;
}

void raw_close(struct raw *raw)
{
    if (raw != NULL) {
        wire_close(raw->wire);
        free(raw->slots);
        free(raw->asked);
        free(raw);
    }
}

/* === Sending ============================================================ */

static void render_zadd(struct raw *raw, const struct raw_slot *slot, uint64_t from, int count)
{
    char body[TALLY_BODY];

    wire_command(raw->wire, 2 + 2 * (size_t) count);
    wire_text(raw->wire, "ZADD");
    wire_text(raw->wire, slot->plain);
    for (int i = 0; i < count; i++) {
        tally_body(body, sizeof(body), from + (uint64_t) i);
        wire_text(raw->wire, "1700000000000");
        wire_bytes(raw->wire, body, sizeof(body));
    }
}

static void render_send(struct raw *raw, const struct raw_slot *slot, uint64_t from, int count)
{
    const size_t head = SCRIPT_HEAD + 3 + SCRIPT_SEND_ARGV_MESSAGES - 1;
    char body[TALLY_BODY], sequence[24];

    snprintf(sequence, sizeof(sequence), "%" PRIu64, raw->sequence);
    raw->sequence += (uint64_t) count;
    wire_command(raw->wire, head + 2 * (size_t) count);
    wire_text(raw->wire, "EVALSHA");
    wire_text(raw->wire, script_send.sha1);
    wire_text(raw->wire, "3");
    wire_text(raw->wire, slot->store);
    wire_text(raw->wire, slot->prepare);
    wire_text(raw->wire, slot->slot);
    wire_text(raw->wire, raw->def);
    wire_text(raw->wire, "t");
    wire_text(raw->wire, slot->wake);
    wire_text(raw->wire, "0"); /* no bound */
    wire_text(raw->wire, "0"); /* no debounce */
    wire_text(raw->wire, "0"); /* no window of ids */
    wire_text(raw->wire, "0"); /* no fields */
    wire_text(raw->wire, raw->producer);
    wire_text(raw->wire, sequence);
    for (int i = 0; i < count; i++) {
        tally_body(body, sizeof(body), from + (uint64_t) i);
        wire_bytes(raw->wire, body, sizeof(body));
        wire_text(raw->wire, "+0");
    }
}

typedef void render_fn(struct raw *raw, const struct raw_slot *slot, uint64_t from, int count);

static bool send_all(struct raw *raw, uint64_t count, int batch, render_fn *render, bool script)
{
    uint64_t commands = (count + (uint64_t) batch - 1) / (uint64_t) batch;
    uint64_t window = (uint64_t) (WINDOW / batch);
    uint64_t sent = 0;

    window = window < WINDOW_LEAST ? WINDOW_LEAST : window > WINDOW_MOST ? WINDOW_MOST : window;
    for (uint64_t answered = 0; answered < commands; answered++) {
        for (; sent < commands && sent - answered < window; sent++) {
            uint64_t from = sent * (uint64_t) batch;
            uint64_t some = count - from < (uint64_t) batch ? count - from : (uint64_t) batch;
            render(raw, &raw->slots[sent % (uint64_t) raw->count], from, (int) some);
        }
        redisReply *reply = wire_reply(raw->wire);
        bool good = reply != NULL && (!script || wire_is_ok(reply));
        freeReplyObject(reply);
        if (!good) {
            return false;
        }
    }
    return true;
}

bool raw_zadd(struct raw *raw, uint64_t count, int batch)
{
    return send_all(raw, count, batch, render_zadd, false);
}

bool raw_send(struct raw *raw, uint64_t count, int batch)
{
    return send_all(raw, count, batch, render_send, true);
}

bool raw_post(struct raw *raw, int slot, uint64_t number)
{
    render_send(raw, &raw->slots[slot], number, 1);
    return wire_flush(raw->wire);
}

bool raw_posted(struct raw *raw)
{
    redisReply *reply = wire_reply(raw->wire);
    bool good = wire_is_ok(reply);

    freeReplyObject(reply);
    return good;
}

/* Each look at a member moves one bucket of the old table, which has fewer than there are members.
 */
bool raw_end_growth(struct raw *raw, uint64_t count)
{
    static const char look[] = "for i = 1, ARGV[1] do redis.call('ZSCORE', KEYS[1], '') end";
    unsigned long long each = (unsigned long long) (count / (uint64_t) raw->count) + 1;

    for (int i = 0; i < raw->count; i++) {
        redisReply *reply =
            wire_ask(raw->wire, "EVAL %s 1 %s %llu", look, raw->slots[i].store, each);
        bool good = reply != NULL && reply->type != REDIS_REPLY_ERROR;
        freeReplyObject(reply);
        if (!good) {
            return false;
        }
    }
    return true;
}

/* Members of a sorted set that always has one of its own; a plain one has none. */
static bool add_members(struct raw *raw, const char *key, uint64_t own, uint64_t *out)
{
    redisReply *reply = wire_ask(raw->wire, "ZCARD %s", key);
    bool good = reply != NULL && reply->type == REDIS_REPLY_INTEGER;

    if (good && (uint64_t) reply->integer > own) {
        *out += (uint64_t) reply->integer - own;
    }
    freeReplyObject(reply);
    return good;
}

bool raw_waiting(struct raw *raw, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < raw->count; i++) {
        if (!add_members(raw, raw->slots[i].store, 1, out) ||
            !add_members(raw, raw->slots[i].plain, 0, out)) {
            return false;
        }
    }
    return true;
}

/* === Consuming ========================================================== */

static void render_head(struct raw *raw, const struct raw_slot *slot, const struct script *script,
                        size_t args)
{
    wire_command(raw->wire, SCRIPT_HEAD + 5 + args);
    wire_text(raw->wire, "EVALSHA");
    wire_text(raw->wire, script->sha1);
    wire_text(raw->wire, "5");
    wire_text(raw->wire, slot->store);
    wire_text(raw->wire, slot->prepare);
    wire_text(raw->wire, slot->dead);
    wire_text(raw->wire, slot->why);
    wire_text(raw->wire, slot->slot);
}

bool raw_own(struct raw *raw)
{
    for (int i = 0; i < raw->count; i++) {
        render_head(raw, &raw->slots[i], &script_takeover, SCRIPT_TAKEOVER_ARGV_COORD);
        wire_text(raw->wire, raw->def);
        wire_text(raw->wire, TOKEN);
        wire_text(raw->wire, "t");
        wire_text(raw->wire, "fast");
        wire_text(raw->wire, "16");
        wire_text(raw->wire, "1000");
        wire_text(raw->wire, "raw");
        wire_text(raw->wire, "standalone");
        redisReply *reply = wire_reply(raw->wire);
        bool good = wire_is_ok(reply);
        freeReplyObject(reply);
        if (!good) {
            return false;
        }
    }
    return true;
}

size_t raw_count(const redisReply *reply)
{
    return reply->elements > HEAD ? (reply->elements - HEAD) / 2 : 0;
}

static const redisReply *entry_of(const redisReply *reply, size_t index)
{
    return reply->element[HEAD + 2 * index];
}

static const char *body_of(const redisReply *reply, size_t index, size_t *len)
{
    const redisReply *entry = entry_of(reply, index);
    const char *colon = memchr(entry->str, ':', entry->len);

    *len = colon != NULL ? entry->len - (size_t) (colon + 1 - entry->str) : 0;
    return colon != NULL ? colon + 1 : "";
}

void raw_consume(struct raw *raw, int slot, int batch, const redisReply *answered)
{
    const struct raw_slot *keys = &raw->slots[slot];
    size_t done = answered != NULL ? raw_count(answered) : 0;

    render_head(raw, keys, &script_consume, SCRIPT_CONSUME_ARGV_NDONE + done);
    wire_text(raw->wire, raw->def);
    wire_text(raw->wire, TOKEN);
    wire_text(raw->wire, "t");
    wire_text(raw->wire, keys->wake);
    wire_number(raw->wire, batch);
    wire_text(raw->wire, "1048576");
    wire_text(raw->wire, "30000");
    wire_text(raw->wire, "16");
    wire_text(raw->wire, "0"); /* no window of ids */
    wire_text(raw->wire, keys->last);
    wire_text(raw->wire, keys->last); /* the oldest claim in flight */
    wire_text(raw->wire, "0");        /* no send may claim */
    wire_text(raw->wire, "0");        /* none has */
    wire_text(raw->wire, "-");        /* no key is passed over */
    wire_text(raw->wire, "-");        /* no flags */
    wire_number(raw->wire, (int64_t) done);
    for (size_t i = 0; i < done; i++) {
        const redisReply *entry = entry_of(answered, i);
        wire_bytes(raw->wire, entry->str, entry->len);
    }
}

redisReply *raw_consumed(struct raw *raw, int slot)
{
    redisReply *reply = wire_reply(raw->wire);

    if (!wire_is_ok(reply) || reply->elements < HEAD) {
        fprintf(stderr, "bench: consume was refused: %s\n",
                reply != NULL && reply->elements > 0 ? reply->element[0]->str : "no reply");
        freeReplyObject(reply);
        return NULL;
    }
    snprintf(raw->slots[slot].last, sizeof(raw->slots[slot].last), "%lld",
             reply->element[3]->integer);
    return reply;
}

void raw_tick(struct tally *tally, int slot, const redisReply *reply)
{
    for (size_t i = 0, count = raw_count(reply); i < count; i++) {
        size_t len;
        const char *body = body_of(reply, i, &len);
        tally_tick(tally, slot, body, len);
    }
}

bool raw_drain(struct raw *raw, struct tally *tally, int batch)
{
    uint64_t asked = 0, answered = 0;

    for (int i = 0; i < raw->count; i++) {
        raw_consume(raw, i, batch, NULL);
        raw->asked[asked++] = i;
    }
    for (; answered < asked; answered++) {
        int slot = raw->asked[answered % (uint64_t) raw->count];
        redisReply *reply = raw_consumed(raw, slot);
        if (reply == NULL) {
            return false;
        }
        if (raw_count(reply) > 0) {
            raw_tick(tally, slot, reply);
            raw_consume(raw, slot, batch, reply);
            raw->asked[asked++ % (uint64_t) raw->count] = slot;
        }
        freeReplyObject(reply);
    }
    return true;
}

/* === Waking ============================================================= */

bool raw_listen(struct raw *raw, struct wire *listener)
{
    for (int i = 0; i < raw->count; i++) {
        redisReply *reply = wire_ask(listener, "SSUBSCRIBE %s", raw->slots[i].wake);
        bool good = reply != NULL;

        freeReplyObject(reply);
        if (!good) {
            return false;
        }
    }
    return true;
}

int raw_woken(struct wire *listener)
{
    redisReply *reply = wire_reply(listener);
    int slot = -1;

    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
        reply->element[1]->str != NULL) {
        const char *number = strrchr(reply->element[1]->str, '_');
        slot = number != NULL ? (int) strtol(number + 1, NULL, 10) : -1;
    }
    freeReplyObject(reply);
    return slot;
}
