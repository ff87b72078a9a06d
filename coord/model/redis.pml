/* redis.pml - a slot in Redis: lua/takeover.lua, and the fence of lua/consume.lua, renew.lua and
 * vacate.lua. Shared by the models that #include it; they define SLOTS and PROCESSES before.
 *
 * A call that changes messages is one step, write_slot(): it claims, or settles what was claimed.
 *
 * Mutations: NO_TOKEN (no call compares the token), AT_LEAST (a stored token that is smaller is
 * accepted, too), TAKEOVER_UNCHECKED (a takeover stores any token), NAME_UNCHECKED (a takeover with
 * the stored token is accepted from another name). */

/* What must be true; a history of which it is not (trace.pml) is no path of the model. */
#ifndef CHECK
#define CHECK(what) assert(what)
#endif
#ifndef NUMBER
#define NUMBER byte /* of versions and tokens */
#endif

NUMBER stored[SLOTS]; /* the token of the slot; 0: it never had an owner */
byte named[SLOTS];  /* the name of who stored it, by NAME_OF(); 0: nobody */
byte claimed[SLOTS]; /* 1 + the process whose claim is in flight; 0: nothing is */

/* What the properties look at; the protocol never does. */
NUMBER newest[SLOTS]; /* the largest token that was ever stored */
byte taker[SLOTS];  /* 1 + the process that stored `newest` first */
bool faulty;        /* a session ended, a time-out of a revocation or of a drain has passed */

#ifndef NAME_OF
#define NAME_OF(process) (1 + (process))
#endif

/* A failover is the only way back; its model says when a write under an older token counts. */
#ifndef OLD_TOKEN_EXCUSED
#define OLD_TOKEN_EXCUSED(slot) false
#endif

#ifdef TAKEOVER_UNCHECKED
#define TAKEOVER_ACCEPTED(slot, process, with) true
#elif defined(NAME_UNCHECKED)
#define TAKEOVER_ACCEPTED(slot, process, with) ((with) >= stored[slot])
#else
#define TAKEOVER_ACCEPTED(slot, process, with) \
    ((with) > stored[slot] || ((with) == stored[slot] && named[slot] == NAME_OF(process)))
#endif

#ifdef NO_TOKEN
#define WRITE_ACCEPTED(slot, with) true
#elif defined(AT_LEAST)
#define WRITE_ACCEPTED(slot, with) ((with) >= stored[slot])
#else
#define WRITE_ACCEPTED(slot, with) ((with) == stored[slot])
#endif

/* A takeover that is accepted: what the former owner had claimed is given back.  In a run without
 * faults the former owner has nothing in flight any more. */
inline take_slot(slot, process, with)
{
    CHECK((with) >= stored[slot]); /* tokens only grow */
    if
    :: (with) > stored[slot] ->
        CHECK(faulty || claimed[slot] == 0 || claimed[slot] == 1 + (process));
        claimed[slot] = 0;
        named[slot] = NAME_OF(process)
    :: else
    fi;
    stored[slot] = with;
    if
    :: (with) > newest[slot] ->
        newest[slot] = with;
        taker[slot] = 1 + (process)
    :: else
    fi
}

/* A call that is accepted: claims when the process has nothing in flight, else settles. */
inline write_slot(slot, process, with)
{
    CHECK((with) == newest[slot] || OLD_TOKEN_EXCUSED(slot)); /* no write under an old token */
    CHECK((with) != newest[slot] || taker[slot] == 1 + (process)); /* one process a token */
    if
    :: claimed[slot] == 1 + (process) -> claimed[slot] = 0
    :: else -> claimed[slot] = 1 + (process)
    fi
}
