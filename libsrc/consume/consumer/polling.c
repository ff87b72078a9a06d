/* polling.c - polls and flushes of a consumer that has no handlers.
 *
 * Thread: those of the application. */
#include "base/status.h"
#include "consume/consumer/consumer.h"

enum { CONSUMER_BATCH_MAX = 100, CONSUMER_KEYS_LEAST = 10 };

/* --- room --- */

static int32_t consumer_within(int32_t least, int32_t value, int32_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* How many messages are claimed at once from a slot, and how many it may have unanswered.  All
 * slots together fit into max_in_flight, so that no slot has to wait until the others are empty. By
 * key the default of per_slot is more than each of many slots can have, so there it is no lower
 * limit; what polls have taken may go beyond its share; and half of max_in_flight stays for other
 * keys than the one that fills a slot. */
void consumer_set_polled_room(smq_consumer *consumer)
{
    struct slot_set *set = &consumer->set;
    int32_t share = set->budget.max_in_flight / set->topic.slots, least = consumer->poll.per_slot;
    int32_t half = set->budget.max_in_flight > 1 ? set->budget.max_in_flight / 2 : 1;

    if (set->by_key) {
        share = share < half ? share : half;
        half = half < CONSUMER_KEYS_LEAST ? half : CONSUMER_KEYS_LEAST;
        least = least < half ? least : half;
    }
    set->room =
        consumer_within(least, share,
                        consumer->poll.per_slot > CONSUMER_BATCH_MAX ? consumer->poll.per_slot
                                                                     : CONSUMER_BATCH_MAX);
    set->batch_size =
        set->by_key && set->room > CONSUMER_BATCH_MAX ? CONSUMER_BATCH_MAX : set->room;
}

/* --- polls --- */

/* Why polls return nothing any more. */
static smq_status consumer_result(smq_consumer *consumer, smq_error *err)
{
    (void) consumer_wait_end(consumer, SMQ_FOREVER); /* it will end soon */
    if (consumer->end.result.status == SMQ_OK) {
        return status_set(err, SMQ_CLOSED, "the consumer of topic %s was stopped",
                          consumer->set.name);
    }
    if (consumer->end.result.status == SMQ_TIMED_OUT) {
        return status_set(
            err, SMQ_CLOSED,
            "the consumer of topic %s was stopped; deliveries that were not answered within "
            "drain_timeout_ms are delivered again",
            consumer->set.name);
    }
    return status_copy(err, &consumer->end.result);
}

smq_status consumer_poll(smq_delivery **out, size_t *count, smq_consumer *consumer, size_t capacity,
                         int64_t timeout_ms, smq_error *err)
{
    if (!scheduler_poll(consumer->set.scheduler, out, count, capacity, timeout_ms)) {
        return consumer_result(consumer, err);
    }
    return SMQ_OK;
}

int consumer_fd(const smq_consumer *consumer)
{
    scheduler_set_descriptor(consumer->set.scheduler, consumer->poll.descriptor);
    return consumer->poll.descriptor;
}

smq_status consumer_flush(smq_consumer *consumer, int64_t timeout_ms, smq_error *err)
{
    smq_status late = SMQ_OK;
    const char *topic = consumer->set.name;

    if (!scheduler_flush(consumer->set.scheduler, &late, timeout_ms)) {
        return status_set(err, SMQ_TIMED_OUT, "answers of topic %s are not stored yet", topic);
    }
    if (late == SMQ_UNKNOWN) {
        return status_set(err, late,
                          "it is not known whether an answer of topic %s is stored: its reply was "
                          "lost; its message may be delivered again",
                          topic);
    }
    if (late != SMQ_OK) {
        return status_set(err, late,
                          "an answer of topic %s came too late: %s; its message is delivered again",
                          topic, smq_status_text(late));
    }
    return SMQ_OK;
}
