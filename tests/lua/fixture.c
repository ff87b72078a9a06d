/* fixture.c - see fixture.h. */
#include "fixture.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "clocked.h"
#include "support/testing.h"

const char *const fixture_keys[KEYS_COUNT] = {
    "x",       "prepare{x}", "dead{x}",  "why{x}",           "slot{x}",
    "body{x}", "done{x}",    "topic{x}", "slotmq{expiring}", "schedule{x}"};

/* --- arguments --- */

void args_add_bytes(struct args *args, const void *data, size_t len)
{
    assert_true(args->count < FIXTURE_ARGS_MAX);
    args->data[args->count] = memory_copy(data, len);
    args->lens[args->count++] = len;
}

void args_add_name(struct args *args, const char *name)
{
    char *bytes;

    args_add_bytes(args, name, strlen(name));
    bytes = args->data[args->count - 1];
    for (size_t i = 0; i < strlen(name); i++) {
        if (name[i] == '!') {
            bytes[i] = '\0';
        }
    }
}

void args_add(struct args *args, const char *text)
{
    args_add_bytes(args, text, strlen(text));
}

void args_add_int(struct args *args, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long) value);
    args_add(args, text);
}

void args_clear(struct args *args)
{
    for (size_t i = 0; i < args->count; i++) {
        free(args->data[i]);
    }
    args->count = 0;
}

/* --- the server --- */

redisContext *fixture_connect(struct fixture *fixture)
{
    char path[PATH_MAX];
    redisContext *context;

    snprintf(path, sizeof(path), "%s/redis.sock", servers_folder(fixture->servers));
    context = redisConnectUnix(path);

    assert_non_null(context);
    assert_int_equal(context->err, 0);
    return context;
}

int fixture_setup(void **state)
{
    struct fixture *fixture = memory_new(sizeof(*fixture));
    static const char *const config[] = {"unixsocket ../redis.sock", NULL};
    struct servers_options options = {.redis = REDIS_SINGLE, .redis_config = config};

    fixture->servers = servers_start(&options);
    if (fixture->servers == NULL) {
        free(fixture);
        return -1;
    }
    fixture->redis = fixture_connect(fixture);
    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        char sha1[SHA1_SIZE];

        fixture_load(fixture, scripts_all[i]->text, sha1);
        assert_string_equal(sha1, scripts_all[i]->sha1);
    }
    *state = fixture;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;

    fixture_listen(fixture, false);
    redisFree(fixture->redis);
    servers_free(fixture->servers);
    free(fixture);
    return 0;
}

redisReply *fixture_reply(struct fixture *fixture)
{
    void *reply = NULL;

    assert_int_equal(redisGetReply(fixture->redis, &reply), REDIS_OK);
    assert_non_null(reply);
    return reply;
}

void fixture_load(struct fixture *fixture, const char *text, char sha1[SHA1_SIZE])
{
    redisReply *reply = redisCommand(fixture->redis, "SCRIPT LOAD %s", text);

    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR) {
        fail_msg("%s", reply->str);
    }
    assert_int_equal(reply->len, SHA1_SIZE - 1);
    memcpy(sha1, reply->str, SHA1_SIZE);
    freeReplyObject(reply);
}

const struct script *fixture_script(const char *name)
{
    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        if (strcmp(scripts_all[i]->name, name) == 0) {
            return scripts_all[i];
        }
    }
    fail_msg("no script is called %s", name);
    return NULL;
}

