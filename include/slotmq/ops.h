/* ops.h - for operators and their tools: fleets, bindings of topics, repairs, servers.
 *
 * slotmq.h does not include this header.  It serves the command slotmq and programs that are
 * upgraded with the library: what it declares may change with each minor version, also after 1.0.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_OPS_H
#define SLOTMQ_OPS_H

#include <slotmq/admin.h>
#include <slotmq/client.h>
#include <slotmq/topic.h>

#ifdef __cplusplus
extern "C" {
#endif

/* === Describing a fleet ================================================= */

/* A visitor runs on the calling thread, during the call.  What it is shown is valid until it
 * returns.  If it returns false, the visit ends, and the call returns SMQ_OK.
 * Times ending in _at_ms come from the clock of the ZooKeeper server that stored them. */

typedef struct smq_fleet_info {
    size_t struct_size;
    const char *root;             /* path in ZooKeeper */
    const char *identity;         /* random identity of the fleet; "": the root is missing */
    uint32_t generation;          /* fence generation of the root; 0: the root is missing */
    const char *assigner;         /* name of the member that shares out slots; "": there is none */
    int64_t assigner_since_at_ms; /* when it became the assigner; 0: there is none */
    int32_t epoch;                /* number of elections so far; SMQ_NONE: not known */
    uint64_t members, topics;     /* how many nodes of each exist */
    uint64_t unreadable;          /* those of them that are damaged or may not be read */
    int64_t zxid;                 /* number of the newest change in ZooKeeper that was seen */
    /* of a fleet in Redis alone, whose `root`, nodes and changes are those of a tree there */
    int64_t reign; /* the number with which the present life of its master began; 0: ZooKeeper */
    int64_t
        grace_ms; /* how long members that Redis may have forgotten are waited for; 0: not now */
    const char *server; /* "host:port" of the master that has the tree; "": ZooKeeper */
} smq_fleet_info;

typedef enum smq_member_state {
    SMQ_MEMBER_ACTIVE = 1,
    SMQ_MEMBER_UNREACHABLE, /* no Redis node answers it; its slots move to members that reach Redis
                             */
    SMQ_MEMBER_LEAVING,     /* it gives up all its topics */
    SMQ_MEMBER_UNREADABLE   /* its node is damaged or may not be read; the member keeps its slots
                               and gets no others */
} smq_member_state;

typedef struct smq_fleet_member {
    size_t struct_size;
    const char *name;
    const char *host; /* "": its node is unreadable */
    int64_t pid;      /* 0: its node is unreadable */
    smq_member_state state;
    const char *why; /* why its node is unreadable; "": it is readable */
    /* changes each time a process joins under this name; 0: its node may not be read, and it has no
     * slots */
    int64_t incarnation;
    int64_t since_at_ms;  /* when it joined; 0: its node may not be read */
    int32_t topics;       /* number of topics that it consumes */
    int64_t weight;       /* sum of its weights over these topics */
    uint64_t slots;       /* number of slots that are granted to it */
    uint64_t giving_up;   /* number of further slots that it is giving up */
    uint64_t standing_by; /* number of its topics of which it has no slot */
} smq_fleet_member;

typedef struct smq_fleet_topic {
    size_t struct_size;
    const char *name; /* that of a group is "topic/group" */
    int32_t slots;    /* 0: its node is unreadable */
    uint64_t unowned; /* number of slots without an owner */
    uint64_t moving;  /* number of slots that their owner is giving up */
    int32_t members;  /* number of members that consume it and are not leaving it */
    int64_t epoch;    /* number of the change in ZooKeeper that assigned slots last; 0: none did */
    int64_t since_at_ms; /* when the owners last changed; 0: they never did */
    const char *why;     /* why its nodes are unreadable; "": they are readable */
} smq_fleet_topic;

/* What one member has of one topic. */
typedef struct smq_fleet_share {
    size_t struct_size;
    const char *topic, *member;
    int32_t weight;
    bool leaving;             /* the member gives the topic up */
    int64_t drain_timeout_ms; /* how long its handlers may still run when it gives up a slot */
    uint64_t slots;           /* number of slots that are granted to it */
    const char *ranges;       /* these slots, as in "0-5,9-9"; "": none */
    const char *stands_by;    /* why it has no slot; "": it has some, or is leaving */
    int32_t
        format; /* the newest format of topics that the member knows; versions before 0.3.0: 4 */
} smq_fleet_share;

/* What a slot waits for while it moves away from its owner. */
typedef enum smq_fleet_wait {
    SMQ_WAIT_ACKNOWLEDGE = 1, /* the owner has not acknowledged that it must give the slot up */
    SMQ_WAIT_DRAIN,           /* the owner still has messages of the slot in flight */
    SMQ_WAIT_ASSIGNER         /* the assigner has not granted the slot to another member */
} smq_fleet_wait;

