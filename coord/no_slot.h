/* no_slot.h - why this process owns no slot of a topic that it consumes.
 *
 * Below: coord.h.  Pure. */
#ifndef COORD_NO_SLOT_H
#define COORD_NO_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/coord.h"

/* What this process knows.  Each line counts only if none before it holds. */
struct no_slot_facts {
    bool silent;   /* ZooKeeper is not connected, or has not answered for a while */
    bool named;    /* the node of another session has the name of this member */
    bool outside;  /* it has not entered the fleet yet */
    bool unusable; /* the nodes of the topic cannot be read or made, or belong to another fleet */
    bool unreachable; /* no Redis node answers this process */
    bool refused;     /* Redis has refused the token of a slot that is granted */
    int32_t granted;
    bool fresh;     /* some of them were granted a moment ago: Redis may still answer */
    int32_t former; /* slots that an earlier member with the name of this one owns */
    int32_t others; /* slots that other members own, those of `former` too */
    int32_t slots;
    bool granting; /* the assigner granted slots a moment ago, or is this member and at work */
};

enum coord_no_slot no_slot_reason(const struct no_slot_facts *facts);

#endif
