/* fleet.pml - members of a fleet, their nodes in ZooKeeper, and the assignment of one topic. Shared
 * by the models of the assignment; they define MEMBERS and SLOTS before they #include it.
 *
 * A member is one incarnation. It is coord/member/ and the owner of slots in
 * libsrc/consume/slot/ together; a call to Redis is sent in one step and executed in a later one.
 *
 * Mutations: HELD_FORGOTTEN (the node says `applied` and never `held`), LOCAL_TOKEN (tokens are
 * counted by each member), and those of redis.pml. */
#define PROCESSES MEMBERS
#include "redis.pml"

/* An entry of the assignment. */
#define NONE 0
#define GRANTED(member) (1 + (member))
#define REVOKING(member) (129 + (member))
#define IS_GRANTED(at) ((at) >= 1 && (at) <= 128)
#define IS_REVOKING(at) ((at) >= 129)
#define OWNER(at) (((at) - 1) & 127)

/* enum slot_state of coord/member/slot_state.h */
#define IDLE 0
#define ACQUIRING 1
#define OWNED 2
#define STOPPING 3

#define AT(member, slot) ((member) * SLOTS + (slot))
#define BIT(slot) (1 << (slot))
#define TAKEOVER 64 /* added to the token of a takeover that is on its way */

/* --- ZooKeeper --- */

NUMBER version = 1; /* mzxid of the assignment */
byte entry[SLOTS];
bool alive[MEMBERS]; /* the member's node exists */
NUMBER applied[MEMBERS];
byte held[MEMBERS]; /* what it says */

/* --- members --- */

byte state[MEMBERS * SLOTS];
NUMBER token[MEMBERS * SLOTS];
bool granted[MEMBERS * SLOTS]; /* by the assignment that was read last */
bool refused[MEMBERS * SLOTS];
NUMBER way[MEMBERS * SLOTS]; /* the token of a call on its way; with TAKEOVER: of a takeover */
NUMBER seen[MEMBERS]; /* version of the assignment that was read last */
bool dirty[MEMBERS]; /* the node says something else than it should */

#ifdef LOCAL_TOKEN
byte counted[MEMBERS];
#endif

/* Time-outs of drains and of revocations, and calls of owners, are bounded in number. */
#ifndef LATE
#define LATE 1
#endif
#ifndef CALLS
#define CALLS 2
#endif
byte late = LATE;
byte calls = CALLS;

#ifdef HELD_FORGOTTEN
#define SAYS_HELD(member, slot) false
#else
#define SAYS_HELD(member, slot) (state[AT(member, slot)] == STOPPING)
#endif

/* What a member reads: the newest version, because a sync goes before (stale.pml is about that). */
#ifndef SEEN_VERSION
#define SEEN_VERSION(member) version
#define SEEN_ENTRY(member, slot) entry[slot]
#endif

/* What a model adds to a refusal. */
#ifndef ON_REFUSAL
#define ON_REFUSAL(member, slot) skip
#endif

/* ownership_apply_grants() */
inline member_grant(member, slot)
{
    state[AT(member, slot)] = ACQUIRING;
#ifdef LOCAL_TOKEN
    counted[member]++;
    token[AT(member, slot)] = counted[member]
#else
    token[AT(member, slot)] = SEEN_VERSION(member)
#endif
}

/* ownership_apply(), for one slot.  A slot that another has is lost at once, one that is being
 * revoked, or that nobody has, is drained. */
inline member_apply(member, slot)
{
    granted[AT(member, slot)] = (SEEN_ENTRY(member, slot) == GRANTED(member));
    if
    :: granted[AT(member, slot)] && state[AT(member, slot)] == IDLE && !refused[AT(member, slot)] ->
        member_grant(member, slot)
    :: !granted[AT(member, slot)] ->
        refused[AT(member, slot)] = 0;
        if
        :: SEEN_ENTRY(member, slot) != NONE && OWNER(SEEN_ENTRY(member, slot)) != member ->
            state[AT(member, slot)] = IDLE;
            token[AT(member, slot)] = 0
        :: else ->
            if
            :: state[AT(member, slot)] != IDLE -> state[AT(member, slot)] = STOPPING
            :: else
            fi
        fi
    :: else
    fi
}

/* A version in which a slot is being revoked from the member is acknowledged. */
#if SLOTS > 1
#define IS_ASKED(member) \
    (SEEN_ENTRY(member, 0) == REVOKING(member) || SEEN_ENTRY(member, 1) == REVOKING(member))
#else
#define IS_ASKED(member) (SEEN_ENTRY(member, 0) == REVOKING(member))
#endif

inline member_read(member)
{
    member_apply(member, 0);
#if SLOTS > 1
    member_apply(member, 1);
#endif
    if
    :: seen[member] != SEEN_VERSION(member) && IS_ASKED(member) -> dirty[member] = 1
    :: else
    fi;
    seen[member] = SEEN_VERSION(member)
}

/* ownership_on_retry(): after the back-off of a refusal */
inline member_ask_anew(member)
{
    refused[AT(member, 0)] = 0;
#if SLOTS > 1
    refused[AT(member, 1)] = 0;
#endif
    member_read(member)
}

