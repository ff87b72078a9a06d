/* core.c - what the parts of a client share.
 *
 * Thread: as each function of core.h says. */
#include "core/core.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "base/secret.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/waiter.h"
#include "core/coord_link.h"

/* The first connection: smq:io makes it while the thread that makes the core waits. */
struct core_opening {
    struct loop_task task;
    struct core *core;
    const struct redis_options *redis;
    disuse_expire_fn *expire;
    struct waiter waiter;
    smq_status status;
    smq_error err;
};

/* The end of the Redis client, for which the thread that ends the core waits. */
struct core_closing {
    struct loop_task task;
    struct core *core;
    struct waiter waiter;
};

/* --- options --- */

static bool core_name_is_valid(const char *name, size_t size)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-:@";
    size_t len = strlen(name);

    return len > 0 && len < size && strspn(name, allowed) == len && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static void core_name_default(char *out, size_t size)
{
    char host[65] = "", random[9];

    (void) gethostname(host, sizeof(host) - 1);
    random_hex(random, sizeof(random));
    snprintf(out, size, "%s-%ld-%s", host[0] != '\0' ? host : "host", (long) getpid(), random);
    if (!core_name_is_valid(out, size)) {
        snprintf(out, size, "host-%ld-%s", (long) getpid(), random);
    }
}

static smq_status core_check_and_copy_name(struct core *core, const char *name, smq_error *err)
{
    if (name == NULL) {
        core_name_default(core->name, sizeof(core->name));
        return SMQ_OK;
    }
    if (!core_name_is_valid(name, sizeof(core->name))) {
        return status_set(err, SMQ_INVALID,
                          "the member name must be 1 .. %zu letters, digits, '.', '_', '-', ':' or "
                          "'@'",
                          sizeof(core->name) - 1);
    }
    snprintf(core->name, sizeof(core->name), "%s", name);
    return SMQ_OK;
}

static struct redis_options core_redis_options(const smq_client_options *options)
{
    return (struct redis_options){.servers = options->redis,
                                  .tls = {.ca = options->tls_ca,
                                          .cert = options->tls_cert,
                                          .key = options->tls_key,
                                          .name = options->tls_name},
                                  .credentials = {.file = options->redis_password_file,
                                                  .ask = options->credentials,
                                                  .ask_user = options->credentials_user},
                                  .connect_timeout_ms = options->connect_timeout_ms,
                                  .request_timeout_ms = options->request_timeout_ms};
}

static bool core_is_zookeeper_auth(const char *auth)
{
    return strchr(auth, ':') != NULL;
}

static smq_status core_check_zookeeper_auth(const smq_client_options *options, smq_error *err)
{
    const char *file = options->zookeeper_auth_file;
    char *read = NULL;
    bool good = true;

    if (options->zookeeper_auth != NULL && file != NULL) {
        return status_set(err, SMQ_INVALID,
                          "zookeeper_auth and zookeeper_auth_file are both given; give one");
    }
    if (file != NULL) {
        smq_error why;

        read = secret_read(file, &why);
        if (read == NULL) {
            return status_set(err, SMQ_INVALID, "zookeeper_auth_file: %s", why.text);
        }
        good = core_is_zookeeper_auth(read);
        secret_free(read);
    } else if (options->zookeeper_auth != NULL) {
        good = core_is_zookeeper_auth(options->zookeeper_auth);
    }
    if (good && (options->zookeeper != NULL || (options->zookeeper_auth == NULL && file == NULL))) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_INVALID,
                      "%s must be \"user:password\", and needs the option zookeeper",
                      file != NULL ? "the first line of zookeeper_auth_file" : "zookeeper_auth");
}

/* Of a session with a tree in Redis, as tree.lua has them. */
enum { CORE_SESSION_MIN_MS = 1000, CORE_SESSION_MAX_MS = 60000 };

