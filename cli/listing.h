/* listing.h - many messages as a table, or as a JSON document that is printed while they come: a
 * topic may hold very many. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "topic.h"

struct listing {
    const struct topic_facts *topic;
    bool dead;                    /* dead letters, else messages in any state */
    struct libscols_table *table; /* NULL: JSON */
    uint64_t count;
    char *cursor; /* of the last message; owned, "" at first */
};

/* `dead`: the columns and members of dead letters. */
struct listing listing_begin(const struct command *command, const struct topic_facts *topic,
                             bool dead);

/* A visitor: `user` is the listing. */
bool listing_add(const smq_message_info *message, void *user);

/* Prints what was not printed yet.  `more`: messages may follow the last one. */
void listing_end(struct listing *listing, bool more);

/* Frees what it holds, also after a failure. */
void listing_drop(struct listing *listing);

#endif
