/* store.h - one typed function per script: arguments in, checked reply out.
 *
 * Every function fills a store_call and sends it; `done` then reads the reply with the matching
 * store_..._read(), which refuses replies of another shape.  A call is owned by the store from the
 * send until just before `done`.
 *
 * Thread: smq:io. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <slotmq/message.h>

#include "model/damage.h"
#include "model/entry.h"
#include "model/header.h"
#include "model/server_facts.h"
#include "model/slot.h"
#include "model/token.h"
#include "model/topic.h"
#include "redis/redis.h"

/* What a script call came to.  Everything but OK means that nothing was written, except UNKNOWN and
 * PARTLY. */
enum store_outcome {
    STORE_OK,
    STORE_NO_TOPIC, /* the slot has no definition: deleted, or never created */
    STORE_STALE,    /* another definition: read it again */
    STORE_FENCED,   /* another token is stored */
    STORE_REFUSED,  /* the script's own word for no: FULL, HELD, FOREIGN, NOT_EMPTY, ... */
    STORE_NOT_DONE, /* no server in time, denied, ... : see status */
    STORE_PARTLY,   /* a script error: repeat, every script stands being repeated */
    STORE_UNKNOWN   /* no reply came */
};

/* How the call ended; valid during `done`. */
struct store_result {
    enum store_outcome outcome;
    smq_status status;       /* OK, NO_TOPIC, FENCED, FULL, UNAVAILABLE, DENIED, UNKNOWN, INTERNAL,
                                CLOSED, ... */
    const char *word;        /* the reply's first element, or "" */
    const char *text;        /* one line for people */
    const redisReply *reply; /* when a script answered */
};

struct store_call;
typedef void store_done_fn(struct store_call *call, const struct store_result *result);

struct store_call {
    struct redis_command command;
    store_done_fn *done;
    void *user;
};

void store_call_init(struct store_call *call, store_done_fn *done, void *user);
void store_call_fini(struct store_call *call);

/* One slot of one topic, as all calls need it.  Immutable. */
struct store_slot {
    int32_t number;
    char kind;
    bool shared;
    bool keyed;           /* bodies are stored beside the members */
    bool skip_failed;     /* fifo: others pass a message that rests */
    bool expired_to_dead; /* else what has expired is dropped */
    int64_t
        debounce_ms; /* how long after the first send a re-send may move the time; 0: it stays */
    int64_t max_waiting; /* of this slot; 0: no bound */
    char stamp[TOPIC_STAMP_MAX];
    struct slot_keys keys;
};
void store_slot_fill(struct store_slot *out, const struct topic *topic, int32_t slot);

/* --- send --- */
struct store_message {
    const void *member; /* as in model/member.h */
    size_t member_len;
    const char *when; /* model/send.h */
    /* keyed */
    const void *body;
    size_t body_len;
    int32_t max_retries; /* -1: the topic's */
    int64_t ttl_ms;      /* -1: for ever */
};
/* Begin, add up to 1,000 messages, send.  `repeated`: any of them may be stored already, by a call
 * whose reply was lost; so what merges is not counted.  With `replicas`, `done` may then call
 * store_send_await(), which waits until `until_ms` (redis_await()). */
void store_send_begin(struct store_call *call, const struct store_slot *slot, bool repeated);
void store_send_add(struct store_call *call, const struct store_slot *slot,
                    const struct store_message *message);
void store_send_replicas(struct store_call *call, int replicas, int64_t until_ms);
void store_send(struct store_call *call, struct redis *redis, int64_t timeout_ms);
void store_send_await(struct store_call *call, struct redis_await *await);
/* `*results` gets one character a message: 'a' added, 'm' merged, 'f' refused because the slot is
 * full; valid during `done`. */
bool store_send_read(const char **results, const struct store_result *result, size_t count);

/* --- consume --- */
enum store_answer_op {
    STORE_DONE = 'D',         /* without a retry used: many at once, so no letter of the script */
    STORE_DONE_RETRIED = 'd', /* with some: the reason of the last is stored beside it */
    STORE_RETRY = 't',
    STORE_REJECT = 'x',
    STORE_RELEASE = 'b',
    STORE_HUNG = 'h' /* its handler took too long: lost, as if its process had died */
};
/* Why a message failed whose last claim was lost: lua/lib/reason.lua. */
#define STORE_REASON_LOST      "its process died or hung"
#define STORE_REASON_TIMED_OUT "its handler took too long"

