/* fake_redis.c - stands in for libsrc/redis.
 *
 * Thread: any; commands are answered on smq:io. */
#include "fake_redis.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A command that was sent. */
struct redis_command_state {
    STAILQ_ENTRY(redis_command_state) link;
    struct redis_command *command;
};
STAILQ_HEAD(fake_list, redis_command_state);

struct redis {
    struct loop *loop;
    struct loop_task work, ready;
    redis_ready_fn *ready_fn;
    void *ready_user;
    void (*closed)(void *user);
    void *closed_user;
    struct fake_list sent, held; /* smq:io */
    TAILQ_HEAD(await_list, redis_await) awaits;
};

static struct {
    pthread_mutex_t lock;
    fake_server_fn *server;
    void *user;
    fake_replicas_fn *replicas;
    void *replicas_user;
    smq_status connects;
    size_t held;
    int clients;
    struct redis *redis;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- for the test --- */

void fake_serve(fake_server_fn *server, void *user)
{
    pthread_mutex_lock(&fake.lock);
    fake.server = server;
    fake.user = user;
    pthread_mutex_unlock(&fake.lock);
}

void fake_replicate(fake_replicas_fn *replicas, void *user)
{
    pthread_mutex_lock(&fake.lock);
    fake.replicas = replicas;
    fake.replicas_user = user;
    pthread_mutex_unlock(&fake.lock);
}

void fake_connects(smq_status status)
{
    fake.connects = status;
}

smq_client *fake_client(fake_server_fn *server, smq_event_fn *event)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client = NULL;

    fake_serve(server, NULL);
    fake_connects(SMQ_OK);
    options.redis = "fake:1";
    options.event = event;
    (void) smq_client_new(&client, &options, NULL);
    return client;
}

int fake_clients(void)
{
    int clients;

    pthread_mutex_lock(&fake.lock);
    clients = fake.clients;
    pthread_mutex_unlock(&fake.lock);
    return clients;
}

size_t fake_held(void)
{
    size_t held;

    pthread_mutex_lock(&fake.lock);
    held = fake.held;
    pthread_mutex_unlock(&fake.lock);
    return held;
}

void fake_resume(void)
{
    pthread_mutex_lock(&fake.lock);
    if (fake.redis != NULL) {
        loop_post(fake.redis->loop, &fake.redis->work);
    }
    pthread_mutex_unlock(&fake.lock);
}

/* Reads "$12", CR, LF, which is in front of each argument; what is rendered ends without a NUL. */
static const char *length_of_arg(const char *at, size_t *len)
{
    *len = 0;
    for (at++; *at != '\r'; at++) {
        *len = *len * 10 + (size_t) (*at - '0');
    }
    return at + 2;
}

/* The first is behind "*12", CR, LF. */
const char *fake_arg(const struct redis_command *command, size_t index, size_t *len)
{
    const char *rendered = redis_command_render(command, len);
    const char *at = length_of_arg(memchr(rendered, '$', *len), len);

    for (size_t skip = index + (command->script != NULL ? 3 : 0); skip > 0; skip--) {
        at = length_of_arg(at + *len + 2, len);
    }
    return at;
}

size_t fake_argv(const struct redis_command *command, int place)
{
    return (size_t) (command->keys + place - 1);
}

size_t fake_argv_count(const struct redis_command *command, int place)
{
    return command->args.count - fake_argv(command, place);
}

bool fake_arg_is(const struct redis_command *command, size_t index, const char *text)
{
    size_t len;
    const char *data = fake_arg(command, index, &len);

    return strlen(text) == len && memcmp(data, text, len) == 0;
}

static redisReply *reply_new(int type)
{
    redisReply *reply = memory_new(sizeof(*reply));

    reply->type = type;
    return reply;
}

redisReply *fake_string(const char *data, size_t len)
{
    redisReply *reply = reply_new(REDIS_REPLY_STRING);

    reply->str = memory_copy(data, len);
    reply->len = len;
    return reply;
}

