/* event.h - reports events to the application; events are also the log.
 *
 * Thread: any may emit; the callback runs on smq:call. */
#ifndef BASE_EVENT_H
#define BASE_EVENT_H

#include <slotmq/client.h>

#include "base/loop.h"

struct events;

/* `call` is the loop of smq:call.  If `fn` is NULL events_emit() does nothing.  At most 10,000
 * events wait; further ones are counted and dropped. */
struct events *events_new(struct loop *call, smq_event_fn *fn, smq_level level, void *user);

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
