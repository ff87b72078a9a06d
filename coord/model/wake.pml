/* wake.pml - one slot of a shared topic in which processes sleep: who is woken for a message, who
 * looks if that one dies, and who looks when a delayed message is due.  What a call does in Redis is
 * one step.  A process that dies, or stands still, may be counted as one that hears for any time.
 *
 * Whoever has claimed a message does not die; the end of its lease is a time like that of a delayed
 * message.  Nobody looks by itself, without having been told to: what only that repairs is found.
 *
 * Mutations: NO_BACKUP (nobody is told to look if the one that is woken dies), CALL_CLEARS (a call
 * that leaves a message that is due says that nothing is), NOT_PASSED_ON (and wakes nobody),
 * UNHEARD_COUNTS (a publication that nobody hears has woken somebody), FULL_KEEPS (who is woken and
 * has no room does not call), NOT_TOLD (a delayed message wakes nobody), BACKUP_ONLY_READS (who was
 * to read after a wake does not look for what is due later), BACKUP_ONCE (who leaves a message to one
 * that is on its way sees to no backup). */
#ifndef SLEEPERS
#define SLEEPERS 3
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef FULL
#define FULL 0 /* the first process has no room, and never gets any */
#endif

#ifndef STALE
#define STALE 0 /* the last process has died before, and its name is still in the list */
#endif

#define MESSAGES 2 /* the last one may be delayed */
#define LAST (MESSAGES - 1)
#define NOBODY SLEEPERS

/* What Redis has of a message, and who has claimed it. */
#define ABSENT 0
#define DELAYED 1
#define WAITING 2
#define CLAIMED 3
#define DONE 4
byte place[MESSAGES], claimer[MESSAGES];

/* `parked`: the list, who was woken, and whether a time is known at which something is due. */
bool listed[SLEEPERS], due_known;
byte woken = NOBODY;
bool recent; /* that was less than 300 ms ago */
byte wakes;  /* how many wakes there were */

/* The processes. */
#define ASLEEP 0
#define AWAKE 1 /* and calls next */
#define GONE 2
byte state[SLEEPERS];
bool counted[SLEEPERS]; /* Redis says that it hears */
bool rung[SLEEPERS];    /* a wake is on its way to it */

/* When it wakes up without a wake, which the list says, too.  LOOK_DUE is `!` of lua/lib/idle.lua,
 * the others are `?`. */
#define NEVER 0
#define LOOK_DUE 1  /* when the delayed message is due */
#define READ_SOON 2 /* 400 ms after the wake of that number */
#define READ_LATE 3 /* half a second after the delayed message is due */
byte timer[SLEEPERS], timer_wake[SLEEPERS];

byte sent, deaths = DEATHS;

#define IS_DELAYED (place[LAST] == DELAYED)
#define IS_WAITING (place[0] == WAITING || place[LAST] == WAITING)
#define HAS_ROOM(p) (!FULL || (p) != 0)
#define HOLDS(p) ((place[0] == CLAIMED && claimer[0] == (p)) || \
                  (place[LAST] == CLAIMED && claimer[LAST] == (p)))

/* --- lua/lib/idle.lua --- */

/* How many of those in the list, but for `not`, wake up by then.  Who reads soon after a wake counts
 * as one that looks when the delayed message is due. */
inline count_told(by, not)
{
    told = 0;
    for (k : 0 .. SLEEPERS - 1) {
        if
        :: k != (not) && listed[k] && (timer[k] == READ_SOON ||
                                       ((by) != READ_SOON && timer[k] == LOOK_DUE) ||
                                       ((by) == READ_LATE && timer[k] == READ_LATE)) -> told++
        :: else
        fi
    }
    k = 0
}

/* Tell those in the list that were not told yet; who hears nothing is removed. */
#define MAY_BE_TOLD(p, what) (listed[p] && timer[p] != READ_SOON && timer[p] != (what) && \
                              ((what) != READ_LATE || timer[p] != LOOK_DUE))