redisReply *fake_text(const char *text)
{
    return fake_string(text, strlen(text));
}

redisReply *fake_integer(int64_t value)
{
    redisReply *reply = reply_new(REDIS_REPLY_INTEGER);

    reply->integer = value;
    return reply;
}

redisReply *fake_array(size_t count)
{
    redisReply *reply = reply_new(REDIS_REPLY_ARRAY);

    reply->elements = count;
    reply->element = memory_new((count + 1) * sizeof(*reply->element));
    return reply;
}

void fake_put(redisReply *array, size_t index, redisReply *element)
{
    array->element[index] = element;
}

redisReply *fake_slot_notes(uint64_t messages)
{
    redisReply *reply = fake_array(12);

    for (size_t i = 0; i < reply->elements; i++) {
        bool is_text = i <= 2 || i == 5 || i == 11;

        fake_put(reply, i, is_text ? fake_text(i == 0 ? "OK" : "") : fake_integer(0));
    }
    reply->element[9]->integer = (long long) messages;
    return reply;
}

/* --- the client --- */

static void command_end(struct redis *redis, struct redis_command_state *state,
                        const struct fake_answer *answer)
{
    struct redis_command *command = state->command;
    struct redis_result result = {.outcome = answer->outcome,
                                  .status = answer->status,
                                  .reply = answer->reply,
                                  .text = answer->outcome == REDIS_DONE ? "" : "the fake said so"};

    free(state);
    command->state = NULL;
    command->by = (struct node *) redis; /* which nobody but redis_await() looks into */
    command->done(&result, command->user);
    if (answer->reply != NULL) {
        freeReplyObject(answer->reply);
    }
}

static void count_held(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.held++;
    pthread_mutex_unlock(&fake.lock);
}

static void hold(struct redis *redis, struct redis_command_state *state)
{
    STAILQ_INSERT_TAIL(&redis->held, state, link);
    count_held();
}

static void await_end(struct redis_await *await, const struct fake_answer *answer)
{
    struct redis_result result = {.outcome = answer->outcome,
                                  .status = answer->status,
                                  .text = answer->outcome == REDIS_DONE ? "" : "the fake said so"};

    await->done(&result, await->user);
}

static void work_on_awaits(struct redis *redis)
{
    struct await_list list = TAILQ_HEAD_INITIALIZER(list);
    struct redis_await *await;

    TAILQ_CONCAT(&list, &redis->awaits, link);
    while ((await = TAILQ_FIRST(&list)) != NULL) {
        struct fake_answer answer = {.outcome = REDIS_DONE, .status = SMQ_OK};
        fake_replicas_fn *replicas;
        void *user;

        TAILQ_REMOVE(&list, await, link);
        pthread_mutex_lock(&fake.lock);
        replicas = fake.replicas;
        user = fake.replicas_user;
        pthread_mutex_unlock(&fake.lock);
        if (replicas == NULL || replicas(await, &answer, user)) {
            await_end(await, &answer);
        } else {
            TAILQ_INSERT_TAIL(&redis->awaits, await, link);
            count_held();
        }
    }
}

static void take_all(struct redis *redis, struct fake_list *out)
{
    STAILQ_CONCAT(out, &redis->held);
    STAILQ_CONCAT(out, &redis->sent);
    pthread_mutex_lock(&fake.lock);
    fake.held = 0;
    pthread_mutex_unlock(&fake.lock);
}

static void on_work(struct loop_task *task)
{
    struct redis *redis = (struct redis *) ((char *) task - offsetof(struct redis, work));
    struct fake_list list = STAILQ_HEAD_INITIALIZER(list);
    struct redis_command_state *state;

    if (redis->closed != NULL) {
        pthread_mutex_lock(&fake.lock);
        fake.clients--;
        pthread_mutex_unlock(&fake.lock);
        redis->closed(redis->closed_user);
        free(redis);
        return;
    }
    take_all(redis, &list);
    while ((state = STAILQ_FIRST(&list)) != NULL) {
        struct fake_answer answer = {.outcome = REDIS_DONE, .status = SMQ_OK};
        fake_server_fn *server;
        void *user;

        STAILQ_REMOVE_HEAD(&list, link);
        pthread_mutex_lock(&fake.lock);
        server = fake.server;
        user = fake.user;
        pthread_mutex_unlock(&fake.lock);
        if (server(state->command, &answer, user)) {
            command_end(redis, state, &answer);
        } else {
            hold(redis, state);
        }
    }
    work_on_awaits(redis);
}

