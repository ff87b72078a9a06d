/* tree.pml - one slot, two members and the assigner, whose nodes are a tree in one Redis master.
 * The master may start again with older data, in place or as another server: it then has another
 * master_replid, and the first call that looks begins a new reign, with a grace. The slot lies on
 * the same master (SAME_MASTER), so that its token goes back with the tree, or on another.
 *
 * Numbers are zxids: era, salt of the reign, count. A reign begins with an era above that of the
 * tree and of the caller; the clock of a server adds nothing (it is behind) or one (TICKS). Salts
 * come in no order.
 *
 * Servers: HERE is the master; KEPT what a replica, or a file, has; THERE the old master, which
 * serves its half of a partition on (SPLITS).
 *
 * Mutations, by the rules of docs/decisions/0072: BY_SERVER, NO_SALT (1); NO_GRACE,
 * GRACE_OF_THE_KNOWN, GRACE_GOES_ON (2); TAKES_IN_GRACE, ACQUIRING_KEPT, APPLIED_IN_GRACE,
 * GIVES_UP, ENDS_IN_GRACE (3); NO_RESUME, LATE_RESUME (4); NO_ADOPT, ANY_CLAIM, NEWEST_MEMBER,
 * TREES_WORD, DRAINED_FORGOTTEN, APPLIED_KEPT, ADOPTS_EARLY (5); BY_VERSION (6); CLOCK_JUMPS (7);
 * NOT_RAISED (8); HINTS_ONLY (9); NO_STAMP (10); ALWAYS_FIRST (11); BORN_BEFORE, REIGN_AFTER (decision
 * 80); AWAY_ENDS (15), and those of redis.pml. With these nothing fails: NO_LARGEST, MOVES_IN_GRACE, UNCONFIRMED, OLD_REPORTS. */
#define MEMBERS 2
#define PROCESSES MEMBERS
#define NUMBER short
#define HERE 0
#define KEPT 1
#define THERE 2
#define SLOTS 3 /* the slot, at each server */
#include "redis.pml"

#ifndef LOADS
#define LOADS 1 /* older data is served */
#endif
#ifndef SPLITS
#define SPLITS 0 /* of LOADS, this number leave the old master serving for a while */
#endif
#ifndef CUTS
#define CUTS 0 /* a member does not reach the tree for a while, or is dead */
#endif
#ifndef MOVES
#define MOVES 1 /* revocations */
#endif
#ifndef TOUCHES
#define TOUCHES 0 /* the assignment is written for another slot */
#endif
#ifndef TICKS
#define TICKS 0 /* clocks that are ahead */
#endif
#ifndef UNREACHED
#define UNREACHED 0 /* an owner does not reach its slot in a grace; the slot is on another master */
#endif
#ifndef SLOT_LOADS
#define SLOT_LOADS 0 /* failovers of the slot's master, when that is another one */
#endif
#ifndef REIGNS
#define REIGNS 6 /* that begin */
#endif
#ifndef ASSIGNERS
#define ASSIGNERS 1
#endif
#ifndef CALLS
#define CALLS 99 /* no bound */
#endif

/* --- members --- */

#define IDLE 0
#define ACQUIRING 1
#define OWNED 2
#define STOPPING 3

short incarnation[MEMBERS]; /* 0: it has not joined */
byte knows[MEMBERS];        /* the reign */
short largest[MEMBERS];     /* zxid that it has seen */
short seen[MEMBERS];        /* version of the assignment that was read last */
byte state[MEMBERS];
short token[MEMBERS];
bool dirty[MEMBERS];   /* its node says something else than it should */
bool refused[MEMBERS]; /* the newest token */
bool busy[MEMBERS];    /* a handler of the slot runs */
bool busy_there[MEMBERS];
bool cut[MEMBERS];     /* it does not reach the tree */
bool is_there[MEMBERS]; /* it reaches the old master's half of a partition */

/* What the properties look at: for T it has not reached a tree that went on; then it knows; then it
 * takes the slot over. */
#define UNKNOWN_LATE 1
#define KNOWN_LATE 2
byte late[MEMBERS];

