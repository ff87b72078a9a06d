/* consume.h - claiming and settling, who sleeps until messages are due, and what is
 * pushed to a sleeping owner.
 *
 * Thread: smq:io. */
#ifndef STORE_CONSUME_H
#define STORE_CONSUME_H

#include <slotmq/message.h>

#include "model/entry.h"
#include "model/header.h"
#include "model/token.h"
#include "store/store.h"

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
    bool rested;                        /* rests may have ended */
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
    int64_t tick_ms;     /* when the first schedule of the slot is due; -1: it never had one */
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
/* Fill in header, headers and body of a message of layout keyed whose entry is known: from what is
 * stored beside it, or of a whole one, which has an empty header, from its entry.  false: they are
 * malformed. */
bool store_claimed_fill(struct store_claimed *out, const struct store_slot *slot,
                        const smq_bytes *header, const smq_bytes *stored);
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

#endif