struct store_answer {
    enum store_answer_op op;
    const char *entry; /* as it was claimed */
    size_t entry_len;
    int64_t delay_ms;   /* RETRY, RELEASE */
    const char *reason; /* RETRY, REJECT; at most 200 bytes are kept; may be NULL */
};
/* The last message that is known of a claim which one reply could not hold. */
struct store_known {
    const char *entry;
    size_t entry_len;
    struct attempts attempts;
};
/* Of a call: its answers, those of layout keyed, and their arguments: DONE has one, others four.
 * Some managed servers take 3,999 arguments in all. */
enum { STORE_ANSWERS_MAX = 1000, STORE_ANSWERS_KEYED_MAX = 200, STORE_ANSWER_ARGS_MAX = 3800 };
struct store_consume {
    struct token token;
    int32_t n; /* claim at most so many; 0: only settle */
    int64_t max_bytes;
    int64_t lease_ms;
    int32_t max_retries;
    uint64_t last;                      /* highest claim number known; ignored when shared */
    const struct store_known *part;     /* known of the claim behind `last`; NULL: nothing */
    uint64_t oldest;                    /* claim of which a message is in flight; or last + 1 */
    bool repeated;                      /* an earlier try may have been executed */
    const struct store_answer *answers; /* DONE first, then the others */
    size_t answer_count;
};
struct store_consumed {
    int64_t now_ms;
    int64_t next_ms;     /* the next moment at which a claim could succeed; -1: never by itself */
    uint64_t claims;     /* the next `last`; as it was, with messages: they are a part of a claim */
    const char *results; /* a character an answer: '1' done, '0' gone, 'u' one of the two */
    bool again;          /* more can be had at once */
    bool paused;         /* the topic is paused: nothing was claimed */
    size_t count;        /* claimed messages */
    uint64_t expired;    /* found with their time to live over, and dropped or dead */
};
void store_consume(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                   const struct store_consume *consume, int64_t timeout_ms);
bool store_consume_read(struct store_consumed *out, const struct store_result *result,
                        const struct store_slot *slot, size_t answer_count);
/* A claimed message; points into the reply. */
struct store_claimed {
    const char *entry;
    size_t entry_len;
    struct attempts attempts;
    /* keyed */
    const char *body;
    size_t body_len;
    struct header header;
};
bool store_consume_known(struct store_known *out, const struct store_result *result,
                         const struct store_slot *slot, size_t index);
bool store_consume_message(struct store_claimed *out, const struct store_result *result,
                           const struct store_slot *slot, size_t index);

/* --- renew --- */
void store_renew_begin(struct store_call *call, const struct store_slot *slot, struct token token,
                       int64_t lease_ms);
void store_renew_add(struct store_call *call, const char *entry, size_t len); /* up to 1,000 */
void store_renew(struct store_call *call, struct redis *redis, int64_t timeout_ms);
bool store_renew_read(const char **results, const struct store_result *result, size_t count);

/* --- takeover, vacate --- */
/* Who takes a slot over, and what the topic is bound to: the slot keeps that. */
struct store_taker {
    struct token token;
    const char *name, *coord;
};
void store_takeover(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                    const struct store_taker *taker, const struct topic *topic, int64_t timeout_ms);
bool store_takeover_read(uint64_t *base, bool *more, const struct store_result *result);
void store_vacate(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                  struct token token, int64_t timeout_ms);

/* The token that a FENCED reply carries. */
bool store_fenced_token(struct token *out, const struct store_result *result);

/* --- the topic's own hash --- */

/* Where a topic is between its creation and its deletion. */
enum store_topic_state {
    STORE_TOPIC_CREATING,
    STORE_TOPIC_READY,
    STORE_TOPIC_DELETING,
    STORE_TOPIC_MISSING
};

/* What is stored of a topic now: HGETALL.  Status NO_TOPIC: nothing. */
void store_topic_get(struct store_call *call, struct redis *redis, const char *topic,
                     int64_t timeout_ms);
/* Fails: NO_TOPIC (MISSING; generation and deletes are those of earlier creations), INTERNAL (what
 * is stored cannot be read). */
smq_status store_topic_get_read(struct topic *out, enum store_topic_state *state, const char *name,
                                const struct store_result *result, smq_error *err);

/* `err` for one that has another outcome than OK.  INVALID: the key is not ours. */
smq_status store_topic_get_failed(const char *name, const struct store_result *result,
                                  smq_error *err);

/* Store the definition unless one is stored; the reply tells what is stored now.  `topic` carries
 * the nonce of a new creation, and the generation and the deletions that its slots have seen, which
 * it passes; `seen` is the generation of the last creation that is stored.  REFUSED "CHANGED": that
 * is not so any more. */
