/* denied_walk.h - a walk: random calls of senders, owners and an editor of one slot, as the library
 * makes them, while the user of one of them may not run a command for some calls.
 *
 * An owner repeats a call that failed, or it dies, and the next one takes over.  A send that failed
 * is not repeated, and its messages may be stored or not, as its receipt says.  After each call
 * every message that waits, is claimed or rests must have its body, and every body its messages.
 * In the end, when all may do everything again and what is left has been handled, nothing that was
 * acknowledged may be lost, nothing dead by mistake, and nothing done twice of which neither the
 * lease nor the owner ended in between.
 *
 * Thread: main. */
#ifndef TESTS_LUA_DENIED_WALK_H
#define TESTS_LUA_DENIED_WALK_H

#include "fixture.h"

/* What a user may do is its own: the three may differ. */
enum walk_role { WALK_SENDER, WALK_OWNER, WALK_EDITOR, WALK_ROLES };
extern const char *const walk_roles[WALK_ROLES];

struct walk_topic {
    const char *name;
    char kind;
    bool keyed, shared, skip_failed, expired_to_dead, strict;
    int64_t dedup, max_waiting, debounce;
};

struct walk_denial {
    enum walk_role role;
    const char *command; /* "zrem", "pubsub|shardnumsub" */
    int key;             /* an enum fixture_key; -1: with every key */
};

/* Of the walks so far, how many calls of a script failed for want of a command with a key. */
struct walk_hit {
    char script[24], command[24];
    int key;
    int count;
};
enum { WALK_HITS_MAX = 512 };
struct walk_hits {
    struct walk_hit hit[WALK_HITS_MAX];
    size_t count;
};

/* The connections of the users, which exist as long as the fixture. */
struct walk_users {
    redisContext *connection[WALK_ROLES];
};
void walk_users_init(struct walk_users *users, struct fixture *fixture);
void walk_users_fini(struct walk_users *users);

/* With a key: the command is taken away, and given back with all other keys. */
void walk_deny(struct fixture *fixture, const struct walk_denial *denial);
void walk_allow(struct fixture *fixture, const struct walk_denial *denial);

/* One walk from `seed`.  false: something is broken; `report` says what, and after which calls. */
bool walk_run(struct fixture *fixture, struct walk_users *users, const struct walk_topic *topic,
              const struct walk_denial *denial, uint64_t seed, struct walk_hits *hits,
              struct buf *report);

#endif
