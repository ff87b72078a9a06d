/* topic.c - what verbs need to know of topics; topic list, topic show. */
#include "cli/topic/topic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/definition.h"
#include "cli/topic/definition_table.h"
#include "cli/verb/connect.h"
#include "cli/verb/look_flags.h"

/* Names separated by commas, as an array. */
static json_t *topic_json_list(const char *names)
{
    json_t *array = json_array();

    for (const char *name = names; *name != '\0';) {
        const size_t length = strcspn(name, ",");

        output_append(array, json_stringn(name, length));
        name += length + (name[length] == ',' ? 1 : 0);
    }
    return array;
}

static void topic_json_option(const struct definition_option *option, void *user)
{
    const smq_option_info *info = option->info;
    json_t *value = NULL;

    if (option->is_amount) {
        value = option->is_none ? json_null() : json_integer(option->amount);
    } else if (strcmp(info->type, "false|true") == 0) {
        value = json_boolean(strcmp(option->text, "true") == 0);
    } else {
        value = strcmp(info->type, "list") == 0 ? topic_json_list(option->text)
                                                : json_string(option->text);
    }
    output_set(user, info->name, value);
}

json_t *topic_json(const smq_topic_info *info)
{
    json_t *object = json_object();

    output_set(object, "name", json_string(info->options->name));
    definition_each(info->options, topic_json_option, object);
    output_set(object, "paused", json_boolean(info->paused));
    output_set(object, "damaged", json_boolean(info->damaged));
    return object;
}

/* === Looking up ========================================================= */

smq_status topic_visit(smq_client *client, const char *name, smq_topic_fn *visit, void *user,
                       smq_error *err)
{
    smq_topic_info *info = NULL;
    const smq_status status = smq_topic_get(client, name, &info, err);

    if (status == SMQ_OK) {
        (void) visit(info, user);
        smq_topic_info_free(info);
    }
    return status;
}

static bool topic_take_facts(const smq_topic_info *info, void *user)
{
    const smq_topic_options *topic = info->options;
    struct topic_facts *facts = user;

    *facts = (struct topic_facts){.type = topic->type,
                                  .layout = topic->layout,
                                  .ties = topic->ties,
                                  .max_body = topic->max_body,
                                  .max_retries =
                                      topic->max_retries == SMQ_NONE ? 0 : topic->max_retries};
    return true;
}

/* Of a group the name of its topic: a call that needs a group lists them. */
static bool topic_offer(const smq_topic_info *topic, void *user)
{
    struct topic_names *names = user;
    const size_t length = strcspn(topic->name, "/");
    char *whole = say_alloc(length + 1, 1);

    memcpy(whole, topic->name, length);
    topic_names_add(names, whole);
    free(whole);
    return true;
}

bool topic_explain(smq_client *client, const char *name, smq_error *err)
{
    struct topic_names names = {.count = 0};
    struct nearest nearest = nearest_to(name);
    smq_error ignored;

    if (err->status == SMQ_NO_TOPIC && !strchr(name, '/')) {
        (void) smq_topic_each(client, topic_offer, &names, &ignored);
    }
    for (size_t i = 0; i < names.count; i++) {
        nearest_offer(&nearest, names.name[i]);
    }
    const bool found = nearest.best && strcmp(nearest.best, name) != 0;
    if (found) {
        snprintf(err->text, sizeof(err->text), "no topic %s; did you mean %s?", name, nearest.best);
    }
    topic_names_fini(&names);
    return found;
}

enum exit_code topic_say_failure(smq_client *client, const char *name, smq_error *err)
{
    (void) topic_explain(client, name, err);
    return say_failure(err);
}

smq_status topic_layout(smq_layout *out, smq_client *client, const char *name, smq_error *err)
{
    struct topic_facts facts;
    const smq_status status = topic_visit(client, name, topic_take_facts, &facts, err);

    if (status == SMQ_OK) {
        *out = facts.layout;
    }
    return status;
}

