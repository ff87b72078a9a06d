/* pool.c - requests that need servers: a few threads answer them, one after the other.
 *
 * Thread: pool_work() runs on serve:ask-N; the rest on any. */
#include "serve/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "cli/http/thread.h"
#include "cli/text/moment.h"
#include "cli/text/say.h"

enum {
    POOL_THREADS = 4,
    POOL_WAITING_MAX = 64,
    POOL_KEPT_MAX = 64,
    POOL_KEPT_BYTES = 32 * 1024 * 1024
};

/* A request that waits for an ask. */
struct pool_waiter {
    STAILQ_ENTRY(pool_waiter) entry;
    struct port_request *request;
};

enum pool_state { POOL_WAITING, POOL_RUNNING, POOL_KEPT };

/* An ask, and then its answer.  Invariant: it is in the list of its state, and has waiters unless
 * it is kept. */
struct pool_entry {
    TAILQ_ENTRY(pool_entry) entry;
    enum pool_state state;
    struct ask ask;
    char *key; /* owned; NULL: nothing is shared */
    STAILQ_HEAD(, pool_waiter) waiters;
    struct answer *answer; /* kept */
    int64_t until_ms;
};

TAILQ_HEAD(pool_list, pool_entry);

struct pool {
    pthread_t threads[POOL_THREADS];
    size_t thread_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock */
    struct pool_list waiting, running, kept; /* kept: the newest is the last */
    size_t waiting_count, kept_count, kept_bytes;
    bool ending;
};

/* === Entries ============================================================ */

/* What is the same for requests that may share an answer. */
static char *pool_key(const struct ask *ask)
{
    char *query = json_dumps(ask->query, JSON_COMPACT | JSON_SORT_KEYS);

    if (!query) {
        say_no_memory();
    }
    const size_t size = strlen(ask->path) + strlen(query) + 8;
    char *key = say_alloc(size, 1);
    snprintf(key, size, "%s %d %s", ask->path, ask->caller.personal, query);
    free(query);
    return key;
}

static void pool_add_waiter(struct pool_entry *entry, struct port_request *request)
{
    struct pool_waiter *waiter = say_alloc(1, sizeof(*waiter));

    waiter->request = request;
    STAILQ_INSERT_TAIL(&entry->waiters, waiter, entry);
}

static void pool_free_entry(struct pool_entry *entry)
{
    json_decref(entry->ask.query);
    answer_unref(entry->answer);
    free(entry->key);
    free(entry);
}

static void pool_drop_kept(struct pool *pool, struct pool_entry *entry)
{
    TAILQ_REMOVE(&pool->kept, entry, entry);
    pool->kept_count--;
    pool->kept_bytes -= entry->answer->size;
    pool_free_entry(entry);
}

/* Forgets answers that are too old, and the oldest ones while there are too many. */
static void pool_forget(struct pool *pool)
{
    const int64_t now_ms = moment_ms();
    struct pool_entry *entry = TAILQ_FIRST(&pool->kept);

    while (entry) {
        struct pool_entry *next = TAILQ_NEXT(entry, entry);
        if (entry->until_ms <= now_ms || pool->kept_count > POOL_KEPT_MAX ||
            pool->kept_bytes > POOL_KEPT_BYTES) {
            pool_drop_kept(pool, entry);
        }
        entry = next;
    }
}

static struct pool_entry *pool_find(struct pool_list *list, const char *key)
{
    struct pool_entry *entry = NULL;

