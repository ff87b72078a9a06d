/* fleet.h - what an operator does to a fleet that is agreed upon through ZooKeeper.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_FLEET_H
#define SLOTMQ_FLEET_H

#include <slotmq/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What smq_fleet_raise_fence() has done. */
typedef struct smq_fence {
    size_t struct_size;
    uint32_t generation; /* of the tokens from now on                     */
    uint64_t topics;     /* bound to the root                             */
    uint64_t rebound;    /* ... of them: under another identity of it     */
} smq_fence;
#define SMQ_FENCE_INIT SMQ_INIT(smq_fence)
#define SMQ_FENCE(...) SMQ_WITH(smq_fence, __VA_ARGS__)

/* Make the tokens of the fleet larger than all that Redis knows, after ZooKeeper
 * lost its data or an older copy of it was restored.  In the root of the client's
 * `zookeeper`: a root that is missing is made again, its fence generation is raised
 * above the tokens of all slots of the topics that are bound to it, and those that
 * are bound to it under another identity are bound to this one.  Living members
 * continue under the new generation by themselves; whatever owner of the past is
 * left is fenced.  Repeated, it completes one that was cut in the middle.
 * `out` may be NULL.
 * Blocks: request_timeout_ms per round trip, and 13 s for ZooKeeper.
 * Fails: INVALID (no zookeeper), UNAVAILABLE, DENIED, OTHER_FLEET (the root is of
 * another program). */
SMQ_API smq_status smq_fleet_raise_fence(smq_client *client, smq_fence *out, smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_FLEET_H */