/* member_on_batch(): the node says what was applied last, and what still drains. */
inline member_write(member)
{
    applied[member] = seen[member];
    held[member] = (SAYS_HELD(member, 0) -> BIT(0) : 0);
#if SLOTS > 1
    held[member] = held[member] | (SAYS_HELD(member, 1) -> BIT(1) : 0);
#endif
    dirty[member] = 0
}

/* The slot is IDLE again, after COORD_REFUSED or COORD_RELEASED.  One that is granted all the same
 * waits for the back-off. */
inline member_end(member, slot)
{
    dirty[member] = dirty[member] || state[AT(member, slot)] == STOPPING;
    state[AT(member, slot)] = IDLE;
    token[AT(member, slot)] = 0;
    refused[AT(member, slot)] = granted[AT(member, slot)]
}

/* The session has ended, and the member knows. */
inline member_lose(member, slot)
{
    state[AT(member, slot)] = IDLE;
    token[AT(member, slot)] = 0;
    granted[AT(member, slot)] = 0;
    refused[AT(member, slot)] = 0
}

/* A takeover is executed and answered.  Who has read the newest assignment, in which the slot is
 * its own, is never refused. */
inline member_takeover(member, slot)
{
    if
    :: TAKEOVER_ACCEPTED(slot, member, way[AT(member, slot)] - TAKEOVER) ->
        take_slot(slot, member, way[AT(member, slot)] - TAKEOVER);
        if
        :: state[AT(member, slot)] == ACQUIRING &&
           token[AT(member, slot)] == way[AT(member, slot)] - TAKEOVER ->
            state[AT(member, slot)] = OWNED
        :: else
        fi
    :: else ->
        if
        :: state[AT(member, slot)] == ACQUIRING &&
           token[AT(member, slot)] == way[AT(member, slot)] - TAKEOVER ->
            CHECK(!(alive[member] && entry[slot] == GRANTED(member) &&
                    token[AT(member, slot)] == version));
            ON_REFUSAL(member, slot);
            member_end(member, slot)
        :: else
        fi
    fi;
    way[AT(member, slot)] = 0
}

/* A call with the token is executed and answered: accepted, or FENCED, after which nothing of the
 * slot is ours. */
inline member_call(member, slot)
{
    if
    :: WRITE_ACCEPTED(slot, way[AT(member, slot)]) ->
        write_slot(slot, member, way[AT(member, slot)])
    :: else ->
        if
        :: token[AT(member, slot)] == way[AT(member, slot)] -> member_end(member, slot)
        :: else
        fi
    fi;
    way[AT(member, slot)] = 0
}

#define HAS_CLAIM(member, slot) (claimed[slot] == 1 + (member))
#define HOLDS(member, slot) \
    (state[AT(member, slot)] == OWNED && token[AT(member, slot)] == stored[slot])

/* A takeover is executed when it is sent, or with LATE_TAKEOVERS at any time after. */
#ifdef LATE_TAKEOVERS
#define TAKEOVER_STEP(member, slot) \
    :: d_step { state[AT(member, slot)] == ACQUIRING && way[AT(member, slot)] == 0 -> \
        way[AT(member, slot)] = TAKEOVER + token[AT(member, slot)] } \
    :: d_step { way[AT(member, slot)] >= TAKEOVER -> member_takeover(member, slot) }
#else
#define TAKEOVER_STEP(member, slot) \
    :: d_step { state[AT(member, slot)] == ACQUIRING && way[AT(member, slot)] == 0 -> \
        way[AT(member, slot)] = TAKEOVER + token[AT(member, slot)]; \
        member_takeover(member, slot) }
#endif

/* What happens to one slot at one member: the takeover is sent; a call is sent, in STOPPING only to
 * settle; either is executed; the slot is released when nothing is in flight or on its way; or the
 * drain_timeout has passed. */
#define SLOT_STEPS(member, slot) \
    :: atomic { state[AT(member, slot)] == OWNED && way[AT(member, slot)] == 0 && \
                (calls > 0 || HAS_CLAIM(member, slot) || \
                 stored[slot] != token[AT(member, slot)]) -> \
        way[AT(member, slot)] = token[AT(member, slot)]; \
        if \
        :: calls > 0 && !HAS_CLAIM(member, slot) -> calls-- \
        :: else \
        fi } \
    :: atomic { state[AT(member, slot)] == STOPPING && way[AT(member, slot)] == 0 && \
                HAS_CLAIM(member, slot) -> \
        way[AT(member, slot)] = token[AT(member, slot)] } \
    TAKEOVER_STEP(member, slot) \
    :: d_step { way[AT(member, slot)] > 0 && way[AT(member, slot)] < TAKEOVER -> \
        member_call(member, slot) } \
    :: d_step { state[AT(member, slot)] == STOPPING && !HAS_CLAIM(member, slot) && \
                (way[AT(member, slot)] == 0 || way[AT(member, slot)] >= TAKEOVER) -> \
        member_end(member, slot) } \
    :: d_step { state[AT(member, slot)] == STOPPING && late > 0 -> \
        late--; \
        faulty = 1; \
        member_end(member, slot) }
