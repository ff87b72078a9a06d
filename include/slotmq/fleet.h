/* fleet.h - operations on a fleet that is coordinated through ZooKeeper.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_FLEET_H
#define SLOTMQ_FLEET_H

#include <slotmq/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of smq_fleet_raise_fence(). */
typedef struct smq_fence {
    size_t struct_size;
    uint32_t generation; /* new tokens have this generation */
    uint64_t topics;     /* topics that are bound to the root */
    uint64_t rebound;    /* those of them that were bound to it under another identity */
} smq_fence;
#define SMQ_FENCE_INIT SMQ_INIT(smq_fence)
#define SMQ_FENCE(...) SMQ_WITH(smq_fence, __VA_ARGS__)

/* Make the tokens of the fleet larger than all tokens in Redis, after ZooKeeper lost its data or
 * was restored from an older copy.  The call works on the root in the client's `zookeeper`:
 *
 *  - It creates the root if it is missing.
 *  - It raises the fence generation of the root above the tokens of all slots of all topics that
 * are bound to the root.
 *  - It binds topics that are bound to the root under another identity to its present identity.
 *
 * Living members continue under the new generation by themselves; any earlier owner is fenced.  If
 * the call was interrupted, repeating it completes it.  `out` may be NULL.
 * Blocks: request_timeout_ms per round trip, and up to 13 s for ZooKeeper.
 * Fails: INVALID (the client has no zookeeper), UNAVAILABLE, DENIED, OTHER_FLEET (the root belongs
 * to another program). */
SMQ_API smq_status smq_fleet_raise_fence(smq_client *client, smq_fence *out, smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_FLEET_H */
