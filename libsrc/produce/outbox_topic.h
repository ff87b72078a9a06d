/* outbox_topic.h - one topic of a producer: its definition, its outboxes, and the sends that wait
 * for a definition.
 *
 * Sends of one key are stored in the order in which they were added, also if a request is repeated
 * or the definition of the topic changes.
 *
 * Thread: smq:io. */
#ifndef PRODUCE_OUTBOX_TOPIC_H
#define PRODUCE_OUTBOX_TOPIC_H

#include "base/hash.h"
#include "model/spread.h"
#include "produce/outbox.h"

/* Invariants: while the topic is blocked all its sends that are not in flight are in `unplaced`;
 * while it is not blocked `unplaced` is empty.  `in_flight` counts the outboxes in that
 * state. */
struct outbox_topic {
    UT_hash_handle hh;
    TAILQ_ENTRY(outbox_topic) link; /* in the list of blocked topics */
    struct outbox_topics *topics;   /* NULL: closed; the callback of the read frees it */
    bool blocked;                   /* waits for a definition */
    bool reading;
    bool known; /* `topic` and `slots` are valid */
    bool newer; /* `next` replaces `topic` as soon as nothing is in flight */
    struct topic topic, next;
    char stamp[TOPIC_STAMP_MAX];
    struct outbox **slots; /* by number; NULL: nothing was sent to the slot yet */
    struct spread spread;
    size_t in_flight;   /* requests in flight */
    int64_t checked_ms; /* when the definition was read last */
    int failures;       /* consecutive failed reads */
    int64_t read_ms;    /* while blocked and not reading: when to read again; 0: not by time */
    int64_t expire_ms;  /* no deadline in `unplaced` is earlier */
    struct send_list unplaced;
    char name[TOPIC_NAME_MAX + 1];
};
TAILQ_HEAD(outbox_topic_list, outbox_topic);

/* The topics of one producer. */
struct outbox_topics {
    struct outbox_set set;
    struct outbox_topic *table;
    struct outbox_topic *last; /* the topic that was found last */
    struct outbox_topic_list blocked;
    struct message_ids ids;
    void (*turn)(void *user); /* a definition was read, so sends may be ready */
    void *user;
};

/* Put a send into the outbox of its slot, or let it wait until the definition of its topic is
 * read. */
void outbox_topics_add(struct outbox_topics *topics, struct send *send);

/* Send the head of the queue of a READY outbox, unless all of it has expired. */
void outbox_topic_begin(struct outbox *outbox, int64_t now_ms);

/* The send_request_ended_fn of the requests; `user` of a request is its outbox. */
void outbox_topic_request_ended(struct send_request *request, enum send_request_end how,
                                const char *why);

/* The time given to outbox_set_wake_at() has come: expire sends, read definitions, end
 * back-offs. */
void outbox_topics_wake(struct outbox_topics *topics, int64_t now_ms);

/* End every send that is not in flight as CLOSED, and free all topics. */
void outbox_topics_close(struct outbox_topics *topics);

#endif
