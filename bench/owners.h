/* owners.h - which member of a fleet owns each slot, as the events of the members report.
 *
 * A member may report an event late, when another one has reported already that it owns the slot.
 * The tokens show which of the two came first: a newer one is larger by strcmp().
 *
 * Thread: one. */
#ifndef BENCH_OWNERS_H
#define BENCH_OWNERS_H

#include <stdint.h>

#include "samples.h"

enum { OWNERS_NONE = -1, OWNERS_TOKEN_SIZE = 25 };

struct owners;

/* How many times slots were gained and lost. */
struct owners_counts {
    uint64_t gains, losses;
};

/* No member owns a slot at first. */
struct owners *owners_new(int members, int slots);
void owners_free(struct owners *owners);

/* A member reports that it gained or lost a slot, at this time of CLOCK_MONOTONIC. */
void owners_gain(struct owners *owners, int member, int slot, int64_t at_ns, const char *token);
void owners_lose(struct owners *owners, int member, int slot, int64_t at_ns);

/* The member was killed: it owns nothing. */
void owners_kill(struct owners *owners, int member);

struct owners_counts owners_counts(const struct owners *owners);

/* OWNERS_NONE: no member owns the slot. */
int owners_of(const struct owners *owners, int slot);

/* The largest token with which the slot was gained; "": it never was. */
const char *owners_token(const struct owners *owners, int slot);

/* How many slots the member owns, and how many none owns. */
int owners_owned(const struct owners *owners, int member);
int owners_unowned(const struct owners *owners);

/* The seconds from `start_ns` until the last slot that was gained since was gained; if `pauses` is
 * not NULL, how many milliseconds each of these slots had no owner before. */
double owners_coverage_s(const struct owners *owners, int64_t start_ns, struct samples *pauses);

#endif
