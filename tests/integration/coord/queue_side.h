/* queue_side.h - a member for tests: one coord and a queue side that answers at once, or not.
 *
 * Thread: any. */
#ifndef INTEGRATION_COORD_QUEUE_SIDE_H
#define INTEGRATION_COORD_QUEUE_SIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "coord/coord.h"
#include "model/topic.h"

enum { WAIT_MS = 30000 };

/* Invariant: what is below `lock` is changed with it held. */
struct queue_side {
    struct coord *coord;
    const char *topic;
    pthread_mutex_t lock;
    bool owned[TOPIC_SLOTS_MAX];
    struct token tokens[TOPIC_SLOTS_MAX]; /* the largest seen of each slot */
    int32_t count;                        /* owned */
    int32_t granted, revoked, lost;       /* calls, in slots */
    int32_t token_errors;                 /* grants whose token was not larger */
    int32_t refuse;                       /* this many grants are refused */
    uint32_t floor; /* grants of a smaller generation are refused, as by a Redis that knows more */
    bool hung;      /* never releases */
    smq_status check_status; /* what Redis says of the topic and its binding when it is asked */
    const char *check_text;
    int32_t checks; /* so often it was asked */
    bool left;
    int64_t leased_until; /* of the member */
    int32_t not_released; /* slots that it, as the assigner, granted without a release */
    smq_status failed;
    char failed_text[512];
    struct loop *call;
    struct events *events;
    char said[8192]; /* a line each: warnings, errors, the first of the ZooKeeper client */
};

/* A member of the fleet at `servers`; stops the test when it cannot be made. */
struct queue_side *queue_side_new(const char *name, const char *servers, int64_t session_ms,
                                  smq_coordination_loss on_coordination_loss);
void queue_side_free(struct queue_side *side);

void queue_side_join(struct queue_side *side, const char *topic, const char *nonce, int32_t slots,
                     int64_t drain_timeout_ms);
void queue_side_leave(struct queue_side *side);

/* Read one of its numbers with the lock held. */
int32_t queue_side_count(struct queue_side *side);
int32_t queue_side_get(struct queue_side *side, const int32_t *number);
bool queue_side_left(struct queue_side *side);
bool queue_side_is_leased(struct queue_side *side);
smq_status queue_side_failed(struct queue_side *side);

/* Release what a hung side was asked to. */
void queue_side_let_go(struct queue_side *side);

/* From now on Redis says this of the topic and its binding. */
void queue_side_set_check(struct queue_side *side, smq_status status, const char *text);

/* Has a line with `words` been said?  How often? */
int queue_side_said(struct queue_side *side, const char *words);
bool queue_side_says(struct queue_side *side, const char *words);

/* Wait until it owns exactly `count` slots, or left, or failed. */
bool queue_side_owns(struct queue_side *side, int32_t count);
bool queue_side_has_left(struct queue_side *side);
bool queue_side_has_failed(struct queue_side *side);

#endif
