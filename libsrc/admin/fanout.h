/* fanout.h - many store calls at once for one blocking caller: the slots of a topic, or a single
 * call.
 *
 * Thread: calls_run() any but smq:io; the functions of the job run on smq:io. */
#ifndef ADMIN_FANOUT_H
#define ADMIN_FANOUT_H

#include "core/core.h"
#include "store/store.h"

/* What follows an answer. */
enum calls_next {
    CALLS_DONE,  /* this one is complete */
    CALLS_AGAIN, /* send it again: there is more to do */
    CALLS_STOP   /* the job has failed: begin no other */
};

/* `count` calls, numbered from 0. */
struct calls_job {
    int32_t count;
    void *user;

    /* Send call number `index`. */
    void (*send)(struct store_call *call, int32_t index, void *user);

    /* Take its result; fill `err` when the answer is CALLS_STOP.  A lost reply was repeated a few
     * times before it is passed on. */
    enum calls_next (*done)(const struct store_result *result, int32_t index, void *user,
                            smq_error *err);
};

/* Run a job, up to 256 calls at once.  Blocks: the request time-out of each round trip.
 * Fails: as `done` says. */
smq_status calls_run(struct core *core, const struct calls_job *job, smq_error *err);

/* Read a definition, past what is known.  Blocks: request_timeout_ms.  Fails: NO_TOPIC, DAMAGED
 * (topic{T} is lost; `*out` is what a slot knows), ... */
smq_status calls_definition(struct topic *out, struct core *core, const char *topic,
                            smq_error *err);

/* A definition that is read together with others. */
struct calls_definition {
    const char *name;
    struct topic topic; /* set for OK and DAMAGED */
    smq_error err;      /* what calls_definition() says of it */
    struct waiter *waiter;
};

/* Read the definitions of all that are named, at once.  Blocks: request_timeout_ms. */
void calls_definitions(struct calls_definition *all, size_t count, struct core *core);

#endif
