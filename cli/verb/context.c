/* context.c - context list: the contexts of the configuration file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/table.h"
#include "cli/verb/config.h"
#include "cli/verb/secrets.h"
#include "cli/verb/verb.h"

static const struct table_column context_columns[] = {
    {.title = "CONTEXT", .narrow = TABLE_SHORTEN, .weight = 4, .least = 12},
    {.title = "CURRENT", .weight = 3},
    {.title = "REDIS", .narrow = TABLE_SHORTEN, .weight = 2, .least = 20},
    {.title = "ZOOKEEPER", .narrow = TABLE_SHORTEN, .weight = 1, .least = 20}};

/* Where servers are, without user and password, to be freed; "": the context does not say it. */
static char *context_servers(const struct config *config, const char *context, const char *name)
{
    const char *value = config_context_value(config, context, name);
    const size_t size = strlen(value ? value : "") + 1;
    char *shown = say_alloc(size, 1);

    memcpy(shown, value ? value : "", size);
    secrets_hide(shown);
    return shown;
}

/* Into the array, or into the table. */
static void context_add(json_t *array, struct table *table, const struct config *config,
                        const char *context)
{
    const bool current = context == config->current;
    char *redis = context_servers(config, context, "redis");
    char *zookeeper = context_servers(config, context, "zookeeper");

    if (array) {
        json_t *object = json_object();
        output_set(object, "name", output_text(context));
        output_set(object, "current", json_boolean(current));
        output_set(object, "redis", output_text(redis));
        output_set(object, "zookeeper", output_text(zookeeper));
        output_append(array, object);
    } else {
        table_row(table,
                  (const char *const[]){context, current ? "yes" : "no",
                                        redis[0] != '\0' ? redis : "-",
                                        zookeeper[0] != '\0' ? zookeeper : "-"},
                  sizeof(context_columns) / sizeof(context_columns[0]));
    }
    free(redis);
    free(zookeeper);
}

static enum exit_code context_list_run(const struct command *command)
{
    const struct config *config = command->config;
    json_t *array = command->global.json ? json_array() : NULL;
    struct table *table =
        array ? NULL
              : table_new(context_columns, sizeof(context_columns) / sizeof(context_columns[0]));

    for (size_t i = 0; i < config->context_count; i++) {
        context_add(array, table, config, config->contexts[i]);
    }
    if (array) {
        json_t *document = json_object();
        output_set(document, "contexts", array);
        output_json(document);
    } else {
        table_print(table);
    }
    return EXIT_DONE;
}

const struct verb context_list_verb = {
    .name = "context list",
    .operands = "",
    .summary = "list the contexts of the configuration file",
    .text = "A context names the servers of one environment. In the configuration file it begins "
            "with a line [context NAME], which redis, zookeeper and option follow; --context NAME "
            "uses it. CURRENT says which one is in use.\n",
    .run = context_list_run,
};
