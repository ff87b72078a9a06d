/* fork.h - in which process of a line of fork()s the caller is.
 *
 * Thread: any. */
#ifndef BASE_FORK_H
#define BASE_FORK_H

/* How many fork()s, since the first call of this function, lie between the process of that call and
 * this one.  What was made under one number is not used under another: its threads belong to
 * another process.  It makes no system call, unlike getpid(), because every send and every answer
 * asks.  A signal handler may call it if it was called before.  A child by vfork(), _Fork() or
 * clone() is not counted: there nobody may call this library. */
unsigned fork_count(void);

#endif
