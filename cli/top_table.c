/* top_table.c - see top_table.h.
 *
 * Pure. */
#include "top_table.h"

#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gauges.h"
#include "output.h"

#define X(counter, title) +1
enum { RATE_COUNT = 0 RATE_FIELDS(X), COLUMN_COUNT = TOP_KEYS + GAUGE_COUNT + RATE_COUNT };
#undef X

/* From when on a lag is emphasised. */
enum { LAG_LONG_MS = 60000 };

/* Where the gauges are that are emphasised. */
enum { COLUMN_STATE = TOP_KEYS, COLUMN_DEAD = TOP_KEYS + 5, COLUMN_LAG = TOP_KEYS + 6 };

/* How much a column matters, in their order: TOPIC; STATE, WAITING, DUE, CLAIMED, RESTING, DEAD,
 * LAG; SENT/S, MERGED/S, DONE/S, RETRIED/S, REJECTED/S. */
static const unsigned char weights[COLUMN_COUNT] = {13, 12, 11, 4, 6, 5, 10, 9, 7, 1, 8, 3, 2};

/* === Order ============================================================== */

const char *top_order_name(enum top_order order)
{
    static const char *const names[TOP_ORDERS] = {"activity", "name", "waiting", "lag", "dead"};

    return names[order];
}

bool top_order_of_key(enum top_order *out, int key)
{
    static const char keys[] = "anwld"; /* in the order of the enum */
    const char *found = key > 0 ? strchr(keys, key) : NULL;

    if (!found) {
        return false;
    }
    *out = (enum top_order)(found - keys);
    return true;
}

/* What happens to the topic a second. */
static double sample_activity(const struct sample *sample)
{
#define X(counter, title) +sample->rates.counter
    return sample->has_rates ? 0.0 RATE_FIELDS(X) : 0.0;
#undef X
}

/* What is compared; the larger one comes first. */
static double sample_rank(const struct sample *sample, enum top_order order)
{
    switch (order) {
    case TOP_BY_ACTIVITY:
        return sample_activity(sample);
    case TOP_BY_NAME:
        return 0;
    case TOP_BY_WAITING:
        return (double) sample->stats.waiting;
    case TOP_BY_LAG:
        return (double) sample->stats.oldest_due_age_ms;
    case TOP_BY_DEAD:
        return (double) sample->stats.dead;
    }
    return 0;
}

static int sample_compare(const void *left, const void *right, void *user)
{
    const struct sample *one = left;
    const struct sample *other = right;
    const enum top_order order = *(const enum top_order *) user;
    const double first = sample_rank(one, order);
    const double second = sample_rank(other, order);

    return first > second ? -1 : first < second ? 1 : strcmp(one->name, other->name);
}

void top_sort(struct sample *samples, size_t count, enum top_order order)
{
    if (count > 1) {
        qsort_r(samples, count, sizeof(*samples), sample_compare, &order);
    }
}

/* === Table ============================================================== */

static void top_add_row(struct libscols_table *table, const struct sample *sample)
{
#define X(counter, title) sample->rates.counter,
    const double rates[] = {RATE_FIELDS(X)};
#undef X
    const char *cells[COLUMN_COUNT] = {sample->name};
    struct gauges gauges;
    char text[RATE_COUNT][32];

    gauges_cells(cells + TOP_KEYS, &gauges, &sample->stats);
    for (size_t i = 0; i < RATE_COUNT; i++) {
        snprintf(text[i], sizeof(text[i]), "%.1f", rates[i]);
        cells[TOP_KEYS + GAUGE_COUNT + i] = sample->has_rates ? text[i] : "-";
    }
    output_row(table, cells, COLUMN_COUNT);
}

/* Dead letters and lost parts are red, a long lag and a pause yellow. */
static void top_emphasise(struct libscols_table *table, size_t row, const smq_stats *stats)
{
    static const char red[] = "\033[1;31m";
    static const char yellow[] = "\033[1;33m";

    if (stats->dead > 0) {
        output_cell_color(table, row, COLUMN_DEAD, red);
    }
    if (stats->oldest_due_age_ms >= LAG_LONG_MS) {
        output_cell_color(table, row, COLUMN_LAG, yellow);
    }
    if (stats->slots_damaged > 0 || stats->slots_silent > 0) {
        output_cell_color(table, row, COLUMN_STATE, red);
    } else if (stats->slots_paused > 0) {
        output_cell_color(table, row, COLUMN_STATE, yellow);
    }
}

struct libscols_table *top_table(const struct sample *samples, size_t count, size_t columns,
                                 bool color)
{
#define X(counter, title) title,
    static const char *const titles[] = {"~TOPIC", GAUGE_TITLES, RATE_FIELDS(X)};
#undef X
    struct libscols_table *table = output_table(titles, COLUMN_COUNT);

    for (size_t i = 0; i < count; i++) {
        top_add_row(table, &samples[i]);
        if (color) {
            top_emphasise(table, i, &samples[i].stats);
        }
    }
    if (columns > 0) {
        output_table_fit(table, weights, columns);
    }
    return table;
}
