#include "peers/streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/peer.h"
#include "wire.h"

enum {
    STREAMS = 64,
    BATCH = 100,
    KEY_SIZE = 24,
    WINDOW = 1000,
    ANSWERS = 3 /* of XACK, XDEL and XREADGROUP */
};

/* What is in flight of one stream; `acks`: the two replies that come before the messages. */
struct ask {
    int stream;
    bool acks;
};

struct streams {
    struct wire *wire;
    char keys[STREAMS][KEY_SIZE];
    struct ask asked[STREAMS]; /* a ring */
};

static bool make_group(struct streams *streams, const char *key)
{
    redisReply *reply = wire_ask(streams->wire, "XGROUP CREATE %s bench 0 MKSTREAM", key);
    bool good = reply != NULL;

    freeReplyObject(reply);
    return good;
}

static void streams_close(struct streams *streams)
{
    if (streams != NULL) {
        wire_close(streams->wire);
        free(streams);
    }
}

static struct streams *streams_open(struct lab *lab)
{
    struct streams *streams = calloc(1, sizeof(*streams));

    if (streams == NULL) {
        abort();
    }
    streams->wire = wire_open(lab_redis(lab));
    bool good = streams->wire != NULL;
    for (int i = 0; i < STREAMS && good; i++) {
        snprintf(streams->keys[i], KEY_SIZE, "stream%d", i);
        good = make_group(streams, streams->keys[i]);
    }
    if (!good) {
        streams_close(streams);
        return NULL;
    }
    return streams;
}

static void render_add(struct streams *streams, uint64_t number)
{
    char body[TALLY_BODY];

    tally_body(body, sizeof(body), number);
    wire_command(streams->wire, 5);
    wire_text(streams->wire, "XADD");
    wire_text(streams->wire, streams->keys[number % STREAMS]);
    wire_text(streams->wire, "*");
    wire_text(streams->wire, "b");
    wire_bytes(streams->wire, body, sizeof(body));
}

/* As many in flight as for 10 batches. */
static bool streams_send(struct streams *streams, uint64_t count)
{
    uint64_t sent = 0;

    for (uint64_t answered = 0; answered < count; answered++) {
        if (sent - answered < WINDOW / 2) {
            for (; sent < count && sent - answered < WINDOW; sent++) {
                render_add(streams, sent);
            }
        }
        redisReply *reply = wire_reply(streams->wire);
        if (reply == NULL) {
            return false;
        }
        freeReplyObject(reply);
    }
    return true;
}

/* The entries in a reply of XREADGROUP; NULL: it holds none. */
static const redisReply *entries_of(const redisReply *reply)
{
    bool some = reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 &&
                reply->element[0]->elements == 2;

    return some ? reply->element[0]->element[1] : NULL;
}

static void render_ids(struct streams *streams, const char *command, const char *key,
                       const char *group, const redisReply *entries)
{
    wire_command(streams->wire, (group != NULL ? 3 : 2) + entries->elements);
    wire_text(streams->wire, command);
    wire_text(streams->wire, key);
    if (group != NULL) {
        wire_text(streams->wire, group);
    }
    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *id = entries->element[i]->element[0];
        wire_bytes(streams->wire, id->str, id->len);
    }
}

static void render_read(struct streams *streams, int stream, int batch, const redisReply *entries)
{
    const char *key = streams->keys[stream];

    if (entries != NULL) {
        render_ids(streams, "XACK", key, "bench", entries);
        render_ids(streams, "XDEL", key, NULL, entries);
    }
    wire_command(streams->wire, 9);
    wire_text(streams->wire, "XREADGROUP");
    wire_text(streams->wire, "GROUP");
    wire_text(streams->wire, "bench");
    wire_text(streams->wire, "one");
    wire_text(streams->wire, "COUNT");
    wire_number(streams->wire, batch);
    wire_text(streams->wire, "STREAMS");
    wire_text(streams->wire, key);
    wire_text(streams->wire, ">");
}

static bool skip(struct streams *streams, int replies)
{
    for (int i = 0; i < replies; i++) {
        redisReply *reply = wire_reply(streams->wire);
        if (reply == NULL) {
            return false;
        }
        freeReplyObject(reply);
    }
    return true;
}

static void tick_all(struct tally *tally, int stream, const redisReply *entries)
{
    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *body = entries->element[i]->element[1]->element[1];
        tally_tick(tally, stream, body->str, body->len);
    }
}

static bool streams_drain(struct streams *streams, struct tally *tally, int batch)
{
    uint64_t asked = 0;

    for (int i = 0; i < STREAMS; i++) {
        render_read(streams, i, batch, NULL);
        streams->asked[asked++] = (struct ask){.stream = i};
    }
    for (uint64_t answered = 0; answered < asked; answered++) {
        struct ask ask = streams->asked[answered % STREAMS];
        redisReply *reply =
            skip(streams, ask.acks ? ANSWERS - 1 : 0) ? wire_reply(streams->wire) : NULL;
        if (reply == NULL) {
            return false;
        }
        const redisReply *entries = entries_of(reply);
        if (entries != NULL) {
            tick_all(tally, ask.stream, entries);
            render_read(streams, ask.stream, batch, entries);
            streams->asked[asked++ % STREAMS] = (struct ask){.stream = ask.stream, .acks = true};
        }
        freeReplyObject(reply);
    }
    return true;
}

bool streams_measure(struct lab *lab, uint64_t count, struct streams_result *out)
{
    struct tally *tally = tally_new(count, STREAMS);
    struct streams *streams = lab_empty(lab) ? streams_open(lab) : NULL;
    bool good = streams != NULL && meter_start(&out->sent, lab) && streams_send(streams, count) &&
                meter_stop(&out->sent, lab) && meter_start(&out->drained, lab) &&
                streams_drain(streams, tally, BATCH) && meter_stop(&out->drained, lab);

    out->counts = tally_counts(tally);
    streams_close(streams);
    tally_free(tally);
    return good;
}

/* === As a peer ========================================================== */

static const char *missing(const struct lab *lab)
{
    (void) lab;
    return NULL;
}

static bool measure(struct lab *lab, uint64_t count, struct peer_result *out)
{
    struct streams_result result;
    bool good = streams_measure(lab, count, &result);

    *out = (struct peer_result){result.sent.seconds, result.drained.seconds, result.counts};
    return good;
}

const struct peer peer_streams = {.name = "streams",
                                  .how = "64 streams in flight; XREADGROUP, XACK and XDEL of 100",
                                  .missing = missing,
                                  .measure = measure};
