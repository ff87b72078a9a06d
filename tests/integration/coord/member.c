/* member.c - a process that is one member of a fleet and does what its commands say; only for
 * tests.
 *
 *     coord-member SERVERS NAME SESSION_MS LOSS [AUTH]      LOSS: continue, stop
 *
 * SERVERS are those of ZooKeeper, or "redis:HOST:PORT,.../ROOT" of a tree.
 *
 * Standard input, a command a line: "join TOPIC NONCE GENERATION SLOTS WEIGHT DRAIN_MS",
 * "leave TOPIC", "hold" (revoked slots are not released), "release" (they are, from now on),
 * "refuse N" (the next N grants), "reachable 0|1" (does Redis answer?), "claim" (may we?), "quit".
 *
 * Standard output, a line each, in front of it the time in ns: "ready", "refused STATUS TEXT"
 * (could not start), "granted TOPIC SLOT GENERATION EPOCH", "revoked TOPIC SLOT", "released TOPIC
 * SLOT", "lost TOPIC SLOT", "left TOPIC", "failed TOPIC STATUS TEXT", "claim 0|1", "event ID TEXT",
 * "bye". A line is written before the others can learn of what it says. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/event.h"
#include "base/memory.h"
#include "base/status.h"
#include "coord/coord.h"
#include "coord/zookeeper.h"
#include "core/tree_port.h"
#include "integration/redis/client.h"
#include "model/topic.h"

enum { TOPICS_MAX = 40, LINE_MAX_BYTES = 1024 };

/* A slot in our hands.  Invariant: `stopping` only while `held`. */
struct slot_view {
    struct token token;
    bool held, stopping;
};

struct topic_view {
    char name[128];
    struct slot_view *slots;
};

/* `lock` guards all but `coord`; no call of coord.h is made under it but answers, which only post.
 */
struct puppet {
    pthread_mutex_t lock;
    struct coord *coord;
    struct topic_view topics[TOPICS_MAX];
    size_t topic_count;
    bool hold;
    int refuse;
};

static struct puppet puppet = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Under the lock, so that times and lines have one order. */
static void say(const char *format, ...)
{
    struct timespec now;
    va_list args;

    clock_gettime(CLOCK_MONOTONIC, &now);
    (void) printf("%lld ", (long long) now.tv_sec * 1000000000 + now.tv_nsec);
    va_start(args, format);
    (void) vprintf(format, args);
    va_end(args);
    (void) putchar('\n');
}

static void say_flush(void)
{
    (void) fflush(stdout);
}

static struct topic_view *topic_view(const char *name)
{
    for (size_t i = 0; i < puppet.topic_count; i++) {
        if (strcmp(puppet.topics[i].name, name) == 0) {
            return &puppet.topics[i];
        }
    }
    return NULL;
}

static void release(struct topic_view *topic, int32_t slot)
{
    say("released %s %d", topic->name, (int) slot);
    say_flush();
    topic->slots[slot].held = topic->slots[slot].stopping = false;
    coord_answer(puppet.coord, COORD_RELEASED, topic->name, slot, topic->slots[slot].token);
}

static void on_granted(void *user, const char *name, const struct coord_grant *grants, size_t count)
{
    struct topic_view *topic = NULL;

    (void) user;
    pthread_mutex_lock(&puppet.lock);
    topic = topic_view(name);
    for (size_t i = 0; i < count; i++) {
        struct slot_view *slot = &topic->slots[grants[i].slot];

        say("granted %s %d %u %llu", name, (int) grants[i].slot,
            (unsigned) grants[i].token.generation, (unsigned long long) grants[i].token.epoch);
        if (puppet.refuse > 0) {
            puppet.refuse--;
            say("released %s %d", name, (int) grants[i].slot);
            say_flush();
            coord_answer(puppet.coord, COORD_REFUSED, name, grants[i].slot, grants[i].token);
            continue;
        }
        slot->token = grants[i].token;
        slot->held = true;
        slot->stopping = false;
        coord_answer(puppet.coord, COORD_ACQUIRED, name, grants[i].slot, grants[i].token);
    }
    say_flush();
    pthread_mutex_unlock(&puppet.lock);
}