/* The root of the fleet in Redis; NULL: it is in ZooKeeper. */
static smq_status core_check_coordination(const char **root, const smq_client_options *options,
                                          smq_error *err)
{
    *root = NULL;
    if (options->zookeeper != NULL && options->coordination == SMQ_COORDINATION_REDIS) {
        return status_set(err, SMQ_INVALID,
                          "coordination=redis and the option zookeeper are both given; give one");
    }
    if (options->zookeeper != NULL) {
        return options->root == NULL
                   ? SMQ_OK
                   : status_set(err, SMQ_INVALID,
                                "the option root belongs to a fleet in Redis; with ZooKeeper the "
                                "root follows the addresses in zookeeper");
    }
    if (options->session_timeout_ms < CORE_SESSION_MIN_MS ||
        options->session_timeout_ms > CORE_SESSION_MAX_MS) {
        return status_set(err, SMQ_INVALID,
                          "without ZooKeeper session_timeout_ms is %d .. %d, not %" PRId64,
                          CORE_SESSION_MIN_MS, CORE_SESSION_MAX_MS, options->session_timeout_ms);
    }
    *root = options->root != NULL ? options->root : "/slotmq";
    return coord_check_root(*root, err);
}

static smq_status core_check_and_copy_servers(struct core *core, const smq_client_options *options,
                                              smq_error *err)
{
    const struct redis_options redis = core_redis_options(options);
    const char *in_redis = NULL;
    char root[1024];
    smq_status status;

    if (options->redis == NULL || options->redis[0] == '\0') {
        return status_set(err, SMQ_INVALID, "no Redis server given; set the option redis");
    }
    status = redis_check_options(&redis, err);
    if (status == SMQ_OK && options->zookeeper != NULL) {
        status = coord_check_servers(root, sizeof(root), options->zookeeper, err);
    }
    if (status == SMQ_OK) {
        status = core_check_zookeeper_auth(options, err);
    }
    if (status == SMQ_OK) {
        status = core_check_coordination(&in_redis, options, err);
    }
    if (status != SMQ_OK) {
        return status;
    }
    core->zookeeper = memory_string(options->zookeeper);
    core->root = memory_string(in_redis);
    core->zookeeper_auth = memory_string(options->zookeeper_auth);
    core->zookeeper_auth_file = memory_string(options->zookeeper_auth_file);
    return SMQ_OK;
}

