/* event.c - reports events to the application.
 *
 * Events wait in one queue, from which smq:call takes them for the callback, or a poll.
 *
 * Thread: any may emit; the callback runs on smq:call, polls on threads of the application. */
#include "base/event.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/ready.h"
#include "base/thread.h"

enum { EVENTS_WAITING_MAX = 10000, EVENT_TEXT_MAX = 1024 };

/* A waiting event; its strings are copies in `strings`. */
struct events_item {
    STAILQ_ENTRY(events_item) link;
    smq_event event;
    char strings[];
};

STAILQ_HEAD(events_items, events_item);

/* Invariant: `waiting.count` is the length of `waiting.items`. */
struct events {
    /* immutable after events_new() and events_keep() */
    struct loop *call;
    smq_event_fn *fn; /* NULL: there is no callback */
    smq_level level;
    void *user;
    bool polled;

    /* the thread that polls */
    struct events_items taken; /* by the last poll */

    /* guarded by waiting.lock */
    struct loop_task task; /* it runs on smq:call */
    struct {
        pthread_mutex_t lock;
        pthread_cond_t some; /* on CLOCK_MONOTONIC */
        struct ready ready;  /* something waits for a poll */
        struct events_items items;
        size_t count;
        uint64_t dropped; /* in front of `items`, not reported yet */
        uint64_t dropped_total;
    } waiting;
};

static smq_level events_level(smq_level level)
{
    return level == SMQ_LEVEL_DEFAULT ? SMQ_LEVEL_INFO : level;
}

/* Indexed by the kind; some values are unused. */
static const struct events_kind {
    const char *id;
    smq_level level;
} events_kinds[] = {
#define SMQ_X(name, value, level, id) [value] = {id, SMQ_LEVEL_##level},
    SMQ_EVENT_MAP(SMQ_X)
#undef SMQ_X
};

/* Copy `string` to *at, and advance *at behind it. */
static const char *events_copy_string(char **at, const char *string)
{
    char *copy = *at;
    size_t size = 0;

    if (string == NULL) {
        return NULL;
    }
    size = strlen(string) + 1;
    memcpy(copy, string, size);
    *at += size;
    return copy;
}

static size_t events_string_size(const char *string)
{
    return string == NULL ? 0 : strlen(string) + 1;
}

static struct events_item *events_item_new(const smq_event *event)
{
    size_t size = events_string_size(event->text) + events_string_size(event->topic) +
                  events_string_size(event->token) + events_string_size(event->message_id) +
                  events_string_size(event->reason);
    struct events_item *item = memory_new(sizeof(*item) + size);
    char *at = item->strings;

    item->event = *event;
    item->event.text = events_copy_string(&at, event->text);
    item->event.topic = events_copy_string(&at, event->topic);
    item->event.token = events_copy_string(&at, event->token);
    item->event.message_id = events_copy_string(&at, event->message_id);
    item->event.reason = events_copy_string(&at, event->reason);
    return item;
}

/* `text` is borrowed. */
static smq_event events_log_event(smq_level level, const char *text)
{
    return (smq_event){.struct_size = sizeof(smq_event),
                       .kind = SMQ_EVENT_LOG,
                       .level = events_level(level),
                       .id = events_kinds[SMQ_EVENT_LOG].id,
                       .text = text,
                       .slot = -1};
}

/* Remove the oldest, which exists.  The lock is held. */
static struct events_item *events_unlink(struct events *events)
{
    struct events_item *item = STAILQ_FIRST(&events->waiting.items);

    STAILQ_REMOVE_HEAD(&events->waiting.items, link);
    events->waiting.count--;
    return item;
}

static void events_add(struct events *events, const smq_event *event)
{
    struct events_item *item = events_item_new(event), *oldest = NULL;

    pthread_mutex_lock(&events->waiting.lock);
    if (events->waiting.count == EVENTS_WAITING_MAX) {
        oldest = events_unlink(events);
        events->waiting.dropped++;
        events->waiting.dropped_total++;
    }
    STAILQ_INSERT_TAIL(&events->waiting.items, item, link);
    events->waiting.count++;
    if (events->polled) {
        pthread_cond_signal(&events->waiting.some);
        ready_set(&events->waiting.ready, true);
    }
    pthread_mutex_unlock(&events->waiting.lock);
    free(oldest);
    if (!events->polled) {
        loop_post(events->call, &events->task);
    }
}

/* The log event that tells the application how many events were dropped. */
static struct events_item *events_dropped_item(uint64_t dropped)
{
    char text[EVENT_TEXT_MAX];
    smq_event event;

    snprintf(text, sizeof(text), "%" PRIu64 " events were dropped: they are not taken fast enough",
             dropped);
    event = events_log_event(SMQ_LEVEL_WARN, text);
    return events_item_new(&event);
}

/* The next one for the application; NULL: there is none.  The lock is held. */
static struct events_item *events_take(struct events *events)
{
    uint64_t dropped = events->waiting.dropped;

    if (dropped > 0) {
        events->waiting.dropped = 0;
        return events_dropped_item(dropped);
    }
    return events->waiting.count > 0 ? events_unlink(events) : NULL;
}