typedef struct smq_fleet_move {
    size_t struct_size;
    const char *topic, *from; /* the member that gives the slots up */
    smq_fleet_wait wait;
    uint64_t slots;      /* number of slots that wait for the same thing */
    const char *ranges;  /* these slots, as in "0-5,9-9" */
    const char *why;     /* what they wait for, in one line */
    int64_t since_at_ms; /* they have waited at least since this time */
} smq_fleet_move;

/* A function may be NULL.  They are called in this order: the fleet; its members by name; then for
 * each topic by name the topic, its shares by member, and its moves. */
typedef struct smq_fleet_visitor {
    size_t struct_size;
    bool (*fleet)(const smq_fleet_info *fleet, void *user);
    bool (*member)(const smq_fleet_member *member, void *user);
    bool (*topic)(const smq_fleet_topic *topic, void *user);
    bool (*share)(const smq_fleet_share *share, void *user);
    bool (*move)(const smq_fleet_move *move, void *user);
    void *user;
} smq_fleet_visitor;
#define SMQ_FLEET_VISITOR_INIT SMQ_INIT(smq_fleet_visitor)
#define SMQ_FLEET_VISITOR(...) SMQ_WITH(smq_fleet_visitor, __VA_ARGS__)

/* Describe the fleet at the root of the client, as the nodes there say.  No member is
 * asked, so a member that hangs looks like any other until its session ends.  If the root is
 * missing, the fleet has no identity.
 * Blocks: session_timeout_ms, at most 8 s, and 5 s more to close the session.
 * Fails: UNAVAILABLE, DENIED, OTHER_FLEET (the root belongs to another program or version). */
SMQ_API smq_status smq_fleet_describe(smq_client *client, const smq_fleet_visitor *visitor,
                                      smq_error *err);

/* Evict a member that hangs.  Its node is deleted, and the node of the assigner if the member is
 * the assigner.  Its slots are granted to others at once, and its messages in flight are delivered
 * again. If its process lives, it notices this within a sixth of its session time-out, begins no
 * further message, and joins again as another incarnation.  `incarnation` is that of the member to
 * evict; with 0 any incarnation is evicted. Blocks: as smq_fleet_describe(). Fails: INVALID (there
 * is no such member), UNAVAILABLE (the member may have been evicted: describe the fleet to find
 * out), DENIED. */
SMQ_API smq_status smq_fleet_evict(smq_client *client, const char *member, int64_t incarnation,
                                   smq_error *err);

/* === What each number means ============================================= */

typedef enum smq_number_kind {
    SMQ_NUMBER_COUNTER = 1, /* it only grows */
    SMQ_NUMBER_GAUGE,       /* how it is now */
    SMQ_NUMBER_HISTOGRAM    /* an array of SMQ_HISTOGRAM_SIZE counters, not cumulative */
} smq_number_kind;

typedef enum smq_number_unit {
    SMQ_UNIT_MESSAGES = 1, /* also sends and claims of messages */
    SMQ_UNIT_SLOTS,
    SMQ_UNIT_COUNT,  /* of other things */
    SMQ_UNIT_MS,     /* a duration in milliseconds */
    SMQ_UNIT_US,     /* a duration in microseconds */
    SMQ_UNIT_TIME_MS /* a time, in milliseconds since 1970 */
} smq_number_unit;

/* Describes one number of smq_stats or smq_metrics.  Its texts are valid as long as the library is
 * loaded. */
typedef struct smq_number_info {
    size_t struct_size;
    const char *name; /* name of the field */
    size_t offset;    /* of the field, which is a uint64_t or an int64_t */
    smq_number_kind kind;
    smq_number_unit unit;
    const char *metric; /* its name as Prometheus text, where durations are seconds; "": it is not
                           in the text */
    const char *help;   /* what it counts, in one sentence; "" without a name */
    const char *label;  /* rows of one name differ in this label, as "cause"; "": it has none */
    const char *label_value;
} smq_number_info;

/* Runs on the calling thread.  Returning false ends the visit. */
typedef bool smq_number_fn(const smq_number_info *number, void *user);

/* Visit the numbers of smq_stats, or those of smq_metrics, in the order of the Prometheus text.
 * This needs no client and cannot fail. */
SMQ_API void smq_stat_each(smq_number_fn *visit, void *user);
SMQ_API void smq_metric_each(smq_number_fn *visit, void *user);

/* === What is overdue ===================================================== */

/* Why messages of a slot or topic are late; the worst comes first. */
typedef enum smq_overdue {
    SMQ_OVERDUE_NOT = 0,
    SMQ_OVERDUE_STALLED,  /* the lease of a claim has ended */
    SMQ_OVERDUE_ORPHANED, /* the process that claimed them lives no more */
    SMQ_OVERDUE_IN_WORK,  /* a claim has been in work for longer than the bound */
    SMQ_OVERDUE_DUE       /* messages are due, and no consumer has claimed them */
} smq_overdue;