inline tell(what)
{
    do
    :: told < wanted ->
        if
        :: MAY_BE_TOLD(0, what) -> q = 0
        :: MAY_BE_TOLD(1, what) -> q = 1
#if SLEEPERS > 2
        :: MAY_BE_TOLD(2, what) -> q = 2
#endif
        :: else -> break
        fi;
        if
        :: counted[q] ->
            timer[q] = what;
            timer_wake[q] = ((what) == READ_SOON -> wakes : 0);
            told++
        :: else -> listed[q] = 0
        fi
    :: else -> break
    od;
    told = 0; wanted = 0; q = 0
}

/* it.wake_one() */
inline wake_one()
{
    is_on_its_way = woken != NOBODY && recent;
    rings = !is_on_its_way;
    do
    :: rings ->
        if
        :: listed[0] -> q = 0
        :: listed[1] -> q = 1
#if SLEEPERS > 2
        :: listed[2] -> q = 2
#endif
        :: else -> break
        fi;
        listed[q] = 0;
        if
#ifndef UNHEARD_COUNTS
        :: !counted[q]
#endif
        :: else ->
            rung[q] = counted[q] && state[q] != GONE;
            woken = q;
            recent = 1;
            wakes++;
            rings = 0
        fi
    :: else -> break
    od;
    rings = 0; q = 0;
#ifdef BACKUP_ONCE
    told = is_on_its_way;
#endif
#ifndef NO_BACKUP
    if
    :: woken != NOBODY && recent && told == 0 ->
        count_told(READ_SOON, NOBODY);
        wanted = 1;
        tell(READ_SOON)
    :: else
    fi;
#endif
    told = 0; is_on_its_way = 0
}

/* it.due_by() */
inline due_by()
{
    due_known = 1;
#ifndef NOT_TOLD
    count_told(LOOK_DUE, NOBODY);
    wanted = 1;
    tell(LOOK_DUE);
    count_told(READ_LATE, NOBODY);
    wanted = 2;
    tell(READ_LATE)
#endif
}

/* --- lua/send.lua, lua/lib/wake.lua --- */

inline send(m, what)
{
    place[m] = what;
    if
    :: (what) == WAITING -> wake_one()
    :: (what) == DELAYED && !due_known && (listed[0] || listed[1] || listed[SLEEPERS - 1]) -> due_by()
    :: else
    fi
}

/* --- lua/consume.lua, lua/lib/park.lua --- */

inline claim(p, m)
{
    place[m] = CLAIMED;
    claimer[m] = p
}

inline park(p)
{
    count_told(LOOK_DUE, p);
    timer[p] = (IS_DELAYED && told == 0 -> LOOK_DUE : NEVER);
    count_told(READ_LATE, p);
    timer[p] = (IS_DELAYED && timer[p] == NEVER && told < 2 -> READ_LATE : timer[p]);
    told = 0;
    listed[p] = 1;
    state[p] = ASLEEP
}

inline leave_due(p)
{
    listed[p] = 0;
    if
    :: woken == p -> woken = NOBODY; recent = 0
    :: else
    fi;
#ifndef NOT_PASSED_ON
    wake_one();
#endif
#ifdef CALL_CLEARS
    woken = NOBODY; recent = 0
#endif
}

inline consume(p)
{
    if
    :: HAS_ROOM(p) ->
        listed[p] = 0;
        timer[p] = NEVER;
        timer_wake[p] = 0;
        if
        :: place[0] == WAITING -> claim(p, 0)
        :: place[LAST] == WAITING -> claim(p, LAST)
        :: place[0] == WAITING && place[LAST] == WAITING -> claim(p, 0); claim(p, LAST)
        :: else
        fi
    :: else -> state[p] = ASLEEP
    fi;
    due_known = 0;
    if
    :: IS_WAITING -> leave_due(p)
    :: else -> woken = NOBODY; recent = 0
    fi;
    if
    :: HAS_ROOM(p) && !HOLDS(p) && !IS_WAITING -> park(p)
    :: else
    fi;
    if
    :: IS_DELAYED -> due_by()
    :: else
    fi
}

