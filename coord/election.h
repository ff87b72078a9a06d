/* election.h - who is the assigner: the creator of /leader, in the epoch that it raised by the same
 * write.
 *
 * Below: member.h, zk_session.h.  Thread: smq:coord. */
#ifndef COORD_ELECTION_H
#define COORD_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/member.h"

enum election_state {
    ELECTION_OUT,
    ELECTION_TRYING,
    ELECTION_WATCHING, /* another is the assigner */
    ELECTION_WON
};

enum { ELECTION_STATES = ELECTION_WON + 1 };

struct election_listener {
    void (*won)(void *user, int32_t epoch); /* this member is the assigner, in this epoch */
    void (*over)(void *user);               /* it no longer is */
    void *user;
};

struct election {
    const struct zookeeper_env *env;
    struct zk_session *session;
    const struct member *member;
    struct election_listener listener;
    enum election_state state;
    bool busy; /* a call is out */
    uv_timer_t delay;
};

/* May an election go from `from` to `to`?  Pure. */
bool election_may(enum election_state from, enum election_state to);

/* What is given must live as long as the election, which must stay where it is. */
void election_init(struct election *election, const struct zookeeper_env *env,
                   struct zk_session *session, const struct member *member,
                   const struct election_listener *listener);
void election_stop(struct election *election);

void election_begin(struct election *election);  /* we are a member */
void election_again(struct election *election);  /* reconnected, or the leader's node changed */
void election_resign(struct election *election); /* the epoch is another's */
void election_expired(struct election *election);

#endif