byte loads = LOADS, splits = SPLITS, cuts = CUTS, moves = MOVES, touches = TOUCHES, ticks = TICKS;
byte unreached = UNREACHED, calls = CALLS;
bool has_kept, is_split;
#if SLOT_LOADS > 0
byte slot_loads = SLOT_LOADS;
#endif
#ifdef LATE_TAKEOVERS
short on_way[MEMBERS]; /* the token of a takeover that was given up */
#endif

#define HAS_NOT_REACHED (UNREACHED > 0)

/* Hints that are lost: a member that reads only after a hint (HINTS_ONLY). */
#ifdef HINTS_ONLY
bool hint[MEMBERS], has_lost;
#define IS_HINTED(m) hint[m]
inline hint_all()
{
    hint[0] = 1;
    hint[1] = 1
}
#else
#define IS_HINTED(m) true
#define hint_all() skip
#endif

/* Who owns the slot and has called it since the server answers, has a connection there. */
#ifdef FIRST_START
bool subscribed[MEMBERS], is_young; /* is_young: the server has begun to answer less than T ago */
#define subscribe(m) subscribed[m] = 1
inline unsubscribe_all()
{
    subscribed[0] = 0;
    subscribed[1] = 0;
    is_young = 1
}
#define HAS_OWNER(m) (subscribed[m] && state[m] >= OWNED && !cut[m])
#ifdef ALWAYS_FIRST
#define IS_FIRST(s) (stored[s] == 0 && !HAS_OWNER(0) && !HAS_OWNER(1))
#else
#define IS_FIRST(s) (stored[s] == 0 && !is_young && !HAS_OWNER(0) && !HAS_OWNER(1))
#endif
#else
#define subscribe(m) skip
#define unsubscribe_all() skip
#define IS_FIRST(s) false
#endif

/* topic{T}, on the tree's master or on one that forgets nothing (TOPIC_APART): in which life of its
 * server it was made, and whether it was bound.  Its members open their sessions, then bind it, and
 * then join. */
#ifdef FIRST_TOPIC
byte life = 1, born[SLOTS];
bool bound[SLOTS], asked[MEMBERS];
byte opened[MEMBERS], first[MEMBERS]; /* reigns; first: nobody was bound before, for all that m knows */
#define HAS_BOUND(m) asked[m]
#ifdef BORN_BEFORE
#define IS_SURE true
#else
#define IS_SURE (born[HERE] == life)
#endif
#ifdef REIGN_AFTER
#define IS_FIRST_NOW(m) (first[m] != 0)
#else
#define IS_FIRST_NOW(m) (first[m] == reign[HERE])
#endif
#else
#define HAS_BOUND(m) true
#endif

#define SERVER(m) (is_there[m] -> THERE : HERE)
#ifdef SAME_MASTER
#define SLOT(m) SERVER(m)
#define REACHES_SLOT(m) (!cut[m])
#else
#define SLOT(m) HERE
#define REACHES_SLOT(m) true
#endif

#ifdef NO_LARGEST
#define LARGEST(m) 0
#else
#define LARGEST(m) largest[m]
#endif

#include "tree_store.pml"

#define IS_MEMBER(s, m) \
    (incarnation[m] != 0 && node[AT(s, m)] == incarnation[m] && knows[m] == reign[s] && \
     !BEGINS(s, LARGEST(m)))

inline see(m)
{
    if
    :: last[SERVER(m)] > largest[m] -> largest[m] = last[SERVER(m)]
    :: else
    fi
}

/* The slot is not the member's any more, and it did not give it up: only who was away for T. */
inline lose(m)
{
    assert(late[m] || state[m] == IDLE || state[m] == ACQUIRING);
    state[m] = IDLE;
    token[m] = 0
}

/* The session has ended: it enters anew. */
inline end_session(m)
{
    lose(m);
    incarnation[m] = 0;
    knows[m] = 0;
    seen[m] = 0;
    dirty[m] = 0;
    refused[m] = 0
}

/* The session is of this reign: what was read in another one counts for nothing. */
inline begin_session(m)
{
    knows[m] = reign[SERVER(m)];
    seen[m] = 0;
    dirty[m] = 0;
    refused[m] = 0
}

