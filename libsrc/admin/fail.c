/* fail.c - see fail.h.
 *
 * Thread: any. */
#include "admin/fail.h"

#include "base/status.h"

enum fanout_next admin_fail(smq_error *err, const struct topic *topic, int32_t slot,
                            const struct store_result *result)
{
    if (result->outcome == STORE_NO_TOPIC || result->outcome == STORE_STALE) {
        (void) status_set(err, SMQ_NO_TOPIC,
                          "topic %s was deleted or changed during the call (slot %d)", topic->name,
                          (int) slot);
    } else if (result->outcome == STORE_OK) {
        (void) status_set(err, SMQ_INTERNAL, "a reply about slot %d of topic %s cannot be read",
                          (int) slot, topic->name);
    } else {
        (void) status_set(err, result->status, "slot %d of topic %s: %s", (int) slot, topic->name,
                          result->text);
    }
    return FANOUT_STOP;
}
