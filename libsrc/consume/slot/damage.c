/* damage.c - slots that refuse the definition of their topic although that is the stored
 * one: Redis has lost their keys, or the last alteration in topic{T}.
 *
 * An alteration or a deletion on its way looks the same for a moment.  So a slot is damaged when
 * the definition was read twice since it refused first, and it refuses still.
 *
 * Thread: smq:io. */
#include <inttypes.h>

#include "consume/slot/slot.h"
#include "consume/worker/worker.h"

enum { READS_SURE = 2 };

static void tell_damaged(const struct strand *strand, enum store_outcome outcome)
{
    const char *topic = strand->worker->name;

    if (outcome == STORE_NO_TOPIC) {
        strand_event(strand, SMQ_EVENT_DAMAGED, SMQ_DAMAGED,
                     "Redis has lost the keys of slot %" PRId32 " of topic %s; the other slots are "
                     "consumed; run slotmq topic repair %s",
                     strand->slot, topic, topic);
    } else {
        strand_event(strand, SMQ_EVENT_DAMAGED, SMQ_DAMAGED,
                     "slot %" PRId32
                     " of topic %s has another definition than topic{%s}; the other "
                     "slots are consumed; run slotmq topic repair %s",
                     strand->slot, topic, topic, topic);
    }
}

void strand_refused(struct strand *strand, const struct store_result *result)
{
    uint32_t reads = strand->worker->reads_confirmed;

    if (!strand->refused) {
        strand->refused = true;
        strand->refused_at = reads;
    } else if (!strand->damaged && reads - strand->refused_at >= READS_SURE) {
        strand->damaged = true;
        tell_damaged(strand, result->outcome);
    }
    worker_refresh(strand->worker);
}

void strand_accepted(struct strand *strand)
{
    if (strand->damaged) {
        strand_event(strand, SMQ_EVENT_REPAIRED, SMQ_OK, "slot %" PRId32 " of topic %s is repaired",
                     strand->slot, strand->worker->name);
    }
    strand->refused = strand->damaged = false;
}
