/* send.h - one message on its way to Redis, and how it ends.
 *
 * Thread: smq:io, unless a function says otherwise. */
#ifndef PRODUCE_SEND_H
#define PRODUCE_SEND_H

#include <sys/queue.h>

#include <slotmq/producer.h>

#include "base/waiter.h"
#include "core/core.h"
#include "model/message_id.h"
#include "model/send.h"

/* A blocking call that waits for one or more sends. */
struct send_group {
    struct waiter waiter;
    size_t first_failed; /* index of the first send that failed; SIZE_MAX: none did */
    smq_error err;       /* of that one */
};

/* What the store did with a send: a repeat cannot always tell. */
enum send_result { SEND_UNANSWERED, SEND_ADDED, SEND_MERGED, SEND_ADDED_OR_MERGED };

/* With a group, the send and what it points to belong to the waiting caller; without, they are one
 * allocation. */
struct send {
    STAILQ_ENTRY(send) link;   /* in the one list that has it now */
    TAILQ_ENTRY(send) pending; /* the producer's, under its lock */
    uint64_t number;           /* of the producer, in the order of acceptance */
    const char *topic;
    smq_message message;         /* checked by send_check() */
    char id[MESSAGE_ID_LEN + 1]; /* made for the message, which points to it; "": none was */
    int64_t deadline_ms;         /* by clock_now_ms() */
    struct send_group *group;
    size_t index; /* in the group */
    smq_sent_fn *sent;
    void *user;
    struct send_place place; /* slot -1: not placed */
    smq_status status;       /* how it ended; before that, why it has not ended yet */
    enum send_result result;
    bool unknown; /* a request with it was lost: it may be stored */
};
STAILQ_HEAD(send_list, send);

/* The sends of one producer that have ended and are not reported yet. */
struct send_sink {
    struct core *core; /* counts them, and emits their events */
    struct send_list ended;
};

/* `status` is what the receipt will say if nothing ever happens to the send.  Any thread. */
void send_init(struct send *send, const char *topic, const smq_message *message,
               int64_t deadline_ms);

/* Put the sends of `before` in front of those of `list`; `before` is empty then. */
void send_list_prepend(struct send_list *list, struct send_list *before);

/* End a send, which is in no list: put it into the sink.  `text` is for people. */
void send_end(struct send_sink *sink, struct send *send, smq_status status, const char *text);

/* End every send of the list, which is empty then. */
void send_end_list(struct send_sink *sink, struct send_list *list, smq_status status,
                   const char *text);

/* End a send whose deadline has passed.  `why`: what kept it from being sent, or NULL. */
void send_end_expired(struct send_sink *sink, struct send *send, const char *why);

/* End a send whose slot already holds its share of max_waiting. */
void send_end_full(struct send_sink *sink, struct send *send, const struct topic *topic);

/* The message of a send with a result is stored.  `status` says whether enough replicas have
 * acknowledged it. */
void send_end_stored(struct send_sink *sink, struct send *send, smq_status status,
                     const char *text);

/* Set the result from the store's answer: merged with a message that was waiting, or added. */
void send_set_result(struct send *send, bool merged);

#endif
