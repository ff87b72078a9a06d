/* alteration.h - the groups that an alteration adds and drops: made, sealed, removed, and all of
 * that taken back.
 *
 * Thread: the caller's. */
#ifndef ADMIN_ALTERATION_H
#define ADMIN_ALTERATION_H

#include "admin/topic_change.h"

/* An alteration of the fields that are named.  change.stored is the definition that is replaced,
 * change.topic the altered one: those of the last look at the topic. */
struct alteration {
    struct topic_change change;
    const smq_topic_options *options;
    const char *fields;
    bool force;                  /* drop groups that hold messages, too */
    char from[GROUP_LIST_MAX];   /* the list of groups that it alters; "": not read yet */
    char to[GROUP_LIST_MAX];     /* what it makes of that */
    bool conflict;               /* another caller has altered the list */
    bool made[GROUP_MOST];       /* by the index in `to`: this call has created the group */
    uint32_t sealed[GROUP_MOST]; /* by the index in `from`: which deletion of this call has sealed
                                    the group; 0: none */
};

/* Is another caller dropping a group that stays?  Then TOPIC_DIFFERS. */
smq_status alteration_check_kept(const struct alteration *alteration, smq_error *err);

/* Do the groups that are dropped hold messages, and the caller does not force it?  Then
 * NOT_EMPTY. */
smq_status alteration_check_dropped(const struct alteration *alteration, smq_error *err);

/* Create the groups that are added, with the stored options and version: the slots of a group take
 * a newer stamp from each send. */
smq_status alteration_make_added(struct alteration *alteration, smq_error *err);

/* Let nothing into the groups that are dropped any more. */
smq_status alteration_seal_dropped(struct alteration *alteration, smq_error *err);

/* Remove them, when the topic does not name them any more. */
smq_status alteration_clear_dropped(const struct alteration *alteration, smq_error *err);

/* The altered definition is certainly not stored: remove the groups that were made and that the
 * topic does not name, and open the sealed ones again.  Returns false if something may be left. */
bool alteration_take_back(const struct alteration *alteration);

#endif
