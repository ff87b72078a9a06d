/* store.h - one typed function for each script: arguments in, checked reply out.
 *
 * Every function fills a store_call and sends it; `done` then reads the reply with the matching
 * store_..._read(), which rejects replies of another form.  The store owns a call from when it is
 * sent until just before `done`.
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

/* The outcome of a call.  Every outcome but OK, UNKNOWN and PARTLY means that nothing was
 * written. */
enum store_outcome {
    STORE_OK,
    STORE_NO_TOPIC, /* the slot has no definition: deleted, or never created */
    STORE_STALE,    /* the slot has another definition: read it again */
    STORE_FENCED,   /* another token is stored */
    STORE_REFUSED,  /* the script refused with a word: FULL, HELD, FOREIGN, NOT_EMPTY, ... */
    STORE_NOT_DONE, /* no server was reachable in time, or the call was denied; see status */
    /* a script failed midway; repeating is safe, because every script is idempotent */
    STORE_PARTLY,
    STORE_UNKNOWN /* no reply came */
};

/* The result of a call; valid only during `done`. */
struct store_result {
    enum store_outcome outcome;
    smq_status status;       /* OK, NO_TOPIC, FENCED, FULL, UNAVAILABLE, DENIED, UNKNOWN, INTERNAL,
                                CLOSED, ... */
    const char *word;        /* the reply's first element, or "" */
    const char *text;        /* one line for people */
    const redisReply *reply; /* if a script replied */
    bool cut;                /* UNKNOWN: the server ended the connection before it replied */
};

struct store_call;
typedef void store_done_fn(struct store_call *call, const struct store_result *result);

struct store_call {
    struct redis_command command;
    struct redis *publishes;  /* private: its script publishes, and this client sends it; or NULL */
    const struct script *any; /* private: which script takes the call if its own answers ANY, of
                                 which nothing is written then; or NULL */
    store_done_fn *done;
    void *user;
};

void store_call_init(struct store_call *call, store_done_fn *done, void *user);
void store_call_fini(struct store_call *call);

/* Before a call is sent: `replicas` must have its writes, too, and those of all calls before it.
 * Its `done` may call store_await() when it is OK, which then waits until `until_ms`
 * (redis_await()). */
void store_replicas(struct store_call *call, int replicas, int64_t until_ms);
void store_await(struct redis_await *await, const struct store_call *call);

/* One slot of one topic, as all calls use it.  Immutable. */
struct store_slot {
    int32_t number;
    char kind;
    bool shared;
    bool keyed;           /* bodies are stored in a hash */
    bool skip_failed;     /* fifo: others may overtake a message that rests */
    bool expired_to_dead; /* otherwise expired messages are dropped */
    bool strict_takeover; /* claims of a former owner keep their keys until their leases end */
    int64_t
        /* how long after the first send a repeated send may move the time; 0: the time stays */
        debounce_ms;
    int64_t dedup_ms;    /* for how long ids that are done are refused; 0: they are not */
    int64_t max_waiting; /* share of this slot; 0: no limit */
    char stamp[TOPIC_STAMP_MAX];
    struct slot_keys keys;
};
void store_slot_fill(struct store_slot *out, const struct topic *topic, int32_t slot);

/* --- send --- */
struct store_message {
    const void *member; /* as in model/member.h */
    size_t member_len;
    const char *when; /* send_when() of model/send.h */
    /* keyed */
    const void *body; /* behind its headers, if it has any (model/headers.h) */
    size_t body_len, headers_len;
    int32_t max_retries; /* -1: that of the topic */
    int64_t ttl_ms;      /* -1: no limit */
};
/* Begin a call, add up to 1,000 messages, send it.  The messages have the send ids `sequence`,
 * `sequence` + 1, ... of that producer, which are larger than all that it has used in this slot; or
 * the call repeats messages of its last call there, with their ids, and gets the first answer.
 * `producer` NULL: the call is never repeated, and has no ids.
 * If the topic has groups, the messages are stored in the slot of each of them, or in none. */
void store_send_begin(struct store_call *call, const struct store_slot *slot,
                      const struct topic *topic, const char *producer, uint64_t sequence);
void store_send_add(struct store_call *call, const struct store_slot *slot,
                    const struct store_message *message);
