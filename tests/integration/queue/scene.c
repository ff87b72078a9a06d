/* scene.c - what the tests of queues share.
 *
 * Thread: as scene.h says. */
#include "scene.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "support/wait.h"

static struct servers *servers;
static smq_layout layout;

/* --- servers and clients --- */

int scene_start(const struct servers_options *options)
{
    servers = servers_start(options);
    return servers != NULL ? 0 : -1;
}

int scene_start_cluster(void **state)
{
    struct servers_options options = {.redis = REDIS_CLUSTER};

    (void) state;
    return scene_start(&options);
}

int scene_start_fleet(void **state)
{
    struct servers_options options = {.redis = REDIS_CLUSTER, .zookeeper = true};

    (void) state;
    return scene_start(&options);
}

int scene_start_inline(void **state)
{
    layout = SMQ_LAYOUT_INLINE;
    return scene_start_cluster(state);
}

int scene_start_keyed(void **state)
{
    layout = SMQ_LAYOUT_KEYED;
    return scene_start_cluster(state);
}

smq_layout scene_layout(void)
{
    return layout;
}

int scene_end(void **state)
{
    (void) state;
    servers_free(servers);
    return 0;
}

struct servers *scene_servers(void)
{
    return servers;
}

void scene_must(smq_status status, const smq_error *err, const char *what)
{
    if (status != SMQ_OK) {
        fail_msg("%s: %s: %s", what, smq_status_name(status), err->text);
    }
}

smq_client *scene_client_with(const smq_client_options *options)
{
    smq_client_options known = *options;
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (known.redis == NULL) {
        known.redis = servers_redis(servers);
    }
    scene_must(smq_client_new(&client, &known, &err), &err, "smq_client_new");
    return client;
}

smq_client *scene_client(void)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;

    return scene_client_with(&options);
}

const char *scene_priority_topic(smq_client *client, bool shared, int32_t slots)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    options.type = SMQ_TYPE_PRIORITY;
    options.shared = shared;
    options.slots = slots;
    return scene_topic(client, &options);
}

const char *scene_topic(smq_client *client, const smq_topic_options *options)
{
    static char names[64][16];
    static int count;
    smq_topic_options known = *options;
    smq_error err = SMQ_ERROR_INIT;
    char *name = names[count % 64];

    snprintf(name, sizeof(names[0]), "topic%d", count++);
    known.name = name;
    known.slots = known.slots != 0 ? known.slots : 1;
    known.backoff = known.backoff != NULL ? known.backoff : "none";
    scene_must(smq_topic_create(client, &known, NULL, &err), &err, "smq_topic_create");
    return name;
}

static redisContext *redis_at(struct server *server)
{
    redisContext *redis;

    assert_non_null(server);
    redis = redisConnect("127.0.0.1", server_port(server));
    assert_non_null(redis);
    assert_int_equal(redis->err, 0);
    return redis;
}

redisContext *scene_redis(void)
{
    return redis_at(servers_node(servers, 0));
}

redisContext *scene_redis_of(const char *topic)
{
    char key[64];

    snprintf(key, sizeof(key), "%s_0", topic);
    return redis_at(servers_node_of(servers, key));
}

int64_t scene_redis_number(redisContext *redis, const char *format, ...)
{
    redisReply *reply;
    int64_t number;
    va_list args;

    va_start(args, format);
    reply = redisvCommand(redis, format, args);
    va_end(args);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_STRING) {
        number = strtoll(reply->str, NULL, 10);
    } else if (reply->type == REDIS_REPLY_INTEGER) {
        number = reply->integer;
    } else {
        number = -1;
    }
    freeReplyObject(reply);
    return number;
}

bool scene_redis_exists(redisContext *redis, const char *key, const char *field)
{
    return scene_redis_number(redis, "HEXISTS %s %s", key, field) == 1;
}

/* --- sending --- */

bool scene_send(smq_client *client, const char *topic, struct scene_message message)
{
    smq_message known = SMQ_MESSAGE_INIT;
    smq_producer *producer = NULL;
    smq_receipt receipt;
    smq_error err = SMQ_ERROR_INIT;

    known.body = smq_text(message.body);
    known.key = smq_text(message.key);
    known.id = smq_text(message.id);
    known.priority = message.priority;
    known.delay_ms = message.delay_ms;
    known.due_at_ms = message.due_at_ms;
    known.ttl_ms = message.ttl_ms;
    known.max_retries = message.max_retries;
    scene_must(smq_producer_new(&producer, client, NULL, &err), &err, "smq_producer_new");
    scene_must(smq_send(producer, topic, &known, &receipt, &err), &err, "smq_send");
    smq_producer_free(producer);
    return receipt.merged;
}

