/* slotmap.h - which master serves which hash slot, as CLUSTER SLOTS reports it.
 *
 * Pure. */
#ifndef REDIS_SLOTMAP_H
#define REDIS_SLOTMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "model/fingerprint.h"
#include "redis/servers.h"

enum { SLOTMAP_SLOTS = 16384, SLOTMAP_NODES_MAX = 1000 };

/* Invariants: owner[i] is 0 (none is known), or 1 + an index into `nodes`; `served` counts those
 * that are not 0.  Zero is an empty map. */
struct slotmap {
    struct server_address *nodes;
    size_t count, served;
    struct fingerprint
        fingerprint; /* of the ids of masters and replicas; none for a single server */
    uint16_t owner[SLOTMAP_SLOTS];
};

void slotmap_fini(struct slotmap *map);

/* Read a reply to CLUSTER SLOTS from the server `origin`, whose host replaces hosts that the reply
 * leaves empty.  A map with gaps is accepted only if `out` has gaps, too.  false: it is not
 * accepted, for the reason in `why`, and `out` is unchanged. */
bool slotmap_parse(struct slotmap *out, const redisReply *reply, const char *origin,
                   const char **why);

/* One server, without a cluster, serves all hash slots. */
void slotmap_single(struct slotmap *out, const struct server_address *server);

/* The master of a hash slot; NULL: none is known. */
const struct server_address *slotmap_owner(const struct slotmap *map, int32_t hash_slot);

/* A redirect named `server` as the master of a hash slot. */
void slotmap_set(struct slotmap *map, int32_t hash_slot, const struct server_address *server);

#endif
