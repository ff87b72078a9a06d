/* damage.h - what the slots of a topic know of it, and how to repair it when Redis has lost the
 * keys of slots, the topic's own key, or the last writes to either.
 *
 * Pure. */
#ifndef MODEL_DAMAGE_H
#define MODEL_DAMAGE_H

#include "model/token.h"
#include "model/topic.h"

enum { DAMAGE_LIST_MAX = 80, DAMAGE_COORD_MAX = 320 };

/* What one slot knows of its topic (lua/slot_read.lua).  Zeroed: the slot has no keys. */
struct slot_notes {
    bool open; /* the slot has a stamp: nonce and version */
    char nonce[TOPIC_NONCE_LEN + 1];
    uint32_t version;
    /* the definition of version text_version, which may be older than the stamp */
    const char *text;
    size_t text_len;
    uint32_t text_version; /* 0: there is no text */
    uint32_t generation;
    struct token token; /* zeroed: none */
    uint32_t pauses;
    bool paused;
    uint32_t sealed; /* the number of the last deletion that sealed the slot */
    uint64_t messages;
    bool complete; /* all keys exist */
    /* the binding of the topic, and its generation; NULL: the slot does not know it */
    const char *coord;
    uint32_t bound_at;
};

/* What all slots of a topic know. */
struct damage;

struct damage *damage_new(int32_t slots);
void damage_free(struct damage *damage);

/* Add what a slot knows; its texts are copied. */
void damage_note(struct damage *damage, int32_t slot, const struct slot_notes *notes);

struct damage_verdict {
    struct topic topic; /* the definition after the repair */
    bool whole;         /* nothing has to be repaired */
    bool rewrite;       /* topic{T} has to be written */
    /* the last alteration is lost, and the version before it is valid again */
    bool lost_alteration;
    int32_t closed; /* slots whose keys are missing, or that refuse the topic's calls */
    char closed_list[DAMAGE_LIST_MAX]; /* "3, 5 and 7 more" */
    uint64_t messages;                 /* in all slots */
    /* the binding after the repair; "": topic{T} has it, or it is unknown */
    char coord[DAMAGE_COORD_MAX];
};

/* Decide how to repair a topic.  `stored` is the definition in topic{T}, in state ready; NULL:
 * there is none, and then the generation must be larger than all that the slots know, and the topic
 * gets the last binding that they know.  Fails: NO_TOPIC (no slot is open, and nothing is stored),
 * DAMAGED (slots disagree about the creation, about options that cannot be changed or about the
 * binding; the text lists them), INTERNAL (a definition cannot be read). */
smq_status damage_decide(struct damage_verdict *out, const struct damage *damage, const char *name,
                         const struct topic *stored, smq_error *err);

/* Raise both numbers to the largest that a slot knows, also of earlier creations. */
void damage_memory(uint32_t *generation, uint32_t *deletes, const struct damage *damage);

#endif