/* The keys of a script are those of the slot, in order, from the first that it takes. */
static void key_range(enum fixture_key keys[], const struct script *script)
{
    static const enum fixture_key send[] = {KEY_STORE, KEY_PREPARE, KEY_SLOT, KEY_BODY, KEY_DONE};
    static const enum fixture_key renew[] = {KEY_PREPARE, KEY_SLOT};
    static const enum fixture_key slot[] = {KEY_SLOT};
    static const enum fixture_key alter[] = {KEY_SLOT, KEY_DONE};
    static const enum fixture_key divide[] = {KEY_SLOT, KEY_BODY};
    static const enum fixture_key topic[] = {KEY_TOPIC};
    static const enum fixture_key expiring[] = {KEY_EXPIRING};
    static const enum fixture_key schedule[] = {KEY_SLOT, KEY_SCHEDULE};
    static const enum fixture_key tick[] = {KEY_STORE,    KEY_PREPARE, KEY_SLOT,
                                            KEY_SCHEDULE, KEY_BODY,    KEY_DONE};
    static const enum fixture_key all[] = {KEY_STORE, KEY_PREPARE, KEY_DEAD, KEY_WHY,
                                           KEY_SLOT,  KEY_BODY,    KEY_DONE};
    static const struct {
        const char *name;
        const enum fixture_key *keys;
    } known[] = {{"send", send},          {"renew", renew},           {"vacate", slot},
                 {"rank", send},          {"slot_alter", alter},      {"slot_pause", slot},
                 {"slot_divide", divide}, {"slot_unseal", slot},      {"topic", topic},
                 {"tree", topic},         {"owner", renew},           {"slot_bind", slot},
                 {"expiring", expiring},  {"schedule_put", schedule}, {"schedule_read", schedule},
                 {"schedule_tick", tick}};
    const enum fixture_key *found = all;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].name, script->name) == 0) {
            found = known[i].keys;
        }
    }
    memcpy(keys, found, (size_t) script->keys * sizeof(*keys));
}

void fixture_append(struct fixture *fixture, const struct script *script, const char *sha1,
                    const struct args *args)
{
    static const char *argv[FIXTURE_ARGS_MAX + KEYS_COUNT + 3];
    static size_t lens[FIXTURE_ARGS_MAX + KEYS_COUNT + 3];
    bool all = fixture->keyed || strcmp(script->name, "schedule_read") == 0;
    int key_count = script->keys - (all ? 0 : script->optional);
    enum fixture_key keys[KEYS_COUNT];
    char count[16];
    size_t n = 0;

    key_range(keys, script);
    snprintf(count, sizeof(count), "%d", key_count);
    argv[n++] = "EVALSHA";
    argv[n++] = sha1;
    argv[n++] = count;
    for (int i = 0; i < key_count; i++) {
        argv[n++] = fixture_keys[keys[i]];
    }
    for (size_t i = 0; i < n; i++) {
        lens[i] = strlen(argv[i]);
    }
    for (size_t i = 0; i < args->count; i++) {
        argv[n] = args->data[i];
        lens[n++] = args->lens[i];
    }
    assert_int_equal(redisAppendCommandArgv(fixture->redis, (int) n, argv, lens), REDIS_OK);
}

redisReply *fixture_call(struct fixture *fixture, const struct script *script,
                         const struct args *args)
{
    bool consumes = strcmp(script->name, "consume") == 0;
    const struct script *called = consumes && fixture->any ? fixture_script("consume_any") : script;
    redisReply *reply;

    fixture_append(fixture, called, called->sha1, args);
    reply = fixture_reply(fixture);
    if (consumes && fixture_is_any(reply)) {
        freeReplyObject(reply);
        called = fixture_script("consume_any");
        fixture_append(fixture, called, called->sha1, args);
        reply = fixture_reply(fixture);
    }
    fixture->called = called->name;
    return reply;
}

bool fixture_is_any(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 &&
           strcmp(reply->element[0]->str, "ANY") == 0;
}

redisReply *fixture_redis(struct fixture *fixture, const char *command)
{
    redisReply *reply = redisCommand(fixture->redis, command);

    assert_non_null(reply);
    return reply;
}

void fixture_flush(struct fixture *fixture)
{
    freeReplyObject(fixture_redis(fixture, "FLUSHALL"));
}

void fixture_set_time(struct fixture *fixture, int64_t now_ms)
{
    freeReplyObject(redisCommand(fixture->redis, "SET test.now %lld", (long long) now_ms));
}

/* --- wake-ups --- */

void fixture_store_compactly(struct fixture *fixture)
{
    redisReply *reply = redisCommand(fixture->redis, "CONFIG SET hash-max-listpack-value 65536");

    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
}

void fixture_listen(struct fixture *fixture, bool listen)
{
    static const char *const channels[] = {"wake{x}",    "wake{x}:w0", "wake{x}:w1", "wake{x}:w2",
                                           "wake{x}:wa", "wake{x}:wb", "wake{x}:wc"};

    if (listen && fixture->listener == NULL) {
        fixture->listener = fixture_connect(fixture);
        for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
            freeReplyObject(redisCommand(fixture->listener, "SSUBSCRIBE %s", channels[i]));
        }
    }
    if (!listen && fixture->listener != NULL) {
        /* The server must know it before the next publish. */
        for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
            freeReplyObject(redisCommand(fixture->listener, "SUNSUBSCRIBE %s", channels[i]));
        }
        redisFree(fixture->listener);
        fixture->listener = NULL;
    }
}

