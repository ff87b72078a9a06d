/* health.h - the health of this process, for probes and status pages.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_HEALTH_H
#define SLOTMQ_HEALTH_H

#include <slotmq/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The session of this process with ZooKeeper, or with the tree of its fleet in Redis. */
typedef enum smq_session {
    SMQ_SESSION_NONE, /* there is none: the client has consumed no exclusive topic yet */
    SMQ_SESSION_LIVE, /* the fleet has confirmed it, and it has not expired since */
    SMQ_SESSION_LOST  /* it has not begun or may have expired: others may own the slots */
} smq_session;

#define SMQ_HEALTH_TEXT_SIZE 512 /* bytes, with the NUL at the end */

/* What a client knows of itself; reading it asks no server. */
typedef struct smq_health {
    size_t struct_size;
    /* SMQ_OK: nothing is wrong.  Else what `wrong` is about: a consumer that has ended
     * because of an error (its status), UNAVAILABLE (Redis, one of its nodes, which may also refuse
     * writes, or ZooKeeper), DAMAGED (slots or a topic), DENIED (the user of Redis lacks a right),
     * or the status of calls that fail for a slot again and again. */
    smq_status status;
    char wrong[SMQ_HEALTH_TEXT_SIZE]; /* the worst of it in one line; "" if nothing is wrong */
    int32_t redis_nodes;              /* masters that the client knows; a single server is one */
    int32_t redis_nodes_failed;       /* those of them to which no command can be written now */
    smq_session session;
    int32_t consumers;       /* consumers that run */
    int32_t slots_wanted;    /* slots granted to them; of shared topics all slots */
    int32_t slots_owned;     /* slots that they have taken over, also damaged ones */
    int32_t slots_paused;    /* owned slots whose topic is paused; this is not wrong */
    int32_t slots_damaged;   /* slots of which Redis has lost a part */
    int64_t oldest_claim_ms; /* since when the oldest message in flight is claimed, in
                                milliseconds ago; SMQ_NONE: no message is in flight */
    int32_t slots_waiting; /* owned slots that have messages due and do not claim them now, because
                              of a limit or of messages without an answer; this is not wrong */
    char waiting[SMQ_HEALTH_TEXT_SIZE]; /* why the first of these does not; "" if there is none */
    int32_t consumers_slotless;         /* consumers that run and own no slot */
    int32_t consumers_standby; /* those of them that have none because others own all; they begin
                                  with the first slot that they are granted.  It is known after
                                  5 s */
    char slotless[SMQ_HEALTH_TEXT_SIZE]; /* why one of them owns none, rather one that does not
                                            stand by; "" if there is none */
} smq_health;
#define SMQ_HEALTH_INIT SMQ_INIT(smq_health)
#define SMQ_HEALTH(...) SMQ_WITH(smq_health, __VA_ARGS__)

/* Read the health of the client and of all handles that were made from it.  A liveness probe fails
 * when this returns SMQ_TIMED_OUT, or a status in which a consumer has ended; a readiness probe
 * fails when out->status is not SMQ_OK, or a consumer owns no slot and does not stand by
 * (consumers_slotless is more than consumers_standby).  Blocks: 1 s, until the thread smq:io
 * answers.  Fails: TIMED_OUT (it does not answer). */
SMQ_API smq_status smq_client_health(smq_client *client, smq_health *out, smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_HEALTH_H */
