/* definition.c - see definition.h. */
#include "cli/topic/definition.h"

/* The order of these names is that of the enums in slotmq/topic.h. */
static const char *const type_names[] = {"range_merge", "priority", "fixed_time", "fifo"};
static const char *const layout_names[] = {"inline", "keyed"};
static const char *const ties_names[] = {"arrival", "bytes"};
static const char *const takeover_names[] = {"fast", "strict"};

const char *definition_type_name(smq_topic_type type)
{
    return type >= SMQ_TYPE_RANGE_MERGE && type <= SMQ_TYPE_FIFO
               ? type_names[type - SMQ_TYPE_RANGE_MERGE]
               : "unknown";
}

const char *definition_layout_name(smq_layout layout)
{
    return layout_names[layout == SMQ_LAYOUT_KEYED];
}

const char *definition_ties_name(smq_ties ties)
{
    return ties_names[ties == SMQ_TIES_BYTES];
}

const char *definition_takeover_name(smq_takeover takeover)
{
    return takeover_names[takeover == SMQ_TAKEOVER_STRICT];
}

int64_t definition_amount(int64_t amount)
{
    return amount == SMQ_NONE ? 0 : amount;
}

bool definition_lacks_delay(const smq_topic_options *topic)
{
    return topic->type == SMQ_TYPE_RANGE_MERGE && topic->delay_ms == 0;
}
