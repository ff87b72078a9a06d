/* listener.h - a subscription under test, which counts its notices.
 *
 * Thread: main; the notices come on the client's loop. */
#ifndef TEST_REDIS_LISTENER_H
#define TEST_REDIS_LISTENER_H

#include <stdatomic.h>

#include "client.h"

struct listener {
    struct redis_subscription subscription;
    struct client *client;
    char channel[64];
    atomic_int subscribed, messages;
    char data[64]; /* of the last notice; written by the loop before it is counted */
    /* Called on the loop after each notice was counted; NULL: nothing. */
    void (*told)(struct listener *listener, enum redis_notice notice);
    void *user;
};

/* Everything but the callback and `user`, which may be set before listener_start(). */
void listener_init(struct listener *listener, struct client *client, const char *channel);
void listener_start(struct listener *listener);
void listener_stop(struct listener *listener);

/* listener_init() and listener_start(). */
void listener_new(struct listener *listener, struct client *client, const char *channel);

/* Wait until it got this notice at least this many times. */
bool listener_wait_subscribed(struct listener *listener, int count);
bool listener_wait_messages(struct listener *listener, int count);

#endif
