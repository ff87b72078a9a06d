/* confirmation.h - may a handler begin a claimed message?
 *
 * A process can be stopped for a while: by a debugger, by a full disk, or because the machine
 * sleeps.  When it continues, another owner may have its slots and messages, and it learns that
 * only from its next call.  So a handler begins only while the last confirmation is recent: a reply
 * in which Redis accepted the slot's token or, in a shared topic, renewed this claim.  The age of a
 * confirmation is counted from when the call was sent.
 *
 * Thread: any. */
#ifndef CORE_CONFIRMATION_H
#define CORE_CONFIRMATION_H

#include <stdatomic.h>
#include <stdint.h>

/* What a client knows about its membership.  All times are those of clock_now_ms(). */
struct membership {
    atomic_int references;
    _Atomic int64_t until_ms; /* no handler begins from then on; INT64_MAX: no limit */
    _Atomic int64_t valid_ms; /* how long a confirmation is valid, if the lease is not shorter */
    _Atomic int64_t invalidated_ms; /* replies to calls sent until then confirm nothing */
};

/* A membership without limits, with one reference. */
struct membership *membership_new(void);
struct membership *membership_ref(struct membership *membership);
void membership_unref(struct membership *membership); /* may be NULL */

/* A slot turned out to have a newer owner.  So may others: each must be confirmed anew. */
void membership_invalidate(struct membership *membership, int64_t now_ms);

enum confirmation {
    CONFIRMATION_GOOD, /* a handler may begin */
    CONFIRMATION_OLD,  /* Redis must be asked first */
    CONFIRMATION_OVER  /* the membership has expired: requeue what is not begun */
};

/* Until when a handler may begin after a confirmation whose call was sent at `asked_ms`: for
 * lease_ms or valid_ms, whichever is shorter; not at all if confirmations were invalidated later.
 * Pure. */
int64_t confirmation_until(int64_t asked_ms, int64_t lease_ms, int64_t valid_ms,
                           int64_t invalidated_ms);

/* What a handler may do at `now_ms`.  Pure. */
enum confirmation confirmation_at(int64_t now_ms, int64_t until_ms, int64_t member_until_ms);

#endif
