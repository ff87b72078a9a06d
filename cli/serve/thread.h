/* thread.h - threads of a server: they have a name, and leave the signals to main.
 *
 * Thread: any. */
#ifndef SERVE_THREAD_H
#define SERVE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

enum { THREAD_NAME = 16 };

/* false: it cannot be started. */
bool thread_begin(pthread_t *out, const char *name, void *(*run)(void *), void *user);

#endif
