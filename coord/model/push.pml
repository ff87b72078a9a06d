/* push.pml - one slot into which sends claim for an owner that sleeps: a sender, an owner, its
 * successor, and a failover of Redis that loses the last writes.  Both owners stay subscribed until
 * they notice that the slot is no longer theirs.  What a call does in Redis is one step; requests,
 * replies and publications are on their way for any time, overtake each other, and may be lost.
 *
 * Whoever loses a publication loses its subscription, and looks when it has subscribed again.  A
 * subscriber of the demoted node may hear what the new master publishes, and is not counted there.
 * Time only counts pushes.  A claim takes all that waits.  The lease of an owner that lives does
 * not end: what only the end of a lease repairs is not repaired.
 *
 * Mutations: ANY_NUMBER (an owner accepts a push with any number), TOKEN_IGNORED (and for any
 * token), PUBLISHED_FIRST (a send publishes, and stores the message if no subscriber is counted),
 * KNOWN_AGAIN (an owner begins what came as a push and is in a reply, too), KNOWN_BY_NUMBER (it
 * knows that by the number alone), REPEATED_ANEW (a repeated call names a newer claim than its
 * first try), PUSH_NOT_NAMED (a call does not name the newest push that its owner has accepted),
 * STOP_LEAVES_OPEN (a call that claims nothing does not close the slot), STAYS_OPEN (neither does a
 * push), NO_LOOK (an owner that has subscribed again does not look). */
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef LOSSES
#define LOSSES 0 /* of a request, a reply or a connection of a subscriber */
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef HANDOVERS
#define HANDOVERS 0 /* the first owner, 1: gives the slot up, 2: is passed over, 3: either */
#endif

#define OWNERS 2 /* 0 has token 1; 1 gets token 2 */
#define MASK(number) (1 << (number))

/* What Redis has of a message. */
#define ABSENT 0
#define WAITING 1
#define CLAIMED 2
#define DONE 3

/* `parked` */
#define NO 0
#define OPEN 1
#define CLOSED 2
#define PUSHED 3 /* and the owner has not called since */

/* The slot in Redis, and what of it the replica has that will be the next master. */
byte token = 1, base, claims, parked, push_at;
byte place[MESSAGES], number[MESSAGES];
byte kept_token, kept_base, kept_claims, kept_parked, kept_push_at;
byte kept_place[MESSAGES], kept_number[MESSAGES];

/* Sends.  A push of a message is on its way to the processes in the mask. */
byte sent, time, to_lose = LOSSES, failovers = FAILOVERS;
byte pushed_to[MESSAGES], push_token[MESSAGES], push_number[MESSAGES], push_time[MESSAGES];
byte woken_to;

/* The owners: struct owned_slot. */
#define IDLE 0
#define ACQUIRING 1
#define ACTIVE 2
#define STOPPING 3
#define GONE 4
byte state[OWNERS], last[OWNERS], newest[OWNERS], replied[OWNERS];
bool has_reply[OWNERS], claimable[OWNERS], woken[OWNERS], is_open[OWNERS];
#define TOKEN(p) (1 + (p))

/* Its subscription. */
#define NOWHERE 0
#define COUNTED 1
#define DEMOTED 2 /* at a node that is no longer the master */
#define LEAVING 3 /* it does not listen any more, and is counted until the server knows */
byte heard_at[OWNERS];

/* What it has in flight: the number of the claim, and how far it is. */
#define HANDLED 1 /* a handler has it */
#define ANSWERED 2
#define RELEASED 3 /* it is returned without having begun */
typedef Flight { byte number[MESSAGES]; byte step[MESSAGES] }
Flight flight[OWNERS];

/* Its consume call: what was sent, then what came of it. */
#define NONE 0
#define AGAIN 1 /* to be repeated */
#define ASKED 2
#define OK 3
#define FENCED 4 /* by a newer token */
#define REWOUND 5 /* by an older one */
typedef Call { byte step; bool n; bool open; byte last; byte oldest; byte pushed;
               byte answers; byte claims; byte claimed; bool again; bool parked; byte time }
Call call[OWNERS];

/* What the properties look at; the protocol never does. */
typedef Begun { byte numbers[MESSAGES] }
Begun begun[OWNERS]; /* the claim numbers under which an owner has begun a message */
byte settled;        /* the messages that a handler has finished */
byte undone;         /* those that a failover has changed in Redis */
byte lost;           /* those that it has lost */
bool graceful = 1;   /* no failover, and no owner was passed over */

