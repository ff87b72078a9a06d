/* stat_read.h - what topics hold and have done, read from all of them at once: those of a node that
 * does not reply take one time-out together. */
#ifndef CLI_STAT_READ_H
#define CLI_STAT_READ_H

#include "cli/topic/topic.h"

enum { STAT_FAULTS_MAX = 8 };

/* One slot, as smq_topic_slots() shows it. */
struct stat_slot {
    int32_t number;
    char *owner, *token; /* owned */
    smq_stats stats;
};

/* What was read of one topic. */
struct stat_topic {
    const char *name; /* borrowed */
    struct topic_kind kind;
    smq_error err;           /* status SMQ_OK, or why nothing is known of it */
    smq_stats stats;         /* the sum of all slots that could be read */
    struct stat_slot *slots; /* owned; only if they are wanted */
    size_t slot_count;
    char **owner; /* owned: of an exclusive topic, each that owns a slot */
    size_t owner_count;
    uint64_t unowned;              /* slots of an exclusive topic without an owner */
    char *faults[STAT_FAULTS_MAX]; /* owned: why slots are left out, of the first of them */
    size_t fault_count;            /* of all that are left out */
    enum exit_code fault_code;     /* EXIT_DONE: none is left out */
};

/* Reads all of them, to be freed; `slots`: also each slot. */
struct stat_topic *stat_read(smq_client *client, const struct topic_names *names, bool slots);
void stat_read_free(struct stat_topic *topics, size_t count);

/* Is it an exclusive topic of which nobody owns a slot?  A process that was killed counts as owner
 * until another one takes its slots. */
bool stat_read_is_unowned(const struct stat_topic *topic);

/* Prints why slots of the topic are left out, and gives the exit code for that. */
enum exit_code stat_read_say_faults(const struct stat_topic *topic);

#endif
