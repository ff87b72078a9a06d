/* definition_table.c - see definition_table.h. */
#include "cli/topic/definition_table.h"

#include <inttypes.h>
#include <stdio.h>

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

static void definition_table_add_number(struct table *table, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    table_pair(table, name, text);
}

/* None is shown as 0, as in JSON. */
static void definition_table_add_duration(struct table *table, const char *name, int64_t ms)
{
    char text[UNITS_MAX];

    units_duration(text, definition_amount(ms));
    table_pair(table, name, text);
}

static void definition_table_add_size(struct table *table, const char *name, int64_t bytes)
{
    char text[UNITS_MAX];

    units_size(text, bytes);
    table_pair(table, name, text);
}

static void definition_table_add_backoff(struct table *table, const char *backoff)
{
    char text[512];

    units_in_text(text, sizeof(text), backoff ? backoff : "");
    table_pair(table, "backoff", text);
}

struct table *definition_table_show(const smq_topic_info *info)
{
    const smq_topic_options *topic = info->options;
    struct table *table = table_pairs();

    table_pair(table, "name", topic->name);
    table_pair(table, "type", definition_type_name(topic->type));
    table_pair(table, "layout", definition_layout_name(topic->layout));
    definition_table_add_number(table, "slots", topic->slots);
    table_pair(table, "shared", topic->shared ? "true" : "false");
    table_pair(table, "ties", definition_ties_name(topic->ties));
    definition_table_add_number(table, "max_retries", definition_amount(topic->max_retries));
    definition_table_add_backoff(table, topic->backoff);
    definition_table_add_duration(table, "lease_ms", topic->lease_ms);
    if (definition_lacks_delay(topic)) {
        table_pair(table, "delay_ms", "none");
    } else {
        definition_table_add_duration(table, "delay_ms", topic->delay_ms);
    }
    table_pair(table, "takeover", definition_takeover_name(topic->takeover));
    definition_table_add_number(table, "takeover_replicas", topic->takeover_replicas);
    definition_table_add_duration(table, "debounce_ms", topic->debounce_ms);
    definition_table_add_duration(table, "ttl_ms", topic->ttl_ms);
    table_pair(table, "expired_to_dead", topic->expired_to_dead ? "true" : "false");
    table_pair(table, "skip_failed", topic->skip_failed ? "true" : "false");
    definition_table_add_size(table, "max_body", topic->max_body);
    definition_table_add_number(table, "max_waiting", definition_amount(topic->max_waiting));
    definition_table_add_number(table, "rate_per_s", definition_amount(topic->rate_per_s));
    definition_table_add_duration(table, "dedup_window_ms", topic->dedup_window_ms);
    table_pair(table, "groups", topic->groups ? topic->groups : "none");
    definition_table_add_duration(table, "expires_ms", topic->expires_ms);
    table_pair(table, "expires_with_messages", topic->expires_with_messages ? "true" : "false");
    table_pair(table, "paused", info->paused ? "true" : "false");
    table_pair(table, "damaged", info->damaged ? "true" : "false");
    return table;
}
