/* duel_round.h - one round of a duel: the two sides, the chances, and who plays.
 *
 * Thread: main. */
#ifndef TESTS_LUA_DUEL_ROUND_H
#define TESTS_LUA_DUEL_ROUND_H

#include "duel.h"

enum { HAND_MAX = 256, LATE_MAX = 8, SHARERS = 3 };

/* A claimed message, as its consumer knows it. */
struct held {
    char entry[64];
    char op; /* the answer, once decided: a repeated call must give the same one; 0: in work */
    int64_t delay;
    const char *reason;
    bool retried; /* retries were used when it came */
    bool sent;    /* an answer went out whose outcome is not known */
};

/* A consuming process.  `last` is the highest claim number of which it knows all; of the next it
 * knows those up to `position`. */
struct consumer {
    bool ready;
    uint64_t token;
    uint64_t last;
    char position[64];
    int position_attempts;
    struct held hand[HAND_MAX];
    size_t count;
};

/* What a version of the topic's definition says of its slots. */
struct definition {
    int version;
    int32_t max_retries;
    int64_t max_waiting, debounce;
    bool skip_failed, expired_to_dead;
};

/* One round: one slot, from its opening until it is empty. */
struct duel {
    struct fixture *fixture;
    const char *const *scripts;
    const char *kinds;
    struct buf *report;
    struct model *model;
    uint64_t random;
    bool strict, faults;
    struct definition definition;
    int64_t lease;
    int32_t max_bytes;
    uint64_t members;                   /* that are sent */
    int texts;                          /* bodies that were sent */
    uint64_t tokens;                    /* given out */
    struct consumer consumers[SHARERS]; /* exclusive: the owner, then the one before */
    int pauses;                         /* and resumes, that were begun */
    struct call late[LATE_MAX];
    size_t late_count;
    uint64_t sent_step[MODEL_MEMBERS];
    bool failed;
};

uint64_t chance(struct duel *duel, uint64_t below);
bool percent(struct duel *duel, uint64_t of);

void fail_duel(struct duel *duel, const char *what);

/* --- both sides: duel_call.c --- */

/* Do the call on both sides and compare; `seen` gets the reply. */
void execute(struct duel *duel, const struct call *call, struct buf *seen);

/* Run a script that the model has no call for; `seen` gets the reply. */
void run_script(struct duel *duel, const char *name, struct args *args, struct buf *seen);

/* Open the slot, and look at all of it. */
void open_slot(struct duel *duel);
void compare_now(struct duel *duel);

/* --- players: duel_play.c --- */

/* A call that came late comes now. */
void run_late(struct duel *duel);

/* A call with what all of its caller's calls carry. */
struct call *new_call(struct duel *duel, enum call_kind kind, uint64_t token);

/* It arrives once, twice, late or not at all. */
void send_through(struct duel *duel, const struct call *call, struct buf *seen);

void fill_sends(struct duel *duel, struct call *call);
void send_some(struct duel *duel);
void consume(struct duel *duel, struct consumer *consumer);
void renew(struct duel *duel, const struct consumer *consumer);

/* Until it is complete; now and then the new owner dies on the way. */
void take_over(struct duel *duel);

/* --- who looks after the topic: duel_admin.c --- */

void new_definition(struct duel *duel);
void look_after(struct duel *duel);

/* The owner before goes on as if nothing had happened. */
void zombie_calls(struct duel *duel);

/* A slot that is paused goes on. */
void resume(struct duel *duel);

/* The topic is deleted, whatever it holds; those who do not know yet are refused. */
void delete_topic(struct duel *duel);

#endif
