/* model.h - what a slot must do, said a second time: plain structs and loops, no Redis, no Lua. The
 * randomized test holds the scripts against it.
 *
 * A model answers a call with the text that reply_format() makes of the script's reply, and shows
 * its whole state as text.
 *
 * Thread: main. */
#ifndef TESTS_LUA_MODEL_H
#define TESTS_LUA_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    MODEL_PLAIN = 12, /* the messages that there are; '!' stands for a NUL byte */
    MODEL_WHOLE = 6,  /* and of format 5, behind them */
    MODEL_TIMED = 2,  /* the last ones of these expire, so they are for kinds with times */
    MODEL_MEMBERS = MODEL_PLAIN + 2 * MODEL_WHOLE,
    MODEL_NAME = 512, /* room for a member or an entry */
    MODEL_MAX = 512,  /* of one state at a time */
    MODEL_FEW_BYTES = 12,
    MODEL_SOME_BYTES = 80, /* two small whole messages */
    MODEL_PRODUCERS = 4,
    MODEL_SLEEPERS = 8,
    MODEL_SCHEDULES = 3,
    MODEL_TEXTS = 4096, /* sends of one round */
    CALL_ITEMS_MAX = 64
};
#define MODEL_BEGIN INT64_C(1700000000000) /* when rounds begin */
extern const char *const model_members[MODEL_MEMBERS];

/* The key of a member, or its name without one; and the first member with that key. */
const char *model_key_text(int member, int *len);
int model_key(int member);

/* The counters of a slot, in the order in which inspect is asked for them. */
enum model_counter {
    MODEL_SENT,
    MODEL_MERGED,
    MODEL_DONE,
    MODEL_RETRIED,
    MODEL_REJECTED,
    MODEL_EXPIRED,
    MODEL_RELEASED,
    MODEL_LEASE_LOST,
    MODEL_DEAD_REJECTED,
    MODEL_DEAD_FAILED,
    MODEL_DEAD_CRASHED,
    MODEL_DEAD_TIMED_OUT,
    MODEL_DEAD_EXPIRED,
    MODEL_DEAD_BODILESS,
    MODEL_DUPLICATES,
    MODEL_COUNTERS
};
extern const char *const model_counters[MODEL_COUNTERS];

struct args;
void model_add_counters(struct args *args);

struct model_attempts {
    int retries;
    bool suspect;
};

/* Layout keyed: what is stored beside a member.  How many refer to it is not kept: it is the number
 * of entries, and without any there is none. */
struct model_body {
    int text; /* see model_text(); of one that is whole < 0 */
    int64_t first;
    int32_t limit;  /* of retries; -1: the topic's */
    int headers;    /* how many of its bytes are headers; 0: it has none */
    int64_t expiry; /* -1: none */
    bool joined;    /* it stands behind its header; else both have fields of their own */
};

/* Why a message failed last, and how its last tries ended, the newest first. */
struct model_tries {
    const char *reason;
    bool own; /* the newest try ended for this reason */
    int count;
    struct {
        char how;   /* t retry, x reject, l lost, h hung */
        int64_t at; /* -1: nobody knows */
        const char *text;
    } item[5];
};

/* In every state: a message that waits has `at` = time, or its place; claimed: end of the lease;
 * resting: end of the rest; scheduled: when it is due; dead: time of death. */
struct model_message {
    int member;
    int64_t at;
    struct model_attempts attempts;
    int64_t before; /* not waiting: its `at` when it was claimed */
    uint64_t claim; /* claimed, resting */
    bool resting;   /* also what is scheduled */
    bool scheduled;
    bool pushed;            /* claimed: by a send */
    struct model_tries why; /* dead */
    struct model_body body; /* dead; all others: that of the member */
    uint64_t claimed_step;
};

struct model_list {
    struct model_message item[MODEL_MAX];
    size_t count;
};

/* What a slot remembers of the last request of a producer. */
struct model_record {
    uint64_t last; /* the sequence of its last message; 0: there is no record */
    int64_t at;    /* when it was written */
    char results[CALL_ITEMS_MAX + 1];
};

/* Who sleeps in a slot of a shared topic, the one that has slept longest first. */
struct model_sleeper {
    int caller;
    int64_t told; /* when it shall look; -1: never */
};
struct model_sleepers {
    int count;
    int64_t due;      /* when something is due next, as far as it is known */
    int64_t woken_at; /* since then no call has seen that nothing is due; 0: one has */
    int woken;        /* that caller was; -1: none */
    struct model_sleeper item[MODEL_SLEEPERS];
};

