/* guard.h - runs the benchmarks in a process of their own, so that no process that they started
 * survives, however they end.
 *
 * Thread: main, before there is another. */
#ifndef BENCH_GUARD_H
#define BENCH_GUARD_H

enum { GUARD_INTERRUPTED = 130 };

/* Run `body(arg)` in a child, in which TMPDIR names a folder of its own, and return what it
 * returned.  SIGINT, SIGTERM and SIGHUP end it: GUARD_INTERRUPTED.  All processes below it are
 * killed, and the folder is removed, before this returns. */
int guard_run(int (*body)(void *arg), void *arg);

#endif