inline write_node(m)
{
    node[AT(SERVER(m), m)] = incarnation[m];
    applied[AT(SERVER(m), m)] = 0;
    held[AT(SERVER(m), m)] = 0;
    confirmed[AT(SERVER(m), m)] = 0
}

inline join(m)
{
    count(SERVER(m));
    incarnation[m] = last[SERVER(m)];
    write_node(m);
    begin_session(m);
    see(m);
    heard[AT(SERVER(m), m)] = (grace[SERVER(m)] == GRACE)
}

/* Any call to the tree that shows another reign, or that the node is gone. */
#define IS_NEWS(m) \
    (BEGINS(SERVER(m), LARGEST(m)) || knows[m] != reign[SERVER(m)] || \
     node[AT(SERVER(m), m)] != incarnation[m])
#ifdef NO_RESUME
#define MAY_RESUME(m) false
#elif defined(LATE_RESUME)
#define MAY_RESUME(m) (knows[m] != reign[SERVER(m)])
#else
#define MAY_RESUME(m) (knows[m] != reign[SERVER(m)] && grace[SERVER(m)] != NO_GRACE_NOW)
#endif

inline hear(m)
{
    see(m);
    late[m] = (late[m] == UNKNOWN_LATE -> KNOWN_LATE : late[m]);
    if
    :: MAY_RESUME(m) && node[AT(SERVER(m), m)] != incarnation[m] ->
        count(SERVER(m));
        write_node(m);
        begin_session(m);
        see(m)
    :: node[AT(SERVER(m), m)] == incarnation[m] ->
        begin_session(m)
    :: else -> end_session(m)
    fi;
#ifndef ACQUIRING_KEPT
    if
    :: state[m] == ACQUIRING ->
#ifdef LATE_TAKEOVERS
        on_way[m] = token[m];
#endif
        state[m] = IDLE;
        token[m] = 0
    :: else
    fi
#endif
}

/* A takeover of a slot that is not the member's yet: nobody may be disturbed by it. */
#define IS_BUSY_HERE(m, p) (busy[p] && busy_there[p] == is_there[m])

inline take(m)
{
    assert(!IS_BUSY_HERE(m, 1 - m) || late[m] == UNKNOWN_LATE || late[1 - m]);
    assert(state[1 - m] < OWNED || token[1 - m] != token[m]);
    stored[SLOT(m)] = token[m];
    named[SLOT(m)] = NAME_OF(m);
    state[m] = OWNED;
    subscribe(m);
    late[m] = (late[m] == KNOWN_LATE -> 0 : late[m])
}

/* The owner asks its slot: it is confirmed, or the master has forgotten the token, and the owner
 * repeats its takeover (slot_life_rewind()), or it has a newer owner. */
inline ask_slot(m)
{
    if
    :: stored[SLOT(m)] == token[m]
    :: stored[SLOT(m)] != token[m] && TAKEOVER_ACCEPTED(SLOT(m), m, token[m]) ->
#ifdef GIVES_UP
        lose(m)
#else
        stored[SLOT(m)] = token[m];
        named[SLOT(m)] = NAME_OF(m)
#endif
    :: else ->
        lose(m);
        seen[m] = 0 /* what is granted is asked for anew */
    fi;
    subscribe(m)
}

#ifdef DRAINED_FORGOTTEN
#define IS_TOLD(m) (state[m] == OWNED)
#else
#define IS_TOLD(m) (state[m] == OWNED || state[m] == STOPPING)
#endif

/* What the member owns, or drains, is written into its node. */
inline report(m)
{
#ifndef UNCONFIRMED
    if
    :: state[m] == OWNED -> ask_slot(m)
    :: else
    fi;
#endif
    confirmed[AT(SERVER(m), m)] = (IS_TOLD(m) -> token[m] : 0);
    held[AT(SERVER(m), m)] = (state[m] == STOPPING);
    heard[AT(SERVER(m), m)] = 1
}

#define OWNS(s, m) (owner[s] == incarnation[m])

