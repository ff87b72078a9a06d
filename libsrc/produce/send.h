/* send.h - one message on its way to Redis, and how its send ends.
 *
 * Thread: smq:io, except where a function says otherwise. */
#ifndef PRODUCE_SEND_H
#define PRODUCE_SEND_H

#include <sys/queue.h>

#include <slotmq/producer.h>

#include "base/waiter.h"
#include "core/core.h"
#include "model/message_id.h"
#include "model/send.h"
#include "produce/send_hooks.h"

/* A blocking call that waits for one or more sends. */
struct send_group {
    struct waiter waiter;
    size_t first_failed; /* index of the first failed send; SIZE_MAX: none */
    smq_error err;       /* why that send failed */
};

/* What Redis did with a send. */
enum send_result { SEND_UNANSWERED, SEND_ADDED, SEND_MERGED };

/* With a group the send and what it points to belong to the waiting caller; without one they are a
 * single allocation. */
struct send {
    STAILQ_ENTRY(send) link;   /* in the one list that holds the send now */
    TAILQ_ENTRY(send) pending; /* in the producer's list, under its lock */
    uint64_t number;           /* number within the producer, in the order of acceptance */
    const char *topic;
    struct message message;      /* checked by send_check() */
    char id[MESSAGE_ID_LEN + 1]; /* made by the library, and message.id points to it; "": none */
    int64_t deadline_ms;         /* by clock_now_ms() */
    int64_t made_us;             /* by clock_now_us(); 0: it was in a request */
    struct send_group *group;
    size_t index; /* in the group */
    smq_sent_fn *sent;
    void *user;
    struct send_place place; /* slot -1: not placed */
    smq_status status;       /* how the send ended; before that, why it has not ended yet */
    char *text;              /* without a group: why it failed; NULL: it has not */
    enum send_result result;
    bool unknown;      /* the reply to a request with it was lost: it may be stored */
    int cuts;          /* how often the connection ended while a request with it was in flight */
    uint64_t sequence; /* its send id in the request; 0 after a request that was not executed */
    struct send_hooks hooks;
};
STAILQ_HEAD(send_list, send);

/* The sends of one producer that have ended and are not reported yet. */
struct send_sink {
    struct core *core; /* counts the sends and emits their events */
    struct send_list ended;
};

/* `status` is the status of the receipt if the send is never tried.  Thread: any. */
void send_init(struct send *send, const char *topic, const struct message *message,
               int64_t deadline_ms);

/* A send without a group, in one allocation with everything that it points to; NULL: there is no
 * memory.  Thread: any. */
struct send *send_copy(const char *topic, const struct message *message, int64_t deadline_ms);

/* A send whose outcome is not known is repeated for this long at most, from its first request on:
 * for less than the hour for which the script `send` remembers a request (lua/lib/forget.lua). */
enum { SEND_REPEAT_MAX_MS = 30 * 60 * 1000 };

/* Free a send without a group, or NULL.  Thread: any. */
void send_free(struct send *send);

/* The send was in a request that left at `begun_ms`, whose outcome is not known. */
void send_doubt(struct send *send, int64_t begun_ms);

/* Put the sends of `before` in front of those of `list`, and empty `before`. */
void send_list_prepend(struct send_list *list, struct send_list *before);

/* End a send that is in no list: put it into the sink.  `text` is for people. */
void send_end(struct send_sink *sink, struct send *send, smq_status status, const char *text);

/* End every send of the list, and empty it. */
void send_end_list(struct send_sink *sink, struct send_list *list, smq_status status,
                   const char *text);

/* End a send whose deadline has passed.  `why` is what prevented it, or NULL. */
void send_end_expired(struct send_sink *sink, struct send *send, const char *why);

/* End a send whose slot already holds its share of max_waiting.  `part` is the topic or the group
 * that is full. */
void send_end_full(struct send_sink *sink, struct send *send, const struct topic *part);

/* End a send that was refused as a duplicate. */
void send_end_duplicate(struct send_sink *sink, struct send *send);

/* End a send with a result, whose message is stored.  `status` says whether enough replicas have
 * acknowledged it. */
void send_end_stored(struct send_sink *sink, struct send *send, smq_status status,
                     const char *text);

#endif
