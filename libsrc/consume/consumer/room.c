/* room.c - how much each slot of a consumer that is polled may claim.
 *
 * Thread: that of consumer_new(), then smq:io. */
#include "consume/consumer/consumer.h"

enum { CONSUMER_BATCH_MAX = 100, CONSUMER_KEYS_LEAST = 10 };

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
