/* names.pml - one slot, three processes, two of which have the same name: a process that was
 * started again while the one before it still runs or is dead, and one that was given the name of
 * another by mistake. The node of a name belongs to a session; its creation gives the incarnation.
 *
 * coord/member/member.c: who finds the node of its name in other hands replaces it (deletes that
 * version and creates its own, in one write) when that process is proven dead, else it waits, and
 * gives up after a while. Who finds that its own node is another's has lost all slots, and enters anew.
 *
 * Once in a run the proof may be wrong. Then a living process loses its node, and works until its
 * next heartbeat shows it.
 *
 * Mutations: BY_NAME (the assignment names members by their names, not by their incarnations),
 * NO_PROOF (a process takes its name from a living one, too), NAME_KEPT (a process that is
 * proven dead is also waited for, and its session never ends), and those of redis.pml. */
#define PROCESSES 3
#define SLOTS 1
#define NAME_OF(process) (1 + (process) / 2) /* 0 and 1 have one name, 2 has another */
#include "redis.pml"

#define NAMES 2
#define NODE(process) ((process) / 2)
#define NOBODY 255

#define OUT 0
#define IN 1
#define REFUSED 2 /* the name is a living process's */
#define DEAD 3

#ifndef WRONG_PROOFS
#define WRONG_PROOFS 1
#endif
#ifndef EXPIRIES
#define EXPIRIES 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef CALLS
#define CALLS 2
#endif

byte zxid = 1;
byte keeper[NAMES] = NOBODY; /* whose session has the node of the name */
byte created[NAMES];         /* its czxid */
byte version;                /* mzxid of the assignment */
byte entry, listed;          /* the owner by incarnation, and by 1 + its name; 0: nobody */

byte member[PROCESSES];      /* OUT, IN, ... */
byte incarnation[PROCESSES]; /* 0: not IN */
byte token[PROCESSES];       /* 0: the slot is not ours */
bool owned[PROCESSES];       /* Redis has accepted the token */
byte seen[PROCESSES];
byte wrong = WRONG_PROOFS, expiries = EXPIRIES, deaths = DEATHS, calls = CALLS;

#ifdef BY_NAME
#define IS_MINE(p) (listed == 1 + NODE(p))
#else
#define IS_MINE(p) (entry == incarnation[p])
#endif

#define HAS_NODE(p) (keeper[NODE(p)] == (p) && created[NODE(p)] == incarnation[p])

/* What may replace the node: the proof that its process is dead, right or wrong. */
#ifdef NO_PROOF
#define PROVEN(p) true
#elif defined(NAME_KEPT)
#define PROVEN(p) false
#else
#define PROVEN(p) (member[keeper[NODE(p)]] == DEAD || wrong > 0)
#endif

inline enter(p)
{
    zxid++;
    keeper[NODE(p)] = p;
    created[NODE(p)] = zxid;
    incarnation[p] = zxid;
    member[p] = IN
}

inline lose(p)
{
    member[p] = OUT;
    incarnation[p] = 0;
    token[p] = 0;
    owned[p] = 0;
    seen[p] = 0
}

proctype Process(byte p)
{
    do
    :: d_step { member[p] == OUT && keeper[NODE(p)] == NOBODY -> enter(p) }
    :: d_step { member[p] == OUT && keeper[NODE(p)] != NOBODY && keeper[NODE(p)] != p &&
                PROVEN(p) ->
        if
        :: member[keeper[NODE(p)]] != DEAD ->
            wrong = (wrong > 0 -> wrong - 1 : 0);
            faulty = 1
        :: else
        fi;
        enter(p) }
    :: d_step { member[p] == OUT && keeper[NODE(p)] != NOBODY && keeper[NODE(p)] != p &&
                member[keeper[NODE(p)]] == IN && !owned[p] ->
        member[p] = REFUSED }
    /* the heartbeat, or the end of the session */
    :: d_step { member[p] == IN && !HAS_NODE(p) -> lose(p) }
    :: d_step { member[p] == IN && seen[p] != version ->
        seen[p] = version;
        if
        :: IS_MINE(p) && token[p] == 0 -> token[p] = version
        :: !IS_MINE(p) ->
            token[p] = 0;
            owned[p] = 0
        :: else
        fi }
    :: d_step { member[p] == IN && token[p] != 0 && !owned[p] ->
        if
        :: TAKEOVER_ACCEPTED(0, p, token[p]) ->
            take_slot(0, p, token[p]);
            owned[p] = 1
        :: else ->
            token[p] = 0;
            seen[p] = 0
        fi }
    :: d_step { member[p] == IN && owned[p] && (calls > 0 || stored[0] != token[p]) ->
        calls = (calls > 0 -> calls - 1 : 0);
        if
        :: WRITE_ACCEPTED(0, token[p]) -> write_slot(0, p, token[p])
        :: else ->
            token[p] = 0;
            owned[p] = 0;
            seen[p] = 0
        fi }
    :: member[p] >= REFUSED -> break
    od
}

/* A slot whose owner's node is gone, or that has none, is granted to who is there, by preference to
 * the one that had its name. */
#define THERE(n) (keeper[n] != NOBODY)
#define IS_FREE (!(THERE(0) && created[0] == entry) && !(THERE(1) && created[1] == entry))

proctype Assigner()
{
    do
    :: d_step { IS_FREE && (THERE(0) || THERE(1)) ->
        if
        :: THERE(0) && (listed == 1 || !THERE(1)) ->
            entry = created[0];
            listed = 1
        :: else ->
            entry = created[1];
            listed = 2
        fi;
        zxid++;
        version = zxid }
    od
}

/* The sessions of the dead end. */
proctype Sessions()
{
    do
    :: d_step { keeper[0] != NOBODY && member[keeper[0]] == DEAD -> keeper[0] = NOBODY }
    od
}

/* Process 0 dies; the session of a living process ends. */
proctype Faults()
{
    do
    :: zxid < 255 -> skip /* nothing happens */
    :: d_step { deaths > 0 && member[0] == IN ->
        deaths--;
        faulty = 1;
        member[0] = DEAD }
    :: d_step { expiries > 0 && keeper[0] != NOBODY && member[keeper[0]] == IN ->
        expiries--;
        faulty = 1;
        keeper[0] = NOBODY }
    od
}

init
{
    atomic {
        keeper[0] = NOBODY;
        keeper[1] = NOBODY;
        run Process(0);
        run Process(1);
#ifdef WITH_OTHER
        run Process(2);
#endif
        run Assigner();
#ifndef NAME_KEPT
        run Sessions();
#endif
        run Faults()
    }
}

#define OWNS(p) \
    (member[p] == IN && HAS_NODE(p) && owned[p] && token[p] == stored[0] && entry == incarnation[p])

#ifdef WITH_OTHER
#define NOBODY_LEFT (member[0] >= REFUSED && member[1] >= REFUSED && member[2] >= REFUSED)
#else
#define NOBODY_LEFT (member[0] >= REFUSED && member[1] >= REFUSED)
#endif

ltl live { <>[] (OWNS(0) || OWNS(1) || OWNS(2) || NOBODY_LEFT) }
