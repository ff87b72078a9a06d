/* member.h - a process of a fleet that writes down when it owns slots, and what it handles.
 *
 * Each line of its file, which all members share: "S MEMBER 0 NS" before it joins, "G MEMBER SLOT
 * NS TOKEN" and "L MEMBER SLOT NS" for a slot gained and lost, "H MEMBER SLOT NUMBER" for a
 * message. Times are CLOCK_MONOTONIC.
 *
 * Thread: main. */
#ifndef BENCH_MEMBER_H
#define BENCH_MEMBER_H

#define MEMBER_OPTION "--member"
#define MEMBER_NAME   "member-%d" /* of member NUMBER in the fleet */

#define MEMBER_IN_REDIS "redis" /* in the place of ZOOKEEPER */

/* MEMBER_OPTION REDIS ZOOKEEPER TOPIC NUMBER SESSION_MS FILE: an exit code.  SIGTERM leaves. */
enum { MEMBER_ARGUMENTS = 7 };
int member_main(char **arguments);

#endif
