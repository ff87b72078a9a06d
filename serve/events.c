/* events.c - server-sent events: what has changed, for all who listen.
 *
 * Thread: events_read() and events_gone() run on that of the port; the rest on any. */
#include "serve/events.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "cli/text/output.h"
#include "cli/text/say.h"

enum { EVENTS_KEPT = 64, EVENTS_LISTENERS_MAX = 500 };

struct events_listener {
    LIST_ENTRY(events_listener) entry;
    struct events *events;
    struct port_stream *stream; /* NULL: nothing was read yet */
    uint64_t next;              /* the number of the event that it gets next */
    size_t offset;              /* bytes of it that were read */
    bool greeted;
    bool waiting;
};

struct events {
    pthread_mutex_t lock;
    /* guarded by lock */
    char *kept[EVENTS_KEPT]; /* owned: event N is in place N modulo their number */
    uint64_t count;          /* number of the newest event; 0: none */
    LIST_HEAD(, events_listener) listeners;
    size_t listener_count;
    bool ending;
};

/* What a stream begins with: when to connect again, and a comment so that it is seen to have begun.
 */
static const char events_greeting[] = "retry: 3000\n\n: events begin\n\n";

struct events *events_new(void)
{
    struct events *events = say_alloc(1, sizeof(*events));

    pthread_mutex_init(&events->lock, NULL);
    LIST_INIT(&events->listeners);
    return events;
}

/* Wakes all that wait.  Call it with the lock. */
static void events_wake(struct events *events)
{
    struct events_listener *listener = NULL;

    LIST_FOREACH(listener, &events->listeners, entry)
    {
        if (listener->waiting) {
            listener->waiting = false;
            port_stream_wake(listener->stream);
        }
    }
}

void events_publish(struct events *events, const char *name, json_t *document)
{
    size_t size = 0;
    char *data = output_json_text(&size, document);
    const size_t room = size + strlen(name) + 64;
    char *event = say_alloc(room, 1);

    pthread_mutex_lock(&events->lock);
    events->count++;
    snprintf(event, room, "id: %" PRIu64 "\nevent: %s\ndata: %.*s\n\n", events->count, name,
             (int) size, data);
    free(events->kept[events->count % EVENTS_KEPT]);
    events->kept[events->count % EVENTS_KEPT] = event;
    events_wake(events);
    pthread_mutex_unlock(&events->lock);
    free(data);
}

static size_t events_copy(struct events_listener *listener, char *out, size_t size,
                          const char *text)
{
    const size_t left = strlen(text) - listener->offset;
    const size_t part = left < size ? left : size;

    memcpy(out, text + listener->offset, part);
    listener->offset = part < left ? listener->offset + part : 0;
    return part;
}

/* The number of the event that a listener gets next: one that is not kept any more is left out. */
static uint64_t events_next(const struct events *events, uint64_t wanted)
{
    const uint64_t oldest = events->count > EVENTS_KEPT ? events->count - EVENTS_KEPT + 1 : 1;

    return wanted < oldest ? oldest : wanted;
}

static ssize_t events_read(struct port_stream *stream, char *out, size_t size, void *user)
{
    struct events_listener *listener = user;
    struct events *events = listener->events;
    ssize_t got = 0;

    pthread_mutex_lock(&events->lock);
    listener->stream = stream;
    if (listener->offset == 0) {
        listener->next = events_next(events, listener->next);
    }
    if (!listener->greeted) {
        got = (ssize_t) events_copy(listener, out, size, events_greeting);
        listener->greeted = listener->offset == 0;
    } else if (listener->next <= events->count &&
               events_next(events, listener->next) == listener->next) {
        got =
            (ssize_t) events_copy(listener, out, size, events->kept[listener->next % EVENTS_KEPT]);
        listener->next += listener->offset == 0 ? 1 : 0;
    } else if (events->ending || listener->next <= events->count) {
        got = -1; /* or it was too slow, and has a part of an event that is gone */
    } else {
        listener->waiting = true;
        port_stream_wait(stream);
    }
    pthread_mutex_unlock(&events->lock);
    return got;
}

static void events_gone(struct port_stream *stream, void *user)
{
    struct events_listener *listener = user;
    struct events *events = listener->events;

    (void) stream;
    pthread_mutex_lock(&events->lock);
    LIST_REMOVE(listener, entry);
    events->listener_count--;
    pthread_mutex_unlock(&events->lock);
    free(listener);
}

/* false: there are too many already, or it ends. */
static bool events_add(struct events *events, struct events_listener *listener, const char *last)
{
    pthread_mutex_lock(&events->lock);
    const bool taken = !events->ending && events->listener_count < EVENTS_LISTENERS_MAX;
    if (taken) {
        const uint64_t seen = last ? strtoull(last, NULL, 10) : events->count;
        listener->next = (seen < events->count ? seen : events->count) + 1;
        LIST_INSERT_HEAD(&events->listeners, listener, entry);
        events->listener_count++;
    }
    pthread_mutex_unlock(&events->lock);
    return taken;
}

void events_listen(struct events *events, struct port_request *request)
{
    struct events_listener *listener = say_alloc(1, sizeof(*listener));

    listener->events = events;
    if (!events_add(events, listener, port_request_header(request, "Last-Event-ID"))) {
        free(listener);
        port_answer(request, answer_problem(503, SMQ_FULL, "%d listen already, or this server ends",
                                            EVENTS_LISTENERS_MAX));
        return;
    }
    port_stream(request, &(struct port_source){events_read, events_gone, listener});
}

void events_end(struct events *events)
{
    pthread_mutex_lock(&events->lock);
    events->ending = true;
    events_wake(events);
    pthread_mutex_unlock(&events->lock);
}

void events_free(struct events *events)
{
    for (size_t i = 0; i < EVENTS_KEPT; i++) {
        free(events->kept[i]);
    }
    pthread_mutex_destroy(&events->lock);
    free(events);
}
