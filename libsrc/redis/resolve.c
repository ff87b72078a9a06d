/* resolve.c - the addresses of a server's name.
 *
 * Thread: the loop's; resolve_look_up() has its own. */
#include "redis/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"

/* One name that is looked up.  Its thread writes `found`, `failed` and `error`, then wakes the
 * loop; the loop reads them after it has joined the thread. */
struct resolving {
    uv_async_t answered;
    pthread_t thread;
    char *host;
    char port[8];
    struct addrinfo *found;
    int failed, error; /* of getaddrinfo(), and errno */
    resolve_fn *done;
    void *user;
};

static const char *resolve_why_not(int failed, int error)
{
    return failed == EAI_SYSTEM ? strerror(error) : gai_strerror(failed);
}

static void resolve_on_closed(uv_handle_t *handle)
{
    struct resolving *resolving = handle->data;

    free(resolving->host);
    free(resolving);
}

static void resolve_on_answered(uv_async_t *answered)
{
    struct resolving *resolving = answered->data;

    (void) pthread_join(resolving->thread, NULL);
    resolving->done(resolving->found, resolve_why_not(resolving->failed, resolving->error),
                    resolving->user);
    uv_close((uv_handle_t *) answered, resolve_on_closed);
}

static void *resolve_look_up(void *arg)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct resolving *resolving = arg;

    resolving->failed = getaddrinfo(resolving->host, resolving->port, &hints, &resolving->found);
    resolving->error = errno;
    if (resolving->failed != 0) {
        resolving->found = NULL;
    }
    (void) uv_async_send(&resolving->answered);
    return NULL;
}

static void resolve_begin(struct loop *loop, const char *host, const char *port, resolve_fn *done,
                          void *user)
{
    struct resolving *resolving = memory_new(sizeof(*resolving));
    smq_error err;

    resolving->host = memory_string(host);
    (void) snprintf(resolving->port, sizeof(resolving->port), "%s", port);
    resolving->done = done;
    resolving->user = user;
    (void) uv_async_init(loop_uv(loop), &resolving->answered, resolve_on_answered);
    resolving->answered.data = resolving;
    if (thread_start(&resolving->thread, "smq:resolve", resolve_look_up, resolving, &err) !=
        SMQ_OK) {
        uv_close((uv_handle_t *) &resolving->answered, resolve_on_closed);
        done(NULL, err.text, user);
    }
}

void resolve(struct loop *loop, const char *host, int port, resolve_fn *done, void *user)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    char text[8];

    (void) snprintf(text, sizeof(text), "%d", port);
    if (getaddrinfo(host, text, &hints, &found) == 0) {
        done(found, "", user);
        return;
    }
    resolve_begin(loop, host, text, done, user);
}
