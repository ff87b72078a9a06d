/* scene.h - what the tests of queues share: a client, topics, and a handler that writes down what
 * it sees and does as it is told.
 *
 * Thread: the test's, but for the handler's own part. */
#ifndef QUEUE_SCENE_H
#define QUEUE_SCENE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>
#include <slotmq/slotmq.h>

#include "support/servers.h"

enum { SCENE_SEEN_MAX = 4096, SCENE_TIMEOUT_MS = 120000 };

/* --- servers and clients --- */

/* Servers of the whole program: cmocka's group set-up and tear-down. */
int scene_start(const struct servers_options *options);

/* The usual set-ups of a group: three masters; these with ZooKeeper; three masters, with the layout
 * in which the tests of the group create their topics. */
int scene_start_cluster(void **state);
int scene_start_fleet(void **state);
int scene_start_inline(void **state);
int scene_start_keyed(void **state);
smq_layout scene_layout(void);
int scene_end(void **state);
struct servers *scene_servers(void);

smq_client *scene_client(void);
smq_client *scene_client_with(const smq_client_options *options); /* redis is filled in if NULL */
void scene_must(smq_status status, const smq_error *err, const char *what);

/* A new topic of one slot without back-off, but for what `options` say; its name. */
const char *scene_topic(smq_client *client, const smq_topic_options *options);
const char *scene_priority_topic(smq_client *client, bool shared, int32_t slots);

/* A connection to the first Redis node, and one integer or string from it. */
redisContext *scene_redis(void);
redisContext *scene_redis_of(const char *topic); /* to the node that holds its slot 0 */
int64_t scene_redis_number(redisContext *redis, const char *format, ...);
bool scene_redis_exists(redisContext *redis, const char *key, const char *field);

/* --- sending --- */

struct scene_message {
    const char *body; /* NULL: empty */
    const char *key, *id;
    int64_t priority, delay_ms, due_at_ms, ttl_ms;
    int32_t max_retries;
};

/* Send one; was it merged? */
bool scene_send(smq_client *client, const char *topic, struct scene_message message);

/* Send the bodies "from", "from + 1", ...: of a topic with one slot they come in this order. */
void scene_send_numbers(smq_client *client, const char *topic, int from, int count);

int64_t scene_now_ms(void);              /* wall clock */
void scene_await_clock(int64_t past_ms); /* until the wall clock is past that */

/* --- handling --- */

struct seen {
    char body[64], key[64], id[64], token[32];
    int32_t slot, attempt, retries_left;
    int64_t priority, due_at_ms, sent_at_ms, expires_at_ms, at_ms;
    smq_delivery *delivery; /* yours if the answer was SMQ_LATER */
};

struct recorder;

/* What to answer to delivery number `index` (from 0). */
typedef smq_verdict recorder_fn(smq_delivery *delivery, const struct seen *seen, int index);

struct recorder {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    recorder_fn *answer; /* NULL: done */
    bool gated;          /* handlers wait for recorder_open() */
    int open;            /* so many may pass */
    int count, returned;
    struct seen seen[SCENE_SEEN_MAX];
};

struct recorder *recorder_new(recorder_fn *answer);
void recorder_free(struct recorder *recorder);
void recorder_gate(struct recorder *recorder); /* from now on handlers wait */
void recorder_open(struct recorder *recorder, int count);
void recorder_await(struct recorder *recorder, int count); /* fails the test after a while */
struct seen recorder_seen(struct recorder *recorder, int index);
int recorder_count(struct recorder *recorder);

/* For handlers of one's own: write down a delivery; wait at the gate. */
struct seen recorder_note(struct recorder *recorder, smq_delivery *delivery, int *index);
void recorder_pass(struct recorder *recorder);

/* Wait until smq_delivery_check() says so. */
void scene_await_standing(const smq_delivery *delivery, smq_status status);

/* A started worker of one thread with the recorder as its handler, or as `user` of the batch
 * handler that the options name. */
smq_worker *scene_worker(smq_client *client, const char *topic, struct recorder *recorder);
smq_worker *scene_worker_with(smq_client *client, smq_worker_options *options, const char *topic,
                              struct recorder *recorder);
void scene_stop(smq_worker *worker); /* cleanly; freed */

/* --- polling --- */

smq_consumer *scene_consumer(smq_client *client, const char *topic);
smq_consumer *scene_consumer_with(smq_client *client, smq_consumer_options *options,
                                  const char *topic);

/* Poll until one comes; fails the test after a while. */
smq_delivery *scene_poll(smq_consumer *consumer);

/* Its body, until the next call. */
const char *scene_body(const smq_delivery *delivery);

void scene_done(smq_delivery *delivery); /* must be accepted */

/* --- looking --- */

smq_stats scene_stats(smq_client *client, const char *topic);

/* Wait until all these are so; -1: any. */
struct scene_counts {
    int64_t waiting, claimed, resting, dead, done;
};
void scene_await_counts(smq_client *client, const char *topic, struct scene_counts counts);

#endif