/* In a grace owners keep their slots, and nobody takes over. */
#define IS_GRACE(m) (grace[SERVER(m)] != NO_GRACE_NOW)
#ifdef TAKES_IN_GRACE
#define MAY_LOSE(m) (!IS_GRACE(m))
#define MAY_APPLY(m) true
#elif defined(APPLIED_IN_GRACE)
#define MAY_LOSE(m) true
#define MAY_APPLY(m) true
#else
#define MAY_LOSE(m) true
#define MAY_APPLY(m) (!IS_GRACE(m))
#endif

/* ownership_apply() */
inline read_assignment(m)
{
    seen[m] = mzxid[SERVER(m)];
    refused[m] = 0;
#ifdef HINTS_ONLY
    hint[m] = 0;
#endif
    if
    :: kind[SERVER(m)] == GRANTED && OWNS(SERVER(m), m) ->
        if
        :: state[m] == IDLE ->
            state[m] = ACQUIRING;
            token[m] = seen[m]
        :: else
        fi
    :: MAY_LOSE(m) && kind[SERVER(m)] != NONE && !OWNS(SERVER(m), m) -> lose(m)
    :: MAY_LOSE(m) && kind[SERVER(m)] != GRANTED &&
       (kind[SERVER(m)] == NONE || OWNS(SERVER(m), m)) ->
        dirty[m] = (kind[SERVER(m)] == REVOKING);
        state[m] = (state[m] == IDLE -> IDLE : STOPPING)
    :: else
    fi
}

proctype Member(byte m)
{
    do
#ifdef FIRST_TOPIC
    :: atomic { born[HERE] != 0 && !asked[m] && opened[m] == 0 ->
        if
        :: BEGINS(HERE, largest[m]) -> begin_reign(HERE, largest[m])
        :: else
        fi;
        opened[m] = reign[HERE];
        see(m) }
    :: d_step { opened[m] != 0 && !asked[m] ->
        asked[m] = 1;
        first[m] = (!bound[HERE] && IS_SURE -> opened[m] : 0);
        bound[HERE] = 1 }
    /* the nodes of the topic are as they were made */
    :: d_step { IS_MEMBER(HERE, m) && first[m] != 0 && IS_FIRST_NOW(m) && grace[HERE] == GRACE &&
                kind[HERE] == NONE ->
        first[m] = 0;
        forget_heard(HERE);
        grace[HERE] = NO_GRACE_NOW }
#endif
    :: atomic { !cut[m] && incarnation[m] == 0 && HAS_BOUND(m) ->
        if
        :: BEGINS(SERVER(m), LARGEST(m)) -> begin_reign(SERVER(m), LARGEST(m))
        :: else
        fi;
        join(m) }
    :: atomic { !cut[m] && incarnation[m] != 0 && IS_NEWS(m) ->
        if
        :: BEGINS(SERVER(m), LARGEST(m)) -> begin_reign(SERVER(m), LARGEST(m))
        :: else
        fi;
        hear(m) }
    :: atomic { !cut[m] && IS_MEMBER(SERVER(m), m) && grace[SERVER(m)] == GRACE &&
                !heard[AT(SERVER(m), m)] && REACHES_SLOT(m) ->
        if
        :: report(m)
        :: unreached > 0 && state[m] == OWNED ->
            unreached--;
            heard[AT(SERVER(m), m)] = 1
        fi }
    :: d_step { !cut[m] && IS_MEMBER(SERVER(m), m) && MAY_APPLY(m) &&
                seen[m] != mzxid[SERVER(m)] && IS_HINTED(m) ->
        see(m);
        read_assignment(m) }
    :: d_step { !cut[m] && IS_MEMBER(SERVER(m), m) && dirty[m] ->
        see(m);
        applied[AT(SERVER(m), m)] = seen[m];
        held[AT(SERVER(m), m)] = (state[m] == STOPPING);
        dirty[m] = 0 }
    :: d_step { state[m] == ACQUIRING && REACHES_SLOT(m) ->
        if
        :: TAKEOVER_ACCEPTED(SLOT(m), m, token[m]) -> take(m)
        :: else ->
            state[m] = IDLE;
            token[m] = 0;
            refused[m] = 1
        fi }
#ifndef NOT_RAISED
    /* numbers go above what Redis has, and the assignment is written again */
    :: d_step { !cut[m] && IS_MEMBER(SERVER(m), m) && refused[m] && seen[m] == mzxid[SERVER(m)] &&
                !IS_GRACE(m) && kind[SERVER(m)] == GRANTED && OWNS(SERVER(m), m) ->
        refused[m] = 0;
        if
        :: stored[SLOT(m)] >= last[SERVER(m)] ->
            last[SERVER(m)] = FIRST(1 + ERA(stored[SLOT(m)]), SALT(reign[SERVER(m)]))
        :: else
        fi;
        count(SERVER(m));
        count_version(SERVER(m));
        mzxid[SERVER(m)] = last[SERVER(m)] }
#endif
    :: d_step { state[m] == STOPPING && !busy[m] ->
        state[m] = IDLE;
        token[m] = 0;
        dirty[m] = 1 }
    :: d_step { state[m] == OWNED && !busy[m] && REACHES_SLOT(m) &&
                (calls > 0 || stored[SLOT(m)] != token[m]) ->
        ask_slot(m);
        busy[m] = (state[m] == OWNED && calls > 0);
        busy_there[m] = busy[m] && is_there[m];
        calls = (CALLS < 99 && calls > 0 -> calls - 1 : calls);
        assert(!busy[m] || !IS_BUSY_HERE(m, 1 - m) || late[m] || late[1 - m]) }
    :: d_step { busy[m] ->
        busy[m] = 0;
        busy_there[m] = 0 }
#ifdef LATE_TAKEOVERS
    /* a takeover that was sent before is executed, and nobody waits for its answer */
    :: d_step { on_way[m] != 0 && REACHES_SLOT(m) ->
        if
        :: TAKEOVER_ACCEPTED(SLOT(m), m, on_way[m]) ->
            stored[SLOT(m)] = on_way[m];
            named[SLOT(m)] = NAME_OF(m)
        :: else
        fi;
        on_way[m] = 0 }
#endif
#ifdef AWAY_ENDS
    :: d_step { !cut[m] && incarnation[m] != 0 && cuts > 0 ->
        cuts--;
        end_session(m) }
#endif
    od
}