    TAILQ_FOREACH(entry, list, entry)
    {
        if (key && entry->key && strcmp(entry->key, key) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* Answers all that wait for it. */
static void pool_answer(struct pool_entry *entry, struct answer *answer)
{
    while (!STAILQ_EMPTY(&entry->waiters)) {
        struct pool_waiter *waiter = STAILQ_FIRST(&entry->waiters);
        STAILQ_REMOVE_HEAD(&entry->waiters, entry);
        port_answer(waiter->request, answer_ref(answer));
        free(waiter);
    }
}

/* === Threads ============================================================ */

/* Something was changed: what was read before it is shared no longer. */
static void pool_spoil(struct pool *pool)
{
    struct pool_entry *entry = NULL;

    TAILQ_FOREACH(entry, &pool->running, entry)
    {
        free(entry->key);
        entry->key = NULL;
    }
    while (!TAILQ_EMPTY(&pool->kept)) {
        pool_drop_kept(pool, TAILQ_FIRST(&pool->kept));
    }
}

void pool_changed(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool_spoil(pool);
    pthread_mutex_unlock(&pool->lock);
}

/* The answer of an entry that ran: it goes to its waiters, and is kept if it may be shared. */
static void pool_finish(struct pool *pool, struct pool_entry *entry, struct answer *answer)
{
    TAILQ_REMOVE(&pool->running, entry, entry);
    if (entry->ask.share_ms == 0) {
        pool_spoil(pool);
    }
    pool_answer(entry, answer);
    entry->answer = answer;
    if (!entry->key || answer->status >= 400) {
        pool_free_entry(entry);
        return;
    }
    entry->state = POOL_KEPT;
    entry->until_ms = moment_ms() + entry->ask.share_ms;
    TAILQ_INSERT_TAIL(&pool->kept, entry, entry);
    pool->kept_count++;
    pool->kept_bytes += answer->size;
    pool_forget(pool);
}

static void *pool_work(void *arg)
{
    struct pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        struct pool_entry *entry = TAILQ_FIRST(&pool->waiting);
        if (!entry && pool->ending) {
            break;
        }
        if (!entry) {
            pthread_cond_wait(&pool->changed, &pool->lock);
            continue;
        }
        TAILQ_REMOVE(&pool->waiting, entry, entry);
        pool->waiting_count--;
        entry->state = POOL_RUNNING;
        TAILQ_INSERT_TAIL(&pool->running, entry, entry);
        pthread_mutex_unlock(&pool->lock);
        struct answer *answer =
            entry->ask.run(entry->ask.serve, entry->ask.query, &entry->ask.caller);
        pthread_mutex_lock(&pool->lock);
        pool_finish(pool, entry, answer);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct pool *pool_begin(void)
{
    struct pool *pool = say_alloc(1, sizeof(*pool));
    char name[THREAD_NAME];

    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    TAILQ_INIT(&pool->waiting);
    TAILQ_INIT(&pool->running);
    TAILQ_INIT(&pool->kept);
    for (size_t i = 0; i < POOL_THREADS; i++) {
        snprintf(name, sizeof(name), "serve:ask-%zu", i);
        if (thread_begin(&pool->threads[pool->thread_count], name, pool_work, pool)) {
            pool->thread_count++;
        }
    }
    return pool;
}

/* === Asking ============================================================= */

static void pool_enqueue(struct pool *pool, const struct ask *ask, char *key,
                         struct port_request *request)
{
    struct pool_entry *entry = say_alloc(1, sizeof(*entry));

    entry->ask = *ask;
    entry->key = key;
    STAILQ_INIT(&entry->waiters);
    pool_add_waiter(entry, request);
    TAILQ_INSERT_TAIL(&pool->waiting, entry, entry);
    pool->waiting_count++;
    pthread_cond_signal(&pool->changed);
}

/* Is there an answer, or will there be one?  Then the request gets it. */
static bool pool_join(struct pool *pool, const char *key, struct port_request *request)
{
    struct pool_entry *entry = pool_find(&pool->kept, key);

    if (entry) {
        port_answer(request, answer_ref(entry->answer));
        return true;
    }
    entry = pool_find(&pool->running, key);
    entry = entry ? entry : pool_find(&pool->waiting, key);
    if (entry) {
        pool_add_waiter(entry, request);
    }
    return entry != NULL;
}

void pool_ask(struct pool *pool, struct port_request *request, const struct ask *ask)
{
    char *key = ask->share_ms > 0 ? pool_key(ask) : NULL;
    bool taken = false;

    pthread_mutex_lock(&pool->lock);
    pool_forget(pool);
    if (pool->ending || pool->thread_count == 0) {
        port_answer(request, answer_problem(503, SMQ_CLOSED, "this server ends"));
    } else if (!pool_join(pool, key, request)) {
        taken = pool->waiting_count < POOL_WAITING_MAX;
        if (taken) {
            pool_enqueue(pool, ask, key, request);
        } else {
            port_answer(request,
                        answer_problem(503, SMQ_FULL, "%d requests wait for servers: try again",
                                       POOL_WAITING_MAX));
        }
    }
    pthread_mutex_unlock(&pool->lock);
    if (!taken) {
        json_decref(ask->query);
        free(key);
    }
}

/* === End ================================================================ */

void pool_end(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    while (!TAILQ_EMPTY(&pool->waiting)) {
        struct pool_entry *entry = TAILQ_FIRST(&pool->waiting);
        struct answer *answer = answer_problem(503, SMQ_CLOSED, "this server ends");
        TAILQ_REMOVE(&pool->waiting, entry, entry);
        pool->waiting_count--;
        pool_answer(entry, answer);
        answer_unref(answer);
        pool_free_entry(entry);
    }
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->thread_count; i++) {
        (void) pthread_join(pool->threads[i], NULL);
    }
}

void pool_free(struct pool *pool)
{
    while (!TAILQ_EMPTY(&pool->kept)) {
        pool_drop_kept(pool, TAILQ_FIRST(&pool->kept));
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->changed);
    free(pool);
}
