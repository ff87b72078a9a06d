/* topic.h - what several verbs need to know of a topic. */
#ifndef CLI_TOPIC_H
#define CLI_TOPIC_H

#include <jansson.h>

#include "cli/verb/verb.h"

/* The parts of a definition that decide which flags make sense. */
struct topic_facts {
    smq_topic_type type;
    smq_layout layout;
    smq_ties ties;
    int64_t max_body;
    int32_t max_retries;
};

/* Shows one topic, as smq_topic_get() gives it. */
smq_status topic_visit(smq_client *client, const char *name, smq_topic_fn *visit, void *user,
                       smq_error *err);

/* Finds out the layout of a topic.  Fails as smq_topic_get(). */
smq_status topic_layout(smq_layout *out, smq_client *client, const char *name, smq_error *err);

/* Looks a topic up.  On any other result than EXIT_DONE the error has already been printed. */
enum exit_code topic_look_up(struct topic_facts *out, smq_client *client, const char *name);

/* Makes the text of an error of a call about the topic `name` say, of one that is not there, which
 * one may have been meant; false: it has not changed. */
bool topic_explain(smq_client *client, const char *name, smq_error *err);

/* Says why such a call failed. */
enum exit_code topic_say_failure(smq_client *client, const char *name, smq_error *err);

/* Connects, looks up the topic that the first word names, and runs it. */
enum exit_code topic_run(const struct command *command, verb_topic_fn *run);

/* The definition of a topic as JSON; and prints it. */
json_t *topic_json(const smq_topic_info *info);
enum exit_code topic_print_json(smq_client *client, const char *name);

/* Is the topic bound to this root of ZooKeeper, under whatever identity? */
bool topic_is_bound_to(const smq_binding *binding, const char *root, bool in_redis);

/* The names of topics. */
struct topic_names {
    char **name; /* owned */
    size_t count;
};

/* Says that there are no topics, where a table would be empty. */
void topic_say_none(const struct command *command);

/* What to say of topics that the list of topics in Redis lacks; "": there are none. */
enum { TOPIC_UNLISTED_ROOM = 160 };
const char *topic_unlisted_text(char *out, size_t count);
void topic_say_unlisted(size_t count);

/* Reads the names of the groups of a topic; if it has none, or is damaged or missing, its own name.
 * Fails if that cannot be known now. */
smq_status topic_names_read_one(struct topic_names *out, smq_client *client, const char *name,
                                smq_error *err);
/* The same with commas between them, to be freed; NULL: that fails. */
char *topic_names_of(smq_client *client, const char *name, smq_error *err);
/* Is `name` this topic, or a group of it? */
bool topic_is_of(const char *name, const char *topic);
void topic_names_add(struct topic_names *names, const char *name);
void topic_names_fini(struct topic_names *names);

#endif
