/* message_id.c - the ids that the library makes for messages without one.
 *
 * Pure. */
#include "model/message_id.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/slot.h"

enum { MESSAGE_ID_TAIL = 7 }; /* octal digits, so that each change of their bits is a digit again */

#define MESSAGE_ID_MS_MASK ((UINT64_C(1) << 48) - 1)

void message_id_make(char out[MESSAGE_ID_LEN + 1], struct message_ids *ids, int64_t now_ms,
                     uint64_t random)
{
    if (now_ms > ids->ms) {
        *ids = (struct message_ids){.ms = now_ms};
    } else if (++ids->count == 0) {
        ids->ms++;
    }
    snprintf(out, MESSAGE_ID_LEN + 1, "%012" PRIx64 "%04" PRIx16 "%016" PRIx64,
             (uint64_t) ids->ms & MESSAGE_ID_MS_MASK, ids->count, random);
}

/* What to change in the tail, three bits a digit and the last digit lowest, so that of the 16 bits
 * of a CRC-32 which tell the slot only bit i changes.  A CRC is linear: several changes add up by
 * XOR, whatever the id is.  Found by Gaussian elimination over the changes of one bit. */
static const uint32_t message_id_flips[16] = {
    00070375, 01072664, 00065573, 01045441, 01064177, 00076752, 01063003, 01054273,
    00034374, 01044121, 01013614, 00053370, 01016440, 00031452, 01053144, 00011117};

static void message_id_flip(char id[MESSAGE_ID_LEN + 1], uint32_t flips)
{
    for (int i = 1; i <= MESSAGE_ID_TAIL; i++, flips >>= 3) {
        id[MESSAGE_ID_LEN - i] = (char) (id[MESSAGE_ID_LEN - i] ^ (flips & 7));
    }
}

void message_id_move(char id[MESSAGE_ID_LEN + 1], int32_t slot, int32_t slots)
{
    static const char octal[] = "01234567";
    uint32_t wrong, flips = 0;

    for (int i = MESSAGE_ID_LEN - MESSAGE_ID_TAIL; i < MESSAGE_ID_LEN; i++) {
        id[i] = octal[id[i] & 7];
    }
    wrong = (uint32_t) (slot_of_key(id, MESSAGE_ID_LEN, slots) ^ slot);
    for (int i = 0; i < 16; i++) {
        flips ^= (wrong >> i & 1) != 0 ? message_id_flips[i] : 0;
    }
    message_id_flip(id, flips);
}