static void events_free_items(struct events_items *items)
{
    struct events_item *item;

    while ((item = STAILQ_FIRST(items)) != NULL) {
        STAILQ_REMOVE_HEAD(items, link);
        free(item);
    }
}

/* Report the events that wait now.  Events that come in the meantime post the task again, so that
 * other callbacks get their turn. */
static void events_run(struct loop_task *task)
{
    struct events *events = OWNER_OF(task, struct events, task);
    size_t count;

    pthread_mutex_lock(&events->waiting.lock);
    count = events->waiting.count + (events->waiting.dropped > 0 ? 1 : 0);
    for (; count > 0; count--) {
        struct events_item *item = events_take(events);

        pthread_mutex_unlock(&events->waiting.lock);
        events->fn(&item->event, events->user);
        free(item);
        pthread_mutex_lock(&events->waiting.lock);
    }
    pthread_mutex_unlock(&events->waiting.lock);
}

/* --- polls --- */

smq_status events_keep(struct events *events, smq_error *err)
{
    events->polled = true;
    return ready_open(&events->waiting.ready, err);
}

/* The lock is held.  Wait until there is something to take. */
static void events_wait(struct events *events, int64_t timeout_ms)
{
    struct timespec deadline = clock_deadline(timeout_ms);
    bool again = timeout_ms != 0;

    while (again && events->waiting.count == 0) {
        again =
            (timeout_ms < 0 ? pthread_cond_wait(&events->waiting.some, &events->waiting.lock)
                            : pthread_cond_timedwait(&events->waiting.some, &events->waiting.lock,
                                                     &deadline)) != ETIMEDOUT;
    }
}

size_t events_poll(struct events *events, const smq_event **out, size_t capacity,
                   int64_t timeout_ms)
{
    struct events_item *item;
    size_t count = 0;

    events_free_items(&events->taken);
    pthread_mutex_lock(&events->waiting.lock);
    events_wait(events, timeout_ms);
    while (count < capacity && (item = events_take(events)) != NULL) {
        STAILQ_INSERT_TAIL(&events->taken, item, link);
        out[count++] = &item->event;
    }
    ready_set(&events->waiting.ready, events->waiting.count > 0);
    pthread_mutex_unlock(&events->waiting.lock);
    return count;
}

int events_fd(const struct events *events)
{
    return events->polled ? events->waiting.ready.fd : -1;
}

/* --- names --- */

const char *smq_level_name(smq_level level)
{
    static const char *const names[] = {"default", "error", "warn", "info", "debug", "trace"};

    return (unsigned) level < sizeof(names) / sizeof(names[0]) ? names[level] : "unknown";
}

/* --- life --- */

struct events *events_new(struct loop *call, smq_event_fn *fn, smq_level level, void *user)
{
    struct events *events = memory_new(sizeof(*events));

    events->call = call;
    events->fn = fn;
    events->level = events_level(level);
    events->user = user;
    events->task.run = events_run;
    pthread_mutex_init(&events->waiting.lock, NULL);
    thread_cond_init(&events->waiting.some);
    events->waiting.ready = READY_NONE;
    STAILQ_INIT(&events->waiting.items);
    STAILQ_INIT(&events->taken);
    return events;
}

void events_free(struct events *events)
{
    if (events == NULL) {
        return;
    }
    events_free_items(&events->waiting.items);
    events_free_items(&events->taken);
    ready_close(&events->waiting.ready);
    pthread_cond_destroy(&events->waiting.some);
    pthread_mutex_destroy(&events->waiting.lock);
    free(events);
}

uint64_t events_dropped(struct events *events)
{
    uint64_t dropped;

    pthread_mutex_lock(&events->waiting.lock);
    dropped = events->waiting.dropped_total;
    pthread_mutex_unlock(&events->waiting.lock);
    return dropped;
}

static bool events_passes(const struct events *events, smq_level level)
{
    return events != NULL && (events->fn != NULL || events->polled) && level <= events->level;
}

bool events_wanted(const struct events *events, smq_event_kind kind)
{
    return events_passes(events, events_kinds[kind].level);
}

void events_emit(struct events *events, smq_event_kind kind, const smq_event *event,
                 const char *format, ...)
{
    char text[EVENT_TEXT_MAX];
    smq_event copy = {.slot = -1};
    va_list args;

    if (!events_wanted(events, kind)) {
        return;
    }
    va_start(args, format);
    line_format(text, sizeof(text), format, args);
    va_end(args);
    if (event != NULL) {
        copy = *event;
    }
    copy.struct_size = sizeof(copy);
    copy.kind = kind;
    copy.level = events_kinds[kind].level;
    copy.id = events_kinds[kind].id;
    copy.text = text;
    events_add(events, &copy);
}

void events_log(struct events *events, smq_level level, const char *format, ...)
{
    char text[EVENT_TEXT_MAX];
    smq_event event = events_log_event(level, text);
    va_list args;

    if (!events_passes(events, event.level)) {
        return;
    }
    va_start(args, format);
    line_format(text, sizeof(text), format, args);
    va_end(args);
    events_add(events, &event);
}