int fixture_woken(struct fixture *fixture)
{
    struct buf heard = {0};
    int woken = fixture_hear(fixture, &heard);

    buf_fini(&heard);
    return woken;
}

/* What a script published is written to us before our PING is answered. */
int fixture_hear(struct fixture *fixture, struct buf *out)
{
    int woken = 0;
    bool more = fixture->listener != NULL;

    if (more) {
        assert_int_equal(redisAppendCommand(fixture->listener, "PING"), REDIS_OK);
    }
    while (more) {
        void *data = NULL;
        redisReply *reply;

        assert_int_equal(redisGetReply(fixture->listener, &data), REDIS_OK);
        reply = data;
        more = strcmp(reply->element[0]->str, "smessage") == 0;
        if (more) {
            buf_add(out, " ", woken > 0 ? 1 : 0);
            text_format(out, reply->element[2]->str, (size_t) reply->element[2]->len);
            woken++;
        }
        freeReplyObject(reply);
    }
    return woken;
}

/* --- showing --- */

/* The history of tries behind a reason, not masked: lua/lib/reason.lua. */
static void text_unmask(char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const unsigned byte = (unsigned char) data[i];

        data[i] = (char) (i == 0 || byte == 128U ? '|' : byte ^ 128U);
    }
}

void text_format(struct buf *out, const char *data, size_t len)
{
    size_t from = out->len;

    buf_add(out, len == 0 ? "''" : data, len == 0 ? 2 : len);
    for (size_t i = from; i < out->len; i++) {
        if (out->data[i] == '\0' && i + 1 < out->len && (out->data[i + 1] & 128) != 0) {
            text_unmask(out->data + i, out->len - i);
            break;
        }
        if (out->data[i] == '\0') {
            out->data[i] = '!';
        }
    }
}

void reply_format(struct buf *out, const redisReply *reply)
{
    switch (reply->type) {
    case REDIS_REPLY_ARRAY:
        for (size_t i = 0; i < reply->elements; i++) {
            buf_add(out, " ", i > 0 ? 1 : 0);
            reply_format(out, reply->element[i]);
        }
        break;
    case REDIS_REPLY_INTEGER:
        buf_printf(out, "%lld", reply->integer);
        break;
    case REDIS_REPLY_NIL:
        buf_printf(out, "nil");
        break;
    case REDIS_REPLY_ERROR:
        buf_printf(out, "ERROR %s", reply->str);
        break;
    default:
        text_format(out, reply->str, (size_t) reply->len);
        break;
    }
}

static bool word_same(const char *one, size_t one_len, const char *other, size_t other_len)
{
    char *one_end, *other_end;
    double a, b;

    if (one_len == other_len && memcmp(one, other, one_len) == 0) {
        return true;
    }
    if (one[0] == 's' && other[0] == 's') { /* the score of a scheduled message */
        one++, one_len--;
        other++, other_len--;
    }
    if (memchr(one, '.', one_len) == NULL || memchr(other, '.', other_len) == NULL) {
        return false;
    }
    a = strtod(one, &one_end);
    b = strtod(other, &other_end);
    return one_end == one + one_len && other_end == other + other_len && a <= b && a >= b;
}

bool reply_same(const char *one, const char *other)
{
    for (;;) {
        size_t one_len = strcspn(one, " \n"), other_len = strcspn(other, " \n");

        if (!word_same(one, one_len, other, other_len) || one[one_len] != other[other_len]) {
            return false;
        }
        if (one[one_len] == '\0') {
            return true;
        }
        one += one_len + 1;
        other += other_len + 1;
    }
}

void score_format(struct buf *out, const char *score)
{
    double number = strtod(score, NULL);
    double integer = floor(number);
    int attempts = (int) ((number - integer) * 128);

    if (isinf(number)) {
        buf_printf(out, "%s", number > 0 ? "+inf" : "-inf");
        return;
    }
    buf_printf(out, "%.0f", integer);
    if (attempts > 0) {
        buf_printf(out, "~%d%s", attempts / 2, attempts % 2 == 1 ? "s" : "");
    }
}
