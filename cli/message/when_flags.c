/* when_flags.c - flags that say when a message is handled, and for how long and how often it may
 * fail. */
#include "cli/message/when_flags.h"

#include <inttypes.h>

#include "cli/text/say.h"
#include "cli/topic/definition.h"

void when_init(struct when *when)
{
    *when = (struct when){.own = SMQ_TOPIC_OPTIONS_INIT};
}

static enum exit_code when_check_priority(int64_t priority, const char *topic, smq_ties ties)
{
    const int64_t max = ties == SMQ_TIES_BYTES ? WHEN_PRIORITY_BYTES : WHEN_PRIORITY_ARRIVAL;

    if (priority >= -max && priority <= max) {
        return EXIT_DONE;
    }
    return say_error(EXIT_USAGE,
                     "--priority %" PRId64 " is out of range; topic %s takes -%" PRId64
                     " to %" PRId64,
                     priority, topic, max, max);
}

/* The flag that topics of this type do not have; NULL: none is given. */
static const char *when_wrong_flag(const struct when *when, smq_topic_type type)
{
    if (when->priority.given && type != SMQ_TYPE_PRIORITY) {
        return "--priority";
    }
    if (when->own.delay_ms != 0 && type == SMQ_TYPE_FIFO) {
        return "--delay";
    }
    return when->at.given && type != SMQ_TYPE_FIXED_TIME && type != SMQ_TYPE_PRIORITY ? "--at"
                                                                                      : NULL;
}

enum exit_code when_check(const struct when *when, const char *topic,
                          const struct topic_facts *facts)
{
    const char *wrong = when_wrong_flag(when, facts->type);

    if (wrong) {
        return say_error(EXIT_USAGE, "topic %s is %s: it has no %s", topic,
                         definition_type_name(facts->type), wrong);
    }
    return when_check_priority(when->priority.value, topic, facts->ties);
}

/* Without a flag it is that of the topic. */
static int64_t when_delay(const struct when *when)
{
    if (when->at.given || when->own.delay_ms == SMQ_NONE) {
        return 0;
    }
    return when->own.delay_ms == 0 ? SMQ_TOPIC_DELAY : when->own.delay_ms;
}

void when_apply(smq_message *message, const struct when *when)
{
    message->priority = when->priority.value;
    message->due_at_ms = when->at.value;
    message->delay_ms = when_delay(when);
    message->ttl_ms = when->own.ttl_ms;
    message->max_retries = when->own.max_retries;
}