static void on_ready(struct loop_task *task)
{
    struct redis *redis = (struct redis *) ((char *) task - offsetof(struct redis, ready));

    redis->ready_fn(fake.connects, "the fake said so", redis->ready_user);
}

smq_status redis_check_servers(const char *servers, smq_error *err)
{
    (void) servers;
    (void) err;
    return SMQ_OK;
}

struct redis *redis_new(struct loop *loop, const struct redis_options *options,
                        struct events *events, redis_ready_fn *ready, void *user)
{
    struct redis *redis = memory_new(sizeof(*redis));

    (void) options;
    (void) events;
    redis->loop = loop;
    redis->work.run = on_work;
    redis->ready.run = on_ready;
    redis->ready_fn = ready;
    redis->ready_user = user;
    STAILQ_INIT(&redis->sent);
    STAILQ_INIT(&redis->held);
    TAILQ_INIT(&redis->awaits);
    if (fake.connects != SMQ_TIMED_OUT) {
        loop_post(loop, &redis->ready);
    }
    pthread_mutex_lock(&fake.lock);
    fake.redis = redis;
    fake.clients++;
    fake.held = 0;
    pthread_mutex_unlock(&fake.lock);
    return redis;
}

void redis_send(struct redis *redis, struct redis_command *command)
{
    struct redis_command_state *state = memory_new(sizeof(*state));

    state->command = command;
    command->state = state;
    STAILQ_INSERT_TAIL(&redis->sent, state, link);
    loop_post(redis->loop, &redis->work);
}

void redis_await(struct redis_await *await, const struct redis_command *command)
{
    await->node = command->by;
    await->until_ms = command->until_ms;
    redis_await_again(await);
}

void redis_await_again(struct redis_await *await)
{
    struct redis *redis = (struct redis *) await->node;

    TAILQ_INSERT_TAIL(&redis->awaits, await, link);
    loop_post(redis->loop, &redis->work);
}

void redis_server_of(char *out, const struct redis *redis, int32_t hash_slot)
{
    (void) redis;
    (void) hash_slot;
    *out = '\0';
}

struct redis_counts redis_counts(const struct redis *redis)
{
    (void) redis;
    return (struct redis_counts){.redirects = 0};
}

void redis_watch_marks(struct redis *redis, redis_marks_fn *changed, void *user)
{
    (void) redis;
    (void) changed;
    (void) user;
}

void redis_close(struct redis *redis, void (*closed)(void *user), void *user)
{
    struct fake_list list = STAILQ_HEAD_INITIALIZER(list);
    struct redis_command_state *state;
    struct redis_await *await;

    pthread_mutex_lock(&fake.lock);
    fake.redis = NULL;
    pthread_mutex_unlock(&fake.lock);
    take_all(redis, &list);
    while ((state = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        command_end(redis, state,
                    &(struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN});
    }
    while ((await = TAILQ_FIRST(&redis->awaits)) != NULL) {
        TAILQ_REMOVE(&redis->awaits, await, link);
        await_end(await, &(struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN});
    }
    redis->closed = closed;
    redis->closed_user = user;
    loop_post(redis->loop, &redis->work);
}

void redis_subscribe(struct redis *redis, struct redis_subscription *subscription)
{
    (void) redis;
    (void) subscription;
}

void redis_unsubscribe(struct redis *redis, struct redis_subscription *subscription)
{
    (void) redis;
    (void) subscription;
}