/* --- the assigner: what it has read, and wants to write --- */

#define LIVES(s, m) (node[AT(s, m)] != 0)
#define OWNER_LIVES(s) (owner[s] != 0 && (owner[s] == node[AT(s, 0)] || owner[s] == node[AT(s, 1)]))
#define OWNER_OF(s) (owner[s] == node[AT(s, 0)] -> 0 : 1)
#define IS_ACKNOWLEDGED(s) \
    (applied[AT(s, OWNER_OF(s))] >= revoked && !held[AT(s, OWNER_OF(s))])

/* What is adopted was read after the grace. */
#ifdef ADOPTS_EARLY
#define MAY_ADOPT(s) (grace[s] != NO_GRACE_NOW)
#define MAY_WRITE(s) (!plan_adopts || grace[s] != GRACE)
#else
#define MAY_ADOPT(s) (grace[s] == GRACE_OVER)
#define MAY_WRITE(s) true
#endif

inline plan(s, what, whose)
{
    plan_reign = reign[s];
    plan_mzxid = mzxid[s];
#ifdef BY_VERSION
    plan_version = version[s];
#endif
    plan_kind = what;
    plan_owner = whose;
    plan_adopts = (grace[s] != NO_GRACE_NOW && MAY_ADOPT(s))
}

inline forget_plan()
{
    plan_reign = 0;
    plan_mzxid = 0;
    plan_kind = 0;
    plan_owner = 0;
    plan_adopts = 0
}

#ifdef NO_ADOPT
#define CLAIMS(s, m) false
#else
#define CLAIMS(s, m) (node[AT(s, m)] != 0 && confirmed[AT(s, m)] != 0)
#endif
#ifdef ANY_CLAIM
#define IS_ADOPTED(s, m) CLAIMS(s, m)
#elif defined(NEWEST_MEMBER)
#define IS_ADOPTED(s, m) \
    (CLAIMS(s, m) && (!CLAIMS(s, 1 - m) || node[AT(s, m)] > node[AT(s, 1 - m)]))
