/* fence.pml - one slot, two members, and ZooKeeper that loses its data, or is restored from an
 * older copy: its zxids are small again. A token is (generation, mzxid); the generation is that of
 * the root. A living member that finds no root makes it again one generation higher; a newcomer
 * makes one of generation 1 and of another identity. Redis binds the topic to an identity, and a
 * member under another is granted nothing. The operator, who hears of it, calls `slotmq fleet
 * raise-fence`: the generation becomes larger than that of any token, and the topic is bound to the
 * root.
 *
 * coord/session/root.c, coord/fleet/fence.c, libsrc/admin/fence.c, and the identity in
 * coord/member/ownership_node.c.
 *
 * Without copies no operator is needed (NO_COPY, NO_OPERATOR) as long as a living member is first.
 *
 * Mutations: GENERATION_IGNORED (a token is its mzxid alone), NOT_BOUND (the operator's call does
 * not bind the topic), SAME_GENERATION (a living member makes the root again as it knew it),
 * ONE_NAME (both members have one name, so the name does not tell their equal tokens apart), and
 * those of redis.pml. */
#define PROCESSES 2
#define SLOTS 1
#ifdef ONE_NAME
#define NAME_OF(process) 1
#endif
#include "redis.pml"

#define IDS 8 /* zxids, and so epochs, are below */
#ifndef DISASTERS
#define DISASTERS 1
#endif
#ifndef CHANGES
#define CHANGES 1
#endif
#ifndef CALLS
#define CALLS 1
#endif

/* ZooKeeper */
byte zxid = 2, version = 2, entry = 1; /* the entry: 1 + the member; 0: nobody */
byte root = 1, identity = 1;           /* root 0: there is none */
byte sessions = 3;                     /* bit by member: its session is of this ZooKeeper */
byte copy_zxid, copy_root = 1;         /* of an older copy */

byte bound = 1; /* the identity that Redis binds the topic to */

byte knows[PROCESSES] = 1; /* the generation that each member has read; 0: a newcomer */
byte known_identity[PROCESSES] = 1;
byte inside = 3; /* bit by member: it has a node, and goes by the root */
byte token[PROCESSES], seen[PROCESSES];
bool owned[PROCESSES], refused[PROCESSES], said;

byte disasters = DISASTERS, changes = CHANGES, calls = CALLS, identities = 1;

#define BIT(p) (1 << (p))
#ifdef GENERATION_IGNORED
#define TOKEN(p) (version)
#else
#define TOKEN(p) (knows[p] * IDS + version)
#endif

inline lose(p)
{
    token[p] = 0;
    owned[p] = 0;
    refused[p] = 0;
    seen[p] = 0;
    inside = inside & ~BIT(p)
}

/* Enter: read the root, or make it. */
inline enter(p)
{
    if
    :: root == 0 ->
#ifdef SAME_GENERATION
        root = (knows[p] == 0 -> 1 : knows[p]);
#else
        root = knows[p] + 1;
#endif
        if
        :: knows[p] == 0 ->
            identities++;
            identity = identities
        :: else -> identity = known_identity[p]
        fi
    :: else
    fi;
    knows[p] = root;
    known_identity[p] = identity;
    inside = inside | BIT(p);
    sessions = sessions | BIT(p);
    seen[p] = 0
}

