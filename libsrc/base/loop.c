/* loop.c - a thread that runs a libuv loop, and the tasks posted to it.
 *
 * Thread: as each function of loop.h says. */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alarms.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/waiter.h"

STAILQ_HEAD(loop_tasks, loop_task);

/* The loop is woken by an eventfd, not by uv_async_t: if sender and loop share a core, uv_async_t
 * makes the loop spin until the sender runs again.
 *
 * Invariant: while `mailbox.tasks` is not empty, a wake-up is in progress or `posting` is not 0.
 * The loop exists while `posting` is not 0. */
struct loop {
    /* immutable after loop_new() */
    int bell;
    pthread_t thread;

    /* the loop's thread */
    uv_loop_t uv;
    uv_poll_t wake;
    struct alarms alarms;
    uv_prepare_t polling; /* runs just before the loop looks at its sockets */
    int64_t polled_ms;
    struct loop_task stop;

    /* guarded by mailbox.lock */
    struct {
        pthread_mutex_t lock;
        struct loop_tasks tasks;
    } mailbox;

    /* any thread */
    atomic_int posting; /* threads inside loop_post(), or before loop_ring() */
};

/* Run the tasks that are posted; tasks that they post run in the next call, after the sockets had
 * their turn.  false: there were no tasks. */
static bool loop_run_tasks(struct loop *loop)
{
    struct loop_tasks tasks = STAILQ_HEAD_INITIALIZER(tasks);
    struct loop_task *task = NULL;
    bool any = false;

    pthread_mutex_lock(&loop->mailbox.lock);
    STAILQ_CONCAT(&tasks, &loop->mailbox.tasks);
    pthread_mutex_unlock(&loop->mailbox.lock);
    any = !STAILQ_EMPTY(&tasks);
    while ((task = STAILQ_FIRST(&tasks)) != NULL) {
        STAILQ_REMOVE_HEAD(&tasks, link);
        atomic_store(&task->posted, false);
        task->run(task);
    }
    return any;
}

static void loop_on_wake(uv_poll_t *wake, int status, int events)
{
    struct loop *loop = wake->data;
    eventfd_t rings;

    (void) status;
    (void) events;
    (void) eventfd_read(loop->bell, &rings);
    (void) loop_run_tasks(loop);
}

static void loop_on_polling(uv_prepare_t *polling)
{
    struct loop *loop = OWNER_OF(polling, struct loop, polling);

    loop->polled_ms = clock_now_ms();
}

/* From now on only handles of other objects keep the loop alive; it still runs tasks, which closing
 * objects may post. */
static void loop_on_stop(struct loop_task *task)
{
    struct loop *loop = OWNER_OF(task, struct loop, stop);

    uv_unref((uv_handle_t *) &loop->wake);
}

/* Close the loop's own handles, and end what is left to be closed. */
static void loop_close_handles(struct loop *loop)
{
    uv_close((uv_handle_t *) &loop->wake, NULL);
    uv_close((uv_handle_t *) &loop->polling, NULL);
    alarms_close(&loop->alarms);
    (void) uv_run(&loop->uv, UV_RUN_DEFAULT);
}

static void *loop_main(void *arg)
{
    struct loop *loop = arg;

    do {
        (void) uv_run(&loop->uv, UV_RUN_DEFAULT);
    } while (atomic_load(&loop->posting) > 0 || loop_run_tasks(loop));
    loop_close_handles(loop);
    return NULL;
}

/* Free everything that loop_new() made, except the thread. */
static void loop_destroy(struct loop *loop)
{
    int left = uv_loop_close(&loop->uv);

    assert(left == 0); /* an object did not close its handles */
    (void) left;
    if (loop->bell >= 0) {
        (void) close(loop->bell);
    }
    alarms_fini(&loop->alarms);
    pthread_mutex_destroy(&loop->mailbox.lock);
    free(loop);
}

