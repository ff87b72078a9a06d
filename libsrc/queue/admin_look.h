/* admin_look.h - the slots of a topic looked at, many at once.
 *
 * Thread: the caller's. */
#ifndef QUEUE_ADMIN_LOOK_H
#define QUEUE_ADMIN_LOOK_H

#include "queue/calls.h"
#include "store/store.h"

/* A run of slots of one topic that is looked at. */
struct looking {
    struct hub *hub;
    struct topic topic;
    int32_t first; /* slot number of looks[0] */
    int32_t count;
    struct store_look *looks;
};

/* Read the definition.  Fails: INVALID (the name), NO_TOPIC, ... */
smq_status looking_begin(struct looking *looking, struct hub *hub, const char *topic,
                         smq_error *err);
void looking_end(struct looking *looking);

/* Look at the run of slots that begins with `first` and does not reach `end`. */
smq_status looking_run(struct looking *looking, int32_t first, int32_t end, smq_error *err);

/* Look at the slots from `first` to before `end`, and call `each` for every one on the caller's
 * thread; it may set *more to false, which ends it. */
typedef smq_status looking_fn(const struct looking *looking, int32_t index, bool *more, void *user,
                              smq_error *err);
smq_status looking_visit(struct looking *looking, int32_t first, int32_t end, looking_fn *each,
                         void *user, smq_error *err);

#endif
