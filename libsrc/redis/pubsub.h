/* pubsub.h - sharded subscriptions that are kept: one more connection to each node that has some.
 *
 * Thread: smq:io. */
#ifndef REDIS_PUBSUB_H
#define REDIS_PUBSUB_H

#include <sys/queue.h>

#include <uv.h>

#include "redis/context.h"
#include "redis/topology.h"

struct pubsub_link;
struct pubsub_channel;

struct pubsub {
    struct context *context;
    struct topology *topology;
    struct pubsub_link *links;         /* by node name */
    struct pubsub_channel *channels;   /* by channel */
    TAILQ_HEAD(, pubsub_channel) idle; /* to be subscribed */
    uv_timer_t timer;                  /* sends pings and repeats failed subscriptions */
};

void pubsub_init(struct pubsub *pubsub, struct context *context, struct topology *topology);

/* End all subscriptions without a notice. */
void pubsub_stop(struct pubsub *pubsub);

/* As redis_subscribe(). */
void pubsub_subscribe(struct pubsub *pubsub, struct redis_subscription *subscription);

/* How long a connection brings nothing before it is asked whether it lives, when it serves nobody
 * who is fewer than so many: of those about one asks in each second. */
int64_t pubsub_ping_ms(uint64_t peers);

/* The slot map has changed: move subscriptions that are on the wrong node. */
void pubsub_reroute(struct pubsub *pubsub);

#endif