#define OWNS(p) (token == TOKEN(p) && (state[p] == ACTIVE || state[p] == STOPPING))

/* No message waits while its owner has begun it. */
#define APART(p, m) (!OWNS(p) || place[m] != WAITING || flight[p].number[m] == 0 || \
                     flight[p].step[m] == RELEASED || (undone & MASK(m)))

inline check()
{
    for (i : 0 .. MESSAGES - 1) {
        assert(APART(0, i));
        assert(APART(1, i))
    }
    i = 0
}

#ifdef NO_LOOK
#define LOOK(p) skip
#else
#define LOOK(p) wake(p)
#endif

inline wake(p)
{
    if
    :: state[p] != ACTIVE
    :: state[p] == ACTIVE && call[p].step != NONE -> woken[p] = 1
    :: else -> claimable[p] = 1
    fi
}

/* --- sends: lua/send.lua, lua/lib/wake.lua --- */

#define IS_COUNTED(p) (heard_at[p] == COUNTED || heard_at[p] == LEAVING)
#define LISTENS(p) (heard_at[p] == COUNTED || heard_at[p] == DEMOTED)
#define IS_HEARD (IS_COUNTED(0) || IS_COUNTED(1))
#define LISTENERS (LISTENS(0) | LISTENS(1) << 1)
#define NOTHING_WAITS (place[0] != WAITING && place[1] != WAITING && place[MESSAGES - 1] != WAITING)

/* A push that is on its way to nobody is gone. */
inline arrive(p, m)
{
    pushed_to[m] = pushed_to[m] & ~MASK(p);
    if
    :: pushed_to[m] == 0 ->
        push_token[m] = 0;
        push_number[m] = 0;
        push_time[m] = 0
    :: else
    fi
}

inline publish(m)
{
    push_token[m] = token;
    push_number[m] = claims + 1;
    push_time[m] = time + 1;
    pushed_to[m] = LISTENERS;
    arrive(OWNERS, m)
}

/* Each message is sent once.  A send after a push wakes the owner again, or it is too early. */
inline send(m)
{
    if
    :: parked == OPEN && NOTHING_WAITS && IS_HEARD ->
        publish(m);
        claims++;
        time++;
        place[m] = CLAIMED;
        number[m] = claims;
#ifndef STAYS_OPEN
        parked = PUSHED;
#endif
        push_at = time
    :: else ->
#ifdef PUBLISHED_FIRST
        if
        :: parked == OPEN && NOTHING_WAITS -> publish(m); time++
        :: else
        fi;
#endif
        place[m] = WAITING;
        if
        :: parked == PUSHED -> woken_to = woken_to | LISTENERS
        :: parked == PUSHED
        :: (parked == OPEN || parked == CLOSED) && IS_HEARD ->
            woken_to = woken_to | LISTENERS;
            parked = NO
        :: else
        fi
    fi
}

/* --- lua/consume.lua --- */

/* The claim of a push with a number that the owner knew before. */
inline disown(p)
{
    for (i : 0 .. MESSAGES - 1) {
        if
        :: place[i] == CLAIMED && number[i] == claims && claims >= call[p].oldest -> disputed = 1
        :: place[i] == CLAIMED && number[i] == claims && claims < call[p].oldest -> place[i] = WAITING
        :: else
        fi
    }
}

inline settle(p)
{
    for (i : 0 .. MESSAGES - 1) {
        if
        :: (call[p].answers & MASK(i)) && place[i] == CLAIMED &&
           number[i] == flight[p].number[i] ->
            place[i] = (flight[p].step[i] == RELEASED -> WAITING : DONE)
        :: else
        fi
    }
}

inline hand_over(p)
{
    for (i : 0 .. MESSAGES - 1) {
        if
        :: place[i] == CLAIMED && number[i] == claims && claims > base ->
            call[p].claimed = call[p].claimed | MASK(i)
        :: else
        fi
    }
}

inline claim(p)
{
    for (i : 0 .. MESSAGES - 1) {
        if
        :: place[i] == WAITING ->
            place[i] = CLAIMED;
            number[i] = claims + 1;
            call[p].claimed = call[p].claimed | MASK(i)
        :: else
        fi
    }
    claims = (call[p].claimed != 0 -> claims + 1 : claims)
}

