/* disuse.c - see disuse.h. */
#include "core/disuse.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alarms.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "base/thread.h"
#include "core/core.h"
#include "store/expiring.h"

/* Bounds of the time between two questions which topics are due, and how soon a mark that failed is
 * repeated. */
enum { LOOK_LEAST_MS = 1000, LOOK_MOST_MS = 60000, REPEAT_MS = 1000 };

/* Invariant: while it is in the table its alarm is set, or the client ends. */
struct disuse_use {
    UT_hash_handle hh;
    struct disuse *disuse;
    char name[TOPIC_NAME_MAX + 1]; /* never of a group */
    char nonce[TOPIC_NONCE_LEN + 1];
    int64_t expires_ms;
    size_t holders;    /* consumers */
    bool sent;         /* since the last mark */
    bool calling;      /* `call` is under way */
    int64_t listed_ms; /* when the list was told of it; 0: not yet */
    struct alarm next; /* of the next mark, or its end */
    struct store_call call;
};

struct disuse {
    /* immutable after disuse_new() */
    struct core *core;
    disuse_expire_fn *expire;

    atomic_bool closing; /* any thread */

    /* smq:io, then the thread that frees the core */
    struct disuse_use *table;
    int64_t look_each_ms; /* 0: this client has not used a topic that expires */
    bool denied;          /* the user may not read the list */
    struct alarm look;
    struct store_call due;
    pthread_t thread;
    bool threaded; /* `thread` is to be joined */

    /* smq:io, while `thread` runs that */
    char names[STORE_DUE_MAX][TOPIC_NAME_MAX + 1];
    size_t count;
    struct loop_task expired;
};

/* --- marks --- */

static struct alarms *disuse_alarms(const struct disuse *disuse)
{
    return loop_alarms(disuse->core->io);
}

static void disuse_use_wait(struct disuse_use *use, int64_t ms)
{
    if (!atomic_load(&use->disuse->closing)) {
        alarm_set(disuse_alarms(use->disuse), &use->next, clock_now_us() + ms * 1000);
    }
}

static void disuse_use_drop(struct disuse_use *use)
{
    HASH_DEL(use->disuse->table, use);
    store_call_fini(&use->call);
    free(use);
}

static void disuse_on_listed(struct store_call *call, const struct store_result *result)
{
    struct disuse_use *use = call->user;

    use->calling = false;
    if (result->outcome == STORE_OK || result->status == SMQ_DENIED) {
        use->listed_ms = clock_now_ms();
    }
}

/* The list is told anew from time to time, as Redis may have lost it. */
static void disuse_on_marked(struct store_call *call, const struct store_result *result)
{
    struct disuse_use *use = call->user;
    struct core *core = use->disuse->core;
    bool listed = use->listed_ms != 0 && clock_now_ms() - use->listed_ms < use->expires_ms;

    if (result->outcome == STORE_OK && !listed && !atomic_load(&use->disuse->closing)) {
        call->done = disuse_on_listed;
        store_expiring_note(call, core->redis, use->name, store_unused_ms(use->expires_ms),
                            core->request_timeout_ms);
        return;
    }
    use->calling = false;
    if (result->outcome == STORE_NOT_DONE && result->status != SMQ_DENIED &&
        store_use_ms(use->expires_ms) > REPEAT_MS) {
        use->sent = true;
        disuse_use_wait(use, REPEAT_MS);
    }
}

static void disuse_use_mark(struct disuse_use *use)
{
    struct core *core = use->disuse->core;

    disuse_use_wait(use, store_use_ms(use->expires_ms));
    if (use->calling) {
        return; /* the last mark is not answered yet; `sent` stays for the next one */
    }
    use->sent = false;
    use->calling = true;
    use->call.done = disuse_on_marked;
    store_topic_used(&use->call, core->redis, use->name, use->nonce, use->expires_ms, true,
                     core->request_timeout_ms);
}

static void disuse_on_next(struct alarm *alarm)
{
    struct disuse_use *use = OWNER_OF(alarm, struct disuse_use, next);

    if (use->holders > 0 || use->sent || use->calling) {
        disuse_use_mark(use);
    } else {
        disuse_use_drop(use);
    }
}

static struct disuse_use *disuse_use_find(struct disuse *disuse, const char *name)
{
    struct disuse_use *use;

    HASH_FIND_STR(disuse->table, name, use);
    if (use == NULL) {
        use = memory_new(sizeof(*use));
        use->disuse = disuse;
        (void) snprintf(use->name, sizeof(use->name), "%s", name);
        use->next.ring = disuse_on_next;
        store_call_init(&use->call, disuse_on_marked, use);
        HASH_ADD_STR(disuse->table, name, use);
    }
    return use;
}

/* The topic is used now, by its present definition. */
static struct disuse_use *disuse_use(struct disuse *disuse, const struct topic *topic)
{
    char name[TOPIC_NAME_MAX + 1];
    struct disuse_use *use;

