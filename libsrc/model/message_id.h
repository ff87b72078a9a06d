/* message_id.h - the ids that the library makes for messages without one.
 *
 * 12 hex digits of the time in ms since 1970, 4 of a counter within it, 16 random ones: ids of one
 * maker sort by the order in which they were made, those of different makers nearly so.
 *
 * Pure. */
#ifndef MODEL_MESSAGE_ID_H
#define MODEL_MESSAGE_ID_H

#include <stdint.h>

enum { MESSAGE_ID_LEN = 32 };

/* The last id made; begins as zeros. */
struct message_ids {
    int64_t ms;
    uint16_t count;
};

/* A clock that stands still or goes back does not disturb the order. */
void message_id_make(char out[MESSAGE_ID_LEN + 1], struct message_ids *ids, int64_t now_ms,
                     uint64_t random);

#endif