void store_send(struct store_call *call, struct redis *redis, int64_t timeout_ms);
/* *results has one character per message: 'a' added, 'm' merged, 'f' refused because the slot is
 * full, 'd' refused as a duplicate, 'u' a repeat of which the first answer is not known any more;
 * valid only during `done`. */
bool store_send_read(const char **results, const struct store_result *result, size_t count);
/* The index of the group that has refused the message at `index`; -1: it is not known, or the topic
 * has no groups. */
int store_send_full(const struct store_result *result, size_t index);
/* REFUSED with status FULL, which refuses all messages: the index of the group that has no places
 * left; -1: the topic has no groups. */
int store_send_full_group(const struct store_result *result);

/* The last sequence that the slot remembers of a producer; 0: none. */
void store_sent(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct topic *topic, const char *producer);
bool store_sent_read(uint64_t *last, const struct store_result *result);

/* --- consume --- */
enum store_answer_op {
    STORE_DONE = 'D',         /* without a used retry; the script takes these without a letter */
    STORE_DONE_RETRIED = 'd', /* with used retries, so a stored reason must be removed */
    STORE_RETRY = 't',
    STORE_REJECT = 'x',
    STORE_RELEASE = 'b',
    STORE_HUNG = 'h' /* its handler took too long: lost as if its process had died */
};
/* The reasons of messages whose last claim was lost: lua/lib/reason.lua. */
#define STORE_REASON_LOST      "its process died or hung"
#define STORE_REASON_TIMED_OUT "its handler took too long"

struct store_answer {
    enum store_answer_op op;
    const char *entry; /* the entry as it was claimed */
    size_t entry_len;
    int64_t delay_ms;   /* RETRY, RELEASE */
    const char *reason; /* RETRY, REJECT; at most 200 bytes are kept; may be NULL */
};
/* The last known message of a claim that did not fit into one reply. */
struct store_known {
    const char *entry;
    size_t entry_len;
    struct attempts attempts;
};
/* Limits of a call: answers, answers in layout keyed, and arguments of answers, of which DONE has
 * one and others have four.  Some managed servers accept 3,999 arguments in all. */
enum { STORE_ANSWERS_MAX = 1000, STORE_ANSWERS_KEYED_MAX = 200, STORE_ANSWER_ARGS_MAX = 3800 };
struct store_consume {
    struct token token;
    int32_t n; /* messages to claim at most; 0: only settle */
    int64_t max_bytes;
    int64_t lease_ms;
    int32_t max_retries;
    uint64_t last;                      /* highest claim number known; ignored when shared */
    const char *caller;                 /* shared: its name, "w" and hex digits */
    const struct store_known *part;     /* what is known of the claim after `last`; NULL: nothing */
    uint64_t oldest;                    /* claim of which a message is in flight; or last + 1 */
    bool open;                          /* a send may claim while the caller sleeps */
    int64_t pushed_ms;                  /* Redis' time in the newest push accepted; 0: none */
    const char *passes;                 /* keys whose messages are not claimed, each as LEN:KEY */
    size_t passes_len;                  /* 0: none */
    bool repeated;                      /* an earlier try may have been executed */
    bool any;                           /* it is known for another reason not to be ordinary */
    const struct store_answer *answers; /* DONE first, then the others */
    size_t answer_count;
};
struct store_consumed {
    int64_t now_ms;
    int64_t next_ms;     /* when a claim could succeed next; -1: not by time alone */
    uint64_t claims;     /* the next `last`; if unchanged the messages are a part of a claim */
    uint64_t asleep;     /* shared, of a call that claims and has found nothing: how many sleep */
    const char *results; /* one character per answer: '1' done, '0' gone, 'u' one of the two */
    bool again;          /* more can be claimed now */
    bool paused;         /* the topic is paused: nothing was claimed */
    bool backup;         /* shared: another caller looks before next_ms */
    size_t count;        /* claimed messages */
    uint64_t expired;    /* expired messages that were found, and dropped or made dead */
};
/* Is it known not to be ordinary, so that `consume_any` must take it?  Pure. */
bool store_consume_is_any(const struct store_slot *slot, const struct store_consume *consume);
/* Calls `consume`, and `consume_any` at once or when `consume` answers that the call is not
 * ordinary.  It has written nothing then, and the outcome is that of the second call, which has the
 * same time again. */
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
    const char *body; /* its headers, as they are stored, are the header.headers_len bytes before */
    size_t body_len;
    struct header header;
};
/* Divide what is stored of a message, headers and body; false: these are no headers. */
bool store_stored_split(struct store_claimed *out, const char *stored, size_t len);
bool store_consume_known(struct store_known *out, const struct store_result *result,
                         const struct store_slot *slot, size_t index);
