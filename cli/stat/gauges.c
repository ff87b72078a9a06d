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

/* Which of the gauges are marked. */
enum { GAUGE_STATE = 0, GAUGE_DEAD = 5, GAUGE_LAG = 6 };

static enum gauges_mark gauges_worse(enum gauges_mark one, enum gauges_mark other)
{
    return one > other ? one : other;
}

struct gauges_verdict gauges_judge(const smq_stats *stats, bool unowned)
{
    const bool paused = stats->slots_paused > 0;
    const struct {
        bool is;
        const char *name;
        enum gauges_mark mark;
    } states[] = {
        {stats->slots_damaged > 0, "damaged", GAUGES_ERROR},
        {stats->slots_silent > 0, "silent", GAUGES_ERROR},
        {paused, "paused", GAUGES_WARNING},
        {stats->stalled > 0, "stalled", GAUGES_ERROR},
        {unowned, "unowned", stats->due > 0 ? GAUGES_WARNING : GAUGES_PLAIN},
        {true, "-", GAUGES_PLAIN},
    };
    size_t at = 0;

    while (!states[at].is) {
        at++;
    }
    struct gauges_verdict verdict = {
        .state = states[at].name,
        .of_state = states[at].mark,
        .of_dead = stats->dead > 0 ? GAUGES_ERROR : GAUGES_PLAIN,
        .of_lag = stats->oldest_due_age_ms >= LAG_LONG_MS ? GAUGES_WARNING : GAUGES_PLAIN,
    };
    const enum gauges_mark alive = gauges_worse(verdict.of_state, verdict.of_lag);
    /* who pauses a topic means that it waits */
    const enum gauges_mark still = verdict.of_state == GAUGES_ERROR ? GAUGES_ERROR : GAUGES_PLAIN;
    verdict.need = gauges_worse(verdict.of_dead, paused ? still : alive);
    return verdict;
}

void gauges_cells(const char **row, struct gauges *gauges, const smq_stats *stats, bool unowned)
{
#define X(member) (int64_t) stats->member,
    const int64_t values[] = {GAUGE_FIELDS(X)};
#undef X
    size_t at = 0;

    row[at++] = gauges_judge(stats, unowned).state;
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

static void gauges_emphasise_one(struct table *table, size_t column, enum gauges_mark mark)
{
    if (mark != GAUGES_PLAIN) {
        table_emphasise(table, column, mark == GAUGES_ERROR ? TABLE_ERROR : TABLE_WARNING);
    }
}

void gauges_emphasise(struct table *table, size_t column, const smq_stats *stats, bool unowned)
{
    const struct gauges_verdict verdict = gauges_judge(stats, unowned);

    gauges_emphasise_one(table, column + GAUGE_STATE, verdict.of_state);
    gauges_emphasise_one(table, column + GAUGE_DEAD, verdict.of_dead);
    gauges_emphasise_one(table, column + GAUGE_LAG, verdict.of_lag);
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
