/* definition.h - the definition of a topic as people see it: its words and its amounts.
 *
 * Pure. */
#ifndef CLI_DEFINITION_H
#define CLI_DEFINITION_H

#include <slotmq/slotmq.h>

/* "range_merge", "priority", "fixed_time", "fifo"; "inline", "keyed". */
const char *definition_type_name(smq_topic_type type);
const char *definition_layout_name(smq_layout layout);

/* None is shown as 0. */
int64_t definition_amount(int64_t amount);

/* An option with its value.  The library may be asked for the rest: info->type and the like. */
struct definition_option {
    const smq_option_info *info;
    const char *text; /* as smq_option_get() gives it */
    bool is_amount;   /* it has a number, which is 0 if it is none */
    bool is_none;     /* none is shown as such, because 0 is something else */
    int64_t amount;
};

typedef void definition_fn(const struct definition_option *option, void *user);

/* Visits all options of a topic, in the order in which they are shown. */
void definition_each(const smq_topic_options *topic, definition_fn *visit, void *user);

#endif
