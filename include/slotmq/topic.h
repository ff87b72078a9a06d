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

/* The name of a topic consists of letters, digits, dots, underscores and hyphens, at most 120
 * bytes; neither a topic nor a group may be named "." or "..".
 *
 * A topic that is created with only a name is a job queue: each send adds a message, which is due
 * at once or at the time that the send gives, and the library makes the ids.  Such a topic has the
 * type fixed_time and the layout keyed.  A waiting message takes about 350 bytes of Redis memory
 * plus its body; in layout inline it takes about 110 bytes plus its body, but messages with equal
 * bodies merge there.
 *
 * A topic may have groups, from its creation or never.  Each group gets every message that is sent
 * to the topic, and handles them at its own pace, with its own retries, dead letters, pauses and
 * owners.  Messages are sent to the topic, "orders", which is also created, altered, repaired and
 * deleted with all its groups.  All other calls name a group, "orders/billing", which is at most
 * 120 bytes, too; with the name of the topic they fail as INVALID, and the text lists its groups.
 *
 * A send stores a message in all groups, or in none: it fails as FULL if one of them is full.  Its
 * receipt says `merged` if the message merged in one of them. */

/* The order in which messages are consumed, and what happens when a message is sent again while it
 * waits. */
typedef enum smq_topic_type {
    SMQ_TYPE_RANGE_MERGE = 1, /* messages are due after a delay; the first time stays */
    SMQ_TYPE_PRIORITY,        /* the largest priority comes first, of the messages that are due;
                                 the last priority and the last time win */
    SMQ_TYPE_FIXED_TIME,      /* messages are due at a time; the last time wins */
    SMQ_TYPE_FIFO             /* messages of a key come in the order of their sends; the message
                                 keeps its place.  Needs layout keyed; cannot be shared */
} smq_topic_type;

/* What identifies a message.  A send merges with a waiting message of the same identity. */
typedef enum smq_layout {
    SMQ_LAYOUT_INLINE = 1, /* key and body; both are stored in the sorted set */
    SMQ_LAYOUT_KEYED       /* key and id; the body is stored in a hash, and the last one wins */
} smq_layout;

/* Which of two messages with the same priority comes first: the first sent, or the one with the
 * larger bytes. */
typedef enum smq_ties { SMQ_TIES_ARRIVAL, SMQ_TIES_BYTES } smq_ties;

/* When the messages that a dead owner had claimed are delivered again. */
typedef enum smq_takeover {
    SMQ_TAKEOVER_FAST,  /* as soon as their slot has a new owner */
    SMQ_TAKEOVER_STRICT /* when the leases of their claims have ended.  Until then no other message
                           of their keys is delivered */
} smq_takeover;