void store_topic_create(struct store_call *call, struct redis *redis, const struct topic *topic,
                        uint32_t seen, int64_t timeout_ms);
smq_status store_topic_create_read(struct topic *out, enum store_topic_state *state,
                                   const char *name, const struct store_result *result,
                                   smq_error *err);

/* What the topic is bound to, from the reply to store_topic_get(); "": nothing, or it is too long.
 */
void store_topic_coord_read(char *out, size_t size, const struct store_result *result);

/* Further steps; the nonce names the creation, `deletes` the deletion.  REFUSED "CHANGED": another
 * deletion was begun, or this one was taken back. */
enum store_topic_step {
    STORE_STEP_READY,  /* a creation: all slots are open */
    STORE_STEP_UNDONE, /* a creation that cannot be finished: its slots are closed again */
    STORE_STEP_KEEP,   /* a deletion that found messages: its slots are open again */
    STORE_STEP_REMOVED /* a deletion: all slots are cleared */
};
void store_topic_step(struct store_call *call, struct redis *redis, const struct topic *topic,
                      enum store_topic_step step, int64_t timeout_ms);

/* From now on it is being deleted; `topic` carries the deletions that were seen, the answer is the
 * number of this one.  `id` is the caller's, so that the call can be repeated.  REFUSED "CHANGED".
 */
void store_topic_delete(struct store_call *call, struct redis *redis, const struct topic *topic,
                        const char *id, int64_t timeout_ms);

/* Store an altered definition; `topic` carries the version it had, the answer is the version that
 * it has now.  REFUSED "CHANGED": it had another one. */
void store_topic_alter(struct store_call *call, struct redis *redis, const struct topic *topic,
                       int64_t timeout_ms);

/* Pause or resume; `topic` carries the pauses that were seen, the answer is their number now.
 * REFUSED "CHANGED". */
void store_topic_pause(struct store_call *call, struct redis *redis, const struct topic *topic,
                       bool paused, int64_t timeout_ms);

/* Put a definition back, with all that stands beside it, in the place of what was seen; its version
 * is 0 when there was no definition.  `coord` is what the topic is bound to, "": that stays.
 * REFUSED "CHANGED": something else is stored now. */
void store_topic_repair(struct store_call *call, struct redis *redis, const struct topic *topic,
                        const struct topic *seen, const char *coord, int64_t timeout_ms);

/* The number that a deletion, an alteration, a pause or a binding answers; of a binding it is the
 * generation. */
bool store_topic_number_read(uint32_t *out, const struct store_result *result);

/* The registry of all topics: slotmq{topics}. */
void store_registry_add(struct store_call *call, struct redis *redis, const char *topic,
                        int64_t created_ms, int64_t timeout_ms);
void store_registry_remove(struct store_call *call, struct redis *redis, const char *topic,
                           int64_t timeout_ms);
/* One page of names; `cursor` is "0" at first.  A name may come twice. */
enum { STORE_CURSOR_MAX = 24 };
void store_registry_list(struct store_call *call, struct redis *redis, const char *cursor,
                         int64_t timeout_ms);
bool store_registry_list_read(char cursor[STORE_CURSOR_MAX], size_t *count,
                              const struct store_result *result);
const char *store_registry_name(const struct store_result *result, size_t index);

enum store_lease_op { STORE_LEASE_ACQUIRE, STORE_LEASE_RENEW, STORE_LEASE_RELEASE };
void store_lease(struct store_call *call, struct redis *redis, const char *topic, const char *nonce,
                 enum store_lease_op op, const char *owner, int64_t ttl_ms, int64_t timeout_ms);
/* STORE_OK: token and remaining; STORE_REFUSED "HELD": remaining. */
bool store_lease_read(struct token *token, int64_t *remaining_ms,
                      const struct store_result *result);
void store_bind(struct store_call *call, struct redis *redis, const char *topic, const char *nonce,
                const char *coord, int64_t timeout_ms);
bool store_bound_read(char *out, size_t size, const struct store_result *result); /* OTHER_FLEET */

/* Bind the topic to another coordination, under a generation larger than any before and than
 * `above`.  REFUSED "HELD", without `force`: a process holds the lease. */
struct store_rebind {
    const char *nonce, *coord;
    uint32_t above;
    bool force;
};
void store_rebind(struct store_call *call, struct redis *redis, const char *topic,
                  const struct store_rebind *rebind, int64_t timeout_ms);

