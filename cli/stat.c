/* stat.c - what topics hold and have done. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connect.h"
#include "gauges.h"
#include "output.h"
#include "say.h"
#include "topic.h"

/* X(counter of smq_stats, title): the order of JSON and of the table. */
#define COUNTER_FIELDS(X)                                                                          \
    X(sent, ">SENT")                                                                               \
    X(merged, ">MERGED")                                                                           \
    X(done, ">DONE")                                                                               \
    X(retried, ">RETRIED")                                                                         \
    X(rejected, ">REJECTED")                                                                       \
    X(expired, ">EXPIRED")                                                                         \
    X(released, ">RELEASED")                                                                       \
    X(lease_lost, ">LEASE_LOST")

#define X(member, title) +1
enum { COUNTER_COUNT = 0 COUNTER_FIELDS(X), FIELD_COUNT = GAUGE_COUNT + COUNTER_COUNT };
#undef X

/* What stands before the fields in a row, and how much of it says which row it is. */
#define SLOT_TITLES "=TOPIC", ">SLOT", "OWNER", "TOKEN"
enum { TOPIC_COLUMNS = 1, SLOT_COLUMNS = 4, TOPIC_KEYS = 1, SLOT_KEYS = 2 };

struct stat_options {
    bool slots;
    bool prometheus;
};

static const struct flag stat_flags[] = {
    {.name = "slots",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct stat_options, slots),
     .help = "each slot with its owner and token"},
    {.name = "prometheus",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct stat_options, prometheus),
     .help = "as Prometheus text; docs/METRICS.md"},
};

/* The numbers of a row as text. */
struct cells {
    struct gauges gauges;
    char counter[COUNTER_COUNT][24];
};

static void stat_set_stats(json_t *object, const smq_stats *stats)
{
    gauges_json(object, stats);
#define X(member, title) output_set(object, #member, json_integer((json_int_t) stats->member));
    COUNTER_FIELDS(X)
#undef X
}

/* Fills FIELD_COUNT cells of a row with texts that live in `cells`. */
static void stat_set_cells(const char **row, struct cells *cells, const smq_stats *stats)
{
#define X(member, title) stats->member,
    const uint64_t values[] = {COUNTER_FIELDS(X)};
#undef X

    gauges_cells(row, &cells->gauges, stats);
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        snprintf(cells->counter[i], sizeof(cells->counter[i]), "%" PRIu64, values[i]);
        row[GAUGE_COUNT + i] = cells->counter[i];
    }
}

/* === Slots ============================================================== */

static bool stat_add_slot_json(const smq_slot_info *slot, void *user)
{
    json_t *object = json_object();

    output_set(object, "slot", json_integer(slot->slot));
    output_set(object, "owner", json_string(slot->owner ? slot->owner : ""));
    output_set(object, "token", json_string(slot->token ? slot->token : ""));
    stat_set_stats(object, &slot->stats);
    if (json_array_append_new(user, object) != 0) {
        say_no_memory();
    }
    return true;
}

static bool stat_add_slot_row(const smq_slot_info *slot, void *user)
{
    const char *row[SLOT_COLUMNS + FIELD_COUNT];
    struct cells cells;
    char number[16];

    snprintf(number, sizeof(number), "%" PRId32, slot->slot);
    row[0] = slot->topic;
    row[1] = number;
    row[2] = slot->owner && slot->owner[0] != '\0' ? slot->owner : "-";
    row[3] = slot->token && slot->token[0] != '\0' ? slot->token : "-";
    stat_set_cells(row + SLOT_COLUMNS, &cells, &slot->stats);
    output_row(user, row, SLOT_COLUMNS + FIELD_COUNT);
    return true;
}

/* === Topics ============================================================= */

/* A member of "topics". */
static smq_status stat_topic_stat_json(json_t *topics, smq_client *client, const char *name,
                                       bool slots, smq_stats *stats, smq_error *err)
{
    smq_status status = smq_topic_stats(client, name, stats, err);
    json_t *object = json_object();

    output_set(object, "topic", json_string(name));
    stat_set_stats(object, stats);
    gauges_json_left_out(object, stats);
    if (slots && status == SMQ_OK) {
        json_t *array = json_array();
        output_set(object, "slots", array);
        status = smq_topic_slots(client, name, stat_add_slot_json, array, err);
    }
    if (status != SMQ_OK) {
        json_decref(object);
    } else if (json_array_append_new(topics, object) != 0) {
        say_no_memory();
    }
    return status;
}