enum exit_code topic_look_up(struct topic_facts *out, smq_client *client, const char *name)
{
    smq_error err;

    if (topic_visit(client, name, topic_take_facts, out, &err) != SMQ_OK) {
        return topic_say_failure(client, name, &err);
    }
    return EXIT_DONE;
}

enum exit_code topic_run(const struct command *command, verb_topic_fn *run)
{
    struct topic_facts topic = {0};
    smq_client *client = NULL;
    enum exit_code code = connect_client(&client, command);

    if (code != EXIT_DONE) {
        return code;
    }
    code = topic_look_up(&topic, client, command->words[0]);
    if (code == EXIT_DONE) {
        code = run(client, command, &topic);
    }
    smq_client_free(client);
    return code;
}

bool topic_is_of(const char *name, const char *topic)
{
    const size_t length = strlen(topic);

    return strncmp(name, topic, length) == 0 && (name[length] == '\0' || name[length] == '/');
}

bool topic_is_bound_to(const smq_binding *binding, const char *root, bool in_redis)
{
    const char *bound = binding->coordination, *scheme = in_redis ? "redis:" : "zookeeper:";
    const size_t at = strlen(scheme), length = strlen(root);

    return strncmp(bound, scheme, at) == 0 && strncmp(bound + at, root, length) == 0 &&
           bound[at + length] == (in_redis ? '\0' : ' ');
}

void topic_names_add(struct topic_names *names, const char *name)
{
    names->name = say_grow(names->name, names->count, sizeof(*names->name));
    names->name[names->count++] = say_copy(name);
}

static bool topic_take_groups(const smq_topic_info *info, void *user)
{
    const smq_topic_options *topic = info->options;
    struct topic_names *names = user;

    if (!topic->groups || topic->groups[0] == '\0') {
        topic_names_add(names, topic->name);
        return true;
    }
    for (const char *group = topic->groups; *group != '\0';) {
        const size_t length = strcspn(group, ",");
        const size_t size = strlen(topic->name) + length + 2;
        char *name = say_alloc(size, 1);

        snprintf(name, size, "%s/%.*s", topic->name, (int) length, group);
        topic_names_add(names, name);
        free(name);
        group += length + (group[length] == ',' ? 1 : 0);
    }
    return true;
}

smq_status topic_names_read_one(struct topic_names *out, smq_client *client, const char *name,
                                smq_error *err)
{
    *out = (struct topic_names){0};
    const smq_status status = topic_visit(client, name, topic_take_groups, out, err);
    const smq_class class = smq_status_class(status);

    if (class == SMQ_CLASS_RETRY || class == SMQ_CLASS_UNKNOWN) {
        return status;
    }
    if (out->count == 0) {
        topic_names_add(out, name);
    }
    return SMQ_OK;
}

char *topic_names_of(smq_client *client, const char *name, smq_error *err)
{
    struct topic_names names;
    size_t size = 1;
    size_t used = 0;

    if (topic_names_read_one(&names, client, name, err) != SMQ_OK) {
        topic_names_fini(&names);
        return NULL;
    }
    for (size_t i = 0; i < names.count; i++) {
        size += strlen(names.name[i]) + 1;
    }
    char *joined = say_alloc(size, 1);
    for (size_t i = 0; i < names.count; i++) {
        used +=
            (size_t) snprintf(joined + used, size - used, "%s%s", i > 0 ? "," : "", names.name[i]);
    }
    topic_names_fini(&names);
    return joined;
}

void topic_names_fini(struct topic_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->name[i]);
    }
    free(names->name);
    *names = (struct topic_names){0};
}

void topic_say_none(const struct command *command)
{
    if (!command->global.quiet && !command->global.json) {
        say("there are no topics; slotmq topic create makes one");
    }
}