#elif defined(TREES_WORD)
#define IS_ADOPTED(s, m) (CLAIMS(s, m) && (!CLAIMS(s, 1 - m) || owner[s] != node[AT(s, 1 - m)]))
#else
#define IS_ADOPTED(s, m) \
    (CLAIMS(s, m) && (!CLAIMS(s, 1 - m) || confirmed[AT(s, m)] >= confirmed[AT(s, 1 - m)]))
#endif

inline plan_adoption(s)
{
#ifndef APPLIED_KEPT
    revoked = 0;
#endif
    if
    :: IS_ADOPTED(s, 0) -> plan(s, (held[AT(s, 0)] -> REVOKING : GRANTED), node[AT(s, 0)])
    :: IS_ADOPTED(s, 1) -> plan(s, (held[AT(s, 1)] -> REVOKING : GRANTED), node[AT(s, 1)])
    :: !CLAIMS(s, 0) && !CLAIMS(s, 1) -> plan(s, kind[s], owner[s])
    fi
}

inline plan_grant(s)
{
    revoked = 0;
    if
    :: LIVES(s, 0) -> plan(s, GRANTED, node[AT(s, 0)])
    :: LIVES(s, 1) -> plan(s, GRANTED, node[AT(s, 1)])
    fi
}

#define IS_FREE(s) (kind[s] == NONE || !OWNER_LIVES(s))

inline plan_next(s)
{
    if
    :: IS_FREE(s) -> plan_grant(s)
    :: !IS_FREE(s) && kind[s] == REVOKING ->
        revoked = (revoked == 0 -> mzxid[s] : revoked);
        if
        :: IS_ACKNOWLEDGED(s) -> plan_grant(s)
        :: else
        fi
    :: !IS_FREE(s) && kind[s] == GRANTED && moves > 0 && LIVES(s, 0) && LIVES(s, 1) ->
        revoked = 0;
        plan(s, REVOKING, owner[s])
    :: !IS_FREE(s) && touches > 0 -> plan(s, kind[s], owner[s])
    fi
}

#define HAS_PLAN(s) \
    ((IS_FREE(s) && (LIVES(s, 0) || LIVES(s, 1))) || \
     (!IS_FREE(s) && \
      ((kind[s] == REVOKING && (revoked == 0 || IS_ACKNOWLEDGED(s))) || \
       (kind[s] == GRANTED && moves > 0 && LIVES(s, 0) && LIVES(s, 1)) || touches > 0)))

/* Who is not confirmed, because it did not reach its slot, may lose it to the tree's word. */
inline excuse(s, m)
{
    if
    :: heard[AT(s, m)] && confirmed[AT(s, m)] == 0 && plan_owner != incarnation[m] &&
       (state[m] == OWNED || state[m] == STOPPING) && HAS_NOT_REACHED -> late[m] = UNKNOWN_LATE
    :: else
    fi
}

inline write_assignment(s)
{
    if
    :: plan_adopts ->
        excuse(s, 0);
        excuse(s, 1);
        grace[s] = NO_GRACE_NOW;
        forget_heard(s)
    :: !plan_adopts && plan_kind == REVOKING && kind[s] == GRANTED ->
        moves = (moves > 0 -> moves - 1 : 0)
    :: !plan_adopts && plan_kind == kind[s] && plan_owner == owner[s] ->
        touches = (touches > 0 -> touches - 1 : 0)
    :: else
    fi;
    count(s);
    count_version(s);
    mzxid[s] = last[s];
    kind[s] = plan_kind;
    owner[s] = plan_owner;
    hint_all()
}

#ifdef MOVES_IN_GRACE
#define MAY_DECIDE(s) (grace[s] != GRACE_OVER)
#else
#define MAY_DECIDE(s) (grace[s] == NO_GRACE_NOW)
#endif

/* Another one may take the office at any time, and knows nothing of revocations; what it wanted to
 * write before may be executed later. */
#if ASSIGNERS > 1
byte office;
#define IS_IN_OFFICE(number) (office == (number))
#else
#define IS_IN_OFFICE(number) true
#endif

