/* identity.pml - one message whose id the library made, in a slot of a topic that is turned to
 * format 5 and back: it is whole in its entry, or stored beside it, and is never there twice. Its
 * sender repeats what has no reply, in the form that it had, and requests are executed late. The
 * owner settles, retries, divides (reschedules) and buries it, and the operator requeues it. A
 * failover brings back what the replica has, and a restore an older copy.
 *
 * lua/send.lua with lib/sent_before.lua; lib/settle.lua, give_back.lua, bury.lua, edit.lua (divide);
 * libsrc/admin/format.c. What a slot does in one script is one step here, and is replicated as one.
 *
 * Not modelled: a user's send that gives the id of a message which the library has made. It does
 * not merge with a whole one (decision 76).
 *
 * Mutations: NO_SEND_ID (a repeat is not known), STAMP_IGNORED (a request of another format is
 * executed), BACK_EARLY (format 4 is set while a whole message is there), DIVIDE_KEEPS and
 * BURY_KEEPS (the whole entry stays), REQUEUE_KEEPS (the dead letter stays). */
#ifndef REPEATS
#define REPEATS 2
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef RESTORES
#define RESTORES 1
#endif
#ifndef CHANGES
#define CHANGES 3 /* of the format */
#endif
#ifndef ANSWERS
#define ANSWERS 3 /* that are not `done` */
#endif

#define NOWHERE 0
#define WAITING 1
#define CLAIMED 2
#define DEAD 3

#define WHOLE 5 /* the form of a request is the format that its topic must have */
#define BESIDE 4

/* The slot, its replica, and a copy of its data. */
typedef Slot {
    byte whole, beside; /* where the message is in that form */
    bool known;         /* the record of its producer has the send id */
    byte format
}
Slot now_, replica, copy;
bool copied;

/* The sender */
byte form;          /* of the message; 0: not sent yet */
byte on_way[6];     /* requests, by their form, that are not executed */
bool replied;       /* it knows that the message is stored */
byte repeats = REPEATS;

/* The owner */
bool has_whole, has_beside; /* what it has claimed, by its form */
byte answers = ANSWERS, changes = CHANGES, failovers = FAILOVERS, restores = RESTORES;

/* What the properties look at */
bool lost; /* Redis has lost a write */
byte settled;

#define IS_THERE (now_.whole != NOWHERE || now_.beside != NOWHERE)
#define ONCE assert(now_.whole == NOWHERE || now_.beside == NOWHERE)
#define KEPT assert(lost || !replied || settled > 0 || IS_THERE)
#define READABLE assert(now_.format == 5 || now_.whole == NOWHERE)

inline assign(to, from)
{
    to.whole = from.whole;
    to.beside = from.beside;
    to.known = from.known;
    to.format = from.format
}

#define DIFFERS(from)                                                                              \
    (now_.whole != from.whole || now_.beside != from.beside || now_.known != from.known ||         \
     now_.format != from.format)

inline store(as)
{
    if
    :: as == WHOLE && now_.whole == NOWHERE -> now_.whole = WAITING
    :: as == BESIDE && now_.beside == NOWHERE -> now_.beside = WAITING
    :: else /* it merges */
    fi
}

/* A request is executed, and its reply comes or is lost. */
inline execute(as)
{
    on_way[as]--;
    if
#ifndef STAMP_IGNORED
    :: now_.format != as -> skip /* STALE: nothing is done */
#endif
    :: else ->
        if
#ifndef NO_SEND_ID
        :: now_.known -> skip
#endif
        :: else ->
            store(as);
            now_.known = 1
        fi;
        if
        :: replied = 1
        :: skip
        fi
    fi;
    ONCE;
    KEPT;
    READABLE
}

