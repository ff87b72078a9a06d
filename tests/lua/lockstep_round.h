/* lockstep_round.h - one round of calls: the two sides, the chances, and who calls.
 *
 * Thread: main. */
#ifndef TESTS_LUA_LOCKSTEP_ROUND_H
#define TESTS_LUA_LOCKSTEP_ROUND_H

#include "lockstep.h"

enum { IN_FLIGHT_MAX = 256, LATE_MAX = 8, SHARERS = 3, PUSHES_MAX = 4 };

/* A claimed message, as its consumer knows it. */
struct held {
    char entry[MODEL_NAME];
    char op; /* the answer, once decided: a repeated call must give the same one; 0: in work */
    int64_t delay;
    const char *reason;
    bool retried; /* retries were used when it came */
    bool sent;    /* an answer went out whose outcome is not known */
};

/* A push on its way to its owner, as many times as it arrives. */
struct pushed {
    uint64_t token, claim;
    int64_t at;
    char entry[MODEL_NAME];
    bool undone; /* a failover has lost it */
};

/* A consuming process.  `last` is the highest claim number of which it knows all; of the next it
 * knows those up to `position`. */
struct consumer {
    bool ready;
    uint64_t token;
    uint64_t last;
    char position[MODEL_NAME];
    int position_attempts;
    int64_t pushed;       /* the time of the newest push that it has got; 0: none */
    int64_t called;       /* Redis' time in the newest reply that it has seen */
    char got[MODEL_NAME]; /* the newest push that it has got */
    bool got_undone;      /* a failover had lost that push */
    struct held in_flight[IN_FLIGHT_MAX];
    size_t count;
};

/* What a version of the topic's definition says of its slots. */
struct definition {
    int version;
    int32_t max_retries;
    int64_t max_waiting, debounce, dedup, field_from;
    bool skip_failed, expired_to_dead;
};

/* One round: one slot, from its opening until it is empty. */
struct round {
    struct fixture *fixture;
    const char *const *scripts;
    const char *kinds;
    struct buf *report;
    struct model *model;
    uint64_t random;
    bool strict, faults;
    bool pushing; /* owners sleep open for pushes, and Redis fails over */
    bool scheduling;
    bool calm; /* messages come one by one, and mostly go well: their owner often sleeps */
    struct definition definition;
    int64_t lease;
    int32_t max_bytes;
    bool whole;                         /* messages that are whole are sent, too */
    uint64_t members;                   /* that are sent, of those that are not */
    int texts;                          /* bodies that were sent */
    uint64_t tokens;                    /* given out */
    uint64_t sequence;                  /* of the last send that has an id, of any producer */
    struct consumer consumers[SHARERS]; /* exclusive: the owner, then the one before */
    int pauses;                         /* and resumes, that were begun */
    struct call late[LATE_MAX];
    size_t late_count;
    uint64_t sent_step[MODEL_MEMBERS];
    struct pushed pushes[PUSHES_MAX];
    size_t push_count;
    int woken;                /* wake-ups that were looked at already */
    struct snapshot *replica; /* the slot as it was, for a failover; NULL: none */
    uint64_t ordinary, any;   /* calls of consume that it has taken, and that it has not */
    bool failed;
};

uint64_t round_chance(struct round *round, uint64_t below);
bool round_percent(struct round *round, uint64_t of);

void round_fail(struct round *round, const char *what);

/* --- both sides: lockstep_call.c --- */

/* Do the call on both sides and compare; `seen` gets the reply. */
void round_execute(struct round *round, const struct call *call, struct buf *seen);

/* Run a script that the model has no call for; `seen` gets the reply. */
void round_run_script(struct round *round, const char *name, struct args *args, struct buf *seen);

/* Open the slot, and look at all of it. */
void round_open_slot(struct round *round);
void round_compare(struct round *round);

/* --- callers: lockstep_callers.c --- */

/* A call that came late comes now. */
void round_run_late(struct round *round);

/* A call with what all of its caller's calls carry. */
struct call *round_new_call(struct round *round, enum call_kind kind, uint64_t token);

/* It arrives once, twice, late or not at all. */
void round_send_through(struct round *round, const struct call *call, struct buf *seen);

void round_choose_time(char time[32], struct round *round);
/* A member, also of a message that is whole, or was. */
int round_choose_member(struct round *round);
void round_fill_sends(struct round *round, struct call *call);
void round_send_some(struct round *round);
void round_consume(struct round *round, struct consumer *consumer);
void round_renew(struct round *round, const struct consumer *consumer);

/* Until it is complete; now and then the new owner dies on the way. */
void round_take_over(struct round *round);

/* The last send has pushed a message: it is in flight. */
void round_hear_push(struct round *round);
/* Some of what was pushed arrives, twice, or never. */
void round_deliver_pushes(struct round *round);

/* --- failovers and losses: lockstep_failover.c --- */

/* A replica has the slot as it is now.  Later the slot is as the replica has it, and its owner goes
 * on with what it knows; or the replica is given up. */
void round_note_replica(struct round *round);
void round_fail_over(struct round *round);
void round_drop_replica(struct round *round);

/* The slot loses its keys, and is opened again. */
void round_lose_slot(struct round *round);

/* --- who looks after the topic: lockstep_admin.c --- */

void round_new_definition(struct round *round);
void round_look_after(struct round *round);

/* A schedule is put or removed, or ticks are made: lockstep_schedule.c. */
void round_schedule(struct round *round);

/* The owner before continues as if nothing had happened. */
void round_former_owner_calls(struct round *round);

/* A slot that is paused continues. */
void round_resume(struct round *round);

/* The topic is deleted, whatever it holds; those who do not know yet are refused. */
void round_delete_topic(struct round *round);

#endif
