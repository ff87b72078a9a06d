/* writes.pml - one slot, two members, two assigners: elections, a paused assigner that believes to
 * be one, writes whose answer is lost, and requests that are executed long after they were sent, as
 * after a reconnect. Every write is checked against the epoch and the version that was read.
 *
 * A late request may be executed at any time, or never. That is more than ZooKeeper does, which
 * executes the requests of one session in their order.
 *
 * Member 1 joins later, and its session or that of member 0 may end, so assigners that have read at
 * different times want different things. Members read, take over and give up; calls of consumers
 * are those of handover.pml.
 *
 * Mutations: NO_EPOCH (the write does not check the epoch), NO_VERSION (it does not check the
 * version). */
#define MEMBERS 2
#define SLOTS 1
#define CALLS 0
#define NOBODY 255
#include "fleet.pml"

#ifndef ASSIGNERS
#define ASSIGNERS 2
#endif
#ifndef MOVES
#define MOVES 1
#endif
#ifndef EXPIRIES
#define EXPIRIES 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef LOST
#define LOST 1
#endif

byte moves = MOVES;
byte expiries = EXPIRIES; /* sessions of member 0 that end */
byte losses = LOSSES;     /* how often /leader is deleted while its assigner lives */
byte lost = LOST;         /* answers that do not come */
bool joined;

byte leader;    /* whose /leader is; assigner 0 has won */
byte epoch = 1; /* the version of leader_epoch */

/* The request of each assigner that was sent, and was given up: late_version 0: none. */
byte late_version[ASSIGNERS], late_epoch[ASSIGNERS], late_entry[ASSIGNERS];
bool late_excused[ASSIGNERS];

#ifdef NO_EPOCH
#define EPOCH_CHECKED(its_epoch) true
#else
#define EPOCH_CHECKED(its_epoch) ((its_epoch) == epoch)
#endif
#ifdef NO_VERSION
#define VERSION_CHECKED(its_version) true
#else
#define VERSION_CHECKED(its_version) ((its_version) == version)
#endif

proctype Member(byte m)
{
    do
    :: d_step { alive[m] && seen[m] != version -> member_read(m) }
    :: d_step { alive[m] && refused[AT(m, 0)] -> member_ask_anew(m) }
    :: d_step { alive[m] && dirty[m] -> member_write(m) }
    :: d_step { !alive[m] && seen[m] != 0 ->
        member_lose(m, 0);
        seen[m] = 0 }
    SLOT_STEPS(m, 0)
    od
}

#define WAS_ALIVE(member) ((read_alive >> (member)) & 1)

#define WAS_APPLIED(member) read_applied[member]
#define WAS_HELD(member, slot) (read_held[member] & BIT(slot))
#define NOBODY_ALIVE (read_alive == 0)
#include "assigner.pml"

proctype Assigner(byte a)
{
    bool leads, excused;
    byte its_epoch, read_alive, read_applied[MEMBERS], read_held[MEMBERS];
    byte read_version, read_entry, revoked, next;

    if
    :: a == 0 ->
        leads = 1;
        its_epoch = 1
    :: else
    fi;
    do
    :: atomic { !leads && leader == NOBODY ->
        leader = a;
        epoch++;
        if
        :: leads = 1;
           its_epoch = epoch
        :: lost > 0 -> lost-- /* it finds its own /leader */
        fi }
    :: d_step { !leads && leader == a -> leader = NOBODY }
    :: d_step { leads && leader != a && leader != NOBODY ->
        leads = 0;
        its_epoch = 0;
        revoked = 0 }
    :: leads ->
       d_step {
        read_alive = alive[0] | (alive[1] << 1);
        read_applied[0] = applied[0];
        read_applied[1] = applied[1];
        read_held[0] = held[0];
        read_held[1] = held[1] };
       atomic {
        read_version = version;
        read_entry = entry[0];
        assigner_decide(0, read_entry, read_version, next, revoked, excused);
        read_alive = 0;
        read_applied[0] = 0;
        read_applied[1] = 0;
        read_held[0] = 0;
        read_held[1] = 0 };
       atomic {
        if
        :: next == read_entry -> skip
        :: next != read_entry -> /* amulti[check leader_epoch, set assignment] */
            if
            :: EPOCH_CHECKED(its_epoch) && VERSION_CHECKED(read_version) ->
                assigner_set(0, next, excused);
                version++
            :: !EPOCH_CHECKED(its_epoch) ->
                leads = 0;
                its_epoch = 0;
                revoked = 0
            :: EPOCH_CHECKED(its_epoch) && !VERSION_CHECKED(read_version) -> skip
            :: lost > 0 && late_version[a] == 0 ->
                lost--;
                late_version[a] = read_version;
                late_epoch[a] = its_epoch;
                late_entry[a] = next;
                late_excused[a] = excused;
            fi
        fi;
        read_version = 0;
        read_entry = 0;
        next = 0;
        excused = 0 }
    od
}

inline late_request(a)
{
    if
    :: EPOCH_CHECKED(late_epoch[a]) && VERSION_CHECKED(late_version[a]) ->
        assigner_set(0, late_entry[a], late_excused[a]);
        version++
    :: else
    fi;
    late_version[a] = 0;
    late_epoch[a] = 0;
    late_entry[a] = 0;
    late_excused[a] = 0
}

proctype Faults()
{
    do
    :: d_step { !joined ->
        joined = 1;
        alive[1] = 1 }
    :: d_step { expiries > 0 && alive[0] ->
        expiries--;
        faulty = 1;
        alive[0] = 0;
        applied[0] = 0;
        held[0] = 0 }
    :: d_step { losses > 0 && leader != NOBODY ->
        losses--;
        leader = NOBODY }
    :: d_step { late_version[0] != 0 -> late_request(0) }
#if ASSIGNERS > 1
    :: d_step { late_version[1] != 0 -> late_request(1) }
#endif
    :: joined -> break
    od
}

init
{
    atomic {
        alive[0] = 1;
        run Member(0);
        run Member(1);
        run Assigner(0);
#if ASSIGNERS > 1
        run Assigner(1);
#endif
        run Faults()
    }
}

#define OWNED_NOW \
    ((alive[0] && entry[0] == GRANTED(0) && HOLDS(0, 0)) || \
     (alive[1] && entry[0] == GRANTED(1) && HOLDS(1, 0)))

ltl live { <>[] OWNED_NOW }
