/* when.c - flags that say when a message is handled. */
#include "when.h"

#include <inttypes.h>

#include "say.h"

/* How far priorities reach depends on what decides among equal ones. */
#define PRIORITY_MAX_ARRIVAL INT64_C(8191)
#define PRIORITY_MAX_BYTES   (INT64_C(1) << 40)

static enum exit_code when_check_priority(int64_t priority, const char *topic, smq_ties ties)
{
    const int64_t max = ties == SMQ_TIES_BYTES ? PRIORITY_MAX_BYTES : PRIORITY_MAX_ARRIVAL;

    if (priority < -max || priority > max) {
        return say_error(EXIT_USAGE,
                         "--priority %" PRId64 " is out of range; topic %s takes -%" PRId64
                         " to %" PRId64,
                         priority, topic, max, max);
    }
    return EXIT_DONE;
}

enum exit_code when_check(const struct when *when, const char *topic,
                          const struct topic_facts *facts)
{
    const char *type = topic_type_name(facts->type);
    const char *wrong = NULL;

    if (when->priority.given && facts->type != SMQ_TYPE_PRIORITY) {
        wrong = "--priority";
    } else if (when->delay.given && facts->type != SMQ_TYPE_RANGE_MERGE &&
               facts->type != SMQ_TYPE_FIXED_TIME) {
        wrong = "--delay";
    } else if (when->at.given && facts->type != SMQ_TYPE_FIXED_TIME) {
        wrong = "--at";
    }
    if (wrong) {
        return say_error(EXIT_USAGE, "topic %s is %s: it has no %s", topic, type, wrong);
    }
    return when_check_priority(when->priority.value, topic, facts->ties);
}

void when_apply(smq_message *message, const struct when *when)
{
    message->priority = when->priority.value;
    message->due_at_ms = when->at.value;
    if (when->delay.given) {
        message->delay_ms = when->delay.value > 0 ? when->delay.value : SMQ_NONE;
    }
}
