/* model_claim.h - a claim of the model in progress.
 *
 * Thread: main. */
#ifndef TESTS_LUA_MODEL_CLAIM_H
#define TESTS_LUA_MODEL_CLAIM_H

#include "model_slot.h"

/* NONE: nothing was claimed.  END: nothing else may be.  FULL: the call has no room for more.
 * SUSPECT: what is in flight must end before. */
enum stop { STOP_NONE, STOP_END, STOP_FULL, STOP_SUSPECT };

/* A claim in progress. */
struct claim {
    struct model *model;
    const struct call *call;
    struct buf *delivered;
    int taken;
    int met; /* with those that had expired */
    int expired;
    size_t bytes;
    enum stop stopped; /* why it passes over no more */
    unsigned formers;  /* keys that the former owner keeps, as bits */
    /* kind f: of each key the place of the first message that holds it, the place up to which the
     * claim has come, and does one that rested hold its key no more? */
    int64_t bars[MODEL_MEMBERS], reached;
    bool frees;
};

/* Does the reply have room for the message?  What is dropped takes none. */
bool claim_fits(struct claim *claim, const struct model_message *message);

/* What was taken out of its list is claimed, unless it has expired. */
void claim_take(struct claim *claim, struct model_message message);

/* May the next call pass over a suspect, and claim what is behind it? */
bool claim_may_pass(const struct claim *claim);

/* Kind f by key: claim what no message of its key holds. */
void claim_by_key(struct claim *claim);

/* Kind f by key: when something may be claimed; INT64_MAX: when what is in flight has ended. */
int64_t claim_due_by_key(struct claim *claim, const struct in_flight *in_flight);

#endif