void scene_send_numbers(smq_client *client, const char *topic, int from, int count)
{
    char body[16];

    for (int i = from; i < from + count; i++) {
        snprintf(body, sizeof(body), "%d", i);
        scene_send(client, topic, (struct scene_message){.body = body});
    }
}

int64_t scene_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static bool clock_is_past(void *arg)
{
    return scene_now_ms() > *(const int64_t *) arg;
}

void scene_await_clock(int64_t past_ms)
{
    assert_true(wait_until(clock_is_past, &past_ms, SCENE_TIMEOUT_MS));
}

/* --- handling --- */

struct recorder *recorder_new(recorder_fn *answer)
{
    struct recorder *recorder = calloc(1, sizeof(*recorder));
    pthread_condattr_t attributes;

    assert_non_null(recorder);
    recorder->answer = answer;
    pthread_mutex_init(&recorder->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&recorder->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return recorder;
}

void recorder_free(struct recorder *recorder)
{
    pthread_mutex_destroy(&recorder->lock);
    pthread_cond_destroy(&recorder->changed);
    free(recorder);
}

void recorder_gate(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->gated = true;
    pthread_mutex_unlock(&recorder->lock);
}

void recorder_open(struct recorder *recorder, int count)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->open += count;
    pthread_cond_broadcast(&recorder->changed);
    pthread_mutex_unlock(&recorder->lock);
}

void recorder_await(struct recorder *recorder, int count)
{
    struct timespec deadline;
    int failed = 0, reached;

    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += SCENE_TIMEOUT_MS / 1000;
    pthread_mutex_lock(&recorder->lock);
    while (recorder->count < count && failed == 0) {
        failed = pthread_cond_timedwait(&recorder->changed, &recorder->lock, &deadline);
    }
    reached = recorder->count;
    pthread_mutex_unlock(&recorder->lock);
    if (reached < count) {
        fail_msg("%d deliveries came, not %d", reached, count);
    }
}

struct seen recorder_seen(struct recorder *recorder, int index)
{
    struct seen seen;

    pthread_mutex_lock(&recorder->lock);
    assert_true(index < recorder->count);
    seen = recorder->seen[index];
    pthread_mutex_unlock(&recorder->lock);
    return seen;
}

int recorder_count(struct recorder *recorder)
{
    int count;

    pthread_mutex_lock(&recorder->lock);
    count = recorder->count;
    pthread_mutex_unlock(&recorder->lock);
    return count;
}

static struct seen see(smq_delivery *delivery)
{
    const smq_message_info *info = smq_delivery_info(delivery);
    struct seen seen = {.slot = info->slot,
                        .attempt = info->attempt,
                        .retries_left = info->retries_left,
                        .priority = info->priority,
                        .due_at_ms = info->due_at_ms,
                        .sent_at_ms = info->sent_at_ms,
                        .expires_at_ms = info->expires_at_ms,
                        .at_ms = scene_now_ms(),
                        .delivery = delivery};

    snprintf(seen.body, sizeof(seen.body), "%.*s", (int) info->body.len,
             (const char *) info->body.data);
    snprintf(seen.key, sizeof(seen.key), "%.*s", (int) info->key.len,
             info->key.data != NULL ? (const char *) info->key.data : "");
    snprintf(seen.id, sizeof(seen.id), "%.*s", (int) info->id.len, (const char *) info->id.data);
    snprintf(seen.token, sizeof(seen.token), "%s", info->token);
    return seen;
}

struct seen recorder_note(struct recorder *recorder, smq_delivery *delivery, int *index)
{
    struct seen seen = see(delivery);

    pthread_mutex_lock(&recorder->lock);
    *index = recorder->count++;
    recorder->seen[*index % SCENE_SEEN_MAX] = seen;
    pthread_cond_broadcast(&recorder->changed);
    pthread_mutex_unlock(&recorder->lock);
    return seen;
}

void recorder_pass(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    while (recorder->gated && recorder->open == 0) {
        pthread_cond_wait(&recorder->changed, &recorder->lock);
    }
    recorder->open -= recorder->gated ? 1 : 0;
    pthread_mutex_unlock(&recorder->lock);
}

