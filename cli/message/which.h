/* which.h - the one message that a command line names: by its id, which is a word or --id, and by
 * --key. */
#ifndef CLI_WHICH_H
#define CLI_WHICH_H

#include "cli/topic/topic.h"

struct which {
    const char *id, *key; /* --id and --key; NULL: not given */
};

#define WHICH_FLAGS(struct_, member_)                                                              \
    TEXT_FLAG("id", offsetof(struct_, member_) + offsetof(struct which, id), "ID",                 \
              "the same as ID: just this one; in layout inline it is the body"),                   \
        TEXT_FLAG("key", offsetof(struct_, member_) + offsetof(struct which, key), "KEY",          \
                  "the key it was sent with; without it all slots are asked")

/* What the help of such a verb says of it. */
#define WHICH_TEXT                                                                                 \
    "ID is the id of the message; in layout inline it is the body. Of a message that was sent "    \
    "with a key it is enough, too: all slots are then asked, which takes a while in a large "      \
    "topic. If several have this id, their keys are listed, and --key says which is meant."

/* The id that is named; NULL: none is. */
const char *which_id(const struct command *command, const struct which *which);

/* Refuses an id that is given twice, and a key without an id; and, if one must be `needed`, that
 * none is given. */
enum exit_code which_check(const struct command *command, const struct which *which, bool needed);

/* The message of that id and key, the texts borrowed. */
smq_message_ref which_named(const struct topic_facts *topic, const char *id, const char *key);

/* Has it this id, whatever its key is? */
bool which_has_id(const struct topic_facts *topic, const smq_message_info *message, const char *id);

/* Asks all slots for a message in one of these states that has the id; NULL in *key: the one that
 * was sent without a key, else the key, to be freed.  On any other result than EXIT_DONE the error
 * has been printed: there is no such message, there are several, or a slot cannot be read. */
enum exit_code which_find_key(char **key, smq_client *client, const struct command *command,
                              const struct topic_facts *topic, const char *id, unsigned states);

#endif
