/* stale.pml - one slot, two members that read from servers of ZooKeeper which lag behind, and an
 * assigner that does not. A server shows a member an older version of the assignment for as long as
 * it likes, but never one that is older than what the session has seen. A sync that is answered
 * makes the read behind it the newest; one that fails ends the reading, which begins anew.
 *
 * Beside the properties of redis.pml: who asks anew after a refusal, and is refused under the same
 * token again, says that ZooKeeper lost data. Here it never did, so nobody ever says so.
 *
 * Mutations: NO_SYNC (none is sent), FAILED_SYNC_COUNTS (the read behind one that failed counts).
 */
#define MEMBERS 2
#define SLOTS 1
#define VERSIONS 16
byte written[VERSIONS]; /* the entry of each version */
byte shown[2];          /* the version that the server of each member shows */
bool asked_anew[2];
byte refused_token[2];

#define SEEN_VERSION(member) shown[member]
#define SEEN_ENTRY(member, slot) written[shown[member]]

/* ownership_refused() */
#define ON_REFUSAL(member, slot) \
    asked_anew[member] = (asked_anew[member] && refused_token[member] == token[AT(member, slot)]); \
    assert(!asked_anew[member]); \
    refused_token[member] = token[AT(member, slot)]

#define CALLS 1
#include "fleet.pml"

#ifndef MOVES
#define MOVES 2
#endif
#ifndef EXPIRIES
#define EXPIRIES 1
#endif
#ifndef FAILURES
#define FAILURES 2
#endif

byte moves = MOVES;
byte expiries = EXPIRIES;
byte failures = FAILURES; /* syncs that fail */

/* sync and read, which are answered in this order */
inline reading(member)
{
    if
#ifdef NO_SYNC
    :: true -> good = 1
#else
    :: shown[member] = version;
       good = 1
    :: failures > 0 ->
        failures--;
#ifdef FAILED_SYNC_COUNTS
        good = 1
#endif
#endif
    fi
}

proctype Member(byte m)
{
    bool good;

    do
    :: atomic { alive[m] && seen[m] != shown[m] ->
        reading(m);
        if
        :: good -> member_read(m)
        :: else
        fi;
        good = 0 }
    :: atomic { alive[m] && refused[AT(m, 0)] ->
        reading(m);
        if
        :: good ->
            asked_anew[m] = 1;
            member_ask_anew(m)
        :: else
        fi;
        good = 0 }
    :: d_step { alive[m] && dirty[m] -> member_write(m) }
    :: d_step { !alive[m] && seen[m] != 0 ->
        member_lose(m, 0);
        seen[m] = 0 }
    SLOT_STEPS(m, 0)
    od
}

/* The servers of the members receive the next version, which fires the members' watches. */
proctype Servers()
{
    do
    :: d_step { shown[0] < version -> shown[0]++ }
    :: d_step { shown[1] < version -> shown[1]++ }
    od
}

#define WAS_ALIVE(member) alive[member]
#define WAS_APPLIED(member) applied[member]
#define WAS_HELD(member, slot) (held[member] & BIT(slot))
#define NOBODY_ALIVE (!alive[0] && !alive[1])
#include "assigner.pml"

proctype Assigner()
{
    byte revoked, next;
    bool excused;

    do
    :: atomic {
        assigner_decide(0, entry[0], version, next, revoked, excused);
        if
        :: next != entry[0] ->
            assigner_set(0, next, excused);
            version++;
            written[version] = next
        :: else
        fi;
        next = 0;
        excused = 0 }
    :: d_step { expiries > 0 && alive[0] && entry[0] != NONE ->
        expiries--;
        faulty = 1;
        alive[0] = 0;
        applied[0] = 0;
        held[0] = 0 }
    od
}

init
{
    atomic {
        alive[0] = 1;
        alive[1] = 1;
        shown[0] = 1;
        shown[1] = 1;
        run Member(0);
        run Member(1);
        run Servers();
        run Assigner()
    }
}

#define OWNED_NOW \
    ((alive[0] && entry[0] == GRANTED(0) && HOLDS(0, 0)) || \
     (alive[1] && entry[0] == GRANTED(1) && HOLDS(1, 0)))

ltl live { <>[] OWNED_NOW }