/* What the topic is bound to becomes `to`, under the generation that it has.  REFUSED
 * "OTHER_FLEET": it is bound neither to `from` nor to `to`. */
void store_follow(struct store_call *call, struct redis *redis, const char *topic,
                  const char *nonce, const char *from, const char *to, int64_t timeout_ms);

/* The owner of a slot as Redis knows it, whatever its definition is. */
struct store_owner {
    struct token token; /* all zero: none */
    bool shared;
    int64_t leased_ms; /* of the last claim; 0: nothing is claimed, or the leases are over */
    uint32_t bound_at; /* the generation since which it knows what the topic is bound to; 0: none */
};
void store_owner(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                 int64_t timeout_ms);
bool store_owner_read(struct store_owner *out, const struct store_result *result);

/* The process that holds the lease of a standalone topic: REFUSED "HELD". */
enum { STORE_HOLDER_MAX = 160 };
struct store_lease_holder {
    char owner[STORE_HOLDER_MAX];
    int64_t remaining_ms;
};
bool store_lease_holder_read(struct store_lease_holder *out, const struct store_result *result);

/* How many connections are subscribed to the slot's wake channel. */
void store_listeners(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     int64_t timeout_ms);
bool store_listeners_read(uint64_t *count, const struct store_result *result);

/* --- a server itself: the master of a hash slot --- */

enum store_server_question {
    STORE_SERVER_INFO,
    STORE_SERVER_TIME,
    STORE_SERVER_CONFIG,
    STORE_SERVER_CLUSTER,
    STORE_SERVER_NODES,
    STORE_SERVER_QUESTIONS
};
void store_server(struct store_call *call, struct redis *redis, int32_t hash_slot,
                  enum store_server_question question, int64_t timeout_ms);
/* All but TIME: add what the reply says. */
bool store_server_read(struct server_facts *facts, enum store_server_question question,
                       const struct store_result *result);
bool store_server_time_read(int64_t *now_ms, const struct store_result *result);

/* --- what a slot knows of its topic --- */

/* Open it, or bring it what `topic` says now.  REFUSED: "FOREIGN" (a key is in the way), "TAKEN"
 * (by another creation that was not deleted), "GONE" (this creation was deleted, or is older). */
void store_slot_open(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     const struct topic *topic, int64_t timeout_ms);
bool store_slot_open_read(bool *made, const struct store_result *result); /* nothing was there */

/* The key that is in the way: REFUSED "FOREIGN". */
bool store_slot_foreign_read(char key[SLOT_KEY_MAX], const struct store_result *result);

/* What it knows.  Needs the topic's name and layout only.  REFUSED "FOREIGN". */
void store_slot_read(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     int64_t timeout_ms);
/* The texts point into the reply. */
bool store_slot_notes_read(struct slot_notes *out, const struct store_result *result);

/* Bring it an altered definition, or a pause or resume.  STALE: it knows a newer definition;
 * REFUSED "CHANGED": a later pause or resume. */
void store_slot_alter(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const struct topic *topic, int64_t timeout_ms);
void store_slot_pause(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const struct topic *topic, int64_t timeout_ms);

/* Tell it what the topic is bound to since `generation`.  REFUSED: "GONE" (it is not open, or to
 * another creation), "CHANGED" (it knows a later one). */
void store_slot_bind(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     uint32_t generation, const char *coord, int64_t timeout_ms);

/* Withdraw the definition, with `force` whatever the slot holds; `deletion` is its number. REFUSED:
 * "NOT_EMPTY", "GONE" (another creation), "CHANGED" (that deletion was taken back). */
void store_slot_seal(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     bool force, uint32_t deletion, int64_t timeout_ms);
bool store_slot_seal_read(uint64_t *messages, const struct store_result *result); /* NOT_EMPTY */

/* Take back what that deletion has sealed.  REFUSED "GONE": it has not. */
void store_slot_unseal(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       uint32_t deletion, int64_t timeout_ms);

/* Remove what a slot holds that this deletion has sealed, a bounded part a call.  REFUSED "IN_USE".
 */
void store_slot_clear(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      uint32_t deletion, int64_t timeout_ms);
bool store_slot_clear_read(bool *more, const struct store_result *result);

/* Remove the keys of a slot that was made and never used.  REFUSED "GONE": it was. */
void store_slot_remove(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       int64_t timeout_ms);