inline park(p)
{
    if
    :: call[p].n && call[p].claimed == 0 && !is_lost && !disputed ->
        parked = (call[p].open -> OPEN : CLOSED);
        call[p].parked = 1
    :: else ->
        if
        :: parked != NO && ((call[p].claimed != 0 && !is_lost) ||
                            (parked == PUSHED && (is_lost || (is_strange && !disputed)))) ->
            parked = NO
#ifndef STOP_LEAVES_OPEN
        :: parked == OPEN && !(call[p].n && call[p].open) -> parked = CLOSED
#endif
        :: else
        fi
    fi
}

inline consume(p)
{
    call[p].claimed = 0;
    call[p].parked = 0;
    settle(p);
    is_lost = call[p].last < claims;
#ifdef PUSH_NOT_NAMED
    is_strange = 0;
#else
    is_strange = !is_lost && parked == PUSHED && push_at != call[p].pushed;
#endif
    if
    :: is_strange -> disown(p)
    :: else
    fi;
    claims = (call[p].last > claims -> call[p].last : claims);
    if
    :: is_lost -> hand_over(p)
    :: !is_lost && call[p].n && !disputed -> claim(p)
    :: else
    fi;
    park(p);
    call[p].claims = claims;
    call[p].again = is_lost || disputed; /* the latter a second later */
    call[p].time = time;
    call[p].step = OK;
    is_lost = 0; is_strange = 0; disputed = 0; i = 0
}

/* --- owners: libsrc/consume/slot/ --- */

inline begin_message(p, m, its_number)
{
    flight[p].number[m] = its_number;
    flight[p].step[m] = (state[p] == STOPPING -> RELEASED : HANDLED)
}

/* An owner begins each message of each claim number once. */
inline note_begun(p, m, its_number)
{
    assert(!(begun[p].numbers[m] & MASK(its_number)));
    begun[p].numbers[m] = begun[p].numbers[m] | MASK(its_number)
}

/* consume_is_known(): by its number alone, or it is in flight under that number. */
#ifdef KNOWN_AGAIN
#define IS_KNOWN(p, m) false
#elif defined(KNOWN_BY_NUMBER)
#define IS_KNOWN(p, m) (call[p].claims <= known && known > call[p].last)
#else
#define IS_KNOWN(p, m) (flight[p].number[m] == call[p].claims)
#endif

/* consume_add_claims() */
inline add_claims(p)
{
    for (i : 0 .. MESSAGES - 1) {
        if
        :: (call[p].claimed & MASK(i)) && !IS_KNOWN(p, i) ->
            if
            :: state[p] == ACTIVE -> note_begun(p, i, call[p].claims)
            :: else
            fi;
            begin_message(p, i, call[p].claims)
        :: else
        fi
    }
}

inline forget_call(p)
{
    call[p].step = NONE; call[p].n = 0; call[p].open = 0; call[p].last = 0; call[p].oldest = 0;
    call[p].pushed = 0; call[p].answers = 0; call[p].claims = 0; call[p].claimed = 0;
    call[p].again = 0; call[p].parked = 0; call[p].time = 0
}

#define IN_FLIGHT(p, m) (flight[p].number[m] != 0)
#define HAS_FLIGHT(p) (IN_FLIGHT(p, 0) || IN_FLIGHT(p, 1) || IN_FLIGHT(p, MESSAGES - 1))
#define HAS_ANSWER(p) (flight[p].step[0] > HANDLED || flight[p].step[1] > HANDLED || \
                       flight[p].step[MESSAGES - 1] > HANDLED)
#define CLAIMS(p) (state[p] == ACTIVE && claimable[p] && (!HAS_FLIGHT(p) || HAS_ANSWER(p)))

/* consume_finish() */
inline finish(p)
{
    known = last[p];
    last[p] = (call[p].claims > last[p] -> call[p].claims : last[p]);
    is_open[p] = call[p].open && call[p].parked;
    replied[p] = call[p].time;
    has_reply[p] = 1;
    for (i : 0 .. MESSAGES - 1) {
        if
        :: call[p].answers & MASK(i) ->
            flight[p].number[i] = 0;
            flight[p].step[i] = 0
        :: else
        fi
    }
    add_claims(p);
    claimable[p] = state[p] == ACTIVE && ((claimable[p] && !call[p].n) || woken[p] ||
                   call[p].again || call[p].claimed != 0 || HAS_FLIGHT(p));
    woken[p] = 0;
    forget_call(p);
    known = 0; i = 0
}

