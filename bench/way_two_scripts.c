/* way_two_scripts.c - what is there to be had: the two smallest scripts that could work.  A send
 * claims for an owner that sleeps, and publishes the message to it; the owner's answer claims the
 * next one, or lets it sleep.  There are no leases that end, no retries, no batches and no merging.
 *
 * Thread: main sends; one thread owns all slots. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_wire.h"
#include "ways.h"

enum { NAME_SIZE = 32, LOOK_NS = 50000000, SHA_SIZE = 41, ASKED_MOST = 4096 };
enum { LISTENER, CALLER, WIRES };

/* KEYS store, prepare, slot  ARGV def, member, channel */
static const char send_text[] =
    "local def, token, claims, parked, paused = unpack(redis.call('HMGET', KEYS[3], "
    "    'def', 'token', 'claims', 'parked', 'paused')) "
    "if def ~= ARGV[1] then return redis.error_reply('STALE') end "
    "local time = redis.call('TIME') "
    "local now = time[1] * 1000 + math.floor(time[2] / 1000) "
    "redis.call('HINCRBY', KEYS[3], 'sent', 1) "
    "if not parked or paused then "
    "    redis.call('ZADD', KEYS[1], 'NX', now, ARGV[2]) "
    "    return 'WAITS' "
    "end "
    "claims = claims + 1 "
    "local entry = now .. 'c' .. claims .. ':' .. ARGV[2] "
    "redis.call('ZADD', KEYS[2], now + 30000, entry) "
    "redis.call('HSET', KEYS[3], 'claims', claims) "
    "redis.call('HDEL', KEYS[3], 'parked') "
    "redis.call('SPUBLISH', ARGV[3], token .. ' ' .. entry) "
    "return 'CLAIMED'";

/* KEYS store, prepare, slot  ARGV token, entry */
static const char settle_text[] =
    "local token, claims, done = unpack(redis.call('HMGET', KEYS[3], 'token', 'claims', 'done')) "
    "if token ~= ARGV[1] then return redis.error_reply('FENCED') end "
    "redis.call('ZREM', KEYS[2], ARGV[2]) "
    "done = (done or 0) + 1 "
    "local head = redis.call('ZRANGE', KEYS[1], '0', '0', 'WITHSCORES') "
    "if not head[1] then "
    "    redis.call('HSET', KEYS[3], 'parked', 1, 'done', done) "
    "    return { 'OK' } "
    "end "
    "local time = redis.call('TIME') "
    "local now = time[1] * 1000 + math.floor(time[2] / 1000) "
    "claims = claims + 1 "
    "local entry = head[2] .. 'c' .. claims .. ':' .. head[1] "
    "redis.call('ZREMRANGEBYRANK', KEYS[1], 0, 0) "
    "redis.call('ZADD', KEYS[2], now + 30000, entry) "
    "redis.call('HSET', KEYS[3], 'claims', claims, 'done', done) "
    "return { 'OK', entry }";

struct two_slot {
    char store[NAME_SIZE], prepare[NAME_SIZE], slot[NAME_SIZE], wake[NAME_SIZE];
};

/* Invariant: replies of answers come in the order of `asked`, a ring of slots.  A publication may
 * overtake the reply by which its slot fell asleep, so a slot can be in it more than once. */
struct two_scripts {
    struct two_slot slots[FLOW_SLOTS];
    char send_sha[SHA_SIZE], settle_sha[SHA_SIZE];
    struct wire *sender, *wires[WIRES];
    int asked[ASKED_MOST];
    uint64_t head, tail;
    struct flow *flow;
    atomic_bool stop;
    bool failed;
};

/* === The slots ========================================================== */

static void name_keys(struct two_slot *slot, int number)
{
    snprintf(slot->store, NAME_SIZE, "two_%d", number);
    snprintf(slot->prepare, NAME_SIZE, "prepare{two_%d}", number);
    snprintf(slot->slot, NAME_SIZE, "slot{two_%d}", number);
    snprintf(slot->wake, NAME_SIZE, "wake{two_%d}", number);
}

static bool ask(struct wire *wire, const char *format, const char *word)
{
    redisReply *reply = wire_ask(wire, format, word);
    bool good = reply != NULL;

    freeReplyObject(reply);
    return good;
}

static bool load(struct wire *wire, const char *text, char sha[SHA_SIZE])
{
    redisReply *reply = wire_ask(wire, "SCRIPT LOAD %s", text);
    bool good = reply != NULL && reply->type == REDIS_REPLY_STRING;

    if (good) {
        snprintf(sha, SHA_SIZE, "%s", reply->str);
    }
    freeReplyObject(reply);
    return good;
}

