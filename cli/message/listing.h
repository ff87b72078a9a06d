/* listing.h - many messages as a table, or as lines of JSON that are printed while they come: a
 * topic may hold very many. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "cli/text/table.h"
#include "cli/topic/topic.h"

struct listing {
    const struct topic_facts *topic;
    bool dead;           /* the columns of dead letters, else those of messages in any state */
    struct table *table; /* NULL: JSON */
    uint64_t count;
    char *cursor; /* of the last message; owned, "" at first */
};

/* `dead`: the columns of dead letters. */
struct listing listing_begin(const struct command *command, const struct topic_facts *topic,
                             bool dead);

/* A visitor: `user` is the listing.  It ends the visit when a signal came (signals.h). */
bool listing_add(const smq_message_info *message, void *user);

/* Prints what was not printed yet. */
void listing_end(struct listing *listing);

/* Frees what it holds, also after a failure. */
void listing_drop(struct listing *listing);

#endif
