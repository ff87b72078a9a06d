/* gauges.h - what a topic or slot holds now, as stat and top show it: cells and JSON. */
#ifndef CLI_GAUGES_H
#define CLI_GAUGES_H

#include <jansson.h>

#include <slotmq/slotmq.h>

#include "units.h"

/* Titles of the columns, for output_table(). */
#define GAUGE_TITLES "STATE", ">WAITING", ">DUE", ">CLAIMED", ">RESTING", ">DEAD", ">LAG"
enum { GAUGE_COUNT = 7 };

/* The texts of the cells that are numbers. */
struct gauges {
    char text[GAUGE_COUNT][UNITS_MAX];
};

/* Fills GAUGE_COUNT cells of a row with texts that live in `gauges`. */
void gauges_cells(const char **row, struct gauges *gauges, const smq_stats *stats);

/* Sets paused, waiting, due, claimed, resting, dead, oldest_due_age_ms (null: not known). */
void gauges_json(json_t *object, const smq_stats *stats);

/* Sets slots_damaged and slots_silent of a topic: how many of its slots are not counted. */
void gauges_json_left_out(json_t *object, const smq_stats *stats);

#endif
