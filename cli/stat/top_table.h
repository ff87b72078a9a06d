/* top_table.h - the topics of slotmq top: their order, and their table. */
#ifndef CLI_TOP_TABLE_H
#define CLI_TOP_TABLE_H

#include <slotmq/slotmq.h>

#include "cli/stat/rate.h"
#include "cli/text/table.h"

/* One topic at one moment. */
struct sample {
    const char *name; /* of what was read */
    smq_stats stats;
    bool unowned; /* nobody owns a slot of it */
    int64_t at_us;
    bool has_rates; /* there is an earlier sample of it */
    struct rates rates;
};

/* By name, or the largest first; equal ones by name. */
enum top_order { TOP_BY_ACTIVITY, TOP_BY_NAME, TOP_BY_WAITING, TOP_BY_LAG, TOP_BY_DEAD };
enum { TOP_ORDERS = TOP_BY_DEAD + 1 };

/* "activity", "name", ... */
const char *top_order_name(enum top_order order);

/* The order that a key chooses; false: it chooses none. */
bool top_order_of_key(enum top_order *out, int key);

void top_sort(struct sample *samples, size_t count, enum top_order order);

struct table *top_table(const struct sample *samples, size_t count);

#endif
