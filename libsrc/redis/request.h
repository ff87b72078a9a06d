/* request.h - one command, from redis_send() until its end is reported: in flight, redirected,
 * repeated, timed out.
 *
 * Thread: smq:io. */
#ifndef REDIS_REQUEST_H
#define REDIS_REQUEST_H

#include "redis/context.h"
#include "redis/deadlines.h"
#include "redis/hash_queues.h"
#include "redis/topology.h"

/* The parts that requests use. */
struct requests {
    struct context *context;
    struct topology *topology;
    struct hash_queues *queues;
    struct deadlines *deadlines;
};

/* As redis_send(). */
void request_new(struct requests *requests, struct redis_command *command);

/* Send the first request of a READY queue, or end it, or have the queue wait. */
void request_send_first(struct hash_queue *queue);

/* The time-out of a request has passed. */
void request_on_deadline(struct deadline *deadline);

#endif
