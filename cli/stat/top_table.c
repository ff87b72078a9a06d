/* top_table.c - see top_table.h.
 *
 * Pure. */
#include "cli/stat/top_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/gauges.h"

#define X(counter, title, weight) +1
enum { RATE_COUNT = 0 RATE_FIELDS(X), COLUMN_COUNT = 1 + GAUGE_COUNT + RATE_COUNT };
#undef X

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
#define X(counter, title, weight) +sample->rates.counter
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

static void top_add_row(struct table *table, const struct sample *sample)
{
#define X(counter, title, weight) sample->rates.counter,
    const double rates[] = {RATE_FIELDS(X)};
#undef X
    const char *cells[COLUMN_COUNT] = {sample->name};
    struct gauges gauges;
    char text[RATE_COUNT][32];

    gauges_cells(cells + 1, &gauges, &sample->stats, sample->unowned);
    for (size_t i = 0; i < RATE_COUNT; i++) {
        snprintf(text[i], sizeof(text[i]), "%.1f", rates[i]);
        cells[1 + GAUGE_COUNT + i] = sample->has_rates ? text[i] : "-";
    }
    table_row(table, cells, COLUMN_COUNT);
    gauges_emphasise(table, 1, &sample->stats, sample->unowned);
}

struct table *top_table(const struct sample *samples, size_t count)
{
#define X(counter, name, weighs) {.title = (name), .right = true, .weight = (weighs)},
    static const struct table_column columns[] = {
        {.title = "TOPIC", .narrow = TABLE_SHORTEN, .weight = GAUGE_WEIGHS_MOST + 1, .least = 20},
        GAUGE_COLUMNS,
        RATE_FIELDS(X)};
#undef X
    struct table *table = table_new(columns, COLUMN_COUNT);

    for (size_t i = 0; i < count; i++) {
        top_add_row(table, &samples[i]);
    }
    return table;
}
