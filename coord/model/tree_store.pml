/* tree_store.pml - the tree in Redis, for tree.pml: zxids, reigns, and what each server has. */

/* --- zxids --- */

#define ERA(zxid) ((zxid) >> 7)
#define FIRST(era, salt) ((era) * 128 + (salt) * 16)
#ifdef NO_SALT
#define SALT(reign) 0
#else
#define SALT(reign) (reign)
#endif
#define REIGN 4 /* the first one */

/* --- servers: meta, members, assignment --- */

#define AT(server, member) ((server) * MEMBERS + (member))
#define NONE 0
#define GRANTED 1
#define REVOKING 2

#define NO_GRACE_NOW 0
#define GRACE 1
#define GRACE_OVER 2 /* T has passed; the assignment is not yet adopted */

byte reign[SLOTS];    /* meta.reign; 0: there is no tree */
bool other[SLOTS];    /* the server's master_replid is another one than that of the reign */
short last[SLOTS];    /* the last zxid */
byte grace[SLOTS];
short node[SLOTS * MEMBERS];    /* the incarnation; 0: there is no node */
short applied[SLOTS * MEMBERS];
bool held[SLOTS * MEMBERS];
bool heard[SLOTS * MEMBERS];    /* in this grace */
short confirmed[SLOTS * MEMBERS]; /* the token that the slot's master confirmed; 0: none */
short mzxid[SLOTS]; /* of the assignment */
#ifdef BY_VERSION
byte version[SLOTS]; /* how often it was written */
#define count_version(s) version[s]++
#define copy_version(from, to) version[to] = version[from]
#define IS_AS_READ(s) (plan_version == version[s])
#else
#define count_version(s) skip
#define copy_version(from, to) skip
#define IS_AS_READ(s) (plan_reign == reign[s] && plan_mzxid == mzxid[s])
#endif
byte kind[SLOTS];
short owner[SLOTS]; /* an incarnation */

byte lower = REIGN - 1, higher = REIGN + 1; /* salts that are left */
byte era; /* of the moment */

/* Does a call of someone who has seen `zxid` begin a reign? */
#define BEGINS(s, zxid) (other[s] || reign[s] == 0 || (zxid) > last[s])

inline forget_heard(s)
{
    heard[AT(s, 0)] = 0;
    heard[AT(s, 1)] = 0;
#ifndef OLD_REPORTS
    confirmed[AT(s, 0)] = 0;
    confirmed[AT(s, 1)] = 0;
#endif
#ifndef APPLIED_KEPT
    applied[AT(s, 0)] = 0;
    applied[AT(s, 1)] = 0;
#endif
    held[AT(s, 0)] = 0;
    held[AT(s, 1)] = 0
}

inline begin_reign(s, zxid)
{
    era = (ERA(zxid) > ERA(last[s]) -> ERA(zxid) : ERA(last[s])) + 1;
    if
    :: ticks > 0 -> ticks--; era++
    :: true
    fi;
    if
    :: lower > 0 && higher - lower <= 1 + REIGNS -> reign[s] = lower; lower--
    :: higher < 8 && higher - lower <= 1 + REIGNS -> reign[s] = higher; higher++
    fi;
    last[s] = FIRST(era, SALT(reign[s]));
    era = 0;
    other[s] = 0;
#ifdef NO_GRACE
    grace[s] = NO_GRACE_NOW;
    forget_heard(s)
#elif defined(GRACE_GOES_ON)
    if
    :: grace[s] == NO_GRACE_NOW -> grace[s] = GRACE; forget_heard(s)
    :: else
    fi
#else
    grace[s] = (IS_FIRST(s) -> NO_GRACE_NOW : GRACE);
    forget_heard(s)
#endif
}

/* An operator who looks at a fleet has seen no zxid. */
proctype Visitor(byte s)
{
    do
    :: atomic { BEGINS(s, 0) -> begin_reign(s, 0) }
    od
}

inline count(s)
{
    last[s]++;
    assert((last[s] & 15) != 0)
}

inline copy_node(from, to, m)
{
    node[AT(to, m)] = node[AT(from, m)];
    applied[AT(to, m)] = applied[AT(from, m)];
    held[AT(to, m)] = held[AT(from, m)];
    heard[AT(to, m)] = heard[AT(from, m)];
    confirmed[AT(to, m)] = confirmed[AT(from, m)]
}

inline copy_slot(from, to)
{
    stored[to] = stored[from];
    named[to] = named[from]
}

inline copy_tree(from, to)
{
    reign[to] = reign[from];
    other[to] = other[from];
    last[to] = last[from];
    grace[to] = grace[from];
    mzxid[to] = mzxid[from];
    copy_version(from, to);
    kind[to] = kind[from];
    owner[to] = owner[from];
    copy_node(from, to, 0);
    copy_node(from, to, 1);
#if defined(FIRST_TOPIC) && !defined(TOPIC_APART)
    born[to] = born[from];
    bound[to] = bound[from];
#endif
#ifdef SAME_MASTER
    copy_slot(from, to);
#endif
}

inline clear_tree(s)
{
    reign[s] = 0;
    other[s] = 0;
    last[s] = 0;
    grace[s] = NO_GRACE_NOW;
    mzxid[s] = 0;
    kind[s] = NONE;
    owner[s] = 0;
    node[AT(s, 0)] = 0;
    node[AT(s, 1)] = 0;
    forget_heard(s);
    confirmed[AT(s, 0)] = 0;
    confirmed[AT(s, 1)] = 0;
    applied[AT(s, 0)] = 0;
    applied[AT(s, 1)] = 0;
#ifdef SAME_MASTER
    stored[s] = 0;
    named[s] = 0
#endif
}
