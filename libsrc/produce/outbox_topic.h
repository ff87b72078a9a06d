/* outbox_topic.h - one topic as a producer sends to it: its definition, its outboxes, and the sends
 * that wait for a definition.
 *
 * Order: sends of one key are stored in the order in which they were added, also when a request is
 * repeated or the topic gets another definition.
 *
 * Thread: smq:io. */
#ifndef PRODUCE_OUTBOX_TOPIC_H
#define PRODUCE_OUTBOX_TOPIC_H

#include "base/hash.h"
#include "produce/outbox.h"

/* Invariant: while it is blocked every send of the topic that is not in flight is in `unplaced`;
 * while it is not, none is. */
struct outbox_topic {
    UT_hash_handle hh;
    TAILQ_ENTRY(outbox_topic) link; /* blocked */
    struct outbox_topics *topics;   /* NULL: closed, freed at the end of the read */
    bool blocked;                   /* waits for a definition */
    bool reading;
    bool known; /* `topic` and `slots` are valid */
    bool newer; /* `next` replaces `topic` as soon as nothing is in flight */
    struct topic topic, next;
    char stamp[TOPIC_STAMP_MAX];
    struct outbox **slots; /* NULL where nothing was sent yet */
    size_t on_wire;        /* requests */
    int64_t checked_ms;    /* when the definition was read last */
    int failures;          /* of reads, in a row */
    int64_t read_ms;       /* blocked, not reading: read again then; 0: when there is reason */
    int64_t expire_ms;     /* no deadline in `unplaced` is earlier */
    struct send_list unplaced;
    char name[TOPIC_NAME_MAX + 1];
};
TAILQ_HEAD(outbox_topic_list, outbox_topic);

/* The topics of one producer. */
struct outbox_topics {
    struct outbox_set set;
    struct outbox_topic *table;
    struct outbox_topic *last; /* found last */
    struct outbox_topic_list blocked;
    struct message_ids ids;
    void (*turn)(void *user); /* a definition was read: there may be something to send */
    void *user;
};

/* Take a send into the outbox of its slot, or have it wait for the definition of its topic. */
void outbox_topics_add(struct outbox_topics *topics, struct send *send);

/* Send the head of the queue of a READY outbox, unless all of it has expired. */
void outbox_topic_begin(struct outbox *outbox, int64_t now_ms);

/* Is set as the `ended` of the requests; `user` of a request is its outbox. */
void outbox_topic_request_ended(struct send_request *request, enum send_request_end how,
                                const char *why);

/* The time that the set asked for has come: expire sends, read definitions, end back-offs. */
void outbox_topics_wake(struct outbox_topics *topics, int64_t now_ms);

/* End every send that is not in flight as CLOSED, and free all topics. */
void outbox_topics_close(struct outbox_topics *topics);

#endif