bool store_consume_message(struct store_claimed *out, const struct store_result *result,
                           const struct store_slot *slot, size_t index);

/* --- who sleeps --- */
/* What a slot of a shared topic says of those that sleep (lua/lib/idle.lua). */
struct store_sleepers {
    int64_t due_ms;  /* when something is due next, as far as it is known; -1: nothing is */
    bool woken;      /* one was woken, and no call has seen since that nothing more is due */
    bool listed;     /* the caller is one of those that sleep */
    int64_t look_ms; /* when the last of the others looks that look by due_ms; -1: none does */
    uint64_t asleep; /* how many sleep */
};
void store_sleepers(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                    int64_t timeout_ms);
bool store_sleepers_read(struct store_sleepers *out, const struct store_result *result,
                         const char *caller);
/* The channel on which one caller of a shared topic is woken: "wake{T_i}:NAME".  `out` has
 * STORE_CALLER_CHANNEL_MAX bytes. */
enum { STORE_CALLER_MAX = 16, STORE_CALLER_CHANNEL_MAX = SLOT_KEY_MAX + STORE_CALLER_MAX };
void store_caller_channel(char *out, const struct slot_keys *keys, const char *caller);
/* A publication there.  Returns false if it does not tell the caller to look at a later time. */
struct store_told {
    int64_t in_ms;
    bool backup; /* another one looks before: it is enough to read store_sleepers() */
};
bool store_told_read(struct store_told *out, const char *data, size_t len);

/* --- push --- */
/* A message that a send has claimed for a sleeping owner, as it was published on the wake channel
 * of its slot.  Points into the publication. */
struct store_push {
    struct token token;       /* of the owner for which it was claimed */
    int64_t now_ms, lease_ms; /* Redis' time of the claim, and its lease from then on */
    uint64_t claim;           /* its number */
    struct store_claimed message;
};
/* Read a publication.  Returns false if it is no push into such a slot; the empty one, which only
 * wakes, is none. */
bool store_push_read(struct store_push *out, const struct store_slot *slot, const char *data,
                     size_t len);

/* --- renew --- */
void store_renew_begin(struct store_call *call, const struct store_slot *slot, struct token token,
                       int64_t lease_ms);
void store_renew_add(struct store_call *call, const char *entry, size_t len); /* up to 1,000 */
void store_renew(struct store_call *call, struct redis *redis, int64_t timeout_ms);
bool store_renew_read(const char **results, const struct store_result *result, size_t count);

/* --- rights --- */
/* Which commands that the owner of this slot needs may the user not run?  It needs no definition.
 * `missing`: "ZADD,TIME"; "": there are none. */
enum { STORE_RIGHTS_MAX = 256 };
void store_rights(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                  int64_t timeout_ms);
bool store_rights_read(char *missing, size_t size, const struct store_result *result);

/* --- takeover, vacate --- */
/* The owner that takes a slot over, and the binding of the topic, which the slot stores. */
struct store_taker {
    struct token token;
    const char *name, *coord;
};
void store_takeover(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                    const struct store_taker *taker, const struct topic *topic, int64_t timeout_ms);
bool store_takeover_read(uint64_t *base, bool *more, const struct store_result *result);
void store_vacate(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                  struct token token, int64_t timeout_ms);

/* The token in a FENCED reply. */
bool store_fenced_token(struct token *out, const struct store_result *result);

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

/* --- topics that expire --- */

/* How often whoever uses such a topic marks it; and after how long without a mark, which may be
 * that much older than the last use, it is doubted that it is used. */
static inline int64_t store_use_ms(int64_t expires_ms)
{
    return expires_ms / 10;
}

static inline int64_t store_unused_ms(int64_t expires_ms)
{
    return expires_ms + store_use_ms(expires_ms);
}

/* Mark the topic as used; or ask for how long it is still to be left: 0: it may be deleted. `topic`
 * is no group.  REFUSED "DELETING". */
void store_topic_used(struct store_call *call, struct redis *redis, const char *topic,
                      const char *nonce, int64_t expires_ms, bool mark, int64_t timeout_ms);
bool store_topic_used_read(int64_t *left_ms, const struct store_result *result);

