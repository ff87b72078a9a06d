/* message_id.c - the ids that the library makes for messages without one.
 *
 * Pure. */
#include "model/message_id.h"

#include <inttypes.h>
#include <stdio.h>

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
