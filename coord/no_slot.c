/* no_slot.c - why this process owns no slot of a topic that it consumes.
 *
 * Pure. */
#include "coord/no_slot.h"

static enum coord_no_slot no_slot_outside(const struct no_slot_facts *facts)
{
    if (facts->silent) {
        return COORD_NO_SLOT_ZOOKEEPER;
    }
    return facts->named ? COORD_NO_SLOT_NAME : COORD_NO_SLOT_ENTRY;
}

static enum coord_no_slot no_slot_inside(const struct no_slot_facts *facts)
{
    if (facts->refused) {
        return COORD_NO_SLOT_REFUSED;
    }
    if (facts->granted > 0) {
        return facts->fresh ? COORD_NO_SLOT_GRANTING : COORD_NO_SLOT_TAKEOVER;
    }
    if (facts->former > 0) {
        return COORD_NO_SLOT_FORMER;
    }
    if (facts->slots > 0 && facts->others >= facts->slots) {
        return COORD_NO_SLOT_STANDBY;
    }
    return facts->granting ? COORD_NO_SLOT_GRANTING : COORD_NO_SLOT_ASSIGNER;
}

enum coord_no_slot no_slot_reason(const struct no_slot_facts *facts)
{
    if (facts->silent || facts->named || facts->outside) {
        return no_slot_outside(facts);
    }
    if (facts->unusable) {
        return COORD_NO_SLOT_TOPIC;
    }
    return facts->unreachable ? COORD_NO_SLOT_REDIS : no_slot_inside(facts);
}