/* A row, or one for each slot. */
static smq_status stat_topic_stat_rows(struct libscols_table *table, smq_client *client,
                                       const char *name, bool slots, smq_stats *stats,
                                       smq_error *err)
{
    const smq_status status = smq_topic_stats(client, name, stats, err);

    if (status == SMQ_OK && slots) {
        return smq_topic_slots(client, name, stat_add_slot_row, table, err);
    }
    if (status == SMQ_OK) {
        const char *row[TOPIC_COLUMNS + FIELD_COUNT] = {name};
        struct cells cells;
        stat_set_cells(row + TOPIC_COLUMNS, &cells, stats);
        output_row(table, row, TOPIC_COLUMNS + FIELD_COUNT);
    }
    return status;
}

static struct libscols_table *stat_table(bool slots)
{
#define X(member, title) title,
    static const char *const topic_titles[] = {"=TOPIC", GAUGE_TITLES, COUNTER_FIELDS(X)};
    static const char *const slot_titles[] = {SLOT_TITLES, GAUGE_TITLES, COUNTER_FIELDS(X)};
#undef X

    return slots ? output_table(slot_titles, SLOT_COLUMNS + FIELD_COUNT)
                 : output_table(topic_titles, TOPIC_COLUMNS + FIELD_COUNT);
}

/* Slots of which nothing is known are named, some of them. */
struct left_out {
    enum exit_code code;
    int count;
};

enum { LEFT_OUT_SHOWN = 8 };

static bool stat_name_slot(const smq_slot_info *slot, void *user)
{
    struct left_out *left_out = user;

    if (slot->status != SMQ_OK) {
        left_out->code = exit_code_both(left_out->code, exit_code_left_out(slot->status));
        if (++left_out->count <= LEFT_OUT_SHOWN) {
            say("%s; it is not counted", slot->why);
        }
    }
    return true;
}

static enum exit_code stat_name_left_out(smq_client *client, const char *name,
                                         const smq_stats *stats)
{
    struct left_out left_out = {.code = EXIT_DONE};

    if (stats->slots_damaged + stats->slots_silent == 0) {
        return EXIT_DONE;
    }
    (void) smq_topic_slots(client, name, stat_name_slot, &left_out, NULL);
    if (left_out.count > LEFT_OUT_SHOWN) {
        say("... and %d more slots of topic %s", left_out.count - LEFT_OUT_SHOWN, name);
    }
    return left_out.code;
}

/* Prints the topics `names`; with `all`, a topic that no longer exists is left out, and one that
 * cannot be looked at is named.  Slots that are damaged, or do not answer, are named; all else is
 * printed. */
static enum exit_code stat_topics(smq_client *client, const struct command *command,
                                  const struct topic_names *names, bool all)
{
    const struct stat_options *flags = command->options;
    json_t *topics = json_array();
    json_t *document = json_object();
    struct libscols_table *table = stat_table(flags->slots);
    enum exit_code code = EXIT_DONE;
    smq_status status = SMQ_OK;
    smq_error err;

    output_set(document, "topics", topics);
    for (size_t i = 0; i < names->count && status == SMQ_OK; i++) {
        smq_stats stats = SMQ_STATS_INIT;
        const char *name = names->name[i];

        status = command->global.json
                     ? stat_topic_stat_json(topics, client, name, flags->slots, &stats, &err)
                     : stat_topic_stat_rows(table, client, name, flags->slots, &stats, &err);
        if (status == SMQ_OK) {
            code = exit_code_both(code, stat_name_left_out(client, name, &stats));
        } else if (all && status != SMQ_NO_TOPIC) {
            (void) say_failure(&err);
            code = exit_code_both(code, exit_code_left_out(status));
        }
        status = all ? SMQ_OK : status;
    }
    if (status == SMQ_OK && command->global.json) {
        output_json(json_incref(document));
    } else if (status == SMQ_OK) {
        output_table_print_parts(table, flags->slots ? SLOT_KEYS : TOPIC_KEYS, SIZE_MAX);
        table = NULL;
    }
    output_table_free(table);
    json_decref(document);
    return status == SMQ_OK ? code : say_failure(&err);
}

