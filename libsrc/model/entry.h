/* entry.h - entries of the sorted sets of a slot, and their scores.
 *
 *   score = integer part + attempts,  attempts = (retries * 2 + suspect) / 128
 *   prepare: "20c17:order-7"  before-image, letter c or r, claim number, ':', member
 *            "20s:order-7"    of a message that is scheduled, in a priority topic
 *   dead:    "20d:order-7"
 *
 * lua/lib/score.lua and entry.lua implement the same encoding; both are tested with tests/vectors/.
 *
 * Pure. */
#ifndef MODEL_ENTRY_H
#define MODEL_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/topic.h"

enum entry_kind {
    ENTRY_CLAIMED = 'c',
    ENTRY_RESTING = 'r',
    ENTRY_SCHEDULED = 's',
    ENTRY_DEAD = 'd'
};

/* Resting entries have 2^44 added to the end of their rest, so that claims always sort before
 * them. */
#define ENTRY_REST_OFFSET (INT64_C(1) << 44)
/* Scheduled ones have this added to their time, so that they come behind those that rest. */
#define ENTRY_SCHEDULE_OFFSET (ENTRY_REST_OFFSET + (INT64_C(1) << 43))

/* A decoded entry.  `member` points into the encoded text. */
struct entry {
    int64_t before; /* integer part of the score that the message had in the store */
    enum entry_kind kind;
    uint64_t claim; /* 0: scheduled or dead */
    const char *member;
    size_t member_len;
};

struct attempts {
    int retries;  /* 0 .. 63 */
    bool suspect; /* the last claim ended because the process died or hung */
};

/* Was the message claimed before, and neither done nor released? */
static inline bool attempts_any(const struct attempts *attempts)
{
    return attempts->retries > 0 || attempts->suspect;
}

/* Returns false if the text is no entry. */
bool entry_decode(struct entry *out, const char *data, size_t len);

/* Parse a score as Redis prints it.  Returns false if it is out of range (|integer| >= 2^45) or no
 * number. */
bool entry_score_parse(int64_t *integer, struct attempts *attempts, const char *text, size_t len);

/* The value of a before-image for a user: the priority (kinds 'p', 'b'), or the due time in ms. */
int64_t entry_priority(char kind, int64_t before);

#endif