/* The list of these topics: look at one in this time; forget one; get up to STORE_DUE_MAX that are
 * to be looked at now, which no other client gets for a minute. */
enum { STORE_DUE_MAX = 16 };
void store_expiring_note(struct store_call *call, struct redis *redis, const char *topic,
                         int64_t in_ms, int64_t timeout_ms);
void store_expiring_remove(struct store_call *call, struct redis *redis, const char *topic,
                           int64_t timeout_ms);
void store_expiring_due(struct store_call *call, struct redis *redis, int64_t timeout_ms);
size_t store_expiring_due_read(char names[STORE_DUE_MAX][TOPIC_NAME_MAX + 1],
                               const struct store_result *result);

/* Read some of the keys of a server, the master of a hash slot: it looks at about STORE_SCAN_PAGE
 * of them.  `cursor` is "0" at first, and at the end. */
enum { STORE_SCAN_PAGE = 1000 };
void store_scan(struct store_call *call, struct redis *redis, int32_t hash_slot, const char *cursor,
                const char *pattern, int64_t timeout_ms);
bool store_scan_read(char cursor[STORE_CURSOR_MAX], size_t *count,
                     const struct store_result *result);
bool store_scan_key(const char **key, size_t *len, const struct store_result *result, size_t index);

enum store_lease_op { STORE_LEASE_ACQUIRE, STORE_LEASE_RENEW, STORE_LEASE_RELEASE };
void store_lease(struct store_call *call, struct redis *redis, const char *topic, const char *nonce,
                 enum store_lease_op op, const char *owner, int64_t ttl_ms, int64_t timeout_ms);
/* STORE_OK: token and remaining time; STORE_REFUSED "HELD": remaining time. */
bool store_lease_read(struct token *token, int64_t *remaining_ms,
                      const struct store_result *result);
void store_bind(struct store_call *call, struct redis *redis, const char *topic, const char *nonce,
                const char *coord, int64_t timeout_ms);
bool store_bound_read(char *out, size_t size, const struct store_result *result); /* OTHER_FLEET */

/* Bind the topic to another coordination, under a generation that is larger than any before and
 * than `above`.  REFUSED "HELD", without `force`: a process holds the lease. */
struct store_rebind {
    const char *nonce, *coord;
    uint32_t above;
    bool force;
};
void store_rebind(struct store_call *call, struct redis *redis, const char *topic,
                  const struct store_rebind *rebind, int64_t timeout_ms);

/* Change the binding of the topic from `from` to `to`, under its present generation.  REFUSED
 * "OTHER_FLEET": it is bound to neither. */
void store_follow(struct store_call *call, struct redis *redis, const char *topic,
                  const char *nonce, const char *from, const char *to, int64_t timeout_ms);

/* The owner of a slot that Redis has stored, whatever the slot's definition is. */
struct store_owner {
    struct token token; /* all zero: there is no owner */
    bool shared;
    /* time until the last lease ends; 0: nothing is claimed, or all leases have ended */
    int64_t leased_ms;
    uint32_t bound_at; /* the generation under which the slot stored its binding; 0: none */
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
    STORE_SERVER_WRITES, /* it writes nothing, and is refused where a send would be */
    STORE_SERVER_QUESTIONS
};
void store_server(struct store_call *call, struct redis *redis, int32_t hash_slot,
                  enum store_server_question question, int64_t timeout_ms);
/* All but TIME and WRITES: add what the reply says. */
bool store_server_read(struct server_facts *facts, enum store_server_question question,
                       const struct store_result *result);
bool store_server_time_read(int64_t *now_ms, const struct store_result *result);

/* --- users of Redis --- */

/* The names of all users, or of that of the client. */
void store_users(struct store_call *call, struct redis *redis, bool all, int64_t timeout_ms);
size_t store_users_count(const struct store_result *result);
bool store_users_read(const char **user, const struct store_result *result, size_t index);

/* What is asked of a user.  The reply to all but ON is a yes or what the user lacks. */
enum store_user_question {
    STORE_USER_ON,        /* may it log in? */
    STORE_USER_RUNS,      /* may it run scripts, */
    STORE_USER_WRITES,    /* write to this slot, */
    STORE_USER_PUBLISHES, /* wake its owner, */
    STORE_USER_COUNTS,    /* see whether the owner hears it? */
    STORE_USER_QUESTIONS
};
void store_user_ask(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                    const char *user, enum store_user_question question, int64_t timeout_ms);

