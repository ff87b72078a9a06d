/* stat_table.c - see stat_table.h. */
#include "cli/stat/stat_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/stat/gauges.h"

#define X(member, title, weight) +1
enum { COUNTER_COUNT = 0 COUNTER_FIELDS(X), FIELD_COUNT = GAUGE_COUNT + COUNTER_COUNT };
#undef X

/* The columns before the fields of a row. */
enum { TOPIC_COLUMNS = 1, SLOT_COLUMNS = 4 };

#define X(counter, name, weighs) {.title = (name), .right = true, .weight = (weighs)},
static const struct table_column topic_columns[] = {
    {.title = "TOPIC", .narrow = TABLE_SHORTEN, .weight = GAUGE_WEIGHS_MOST + 2, .least = 20},
    GAUGE_COLUMNS,
    COUNTER_FIELDS(X)};
static const struct table_column slot_columns[] = {
    {.title = "TOPIC", .narrow = TABLE_SHORTEN, .weight = GAUGE_WEIGHS_MOST + 2, .least = 16},
    {.title = "SLOT", .right = true, .weight = GAUGE_WEIGHS_MOST + 1},
    {.title = "OWNER", .narrow = TABLE_SHORTEN, .weight = 50, .least = 12},
    {.title = "TOKEN", .weight = 1},
    GAUGE_COLUMNS,
    COUNTER_FIELDS(X)};
#undef X

/* The numbers of a row as text. */
struct cells {
    struct gauges gauges;
    char counter[COUNTER_COUNT][24];
};

/* Fills FIELD_COUNT cells of a row with texts that live in `cells`. */
static void stat_set_cells(const char **row, struct cells *cells, const smq_stats *stats,
                           bool unowned)
{
#define X(member, title, weight) stats->member,
    const uint64_t values[] = {COUNTER_FIELDS(X)};
#undef X

    gauges_cells(row, &cells->gauges, stats, unowned);
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        snprintf(cells->counter[i], sizeof(cells->counter[i]), "%" PRIu64, values[i]);
        row[GAUGE_COUNT + i] = cells->counter[i];
    }
}

static void stat_add_slot(struct table *table, const char *topic, const struct stat_slot *slot)
{
    const char *row[SLOT_COLUMNS + FIELD_COUNT];
    struct cells cells;
    char number[16];

    snprintf(number, sizeof(number), "%" PRId32, slot->number);
    row[0] = topic;
    row[1] = number;
    row[2] = slot->owner[0] != '\0' ? slot->owner : "-";
    row[3] = slot->token[0] != '\0' ? slot->token : "-";
    stat_set_cells(row + SLOT_COLUMNS, &cells, &slot->stats, false);
    table_row(table, row, SLOT_COLUMNS + FIELD_COUNT);
    gauges_emphasise(table, SLOT_COLUMNS, &slot->stats, false);
}

static void stat_add_topic(struct table *table, const struct stat_topic *topic)
{
    const char *row[TOPIC_COLUMNS + FIELD_COUNT] = {topic->row.topic};
    const bool unowned = stat_read_is_unowned(&topic->row);
    struct cells cells;

    stat_set_cells(row + TOPIC_COLUMNS, &cells, &topic->row.stats, unowned);
    table_row(table, row, TOPIC_COLUMNS + FIELD_COUNT);
    gauges_emphasise(table, TOPIC_COLUMNS, &topic->row.stats, unowned);
}

struct table *stat_table(const struct stat_topic *topics, size_t count, bool slots)
{
    struct table *table = slots ? table_new(slot_columns, SLOT_COLUMNS + FIELD_COUNT)
                                : table_new(topic_columns, TOPIC_COLUMNS + FIELD_COUNT);

    for (size_t i = 0; i < count; i++) {
        if (topics[i].err.status != SMQ_OK) {
            continue;
        }
        for (size_t j = 0; slots && j < topics[i].slot_count; j++) {
            stat_add_slot(table, topics[i].row.topic, &topics[i].slots[j]);
        }
        if (!slots) {
            stat_add_topic(table, &topics[i]);
        }
    }
    return table;
}