inline ask(p)
{
    if
    :: call[p].step == NONE ->
        call[p].n = CLAIMS(p);
        call[p].open = CLAIMS(p);
        is_open[p] = is_open[p] || call[p].open;
        for (i : 0 .. MESSAGES - 1) {
            if
            :: flight[p].step[i] > HANDLED -> call[p].answers = call[p].answers | MASK(i)
            :: else
            fi
        };
        call[p].last = last[p]
#ifdef REPEATED_ANEW
    :: else -> call[p].last = last[p]
#else
    :: else /* it asks for what the first try has asked for */
#endif
    fi;
    call[p].pushed = newest[p];
    call[p].oldest = last[p] + 1;
    for (i : 0 .. MESSAGES - 1) {
        if
        :: IN_FLIGHT(p, i) && flight[p].number[i] < call[p].oldest ->
            call[p].oldest = flight[p].number[i]
        :: else
        fi
    }
    call[p].step = ASKED;
    i = 0
}

/* What is on its way to the subscriber is lost. */
inline unsubscribe(p)
{
    heard_at[p] = (heard_at[p] == COUNTED -> LEAVING : NOWHERE);
    woken_to = woken_to & ~MASK(p);
    for (i : 0 .. MESSAGES - 1) {
        arrive(p, i)
    }
    i = 0
}

/* slot_life_clear() */
inline clear(p)
{
    unsubscribe(p);
    forget_call(p);
    for (i : 0 .. MESSAGES - 1) {
        flight[p].number[i] = 0;
        flight[p].step[i] = 0;
        begun[p].numbers[i] = 0
    }
    is_open[p] = 0; claimable[p] = 0; woken[p] = 0;
    newest[p] = 0; replied[p] = 0; has_reply[p] = 0;
    i = 0
}

/* lua/takeover.lua, slot_life_taken_over() */
inline take_over(p)
{
    base = claims;
    token = TOKEN(p);
    parked = (parked == CLOSED -> CLOSED : NO);
    for (i : 0 .. MESSAGES - 1) {
        if
        :: place[i] == CLAIMED ->
            assert(!graceful); /* who gives the slot up leaves nothing claimed */
            place[i] = WAITING
        :: else
        fi
    }
    last[p] = base;
    state[p] = ACTIVE;
    claimable[p] = 1;
    i = 0
}

proctype Owner(byte p)
{
    byte i, known;
    bool is_lost, is_strange, disputed;

    do
    :: d_step { state[p] == ACQUIRING ->
        if
        :: token > TOKEN(p) -> state[p] = GONE
        :: else -> take_over(p)
        fi;
        check() }
    :: d_step { (state[p] == ACTIVE || state[p] == STOPPING) &&
                (call[p].step == AGAIN || (call[p].step == NONE && (CLAIMS(p) || HAS_ANSWER(p) ||
                                           (state[p] == STOPPING && is_open[p])))) ->
        ask(p) }
    :: d_step { call[p].step == ASKED ->
        if
        :: token == TOKEN(p) -> consume(p)
        :: token > TOKEN(p) -> call[p].step = FENCED
        :: else -> call[p].step = REWOUND
        fi;
        check() }
    :: d_step { call[p].step == OK ->
        finish(p);
        check() }
    :: d_step { call[p].step == FENCED || call[p].step == REWOUND ->
        state[p] = (call[p].step == REWOUND && state[p] == ACTIVE -> ACQUIRING : GONE);
        clear(p) }
    :: d_step { state[p] == STOPPING && call[p].step == NONE && !HAS_FLIGHT(p) && !is_open[p] ->
        state[p] = GONE;
        clear(p) }
    od
}

/* What comes to the owners: the ends of handlers, subscriptions, publications.  push_judge(),
 * push_accept(). */
#ifdef TOKEN_IGNORED
#define IS_MEANT(p, m) true
#else
#define IS_MEANT(p, m) (push_token[m] == TOKEN(p))
#endif
#ifdef ANY_NUMBER
#define IS_NEXT(p, m) true
#else
#define IS_NEXT(p, m) (push_number[m] == last[p] + 1 && has_reply[p] && push_time[m] > replied[p])
#endif

inline hear(p, m)
{
    if
    :: state[p] != ACTIVE || !IS_MEANT(p, m)
    :: state[p] == ACTIVE && IS_MEANT(p, m) && IS_NEXT(p, m) ->
        assert(push_token[m] == TOKEN(p)); /* it was the stored one when the message was pushed */
        note_begun(p, m, push_number[m]);
        last[p] = push_number[m];
        newest[p] = push_time[m];
        is_open[p] = call[p].step != NONE && call[p].open;
        begin_message(p, m, push_number[m]);
        wake(p)
    :: else -> wake(p)
    fi;
    arrive(p, m)
}