/* Of one call: put a schedule ('+'), with the definition that it has ('='), or remove it ('-');
 * or make its tick: f fire, s skip, r run. */
struct call_schedule {
    int id;
    char what;
    bool paused;
    int64_t version, due, next; /* -1: never */
    /* its messages */
    int member, text;
    int32_t limit;
    const char *ttl; /* "": the topic's; "-": none; "7" */
};

struct model_schedule {
    bool stored, paused;
    int64_t version, due, ticks, last; /* -1: none */
    int64_t listed;                    /* when it is due, by the key of all; -1: it is not there */
    struct call_schedule given;
};

struct model {
    char kind;
    bool shared, keyed;
    int version; /* of the definition that the slot knows */
    bool sealed; /* it knows none any more */
    int text;    /* the version of the definition that it has as text; 0: none */
    bool paused;
    int pauses; /* and resumes, so far */
    int64_t now;
    uint64_t token; /* 0: nobody yet */
    uint64_t owner; /* its name is that of its token; 0: none */
    uint64_t bound; /* to the fleet of that token, as the slot stores it; 0: it does not */
    uint64_t base, claims, seq;
    int64_t former;         /* when the last lease of the former owner ends, if awaited; -1 */
    int64_t claimed_until;  /* the leases of the newest claim that its owner has not renewed; -1 */
    int64_t leased;         /* what the clock showed at the last lease for which others wait; -1 */
    char noted[MODEL_NAME]; /* the claim that has been in work for longest; "": none was noted */
    int64_t noted_since;    /* ... and since when it has */
    int64_t parked;         /* -1: nobody sleeps */
    struct model_sleepers sleepers; /* shared; then `parked` is -1 while somebody sleeps */
    int64_t push_lease; /* while its owner sleeps, sends may claim for it; 0: they may not */
    int64_t pushed_at;  /* a send did, and the owner has not called since; -1 */
    int64_t push_again; /* and it was woken once more; -1 */
    char published[2 * MODEL_NAME]; /* what the last send pushed; "": nothing */
    bool heard;                     /* a client listens for wake-ups */
    int wakes;                      /* that were heard, and pushes */
    uint64_t counters[MODEL_COUNTERS];
    struct model_record records[MODEL_PRODUCERS + 1]; /* by producer, which begin at 1 */
    bool swept;                                       /* there was a first record */
    struct model_list waiting, prepare, dead;
    struct model_schedule schedules[MODEL_SCHEDULES];
    int64_t first_tick; /* when the first is due, 2^53: none is; -1: there never was one */
    unsigned passes;    /* the keys that the last consume passed over */
    int stopped;        /* of the call in progress: why its claim passed over no more keys */
    bool ordinary;      /* of the call in progress: consume has answered it, not consume_any */
    int64_t due; /* the last consume says that something may be claimed then; -1: it was refused,
                  * or it is in doubt after a failover what its owner has */
    struct model_body bodies[MODEL_MEMBERS];
    struct model_tries tries[MODEL_MEMBERS]; /* stored beside it; count 0: nothing is */
    int64_t done_at[MODEL_MEMBERS]; /* what the slot remembers of ids that are done; 0: nothing */

    /* Not of the slot: for the laws that hold over all calls. */
    uint64_t step;
    uint64_t handled_step[MODEL_MEMBERS]; /* the latest claim that was answered for good */
    int64_t joined;   /* of the merges, those of two messages that the slot held both */
    int64_t dropped;  /* expired, or removed */
    bool passing;     /* the last consume let others pass what failed */
    bool strict;      /* the last takeover was */
    int64_t set_back; /* by how much the clock was, in all */
    int64_t stored_at[MODEL_TEXTS]; /* `now` and `set_back` when a send was; 0: it was not */
    bool sent_before;               /* the last send was a repeat, or late */
    bool stored_twice;              /* within the time for which the slot remembers a send */
};

enum call_kind {
    CALL_SEND,
    CALL_CONSUME,
    CALL_RENEW,
    CALL_TAKEOVER,
    CALL_VACATE,
    CALL_INSPECT,
    CALL_RANK,
    CALL_FIND,
    CALL_PAGE,
    CALL_REQUEUE,
    CALL_REMOVE,
    CALL_RESCHEDULE,
    CALL_PAUSE,
    CALL_ALTER,
    CALL_SCHEDULE_PUT,
    CALL_TICK
};

