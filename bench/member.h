/* member.h - a process of a fleet that writes down when it owns slots, and what it handles.
 *
 * Each line of its file, which all members share: "S MEMBER 0 NS" before it joins, "G MEMBER SLOT
 * NS" and "L MEMBER SLOT NS" for a slot gained and lost, "H MEMBER SLOT NUMBER" for a message.
 * Times are CLOCK_MONOTONIC.
 *
 * Thread: main. */
#ifndef BENCH_MEMBER_H
#define BENCH_MEMBER_H

#define MEMBER_OPTION "--member"

/* MEMBER_OPTION REDIS ZOOKEEPER TOPIC NUMBER FILE: an exit code.  SIGTERM leaves. */
enum { MEMBER_ARGUMENTS = 6, MEMBER_SESSION_MS = 4000 };
int member_main(char **arguments);

#endif