/* Judge what was read of a slot or topic.  `owner_gone`: it is known that the process which made
 * the claims lives no more.  max_work_ms: how long a claim may be in work; 0: any time.
 * *age_ms: STALLED: how long ago its lease ended; ORPHANED, IN_WORK: how long it has been in work;
 * else the lag, which may be SMQ_AGE_UNKNOWN.  It does not block and cannot fail. */
SMQ_API smq_overdue smq_overdue_of(const smq_stats *stats, bool owner_gone, int64_t max_work_ms,
                                   int64_t *age_ms);

/* === A survey of topics ================================================= */

/* What is known of one topic.  Its texts are valid only during the callback. */
typedef struct smq_survey_topic {
    size_t struct_size;
    const char *topic;
    const smq_topic_options *options; /* NULL: its definition could not be read */
    bool paused;
    bool list_read; /* the list of all topics was read: the next field says what it lacks */
    bool unlisted;  /* Redis has lost the name of the topic from that list */
    /* SMQ_OK, or why none of its slots could be read: then all numbers are 0 but slots_damaged or
     * slots_silent, if how many slots it has is known */
    smq_status status;
    const char *why; /* the same in one line; "" for SMQ_OK */
    smq_stats stats; /* as smq_topic_stats() gives them */
    bool has_owners; /* false: it is shared, or could not be read, and the next fields are 0 */
    uint64_t owners, slots_unowned; /* processes that own slots; slots that none owns */
} smq_survey_topic;
#define SMQ_SURVEY_TOPIC_INIT SMQ_INIT(smq_survey_topic)

/* Runs on the calling thread.  Returning false ends the survey, and the call returns SMQ_OK. */
typedef bool smq_survey_fn(const smq_survey_topic *topic, void *user);

typedef struct smq_survey_options {
    size_t struct_size;
    /* The most calls of Redis per second, over all masters: the survey is read in parts, and before
     * each part it waits until this rate allows the calls of the part.  0: it does not wait. */
    int64_t calls_per_s;
    /* NULL, or says which of all topics are read; the others are left out. */
    bool (*wants)(const char *topic, void *user);
    /* NULL, or what each slot is shown to before its topic is; what it returns does not count. */
    smq_slot_fn *slot;
} smq_survey_options;
#define SMQ_SURVEY_OPTIONS_INIT SMQ_INIT(smq_survey_options)
#define SMQ_SURVEY_OPTIONS(...) SMQ_WITH(smq_survey_options, __VA_ARGS__)

/* Read many topics in one pass: what each one is, holds and has done, who owns its slots, and why
 * it cannot be read.  `topics` is "a,b", or NULL or "*" for all: groups in place of the topics that
 * have them, by name.  `options` may be NULL.
 * A call reads each definition and each slot, many at once.  A master that does not reply costs
 * one time-out: it is asked no more in this pass, its slots are counted as silent, and those of the
 * others are read.
 * Blocks: request_timeout_ms per round trip, and as calls_per_s says.
 * Fails: INVALID (a name is not valid), and if the list of all topics cannot be read; what goes
 * wrong with one topic is in its row, also NO_TOPIC of one that was named. */
SMQ_API smq_status smq_survey(smq_client *client, const char *topics,
                              const smq_survey_options *options, smq_survey_fn *visit, void *user,
                              smq_error *err);

/* What was read of topics with different names, as Prometheus text; docs/METRICS.md lists the
 * names.  It does not block.  Free *out with smq_free(). */
SMQ_API void smq_survey_text(const smq_survey_topic *topics, size_t count, char **out);

/* === What a topic is bound to =========================================== */

/* What a topic is bound to, and the largest token that Redis stores for its slots. */
typedef struct smq_binding {
    size_t struct_size;
    char coordination[320];    /* "zookeeper:ROOT IDENTITY", "redis:ROOT", "standalone" (by version
                                  0.2 alone), or "" before the first consumer and for a shared
                                  topic */
    uint32_t generation;       /* fence generation of the topic */
    int32_t token_slot;        /* slot with the largest token; SMQ_NONE: no slot has one */
    uint32_t token_generation; /* fence generation of this token */
    uint64_t token_epoch;      /* number of the fleet's change that granted it */
} smq_binding;
#define SMQ_BINDING_INIT SMQ_INIT(smq_binding)
#define SMQ_BINDING(...) SMQ_WITH(smq_binding, __VA_ARGS__)

/* Blocks: request_timeout_ms per round trip; every slot must answer.
 * Fails: NO_TOPIC, DAMAGED (the definition is lost), UNAVAILABLE. */
