/* damage.h - what the slots of a topic know of it, and what follows when Redis has lost a part: the
 * keys of slots, the topic's own key, or the last writes to either.
 *
 * Pure. */
#ifndef MODEL_DAMAGE_H
#define MODEL_DAMAGE_H

#include "model/token.h"
#include "model/topic.h"

enum { DAMAGE_LIST_MAX = 80, DAMAGE_COORD_MAX = 320 };

/* What one slot knows of its topic (lua/slot_read.lua).  Zero: none of its keys is there. */
struct slot_notes {
    bool open; /* it has a stamp: nonce and version */
    char nonce[TOPIC_NONCE_LEN + 1];
    uint32_t version;
    const char *text; /* the definition, of version text_version; it may be older than the stamp */
    size_t text_len;
    uint32_t text_version; /* 0: no text */
    uint32_t generation;
    struct token token; /* zero: none */
    uint32_t pauses;
    bool paused;
    uint32_t sealed; /* the number of the last deletion that was here */
    uint64_t messages;
    bool complete; /* every key is there */
    /* what the topic is bound to, and since which generation; NULL: it does not know */
    const char *coord;
    uint32_t bound_at;
};

/* The notes of all slots of a topic. */
struct damage;

struct damage *damage_new(int32_t slots);
void damage_free(struct damage *damage);

/* Keep what a slot knows, its texts copied. */
void damage_note(struct damage *damage, int32_t slot, const struct slot_notes *notes);

struct damage_verdict {
    struct topic topic;   /* as it is to be */
    bool whole;           /* nothing is to be repaired */
    bool rewrite;         /* topic{T} has to be written */
    bool lost_alteration; /* its text is nowhere: the version before it is valid again */
    int32_t closed;       /* slots whose keys are missing, or that no script of the topic enters */
    char closed_list[DAMAGE_LIST_MAX]; /* "3, 5 and 7 more" */
    uint64_t messages;                 /* in all slots */
    char coord[DAMAGE_COORD_MAX]; /* what it is to be bound to; "": topic{T} says it, or nobody */
};

/* What is to be done.  `stored` is what stands in topic{T}, ready; NULL: nothing, and the
 * generation must be above all that the slots have seen; it is bound to what it was bound to
 * last, as far as the slots know.  Fails: NO_TOPIC (no slot is open, and nothing is stored),
 * DAMAGED (slots that disagree about the creation, about options that are fixed for life or about
 * what the topic is bound to; the text lists them), INTERNAL (a definition cannot be read). */
smq_status damage_judge(struct damage_verdict *out, const struct damage *damage, const char *name,
                        const struct topic *stored, smq_error *err);

/* Raise both numbers to the largest that a slot has seen, also of creations that are gone. */
void damage_memory(uint32_t *generation, uint32_t *deletes, const struct damage *damage);

#endif
