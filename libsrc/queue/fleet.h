/* fleet.h - the workers of one client and their slots: joins coordination when the first worker of
 * an exclusive topic starts, and passes grants on to the workers' strands.
 *
 * Thread: as each function says. */
#ifndef QUEUE_FLEET_H
#define QUEUE_FLEET_H

#include <stddef.h>
#include <stdint.h>

#include <slotmq/worker.h>

#include "coord/coord.h"
#include "model/token.h"

struct fleet;
struct hub;
struct membership;

struct fleet *fleet_new(struct hub *hub);

/* Leave coordination and free; no worker exists any more.  Blocks: 5 s.  Thread: none of the hub's.
 */
void fleet_free(struct fleet *fleet);

/* What topics are bound to: "standalone", "zookeeper:/root IDENTITY"; "" when fleet_open() did not
 * succeed.  Thread: any. */
enum { FLEET_KIND_MAX = COORD_BINDING_MAX };
void fleet_kind(char out[FLEET_KIND_MAX], struct fleet *fleet);

/* Join coordination, unless that was done.  Blocks: session_timeout_ms.
 * Fails: UNAVAILABLE, DENIED, INVALID.  Thread: any but the hub's. */
smq_status fleet_open(struct fleet *fleet, smq_error *err);

/* --- smq:io --- */

/* Take note of a worker; false: its topic has one already. */
bool fleet_add(struct fleet *fleet, smq_worker *worker);
void fleet_remove(struct fleet *fleet, smq_worker *worker);

/* Begin to consume the worker's topic; grants follow.  fleet_leave(): worker_left() follows. */
void fleet_join(struct fleet *fleet, smq_worker *worker);
void fleet_leave(struct fleet *fleet, smq_worker *worker);

/* The generation of a topic that was joined is larger now: refused grants come again under it. */
void fleet_raise(struct fleet *fleet, const smq_worker *worker);

/* The owner's answers to coordination. */
void fleet_acquired(struct fleet *fleet, const char *topic, int32_t slot, struct token token);
void fleet_refused(struct fleet *fleet, const char *topic, int32_t slot, struct token token);
void fleet_released(struct fleet *fleet, const char *topic, int32_t slot, struct token token);

/* May slots be claimed now?  Not when on_zk_loss is STOP and the lease of this member is over. */
bool fleet_may_claim(const struct fleet *fleet);

/* What handlers ask before they begin; the fleet's reference. */
struct membership *fleet_membership(const struct fleet *fleet);

/* A slot of ours has a newer owner: the others may have, too. */
void fleet_doubt(const struct fleet *fleet);

#endif