/* false: the answer cannot be read.  `right` is what the user lacks: "" if `may` or if it is not
 * one of the last two questions; it has STORE_USER_RIGHT_MAX bytes. */
enum { STORE_USER_RIGHT_MAX = SLOT_KEY_MAX + 2 };
bool store_user_read(bool *may, char *right, const struct store_slot *slot,
                     enum store_user_question question, const struct store_result *result);

/* --- what a slot knows of its topic --- */

/* Open the slot, or bring its definition up to date.  REFUSED: "FOREIGN" (another program uses a
 * key of this name), "TAKEN" (the slot belongs to another creation that was not deleted), "GONE"
 * (this creation was deleted, or is older). */
void store_slot_open(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     const struct topic *topic, int64_t timeout_ms);
bool store_slot_open_read(bool *made, const struct store_result *result); /* the slot had no keys */

/* The key that another program uses: REFUSED "FOREIGN". */
bool store_slot_foreign_read(char key[SLOT_KEY_MAX], const struct store_result *result);

/* Read what the slot knows.  Needs only the topic's name and layout.  REFUSED "FOREIGN". */
void store_slot_read(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     int64_t timeout_ms);
/* The texts point into the reply. */
bool store_slot_notes_read(struct slot_notes *out, const struct store_result *result);

/* Store an altered definition, a pause or a resume in the slot.  STALE: the slot has a newer
 * definition; REFUSED "CHANGED": it has a later pause or resume. */
void store_slot_alter(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const struct topic *topic, int64_t timeout_ms);
void store_slot_pause(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const struct topic *topic, int64_t timeout_ms);

/* Store the binding of the topic, with its `generation`, in the slot.  REFUSED: "GONE" (the slot is
 * not open, or belongs to another creation), "CHANGED" (it has a later binding). */
void store_slot_bind(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     uint32_t generation, const char *coord, int64_t timeout_ms);

/* Seal the slot: remove its definition, with `force` also if it holds messages; `deletion` is the
 * number of the deletion.  REFUSED: "NOT_EMPTY", "GONE" (another creation), "CHANGED" (that
 * deletion was undone). */
void store_slot_seal(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     bool force, uint32_t deletion, int64_t timeout_ms);
bool store_slot_seal_read(uint64_t *messages, const struct store_result *result); /* NOT_EMPTY */

/* Unseal a slot that this deletion has sealed.  REFUSED "GONE": it has not. */
void store_slot_unseal(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       uint32_t deletion, int64_t timeout_ms);

/* Remove the keys of a slot that this deletion has sealed, a limited part per call.  REFUSED
 * "IN_USE". */
void store_slot_clear(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      uint32_t deletion, int64_t timeout_ms);
bool store_slot_clear_read(bool *more, const struct store_result *result);

/* Remove all keys of a slot that this deletion has sealed and cleared, and leave a tombstone;
 * deletion 0: any deletion, whose version of slotmq did not do that.  REFUSED "IN_USE". */
void store_slot_forget(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       uint32_t deletion, int64_t timeout_ms);

/* Remove the keys of a slot that was opened and never used.  REFUSED "GONE": it was used. */
void store_slot_remove(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       int64_t timeout_ms);

/* --- the stats of a slot --- */
enum { STORE_OWNER_MAX = 128 };
struct store_inspected {
    int64_t now_ms;
    uint64_t waiting, due, claimed, resting, dead;
    uint64_t scheduled;                 /* of those that wait, in priority topics */
    int64_t oldest_due_ms, next_due_ms; /* -1: none */
    char owner[STORE_OWNER_MAX];        /* "": none */
    char token[TOKEN_TEXT_LEN + 1];     /* "" if the topic is shared */
    uint64_t sent, merged, done, retried, rejected, expired, released, lease_lost;
    bool paused;
    uint64_t dead_rejected, dead_failed, dead_crashed, dead_timed_out, dead_expired, dead_bodiless;
    uint64_t duplicates;
};
void store_inspect(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                   int64_t timeout_ms);
bool store_inspect_read(struct store_inspected *out, const struct store_result *result);

/* --- messages of a slot --- */

/* Where a walk continues: after the message with this score and name.  name_len 0: at the first
 * message. */
