/* stat_read.h - what topics hold and have done, as one survey reads them. */
#ifndef CLI_STAT_READ_H
#define CLI_STAT_READ_H

#include <slotmq/ops.h>

#include "cli/topic/topic.h"

enum { STAT_FAULTS_MAX = 8 };

/* One slot, as a survey shows it. */
struct stat_slot {
    int32_t number;
    char *owner, *token; /* owned */
    smq_stats stats;
    struct {
        char *by;      /* owned; "": none is noted */
        int64_t at_ms; /* 0: none is noted */
        smq_bytes key; /* owned; data NULL: it has no key of its own, or it is not known */
        smq_bytes id;  /* owned; data NULL: it is not known */
        int32_t attempt;
    } claim;   /* the oldest one, as its owner has noted it */
    bool gone; /* ZooKeeper says that the owner is no member any more */
};

/* What was read of one topic. */
struct stat_topic {
    smq_survey_topic row; /* its texts are owned; without options */
    bool defined;         /* its definition was read */
    smq_topic_type type;
    smq_layout layout;
    smq_error err;           /* status SMQ_OK, or why no slot was read */
    struct stat_slot *slots; /* owned; those that are wanted */
    size_t slot_count;
    char *faults[STAT_FAULTS_MAX]; /* owned: why slots are left out, of the first of them */
    size_t fault_count;            /* of all that are left out */
    enum exit_code fault_code;     /* EXIT_DONE: none is left out */
};

/* Zeroed: none. */
struct stat_topics {
    struct stat_topic *all; /* owned */
    size_t count;
    size_t unlisted; /* how many of them the list of topics in Redis lacks */
};

/* Which slots of topics are kept. */
enum stat_slots { STAT_SLOTS_IN_WORK, STAT_SLOTS_ALL };

/* Reads the topics of these names, with commas between them; NULL: all.  With the `wanted` slots.
 * Fails as smq_survey(); then there are none. */
smq_status stat_read(struct stat_topics *out, smq_client *client, const char *names,
                     enum stat_slots wanted, smq_error *err);
void stat_read_free(struct stat_topics *topics);

/* Is it an exclusive topic of which nobody owns a slot?  A process that was killed counts as owner
 * until another one takes its slots, or the leases of all that it had claimed have ended. */
bool stat_read_is_unowned(const smq_survey_topic *row);

/* Names what is left out: topics that cannot be read, slots that are damaged or do not answer.  A
 * topic that was deleted in the meantime is none of them, unless it was `named`. */
enum exit_code stat_read_say_left_out(smq_client *client, struct stat_topics *topics, bool named);

/* The names of the topics that the words of the command name, or of their groups, with commas
 * between them, to be freed; NULL: they cannot be read. */
char *stat_read_names(smq_client *client, const struct command *command, smq_error *err);

#endif
