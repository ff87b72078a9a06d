/* definition_table.c - see definition_table.h. */
#include "cli/topic/definition_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/text/units.h"
#include "cli/topic/definition.h"

/* === list =============================================================== */

static const struct table_column list_columns[] = {
    {.title = "NAME", .narrow = TABLE_SHORTEN, .weight = 8, .least = 20},
    {.title = "TYPE", .weight = 5},
    {.title = "LAYOUT", .weight = 4},
    {.title = "SLOTS", .right = true, .weight = 6},
    {.title = "OWNERS", .weight = 3},
    {.title = "STATE", .weight = 7},
    {.title = "RETRIES", .right = true, .weight = 2},
    {.title = "LEASE_MS", .right = true, .weight = 1}};
enum { LIST_COLUMNS = sizeof(list_columns) / sizeof(list_columns[0]), LIST_STATE = 5 };

static const char *definition_table_state(const smq_topic_info *topic)
{
    if (topic->damaged) {
        return "damaged";
    }
    return topic->paused ? "paused" : "-";
}

struct table *definition_table_list(void)
{
    return table_new(list_columns, LIST_COLUMNS);
}

void definition_table_list_add(struct table *table, const smq_topic_info *info)
{
    const smq_topic_options *topic = info->options;
    char slots[24];
    char retries[24];
    char lease[UNITS_MAX];

    snprintf(slots, sizeof(slots), "%" PRId32, topic->slots);
    snprintf(retries, sizeof(retries), "%" PRId64, definition_amount(topic->max_retries));
    units_duration(lease, topic->lease_ms);
    const char *const cells[] = {topic->name,
                                 definition_type_name(topic->type),
                                 definition_layout_name(topic->layout),
                                 slots,
                                 topic->shared ? "shared" : "exclusive",
                                 definition_table_state(info),
                                 retries,
                                 lease};
    table_row(table, cells, LIST_COLUMNS);
    if (info->damaged || info->paused) {
        table_emphasise(table, LIST_STATE, info->damaged ? TABLE_ERROR : TABLE_WARNING);
    }
}

/* === show =============================================================== */

/* A number as a flag takes it back; none is shown as 0, as in JSON. */
static void definition_table_amount(char *out, size_t size, const struct definition_option *option)
{
    if (option->is_none) {
        snprintf(out, size, "none");
    } else if (strcmp(option->info->type, "duration") == 0) {
        units_duration(out, option->amount);
    } else if (strcmp(option->info->type, "size") == 0) {
        units_size(out, option->amount);
    } else {
        snprintf(out, size, "%" PRId64, option->amount);
    }
}

static void definition_table_add(const struct definition_option *option, void *user)
{
    struct table *table = user;
    char text[512];

    if (option->is_amount) {
        definition_table_amount(text, sizeof(text), option);
    } else if (strcmp(option->info->type, "back-off") == 0) {
        units_in_text(text, sizeof(text), option->text);
    } else {
        table_pair(table, option->info->name,
                   option->text[0] != '\0' ? option->text : option->info->default_value);
        return;
    }
    table_pair(table, option->info->name, text);
}

struct table *definition_table_show(const smq_topic_info *info)
{
    struct table *table = table_pairs();

    table_pair(table, "name", info->options->name);
    definition_each(info->options, definition_table_add, table);
    table_pair(table, "paused", info->paused ? "true" : "false");
    table_pair(table, "damaged", info->damaged ? "true" : "false");
    return table;
}