static smq_status core_check_and_copy_options(struct core *core, const smq_client_options *options,
                                              smq_error *err)
{
    smq_status status = core_check_and_copy_servers(core, options, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (options->hooks != NULL) {
        core->hooks = *options->hooks;
    }
    core->on_coordination_loss = options->on_coordination_loss;
    core->request_timeout_ms = options->request_timeout_ms;
    core->session_timeout_ms = options->session_timeout_ms;
    return core_check_and_copy_name(core, options->name, err);
}

/* --- the first connection --- */

static void core_on_ready(smq_status status, const char *text, void *user)
{
    struct core_opening *opening = user;

    opening->status = status_set(&opening->err, status, "%s", text);
    waiter_done(&opening->waiter);
}

static void core_open_on_io(struct loop_task *task)
{
    struct core_opening *opening = OWNER_OF(task, struct core_opening, task);
    struct core *core = opening->core;

    core->redis = redis_new(core->io, opening->redis, core->events, core_on_ready, opening);
    core->definitions = definitions_new(core->redis, core->request_timeout_ms);
    core->disuse = disuse_new(core, opening->expire);
}

/* `servers` without the password that it may begin with. */
static const char *core_servers_shown(const char *servers)
{
    const char *at = strrchr(servers, '@');

    return at != NULL ? at + 1 : servers;
}

/* Blocks: connect_timeout_ms.  On failure the caller ends the core, and with it the Redis client,
 * before `opening` is freed. */
static smq_status core_open(struct core *core, struct core_opening *opening, smq_error *err)
{
    opening->task.run = core_open_on_io;
    opening->core = core;
    loop_post(core->io, &opening->task);
    if (!waiter_wait(&opening->waiter, opening->redis->connect_timeout_ms)) {
        return status_set(err, SMQ_UNAVAILABLE, "no answer from Redis at %s within %" PRId64 " ms",
                          core_servers_shown(opening->redis->servers),
                          opening->redis->connect_timeout_ms);
    }
    return opening->status == SMQ_OK ? SMQ_OK : status_copy(err, &opening->err);
}

/* --- the end --- */

static void core_on_closed(void *user)
{
    struct core_closing *closing = user;

    waiter_done(&closing->waiter);
}

static void core_close_disuse_on_io(struct loop_task *task)
{
    struct core_closing *closing = OWNER_OF(task, struct core_closing, task);

    if (closing->core->disuse != NULL) {
        disuse_close(closing->core->disuse);
    }
    waiter_done(&closing->waiter);
}

static void core_close_redis_on_io(struct loop_task *task)
{
    struct core_closing *closing = OWNER_OF(task, struct core_closing, task);

    if (closing->core->redis == NULL) {
        waiter_done(&closing->waiter);
        return;
    }
    redis_close(closing->core->redis, core_on_closed, closing);
}

static void core_close_on_io(struct core *core, void (*run)(struct loop_task *task))
{
    struct core_closing closing = {.task.run = run, .core = core};

    waiter_init(&closing.waiter, 1);
    loop_post(core->io, &closing.task);
    (void) waiter_wait(&closing.waiter, SMQ_FOREVER);
    waiter_fini(&closing.waiter);
}

/* End a core, also one that is only partly initialized.  Thread: none of the core's. */
static void core_free(struct core *core)
{
    if (core->link != NULL) {
        coord_link_free(core->link);
    }
    if (core->io != NULL) {
        core_close_on_io(core, core_close_disuse_on_io);
    }
    if (core->disuse != NULL) {
        disuse_join(core->disuse);
    }
    if (core->io != NULL) {
        core_close_on_io(core, core_close_redis_on_io);
    }
    loop_free(core->io);
    loop_free(core->call);
    definitions_free(core->definitions);
    disuse_free(core->disuse);
    events_free(core->events);
    free(core->zookeeper);
    free(core->root);
    secret_free(core->zookeeper_auth);
    free(core->zookeeper_auth_file);
    topic_numbers_fini(&core->topic_numbers);
    zones_fini(&core->zones);
    free(core);
}

static void *core_free_aside(void *arg)
{
    core_free(arg);
    return NULL;
}

void core_unref(struct core *core)
{
    pthread_t thread;

    if (atomic_fetch_sub(&core->references, 1) != 1) {
        return;
    }
    if (!loop_inside(core->io) && !loop_inside(core->call)) {
        core_free(core);
        return;
    }
    /* if no thread can be started the core is never freed, because no other thread could wait for
     * this one */
    if (thread_start(&thread, "smq:end", core_free_aside, core, NULL) == SMQ_OK) {
        pthread_detach(thread);
    }
}

struct core *core_ref(struct core *core)
{
    atomic_fetch_add(&core->references, 1);
    return core;
}

static smq_status core_start(struct core *core, const smq_client_options *options, smq_error *err)
{
    smq_status status = loop_new(&core->call, "smq:call", err);

    if (status != SMQ_OK) {
        return status;
    }
    core->events =
        events_new(core->call, options->event, options->event_level, options->event_user);
    if (options->poll_events) {
        status = events_keep(core->events, err);
    }
    return status != SMQ_OK ? status : loop_new(&core->io, "smq:io", err);
}

smq_status core_new(struct core **out, const smq_client_options *options, disuse_expire_fn *expire,
                    smq_error *err)
{
    struct core *core = memory_new(sizeof(*core));
    const struct redis_options redis = core_redis_options(options);
    struct core_opening opening = {.redis = &redis, .expire = expire};
    smq_status status;

    atomic_init(&core->references, 1);
    LIST_INIT(&core->sources);
    topic_numbers_init(&core->topic_numbers);
    core->forks = fork_count();
    waiter_init(&opening.waiter, 1);
    status = core_check_and_copy_options(core, options, err);
    if (status != SMQ_OK) {
        goto out;
    }
    status = core_start(core, options, err);
    if (status != SMQ_OK) {
        goto out;
    }
    status = core_open(core, &opening, err);
    if (status != SMQ_OK) {
        goto out;
    }
    core->link = coord_link_new(core);
    *out = core;
out:
    if (status != SMQ_OK) {
        core_free(core);
    }
    waiter_fini(&opening.waiter);
    return status;
}

smq_status core_check(const struct core *core, smq_error *err)
{
    if (core->forks != fork_count()) {
        return status_set(err, SMQ_FORKED,
                          "the client was made before fork(); make a new one in the child");
    }
    return SMQ_OK;
}
