/* confirmation.h - may a claimed message still be given to a handler?
 *
 * A process can be stopped for a while: by a debugger, a full disk, a machine that sleeps.  What it
 * had claimed may be another's when it wakes, and it hears of that only from its next call.  So a
 * handler begins only while the last confirmation is young: an answer of Redis that accepted the
 * slot's token or, in a shared topic, renewed this claim.  Its age is counted from when the
 * question was sent.
 *
 * Thread: any. */
#ifndef CORE_CONFIRMATION_H
#define CORE_CONFIRMATION_H

#include <stdatomic.h>
#include <stdint.h>

/* What one client knows of its membership.  All times are those of clock_now_ms(). */
struct membership {
    atomic_int references;
    _Atomic int64_t until_ms;   /* no handler begins from then on; INT64_MAX: that is not limited */
    _Atomic int64_t trust_ms;   /* a confirmation is good for so long, or for a message's lease */
    _Atomic int64_t doubted_ms; /* what was asked for until then confirms nothing */
};

/* One reference, without limits. */
struct membership *membership_new(void);
struct membership *membership_ref(struct membership *membership);
void membership_unref(struct membership *membership); /* NULL: nothing */

/* A slot that was thought to be ours has a newer owner: so may others, ask for each of them. */
void membership_doubt(struct membership *membership, int64_t now_ms);

enum confirmation {
    CONFIRMATION_GOOD, /* a handler may begin */
    CONFIRMATION_OLD,  /* Redis must be asked first */
    CONFIRMATION_OVER  /* the membership is over: what is not begun goes back */
};

/* Until when a handler may begin after a confirmation that was asked for at `asked_ms`: for the
 * shorter of the two times, and not at all if it is doubted since.  Pure. */
int64_t confirmation_until(int64_t asked_ms, int64_t lease_ms, int64_t trust_ms,
                           int64_t doubted_ms);

/* Pure. */
enum confirmation confirmation_judge(int64_t now_ms, int64_t until_ms, int64_t member_until_ms);

#endif
