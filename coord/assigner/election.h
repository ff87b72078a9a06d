/* election.h - which member is the assigner: the one that created /leader, in the epoch that the
 * same write raised.
 *
 * Below: member.h, session.h.  Thread: smq:coord. */
#ifndef COORD_ASSIGNER_ELECTION_H
#define COORD_ASSIGNER_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/member/member.h"

enum election_state {
    ELECTION_OUT,
    ELECTION_TRYING,
    ELECTION_WATCHING, /* another member is the assigner, or a node that may not be read says so */
    ELECTION_WON
};

enum { ELECTION_STATES = ELECTION_WON + 1 };

struct election_listener {
    void (*won)(void *user, int64_t epoch); /* this member is the assigner now, in this epoch */
    void (*over)(void *user);               /* this member is no longer the assigner */
    void *user;
};

struct election {
    const struct zookeeper_env *env;
    struct session *session;
    const struct member *member;
    struct election_listener listener;
    enum election_state state;
    bool busy; /* a call is in progress */
    uv_timer_t delay;
};

/* May an election go from `from` to `to`?  Pure. */
bool election_may(enum election_state from, enum election_state to);

/* The arguments must live as long as the election, which must not move in memory. */
void election_init(struct election *election, const struct zookeeper_env *env,
                   struct session *session, const struct member *member,
                   const struct election_listener *listener);
void election_stop(struct election *election);

void election_begin(struct election *election); /* this process has become a member */
/* it has reconnected, or the assigner's node changed */
void election_again(struct election *election);
void election_resign(struct election *election); /* another member has a newer epoch */
void election_expired(struct election *election);

#endif
