/* loop.h - a thread that runs a libuv loop, and the tasks posted to it.
 *
 * Other threads reach the loop by posting tasks.  A task is embedded in the object that it
 * concerns, and can be posted once at a time.  So the queue is never longer than the number of
 * objects, which their owners bound.
 *
 * Thread: as each function says. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <uv.h>

#include <slotmq/core.h>

struct alarms;
struct loop;

/* Invariant: `posted` is true from loop_post() until just before `run` is called. */
struct loop_task {
    void (*run)(struct loop_task *task); /* on the loop's thread; may free the task's owner */
    STAILQ_ENTRY(loop_task) link;
    atomic_bool posted;
};

/* Make a loop and start its thread.  Thread: any.  Fails: NO_MEMORY. */
smq_status loop_new(struct loop **out, const char *thread_name, smq_error *err);

/* Run `task` on the loop's thread, after all tasks posted before.  Posting a task that is still
 * queued does nothing.  Async-signal-safe: no.  Thread: any, the loop's own too. */
void loop_post(struct loop *loop, struct loop_task *task);

/* loop_post() in two steps, for a caller that holds a lock which the task takes: loop_put() while
 * it holds the lock and, if that returns true, loop_ring() after it has released the lock; the loop
 * exists until then.  Thread: any. */
bool loop_put(struct loop *loop, struct loop_task *task);
void loop_ring(struct loop *loop);

/* Call run() on the loop's thread, after all tasks posted before, and wait until it has returned.
 * Thread: any but the loop's own. */
void loop_call(struct loop *loop, void (*run)(void *user), void *user);

/* The libuv loop, for handles of the objects that live on it.  Thread: the loop's. */
uv_loop_t *loop_uv(struct loop *loop);

/* Its alarms.  Thread: the loop's. */
struct alarms *loop_alarms(struct loop *loop);

/* When the loop last began to read its sockets, by clock_now_ms(): bytes that had arrived by then
 * have been read.  A time-out has passed only when this is later than the deadline.  The present
 * time is not enough, because timers run before sockets: a loop that is late would treat a reply
 * that has arrived as missing.  Thread: the loop's. */
int64_t loop_polled_ms(const struct loop *loop);

/* Is the caller on the loop's thread?  Thread: any. */
bool loop_inside(const struct loop *loop);

/* End the thread once every posted task has run and every handle is closed, then free the loop.
 * The objects that live on it must have begun to close.  Blocks until then.
 * Thread: any but the loop's own.  loop_free(NULL) does nothing. */
void loop_free(struct loop *loop);

#endif