proctype Sender()
{
end:
    do
    :: d_step { form == 0 ->
        form = now_.format;
        on_way[form]++ }
    :: d_step { form != 0 && !replied && repeats > 0 ->
        repeats--;
        if
        :: form == WHOLE && now_.format == 4 -> form = BESIDE /* its topic has it no more */
        :: else
        fi;
        on_way[form]++ }
    :: atomic { on_way[WHOLE] > 0 -> execute(WHOLE) }
    :: atomic { on_way[BESIDE] > 0 -> execute(BESIDE) }
    /* its last try says what came of it */
    :: d_step { form != 0 && !replied && repeats == 0 && on_way[WHOLE] + on_way[BESIDE] == 0 &&
                now_.known -> replied = 1 }
    od
}

inline divide(to)
{
#ifndef DIVIDE_KEEPS
    now_.whole = NOWHERE;
#endif
    now_.beside = to
}

inline bury()
{
#ifndef BURY_KEEPS
    now_.whole = NOWHERE;
#endif
    now_.beside = DEAD
}

proctype Owner()
{
end:
    do
    :: d_step { now_.whole == WAITING && now_.format == 5 ->
        now_.whole = CLAIMED;
        has_whole = 1 }
    :: d_step { now_.beside == WAITING ->
        now_.beside = CLAIMED;
        has_beside = 1 }
    :: d_step { now_.whole == CLAIMED && !has_whole -> now_.whole = WAITING } /* its lease ends */
    :: d_step { now_.beside == CLAIMED && !has_beside -> now_.beside = WAITING }
    :: d_step { has_whole && now_.whole == CLAIMED -> /* done */
        has_whole = 0;
        now_.whole = NOWHERE;
        settled = (settled < 3 -> settled + 1 : 3);
        assert(settled == 1 || lost) }
    :: d_step { has_beside && now_.beside == CLAIMED ->
        has_beside = 0;
        now_.beside = NOWHERE;
        settled = (settled < 3 -> settled + 1 : 3);
        assert(settled == 1 || lost) }
    :: atomic { answers > 0 && has_whole && now_.whole == CLAIMED ->
        answers--;
        has_whole = 0;
        if
        :: now_.whole = WAITING /* retry */
        :: divide(WAITING)
        :: bury()
        fi;
        ONCE }
    :: atomic { answers > 0 && has_beside && now_.beside == CLAIMED ->
        answers--;
        has_beside = 0;
        if
        :: now_.beside = WAITING
        :: now_.beside = DEAD
        fi }
    :: d_step { has_whole && now_.whole != CLAIMED -> has_whole = 0 } /* refused: it is gone */
    :: d_step { has_beside && now_.beside != CLAIMED -> has_beside = 0 }
    od
}

#ifdef BACK_EARLY
#define MAY_TURN_BACK true
#else
#define MAY_TURN_BACK (now_.whole == NOWHERE)
#endif

proctype Operator()
{
end:
    do
    :: d_step { now_.beside == DEAD ->
#ifdef REQUEUE_KEEPS
        if
        :: now_.format == 5 -> now_.whole = WAITING
        :: else -> now_.beside = WAITING
        fi;
        ONCE
#else
        now_.beside = WAITING
#endif
        }
    :: d_step { changes > 0 && now_.format == 4 ->
        changes--;
        now_.format = 5 }
    :: d_step { changes > 0 && now_.format == 5 && MAY_TURN_BACK ->
        changes--;
        now_.format = 4;
        READABLE }
    od
}

inline lose(older)
{
    lost = lost || DIFFERS(older);
    assign(now_, older);
    ONCE;
    READABLE
}

proctype Faults()
{
end:
    do
    :: d_step { DIFFERS(replica) -> assign(replica, now_) }
    :: d_step { restores > 0 && !copied ->
        copied = 1;
        assign(copy, now_) }
    :: d_step { failovers > 0 ->
        failovers--;
        lose(replica) }
    :: d_step { restores > 0 && copied ->
        restores--;
        lose(copy);
        assign(replica, now_) }
    od
}

init
{
    atomic {
        now_.format = 4;
        assign(replica, now_);
        assign(copy, now_);
        run Sender();
        run Owner();
        run Operator();
        run Faults()
    }
}

/* What its sender knows to be stored is handled, unless Redis has lost it. */
ltl live { <>[] (!replied || lost || (settled > 0 && !IS_THERE)) }
