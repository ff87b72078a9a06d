/* spread.h - to which slots messages go that have neither a key nor an id.
 *
 * The slots get them in turn, each one several: as many as a slot gets within 50 ms at the present
 * rate.  So few messages go to as many slots, and of many several share a request; and each slot
 * gets as many as by chance, a little earlier or later.
 *
 * Pure. */
#ifndef MODEL_SPREAD_H
#define MODEL_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Begins as zeros, except for `turn`, which is chosen by chance: then several producers do not
 * begin with the same slot. */
struct spread {
    uint32_t turn;    /* its lower bits are the slot of the last message */
    uint32_t left;    /* messages that the slot gets still */
    uint32_t many;    /* what a slot got in the last period */
    uint32_t count;   /* messages of this period, all slots together */
    int64_t since_us; /* when this period began */
};

/* The slot that got the last message. */
int32_t spread_last(const struct spread *spread, int32_t slots);

/* The slot of one more message at `now_us`.  `closed`: the slot of the last one gets no more now,
 * because they would have to wait. */
int32_t spread_next(struct spread *spread, int32_t slots, int64_t now_us, bool closed);

#endif
