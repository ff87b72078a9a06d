/* message_id.h - the ids that the library makes for messages without one.
 *
 * An id has 12 hex digits of the time in ms since 1970, 4 of a counter within it, and 16 random
 * ones.  So the ids of one process sort by the order in which they were made, and those of several
 * processes nearly so.
 *
 * Pure. */
#ifndef MODEL_MESSAGE_ID_H
#define MODEL_MESSAGE_ID_H

#include <stdint.h>

enum { MESSAGE_ID_LEN = 32 };

/* The last id that was made; begins as zeros. */
struct message_ids {
    int64_t ms;
    uint16_t count;
};

/* The order holds even if the clock stops or goes back. */
void message_id_make(char out[MESSAGE_ID_LEN + 1], struct message_ids *ids, int64_t now_ms,
                     uint64_t random);

/* Replace the last seven digits of an id so that its CRC-32 gives `slot`, in a topic with `slots`
 * slots.  57 random bits of the id stay, so ids of different processes differ. */
void message_id_move(char id[MESSAGE_ID_LEN + 1], int32_t slot, int32_t slots);

#endif
