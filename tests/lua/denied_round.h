/* denied_round.h - what the parts of a walk share: its callers, and what they know.
 *
 * Thread: main. */
#ifndef TESTS_LUA_DENIED_ROUND_H
#define TESTS_LUA_DENIED_ROUND_H

#include "denied_walk.h"
#include "model.h"

enum { IN_FLIGHT_MAX = 128, SHARERS = 2, LEASE_MS = 1000 };

/* A claimed message, as its consumer knows it. */
struct held {
    char entry[MODEL_NAME];
    int member; /* also of one that is whole model_plain() */
    uint64_t claim;
    char op; /* the answer, once decided; 0: in work */
    int64_t delay;
    bool retried;
    int64_t until; /* the end of its lease */
    int sends;     /* of its member that were acknowledged when it came */
};

/* A consuming process.  `call` is what failed and is repeated; NULL: nothing. */
struct walker {
    bool ready;
    uint64_t token, last;
    char position[MODEL_NAME];
    int position_attempts;
    int64_t pushed, called;
    struct held in_flight[IN_FLIGHT_MAX];
    size_t count;
    struct call *call;
};

/* What the callers know of a member; of one that is whole it is that of model_plain(). */
struct fate {
    int sends;   /* acknowledged */
    int copies;  /* that may have been stored, or brought back from the dead */
    int done;    /* answers */
    int repeats; /* that an end of a lease or of an owner allows */
    bool owed;   /* was sent, and not handled since */
    bool by_hand, expires;
};

struct walk {
    struct fixture *fixture;
    struct walk_users *users;
    const struct walk_topic *topic;
    const struct walk_denial *denial;
    struct walk_hits *hits;
    struct buf *report;
    struct model *model; /* of it only what call_args() reads */
    uint64_t random;
    int64_t now;
    uint64_t tokens, sequence;
    int version; /* of the definition; some slots do not know it yet */
    int32_t max_retries;
    bool denied, calm, failed;
    struct fate fates[MODEL_MEMBERS];
    struct walker walkers[SHARERS];
};

uint64_t walk_chance(struct walk *walk, uint64_t below);
bool walk_percent(struct walk *walk, uint64_t of);
void walk_fail(struct walk *walk, const char *what, const char *of);

void walk_pass_time(struct walk *walk, int64_t ms);

/* A call with what all calls of the topic carry; the caller frees it. */
struct call *walk_new_call(struct walk *walk, enum call_kind kind, uint64_t token);

/* Runs the script for a user; `seen` gets the reply.  false: it failed, and may have done a part.
 */
bool walk_call(struct walk *walk, enum walk_role role, const struct call *call, struct buf *seen);

/* --- callers: denied_callers.c --- */

void walk_send(struct walk *walk);

/* What was pushed comes to its owner. */
void walk_hear(struct walk *walk);

/* A call that failed is repeated as it was. */
void walk_consume(struct walk *walk, struct walker *walker);
void walk_renew(struct walk *walk, struct walker *walker);

/* The owner dies with what it has.  Its last call may have settled what was handled. */
void walk_end_owner(struct walk *walk, struct walker *owner);

/* A takeover that failed, or has not given everything back, is repeated. */
void walk_take_over(struct walk *walk);

void walk_edit(struct walk *walk);

#endif
