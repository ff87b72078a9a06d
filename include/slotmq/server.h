/* server.h - the Redis servers that a client works with, and what they say of themselves.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_SERVER_H
#define SLOTMQ_SERVER_H

#include <slotmq/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum smq_server_kind { SMQ_SERVER_REDIS = 1, SMQ_SERVER_VALKEY } smq_server_kind;

/* One server.  A number is SMQ_NONE and a text "" if it is not known. */
typedef struct smq_server_info {
    size_t struct_size;
    smq_server_kind kind;
    const char *address; /* "host:port" */
    smq_status status;   /* not SMQ_OK: it did not answer or may not be used, and nothing else is
                            known */
    const char *why;     /* the reason in one line; "" for SMQ_OK */
    const char *version;
    const char *version_why; /* why the version is not known; "" if it is known */
    const char *role;        /* "master", "slave" */
    /* memory of Redis */
    int64_t used_memory; /* bytes */
    int64_t maxmemory;   /* bytes; 0: no limit */
    const char *maxmemory_policy;
    /* what Redis keeps on disk */
    int32_t appendonly;     /* 1: the append-only file is on; 0: it is off */
    bool write_failed;      /* the last write of that file or of a snapshot failed */
    const char *config_why; /* why CONFIG GET was refused; "": appendfsync and save are known */
    const char *appendfsync;
    const char *save; /* when snapshots are made; "": never */
    /* replicas of a Redis master */
    int64_t replicas;       /* number of replicas that are in sync */
    int64_t replicas_known; /* number of replicas that the cluster knows */
    int64_t lag_bytes;      /* how far the slowest replica in sync is behind */
    /* Redis Cluster, as this master sees it */
    bool cluster;              /* the server is in cluster mode */
    const char *cluster_why;   /* why CLUSTER INFO or NODES was refused; "": they were answered */
    const char *cluster_state; /* "ok", "fail" */
    int64_t cluster_slots_ok;  /* number of hash slots that are served, of 16384 */
    int64_t migrations;        /* number of hash slots that are moving from or to this master */
    /* clock of a Redis master; both are 0 if clock_why is not "" */
    const char *clock_why;   /* why TIME was refused */
    int64_t clock_offset_ms; /* time of the server minus time of this machine */
    int64_t clock_error_ms;  /* the offset is accurate to plus or minus this */
} smq_server_info;

/* The visitor runs on the calling thread.  What it is shown is valid until it returns.  If it
 * returns false, the visit ends, and the call returns SMQ_OK. */
typedef bool smq_server_fn(const smq_server_info *server, void *user);

/* Visit each Redis master that the client knows.  All are asked at once: masters that are away cost
 * one time-out together.  Blocks: request_timeout_ms per round trip, of which there are a few.
 * Fails: CLOSED. */
SMQ_API smq_status smq_server_each(smq_client *client, smq_server_fn *visit, void *user,
                                   smq_error *err);

/* A user of Redis who may send to a topic. */
typedef struct smq_sender_info {
    size_t struct_size;
    const char *user;
    const char *topic;
    /* The rights that it lacks and without which its sends wake no consumer, or push nothing:
     * "+spublish", "&wake{orders_*", "+pubsub|shardnumsub", with a blank between two; "": none. */
    const char *missing;
} smq_sender_info;

/* As smq_server_fn. */
typedef bool smq_sender_fn(const smq_sender_info *sender, void *user);

/* Visit the users of Redis who are on and may send to a topic, or to a group of one; of a client
 * whose user may not ask for others (+acl|users) its own user alone.  Redis is asked with ACL
 * GETUSER and ACL DRYRUN.  Blocks: request_timeout_ms per round trip. Fails: DENIED (the user may
 * not ask), UNAVAILABLE, BAD_SERVER (it has no ACL). */
SMQ_API smq_status smq_sender_each(smq_client *client, const char *topic, smq_sender_fn *visit,
                                   void *user, smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_SERVER_H */