static smq_verdict record(smq_delivery *delivery, void *user)
{
    struct recorder *recorder = user;
    int index;
    struct seen seen = recorder_note(recorder, delivery, &index);

    recorder_pass(recorder);
    return recorder->answer != NULL ? recorder->answer(delivery, &seen, index) : SMQ_DONE;
}

smq_worker *scene_worker_with(smq_client *client, smq_worker_options *options, const char *topic,
                              struct recorder *recorder)
{
    smq_worker *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    options->topic = topic;
    options->handler = options->batch == NULL ? record : NULL;
    options->user = recorder;
    options->threads = options->threads != 0 ? options->threads : 1;
    scene_must(smq_worker_new(&worker, client, options, &err), &err, "smq_worker_new");
    scene_must(smq_worker_start(worker, &err), &err, "smq_worker_start");
    return worker;
}

smq_worker *scene_worker(smq_client *client, const char *topic, struct recorder *recorder)
{
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;

    return scene_worker_with(client, &options, topic, recorder);
}

void scene_stop(smq_worker *worker)
{
    smq_error err = SMQ_ERROR_INIT;

    smq_worker_stop(worker);
    scene_must(smq_worker_wait(worker, SMQ_FOREVER, &err), &err, "smq_worker_wait");
    smq_worker_free(worker);
}

struct await_standing {
    const smq_delivery *delivery;
    smq_status status;
};

static bool stands_so(void *arg)
{
    const struct await_standing *await = arg;

    return smq_delivery_check(await->delivery) == await->status;
}

void scene_await_standing(const smq_delivery *delivery, smq_status status)
{
    struct await_standing await = {.delivery = delivery, .status = status};

    assert_true(wait_until(stands_so, &await, SCENE_TIMEOUT_MS));
}

/* --- polling --- */

smq_consumer *scene_consumer_with(smq_client *client, smq_consumer_options *options,
                                  const char *topic)
{
    smq_consumer *consumer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    options->topic = topic;
    scene_must(smq_consumer_new(&consumer, client, options, &err), &err, "smq_consumer_new");
    return consumer;
}

smq_consumer *scene_consumer(smq_client *client, const char *topic)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;

    return scene_consumer_with(client, &options, topic);
}

smq_delivery *scene_poll(smq_consumer *consumer)
{
    smq_delivery *delivery = NULL;
    size_t count = 0;
    smq_error err = SMQ_ERROR_INIT;

    scene_must(smq_consumer_poll(consumer, &delivery, 1, &count, SCENE_TIMEOUT_MS, &err), &err,
               "smq_consumer_poll");
    assert_int_equal(count, 1);
    return delivery;
}

const char *scene_body(const smq_delivery *delivery)
{
    static char body[64];
    const smq_message_info *info = smq_delivery_info(delivery);

    snprintf(body, sizeof(body), "%.*s", (int) info->body.len, (const char *) info->body.data);
    return body;
}

void scene_done(smq_delivery *delivery)
{
    smq_error err = SMQ_ERROR_INIT;

    scene_must(smq_done(delivery, &err), &err, "smq_done");
}

/* --- looking --- */

smq_stats scene_stats(smq_client *client, const char *topic)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    scene_must(smq_topic_stats(client, topic, &stats, &err), &err, "smq_topic_stats");
    return stats;
}

struct await_counts {
    smq_client *client;
    const char *topic;
    struct scene_counts wanted;
    smq_stats last;
};

static bool is_so(int64_t wanted, uint64_t count)
{
    return wanted < 0 || (uint64_t) wanted == count;
}

static bool counts_are_so(void *arg)
{
    struct await_counts *await = arg;
    const struct scene_counts *wanted = &await->wanted;
    smq_stats *last = &await->last;

    *last = scene_stats(await->client, await->topic);
    return is_so(wanted->waiting, last->waiting) && is_so(wanted->claimed, last->claimed) &&
           is_so(wanted->resting, last->resting) && is_so(wanted->dead, last->dead) &&
           is_so(wanted->done, last->done);
}

void scene_await_counts(smq_client *client, const char *topic, struct scene_counts counts)
{
    struct await_counts await = {.client = client, .topic = topic, .wanted = counts};

    if (!wait_until(counts_are_so, &await, SCENE_TIMEOUT_MS)) {
        fail_msg("waiting %" PRIu64 ", claimed %" PRIu64 ", resting %" PRIu64 ", dead %" PRIu64
                 ", done %" PRIu64,
                 await.last.waiting, await.last.claimed, await.last.resting, await.last.dead,
                 await.last.done);
    }
}
