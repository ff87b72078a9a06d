/* extension.c - a longer lease for one delivery.
 *
 * Thread: as each function of extension.h says. */
#include "consume/run/extension.h"

#include "base/status.h"

void extensions_init(struct extensions *extensions, struct loop *io, struct loop_task *task)
{
    pthread_mutex_init(&extensions->lock, NULL);
    STAILQ_INIT(&extensions->list);
    extensions->closed = false;
    extensions->io = io;
    extensions->task = task;
}

void extensions_fini(struct extensions *extensions)
{
    pthread_mutex_destroy(&extensions->lock);
}

/* The loop exists until extensions_close(). */
static bool extension_post(struct extensions *extensions, struct extension *extension)
{
    bool open;

    pthread_mutex_lock(&extensions->lock);
    open = !extensions->closed;
    if (open) {
        STAILQ_INSERT_TAIL(&extensions->list, extension, link);
        loop_post(extensions->io, extensions->task);
    }
    pthread_mutex_unlock(&extensions->lock);
    return open;
}

smq_status extension_ask(struct extensions *extensions, smq_delivery *delivery, int64_t lease_ms,
                         smq_error *err)
{
    struct extension extension = {.delivery = delivery, .lease_ms = lease_ms};

    waiter_init(&extension.waiter, 1);
    if (extension_post(extensions, &extension)) {
        (void) waiter_wait(&extension.waiter, SMQ_FOREVER);
    } else {
        (void) status_set(&extension.result, SMQ_CLOSED,
                          "the consumer of the topic has ended; the message is delivered again");
    }
    waiter_fini(&extension.waiter);
    return extension.result.status == SMQ_OK ? SMQ_OK : status_copy(err, &extension.result);
}

void extensions_take(struct extensions *extensions, struct extension_list *out)
{
    pthread_mutex_lock(&extensions->lock);
    STAILQ_CONCAT(out, &extensions->list);
    pthread_mutex_unlock(&extensions->lock);
}

void extensions_close(struct extensions *extensions)
{
    struct extension_list left = STAILQ_HEAD_INITIALIZER(left);
    struct extension *extension;

    pthread_mutex_lock(&extensions->lock);
    extensions->closed = true;
    STAILQ_CONCAT(&left, &extensions->list);
    pthread_mutex_unlock(&extensions->lock);
    while ((extension = STAILQ_FIRST(&left)) != NULL) {
        STAILQ_REMOVE_HEAD(&left, link);
        extension_end(extension, SMQ_CLOSED, "the consumer of the topic has ended");
    }
}

void extension_end(struct extension *extension, smq_status status, const char *text)
{
    (void) status_set(&extension->result, status, "%s", text);
    waiter_done(&extension->waiter);
}
