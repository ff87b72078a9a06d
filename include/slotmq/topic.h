/* topic.h - create, describe, alter, pause and delete topics.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_TOPIC_H
#define SLOTMQ_TOPIC_H

#include <slotmq/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* === Topics ============================================================= */

/* A topic is named with letters, digits, dot, underscore, hyphen; at most 120
 * bytes. */

/* A topic that is created with a name alone is a job queue: each send is a
 * message of its own, due at once or when it says, and the library makes the
 * ids.  It is a topic of type fixed_time in layout keyed, and shown as such.
 * A waiting message takes some 350 bytes of Redis and its body.  Layout inline
 * takes some 110, but there equal bodies merge. */
typedef enum smq_topic_type {
    SMQ_TYPE_RANGE_MERGE = 1, /* due after a delay; re-send: first time stays     */
    SMQ_TYPE_PRIORITY,        /* largest first; re-send: the last priority wins   */
    SMQ_TYPE_FIXED_TIME,      /* due at a time; re-send: the last time wins       */
    SMQ_TYPE_FIFO             /* in the order of sends per key; layout keyed, not
                            shared; re-send: the place stays                 */
} smq_topic_type;

/* What identifies a message, and so what a re-send merges with. */
typedef enum smq_layout {
    SMQ_LAYOUT_INLINE = 1, /* key and body: both are stored in the sorted set       */
    SMQ_LAYOUT_KEYED       /* key and id: the body is stored beside them, that of
                       the last send wins                                    */
} smq_layout;

typedef enum smq_ties { SMQ_TIES_ARRIVAL, SMQ_TIES_BYTES } smq_ties;

typedef enum smq_takeover {
    SMQ_TAKEOVER_FAST,  /* what a dead owner had claimed comes back at once  */
    SMQ_TAKEOVER_STRICT /* ... when its lease has ended                      */
} smq_takeover;

/* Durations reach to 2^43 ms. */
typedef struct smq_topic_options {
    size_t struct_size;
    const char *name; /* required                                            */
    /* fixed for life */
    smq_topic_type type; /* default: a job queue                             */
    smq_layout layout;   /* default SMQ_LAYOUT_KEYED without a type and for
                            fifo, which takes no other; else INLINE          */
    int32_t slots;       /* power of two, 1 .. 65536; default 64             */
    bool shared;         /* no owners: faster to join, keys not serial       */
    smq_ties ties;       /* priority: equal ones by arrival (range +-8191)
                            or by bytes (range +-2^40)                       */
    /* may be altered */
    int32_t max_retries;   /* 1 .. 63; default 16; SMQ_NONE: one delivery    */
    const char *backoff;   /* "none", "fixed:MS", "exp:MS:MAX" (full jitter),
                              "ladder:MS,MS,..."; default "exp:1000:600000"  */
    int64_t lease_ms;      /* renewed at a third; default 30000              */
    int64_t delay_ms;      /* range_merge: delay of sends that give none;
                              SMQ_NONE: at once; default 0: each must give
                              one                                            */
    int64_t debounce_ms;   /* range_merge, keyed: each re-send moves the time
                              back, at most to first send + this; default
                              none                                           */
    int64_t ttl_ms;        /* keyed: of messages without their own; default
                              none                                           */
    bool expired_to_dead;  /* keyed: messages past their time to live become
                              dead letters; default: they are dropped        */
    bool skip_failed;      /* fifo: let others pass; default: they wait      */
    smq_takeover takeover; /* default SMQ_TAKEOVER_FAST                      */
    int64_t max_body;      /* bytes; keyed: 1 .. 64 MiB, default 1 MiB;
                              inline: 1 .. 64 KiB, default 64 KiB            */
    int64_t max_waiting;   /* sends beyond it are FULL.  Each slot has its
                              share, rounded up; default none                */
    int64_t rate_per_s;    /* claims of the whole fleet; not for shared
                              topics; default none                           */
    bool paused;           /* only read: set by smq_topic_pause()            */
    bool damaged;          /* only read: Redis has lost the definition, and
                              this is what a slot knows: smq_topic_repair()  */
    /* Only read, and NULL for most: why the definition cannot be read, as it is
     * not understood, its node is away, or the user may not read it.  Then the
     * name is all that is known. */
    const char *unreadable;
    smq_status unreadable_status; /* the same as a status                     */
} smq_topic_options;
#define SMQ_TOPIC_OPTIONS_INIT SMQ_INIT(smq_topic_options)
#define SMQ_TOPIC_OPTIONS(...) SMQ_WITH(smq_topic_options, __VA_ARGS__)

/* What a create or a repair found and did. */
typedef struct smq_topic_report {
    size_t struct_size;
    bool created;             /* it did not exist                              */
    bool differs;             /* it exists with other values of options that may
                                 be altered; they were not changed             */
    bool repaired;            /* Redis had lost a part of it; what follows says
                                 which                                         */
    bool restored;            /* the definition was lost; it is that of the
                                 slots again                                   */
    bool lost_alteration;     /* the options of the last smq_topic_alter() are
                                 lost                                          */
    int32_t slots_reopened;   /* slots whose keys were lost: they are empty     */
    uint64_t adopted;         /* messages of a topic that was restored         */
    char text[SMQ_TEXT_SIZE]; /* all this in one line for people, or ""        */
} smq_topic_report;
#define SMQ_TOPIC_REPORT_INIT SMQ_INIT(smq_topic_report)
#define SMQ_TOPIC_REPORT(...) SMQ_WITH(smq_topic_report, __VA_ARGS__)

