/* redirect.h - what a reply means for its command: the one place where error texts are read.
 *
 * Pure. */
#ifndef REDIS_REDIRECT_H
#define REDIS_REDIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "redis/servers.h"

enum step_kind {
    STEP_DONE,    /* executed */
    STEP_MOVED,   /* not executed: another node owns the hash slot */
    STEP_ASK,     /* not executed: ask another node, this once */
    STEP_LOAD,    /* not executed: the node does not know the script */
    STEP_WAIT,    /* not executed: repeat after a pause */
    STEP_REFUSED, /* not executed: the caller decides */
    STEP_PARTLY   /* a script raised an error: perhaps partly executed */
};

struct step {
    enum step_kind kind;
    smq_status status;        /* REFUSED: FULL, DENIED, UNAVAILABLE, INTERNAL; PARTLY: INTERNAL */
    bool refresh;             /* the slot map is out of date */
    struct server_address to; /* MOVED, ASK; an empty host means that of the node that answered */
};

struct step redirect_next(const redisReply *reply);

#endif
