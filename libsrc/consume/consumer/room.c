/* room.c - how many messages a slot of a consumer claims at once, and how many it may have.
 *
 * Thread: that of consumer_new(), then smq:io. */
#include "consume/consumer/consumer.h"

enum { CONSUMER_BATCH_MAX = 100, CONSUMER_KEYS_LEAST = 10 };

/* A slot has room for two claims, so that one is handled while the next one is in progress; with a
 * batch_size of 1 it has room for one message, so that each claim takes what is first then.  It has
 * room for as much as all threads can handle at once; a call of `batch` takes a whole claim. */
void consumer_set_room(smq_consumer *consumer, const smq_consumer_options *options)
{
    struct slot_set *set = &consumer->set;
    int32_t room = options->batch_size > 1 ? 2 * options->batch_size : 1;

    set->batch_size = options->batch_size;
    set->per_slot = consumer->polled ? consumer->poll.per_slot : options->threads;
    if (!consumer->polled) {
        int32_t busy =
            options->batch != NULL ? options->threads * options->batch_size : options->threads;

        room = busy > room ? busy : room;
    }
    set->room = room < SLOT_ROOM_MAX ? room : SLOT_ROOM_MAX;
}

static int32_t consumer_within(int32_t least, int32_t value, int32_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* How many messages are claimed at once from a slot, and how many it may have unanswered.  All
 * slots together fit into max_in_flight, so that no slot has to wait until the others are empty.
 * The default of per_slot is more than each of many slots can have, so it is no lower limit; what
 * polls have taken may go beyond its share; and half of max_in_flight stays for other keys than the
 * one that fills a slot. */
void consumer_set_polled_room(smq_consumer *consumer)
{
    struct slot_set *set = &consumer->set;
    int32_t most = budget_most(&set->budget);
    int32_t share = most / set->topic.slots, least = consumer->poll.per_slot;
    int32_t half = most > 1 ? most / 2 : 1;

    share = share < half ? share : half;
    half = half < CONSUMER_KEYS_LEAST ? half : CONSUMER_KEYS_LEAST;
    least = least < half ? least : half;
    set->room =
        consumer_within(least, share,
                        consumer->poll.per_slot > CONSUMER_BATCH_MAX ? consumer->poll.per_slot
                                                                     : CONSUMER_BATCH_MAX);
    set->batch_size = set->room > CONSUMER_BATCH_MAX ? CONSUMER_BATCH_MAX : set->room;
}
