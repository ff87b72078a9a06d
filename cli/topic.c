/* topic.c - topic create, list, show, delete. */
#include "topic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "output.h"
#include "say.h"

/* The order of these names is that of the enums in slotmq/topic.h. */
static const char *const type_names[] = {"range_merge", "priority", "fixed_time", "fifo"};
static const char *const layout_names[] = {"inline", "keyed"};
static const char *const ties_names[] = {"arrival", "bytes"};
static const char *const takeover_names[] = {"fast", "strict"};

/* None is shown as 0. */
static int64_t amount_shown(int64_t amount)
{
    return amount == SMQ_NONE ? 0 : amount;
}

const char *topic_type_name(smq_topic_type type)
{
    return type >= SMQ_RANGE_MERGE && type <= SMQ_FIFO ? type_names[type - SMQ_RANGE_MERGE]
                                                       : "unknown";
}

static json_t *topic_json(const smq_topic_options *topic)
{
    json_t *object = json_object();

    output_set(object, "name", json_string(topic->name));
    output_set(object, "type", json_string(topic_type_name(topic->type)));
    output_set(object, "layout", json_string(layout_names[topic->layout == SMQ_KEYED]));
    output_set(object, "slots", json_integer(topic->slots));
    output_set(object, "shared", json_boolean(topic->shared));
    output_set(object, "ties", json_string(ties_names[topic->ties == SMQ_TIES_BYTES]));
    output_set(object, "max_retries", json_integer(amount_shown(topic->max_retries)));
    output_set(object, "backoff", json_string(topic->backoff ? topic->backoff : ""));
    output_set(object, "lease_ms", json_integer(topic->lease_ms));
    output_set(object, "delay_ms", json_integer(amount_shown(topic->delay_ms)));
    output_set(object, "takeover",
               json_string(takeover_names[topic->takeover == SMQ_TAKEOVER_STRICT]));
    output_set(object, "debounce_ms", json_integer(amount_shown(topic->debounce_ms)));
    output_set(object, "ttl_ms", json_integer(amount_shown(topic->ttl_ms)));
    output_set(object, "expired_to_dead", json_boolean(topic->expired_to_dead));
    output_set(object, "skip_failed", json_boolean(topic->skip_failed));
    output_set(object, "max_body", json_integer(topic->max_body));
    output_set(object, "max_waiting", json_integer(amount_shown(topic->max_waiting)));
    output_set(object, "rate_per_s", json_integer(amount_shown(topic->rate_per_s)));
    return object;
}

/* === Looking up ========================================================= */

static bool take_facts(const smq_topic_options *topic, void *user)
{
    struct topic_facts *facts = user;

    *facts = (struct topic_facts){.type = topic->type, .delay_ms = amount_shown(topic->delay_ms)};
    return true;
}

enum exit_code topic_look_up(struct topic_facts *out, smq_client *client, const char *name)
{
    smq_error err;

    if (smq_topic_each(client, name, take_facts, out, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    return EXIT_DONE;
}

static bool take_name(const smq_topic_options *topic, void *user)
{
    struct topic_names *names = user;
    char *copy = strdup(topic->name);
    char **grown = realloc(names->name, (names->count + 1) * sizeof(*grown));

    if (!copy || !grown) {
        say_no_memory();
    }
    names->name = grown;
    names->name[names->count++] = copy;
    return true;
}

smq_status topic_names_read(struct topic_names *out, smq_client *client, smq_error *err)
{
    *out = (struct topic_names){0};
    const smq_status status = smq_topic_each(client, NULL, take_name, out, err);
    if (status != SMQ_OK) {
        topic_names_fini(out);
    }
    return status;
}

void topic_names_fini(struct topic_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->name[i]);
    }
    free(names->name);
    *names = (struct topic_names){0};
}

/* === create ============================================================= */

struct create_options {
    smq_topic_options topic;
};

#define CREATE(flag, field, what)                                                                  \
    {                                                                                              \
        .name = (flag), .type = FLAG_OPTION, .offset = offsetof(struct create_options, topic),     \
        .set = SMQ_OPTIONS_TOPIC, .option = (field), .operand = (what)                             \
    }

/* One for each option of a topic. */
static const struct flag create_flags[] = {
    CREATE("type", "type", "TYPE"),
    CREATE("layout", "layout", "LAYOUT"),
    CREATE("slots", "slots", "N"),
    CREATE("shared", "shared", NULL),
    CREATE("ties", "ties", "TIES"),
    CREATE("max-retries", "max_retries", "N"),
    CREATE("backoff", "backoff", "BACKOFF"),
    CREATE("lease", "lease_ms", "TIME"),
    CREATE("delay", "delay_ms", "TIME"),
    CREATE("debounce", "debounce_ms", "TIME"),
    CREATE("ttl", "ttl_ms", "TIME"),
    CREATE("expired-to-dead", "expired_to_dead", NULL),
    CREATE("skip-failed", "skip_failed", NULL),
    CREATE("takeover", "takeover", "MODE"),
    CREATE("max-body", "max_body", "BYTES"),
    CREATE("max-waiting", "max_waiting", "N"),
    CREATE("rate", "rate_per_s", "N"),
};