/* Each slot has its owner, which sleeps. */
static bool open_slots(struct two_scripts *two)
{
    bool good = load(two->sender, send_text, two->send_sha) &&
                load(two->sender, settle_text, two->settle_sha);

    for (int i = 0; i < FLOW_SLOTS && good; i++) {
        name_keys(&two->slots[i], i);
        good = ask(two->sender, "HSET %s def d token t claims 0 parked 1", two->slots[i].slot) &&
               ask(two->wires[LISTENER], "SSUBSCRIBE %s", two->slots[i].wake);
    }
    return good;
}

static void render(struct wire *wire, const char *sha, const struct two_slot *slot, size_t args)
{
    wire_command(wire, 6 + args);
    wire_text(wire, "EVALSHA");
    wire_text(wire, sha);
    wire_text(wire, "3");
    wire_text(wire, slot->store);
    wire_text(wire, slot->prepare);
    wire_text(wire, slot->slot);
}

/* === The owner ========================================================== */

/* Handle what an entry "WHENcCLAIM:BODY" holds, and answer it. */
static void handle(struct two_scripts *two, int slot, const char *entry, size_t len)
{
    const char *colon = memchr(entry, ':', len);
    struct wire *wire = two->wires[CALLER];

    if (colon != NULL) {
        flow_seen(two->flow, slot, colon + 1, len - (size_t) (colon + 1 - entry));
    }
    render(wire, two->settle_sha, &two->slots[slot], 2);
    wire_text(wire, "t");
    wire_bytes(wire, entry, len);
    two->asked[two->head++ % ASKED_MOST] = slot;
}

/* "smessage", "wake{two_SLOT}", "TOKEN ENTRY" */
static void on_publication(struct two_scripts *two, const redisReply *reply)
{
    bool good = reply->type == REDIS_REPLY_ARRAY && reply->elements == 3;
    const char *number = good ? strrchr(reply->element[1]->str, '_') : NULL;
    const char *entry = good ? strchr(reply->element[2]->str, ' ') : NULL;

    if (number != NULL && entry != NULL) {
        size_t before = (size_t) (entry + 1 - reply->element[2]->str);
        handle(two, (int) strtol(number + 1, NULL, 10), entry + 1, reply->element[2]->len - before);
    }
}

static void on_settled(struct two_scripts *two, const redisReply *reply)
{
    int slot = two->asked[two->tail++ % ASKED_MOST];

    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) {
        handle(two, slot, reply->element[1]->str, reply->element[1]->len);
    }
}

static bool take_replies(struct two_scripts *two, int wire)
{
    redisReply *reply = NULL;

    while (wire_next(two->wires[wire], &reply)) {
        if (reply == NULL) {
            return true;
        }
        if (wire == LISTENER) {
            on_publication(two, reply);
        } else {
            on_settled(two, reply);
        }
        freeReplyObject(reply);
    }
    return false;
}

static void *own(void *arg)
{
    struct two_scripts *two = arg;
    bool ready[WIRES], good = true;

    while (good && !two->stop) {
        good = wire_wait(two->wires, WIRES, meter_now_ns() + LOOK_NS, ready) &&
               take_replies(two, LISTENER) && take_replies(two, CALLER) &&
               two->head - two->tail <= ASKED_MOST && wire_flush(two->wires[CALLER]);
    }
    two->failed = !good;
    return NULL;
}

/* ======================================================================== */

static void render_send(struct wire *wire, void *user, uint64_t number)
{
    const struct two_scripts *two = user;
    const struct two_slot *slot = &two->slots[flow_wire_slot(number)];
    char body[TALLY_BODY];

    tally_body(body, sizeof(body), number);
    render(wire, two->send_sha, slot, 3);
    wire_text(wire, "d");
    wire_bytes(wire, body, sizeof(body));
    wire_text(wire, slot->wake);
}

static bool run(struct two_scripts *two, struct lab *lab, struct meter *cost)
{
    struct flow_wire sender = {.wire = two->sender, .render = render_send, .user = two};
    pthread_t owner;

    if (!meter_start(cost, lab) || pthread_create(&owner, NULL, own, two) != 0) {
        return false;
    }
    bool good = flow_wire_send(&sender, two->flow);
    if (good) {
        flow_await(two->flow);
    }
    good = meter_stop(cost, lab) && good;
    two->stop = true;
    pthread_join(owner, NULL);
    return good && !two->failed;
}

bool way_two_scripts(struct lab *lab, const char *address, struct flow *flow, struct meter *cost)
{
    struct two_scripts two = {.flow = flow,
                              .sender = wire_open(address),
                              .wires = {wire_open(address), wire_open(address)}};
    bool good = lab_empty(lab) && two.sender != NULL && two.wires[LISTENER] != NULL &&
                two.wires[CALLER] != NULL && open_slots(&two) && run(&two, lab, cost);

    wire_close(two.sender);
    for (int i = 0; i < WIRES; i++) {
        wire_close(two.wires[i]);
    }
    return good;
}