/* Durations are at most 2^43 ms. */
typedef struct smq_topic_options {
    size_t struct_size;
    const char *name; /* required */

    /* These options cannot be changed after the topic was created. */

    smq_topic_type type; /* default: a job queue, see above */
    /* Default: KEYED if no type is given; INLINE for range_merge, priority and fixed_time; fifo
     * allows only KEYED. */
    smq_layout layout;
    int32_t slots; /* a power of two, 1 .. 65536; default 64 */
    /* Slots have no owners: members join faster, but messages of one key are not handled one at a
     * time. */
    bool shared;
    /* Priority topics.  By arrival priorities may be -8191 .. 8191, by bytes -2^40 .. 2^40. */
    smq_ties ties;

    /* These options can be changed with smq_topic_alter(). */

    int32_t max_retries; /* 1 .. 63; default 16.  SMQ_NONE: each message is delivered once */
    /* Rest after a failure: "none", "fixed:TIME", "exp:TIME:MAX" (full jitter), or
     * "ladder:TIME,TIME,...", each in ms or with a unit as in "10m";
     * default "exp:1000:600000". */
    const char *backoff;
    int64_t lease_ms; /* a claim is renewed after a third of it; default 30000 */
    /* Range_merge: the delay of sends with SMQ_TOPIC_DELAY.  Default none: these are due at
     * once. */
    int64_t delay_ms;
    /* Range_merge, keyed: each repeated send moves the time of the waiting message to now plus its
     * delay, but not past its first send plus debounce_ms.  Default none. */
    int64_t debounce_ms;
    int64_t ttl_ms; /* keyed: time to live of messages that have none of their own; default none */
    /* Keyed: expired messages become dead letters; by default they are dropped. */
    bool expired_to_dead;
    /* Fifo: others may overtake a message that failed; by default they wait for it. */
    bool skip_failed;
    smq_takeover takeover; /* default SMQ_TAKEOVER_FAST */
    /* Replicas, 0 .. 16, that must know the new owner of a slot before it begins handlers; default
     * 0.  If they do not within the owner's request_timeout_ms the handlers begin nevertheless, and
     * an event says so.  Not for shared topics. */
    int32_t takeover_replicas;
    /* Bytes; keyed: 1 .. 256 MiB, default 1 MiB; inline: 1 .. 64 KiB, default 64 KiB. */
    int64_t max_body;
    /* Messages that may wait; sends beyond it fail with FULL.  Each slot has an equal share,
     * rounded up.  Default none. */
    int64_t max_waiting;
    /* Messages per second that the whole fleet claims; not for shared topics.  Default none. */
    int64_t rate_per_s;
    /* Keyed, 1 .. 604800000: a send whose key and id are in flight, rest, or were done within this
     * time is refused with DUPLICATE; one whose message waits merges as always.  Redis keeps each
     * id that was done for this time.  Default none. */
    int64_t dedup_window_ms;

    /* This option can be changed with smq_topic_alter(), in topics that were created with it. */

    /* Names of groups, separated by commas: at most 16.  NULL: the topic has none,
     * and never gets any; an empty text is refused.  See above. */
    const char *groups;

    /* These two can be changed with smq_topic_alter(). */

    /* From 1000 on: the topic is deleted when for this time it had no consumer, nothing was sent to
     * it, and it was neither created again nor altered; but not while it holds messages: waiting,
     * claimed or resting ones, or dead letters.  A client that uses such topics and may delete them
     * does it, at most half of expires_ms and two minutes later.  Default none: it is never
     * deleted.
     */
    int64_t expires_ms;
    /* Needs expires_ms: the topic is deleted also while it holds messages, with all of them. */
    bool expires_with_messages;

    /* How messages are stored: 4 (default) or 5.  In format 5 a message is one entry of a sorted
     * set, with everything that belongs to it, if the library made its id, it is due at once, and
     * it is not larger than whole_max; that costs Redis about as much as an entry of a stream.  The
     * topic has layout keyed, and neither debounce_ms nor dedup_window_ms; in kinds without times
     * the message has no ttl_ms.  All other messages are stored as in format 4, but a short one has
     * one field of a hash, not two (docs/lifecycle.md).
     * Versions before 0.3.0 refuse a topic of format 5.  docs/upgrading.md says how a topic becomes
     * one, and comes back: smq_topic_alter() sets 4 only while whole_max is SMQ_NONE and no message
     * is whole, for which it looks at all. */
    int32_t format;
    /* Format 5: most bytes, 1 .. 1024, that headers and body of such a message have together.
     * SMQ_NONE: none is stored so, and none in one field.  Default 256: from 1 KiB on the other way
     * is cheaper. */
    int32_t whole_max;
} smq_topic_options;
#define SMQ_TOPIC_OPTIONS_INIT SMQ_INIT(smq_topic_options)
#define SMQ_TOPIC_OPTIONS(...) SMQ_WITH(smq_topic_options, __VA_ARGS__)

/* What smq_topic_create() or smq_topic_repair() found and did. */
typedef struct smq_topic_report {
    size_t struct_size;
    bool created; /* the topic did not exist */
    /* The topic exists, and options that may be altered have other values; they were not
     * changed. */
    bool differs;
    bool repaired;            /* Redis had lost a part of the topic; the next fields say which */
    bool restored;            /* the definition was lost, and was restored from the slots */
    bool lost_alteration;     /* the changes of the last smq_topic_alter() are lost */
    int32_t slots_reopened;   /* slots whose keys were lost; they are empty now */
    uint64_t adopted;         /* messages that a restored topic still holds */
    char text[SMQ_TEXT_SIZE]; /* all this in one line for people, or "" */
} smq_topic_report;
#define SMQ_TOPIC_REPORT_INIT SMQ_INIT(smq_topic_report)
#define SMQ_TOPIC_REPORT(...) SMQ_WITH(smq_topic_report, __VA_ARGS__)

/* Create a topic.  If it exists, and the options that cannot be changed are the same, the call
 * returns SMQ_OK.  It completes a create that was interrupted, and repairs a damaged topic as
 * smq_topic_repair() does.
 * If Redis denies a part of the create, or a key exists with another type, the call removes what it
 * has made, as far as the user may; the text of the error says if the topic may be half created.
 * `out` may be NULL.
 * Blocks: request_timeout_ms per round trip.  Fails: TOPIC_DIFFERS (the text names the option),
 * INVALID, DAMAGED (the topic cannot be repaired). */
SMQ_API smq_status smq_topic_create(smq_client *client, const smq_topic_options *options,
                                    smq_topic_report *out, smq_error *err);