static void create_init(void *options)
{
    *(struct create_options *) options = (struct create_options){.topic = SMQ_TOPIC_OPTIONS_INIT};
}

static bool print_topic_json(const smq_topic_options *topic, void *user)
{
    (void) user;
    output_json(topic_json(topic));
    return true;
}

/* Prints one topic as JSON. */
static enum exit_code show_json(smq_client *client, const char *name)
{
    smq_error err;

    if (smq_topic_each(client, name, print_topic_json, NULL, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    return EXIT_DONE;
}

static enum exit_code create_run(const struct command *command)
{
    const struct create_options *flags = command->options;
    smq_topic_options topic = flags->topic;
    smq_client *client = NULL;
    smq_error err;

    topic.name = command->words[0];
    if (topic.type == 0) {
        return say_error(EXIT_USAGE,
                         "topic create needs --type range_merge, --type priority, --type "
                         "fixed_time or --type fifo");
    }
    enum exit_code code = command_connect(&client, command);
    if (code != EXIT_DONE) {
        return code;
    }
    if (smq_topic_create(client, &topic, &err) != SMQ_OK) {
        code = say_failure(&err);
    } else if (command->global.json) {
        code = show_json(client, topic.name);
    } else if (!command->global.quiet) {
        say("topic %s is ready", topic.name);
    }
    smq_client_free(client);
    return code;
}

const struct verb topic_create_verb = {
    .name = "topic create",
    .operands = "NAME --type TYPE",
    .summary = "create a topic, or find that it exists exactly so",
    .text = "range_merge   due after a delay; sent again while it waits, the first time stays\n"
            "priority      the largest first; sent again, the last priority wins\n"
            "fixed_time    due at a time; sent again, the last time wins\n"
            "fifo          in the order of sends per key; sent again, the place stays\n"
            "\n"
            "NAME is letters, digits, dot, underscore and hyphen, at most 120 bytes.  If the\n"
            "topic exists with another definition, the error names the difference (exit 73).",
    .flags = create_flags,
    .flag_count = sizeof(create_flags) / sizeof(create_flags[0]),
    .options_size = sizeof(struct create_options),
    .init = create_init,
    .min_words = 1,
    .max_words = 1,
    .run = create_run,
};

/* === list =============================================================== */

static bool add_topic_json(const smq_topic_options *topic, void *user)
{
    if (json_array_append_new(user, topic_json(topic)) != 0) {
        say_no_memory();
    }
    return true;
}

static const char *const list_titles[] = {"NAME",     ">SLOTS",  "TYPE",      "LAYOUT",   "OWNERS",
                                          ">RETRIES", "BACKOFF", ">LEASE_MS", ">DELAY_MS"};
#define LIST_COLUMNS (sizeof(list_titles) / sizeof(list_titles[0]))

static bool add_topic_row(const smq_topic_options *topic, void *user)
{
    char slots[24];
    char retries[24];
    char lease[24];
    char delay[24];

    snprintf(slots, sizeof(slots), "%" PRId32, topic->slots);
    snprintf(retries, sizeof(retries), "%" PRId64, amount_shown(topic->max_retries));
    snprintf(lease, sizeof(lease), "%" PRId64, topic->lease_ms);
    snprintf(delay, sizeof(delay), "%" PRId64, amount_shown(topic->delay_ms));
    const char *const cells[] = {topic->name,
                                 slots,
                                 topic_type_name(topic->type),
                                 layout_names[topic->layout == SMQ_KEYED],
                                 topic->shared ? "shared" : "exclusive",
                                 retries,
                                 topic->backoff ? topic->backoff : "",
                                 lease,
                                 delay};
    output_row(user, cells, LIST_COLUMNS);
    return true;
}

static enum exit_code list_json(smq_client *client)
{
    json_t *array = json_array();
    json_t *document = json_object();
    smq_error err;

    output_set(document, "topics", array);
    if (smq_topic_each(client, NULL, add_topic_json, array, &err) != SMQ_OK) {
        json_decref(document);
        return say_failure(&err);
    }
    output_json(document);
    return EXIT_DONE;
}

static enum exit_code list_table(smq_client *client)
{
    struct libscols_table *table = output_table(list_titles, LIST_COLUMNS);
    smq_error err;

    if (smq_topic_each(client, NULL, add_topic_row, table, &err) != SMQ_OK) {
        output_table_free(table);
        return say_failure(&err);
    }
    output_table_print(table);
    return EXIT_DONE;
}

static enum exit_code list_run(const struct command *command)
{
    smq_client *client = NULL;
    enum exit_code code = command_connect(&client, command);

    if (code == EXIT_DONE) {
        code = command->global.json ? list_json(client) : list_table(client);
    }
    smq_client_free(client);
    return code;
}

const struct verb topic_list_verb = {
    .name = "topic list",
    .operands = "",
    .summary = "all topics with their definitions",
    .run = list_run,
};

/* === show =============================================================== */

static void add_line(struct libscols_table *table, const char *name, const char *value)
{
    const char *const cells[] = {name, value};

    output_row(table, cells, 2);
}

static void add_number(struct libscols_table *table, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    add_line(table, name, text);
}

static bool show_topic(const smq_topic_options *topic, void *user)
{
    static const char *const titles[] = {"NAME", "VALUE"};
    struct libscols_table *table = output_table(titles, 2);

    (void) user;
    output_table_headless(table);
    add_line(table, "name", topic->name);
    add_line(table, "type", topic_type_name(topic->type));
    add_line(table, "layout", layout_names[topic->layout == SMQ_KEYED]);
    add_number(table, "slots", topic->slots);
    add_line(table, "shared", topic->shared ? "true" : "false");
    add_line(table, "ties", ties_names[topic->ties == SMQ_TIES_BYTES]);
    add_number(table, "max_retries", amount_shown(topic->max_retries));
    add_line(table, "backoff", topic->backoff ? topic->backoff : "");
    add_number(table, "lease_ms", topic->lease_ms);
    add_number(table, "delay_ms", amount_shown(topic->delay_ms));
    add_line(table, "takeover", takeover_names[topic->takeover == SMQ_TAKEOVER_STRICT]);
    add_number(table, "debounce_ms", amount_shown(topic->debounce_ms));
    add_number(table, "ttl_ms", amount_shown(topic->ttl_ms));
    add_line(table, "expired_to_dead", topic->expired_to_dead ? "true" : "false");
    add_line(table, "skip_failed", topic->skip_failed ? "true" : "false");
    add_number(table, "max_body", topic->max_body);
    add_number(table, "max_waiting", amount_shown(topic->max_waiting));
    add_number(table, "rate_per_s", amount_shown(topic->rate_per_s));
    output_table_print(table);
    return true;
}

static enum exit_code show_run(const struct command *command)
{
    const char *name = command->words[0];
    smq_client *client = NULL;
    smq_error err;
    enum exit_code code = command_connect(&client, command);

    if (code == EXIT_DONE && command->global.json) {
        code = show_json(client, name);
    } else if (code == EXIT_DONE &&
               smq_topic_each(client, name, show_topic, NULL, &err) != SMQ_OK) {
        code = say_failure(&err);
    }
    smq_client_free(client);
    return code;
}

const struct verb topic_show_verb = {
    .name = "topic show",
    .operands = "NAME",
    .summary = "the definition of a topic, with every default filled in",
    .min_words = 1,
    .max_words = 1,
    .run = show_run,
};

/* === delete ============================================================= */

struct delete_options {
    bool force;
    bool yes;
};

static const struct flag delete_flags[] = {
    {.name = "force",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct delete_options, force),
     .help = "also when it holds messages: they are lost"},
    {.name = "yes",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct delete_options, yes),
     .help = "do not ask"},
};

