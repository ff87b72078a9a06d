/* metric.c - see metric.h.
 *
 * Pure. */
#include "model/metric.h"

const smq_number_info metric_table[] = {
#define X(member, by, what, of, family, text, label_name, value)                                   \
    {.struct_size = sizeof(smq_number_info),                                                       \
     .name = #member,                                                                              \
     .offset = offsetof(smq_metrics, member),                                                      \
     .kind = SMQ_NUMBER_##what,                                                                    \
     .unit = SMQ_UNIT_##of,                                                                        \
     .metric = (family),                                                                           \
     .help = (text),                                                                               \
     .label = (label_name),                                                                        \
     .label_value = (value)},
    METRIC_ROWS(X)
#undef X
};
const size_t metric_count = sizeof(metric_table) / sizeof(metric_table[0]);