static smq_status loop_refuse(int failed, smq_error *err)
{
    return status_set(err, SMQ_NO_MEMORY, "cannot make an event loop: %s", uv_strerror(failed));
}

smq_status loop_new(struct loop **out, const char *thread_name, smq_error *err)
{
    struct loop *loop = memory_new(sizeof(*loop));
    smq_status status = SMQ_OK;
    int failed;

    descriptors_reserve();
    failed = uv_loop_init(&loop->uv);
    if (failed != 0) {
        free(loop);
        return loop_refuse(failed, err);
    }
    pthread_mutex_init(&loop->mailbox.lock, NULL);
    STAILQ_INIT(&loop->mailbox.tasks);
    loop->alarms.timer = -1;
    loop->stop.run = loop_on_stop;
    loop->wake.data = loop;
    loop->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    failed = loop->bell < 0 ? uv_translate_sys_error(errno)
                            : uv_poll_init(&loop->uv, &loop->wake, loop->bell);
    if (failed != 0) {
        loop_destroy(loop);
        return loop_refuse(failed, err);
    }
    (void) uv_poll_start(&loop->wake, UV_READABLE, loop_on_wake);
    loop->polled_ms = clock_now_ms();
    (void) uv_prepare_init(&loop->uv, &loop->polling);
    (void) uv_prepare_start(&loop->polling, loop_on_polling);
    uv_unref((uv_handle_t *) &loop->polling);
    failed = alarms_open(&loop->alarms, &loop->uv);
    status = failed == 0 ? thread_start(&loop->thread, thread_name, loop_main, loop, err)
                         : loop_refuse(failed, err);
    if (status != SMQ_OK) {
        loop_close_handles(loop);
        loop_destroy(loop);
        return status;
    }
    *out = loop;
    return SMQ_OK;
}

bool loop_put(struct loop *loop, struct loop_task *task)
{
    bool first = false;

    if (atomic_exchange(&task->posted, true)) {
        return false;
    }
    atomic_fetch_add(&loop->posting, 1);
    pthread_mutex_lock(&loop->mailbox.lock);
    first = STAILQ_EMPTY(&loop->mailbox.tasks);
    STAILQ_INSERT_TAIL(&loop->mailbox.tasks, task, link);
    pthread_mutex_unlock(&loop->mailbox.lock);
    if (!first) {
        atomic_fetch_sub(&loop->posting, 1);
    }
    return first;
}

void loop_ring(struct loop *loop)
{
    (void) eventfd_write(loop->bell, 1);
    atomic_fetch_sub(&loop->posting, 1);
}

void loop_post(struct loop *loop, struct loop_task *task)
{
    if (loop_put(loop, task)) {
        loop_ring(loop);
    }
}

uv_loop_t *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

struct alarms *loop_alarms(struct loop *loop)
{
    return &loop->alarms;
}

int64_t loop_polled_ms(const struct loop *loop)
{
    return loop->polled_ms;
}

struct loop_calling {
    struct loop_task task;
    struct waiter waiter;
    void (*run)(void *user);
    void *user;
};

static void loop_on_call(struct loop_task *task)
{
    struct loop_calling *calling = OWNER_OF(task, struct loop_calling, task);

    calling->run(calling->user);
    waiter_done(&calling->waiter);
}

void loop_call(struct loop *loop, void (*run)(void *user), void *user)
{
    struct loop_calling calling = {.task.run = loop_on_call, .run = run, .user = user};

    waiter_init(&calling.waiter, 1);
    loop_post(loop, &calling.task);
    (void) waiter_wait(&calling.waiter, SMQ_FOREVER);
    waiter_fini(&calling.waiter);
}

bool loop_inside(const struct loop *loop)
{
    return pthread_equal(pthread_self(), loop->thread) != 0;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL) {
        return;
    }
    assert(!loop_inside(loop));
    loop_post(loop, &loop->stop);
    (void) pthread_join(loop->thread, NULL);
    loop_destroy(loop);
}