const char *topic_unlisted_text(char *out, size_t count)
{
    out[0] = '\0';
    if (count > 0) {
        snprintf(out, TOPIC_UNLISTED_ROOM,
                 "Redis has lost the names of %zu topics from the list of all topics, "
                 "slotmq{topics}: run slotmq topic repair --all",
                 count);
    }
    return out;
}

void topic_say_unlisted(size_t count)
{
    char text[TOPIC_UNLISTED_ROOM];

    if (topic_unlisted_text(text, count)[0] != '\0') {
        say("%s", text);
    }
}

/* === show and list ====================================================== */

static bool topic_print_topic_json(const smq_topic_info *topic, void *user)
{
    (void) user;
    output_json(topic_json(topic));
    return true;
}

enum exit_code topic_print_json(smq_client *client, const char *name)
{
    smq_error err;

    if (topic_visit(client, name, topic_print_topic_json, NULL, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    return EXIT_DONE;
}

/* === list =============================================================== */

/* What is shown, and the result: not EXIT_DONE when a topic cannot be read, which was printed. */
struct list {
    json_t *array; /* of these two one is set */
    struct table *table;
    size_t unlisted;
    enum exit_code code;
};

static bool topic_add_topic(const smq_topic_info *topic, void *user)
{
    struct list *list = user;

    list->unlisted += topic->unlisted ? 1 : 0;
    if (topic->unreadable) {
        const enum exit_code code = exit_code_left_out(topic->unreadable_status);
        list->code = exit_code_both(list->code, say_error(code, "%s", topic->unreadable));
    } else if (list->table) {
        definition_table_list_add(list->table, topic);
    } else {
        output_append(list->array, topic_json(topic));
    }
    return true;
}

static enum exit_code list_json(smq_client *client)
{
    struct list list = {.array = json_array(), .code = EXIT_DONE};
    json_t *document = json_object();
    smq_error err;

    output_set(document, "topics", list.array);
    if (smq_topic_each(client, topic_add_topic, &list, &err) != SMQ_OK) {
        json_decref(document);
        return say_failure(&err);
    }
    output_json(document);
    topic_say_unlisted(list.unlisted);
    return list.code;
}

static enum exit_code list_table(smq_client *client, const struct command *command)
{
    struct list list = {.table = definition_table_list(), .code = EXIT_DONE};
    smq_error err;

    if (smq_topic_each(client, topic_add_topic, &list, &err) != SMQ_OK) {
        table_free(list.table);
        return say_failure(&err);
    }
    if (table_is_empty(list.table) && list.code == EXIT_DONE) {
        topic_say_none(command);
    }
    table_print(list.table);
    topic_say_unlisted(list.unlisted);
    return list.code;
}

static enum exit_code list_connected(smq_client *client, const struct command *command)
{
    return command->global.json ? list_json(client) : list_table(client, command);
}

static const struct flag topic_look_flags[] = {LOOK_FLAG(NULL)};

const struct verb topic_list_verb = {
    .name = "topic list",
    .operands = "",
    .summary = "all topics",
    VERB_FLAGS(topic_look_flags, struct look),
    .looks = true,
    .connected = list_connected,
};

/* === show =============================================================== */

static bool topic_show_topic(const smq_topic_info *topic, void *user)
{
    (void) user;
    table_print(definition_table_show(topic));
    return true;
}

static enum exit_code topic_show_connected(smq_client *client, const struct command *command)
{
    const char *name = command->words[0];
    smq_error err;

    if (command->global.json) {
        return topic_print_json(client, name);
    }
    return topic_visit(client, name, topic_show_topic, NULL, &err) == SMQ_OK
               ? EXIT_DONE
               : topic_say_failure(client, name, &err);
}

const struct verb topic_show_verb = {
    .name = "topic show",
    .operands = "NAME",
    .summary = "the definition of a topic, with every default filled in",
    VERB_FLAGS(topic_look_flags, struct look),
    .looks = true,
    .min_words = 1,
    .max_words = 1,
    .connected = topic_show_connected,
};