    (void) snprintf(name, sizeof(name), "%.*s", (int) group_topic_len(topic->name), topic->name);
    use = disuse_use_find(disuse, name);
    use->sent = true;
    if (use->expires_ms != topic->expires_ms || strcmp(use->nonce, topic->nonce) != 0) {
        memcpy(use->nonce, topic->nonce, sizeof(use->nonce));
        use->expires_ms = topic->expires_ms;
        use->listed_ms = 0;
        disuse_watch(disuse, topic->expires_ms);
        disuse_use_mark(use);
    }
    return use;
}

void disuse_sent(struct disuse *disuse, const struct topic *topic)
{
    if (topic->expires_ms != 0) {
        (void) disuse_use(disuse, topic);
    }
}

struct disuse_use *disuse_hold(struct disuse *disuse, struct disuse_use *held,
                               const struct topic *topic)
{
    struct disuse_use *use = NULL;

    if (topic->expires_ms != 0) {
        use = disuse_use(disuse, topic);
        use->holders++;
    }
    disuse_release(held);
    return use;
}

/* The alarm ends what is no longer used, after a last mark. */
void disuse_release(struct disuse_use *use)
{
    if (use != NULL) {
        use->holders--;
        use->sent = true;
    }
}

/* --- which are due --- */

static void disuse_wait(struct disuse *disuse, int64_t ms)
{
    if (!atomic_load(&disuse->closing) && !disuse->denied) {
        alarm_set(disuse_alarms(disuse), &disuse->look, clock_now_us() + ms * 1000);
    }
}

/* Thread: smq:expire. */
static void *disuse_thread(void *arg)
{
    struct disuse *disuse = arg;

    for (size_t i = 0; i < disuse->count && !atomic_load(&disuse->closing); i++) {
        disuse->expire(disuse->core, disuse->names[i]);
    }
    loop_post(disuse->core->io, &disuse->expired);
    return NULL;
}

/* Where many were due, more are. */
static void disuse_on_expired(struct loop_task *task)
{
    struct disuse *disuse = OWNER_OF(task, struct disuse, expired);

    disuse_wait(disuse, disuse->count == STORE_DUE_MAX ? 0 : disuse->look_each_ms);
}

/* A thread of before has posted its last task, so it does not hold up smq:io. */
static void disuse_on_due(struct store_call *call, const struct store_result *result)
{
    struct disuse *disuse = call->user;

    disuse->denied = result->status == SMQ_DENIED;
    disuse->count = store_expiring_due_read(disuse->names, result);
    if (disuse->count == 0 || atomic_load(&disuse->closing)) {
        disuse_wait(disuse, disuse->look_each_ms);
        return;
    }
    disuse_join(disuse);
    disuse->threaded =
        thread_start(&disuse->thread, "smq:expire", disuse_thread, disuse, NULL) == SMQ_OK;
    if (!disuse->threaded) {
        disuse_wait(disuse, disuse->look_each_ms);
    }
}

static void disuse_on_look(struct alarm *alarm)
{
    struct disuse *disuse = OWNER_OF(alarm, struct disuse, look);

    store_expiring_due(&disuse->due, disuse->core->redis, disuse->core->request_timeout_ms);
}

void disuse_watch(struct disuse *disuse, int64_t expires_ms)
{
    int64_t each_ms = expires_ms / 2 < LOOK_LEAST_MS  ? LOOK_LEAST_MS
                      : expires_ms / 2 > LOOK_MOST_MS ? LOOK_MOST_MS
                                                      : expires_ms / 2;
    bool first = disuse->look_each_ms == 0;

    if (first || each_ms < disuse->look_each_ms) {
        disuse->look_each_ms = each_ms;
    }
    if (first || (disuse->look.at_us != 0 &&
                  disuse->look.at_us > clock_now_us() + disuse->look_each_ms * 1000)) {
        disuse_wait(disuse, (int64_t) (random_u64() % (uint64_t) disuse->look_each_ms));
    }
}

/* --- life --- */

struct disuse *disuse_new(struct core *core, disuse_expire_fn *expire)
{
    struct disuse *disuse = memory_new(sizeof(*disuse));

    disuse->core = core;
    disuse->expire = expire;
    disuse->look.ring = disuse_on_look;
    disuse->expired.run = disuse_on_expired;
    store_call_init(&disuse->due, disuse_on_due, disuse);
    return disuse;
}

void disuse_close(struct disuse *disuse)
{
    struct disuse_use *use, *next;

    atomic_store(&disuse->closing, true);
    alarm_clear(disuse_alarms(disuse), &disuse->look);
    HASH_ITER(hh, disuse->table, use, next)
    {
        alarm_clear(disuse_alarms(disuse), &use->next);
    }
}

void disuse_join(struct disuse *disuse)
{
    if (disuse->threaded) {
        (void) pthread_join(disuse->thread, NULL);
        disuse->threaded = false;
    }
}

void disuse_free(struct disuse *disuse)
{
    struct disuse_use *use, *next;

    if (disuse == NULL) {
        return;
    }
    HASH_ITER(hh, disuse->table, use, next)
    {
        disuse_use_drop(use);
    }
    store_call_fini(&disuse->due);
    free(disuse);
}
