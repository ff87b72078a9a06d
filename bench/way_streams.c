/* way_streams.c - an open loop through Redis Streams: 64 streams, each with a consumer group, and
 * one consumer.  It is blocked in one XREADGROUP of all streams while they are empty, and sends
 * XACK, XDEL and the next XREADGROUP in one write.  Streams that are read by one command must be in
 * one hash slot.
 *
 * Thread: main sends; one thread consumes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_wire.h"
#include "ways.h"

enum {
    COUNT = 100, /* messages of one stream that a read brings at most */
    KEY_SIZE = 24,
    LOOK_NS = 50000000
};

#define KEY_HEAD "{stream}"

struct streams {
    struct wire *sender, *reader;
    char keys[FLOW_SLOTS][KEY_SIZE];
    struct flow *flow;
    atomic_bool stop;
    bool failed;
};

/* === Sending ============================================================ */

static void render_add(struct wire *wire, void *user, uint64_t number)
{
    const struct streams *streams = user;
    char body[TALLY_BODY];

    tally_body(body, sizeof(body), number);
    wire_command(wire, 5);
    wire_text(wire, "XADD");
    wire_text(wire, streams->keys[flow_wire_slot(number)]);
    wire_text(wire, "*");
    wire_text(wire, "b");
    wire_bytes(wire, body, sizeof(body));
}

/* === Consuming ========================================================== */

static bool read_next(struct streams *streams)
{
    struct wire *wire = streams->reader;

    wire_command(wire, 9 + 2 * FLOW_SLOTS);
    wire_text(wire, "XREADGROUP");
    wire_text(wire, "GROUP");
    wire_text(wire, "bench");
    wire_text(wire, "one");
    wire_text(wire, "COUNT");
    wire_number(wire, COUNT);
    wire_text(wire, "BLOCK");
    wire_text(wire, "0");
    wire_text(wire, "STREAMS");
    for (int i = 0; i < FLOW_SLOTS; i++) {
        wire_text(wire, streams->keys[i]);
    }
    for (int i = 0; i < FLOW_SLOTS; i++) {
        wire_text(wire, ">");
    }
    return wire_flush(wire);
}

static void render_ids(struct wire *wire, const char *command, const redisReply *key,
                       const char *group, const redisReply *entries)
{
    wire_command(wire, (group != NULL ? 3 : 2) + entries->elements);
    wire_text(wire, command);
    wire_bytes(wire, key->str, key->len);
    if (group != NULL) {
        wire_text(wire, group);
    }
    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *id = entries->element[i]->element[0];
        wire_bytes(wire, id->str, id->len);
    }
}

/* The messages of one stream: its key, and entries of an id, a field and the body. */
static void handle(struct streams *streams, const redisReply *stream)
{
    const redisReply *key = stream->element[0], *entries = stream->element[1];
    int slot = (int) strtol(key->str + strlen(KEY_HEAD), NULL, 10);

    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *body = entries->element[i]->element[1]->element[1];
        flow_seen(streams->flow, slot, body->str, body->len);
    }
    render_ids(streams->reader, "XACK", key, "bench", entries);
    render_ids(streams->reader, "XDEL", key, NULL, entries);
}

/* Replies of XACK and XDEL are numbers. */
static bool on_reply(struct streams *streams, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY) {
        return true;
    }
    for (size_t i = 0; i < reply->elements; i++) {
        handle(streams, reply->element[i]);
    }
    return read_next(streams);
}

static bool take_replies(struct streams *streams)
{
    redisReply *reply = NULL;
    bool good = true;

    while (good && (good = wire_next(streams->reader, &reply)) && reply != NULL) {
        good = on_reply(streams, reply);
        freeReplyObject(reply);
    }
    return good;
}

static void *consume(void *arg)
{
    struct streams *streams = arg;
    bool ready, good = read_next(streams);

    while (good && !streams->stop) {
        good = wire_wait(&streams->reader, 1, meter_now_ns() + LOOK_NS, &ready) &&
               take_replies(streams);
    }
    streams->failed = !good;
    return NULL;
}

/* ======================================================================== */

static bool make_streams(struct streams *streams)
{
    for (int i = 0; i < FLOW_SLOTS; i++) {
        snprintf(streams->keys[i], KEY_SIZE, KEY_HEAD "%d", i);
        redisReply *reply =
            wire_ask(streams->sender, "XGROUP CREATE %s bench 0 MKSTREAM", streams->keys[i]);
        if (reply == NULL) {
            return false;
        }
        freeReplyObject(reply);
    }
    return true;
}

static bool run(struct streams *streams, struct lab *lab, struct meter *cost)
{
    struct flow_wire sender = {.wire = streams->sender, .render = render_add, .user = streams};
    pthread_t consumer;

    if (!meter_start(cost, lab) || pthread_create(&consumer, NULL, consume, streams) != 0) {
        return false;
    }
    bool good = flow_wire_send(&sender, streams->flow);
    if (good) {
        flow_await(streams->flow);
    }
    good = meter_stop(cost, lab) && good;
    streams->stop = true;
    pthread_join(consumer, NULL);
    return good && !streams->failed;
}

bool way_streams(struct lab *lab, const char *address, struct flow *flow, struct meter *cost)
{
    struct streams streams = {
        .flow = flow, .sender = wire_open(address), .reader = wire_open(address)};
    bool good = lab_empty(lab) && streams.sender != NULL && streams.reader != NULL &&
                make_streams(&streams) && run(&streams, lab, cost);

    wire_close(streams.sender);
    wire_close(streams.reader);
    return good;
}
