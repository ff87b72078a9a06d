/* store.h - one typed function for each script: arguments in, checked reply out.  Here are a call
 * and its result; the functions are in the headers beside it.
 *
 * Every function fills a store_call and sends it; `done` then reads the reply with the matching
 * store_..._read(), which rejects replies of another form.  The store owns a call from when it is
 * sent until just before `done`.
 *
 * Thread: smq:io. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "model/slot.h"
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

/* What a process has noted of the claim of a slot that has been in work for longest. */
enum { STORE_OWNER_MAX = 128 };
struct store_note {
    int64_t since_ms;            /* -1: no claim is noted */
    char owner[STORE_OWNER_MAX]; /* name of the process */
    const char *entry;           /* of the claim */
    size_t entry_len;
};

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
    int64_t field_from;  /* bodies of this size and larger ones have a field of their own; 0: all */
    int64_t ttl_ms;      /* of messages of ticks that say nothing else; SMQ_NONE or 0: none */
    int64_t max_waiting; /* share of this slot; 0: no limit */
    char stamp[TOPIC_STAMP_MAX];
    struct slot_keys keys;
};
void store_slot_fill(struct store_slot *out, const struct topic *topic, int32_t slot);

#endif