proctype Assigner(byte s; byte number)
{
    byte plan_reign, plan_kind; /* plan_reign 0: it has no plan */
    short plan_mzxid, plan_owner, revoked; /* revoked: assigner_revocation.mzxid */
    bool plan_adopts;
#ifdef BY_VERSION
    byte plan_version;
#endif

    do
    :: atomic { IS_IN_OFFICE(number) && plan_reign == 0 && !BEGINS(s, 0) &&
                MAY_ADOPT(s) -> plan_adoption(s) }
    :: atomic { IS_IN_OFFICE(number) && plan_reign == 0 && !BEGINS(s, 0) && MAY_DECIDE(s) &&
                HAS_PLAN(s) -> plan_next(s) }
#if ASSIGNERS > 1
    :: d_step { office != number ->
        office = number;
        revoked = 0 }
#endif
    :: atomic { plan_reign != 0 && MAY_WRITE(s) ->
        if
        :: BEGINS(s, 0) -> begin_reign(s, 0)
        :: else
        fi;
        if
        :: IS_AS_READ(s) -> write_assignment(s)
        :: else
        fi;
        forget_plan() }
    od
}

/* --- time: T passes, sessions end --- */

#define IS_AWAY(s, m) (cut[m] || SERVER(m) != s)
#ifdef GRACE_OF_THE_KNOWN
#define IS_WAITED_FOR(s, m) (node[AT(s, m)] != 0 && !IS_AWAY(s, m) && !heard[AT(s, m)])
#else
#define IS_WAITED_FOR(s, m) (incarnation[m] != 0 && !IS_AWAY(s, m) && !heard[AT(s, m)])
#endif

inline excuse_absent(s, m)
{
    if
    :: IS_AWAY(s, m) && !heard[AT(s, m)] -> late[m] = UNKNOWN_LATE
    :: else
    fi
}

#define IS_DEAD(s, m) (IS_AWAY(s, m) || node[AT(s, m)] != incarnation[m])
#ifdef ENDS_IN_GRACE /* leases are as they were when the data was saved */
#define MAY_END(s, m) \
    ((grace[s] == NO_GRACE_NOW && IS_DEAD(s, m)) || (grace[s] == GRACE && !heard[AT(s, m)]))
#elif defined(CLOCK_JUMPS)
#define MAY_END(s, m) (grace[s] == NO_GRACE_NOW && cuts > 0)
#else
#define MAY_END(s, m) (grace[s] == NO_GRACE_NOW && IS_DEAD(s, m))
#endif

#define SESSION_ENDS(s, m) \
    :: d_step { node[AT(s, m)] != 0 && !BEGINS(s, 0) && MAY_END(s, m) -> \
        cuts = (IS_DEAD(s, m) || cuts == 0 -> cuts : cuts - 1); \
        late[m] = (node[AT(s, m)] == incarnation[m] && IS_AWAY(s, m) -> UNKNOWN_LATE : late[m]); \
        node[AT(s, m)] = 0; \
        applied[AT(s, m)] = 0; \
        held[AT(s, m)] = 0; \
        confirmed[AT(s, m)] = 0; \
        count(s) }

proctype Time(byte s)
{
    do
    :: d_step { grace[s] == GRACE && !BEGINS(s, 0) && !IS_WAITED_FOR(s, 0) &&
                !IS_WAITED_FOR(s, 1) ->
        excuse_absent(s, 0);
        excuse_absent(s, 1);
#ifdef FIRST_START
        is_young = 0;
#endif
        grace[s] = GRACE_OVER }
    SESSION_ENDS(s, 0)
    SESSION_ENDS(s, 1)
    od
}

/* --- faults --- */

/* The master that answers next has the data of KEPT, or none. */
inline load(may_be_the_same)
{
    loads--;
    copy_tree(KEPT, HERE);
    other[HERE] = 1;
#if defined(FIRST_TOPIC) && !defined(TOPIC_APART)
    life++;
#endif
#ifdef BY_SERVER
    if
    :: may_be_the_same -> other[HERE] = 0
    :: true
    fi;
#endif
    unsubscribe_all();
#ifdef HOST_DIES /* with the master, and a member; for good */
    cut[0] = 1;
#endif
    if
    :: loads == 0 ->
        clear_tree(KEPT);
        has_kept = 0
    :: else
    fi
}

