/* thread.h - threads of a server: they have a name, leave the signals to main, and wait for a time.
 *
 * Thread: any. */
#ifndef SERVE_THREAD_H
#define SERVE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

enum { THREAD_NAME = 16 };

/* false: it cannot be started. */
bool thread_begin(pthread_t *out, const char *name, void *(*run)(void *), void *user);

/* Make a condition whose waits end by CLOCK_MONOTONIC. */
void thread_condition(pthread_cond_t *out);

#endif
