/* event.h - reports events to the application; events are also the log.
 *
 * Thread: any may emit; the callback runs on smq:call, polls on threads of the application. */
#ifndef BASE_EVENT_H
#define BASE_EVENT_H

#include <slotmq/client.h>

#include "base/loop.h"

struct events;

/* `call` is the loop of smq:call.  If `fn` is NULL, and events are not kept for polls,
 * events_emit() does nothing.  At most 10,000 events wait.  A further event drops the oldest one,
 * and the next event that the application gets is a log event with the number of dropped events. */
struct events *events_new(struct loop *call, smq_event_fn *fn, smq_level level, void *user);

/* Keep events until they are polled, in the place of a callback.  Call it before the first event.
 * Fails: NO_MEMORY (no descriptor). */
smq_status events_keep(struct events *events, smq_error *err);

/* As smq_client_poll_events(); the events before are freed.  Returns how many there are. */
size_t events_poll(struct events *events, const smq_event **out, size_t capacity,
                   int64_t timeout_ms);

/* The descriptor of the polls; -1: events are not polled. */
int events_fd(const struct events *events);

/* Call it only after the loop has ended. */
void events_free(struct events *events);

/* How many events were dropped so far. */
uint64_t events_dropped(struct events *events);

/* Would an event of this kind be reported?  For callers whose text is costly. */
bool events_wanted(const struct events *events, smq_event_kind kind);

/* Report an event.  Of `event` all but struct_size, kind, level, id and text is copied; NULL: all
 * of that is absent. */
void events_emit(struct events *events, smq_event_kind kind, const smq_event *event,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Report an SMQ_EVENT_LOG with this level. */
void events_log(struct events *events, smq_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