/* Create a topic, or find that it exists with the same options that are fixed for
 * life (SMQ_OK).  A create cut in the middle is completed by calling it again, and
 * a damaged topic is repaired, as by smq_topic_repair().  What one that is
 * denied, or meets keys of another type, has made is removed, as far as the user may;
 * the text says when a topic may be half created.  `out` may be NULL.
 * Blocks: request_timeout_ms per round trip.  Fails: TOPIC_DIFFERS (the text names
 * what), INVALID, DAMAGED (it cannot be repaired). */
SMQ_API smq_status smq_topic_create(smq_client *client, const smq_topic_options *options,
                                    smq_topic_report *out, smq_error *err);

/* Put back what Redis has lost of a topic, when a node came back empty or a
 * failover lost the last writes: keys of slots, the definition, an alteration or
 * a pause.  Messages that are there stay.  Consumers continue by themselves.  A
 * topic that is whole stays as it is.  `out` may be NULL.
 * Blocks: request_timeout_ms per round trip; every slot must answer.  Fails:
 * NO_TOPIC (also when it is half created or half deleted), DAMAGED (slots that
 * disagree; the text lists them). */
SMQ_API smq_status smq_topic_repair(smq_client *client, const char *topic, smq_topic_report *out,
                                    smq_error *err);

/* Change one option that may be altered, by name and text: ("max_retries", "5"),
 * ("ttl_ms", "1h"), ("delay_ms", "none").  Producers and consumers see it within
 * a second; messages keep what they were sent with.  Repeated, it completes one
 * that was cut in the middle.
 * Blocks: request_timeout_ms per round trip.  Fails: INVALID (no such option, fixed
 * for life, out of range, not with the others), NO_TOPIC, TOPIC_DIFFERS (others
 * alter it all the time). */
SMQ_API smq_status smq_topic_alter(smq_client *client, const char *topic, const char *option,
                                   const char *value, smq_error *err);

/* Stop and start claiming, fleet-wide, within a second.  Messages in flight are
 * finished, and messages can still be sent.  The pause is stored in Redis and
 * outlives every process.  Repeated, the call completes one that was cut in the
 * middle.
 * Blocks: request_timeout_ms per round trip.  Fails: NO_TOPIC. */
SMQ_API smq_status smq_topic_pause(smq_client *client, const char *topic, smq_error *err);
SMQ_API smq_status smq_topic_resume(smq_client *client, const char *topic, smq_error *err);

/* A topic without `shared` is bound to the coordination of its first consumer: a
 * root of ZooKeeper, or standalone.  Bind it to that of this client, when its
 * consumers have ended.  An owner is found by its subscription to a wake channel,
 * by a claim that is leased, by the lease of a standalone topic; `force` does not
 * look for owners, for those that are known to be dead.  An owner that lives all
 * the same is fenced as soon as its slots have a new one, and ends with
 * SMQ_OTHER_FLEET; one of the same root of ZooKeeper continues.
 * Blocks: request_timeout_ms per round trip; 8 s for ZooKeeper.
 * Fails: NO_TOPIC, IN_WORK (an owner lives), INVALID (a shared topic),
 * UNAVAILABLE (also: the client's ZooKeeper). */
SMQ_API smq_status smq_topic_rebind(smq_client *client, const char *topic, bool force,
                                    smq_error *err);

/* Delete a topic with all it holds.  Without `force` only an empty one.
 * Owners are fenced; workers and consumers end with SMQ_NO_TOPIC.  One that was
 * cut in the middle is completed by calling it again.
 * Blocks: request_timeout_ms per round trip.  Fails: NO_TOPIC, NOT_EMPTY, DAMAGED
 * (its definition is lost: nothing was deleted; repair it first). */
SMQ_API smq_status smq_topic_delete(smq_client *client, const char *topic, bool force,
                                    smq_error *err);

/* Visitors run on the calling thread, during the call; what they are shown
 * is valid until they return.  false ends the visit (the call returns SMQ_OK). */
typedef bool smq_topic_fn(const smq_topic_options *topic, void *user);

/* Describe one topic, or all (NULL), with every default filled in.  A visit of all
 * shows the topics that it cannot read, too: see `unreadable`.
 * Blocks: request_timeout_ms per round trip, of which 256 topics are read in one.
 * Fails, for one that was named: NO_TOPIC, TOPIC_DIFFERS (another version of
 * slotmq made it), INTERNAL (its definition is not understood), DENIED,
 * UNAVAILABLE; for all: when the list of topics cannot be read. */
SMQ_API smq_status smq_topic_each(smq_client *client, const char *topic, smq_topic_fn *visit,
                                  void *user, smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_TOPIC_H */