/* A person at a terminal is asked before messages are thrown away; a program is not. */
static bool confirm(const char *name)
{
    char answer[16] = "";

    fprintf(stderr, "Delete topic %s with all its messages? [y/N] ", name);
    if (!fgets(answer, sizeof(answer), stdin)) {
        return false;
    }
    return strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0;
}

static enum exit_code delete_run(const struct command *command)
{
    const struct delete_options *flags = command->options;
    const char *name = command->words[0];
    smq_client *client = NULL;
    smq_error err;
    enum exit_code code = command_connect(&client, command);

    if (code != EXIT_DONE) {
        return code;
    }
    if (flags->force && !flags->yes && isatty(STDIN_FILENO) && !confirm(name)) {
        code = say_error(EXIT_NOT_DONE, "topic %s was not deleted", name);
    } else if (smq_topic_delete(client, name, flags->force, &err) != SMQ_OK) {
        code = say_failure(&err);
    } else if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "deleted", json_string(name));
        output_json(document);
    } else if (!command->global.quiet) {
        say("topic %s is deleted", name);
    }
    smq_client_free(client);
    return code;
}

const struct verb topic_delete_verb = {
    .name = "topic delete",
    .operands = "NAME",
    .summary = "delete an empty topic, or any by force",
    .flags = delete_flags,
    .flag_count = sizeof(delete_flags) / sizeof(delete_flags[0]),
    .options_size = sizeof(struct delete_options),
    .min_words = 1,
    .max_words = 1,
    .run = delete_run,
};
