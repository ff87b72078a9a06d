/* ordinary.h - is the next consume call of a slot an ordinary one, as far as its caller knows, and
 * may rests have ended?
 *
 * The script `consume` takes ordinary calls alone and is cheaper than `consume_any`, which takes
 * all (lua/README.md).  A call that `consume` does not take is sent again, so the caller guesses:
 * it knows when messages that it has requeued with a delay may be claimed, and whether suspects, or
 * what a former owner has claimed, may be there.  In a shared topic others requeue messages, too;
 * of these the caller knows only the times at which it was told to look.  A wrong guess costs a
 * round trip, or the dearer way, and nothing else.
 *
 * Pure.  Thread: smq:io. */
#ifndef CONSUME_SLOT_ORDINARY_H
#define CONSUME_SLOT_ORDINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of more than these the earliest are kept. */
enum { ORDINARY_RESTS = 32 };

struct ordinary {
    bool rare;         /* suspects may wait, or what else an ordinary call leaves to others */
    int64_t lease_ms;  /* a former owner's claims may last as long from the next reply on */
    int64_t former_ms; /* they may last until then, by Redis' clock; 0: there are none */
    size_t count;      /* of `rests`: */
    int64_t rests[ORDINARY_RESTS]; /* when messages may be claimed again, by Redis' clock in ms */
};

/* The slot was taken over.  The claims of the former owner wait again, or with a strict takeover
 * last for `lease_ms` at most; 0: it was not strict. */
void ordinary_begin(struct ordinary *ordinary, int64_t lease_ms);

/* A message was requeued, and may be claimed again at that time; or, in a shared topic, this may be
 * true of a message of another caller. */
void ordinary_rests(struct ordinary *ordinary, int64_t until_ms);

/* A call was answered at the time `now_ms`.  `rare`: there is more, and as it has claimed a
 * suspect, or nothing at all, the next one may not be ordinary. */
void ordinary_replied(struct ordinary *ordinary, int64_t now_ms, bool rare);

/* Is a call of that time ordinary, and may rests have ended then? */
bool ordinary_is(const struct ordinary *ordinary, int64_t now_ms);
bool ordinary_has_rested(const struct ordinary *ordinary, int64_t now_ms);

#endif
