/* fanout.h - many calls to Redis at once for one blocking caller: one for each slot of a topic, or
 * a single call.
 *
 * Thread: any but smq:io; the callbacks `send` and `done` run on smq:io. */
#ifndef ADMIN_FANOUT_H
#define ADMIN_FANOUT_H

#include "core/core.h"
#include "store/store.h"

/* What follows a reply. */
enum fanout_next {
    FANOUT_DONE,  /* this call is complete */
    FANOUT_AGAIN, /* send it again: there is more to do */
    FANOUT_STOP   /* the whole has failed: send no other call */
};

/* Send call number `index`. */
typedef void fanout_send_fn(struct store_call *call, int32_t index, void *user);

/* Is there no need to send call number `index`?  Runs on smq:io just before the call would be sent;
 * `done` does not run then. */
typedef bool fanout_skip_fn(int32_t index, void *user);

/* What follows a reply that was lost: the call is repeated a few times, or `done` is called. */
enum fanout_lost { FANOUT_REPEAT, FANOUT_TELL };

/* Handle the result of call number `index`; fill `err` before returning FANOUT_STOP. */
typedef enum fanout_next fanout_done_fn(const struct store_result *result, int32_t index,
                                        void *user, smq_error *err);

/* Make `count` calls, numbered from 0, up to 256 at once.  A call whose reply was lost is repeated.
 * Blocks: the request time-out of each round trip.  Fails: as `done` says. */
smq_status fanout_many(struct core *core, int32_t count, fanout_send_fn *send, fanout_done_fn *done,
                       void *user, smq_error *err);

/* The same without the calls that `skip` says. */
smq_status fanout_some(struct core *core, int32_t count, fanout_skip_fn *skip, fanout_send_fn *send,
                       fanout_done_fn *done, void *user, smq_error *err);

/* The same in two parts, between which the caller can wait for something else.  The first part does
 * not block; each result must be given to the second one. */
struct fanout;
struct fanout *fanout_begin(struct core *core, int32_t count, fanout_send_fn *send,
                            fanout_done_fn *done, void *user, enum fanout_lost lost);
smq_status fanout_end(struct fanout *fanout, smq_error *err);

/* As fanout_many(), for a single call. */
typedef void fanout_one_send_fn(struct store_call *call, void *user);
typedef enum fanout_next fanout_one_done_fn(const struct store_result *result, void *user,
                                            smq_error *err);
smq_status fanout_one(struct core *core, fanout_one_send_fn *send, fanout_one_done_fn *done,
                      void *user, smq_error *err);

/* Read a definition from Redis.  Blocks: request_timeout_ms.  Fails: NO_TOPIC, DAMAGED (topic{T} is
 * lost; *out is what a slot knows of it) and others. */
smq_status fanout_definition(struct topic *out, struct core *core, const char *topic,
                             smq_error *err);

/* The same for a name that the caller gave.  Fails: INVALID, and as above. */
smq_status fanout_topic(struct topic *out, struct core *core, const char *topic, smq_error *err);

/* The same for a call that needs the slots of the topic: fails also if it has groups. */
smq_status fanout_holder(struct topic *out, struct core *core, const char *topic, smq_error *err);

/* A definition that is read together with others. */
struct fanout_definition {
    const char *name;
    struct topic topic;    /* set for OK and DAMAGED */
    smq_error err;         /* as fanout_definition() would fill it */
    struct waiter *waiter; /* NULL: it is not being read */
};

/* Read all these definitions at once.  Blocks: request_timeout_ms. */
void fanout_definitions(struct fanout_definition *all, size_t count, struct core *core);

#endif
