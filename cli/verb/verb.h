/* verb.h - what a verb is: its words, its flags, its help, its function. */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include <slotmq/ops.h>
#include <slotmq/slotmq.h>

#include "cli/verb/flags.h"

/* Flags that every verb takes, before or after its name. */
struct global_options {
    smq_client_options client;
    const char *config;
    const char *context;
    bool json;
    bool quiet;
    int64_t verbose;
    bool help;
    bool version;
};

struct config;

/* One call of the command, read and checked against its verb. */
struct command {
    const struct verb *verb;
    const struct verb *const *verbs; /* all of them; ends with NULL */
    struct global_options global;
    const struct config *config; /* the file that was read */
    const void *options;         /* the verb's own struct */
    char **words;                /* what follows the verb's name; ends with NULL */
    size_t word_count;
    char **tail; /* the program after "--" and its arguments, ends with NULL; or NULL */
};

struct topic_facts;

/* Functions of verbs.  On any other result than EXIT_DONE they have printed the error. */
typedef enum exit_code verb_fn(const struct command *command);
typedef enum exit_code verb_connected_fn(smq_client *client, const struct command *command);
typedef enum exit_code verb_topic_fn(smq_client *client, const struct command *command,
                                     const struct topic_facts *topic);

struct verb {
    const char *name;     /* "send", or two words: "topic create" */
    const char *operands; /* for the usage line: "NAME [BODY]" */
    const char *summary;  /* one line */
    const char *text;     /* the rest of the help, up to the flags: lines, which are wrapped; what
                             follows three blanks is a column of its own */
    const struct flag *flags;
    size_t flag_count;
    size_t options_size;
    void (*init)(void *options); /* makes the defaults; NULL: all are 0 */
    size_t min_words, max_words;
    bool takes_program; /* "-- CMD ARG..." */
    bool looks;         /* only reads; its options begin with struct look */
    bool is_probe;      /* whatever keeps it from its result ends with EXIT_UNKNOWN */
    bool says_states;   /* prints what keeps it from working on standard error, also without -v */
    verb_fn *check;     /* what can be refused before it connects; NULL: nothing */
    /* What it does: one of these.  `connected` is called with a client, and `about_topic` also with
     * what the topic that the first word names is. */
    verb_fn *run;
    verb_connected_fn *connected;
    verb_topic_fn *about_topic;
};

/* The members of a verb that say which flags it has, and which struct they fill. */
#define VERB_FLAGS(table_, struct_)                                                                \
    .flags = (table_), .flag_count = sizeof(table_) / sizeof((table_)[0]),                         \
    .options_size = sizeof(struct_)

extern const struct verb topic_create_verb, topic_list_verb, topic_show_verb, topic_alter_verb,
    topic_rebind_verb, topic_repair_verb, topic_upgrade_verb, topic_delete_verb;
extern const struct verb send_verb, copy_verb, consume_verb, pause_verb, resume_verb, stat_verb,
    top_verb, work_verb;
extern const struct verb peek_verb, get_verb, rank_verb, remove_verb, reschedule_verb, purge_verb;
extern const struct verb dead_list_verb, dead_requeue_verb, dead_purge_verb, help_verb;
extern const struct verb schedule_put_verb, schedule_get_verb, schedule_list_verb,
    schedule_remove_verb, schedule_pause_verb, schedule_resume_verb, schedule_run_verb,
    schedule_next_verb;
extern const struct verb fleet_show_verb, fleet_evict_verb, fleet_raise_fence_verb;
extern const struct verb context_list_verb, doctor_verb, check_verb, completion_verb, serve_verb;

extern const struct flag global_flags[];
extern const size_t global_flag_count;

/* The verb of `all` that these words name; *used is how many of them are its name.  NULL: there is
 * none, and `group` then tells whether the first word begins the name of some verbs. */
const struct verb *verb_find(const struct verb *const *all, size_t *used, bool *group,
                             char *const *words, size_t count);

/* Says that these words name no verb, and what may have been meant. */
enum exit_code verb_say_unknown(const struct verb *const *all, char *const *words, size_t count);

#endif
