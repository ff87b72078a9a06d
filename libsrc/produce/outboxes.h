/* outboxes.h - the inside of a producer: sends are placed into one outbox per slot and sent in
 * requests.
 *
 * Which file calls which, lowest first: send, send_request, outbox, outbox_topic, outboxes,
 * producer.  A request tells the topic of its outbox how it ended through send_requests.ended;
 * every call from the loop ends with one turn of the outboxes, which sends what is ready.
 *
 * Thread: smq:io. */
#ifndef PRODUCE_OUTBOXES_H
#define PRODUCE_OUTBOXES_H

#include "produce/send.h"

struct outboxes;

/* These sends have ended; they belong to the callee now. */
typedef void outboxes_ended_fn(struct send_list *ended, void *user);

struct outboxes_options {
    bool no_repeat;
    int replicas; /* a send has ended only when this many have it, too */
};
struct outboxes *outboxes_new(struct core *core, const struct outboxes_options *options,
                              outboxes_ended_fn *ended, void *user);

/* Take all sends of `list` and send them, as far as their outboxes are free. */
void outboxes_add(struct outboxes *all, struct send_list *list);

/* End every send, as CLOSED or UNKNOWN; then `closed` is called, and the outboxes are freed. */
void outboxes_close(struct outboxes *all, void (*closed)(void *user), void *user);

#endif
