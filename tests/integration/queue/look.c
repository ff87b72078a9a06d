/* look.c - a real cluster of three masters for the tests of a folder, and a view of its keys.
 *
 * Thread: main. */
#include "look.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_SIZE = 512 };

struct servers *look_servers;

int look_start(void **state)
{
    struct servers_options options = {.redis = REDIS_CLUSTER, .masters = 3};

    (void) state;
    look_servers = servers_start(&options);
    return look_servers != NULL ? 0 : -1;
}

int look_stop(void **state)
{
    (void) state;
    servers_free(look_servers);
    return 0;
}

void must(smq_status status, const smq_error *err)
{
    if (status != SMQ_OK) {
        fail_msg("%s: %s", smq_status_name(status), err->text);
    }
}

smq_client *client_made(void)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client = NULL;
    smq_error err;

    options.redis = servers_redis(look_servers);
    must(smq_client_new(&client, &options, &err), &err);
    return client;
}

smq_producer *producer_made(smq_client *client, const smq_producer_options *options)
{
    smq_producer *producer = NULL;
    smq_error err;

    must(smq_producer_new(&producer, client, options, &err), &err);
    return producer;
}

smq_topic_options topic_of(const char *name, smq_topic_type type, int32_t slots)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    options.name = name;
    options.type = type;
    options.slots = slots;
    return options;
}

void topic_made(smq_client *client, const smq_topic_options *options)
{
    smq_error err;

    must(smq_topic_create(client, options, NULL, &err), &err);
}

smq_message message_of(const char *body)
{
    smq_message message = SMQ_MESSAGE_INIT;

    message.body = smq_text(body);
    return message;
}

bool sent(smq_producer *producer, const char *topic, const smq_message *message)
{
    smq_receipt receipt;
    smq_error err;

    must(smq_send(producer, topic, message, &receipt, &err), &err);
    assert_int_equal(receipt.status, SMQ_OK);
    return receipt.merged;
}

static redisReply *look_v(const struct server *server, const char *format, va_list args)
{
    redisContext *context = redisConnect("127.0.0.1", server_port(server));
    redisReply *reply;

    assert_non_null(context);
    assert_int_equal(context->err, 0);
    reply = redisvCommand(context, format, args);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR) {
        fail_msg("%s: %s", format, reply->str);
    }
    redisFree(context);
    return reply;
}

static const struct server *node_of(const char *key)
{
    const struct server *server = servers_node_of(look_servers, key);

    assert_non_null(server);
    return server;
}

redisReply *look(const char *key, const char *format, ...)
{
    va_list args;
    redisReply *reply;

    va_start(args, format);
    reply = look_v(node_of(key), format, args);
    va_end(args);
    return reply;
}

redisReply *look_at(const struct server *server, const char *format, ...)
{
    va_list args;
    redisReply *reply;

    va_start(args, format);
    reply = look_v(server, format, args);
    va_end(args);
    return reply;
}

const char *look_text(char *out, const char *key, const char *format, ...)
{
    va_list args;
    redisReply *reply;

    va_start(args, format);
    reply = look_v(node_of(key), format, args);
    va_end(args);
    (void) snprintf(out, TEXT_SIZE, "%s", reply->str != NULL ? reply->str : "");
    freeReplyObject(reply);
    return out;
}

int64_t look_number(const char *key, const char *format, ...)
{
    va_list args;
    redisReply *reply;
    int64_t number;

    va_start(args, format);
    reply = look_v(node_of(key), format, args);
    va_end(args);
    number = reply->type == REDIS_REPLY_INTEGER ? reply->integer
             : reply->str != NULL               ? strtoll(reply->str, NULL, 10)
                                                : -1;
    freeReplyObject(reply);
    return number;
}

const char *look_order(char *out, const char *topic, int32_t slot, const char *set)
{
    char key[160];
    redisReply *reply;
    size_t used = 0;

    (void) snprintf(key, sizeof(key), *set != '\0' ? "%s{%s_%d}" : "%s%s_%d", set, topic,
                    (int) slot);
    reply = look(key, "ZRANGE %s 0 -1", key);
    out[0] = '\0';
    for (size_t i = 0; i < reply->elements; i++) {
        if (reply->element[i]->len > 0) {
            used += (size_t) snprintf(out + used, TEXT_SIZE - used, "%s%s", used > 0 ? "," : "",
                                      reply->element[i]->str);
        }
    }
    freeReplyObject(reply);
    return out;
}

void look_flush(void)
{
    for (size_t i = 0; i < servers_count(look_servers); i++) {
        freeReplyObject(look_at(servers_node(look_servers, i), "FLUSHALL"));
    }
}
