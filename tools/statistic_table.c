/* statistic_table.c - prints each number of smq_stats and smq_metrics that the library knows, a
 * line each: struct, offset, field, kind, unit, metric, label, its value, help, with tabs between
 * them. */
#include <stdio.h>

#include <slotmq/ops.h>

static bool print_number(const smq_number_info *number, void *user)
{
    static const char *const kinds[] = {[SMQ_NUMBER_COUNTER] = "counter",
                                        [SMQ_NUMBER_GAUGE] = "gauge",
                                        [SMQ_NUMBER_HISTOGRAM] = "histogram"};
    static const char *const units[] = {[SMQ_UNIT_MESSAGES] = "messages",
                                        [SMQ_UNIT_SLOTS] = "slots",
                                        [SMQ_UNIT_COUNT] = "count",
                                        [SMQ_UNIT_MS] = "ms",
                                        [SMQ_UNIT_US] = "us",
                                        [SMQ_UNIT_TIME_MS] = "time"};

    printf("%s\t%zu\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", (const char *) user, number->offset,
           number->name, kinds[number->kind], units[number->unit], number->metric, number->label,
           number->label_value, number->help);
    return true;
}

int main(void)
{
    smq_stat_each(print_number, (void *) "Stats");
    smq_metric_each(print_number, (void *) "Metrics");
    return fflush(stdout) == 0 ? 0 : 1;
}
