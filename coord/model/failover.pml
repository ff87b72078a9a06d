/* failover.pml - one slot and three members, which own it one after another, and a Redis whose
 * replica follows its primary later: a failover loses what the replica does not have, a token, too.
 *
 * The owner that meets a smaller token than its own takes the slot over again (slot_life_rewind()).
 * Until then the owner before it, whose token is stored again, is accepted: this is the window that
 * docs/coordination.md admits. It is over as soon as the newest owner has made one call.
 *
 * Here the assignment only counts up: each member is the owner of one epoch.
 *
 * Mutations: AT_LEAST (a stored token that is smaller is accepted: the newest owner works on
 * without a takeover, and the one before it beside it), NOT_REWOUND (an owner that meets a smaller
 * token gives the slot up, and nobody asks again), NO_WINDOW (a failover is said to open none:
 * shows that the model has the window), and those of redis.pml. */
#define PROCESSES 3
#define SLOTS 1

bool window; /* a token was lost, and the newest owner has not taken over again */

#ifndef NO_WINDOW
#define OLD_TOKEN_EXCUSED(slot) window
#endif
#include "redis.pml"

#ifndef FAILOVERS
#define FAILOVERS 2
#endif
#ifndef CALLS
#define CALLS 6
#endif

byte kept; /* the token that the replica has */
byte kept_name;
byte epoch = 1; /* granted so far: member m has epoch 1 + m */
byte failovers = FAILOVERS, calls = CALLS;
byte token[PROCESSES];
bool owned[PROCESSES], gone[PROCESSES];

proctype Member(byte m)
{
    do
    :: d_step { epoch == 1 + m && token[m] == 0 -> token[m] = epoch }
    :: d_step { !gone[m] && token[m] != 0 && !owned[m] ->
        if
        :: TAKEOVER_ACCEPTED(0, m, token[m]) ->
            take_slot(0, m, token[m]);
            owned[m] = 1;
            window = window && stored[0] < newest[0]
        :: else -> gone[m] = 1
        fi }
    :: d_step { !gone[m] && owned[m] && (calls > 0 || stored[0] != token[m]) ->
        calls = (calls > 0 -> calls - 1 : 0);
        if
        :: WRITE_ACCEPTED(0, token[m]) ->
            assert(token[m] != newest[0] || !window); /* it has taken over again before */
            write_slot(0, m, token[m])
        :: else ->
            if
            :: stored[0] < token[m] ->
#ifdef NOT_REWOUND
                gone[m] = 1
#else
                owned[m] = 0
#endif
            :: else -> gone[m] = 1 /* FENCED: it has a newer owner */
            fi
        fi }
    od
}

proctype Faults()
{
    do
    :: calls < 255 -> skip /* nothing happens */
    :: d_step { epoch < PROCESSES ->
        epoch++;
        faulty = 1 }
    :: d_step { failovers > 0 ->
        failovers--;
        faulty = 1;
        window = window || kept < newest[0];
        stored[0] = kept;
        named[0] = kept_name;
        claimed[0] = 0 }
    od
}

/* The replica receives what the primary has. */
proctype Replica()
{
    do
    :: d_step { kept != stored[0] ->
        kept = stored[0];
        kept_name = named[0] }
    od
}

init
{
    atomic {
        run Member(0);
        run Member(1);
        run Member(2);
        run Replica();
        run Faults()
    }
}

#define OWNS(m) (!gone[m] && owned[m] && token[m] == stored[0] && epoch == 1 + m)

ltl live { <>[] (OWNS(0) || OWNS(1) || OWNS(2)) }