SMQ_API smq_status smq_topic_binding(smq_client *client, const char *topic, smq_binding *out,
                                     smq_error *err);

/* Bind a topic to the coordination of this client.  A topic that is not shared is bound to the
 * coordination of its first consumer: a root in Redis or of ZooKeeper.  Call this after the topic's
 * consumers have ended.
 *
 * The call fails if it finds a living owner: a subscription to a wake channel, a claim whose lease
 * lasts, or the lease of a process of version 0.2 without ZooKeeper.  With `force` it does not look
 * for owners; use that when the owners are known to be dead.  An owner that lives nevertheless is
 * fenced as soon as its slots have new owners, and ends with SMQ_OTHER_FLEET; an owner under the
 * same root continues.
 * Blocks: request_timeout_ms per round trip, and up to 8 s for the fleet's nodes.
 * Fails: NO_TOPIC, IN_WORK (an owner lives), INVALID (the topic is shared), UNAVAILABLE (Redis, or
 * the client's ZooKeeper), DENIED. */
SMQ_API smq_status smq_topic_rebind(smq_client *client, const char *topic, bool force,
                                    smq_error *err);

/* Who uses a topic, as far as it can be seen, and would refuse its newest format. */
typedef struct smq_topic_older {
    size_t struct_size;
    uint64_t members; /* of the fleet of the client, for each group that they consume */
    /* producers that have sent to one slot within ten minutes, to that with the most of them */
    uint64_t senders;
} smq_topic_older;
#define SMQ_TOPIC_OLDER_INIT SMQ_INIT(smq_topic_older)

/* Look for members and producers of versions before 0.3.0, which refuse a topic of format 5.
 * Consumers of shared topics, and producers with no_repeat, cannot be seen.
 * Blocks: request_timeout_ms per round trip; every slot must answer.
 * Fails: NO_TOPIC, DAMAGED, UNAVAILABLE (Redis, or what coordinates the fleet). */
SMQ_API smq_status smq_topic_find_older(smq_client *client, const char *topic, smq_topic_older *out,
                                        smq_error *err);

/* === After a loss ======================================================= */

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
 *  - It raises the fence generation of the root above the tokens of all slots of the topics that
 *    are bound to it.
 *  - It binds topics that are bound to the root under another identity to its present identity.
 *
 * Living members continue under the new generation by themselves; any earlier owner is fenced.  If
 * the call was interrupted, repeating it completes it.  `out` may be NULL.
 * Blocks: request_timeout_ms per round trip, and up to 13 s for the fleet's nodes.
 * Fails: UNAVAILABLE, DENIED, OTHER_FLEET (the root belongs to another program). */
SMQ_API smq_status smq_fleet_raise_fence(smq_client *client, smq_fence *out, smq_error *err);

/* Repair a topic of which Redis has lost a part, because a node restarted empty or a failover lost
 * the last writes: keys of slots, the definition, an alteration or a pause.  Messages that are
 * still stored are kept, and consumers continue by themselves.  The call changes nothing in a topic
 * that is not damaged.  A group is repaired with its topic.  If the definition of a topic with
 * groups is lost, smq_topic_create() with these groups restores it.  `out` may be NULL.
 * With `topic` "*" all keys of all masters are looked at, the list of all topics is made anew, and
 * every topic is repaired; keys that earlier versions have left of deleted topics are removed.  A
 * topic that cannot be repaired does not hold up the others; the call fails afterwards with the
 * error of the first such topic.  If every topic was repaired, the nodes of deleted topics are
 * removed from the client's `zookeeper`, if it has one; the call does not fail when that cannot be
 * done, and `text` says why.
 * Blocks: request_timeout_ms per round trip, and with "*" up to 26 s for ZooKeeper; every slot must
 * be reachable.  Fails: NO_TOPIC (also if the topic is half created or half deleted), DAMAGED
 * (slots disagree; the text lists them). */
SMQ_API smq_status smq_topic_repair(smq_client *client, const char *topic, smq_topic_report *out,
                                    smq_error *err);

/* === Servers ============================================================= */

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
    /* whether a send would be stored now; nothing is written to find out */
    smq_status writes; /* SMQ_OK: it would; FULL, UNAVAILABLE: the server refuses writes; DENIED:
                          this user may not ask */
    const char *writes_why;  /* the words of Redis; "" for SMQ_OK */
    int64_t node_timeout_ms; /* cluster-node-timeout; 0: not known */
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
     * "+spublish", "&wake{orders_*", "+pubsub|shardnumsub"; and of one that may listen as a
     * consumer does, where the client is of a fleet in Redis, those without which it is no member:
     * "+info", "+hkeys" and others, "~tree{slotmq:/slotmq}", "&tree{slotmq:/slotmq}:*".  With a
     * blank between two; "": none. */
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

#endif /* SLOTMQ_OPS_H */