/* --- libsrc/consume/slot/shared.c --- */

inline look(p)
{
#ifdef FULL_KEEPS
    state[p] = (HAS_ROOM(p) -> AWAKE : ASLEEP)
#else
    state[p] = AWAKE
#endif
}

inline read(p)
{
    timer[p] = NEVER;
    timer_wake[p] = 0;
    if
    :: woken != NOBODY || !listed[p] || (due_known && !IS_DELAYED) -> look(p)
    :: else ->
        count_told(LOOK_DUE, p);
#ifdef BACKUP_ONLY_READS
        told = 1;
#endif
        timer[p] = (!IS_DELAYED -> NEVER : (told == 0 -> LOOK_DUE : READ_LATE));
        told = 0
    fi
}

#define IS_OVER(p) (!recent || timer_wake[p] != wakes)

proctype Sleeper(byte p)
{
    byte k, q, told, wanted;
    bool rings, is_on_its_way;

    do
    :: atomic { state[p] == ASLEEP && rung[p] -> rung[p] = 0; timer[p] = NEVER; timer_wake[p] = 0; look(p) }
    :: atomic { state[p] == AWAKE && rung[p] -> rung[p] = 0; consume(p) }
    :: atomic { state[p] == ASLEEP && timer[p] == LOOK_DUE && !IS_DELAYED -> timer[p] = NEVER; look(p) }
    :: atomic { state[p] == ASLEEP && timer[p] == READ_SOON && IS_OVER(p) -> read(p) }
    :: atomic { state[p] == ASLEEP && timer[p] == READ_LATE && !IS_DELAYED -> read(p) }
    :: atomic { state[p] == AWAKE && !HOLDS(p) && !rung[p] -> consume(p) }
    :: atomic { place[0] == CLAIMED && claimer[0] == p -> place[0] = DONE; consume(p) }
    :: atomic { place[LAST] == CLAIMED && claimer[LAST] == p -> place[LAST] = DONE; consume(p) }
    od
}

/* Time passes.  When the delayed message is due somebody looks at once, if nobody has died. */
#define LOOKS(p) (state[p] == AWAKE || rung[p] || timer[p] == LOOK_DUE || timer[p] == READ_SOON || HOLDS(p))

proctype Clock()
{
    do
    :: d_step { IS_DELAYED ->
        assert(deaths < DEATHS || LOOKS(0) || LOOKS(1) || LOOKS(SLEEPERS - 1));
        place[LAST] = WAITING }
    :: d_step { recent -> recent = 0 }
    od
}

proctype World()
{
    byte k, q, told, wanted, p;
    bool rings, is_on_its_way;

    do
    :: sent <= MESSAGES -> skip /* nothing happens */
    :: atomic { sent < MESSAGES -> send(sent, WAITING); sent++ }
    :: atomic { sent == LAST -> send(sent, DELAYED); sent++ }
    :: atomic { deaths > 0 ->
        if
        :: state[0] != GONE && HAS_ROOM(0) -> p = 0
        :: state[1] != GONE -> p = 1
#if SLEEPERS > 2
        :: state[2] != GONE -> p = 2
#endif
        fi;
        if
        :: HOLDS(p)
        :: else -> state[p] = GONE; rung[p] = 0; deaths--
        fi;
        p = 0 }
    :: d_step { state[0] == GONE && counted[0] -> counted[0] = 0 }
    :: d_step { state[1] == GONE && counted[1] -> counted[1] = 0 }
#if SLEEPERS > 2
    :: d_step { state[2] == GONE && counted[2] -> counted[2] = 0 }
#endif
    od
}

init
{
    byte p;

    atomic {
        for (p : 0 .. SLEEPERS - 1) {
            listed[p] = 1;
            counted[p] = 1;
            run Sleeper(p)
        }
#if STALE
        counted[SLEEPERS - 1] = 0;
        state[SLEEPERS - 1] = GONE;
#endif
        run Clock();
        run World()
    }
}

/* No message that is due stays, while one of the processes that sleep lives. */
ltl live { <>[] (!IS_WAITING) }