proctype Member(byte p)
{
    do
    /* zk_probe.c: the servers let others in, and not this session */
    :: d_step { (inside & BIT(p)) && !(sessions & BIT(p)) -> lose(p) }
    :: d_step { !(inside & BIT(p)) -> enter(p) }
    :: d_step { (inside & BIT(p)) && (sessions & BIT(p)) && knows[p] != root && root != 0 ->
        knows[p] = root;
        known_identity[p] = identity;
        refused[p] = 0;
        seen[p] = 0 }
    /* ownership_unbound(): what is bound to another identity is not consumed */
    :: d_step { (inside & BIT(p)) && (sessions & BIT(p)) && known_identity[p] != bound && !said ->
        said = 1 }
    :: d_step { (inside & BIT(p)) && (sessions & BIT(p)) && known_identity[p] == bound &&
                seen[p] != version ->
        seen[p] = version;
        if
        :: entry == 1 + p && token[p] == 0 && !refused[p] -> token[p] = TOKEN(p)
        :: entry != 1 + p ->
            token[p] = 0;
            owned[p] = 0;
            refused[p] = 0
        :: else
        fi }
    :: d_step { (inside & BIT(p)) && token[p] != 0 && !owned[p] ->
        if
        :: TAKEOVER_ACCEPTED(0, p, token[p]) ->
            take_slot(0, p, token[p]);
            owned[p] = 1
        :: else ->
            token[p] = 0;
            refused[p] = 1;
            said = 1
        fi }
    :: d_step { owned[p] && (calls > 0 || stored[0] != token[p]) ->
        calls = (calls > 0 -> calls - 1 : 0);
        if
        :: WRITE_ACCEPTED(0, token[p]) -> write_slot(0, p, token[p])
        :: else ->
            token[p] = 0;
            owned[p] = 0;
            refused[p] = 1
        fi }
    :: d_step { (inside & BIT(p)) && (sessions & BIT(p)) && refused[p] && knows[p] == root ->
        refused[p] = 0;
        seen[p] = 0 } /* the back-off is over */
    od
}

#define THERE(p) ((inside & BIT(p)) && (sessions & BIT(p)))
#define IS_FREE (entry == 0 || !THERE(entry - 1))

/* The assigner: an owner that is gone is followed by who is there. */
proctype Assigner()
{
    do
    :: d_step { root != 0 && zxid < IDS - 1 && IS_FREE && (THERE(0) || THERE(1)) ->
        if
        :: THERE(0) && entry != 1 -> entry = 1
        :: else -> entry = (THERE(1) -> 2 : 1)
        fi;
        zxid++;
        version = zxid }
    od
}

proctype Faults()
{
    do
    :: zxid < 255 -> skip /* nothing happens */
    /* a session ends; the slot moves, and its token grows */
    :: d_step { changes > 0 && root != 0 ->
        changes--;
        faulty = 1;
        sessions = sessions & ~BIT(entry == 0 -> 0 : entry - 1) }
    /* all is lost */
    :: d_step { disasters > 0 && zxid > 2 ->
        disasters--;
        faulty = 1;
        root = 0;
        entry = 0;
        zxid = 1;
        version = 0;
        sessions = 0 }
#ifndef NO_COPY
    /* an older copy of the data is made */
    :: d_step { copy_zxid == 0 -> copy_zxid = zxid; copy_root = root }
    /* and restored */
    :: d_step { disasters > 0 && copy_zxid != 0 && copy_zxid < zxid && root != 0 ->
        disasters--;
        faulty = 1;
        root = copy_root;
        entry = 0;
        zxid = copy_zxid;
        version = zxid;
        sessions = 0 }
#endif
#ifdef NEWCOMERS
    :: d_step { knows[1] != 0 && !(inside & BIT(1)) -> /* member 1 was started anew */
        knows[1] = 0;
        known_identity[1] = 0 }
#endif
    od
}

#ifndef NO_OPERATOR
proctype Operator()
{
    do
    :: d_step { said && root != 0 ->
        said = 0;
        root = (root > stored[0] / IDS -> root : stored[0] / IDS) + 1;
#ifndef NOT_BOUND
        bound = identity
#endif
        }
    od
}
#endif

init
{
    atomic {
        run Member(0);
        run Member(1);
        run Assigner();
#ifndef NO_OPERATOR
        run Operator();
#endif
        run Faults()
    }
}

#define OWNS(p) \
    (THERE(p) && entry == 1 + p && owned[p] && token[p] == stored[0])

ltl live { <>[] (OWNS(0) || OWNS(1)) }