/* --- looking at a slot --- */
enum { STORE_OWNER_MAX = 128 };
struct store_look {
    int64_t now_ms;
    uint64_t waiting, due, claimed, resting, dead;
    int64_t oldest_due_ms, next_due_ms; /* -1: none */
    char owner[STORE_OWNER_MAX];        /* "" none */
    char token[TOKEN_TEXT_LEN + 1];     /* "" when the topic is shared */
    uint64_t sent, merged, done, retried, rejected, expired, released, lease_lost;
    bool paused;
};
void store_inspect(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                   int64_t timeout_ms);
bool store_inspect_read(struct store_look *out, const struct store_result *result);

/* --- messages of a slot --- */

/* Where a walk goes on: behind the message of this score and name.  name_len 0: at the first. */
struct store_position {
    const char *score;
    const char *name; /* member of the store, or entry */
    size_t name_len;
};
/* Which messages; the strings "" and the lengths 0 mean any. */
struct store_page {
    smq_state state;
    struct store_position from;
    int32_t limit;     /* look at so many; at most STORE_PAGE_MAX */
    int64_t max_bytes; /* read about so much, but one message at least */
    bool bodies;       /* keyed: answer them */
    const char *member;
    size_t member_len;
    const char *contains, *reason;
    int64_t older_ms; /* -1: any */
};
enum { STORE_PAGE_MAX = 1000 };
/* What a page came to; valid during `done`. */
struct store_paged {
    int64_t now_ms;
    char token[TOKEN_TEXT_LEN + 1]; /* "" when the topic is shared */
    bool more;                      /* something stands behind `next` */
    struct store_position next;     /* the last one looked at, else what was given */
    size_t count;
};
void store_page(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct store_page *page, int64_t timeout_ms);
bool store_page_read(struct store_paged *out, const struct store_result *result,
                     const struct store_slot *slot, const struct store_page *page);
/* A message seen; points into the reply. */
struct store_page_row {
    smq_state state;
    const char *name, *score;
    size_t name_len;
    struct entry entry; /* waiting: member and before-image only */
    int64_t integer;    /* of the score: time, place, end of the lease or of the rest, or death */
    struct attempts attempts;
    const char *reason; /* why it failed last; "" none */
    /* keyed */
    const char *body;
    size_t body_len;
    struct header header; /* first_ms 0: nothing is stored */
};
bool store_page_message(struct store_page_row *out, const struct store_result *result,
                        const struct store_slot *slot, smq_state state, size_t index);

/* Where is a message?  Looked for among those that wait, then piece by piece among the claimed, the
 * resting and the dead ones. */
enum { STORE_FIND_MAX = 1000 };
struct store_find {
    const char *member;
    size_t member_len;
    bool dead; /* go on among the dead */
    struct store_position from;
};
struct store_found {
    int64_t now_ms;
    char token[TOKEN_TEXT_LEN + 1]; /* "" when the topic is shared */
    bool found;
    struct store_page_row row; /* found; points into the reply */
    bool more;                 /* not found yet: go on with `next`, which points into the reply */
    struct store_find next;
};
void store_find(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct store_find *find, int64_t timeout_ms);
bool store_find_read(struct store_found *out, const struct store_result *result,
                     const struct store_slot *slot, const struct store_find *find);

/* How many waiting messages of its slot come before one: REFUSED with status NO_MESSAGE when it
 * does not wait; and how many of another slot, by its score. */
enum { STORE_SCORE_MAX = 40 };
void store_rank(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const void *member, size_t member_len, int64_t timeout_ms);
void store_rank_elsewhere(struct store_call *call, struct redis *redis,
                          const struct store_slot *slot, const char *score, int64_t timeout_ms);
bool store_rank_read(uint64_t *count, char score[STORE_SCORE_MAX],
                     const struct store_result *result);

/* --- editing --- */

/* Begin with one of these, add up to 1,000 names as store_page_row has them, send.  Remove: those
 * of one state, not claimed.  Requeue: dead ones. */
void store_remove_begin(struct store_call *call, const struct store_slot *slot, smq_state state);
void store_requeue_begin(struct store_call *call, const struct store_slot *slot);
void store_edit_add(struct store_call *call, const void *name, size_t len);
void store_edit(struct store_call *call, struct redis *redis, int64_t timeout_ms);
/* Give a waiting message another place; `when` as in a send.  REFUSED with status FULL. */
void store_reschedule(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const void *member, size_t len, const char *when, int64_t timeout_ms);
/* `*results`: '1' done or '0' gone, a character a name; valid during `done`. */
bool store_edit_read(const char **results, const struct store_result *result, size_t count);

#endif
