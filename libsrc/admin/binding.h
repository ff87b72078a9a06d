/* binding.h - what a topic is bound to, and the tokens of its slots.
 *
 * Thread: any but smq:io. */
#ifndef ADMIN_BINDING_H
#define ADMIN_BINDING_H

#include "admin/admin.h"

struct binding {
    struct topic topic;
    char bound[COORD_BINDING_MAX]; /* as coord_binding() gives it; "": nothing */
    struct token token;            /* the largest; all zero: no slot has one */
    int32_t slot;                  /* ... that has it, or SMQ_NONE */
    uint32_t bound_at;             /* the largest generation since which a slot knows `bound` */
    int32_t leased;                /* slots with a leased claim */
    int64_t leased_ms;             /* time until the last of these leases ends */
};

/* What the topic is bound to; no token is read yet.  Blocks: request_timeout_ms per round trip.
 * Fails: as fanout_definition(). */
smq_status binding_read(struct binding *out, struct core *core, const char *topic, smq_error *err);

/* The tokens of its topic, and leased claims; all of it but `topic` and `bound` is zero before.
 * Every slot must answer. */
smq_status binding_read_tokens(struct binding *binding, struct core *core, smq_error *err);

#endif
