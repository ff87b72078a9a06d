/* gauges.c - what a topic or slot holds now, as stat and top show it: cells and JSON. */
#include "cli/stat/gauges.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <slotmq/ops.h>

#include "cli/text/output.h"

/* X(member of smq_stats): in the order of the columns, behind the state. */
#define GAUGE_FIELDS(X) X(waiting) X(due) X(claimed) X(resting) X(dead) X(oldest_due_age_ms)

/* From when on a lag is emphasised. */
enum { LAG_LONG_MS = 60000 };

/* Which of the gauges are emphasised. */
enum { GAUGE_STATE = 0, GAUGE_DEAD = 5, GAUGE_LAG = 6 };

static const char *gauges_state_name(const smq_stats *stats)
{
    if (stats->slots_damaged > 0) {
        return "damaged";
    }
    if (stats->slots_silent > 0) {
        return "silent";
    }
    if (stats->slots_paused > 0) {
        return "paused";
    }
    return stats->stalled > 0 ? "stalled" : "-";
}

void gauges_cells(const char **row, struct gauges *gauges, const smq_stats *stats)
{
#define X(member) (int64_t) stats->member,
    const int64_t values[] = {GAUGE_FIELDS(X)};
#undef X
    size_t at = 0;

    row[at++] = gauges_state_name(stats);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(gauges->text[at], sizeof(gauges->text[at]), "%" PRId64, values[i]);
        row[at] = gauges->text[at];
        at++;
    }
    if (stats->oldest_due_age_ms == SMQ_AGE_UNKNOWN) {
        row[at - 1] = "unknown";
    } else {
        units_age(gauges->text[at - 1], stats->oldest_due_age_ms);
    }
}

void gauges_mark_unowned(const char **row)
{
    if (strcmp(row[GAUGE_STATE], "-") == 0) {
        row[GAUGE_STATE] = "unowned";
    }
}

void gauges_emphasise(struct table *table, size_t column, const smq_stats *stats)
{
    if (stats->dead > 0) {
        table_emphasise(table, column + GAUGE_DEAD, TABLE_ERROR);
    }
    if (stats->oldest_due_age_ms >= LAG_LONG_MS) {
        table_emphasise(table, column + GAUGE_LAG, TABLE_WARNING);
    }
    if (stats->slots_damaged > 0 || stats->slots_silent > 0 ||
        (stats->stalled > 0 && stats->slots_paused == 0)) {
        table_emphasise(table, column + GAUGE_STATE, TABLE_ERROR);
    } else if (stats->slots_paused > 0) {
        table_emphasise(table, column + GAUGE_STATE, TABLE_WARNING);
    }
}

void gauges_json_left_out(json_t *object, const smq_stats *stats)
{
    output_set(object, "slots_damaged", json_integer((json_int_t) stats->slots_damaged));
    output_set(object, "slots_silent", json_integer((json_int_t) stats->slots_silent));
}

/* Some of the numbers of a topic or slot. */
struct gauges_numbers {
    json_t *object;
    const smq_stats *stats;
    smq_number_kind kind;
};

static bool gauges_on_number(const smq_number_info *number, void *user)
{
    const struct gauges_numbers *numbers = user;
    int64_t value;

    if (number->kind != numbers->kind ||
        (number->unit != SMQ_UNIT_MESSAGES && number->unit != SMQ_UNIT_MS)) {
        return true;
    }
    memcpy(&value, (const char *) numbers->stats + number->offset, sizeof(value));
    output_set(numbers->object, number->name,
               number->unit == SMQ_UNIT_MS && value == SMQ_AGE_UNKNOWN ? json_null()
                                                                       : json_integer(value));
    return true;
}

void gauges_json(json_t *object, const smq_stats *stats)
{
    struct gauges_numbers numbers = {object, stats, SMQ_NUMBER_GAUGE};

    output_set(object, "paused", json_boolean(stats->slots_paused > 0));
    smq_stat_each(gauges_on_number, &numbers);
}

void gauges_json_all(json_t *object, const smq_stats *stats)
{
    struct gauges_numbers numbers = {object, stats, SMQ_NUMBER_COUNTER};

    gauges_json(object, stats);
    smq_stat_each(gauges_on_number, &numbers);
}
