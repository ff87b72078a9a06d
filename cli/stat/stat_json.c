/* stat_json.c - what a topic or slot holds and has done, as slotmq stat --json shows it. */
#include "cli/stat/stat_json.h"

#include "cli/stat/gauges.h"
#include "cli/stat/stat_read.h"
#include "cli/stat/stat_table.h"
#include "cli/text/output.h"

void stat_json_numbers(json_t *object, const smq_stats *stats)
{
    gauges_json(object, stats);
#define X(member, title, weight)                                                                   \
    output_set(object, #member, json_integer((json_int_t) stats->member));
    COUNTER_FIELDS(X)
#undef X
#define X(member) output_set(object, #member, json_integer((json_int_t) stats->member));
    DETAIL_FIELDS(X)
#undef X
}