struct call_answer {
    char op; /* d done, D done with retries used, t retry, x reject, b release, h hung */
    char entry[MODEL_NAME];
    int64_t delay;
    const char *reason; /* "" none */
};

/* One call of a script with all its arguments. */
struct call {
    enum call_kind kind;
    bool other_topic; /* another creation of the topic */
    int version;
    uint64_t token; /* 0: the word for shared */
    int caller;     /* consume of a shared slot: which one, from 0 */
    int32_t n, limit, max_retries;
    int32_t max_bytes; /* MODEL_FEW_BYTES, or more than all together */
    int64_t max_waiting, debounce, dedup, field_from;
    bool skip_failed, expired_to_dead;
    bool repeated; /* an earlier try of an answer may have got through */
    bool rested;   /* consume: the caller knows of rests that may have ended */
    int producer;  /* send: 0: it has no ids */
    uint64_t sequence;
    int64_t lease;
    uint64_t last;
    char position[MODEL_NAME]; /* consume: up to this entry of the next claim is known, too; "":
                                  nothing */
    int position_attempts;
    uint64_t oldest; /* consume: claim of which the caller has a message; or last + 1 */
    bool open;       /* consume: sends may claim for it while it sleeps */
    unsigned passes; /* consume: keys that it passes over, as bits: see model_key() */
    int64_t pushed;  /* consume: the time of the newest push that it has got; 0: none */
    bool strict;     /* takeover, consume: the former owner's claims last as their leases */
    bool whole;      /* send: all of its messages are whole */
    char state;      /* remove, page: w waiting, s scheduled, r resting, d dead, page: c claimed;
                      * find: where it begins */
    bool paused;     /* pause: or not any more */
    int pauses;      /* its number */
    char noted[MODEL_NAME]; /* renew: the oldest claim of its caller, which it has had for `age` */
    int64_t age;
    struct call_schedule schedules[MODEL_SCHEDULES];
    int64_t schedule_ttl; /* tick: that of the topic; -1: none */
    size_t count;
    struct call_answer answers[CALL_ITEMS_MAX]; /* d first; entries of renew and of edits */
    struct {
        int member;
        bool relative;
        int64_t when;
        char time[32]; /* behind a priority: "@+5" or "@1700000000000"; or "" */
        int text;
        int32_t limit; /* -1: the topic's */
        int headers;   /* as in struct model_body */
        int64_t ttl;   /* -1: none */
    } sends[CALL_ITEMS_MAX];
};

/* Is it an answer of a whole message?  Are all answers of a consume that are done, and is there
 * one? */
bool call_is_whole(const struct call_answer *answer);
bool call_all_whole(const struct call *call);

/* The slot is open, and no process owns it. */
void model_init(struct model *model, char kind, bool shared, bool keyed);

/* Take the definition away; then all that the topic had in the slot. */
void model_seal(struct model *model);
void model_clear(struct model *model);

/* Do the call; `reply` gets the answer. */
void model_call(struct model *model, struct buf *reply, const struct call *call);

/* All of the state, in sorted lines. */
void model_show(struct buf *out, const struct model *model);

/* "20c17:order-7" of a claimed or resting message, "20s:order-7" of one that is scheduled. */
void model_entry(char out[MODEL_NAME], const struct model_message *message);

/* The name of a producer in send ids. */
void model_producer(char out[8], int producer);

/* The bytes of a body: some empty, some long, some with headers in front. */
void model_text(char out[MODEL_NAME], int text);

/* What is stored of the messages of a schedule, and of it but for its version; and the time with
 * which it is run, where its messages have one; -1: none. */
void model_definition(struct buf *out, const struct model *model,
                      const struct call_schedule *given);
void model_state(struct buf *out, const struct model_schedule *its);
int64_t model_run_time(const struct model *model, int id);

/* NULL, or the law that the state breaks. */
const char *model_broken_law(const struct model *model);

/* NULL, or what is wrong with the time that the last call, a consume, names as the next.  Before it
 * the caller would claim nothing if it called again, and from then on it claims something soon, or
 * gets a later time.  Of those that sleep in a shared slot one looks by then. */
const char *model_wrong_next(const struct model *model, const struct call *call);

#endif
