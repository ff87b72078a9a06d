/* topic.h - a topic's own hash, the registry of all topics, and the keys of a server.
 *
 * Thread: smq:io. */
#ifndef STORE_TOPIC_H
#define STORE_TOPIC_H

#include "store/store.h"

/* --- the topic's own hash --- */

/* The state of a topic between its creation and its deletion. */
enum store_topic_state {
    STORE_TOPIC_CREATING,
    STORE_TOPIC_READY,
    STORE_TOPIC_DELETING,
    STORE_TOPIC_MISSING
};

/* Read topic{T} with HGETALL.  Status NO_TOPIC: it does not exist. */
void store_topic_get(struct store_call *call, struct redis *redis, const char *topic,
                     int64_t timeout_ms);
/* Fails: NO_TOPIC (state MISSING; generation and deletes are those of earlier creations), INTERNAL
 * (topic{T} cannot be read). */
smq_status store_topic_get_read(struct topic *out, enum store_topic_state *state, const char *name,
                                const struct store_result *result, smq_error *err);

/* Fill `err` for an outcome other than OK.  INVALID: another program uses the key. */
smq_status store_topic_get_failed(const char *name, const struct store_result *result,
                                  smq_error *err);

/* Store the definition unless one is stored; the reply is the stored one.  `topic` has the nonce of
 * a new creation, and a generation and a count of deletions that are larger than those its slots
 * know; `stored` is the generation of the last stored creation.  REFUSED "CHANGED": that has
 * changed. */
void store_topic_create(struct store_call *call, struct redis *redis, const struct topic *topic,
                        uint32_t stored, int64_t timeout_ms);
smq_status store_topic_create_read(struct topic *out, enum store_topic_state *state,
                                   const char *name, const struct store_result *result,
                                   smq_error *err);

/* The binding of the topic, from the reply to store_topic_get(); "": there is none, or it is too
 * long. */
void store_topic_coord_read(char *out, size_t size, const struct store_result *result);

/* For how long a deletion leaves tombstones, which refuse calls that come late: twice the time for
 * which a call may be repeated.  That is half an hour, for a send (model/send.h) and for each other
 * call: three times the longest request_timeout_ms. */
enum { STORE_TOMBSTONE_MS = 3600000 };

/* Read the tombstone of a topic: the generation of its last creation, and how many deletions there
 * were; both are 0 if there is none. */
void store_tombstone_get(struct store_call *call, struct redis *redis, const char *topic,
                         int64_t timeout_ms);
void store_tombstone_read(uint32_t *generation, uint32_t *deletes,
                          const struct store_result *result);

/* The next step; the nonce names the creation, `deletes` the deletion.  REFUSED "CHANGED": another
 * deletion was begun, or this one was undone. */
enum store_topic_step {
    STORE_STEP_READY,  /* a creation: all slots are open */
    STORE_STEP_UNDONE, /* a creation that cannot be finished: its slots are closed again */
    STORE_STEP_KEEP,   /* a deletion that found messages: its slots are open again */
    STORE_STEP_REMOVED /* a deletion: all slots are cleared */
};
void store_topic_step(struct store_call *call, struct redis *redis, const struct topic *topic,
                      enum store_topic_step step, int64_t timeout_ms);

/* Remove what an earlier version has left of topic{T} when it deleted the topic, and leave a
 * tombstone. */
void store_topic_forget(struct store_call *call, struct redis *redis, const char *topic,
                        int64_t timeout_ms);

/* Begin a deletion.  `topic` has the count of deletions that was read; the reply is the number of
 * this deletion.  The caller chooses `id`, so that the call can be repeated; it begins with
 * STORE_DISUSED if the topic is deleted because it was not used, and in no other case.  REFUSED
 * "CHANGED"; such a deletion also because the topic is used. */
#define STORE_DISUSED 'x'
void store_topic_delete(struct store_call *call, struct redis *redis, const struct topic *topic,
                        const char *id, int64_t timeout_ms);

/* Store an altered definition.  `topic` has the version of `stored`, which was read; the reply is
 * the new version.  REFUSED "CHANGED": the stored version is another one, or a group is being
 * deleted, or one that `stored` does not name is not ready. */
void store_topic_alter(struct store_call *call, struct redis *redis, const struct topic *topic,
                       const struct topic *stored, int64_t timeout_ms);

/* Pause or resume.  `topic` has the count of pauses that was read; the reply is the new count.
 * REFUSED "CHANGED". */
void store_topic_pause(struct store_call *call, struct redis *redis, const struct topic *topic,
                       bool paused, int64_t timeout_ms);

/* Restore a definition with its other fields, in place of what was read, whose version is 0 if
 * there was no definition.  `coord` is the binding of the topic, ""  leaves it as it is.  REFUSED
 * "CHANGED": something else is stored now. */
void store_topic_repair(struct store_call *call, struct redis *redis, const struct topic *topic,
                        const struct topic *stored, const char *coord, int64_t timeout_ms);

/* The number in the reply to a deletion, an alteration, a pause or a binding; of a binding it is
 * the generation. */
bool store_topic_number_read(uint32_t *out, const struct store_result *result);

/* The registry of all topics: slotmq{topics}. */
void store_registry_add(struct store_call *call, struct redis *redis, const char *topic,
                        int64_t created_ms, int64_t timeout_ms);
void store_registry_remove(struct store_call *call, struct redis *redis, const char *topic,
                           int64_t timeout_ms);
/* Read one page of names; `cursor` is "0" at first.  A name may come twice. */
enum { STORE_CURSOR_MAX = 24 };
void store_registry_list(struct store_call *call, struct redis *redis, const char *cursor,
                         int64_t timeout_ms);
bool store_registry_list_read(char cursor[STORE_CURSOR_MAX], size_t *count,
                              const struct store_result *result);
const char *store_registry_name(const struct store_result *result, size_t index);
/* Is this the field by which the registry says that names were missing? */
bool store_registry_is_lost(const struct store_result *result, size_t index);

/* How many names has it?  Is this one in it, 1 or 0?  For store_integer_read(). */
void store_registry_count(struct store_call *call, struct redis *redis, int64_t timeout_ms);
void store_registry_has(struct store_call *call, struct redis *redis, const char *topic,
                        int64_t timeout_ms);
/* Add a name that was missing, and say that others may be missing, too; NULL: only say it. */
void store_registry_restore(struct store_call *call, struct redis *redis, const char *topic,
                            int64_t created_ms, int64_t timeout_ms);
/* All names are there again. */
void store_registry_is_whole(struct store_call *call, struct redis *redis, int64_t timeout_ms);
bool store_integer_read(int64_t *out, const struct store_result *result);

/* Read some of the keys of a server, the master of a hash slot: it looks at about STORE_SCAN_PAGE
 * of them.  `cursor` is "0" at first, and at the end. */
enum { STORE_SCAN_PAGE = 1000 };
void store_scan(struct store_call *call, struct redis *redis, int32_t hash_slot, const char *cursor,
                const char *pattern, int64_t timeout_ms);
bool store_scan_read(char cursor[STORE_CURSOR_MAX], size_t *count,
                     const struct store_result *result);
bool store_scan_key(const char **key, size_t *len, const struct store_result *result, size_t index);

#endif
