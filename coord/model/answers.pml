/* answers.pml - one slot at one member, between its two threads: smq:coord
 * (coord/member/ownership_slots.c) tells smq:io (libsrc/consume/slot/) what is granted, revoked and
 * lost, smq:io answers with the token of the grant that it means. What is said in one direction
 * arrives in its order, and later.
 *
 * Assignments come in any order that a fleet can have. Redis accepts a takeover or refuses it, and
 * may fence an owner at any time.
 *
 * What the member's node acknowledges is what smq:coord believes, so this must hold: when it has
 * the slot in IDLE, and nothing that it said is on its way, smq:io does not work on the slot. And
 * when nothing happens any more, both believe the same.
 *
 * Mutation: TOKEN_IGNORED (an answer is taken for one about the present grant). */
#ifndef VERSIONS
#define VERSIONS 5
#endif

mtype = { granted, revoked, dropped, acquired, refusing, released };

chan notices = [4] of { mtype, byte };
chan answers = [4] of { mtype, byte };

/* smq:coord: enum slot_state */
#define IDLE 0
#define ACQUIRING 1
#define OWNED 2
#define STOPPING 3
byte state, token;
bool is_granted, is_refused;
byte version = 1;

/* smq:io: enum owned_state; a takeover that is revoked ends as a vacation */
#define ACTIVE 4
#define VACATING 5
byte work, its_token;
bool is_counted_on, is_awaited; /* slot->granted, slot->revoked */

#ifdef TOKEN_IGNORED
#define IS_MEANT(its) true
#else
#define IS_MEANT(its) ((its) == token)
#endif

inline hear(what, its)
{
    if
    :: state == IDLE || !IS_MEANT(its) -> skip
    :: else ->
        if
        :: what == acquired -> state = (state == ACQUIRING -> OWNED : state)
        :: else ->
            state = IDLE;
            token = 0;
            is_refused = is_granted
        fi
    fi
}

/* ownership_apply() of an assignment in which the slot is ours, is nobody's or being revoked from
 * us, or is another's */
proctype Coord()
{
    byte its;
    mtype what;

    do
    :: atomic { version < VERSIONS && nfull(notices) ->
        version++;
        if
        :: is_granted = 1
        :: is_granted = 0;
           is_refused = 0;
           if
           :: state == ACQUIRING || state == OWNED ->
               state = STOPPING;
               notices ! revoked(0)
           :: else
           fi
        :: is_granted = 0;
           is_refused = 0;
           if
           :: state != IDLE ->
               state = IDLE;
               token = 0;
               notices ! dropped(0)
           :: else
           fi
        fi }
    :: atomic { is_granted && !is_refused && state == IDLE && nfull(notices) ->
        state = ACQUIRING;
        version++;
        token = version;
        notices ! granted(token) }
    :: atomic { version < VERSIONS && is_refused -> is_refused = 0 } /* the back-off is over */
    :: atomic { nempty(answers) ->
        answers ? what, its;
        hear(what, its);
        its = 0;
        what = 0 }
    od
}

/* slot_life_release() */
inline release()
{
    if
    :: is_awaited ->
        is_counted_on = 0;
        is_awaited = 0;
        answers ! released(its_token)
    :: else
    fi
}

proctype Io()
{
    byte its;
    mtype what;

    do
    :: atomic { nfull(answers) && nempty(notices) ->
        notices ? what, its;
        if
        :: what == granted -> /* slot_life_grant() */
            work = ACQUIRING;
            its_token = its;
            is_counted_on = 1;
            is_awaited = 0
        :: what == revoked -> /* slot_life_revoke() */
            is_awaited = 1;
            if
            :: work == IDLE -> release()
            :: work == ACQUIRING -> work = VACATING
            :: work == ACTIVE -> work = STOPPING
            :: else
            fi
        :: what == dropped -> /* slot_life_lost() */
            is_counted_on = 0;
            is_awaited = 0;
            work = IDLE
        fi;
        its = 0;
        what = 0 }
    :: atomic { work == ACQUIRING && nfull(answers) ->
        if
        :: work = ACTIVE;
           answers ! acquired(its_token)
        :: work = IDLE; /* slot_life_fenced() */
           is_counted_on = 0;
           answers ! refusing(its_token)
        fi }
    :: atomic { work == ACTIVE && version < VERSIONS && nfull(answers) ->
        work = IDLE;
        is_counted_on = 0;
        answers ! refusing(its_token) }
    :: atomic { work == STOPPING -> work = VACATING }
    :: atomic { (work == VACATING || work == STOPPING) && nfull(answers) ->
        work = IDLE;
        release() }
    od
}

init
{
    atomic {
        run Coord();
        run Io()
    }
}

#define AGREED \
    ((state == IDLE && work == IDLE) || (state == OWNED && work == ACTIVE && token == its_token))

ltl safe { [] (state != IDLE || len(notices) > 0 || work == IDLE) }
ltl live { <>[] AGREED }
