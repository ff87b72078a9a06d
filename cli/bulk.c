/* bulk.c - which of many messages are meant. */
#include "bulk.h"

#include "message.h"
#include "say.h"

enum exit_code bulk_check(const struct bulk_filter *filter)
{
    if (filter->key && !filter->id) {
        return say_error(EXIT_USAGE, "--key goes with --id; give both");
    }
    return EXIT_DONE;
}

void bulk_filter_make(smq_filter *out, smq_message *which, const struct bulk_filter *filter,
                      const struct topic_facts *topic)
{
    if (filter->id) {
        *which = message_named(topic, filter->id, filter->key);
        out->which = which;
    }
    out->contains = filter->match;
    out->reason = filter->reason;
    out->older_than_ms = filter->older_than.value;
    out->limit = (uint64_t) filter->limit.value;
    out->rate_per_s = filter->rate.value;
}