static void on_revoked(void *user, const char *name, const int32_t *slots, size_t count)
{
    struct topic_view *topic = NULL;

    (void) user;
    pthread_mutex_lock(&puppet.lock);
    topic = topic_view(name);
    for (size_t i = 0; i < count; i++) {
        say("revoked %s %d", name, (int) slots[i]);
        topic->slots[slots[i]].stopping = true;
        if (!puppet.hold) {
            release(topic, slots[i]);
        }
    }
    say_flush();
    pthread_mutex_unlock(&puppet.lock);
}

static void on_lost(void *user, const char *name, const int32_t *slots, size_t count)
{
    struct topic_view *topic = NULL;

    (void) user;
    pthread_mutex_lock(&puppet.lock);
    topic = topic_view(name);
    for (size_t i = 0; i < count; i++) {
        say("lost %s %d", name, (int) slots[i]);
        topic->slots[slots[i]].held = topic->slots[slots[i]].stopping = false;
    }
    say_flush();
    pthread_mutex_unlock(&puppet.lock);
}

static void on_failed(void *user, const char *topic, smq_status status, const char *text)
{
    (void) user;
    pthread_mutex_lock(&puppet.lock);
    say("failed %s %s %s", topic, smq_status_name(status), text);
    say_flush();
    pthread_mutex_unlock(&puppet.lock);
}

/* Here the topic in Redis is always as it was. */
static void on_check(void *user, const char *topic, const char *binding)
{
    (void) user;
    (void) binding;
    coord_checked(puppet.coord, topic, SMQ_OK, "");
}

static void on_leased(void *user, int64_t until_ms, int64_t lease_ms)
{
    (void) user;
    (void) until_ms;
    (void) lease_ms;
}

static void on_not_released(void *user, size_t slots)
{
    (void) user;
    (void) slots;
}

static void on_left(void *user, const char *topic)
{
    (void) user;
    pthread_mutex_lock(&puppet.lock);
    say("left %s", topic);
    say_flush();
    pthread_mutex_unlock(&puppet.lock);
}

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    pthread_mutex_lock(&puppet.lock);
    say("event %s %s", event->id, event->text);
    say_flush();
    pthread_mutex_unlock(&puppet.lock);
}

static void release_all(void)
{
    puppet.hold = false;
    for (size_t i = 0; i < puppet.topic_count; i++) {
        for (int32_t slot = 0; slot < TOPIC_SLOTS_MAX; slot++) {
            if (puppet.topics[i].slots[slot].stopping) {
                release(&puppet.topics[i], slot);
            }
        }
    }
}

static void join(const char *line)
{
    char name[128];
    char nonce[128];
    struct coord_topic topic = {.name = name, .nonce = nonce};
    unsigned generation = 0;
    int slots = 0;
    int weight = 0;
    long long drain = 0;

    if (sscanf(line, "join %127s %127s %u %d %d %lld", name, nonce, &generation, &slots, &weight,
               &drain) != 6) {
        abort();
    }
    topic.generation = generation;
    topic.slots = slots;
    topic.weight = weight;
    topic.drain_timeout_ms = drain;
    pthread_mutex_lock(&puppet.lock);
    if (topic_view(name) == NULL) {
        struct topic_view *view = &puppet.topics[puppet.topic_count++];

        memcpy(view->name, name, sizeof(name));
        view->slots = memory_new(TOPIC_SLOTS_MAX * sizeof(*view->slots));
    }
    pthread_mutex_unlock(&puppet.lock);
    coord_join(puppet.coord, &topic);
}