struct store_position {
    const char *score;
    const char *name; /* member of the store, or entry */
    size_t name_len;
};
/* Which messages to read; empty strings and lengths of 0 mean any. */
struct store_page {
    smq_state state;
    bool scheduled; /* those that wait and are scheduled; else those that wait and are not */
    struct store_position from;
    int32_t limit;     /* messages to inspect, at most STORE_PAGE_MAX */
    int64_t max_bytes; /* about how many bytes to read; at least one message is read */
    bool bodies;       /* keyed: read the bodies, too */
    const char *member;
    size_t member_len;
    const char *contains, *reason;
    bool exact;         /* `reason` is the whole reason; "": none was given */
    const void *header; /* a header that it has, as headers_encode() writes it */
    size_t header_len;
    int64_t older_ms; /* -1: any */
};
enum { STORE_PAGE_MAX = 1000 };
/* The result of reading a page; valid only during `done`. */
struct store_paged {
    int64_t now_ms;
    char token[TOKEN_TEXT_LEN + 1]; /* "" if the topic is shared */
    bool more;                      /* there are messages after `next` */
    /* the last message inspected; if there is none, the given position */
    struct store_position next;
    size_t count;
};
void store_page(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct store_page *page, int64_t timeout_ms);
bool store_page_read(struct store_paged *out, const struct store_result *result,
                     const struct store_slot *slot, const struct store_page *page);
/* A message of a page; points into the reply. */
struct store_page_row {
    smq_state state;
    bool scheduled; /* it waits for its time, in a priority topic */
    const char *name, *score;
    size_t name_len;
    struct entry entry; /* waiting: only member and before-image */
    /* integer part of the score: time, place, end of the lease or rest, time for which it is
     * scheduled, or time of death */
    int64_t integer;
    struct attempts attempts;
    const char *reason; /* why it failed last; "": no reason.  Behind its NUL: model/tries.h */
    size_t reason_len;  /* with what is behind it */
    /* keyed */
    const char *stored; /* the first header.headers_len bytes are its headers, the rest the body */
    size_t stored_len;  /* 0: it was not read */
    struct header header; /* first_ms 0: no header is stored */
};
bool store_page_message(struct store_page_row *out, const struct store_result *result,
                        const struct store_slot *slot, const struct store_page *page, size_t index);

/* Find a message: among the waiting ones, then part by part among the claimed, the resting and the
 * dead ones. */
enum { STORE_FIND_MAX = 1000 };
struct store_find {
    const char *member;
    size_t member_len;
    bool dead; /* continue among the dead ones */
    struct store_position from;
};
struct store_found {
    int64_t now_ms;
    char token[TOKEN_TEXT_LEN + 1]; /* "" if the topic is shared */
    bool found;
    struct store_page_row row; /* if found; points into the reply */
    /* not found yet: continue with `next`, which points into the reply */
    bool more;
    struct store_find next;
};
void store_find(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct store_find *find, int64_t timeout_ms);
bool store_find_read(struct store_found *out, const struct store_result *result,
                     const struct store_slot *slot, const struct store_find *find);

/* How many waiting messages of its slot come before a message (REFUSED with status NO_MESSAGE: it
 * does not wait), and how many of another slot come before it, by its score. */
enum { STORE_SCORE_MAX = 40 };
void store_rank(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const void *member, size_t member_len, int64_t timeout_ms);
void store_rank_elsewhere(struct store_call *call, struct redis *redis,
                          const struct store_slot *slot, const char *score, int64_t timeout_ms);
bool store_rank_read(uint64_t *count, char score[STORE_SCORE_MAX],
                     const struct store_result *result);

/* --- editing --- */

/* Begin a call with one of these, add up to 1,000 names as in store_page_row, and send it.  Remove:
 * messages of one state, not claimed ones.  Requeue: dead ones. */
void store_remove_begin(struct store_call *call, const struct store_slot *slot, smq_state state,
                        bool scheduled);
void store_requeue_begin(struct store_call *call, const struct store_slot *slot);
void store_edit_add(struct store_call *call, const void *name, size_t len);
void store_edit(struct store_call *call, struct redis *redis, int64_t timeout_ms);
/* Give a waiting message another time, priority or place; `when` as for a send.  REFUSED with
 * status FULL. */
void store_reschedule(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const void *member, size_t len, const char *when, int64_t timeout_ms);
/* *results has one character per name: '1' done, '0' gone; valid only during `done`. */
bool store_edit_read(const char **results, const struct store_result *result, size_t count);

#endif
