/* gauges.h - what a topic or slot holds now, as stat and top show it: cells and JSON. */
#ifndef CLI_GAUGES_H
#define CLI_GAUGES_H

#include <jansson.h>

#include <slotmq/slotmq.h>

#include "cli/text/table.h"
#include "cli/text/units.h"

/* Columns of a table.  Others of the same table weigh less than LEAST, more than MOST, or are
 * between CLAIMED and RESTING. */
enum {
    GAUGE_WEIGHS_LEAST = 40,
    GAUGE_WEIGHS_RESTING,
    GAUGE_WEIGHS_CLAIMED = 60,
    GAUGE_WEIGHS_LAG,
    GAUGE_WEIGHS_DEAD,
    GAUGE_WEIGHS_WAITING,
    GAUGE_WEIGHS_MOST
};
#define GAUGE_COLUMNS                                                                              \
    {.title = "STATE", .weight = GAUGE_WEIGHS_MOST},                                               \
        {.title = "WAITING", .right = true, .weight = GAUGE_WEIGHS_WAITING},                       \
        {.title = "DUE", .right = true, .weight = GAUGE_WEIGHS_LEAST},                             \
        {.title = "CLAIMED", .right = true, .weight = GAUGE_WEIGHS_CLAIMED},                       \
        {.title = "RESTING", .right = true, .weight = GAUGE_WEIGHS_RESTING},                       \
        {.title = "DEAD", .right = true, .weight = GAUGE_WEIGHS_DEAD},                             \
    {                                                                                              \
        .title = "LAG", .right = true, .weight = GAUGE_WEIGHS_LAG                                  \
    }
enum { GAUGE_COUNT = 7 };

/* The texts of the cells that are numbers. */
struct gauges {
    char text[GAUGE_COUNT][UNITS_MAX];
};

enum gauges_mark { GAUGES_PLAIN, GAUGES_WARNING, GAUGES_ERROR };

/* What of a topic or slot is amiss: the one rule of stat, top and the page of slotmq serve. */
struct gauges_verdict {
    const char *state; /* "damaged", "silent", "paused", "stalled", "unowned", "-" */
    enum gauges_mark of_state, of_dead, of_lag; /* how each is shown */
    enum gauges_mark need; /* the worst of them: a person must act; a pause needs none */
};

/* `unowned`: it is exclusive, and nobody owns a slot of it. */
struct gauges_verdict gauges_judge(const smq_stats *stats, bool unowned);

/* Fills GAUGE_COUNT cells of a row with texts that live in `gauges`. */
void gauges_cells(const char **row, struct gauges *gauges, const smq_stats *stats, bool unowned);

/* Emphasises, in the newest row whose gauges begin with this column, what is amiss. */
void gauges_emphasise(struct table *table, size_t column, const smq_stats *stats, bool unowned);

/* Sets paused, waiting, due, claimed, resting, dead, oldest_due_age_ms (null: not known). */
void gauges_json(json_t *object, const smq_stats *stats);

/* Sets these, then what the topic or slot has done, as slotmq stat --json shows it. */
void gauges_json_all(json_t *object, const smq_stats *stats);

/* Sets slots_damaged and slots_silent of a topic: how many of its slots are not counted. */
void gauges_json_left_out(json_t *object, const smq_stats *stats);

#endif
