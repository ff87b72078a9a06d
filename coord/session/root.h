/* root.h - the root of the fleet in ZooKeeper and its folders: the first member creates them, and
 * each member reads and watches them.
 *
 * The root holds the identity of the fleet and the lower bound of all tokens (its fence
 * generation).  If ZooKeeper has lost the root, a member that knows it creates it again, one
 * generation higher, because the zxids of an ensemble that lost its data are small again.
 *
 * Below: session.h, root_text.h, zookeeper_env.h.  Thread: smq:coord. */
#ifndef COORD_SESSION_ROOT_H
#define COORD_SESSION_ROOT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <slotmq/client.h>

#include "coord/coord.h"
#include "coord/node/root_text.h"
#include "coord/session/session.h"
#include "coord/session/zookeeper_env.h"

struct root_listener {
    void (*entered)(void *user); /* root_enter() has read the root */
    void (*later)(void *user);   /* root_enter() has failed: call it again after a while */
    /* this member cannot use the root */
    void (*refused)(void *user, smq_status status, const char *text);
    /* Does the member use the root that was read last?  While it enters it reads the root
     * anyway. */
    bool (*is_followed)(void *user);
    void (*changed)(void *user); /* the root was read again after a change */
    void *user;
};

/* Invariant: `info` is changed on smq:coord, while `lock` is held. */
struct root {
    const struct zookeeper_env *env;
    struct session *session;
    struct root_listener listener;
    pthread_mutex_t lock;
    struct root_info info; /* generation 0: not read yet */
    int step;              /* the step of creating the root and its folders */
    bool making;           /* a call that creates a node is in progress */
    bool entering;         /* that call is part of root_enter() */
};

/* `env` and `session` must live as long as the root. */
void root_init(struct root *root, const struct zookeeper_env *env, struct session *session,
               const struct root_listener *listener);
void root_fini(struct root *root);

/* Read the root, and create it if it is missing; then `entered`, `later` or `refused` is called. */
void root_enter(struct root *root);

/* The watch on the root fired: read the root, if the member uses it. */
void root_look_again(struct root *root);

/* A folder of the root is missing: create all missing ones. */
void root_mend(struct root *root);

/* The session has ended, so calls in progress get no reply. */
void root_expired(struct root *root);

/* The content of the root when it was read last. */
const struct root_info *root_known(const struct root *root);

/* What topics of this fleet are bound to in Redis.  Thread: any. */
void root_binding(struct root *root, char out[COORD_BINDING_MAX]);

#endif
