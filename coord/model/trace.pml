/* trace.pml - is the recorded history of one slot a path of the model?  trace_check.py writes
 * history.pml, and its README says what the events mean.
 *
 * The steps are those of fleet.pml, redis.pml and assigner.pml.  What the history does not show, as
 * what the assigner writes, happens as it may.  What it shows happens in the order in which the
 * member has logged it: an event that is logged afterwards no later than its line, one that is logged
 * before no earlier.  A session ends only when the history says that it has, or that it might, and a
 * time-out of a revocation passes only as often as it says.
 *
 * The assertion is violated exactly when the history is a path. */
#include "history.pml"
#define SLOTS 1
#define NUMBER short
#define CALLS 0
#define CHECK(what) what /* a step of which this is not true is none */
#include "fleet.pml"

/* How the assigner sees members, and what it may do. */
#define NEXT_IS(m, kind) (to_come[m] < EVENTS && what[to_come[m]] == kind)
#define WAS_ALIVE(member) alive[member]
#define WAS_APPLIED(member) applied[member]
#define WAS_HELD(member, slot) (held[member] & BIT(slot))
#define NOBODY_ALIVE true
#define MAY_MOVE \
    (NEXT_IS(OWNER(entry[0]), REVOKE) || refused[OWNER(entry[0])] || TIMED_OUT > 0)
#define HAS_MOVED skip
#define MAY_GRANT(member) (alive[member] && (NEXT_IS(member, GRANT) || TIMED_OUT > 0))
#define MAY_PASS (passed < TIMED_OUT)
#define HAS_PASSED passed++
#include "assigner.pml"

/* How often the assigner may write between two lines of the history. */
#define WRITES 3

short at;                            /* lines that were passed */
byte writes = WRITES, passed;        /* time-outs that have */
bool answered[MEMBERS];              /* what it has released or refused is on its way */
short last_rank, last_version;       /* of the grant that was made last */
byte was;

c_decl { int farthest; }

#define HAPPENED(m) to_come[m] = following[to_come[m]]

/* Later tokens are those of later versions, in what is logged, too. */
#define RANK(m) rank[to_come[m]]
#define IS_IN_ORDER(m) \
    ((RANK(m) > last_rank && token[m] >= last_version) || \
     (RANK(m) == last_rank && token[m] == last_version))

/* Its node says at once what it should: later would only put off what others may do. */
inline say(m)
{
    if
    :: alive[m] && dirty[m] -> member_write(m)
    :: else
    fi
}

/* What was read may have changed the slot: that is what the member logs next. */
inline show_read(m)
{
    if
    :: state[m] == was
    :: state[m] == ACQUIRING && was == IDLE && NEXT_IS(m, GRANT) && IS_IN_ORDER(m) ->
        last_rank = RANK(m);
        last_version = token[m];
        HAPPENED(m)
    :: state[m] == STOPPING && was != STOPPING && NEXT_IS(m, REVOKE) -> HAPPENED(m)
    :: state[m] == IDLE && was != IDLE && NEXT_IS(m, LOSE) ->
        answered[m] = 0;
        HAPPENED(m)
    fi;
    say(m);
    was = 0
}

/* Steps of which nothing comes are left out, or the search would take long.  A member reads what
 * changes something for it.  Its session ends when nothing is left that it does within one, and either the slot
 * is its own or the end was logged.  It is granted the slot, and the slot is revoked from it, when
 * it logs that next, or, of a revocation, when it has refused the slot: another path with the same
 * events does without the other ones, as long as no time-out has passed. */
#define CONCERNS(m) \
    (entry[0] == GRANTED(m) || entry[0] == REVOKING(m) || state[m] != IDLE || granted[m] || \
     refused[m])
#define READS(m) \
    (seen[m] != version && CONCERNS(m) && \
     (entry[0] != GRANTED(m) || !granted[m] || (state[m] == IDLE && !refused[m])))
#define MEMBER_STEPS(m) \
    :: atomic { alive[m] && READS(m) -> \
        was = state[m]; \
        member_read(m); \
        show_read(m) } \
    :: atomic { alive[m] && refused[m] -> \
        was = state[m]; \
        member_ask_anew(m); \
        show_read(m) } \
    :: atomic { NEXT_IS(m, TAKE) && state[m] == ACQUIRING && RANK(m) == last_rank && \
                TAKEOVER_ACCEPTED(0, m, token[m]) -> \
        take_slot(0, m, token[m]); \
        state[m] = OWNED; \
        HAPPENED(m) } \
    :: atomic { to_come[m] < at && (NEXT_IS(m, RELEASE) || NEXT_IS(m, REFUSE)) -> \
        answered[m] = 1; \
        HAPPENED(m) } \
    :: atomic { answered[m] && state[m] != IDLE -> \
        answered[m] = 0; \
        member_end(m, 0); \
        say(m) } \
    :: atomic { alive[m] && may_end[m] && !NEXT_IS(m, GRANT) && !NEXT_IS(m, REVOKE) && \
                (CONCERNS(m) || (what[at] == END && who[at] == m)) -> \
        alive[m] = 0; \
        applied[m] = 0; \
        held[m] = 0 } \
    :: atomic { !alive[m] && NEXT_IS(m, LOSE) && state[m] != IDLE -> \
        member_lose(m, 0); \
        answered[m] = 0; \
        HAPPENED(m) }

/* The next line is passed: an event that is logged afterwards has happened. */
#define IS_PASSED \
    (what[at] == RELEASE || what[at] == REFUSE || what[at] == CUT || \
     (what[at] == OUT && passed >= rank[at]) || (what[at] == END && !alive[who[at]]) || \
     (what[at] != OUT && what[at] != END && to_come[who[at]] > at))

init
{
    byte next, excused;
    short revoked;

    atomic {
        do
        :: next < MEMBERS ->
            alive[next] = 1; /* sooner than it joined: nothing has to be granted to it */
            next++
        :: else -> break
        od;
        next = 0
    }
    do
    :: atomic { at < EVENTS && IS_PASSED ->
        if
        :: what[at] == CUT -> may_end[who[at]] = 1
        :: else
        fi;
        at++;
        writes = WRITES;
        c_code {
            if (now.at > farthest) {
                farthest = now.at;
                printf("passed %d\n", farthest);
            }
        } }
    :: atomic { writes > 0 ->
        assigner_decide(0, entry[0], version, next, revoked, excused);
        next != entry[0];
        assigner_set(0, next, excused);
        writes--;
        version = at * WRITES + (WRITES - writes) + 1; /* so paths that differ in nothing else meet */
        next = 0;
        excused = 0 }
    ALL_MEMBERS
    :: at == EVENTS -> assert(false)
    od
}
