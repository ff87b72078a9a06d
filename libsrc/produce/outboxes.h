/* outboxes.h - the part of a producer on smq:io: it puts sends into one outbox per slot and sends
 * them in requests.
 *
 * The files call each other in this order, lowest first: send, send_request, outbox, outbox_topic,
 * outboxes, producer.  A request reports its end to the topic of its outbox through
 * send_requests.ended.  Every entry from the loop ends with one turn of the outboxes, which sends
 * what is ready.
 *
 * Thread: smq:io. */
#ifndef PRODUCE_OUTBOXES_H
#define PRODUCE_OUTBOXES_H

#include "produce/send.h"

struct outboxes;

/* These sends have ended; they belong to the callback now. */
typedef void outboxes_ended_fn(struct send_list *ended, void *user);

struct outboxes_options {
    bool no_repeat;
    int64_t linger_ms; /* as in smq_producer_options; 0: no send waits for others */
    int replicas;      /* replicas that must have a message before its send is done */
};
struct outboxes *outboxes_new(struct core *core, const struct outboxes_options *options,
                              outboxes_ended_fn *ended, void *user);

/* Take over all sends of `list`, and send them as soon as their outboxes are free. */
void outboxes_add(struct outboxes *all, struct send_list *list);

/* No send up to this number waits for others any more. */
void outboxes_flush(struct outboxes *all, uint64_t number);

/* End every send with CLOSED or UNKNOWN; then call `closed`, and free the outboxes. */
void outboxes_close(struct outboxes *all, void (*closed)(void *user), void *user);

#endif
