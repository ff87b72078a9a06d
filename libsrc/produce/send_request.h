/* send_request.h - one call of the script `send`, and the wait for replicas after it.
 *
 * A request ends those of its sends whose outcome is certain, or which may not be repeated.  Then
 * it reports through `ended` how it ended, and its owner sends again what is left in its batch.
 *
 * Thread: smq:io. */
#ifndef PRODUCE_SEND_REQUEST_H
#define PRODUCE_SEND_REQUEST_H

#include "produce/send.h"
#include "store/store.h"

enum send_request_end {
    SEND_REQUEST_DONE,    /* Redis has replied, and the replicas have acknowledged */
    SEND_REQUEST_FAILED,  /* its sends have failed, and none is repeated */
    SEND_REQUEST_REPEAT,  /* the sends in its batch must be sent again */
    SEND_REQUEST_OUTDATED /* as REPEAT, because the slot refused the definition */
};

/* Owns the sends in `batch`. */
struct send_request {
    LIST_ENTRY(send_request) link; /* in the list of those in flight, or of spare ones */
    struct send_requests *all;     /* NULL: abandoned */
    void *user;                    /* set by its owner */
    const struct topic *topic;     /* unchanged while the request is in flight */
    int32_t number;                /* the slot */
    struct store_call call;
    struct redis_await await;
    struct store_slot slot;
    struct send_list batch;
    size_t count;
    uint64_t sequence; /* of the first send; those behind it have the next ones */
    int64_t begun_us;  /* by clock_now_us() */
};
LIST_HEAD(send_request_list, send_request);

/* `why` is for people; it is NULL unless the batch must be sent again.  The sends left in the batch
 * belong to the callback, the request does not. */
typedef void send_request_ended_fn(struct send_request *request, enum send_request_end how,
                                   const char *why);

enum { SEND_PRODUCER_LEN = 16 };

/* The requests of one producer.  No slot has more than one of them in flight, so it is enough that
 * Redis remembers the last one of each. */
struct send_requests {
    struct send_sink *sink;
    bool no_repeat; /* sends that may be stored are not repeated, and need no send ids */
    char producer[SEND_PRODUCER_LEN + 1]; /* the name of this producer in its send ids */
    uint64_t last_sequence;               /* given to a send of this producer */
    int replicas; /* replicas that must have a message before its send is done */
    send_request_ended_fn *ended;
    void (*turn)(void *user); /* a reply was handled, so sends may have ended */
    void *user;
    struct send_request_list wire, spare;
    size_t spare_count;
    struct buf member; /* scratch for the member of the send that is added to a request */
    struct buf stored; /* scratch for its headers and its body, if it has headers */
};

/* Put sends from the head of `queue` into one request, as many as fit, and send it.  `queue` is not
 * empty; `topic` must not change until the request has ended. */
void send_request_begin(struct send_requests *all, struct send_list *queue,
                        const struct topic *topic, int32_t slot, int64_t now_us, void *user);

/* Abandon every request in flight: its sends end with UNKNOWN, and `ended` is not called.  Frees
 * what the requests share. */
void send_requests_abandon(struct send_requests *all);

#endif
