/* assigner.pml - what the assigner makes of an entry: coord/assigner/assigner_decide.c, then
 * assign(). Which slot is revoked, and who gets a free one, is left open. Shared by the models of
 * the assignment, which say what it has read: WAS_ALIVE(), WAS_APPLIED() and WAS_HELD() of a member,
 * and whether a slot may move or a time-out pass.
 *
 * Mutations: SKIP_ACK (nobody waits for the acknowledgement), STALE_ACK (one of any version
 * counts), HELD_IGNORED (the assigner does not look at `held`), NO_REVOKING (a slot goes from one
 * member to another at once). */
#ifdef SKIP_ACK
#define ACKNOWLEDGED(slot, member, since) true
#elif defined(STALE_ACK)
#define ACKNOWLEDGED(slot, member, since) (WAS_APPLIED(member) > 0 && !WAS_HELD(member, slot))
#elif defined(HELD_IGNORED)
#define ACKNOWLEDGED(slot, member, since) (WAS_APPLIED(member) >= (since))
#else
#define ACKNOWLEDGED(slot, member, since) \
    (WAS_APPLIED(member) >= (since) && !WAS_HELD(member, slot))
#endif

#ifndef MAY_MOVE
#define MAY_MOVE (moves > 0)
#define HAS_MOVED moves--
#endif
#ifndef MAY_GRANT
#define MAY_GRANT(member) WAS_ALIVE(member)
#endif
#ifndef MAY_PASS
#define MAY_PASS (late > 0)
#define HAS_PASSED late--
#endif

/* From `old`, read in version `its`, to `next`.  `revoked`: since which version it is known to be
 * REVOKING; 0: it is not.  `excused`: it moves without an acknowledgement. */
inline assigner_decide(slot, old, its, next, revoked, excused)
{
    next = old;
    excused = 0;
    if
    :: (old) == NONE || !WAS_ALIVE(OWNER(old)) -> next = NONE
    :: else ->
        if
        :: IS_REVOKING(old) ->
            revoked = (revoked == 0 -> its : revoked);
            if
            :: ACKNOWLEDGED(slot, OWNER(old), revoked) -> next = NONE
            :: !ACKNOWLEDGED(slot, OWNER(old), revoked) && MAY_PASS ->
                HAS_PASSED;
                faulty = 1;
                excused = 1;
                next = NONE
            :: !ACKNOWLEDGED(slot, OWNER(old), revoked) -> skip
            fi
        :: IS_GRANTED(old) && MAY_MOVE ->
            HAS_MOVED;
#ifdef NO_REVOKING
            next = NONE
#else
            next = REVOKING(OWNER(old))
#endif
        :: IS_GRANTED(old) -> skip
        fi
    fi;
    if
    :: !IS_REVOKING(next) || !IS_REVOKING(old) -> revoked = 0
    :: else
    fi;
    if
    :: next == NONE && MAY_GRANT(0) -> next = GRANTED(0)
    :: next == NONE && MAY_GRANT(1) -> next = GRANTED(1)
#ifdef MORE_MEMBERS
    MORE_MEMBERS
#endif
    :: next != NONE || NOBODY_ALIVE
    fi
}

/* Has the member ended the slot?  Without faults no call of it is on its way any more. */
#define IS_ENDED(member, slot) \
    (state[AT(member, slot)] == IDLE && \
     (faulty || way[AT(member, slot)] == 0 || way[AT(member, slot)] >= TAKEOVER))

/* The entry becomes `next`.  A slot leaves a living member only when it was being revoked, and the
 * member has ended it or had its time. */
inline assigner_set(slot, next, excused)
{
    CHECK(entry[slot] == NONE || entry[slot] == (next) || !alive[OWNER(entry[slot])] ||
          (next) == REVOKING(OWNER(entry[slot])) ||
          (IS_REVOKING(entry[slot]) && ((excused) || IS_ENDED(OWNER(entry[slot]), slot))));
    entry[slot] = next
}