/* Change options of the topic options->name: those that `fields` names, separated by commas.  All
 * others stay as they are, whatever the struct has there.
 *
 *     smq_topic_alter(client, &SMQ_TOPIC_OPTIONS(.name = "orders", .max_retries = 5),
 *                     "max_retries,ttl_ms", &err);
 *
 * gives each message 5 retries, and ttl_ms, which is 0, its default.  Producers and consumers use
 * the new values within a second; messages keep what they were sent with.  If the call was
 * interrupted, repeating it completes it.
 *
 * "groups" adds and drops groups of a topic that was created with some.  A new group has what is
 * sent after this call has returned, and nothing that was sent before it began. A group that holds
 * messages is not dropped: see smq_topic_delete().  While one is dropped sends wait for a moment.
 * Of callers that alter the list at the same time one succeeds.  The others fail as TOPIC_DIFFERS
 * and have changed nothing, unless they want the same list. Blocks: request_timeout_ms per round
 * trip.  Fails: INVALID (a field does not exist, cannot be changed, is out of range or does not fit
 * the other options), NO_TOPIC, TOPIC_DIFFERS (other callers alter the topic, or drop a group of
 * it, at the same time), NOT_EMPTY (a group that would be dropped, or whole messages). */
SMQ_API smq_status smq_topic_alter(smq_client *client, const smq_topic_options *options,
                                   const char *fields, smq_error *err);

/* Pause a topic: within a second no consumer of the fleet claims from it.  Messages in flight are
 * finished, and messages can still be sent.  The pause is stored in Redis and lasts until
 * smq_topic_resume(), whatever happens to processes.  If a call was interrupted, repeating it
 * completes it.
 * Blocks: request_timeout_ms per round trip.  Fails: NO_TOPIC. */
SMQ_API smq_status smq_topic_pause(smq_client *client, const char *topic, smq_error *err);
SMQ_API smq_status smq_topic_resume(smq_client *client, const char *topic, smq_error *err);

/* Delete a topic and all its messages.  Without `force` the topic must be empty.  Owners are
 * fenced; consumers end with SMQ_NO_TOPIC.  If the call was interrupted, repeating it
 * completes it.  With the name of a group that group is dropped from its topic.
 * Blocks: request_timeout_ms per round trip.  Fails: NO_TOPIC, NOT_EMPTY, DAMAGED (the definition
 * is lost, and nothing was deleted: repair the topic first), INVALID (the last group). */
SMQ_API smq_status smq_topic_delete(smq_client *client, const char *topic, bool force,
                                    smq_error *err);

/* Describes a topic.  It is read only, and later versions add fields at its end. */
typedef struct smq_topic_info {
    size_t struct_size;
    const char *name;
    /* The definition, with every default filled in.  Of an unreadable topic only the name has a
     * value, of a deleted one the name and `slots`. */
    const smq_topic_options *options;
    /* Why the definition could not be read: it is not understood, its node does not reply, or the
     * user may not read it.  NULL: it was read. */
    const char *unreadable;
    smq_status unreadable_status; /* the same cause as a status */
    /* The topic was deleted by an earlier version, which has left keys of this number of slots.
     * Only smq_topic_search() shows it. */
    bool deleted;
    bool paused; /* see smq_topic_pause() */
    /* Redis has lost the definition, and the options come from a slot; see smq_topic_repair(). */
    bool damaged;
    /* Redis has lost the name of the topic from the list of all topics; see smq_topic_repair(). */
    bool unlisted;
} smq_topic_info;

/* Describe a topic or a group.  Free *out with smq_topic_info_free().  If `out` is NULL the call
 * only tells whether the topic exists and can be read.
 * Blocks: request_timeout_ms per round trip.  Fails: NO_TOPIC, TOPIC_DIFFERS (another version of
 * slotmq made it), INTERNAL (its definition is not understood), DENIED, UNAVAILABLE. */
SMQ_API smq_status smq_topic_get(smq_client *client, const char *topic, smq_topic_info **out,
                                 smq_error *err);
SMQ_API void smq_topic_info_free(smq_topic_info *info);

/* Runs on the calling thread during the visit.  `topic` is valid only during the callback.
 * Returning false ends the visit, and the call returns SMQ_OK. */
typedef bool smq_topic_fn(const smq_topic_info *topic, void *user);

/* Visit all topics, by name: groups in place of the topics that have them, and also those that
 * cannot be read: see `unreadable`.
 * The names are read from a list in Redis.  If that is empty, or was found to lack a name, the
 * first 100,000 keys of each master are looked at, too.
 * Blocks: request_timeout_ms per round trip; 256 topics are read in one round trip.  Fails: if the
 * list cannot be read. */
SMQ_API smq_status smq_topic_each(smq_client *client, smq_topic_fn *visit, void *user,
                                  smq_error *err);

/* As smq_topic_each(), but all keys of all masters are looked at, which takes seconds for a million
 * of them.  Fails: also if the keys of a master cannot be read, after all topics were shown. */
SMQ_API smq_status smq_topic_search(smq_client *client, smq_topic_fn *visit, void *user,
                                    smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_TOPIC_H */
