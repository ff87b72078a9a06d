/* send_request.h - one call of the send script on its way, and the wait for replicas behind it.
 *
 * A request ends those of its sends whose outcome is certain, or that may not be repeated.  It
 * tells its owner through `ended` how it ended, and the owner sends again what is left in its
 * batch.
 *
 * Thread: smq:io. */
#ifndef PRODUCE_SEND_REQUEST_H
#define PRODUCE_SEND_REQUEST_H

#include "produce/send.h"
#include "store/store.h"

enum send_request_end {
    SEND_REQUEST_DONE,    /* the store has answered, and the replicas have acknowledged */
    SEND_REQUEST_FAILED,  /* its sends have failed; none of them is repeated */
    SEND_REQUEST_REPEAT,  /* the sends of its batch have to be sent again */
    SEND_REQUEST_OUTDATED /* the same; the slot has refused the definition of the topic */
};

/* Owns the sends in `batch`. */
struct send_request {
    LIST_ENTRY(send_request) link; /* in flight, or spare */
    struct send_requests *all;     /* NULL: abandoned */
    void *user;                    /* who began it */
    const struct topic *topic;     /* stays as it is while the request is in flight */
    int32_t number;                /* of the slot */
    struct store_call call;
    struct redis_await await;
    struct store_slot slot;
    struct send_list batch;
    size_t count;
    bool repeated; /* all of its sends may be stored already; else none is */
};
LIST_HEAD(send_request_list, send_request);

/* `why` is for people; NULL unless the batch has to be sent again.  What is left in the batch
 * belongs to the callee, the request does not. */
typedef void send_request_ended_fn(struct send_request *request, enum send_request_end how,
                                   const char *why);

/* The requests of one producer. */
struct send_requests {
    struct send_sink *sink;
    bool no_repeat; /* what may be stored is not sent again */
    int replicas;   /* a send has ended only when this many have it, too */
    send_request_ended_fn *ended;
    void (*turn)(void *user); /* an answer was dealt with: some sends may have ended */
    void *user;
    struct send_request_list wire, spare;
    size_t spare_count;
    struct buf member; /* of the send that is put into a request */
};

/* Put as many sends from the head of `queue` into one request as may go together, and send it.
 * `queue` is not empty; `topic` stays as it is until the request has ended. */
void send_request_begin(struct send_requests *all, struct send_list *queue,
                        const struct topic *topic, int32_t slot, int64_t now_ms, void *user);

/* Give up every request in flight: their sends end as UNKNOWN, and `ended` is not called.  Frees
 * what the requests share. */
void send_requests_abandon(struct send_requests *all);

#endif
