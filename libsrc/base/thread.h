/* thread.h - named threads with every signal blocked, and how they wait for a time.
 *
 * Thread: any. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

#include <slotmq/core.h>

/* Start `run(arg)` on a thread called `name` (at most 15 bytes, "smq:io").
 * Fails: NO_MEMORY (the system refuses another thread). */
smq_status thread_start(pthread_t *out, const char *name, void *(*run)(void *arg), void *arg,
                        smq_error *err);

/* Make a condition whose waits end by the clock of clock_deadline(). */
void thread_cond_init(pthread_cond_t *condition);

#endif