/* === Prometheus ========================================================= */

static bool stat_says_unreadable(const char *text, const char *name)
{
    char line[256];

    snprintf(line, sizeof(line), "\nslotmq_topic_unreadable{topic=\"%s\"} 1\n", name);
    return strstr(text, line) != NULL;
}

/* The text does not say why the slots of a topic could not be read. */
static enum exit_code stat_say_unreadable_slots(smq_client *client, const char *text,
                                                const struct topic_names *names)
{
    enum exit_code code = EXIT_DONE;
    smq_error err;

    for (size_t i = 0; i < names->count; i++) {
        smq_stats stats = SMQ_STATS_INIT;

        if (stat_says_unreadable(text, names->name[i]) &&
            smq_topic_stats(client, names->name[i], &stats, &err) != SMQ_OK) {
            (void) say_failure(&err);
            code = exit_code_both(code, exit_code_left_out(err.status));
        }
    }
    return code;
}

/* The numbers of this process, which stand first, say nothing of the topics.  `names`: of all of
 * them, to say which could not be read. */
static enum exit_code stat_prometheus_print(smq_client *client, const char *topics,
                                            const struct topic_names *names)
{
    enum exit_code code = EXIT_DONE;
    char *text = NULL;
    smq_error err;

    if (smq_metrics_text(client, topics, &text, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    const char *found = strstr(text, "# HELP slotmq_topic_");
    if (found) {
        fputs(found, stdout);
    }
    if (names) {
        code = exit_code_both(topic_say_unreadable(names),
                              stat_say_unreadable_slots(client, text, names));
    }
    smq_free(text);
    return code;
}

static enum exit_code stat_prometheus(smq_client *client, const struct command *command)
{
    struct topic_names names;
    smq_error err;

    if (command->word_count > 0) {
        return stat_prometheus_print(client, command->words[0], NULL);
    }
    if (topic_names_read(&names, client, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    const enum exit_code code = stat_prometheus_print(client, "*", &names);
    topic_names_fini(&names);
    return code;
}

static enum exit_code stat_all(smq_client *client, const struct command *command)
{
    struct topic_names names;
    smq_error err;

    if (topic_names_read(&names, client, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    const enum exit_code said = topic_say_unreadable(&names);
    if (names.count == 0 && said == EXIT_DONE) {
        topic_say_none(command);
    }
    const enum exit_code printed = stat_topics(client, command, &names, true);
    topic_names_fini(&names);
    return exit_code_both(said, printed);
}

/* ======================================================================== */

static enum exit_code stat_check(const struct command *command)
{
    const struct stat_options *flags = command->options;

    if (flags->prometheus && (flags->slots || command->global.json)) {
        return say_error(EXIT_USAGE, "--prometheus has a form of its own; give it without %s",
                         flags->slots ? "--slots" : "--json");
    }
    return EXIT_DONE;
}

static enum exit_code stat_run(const struct command *command)
{
    const struct stat_options *flags = command->options;
    smq_client *client = NULL;
    enum exit_code code = stat_check(command);

    if (code == EXIT_DONE) {
        code = connect_client(&client, command);
    }
    if (code == EXIT_DONE && flags->prometheus) {
        code = stat_prometheus(client, command);
    } else if (code == EXIT_DONE && command->word_count > 0) {
        const struct topic_names one = {.name = command->words, .count = 1};
        code = stat_topics(client, command, &one, false);
    } else if (code == EXIT_DONE) {
        code = stat_all(client, command);
    }
    smq_client_free(client);
    return code;
}

const struct verb stat_verb = {
    .name = "stat",
    .operands = "[NAME]",
    .summary = "what topics hold and have done",
    .text = "Now:      messages that are waiting (due: those of them that may be claimed), "
            "claimed, resting after a failure, or dead; and for how long the oldest due message "
            "has been due, which is not known for type priority.\n"
            "In all:   messages that were "
            "sent (added, not merged), merged, done, retried, rejected, expired or released, and "
            "claims that lost their lease.",
    .flags = stat_flags,
    .flag_count = sizeof(stat_flags) / sizeof(stat_flags[0]),
    .options_size = sizeof(struct stat_options),
    .max_words = 1,
    .run = stat_run,
};