inline receive(p)
{
    if
    :: d_step { state[p] == ACTIVE && (heard_at[p] == NOWHERE || heard_at[p] == DEMOTED) ->
        heard_at[p] = COUNTED;
        LOOK(p) }
    :: d_step { woken_to & MASK(p) ->
        woken_to = woken_to & ~MASK(p);
        wake(p) }
    :: d_step { pushed_to[0] & MASK(p) -> hear(p, 0); check() }
    :: d_step { pushed_to[1] & MASK(p) -> hear(p, 1); check() }
#if MESSAGES > 2
    :: d_step { pushed_to[2] & MASK(p) -> hear(p, 2); check() }
#endif
    :: d_step { flight[p].step[0] == HANDLED -> answer(p, 0) }
    :: d_step { flight[p].step[1] == HANDLED -> answer(p, 1) }
#if MESSAGES > 2
    :: d_step { flight[p].step[2] == HANDLED -> answer(p, 2) }
#endif
    fi
}

inline answer(p, m)
{
    flight[p].step[m] = ANSWERED;
    settled = settled | MASK(m);
    claimable[p] = 1
}

proctype Events()
{
    byte i;

    do
    :: receive(0)
    :: receive(1)
    :: d_step { heard_at[0] == LEAVING -> heard_at[0] = NOWHERE }
    :: d_step { heard_at[1] == LEAVING -> heard_at[1] = NOWHERE }
    :: d_step { state[1] == IDLE && state[0] == GONE -> state[1] = ACQUIRING }
    od
}

/* The master is replaced by a replica that has all writes up to some time. */
inline keep()
{
    kept_token = token; kept_base = base; kept_claims = claims; kept_parked = parked;
    kept_push_at = push_at;
    for (i : 0 .. MESSAGES - 1) {
        kept_place[i] = place[i];
        kept_number[i] = number[i]
    }
    i = 0
}

inline fail_over()
{
    token = kept_token; base = kept_base; claims = kept_claims; parked = kept_parked;
    push_at = kept_push_at;
    for (i : 0 .. MESSAGES - 1) {
        if
        :: place[i] != ABSENT && kept_place[i] == ABSENT -> lost = lost | MASK(i)
        :: else
        fi;
        if
        :: place[i] != kept_place[i] || number[i] != kept_number[i] -> undone = undone | MASK(i)
        :: else
        fi;
        place[i] = kept_place[i];
        number[i] = kept_number[i];
        kept_place[i] = ABSENT;
        kept_number[i] = 0
    }
    kept_token = 0; kept_base = 0; kept_claims = 0; kept_parked = 0; kept_push_at = 0;
    heard_at[0] = (LISTENS(0) -> DEMOTED : NOWHERE);
    heard_at[1] = (LISTENS(1) -> DEMOTED : NOWHERE);
    graceful = 0;
    failovers--;
    i = 0
}


proctype World()
{
    byte i;

    do
    :: sent < 255 -> skip /* nothing happens */
    :: atomic { sent < MESSAGES ->
        send(sent);
        sent++;
        check() }
#if HANDOVERS & 1
    :: d_step { state[0] == ACTIVE && state[1] == IDLE ->
        state[0] = STOPPING;
        unsubscribe(0) }
#endif
#if HANDOVERS & 2
    :: d_step { state[1] == IDLE ->
        state[1] = ACQUIRING;
        graceful = 0 }
#endif
    :: d_step { failovers > 0 -> keep() }
    :: d_step { failovers > 0 && kept_token != 0 -> fail_over(); check() }
    :: d_step { to_lose > 0 && LISTENS(0) -> unsubscribe(0); to_lose-- }
    :: d_step { to_lose > 0 && LISTENS(1) -> unsubscribe(1); to_lose-- }
    :: d_step { to_lose > 0 && (call[0].step >= ASKED) -> call[0].step = AGAIN; to_lose-- }
    :: d_step { to_lose > 0 && (call[1].step >= ASKED) -> call[1].step = AGAIN; to_lose-- }
    od
}

init
{
    atomic {
        state[0] = ACTIVE;
        claimable[0] = 1;
        run Owner(0);
        run Owner(1);
        run Events();
        run World()
    }
}

/* Each message that was sent, and that no failover has lost, is handled in the end. */
ltl live { <>[] ((settled | lost) == MASK(sent) - 1) }
