/* handover.pml - two slots, two members, one assigner: slots move with acknowledgements of which
 * each says what is still held, with time-outs, and after the end of a session. The assigner
 * forgets what it knows of revocations when another one follows it.
 *
 * coord/assigner/assigner*.c reads the members first, then the assignment, decides, and writes; a single
 * assigner is never overtaken, so reading the assignment and writing it are one step here
 * (writes.pml has them apart).
 *
 * Mutations: NOT_ASKED_ANEW (a member forgets a grant that it could not take at once), and those of
 * assigner.pml, fleet.pml and redis.pml. */
#define MEMBERS 2
#define SLOTS 2
#include "fleet.pml"

#ifndef MOVES
#define MOVES 2
#endif
#ifndef EXPIRIES
#define EXPIRIES 1
#endif
#ifndef SUCCESSORS
#define SUCCESSORS 1
#endif

byte moves = MOVES;           /* revocations of slots that are granted */
byte expiries = EXPIRIES;     /* sessions of member 0 that end */
byte successors = SUCCESSORS; /* assigners that follow */

proctype Member(byte m)
{
    do
    :: d_step { alive[m] && seen[m] != version -> member_read(m) }
#ifndef NOT_ASKED_ANEW
    :: d_step { alive[m] && (refused[AT(m, 0)] || refused[AT(m, 1)]) -> member_ask_anew(m) }
#endif
    :: d_step { alive[m] && dirty[m] -> member_write(m) }
    :: d_step { !alive[m] && seen[m] != 0 ->
        member_lose(m, 0);
        member_lose(m, 1);
        seen[m] = 0 }
    SLOT_STEPS(m, 0)
    SLOT_STEPS(m, 1)
    od
}

#define WAS_ALIVE(member) ((read_alive >> (member)) & 1)

#define WAS_APPLIED(member) read_applied[member]
#define WAS_HELD(member, slot) (read_held[member] & BIT(slot))
#define NOBODY_ALIVE (read_alive == 0)
#include "assigner.pml"

proctype Assigner()
{
    byte read_alive, read_applied[MEMBERS], read_held[MEMBERS];
    byte revoked[SLOTS], next[SLOTS];
    bool excused[SLOTS];

    do
    :: d_step {
        read_alive = alive[0] | (alive[1] << 1);
        read_applied[0] = applied[0];
        read_applied[1] = applied[1];
        read_held[0] = held[0];
        read_held[1] = held[1] };
       atomic {
        assigner_decide(0, entry[0], version, next[0], revoked[0], excused[0]);
        assigner_decide(1, entry[1], version, next[1], revoked[1], excused[1]);
        if
        :: next[0] != entry[0] || next[1] != entry[1] ->
            assigner_set(0, next[0], excused[0]);
            assigner_set(1, next[1], excused[1]);
            version++
        :: else
        fi;
        read_alive = 0;
        read_applied[0] = 0;
        read_applied[1] = 0;
        read_held[0] = 0;
        read_held[1] = 0;
        next[0] = 0;
        next[1] = 0;
        excused[0] = 0;
        excused[1] = 0 }
    :: d_step { successors > 0 && (revoked[0] != 0 || revoked[1] != 0) ->
        successors--;
        revoked[0] = 0;
        revoked[1] = 0 }
    od
}

/* The session of a member ends, and the member does not know yet. */
proctype Faults()
{
    do
    :: d_step { expiries > 0 && alive[0] && entry[0] != NONE ->
        expiries--;
        faulty = 1;
        alive[0] = 0;
        applied[0] = 0;
        held[0] = 0 }
    :: break
    od
}

init
{
    atomic {
        alive[0] = 1;
        alive[1] = 1;
        entry[0] = GRANTED(0);
        entry[1] = GRANTED(0);
        run Member(0);
        run Member(1);
        run Assigner();
        run Faults()
    }
}

#define OWNED_NOW(slot) \
    ((alive[0] && entry[slot] == GRANTED(0) && HOLDS(0, slot)) || \
     (alive[1] && entry[slot] == GRANTED(1) && HOLDS(1, slot)))

ltl live { <>[] (OWNED_NOW(0) && OWNED_NOW(1)) }
