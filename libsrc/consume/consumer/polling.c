/* polling.c - polls and flushes of a consumer that has no handlers.
 *
 * Thread: those of the application. */
#include "base/status.h"
#include "consume/consumer/consumer.h"

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