proctype Faults()
{
    do
    :: loads < 255 -> skip /* nothing happens */
#ifdef WIPED
    :: atomic { loads > 0 -> load(true) }
#else
    :: d_step { loads > 0 && !is_split ->
        copy_tree(HERE, KEPT);
        has_kept = 1 }
    :: atomic { loads > 0 && !is_split && has_kept -> load(true) }
#endif
#if SPLITS > 0
    :: atomic { loads > 0 && splits > 0 && !is_split && has_kept ->
        splits--;
        is_split = 1;
        is_there[0] = 1;
        is_there[1] = 1;
        copy_tree(HERE, THERE);
        load(false) }
    :: d_step { is_split && is_there[0] -> is_there[0] = 0 }
    :: d_step { is_split && is_there[1] -> is_there[1] = 0 }
    :: d_step { is_split ->
        is_split = 0;
        is_there[0] = 0;
        is_there[1] = 0;
        clear_tree(THERE) }
#endif
#ifdef FIRST_TOPIC
    :: d_step { born[HERE] == 0 && life == 1 -> born[HERE] = life }
#endif
#ifdef FIRST_START
    /* FLUSHALL, but not while a first takeover is on its way */
    :: d_step { loads > 0 && last[HERE] != 0 && state[0] != ACQUIRING && state[1] != ACQUIRING ->
        loads--;
        clear_tree(HERE) }
#endif
#if SLOT_LOADS > 0
    :: d_step { slot_loads > 0 -> copy_slot(HERE, KEPT) }
    :: d_step { slot_loads > 0 ->
        slot_loads--;
        copy_slot(KEPT, HERE) }
#endif
    :: d_step { cuts > 0 && !cut[0] -> cuts--; cut[0] = 1 }
    :: d_step { cuts > 0 && !cut[1] -> cuts--; cut[1] = 1 }
#ifndef HOST_DIES
    :: d_step { cut[0] -> cut[0] = 0 }
    :: d_step { cut[1] -> cut[1] = 0 }
#endif
#ifdef HINTS_ONLY
    :: d_step { hint[0] && !has_lost -> has_lost = 1; hint[0] = 0 }
    :: d_step { hint[1] && !has_lost -> has_lost = 1; hint[1] = 0 }
#endif
#ifdef EVICTED
    /* Redis evicts a part of the tree */
    :: d_step { loads > 0 ->
        loads--;
        node[AT(HERE, 0)] = 0;
        node[AT(HERE, 1)] = 0;
#ifndef NO_STAMP
        reign[HERE] = 0
#endif
        }
#endif
    od
}

init
{
    atomic {
#if !defined(FIRST_START) && !defined(FIRST_TOPIC)
        reign[HERE] = REIGN;
        last[HERE] = FIRST(1, SALT(REIGN)) + 2;
        node[AT(HERE, 0)] = last[HERE] - 1;
        mzxid[HERE] = last[HERE];
        kind[HERE] = GRANTED;
        owner[HERE] = node[AT(HERE, 0)];
        stored[HERE] = last[HERE];
        named[HERE] = NAME_OF(0);
        state[0] = OWNED;
        token[0] = last[HERE];
        incarnation[0] = node[AT(HERE, 0)];
        knows[0] = REIGN;
        largest[0] = last[HERE];
        seen[0] = last[HERE];
#endif
        run Member(0);
        run Member(1);
        run Assigner(HERE, 0);
#if ASSIGNERS > 1
        run Assigner(HERE, 1);
#endif
        run Time(HERE);
        run Visitor(HERE);
#if SPLITS > 0
        run Assigner(THERE, 0);
        run Time(THERE);
#endif
        run Faults()
    }
}

#define OWNED_BY(m) \
    (!cut[m] && incarnation[m] != 0 && OWNS(HERE, m) && state[m] == OWNED && \
     token[m] == stored[HERE])

ltl live { <>[] (grace[HERE] == NO_GRACE_NOW && kind[HERE] == GRANTED && \
                 (OWNED_BY(0) || OWNED_BY(1))) }
