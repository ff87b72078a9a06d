/* client.c - see client.h. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/waiter.h"
#include "model/slot.h"
#include "support/testing.h"

struct call {
    struct loop_task task;
    void (*act)(void *arg);
    void *arg;
    struct waiter waiter;
};

static void run_call(struct loop_task *task)
{
    struct call *call = (struct call *) ((char *) task - offsetof(struct call, task));

    call->act(call->arg);
    waiter_done(&call->waiter);
}

void client_call(struct client *client, void (*act)(void *arg), void *arg)
{
    struct call call = {.task = {.run = run_call}, .act = act, .arg = arg};

    waiter_init(&call.waiter, 1);
    loop_post(client->loop, &call.task);
    (void) waiter_wait(&call.waiter, SMQ_FOREVER);
    waiter_fini(&call.waiter);
}

struct starting {
    struct client *client;
    struct redis_options options;
    struct events *events;
    struct waiter waiter;
};

static void on_ready(smq_status status, const char *text, void *user)
{
    struct starting *starting = user;

    starting->client->ready = status;
    (void) snprintf(starting->client->ready_text, sizeof(starting->client->ready_text), "%s", text);
    waiter_done(&starting->waiter);
}

static void make(void *arg)
{
    struct starting *starting = arg;

    starting->client->redis =
        redis_new(starting->client->loop, &starting->options, starting->events, on_ready, starting);
}

void client_start(struct client *client, const char *servers, int64_t timeout_ms)
{
    client_start_with(client,
                      &(struct redis_options){.servers = servers,
                                              .connect_timeout_ms = timeout_ms,
                                              .request_timeout_ms = timeout_ms},
                      NULL);
}

void client_start_with(struct client *client, const struct redis_options *options,
                       struct events *events)
{
    struct starting starting = {.client = client, .options = *options, .events = events};

    memset(client, 0, sizeof(*client));
    if (loop_new(&client->loop, "test:io", NULL) != SMQ_OK) {
        abort();
    }
    waiter_init(&starting.waiter, 1);
    client_call(client, make, &starting);
    (void) waiter_wait(&starting.waiter, SMQ_FOREVER);
    waiter_fini(&starting.waiter);
}

static void on_closed(void *user)
{
    waiter_done(user);
}

struct closing {
    struct client *client;
    struct waiter waiter;
};

static void close_client(void *arg)
{
    struct closing *closing = arg;

    redis_close(closing->client->redis, on_closed, &closing->waiter);
}

void client_stop(struct client *client)
{
    struct closing closing = {.client = client};

    waiter_init(&closing.waiter, 1);
    client_call(client, close_client, &closing);
    (void) waiter_wait(&closing.waiter, SMQ_FOREVER);
    waiter_fini(&closing.waiter);
    loop_free(client->loop);
}

static void fill(struct outcome *outcome, const struct redis_result *result)
{
    const redisReply *reply = result->reply;

    memset(outcome, 0, sizeof(*outcome));
    outcome->outcome = result->outcome;
    outcome->status = result->status;
    if (reply == NULL) {
        (void) snprintf(outcome->text, sizeof(outcome->text), "%s", result->text);
    } else if (reply->type == REDIS_REPLY_INTEGER) {
        (void) snprintf(outcome->text, sizeof(outcome->text), "%lld", reply->integer);
    } else if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS) {
        (void) snprintf(outcome->text, sizeof(outcome->text), "%s", reply->str);
    } else {
        outcome->elements = reply->elements;
    }
}

struct running {
    struct redis_command command;
    struct client *client;
    struct outcome outcome;
    struct waiter waiter;
};

static void on_done(const struct redis_result *result, void *user)
{
    struct running *running = user;

    fill(&running->outcome, result);
    waiter_done(&running->waiter);
}

static void send_running(void *arg)
{
    struct running *running = arg;

    redis_send(running->client->redis, &running->command);
}

static struct outcome run(struct running *running)
{
    waiter_init(&running->waiter, 1);
    client_call(running->client, send_running, running);
    (void) waiter_wait(&running->waiter, SMQ_FOREVER);
    waiter_fini(&running->waiter);
    redis_command_fini(&running->command);
    return running->outcome;
}

struct outcome client_run(struct client *client, const char *key, const char *const *words)
{
    struct running running = {.client = client};
    int32_t hash_slot = key != NULL ? slot_hash(key, strlen(key)) : REDIS_ANY_NODE;

    redis_command_init(&running.command, NULL, hash_slot, on_done, &running);
    for (; *words != NULL; words++) {
        redis_arg_string(&running.command, *words);
    }
    return run(&running);
}

struct outcome client_eval(struct client *client, const struct script *script, const char *key,
                           const char *argument, int64_t timeout_ms)
{
    struct running running = {.client = client};

    redis_command_init(&running.command, script, slot_hash(key, strlen(key)), on_done, &running);
    running.command.timeout_ms = timeout_ms;
    redis_arg_string(&running.command, key);
    redis_arg_string(&running.command, argument);
    return run(&running);
}

static void on_pending_done(const struct redis_result *result, void *user)
{
    struct pending *pending = user;

    fill(&pending->outcome, result);
    redis_command_fini(&pending->command);
    atomic_fetch_add(pending->ended, 1);
}

static void send_pending(struct loop_task *task)
{
    struct pending *pending = (struct pending *) ((char *) task - offsetof(struct pending, task));

    redis_send(pending->client->redis, &pending->command);
}

void client_post_eval(struct client *client, struct pending *pending, const struct script *script,
                      const char *key, const char *argument, int64_t timeout_ms)
{
    bool apart = pending->command.apart;

    redis_command_init(&pending->command, script, slot_hash(key, strlen(key)), on_pending_done,
                       pending);
    pending->command.apart = apart;
    pending->command.timeout_ms = timeout_ms;
    redis_arg_string(&pending->command, key);
    redis_arg_string(&pending->command, argument);
    pending->client = client;
    pending->task.run = send_pending;
    loop_post(client->loop, &pending->task);
}

void outcome_assert_done(struct outcome outcome, const char *text)
{
    assert_string_equal(outcome.text, text);
    assert_int_equal(outcome.outcome, REDIS_DONE);
    assert_int_equal(outcome.status, SMQ_OK);
}

void outcome_assert_ended(struct outcome outcome, enum redis_outcome expected, smq_status status)
{
    print_message("%s\n", outcome.text);
    assert_int_equal(outcome.outcome, expected);
    assert_int_equal(outcome.status, status);
    assert_string_not_equal(outcome.text, "");
}
