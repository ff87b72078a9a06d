/* outbox.h - the inside of a producer: sends are placed into one outbox per slot; an outbox has at
 * most one request on the wire, and what comes meanwhile goes together with the next.
 *
 * Order: sends of one key are stored in the order in which they were added, also when a request is
 * repeated or the topic gets another definition.
 *
 * Thread: smq:io. */
#ifndef PRODUCE_OUTBOX_H
#define PRODUCE_OUTBOX_H

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

/* One message on its way.  With a group, the send and what it points to are the waiting caller's;
 * without, they are one allocation. */
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
    smq_status status;       /* what it came to; before that, why it is not done yet */
    enum send_result result;
    bool unknown; /* a request with it was lost: it may be stored */
};
STAILQ_HEAD(send_list, send);

/* `status` is what the receipt will say if nothing ever happens to it. */
void send_init(struct send *send, const char *topic, const smq_message *message,
               int64_t deadline_ms);

struct outboxes;

/* These sends have ended; they belong to the callee now. */
typedef void outboxes_ended_fn(struct send_list *ended, void *user);

struct outboxes_options {
    bool no_repeat;
    int replicas; /* a send is done when so many have it, too */
};
struct outboxes *outboxes_new(struct core *core, const struct outboxes_options *options,
                              outboxes_ended_fn *ended, void *user);

/* Take all sends of `list` and put them on the wire, as far as their outboxes are free. */
void outboxes_add(struct outboxes *all, struct send_list *list);

/* End every send, as CLOSED or UNKNOWN; then `closed` is called, and the outboxes are gone. */
void outboxes_close(struct outboxes *all, void (*closed)(void *user), void *user);

#endif