/* false: quit. */
static bool obey(char *line)
{
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "join ", 5) == 0) {
        join(line);
        return true;
    }
    if (strncmp(line, "reachable ", 10) == 0) {
        coord_set_reachable(puppet.coord, line[10] == '1');
        return true;
    }
    if (strncmp(line, "leave ", 6) == 0) {
        coord_leave(puppet.coord, line + 6);
        return true;
    }
    pthread_mutex_lock(&puppet.lock);
    if (strcmp(line, "hold") == 0) {
        puppet.hold = true;
    } else if (strcmp(line, "release") == 0) {
        release_all();
    } else if (strncmp(line, "refuse ", 7) == 0) {
        puppet.refuse = (int) strtol(line + 7, NULL, 10);
    }
    pthread_mutex_unlock(&puppet.lock);
    return strcmp(line, "quit") != 0;
}

/* Shorter than in life, so that a test is not mostly waiting. */
static void shorten_timings(void)
{
    zookeeper_timings.join = 200;
    zookeeper_timings.cold = 1000;
    zookeeper_timings.idle = 1000;
    zookeeper_timings.revoke_extra = 500;
    zookeeper_timings.missed = 2000;
    zookeeper_timings.hold = 500;
}

/* The Redis of a tree; `options` get its root, and the port, which is returned. */
static struct tree_port *reach_tree(struct client *redis, struct coord_options *options,
                                    char *servers)
{
    char *root = strchr(servers, '/');
    struct tree_port *port;

    options->root = memory_string(root);
    *root = '\0';
    client_start(redis, servers, 5000);
    port = tree_port_new(redis->loop, redis->redis, options->root);
    options->port = tree_port_door(port);
    return port;
}

int main(int argc, char **argv)
{
    static const char in_redis[] = "redis:";
    struct client redis = {0};
    struct tree_port *port = NULL;
    struct loop *call = NULL;
    struct coord_options options = {.listener = {.granted = on_granted,
                                                 .revoked = on_revoked,
                                                 .lost = on_lost,
                                                 .check = on_check,
                                                 .failed = on_failed,
                                                 .left = on_left,
                                                 .leased = on_leased,
                                                 .not_released = on_not_released}};
    struct events *events = NULL;
    smq_error err = SMQ_ERROR_INIT;
    char line[LINE_MAX_BYTES];
    int code = 0;

    if (argc < 5 || loop_new(&call, "smq:call", &err) != SMQ_OK) {
        return 64;
    }
    shorten_timings();
    events = events_new(call, on_event, SMQ_LEVEL_INFO, NULL);
    options.servers = argv[1];
    if (strncmp(argv[1], in_redis, sizeof(in_redis) - 1) == 0) {
        port = reach_tree(&redis, &options, argv[1] + sizeof(in_redis) - 1);
    }
    options.name = argv[2];
    options.session_timeout_ms = strtoll(argv[3], NULL, 10);
    options.on_coordination_loss =
        strcmp(argv[4], "stop") == 0 ? SMQ_COORDINATION_LOSS_STOP : SMQ_COORDINATION_LOSS_CONTINUE;
    options.auth = argc > 5 ? argv[5] : NULL;
    options.events = events;
    if (coord_fleet_new(&puppet.coord, &options, &err) == SMQ_OK) {
        pthread_mutex_lock(&puppet.lock);
        say("ready");
        say_flush();
        pthread_mutex_unlock(&puppet.lock);
        while (fgets(line, sizeof(line), stdin) != NULL && obey(line)) {
        }
        coord_free(puppet.coord);
    } else {
        pthread_mutex_lock(&puppet.lock);
        say("refused %s %s", smq_status_name(err.status), err.text);
        pthread_mutex_unlock(&puppet.lock);
        code = 3;
    }
    if (port != NULL) {
        tree_port_free(port);
        client_stop(&redis);
        free((char *) options.root);
    }
    loop_free(call);
    events_free(events);
    for (size_t i = 0; i < puppet.topic_count; i++) {
        free(puppet.topics[i].slots);
    }
    say("bye");
    say_flush();
    return code;
}
