/* root.h - the root of the fleet in ZooKeeper and its folders: made by the first member, read and
 * watched by each.
 *
 * The root says which fleet it is (its identity) and the floor of all tokens (its fence
 * generation).  When ZooKeeper has lost the root, a member that knows it makes it again, one
 * generation higher: the zxids of an ensemble that lost its data are small again.
 *
 * Below: zk_session.h, root_text.h, zookeeper_env.h.  Thread: smq:coord. */
#ifndef COORD_ROOT_H
#define COORD_ROOT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <slotmq/client.h>

#include "coord/coord.h"
#include "coord/root_text.h"
#include "coord/zk_session.h"
#include "coord/zookeeper_env.h"

struct root_listener {
    void (*entered)(void *user); /* root_enter() has read the root */
    void (*later)(void *user);   /* root_enter() has failed, and is to be called again in a while */
    void (*refused)(void *user, smq_status status, const char *text); /* the root is not for us */
    /* Does the member go by what was read last?  While it enters it reads the root anyway. */
    bool (*is_followed)(void *user);
    void (*changed)(void *user); /* the root was read again after a change */
    void *user;
};

/* Invariant: `info` is changed with `lock` held, on smq:coord. */
struct root {
    const struct zookeeper_env *env;
    struct zk_session *session;
    struct root_listener listener;
    pthread_mutex_t lock;
    struct root_info info; /* generation 0: not read yet */
    int step;              /* of making the root and its folders */
    bool open_said;        /* that everyone may write the nodes */
    bool making;           /* a call that makes it is out */
    bool entering;         /* that call is part of root_enter() */
};

/* `env` and `session` must live as long as the root. */
void root_init(struct root *root, const struct zookeeper_env *env, struct zk_session *session,
               const struct root_listener *listener);
void root_fini(struct root *root);

/* Read the root, and make it if it is missing; then `entered`, `later` or `refused` is called. */
void root_enter(struct root *root);

/* The watch on the root fired: read it, if the member goes by it. */
void root_look_again(struct root *root);

/* A folder of the root is missing: make all of them again. */
void root_mend(struct root *root);

/* The session has ended: no call that was out is answered any more. */
void root_expired(struct root *root);

/* What was read last. */
const struct root_info *root_known(const struct root *root);

/* What topics of this fleet are bound to in Redis.  Thread: any. */
void root_binding(struct root *root, char out[COORD_BINDING_MAX]);

#endif
