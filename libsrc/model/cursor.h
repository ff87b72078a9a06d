/* cursor.h - the text of a position at which a visit of messages continues:
 * "SLOT:STATE:SCORE:NAME", such as "3:waiting:1700000000000:order-7".
 *
 * SCORE and NAME are those of the message in its sorted set; bytes of NAME that are not printable
 * are written as %XX.
 *
 * Pure. */
#ifndef MODEL_CURSOR_H
#define MODEL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slotmq/message.h>

#include "base/buf.h"

struct cursor {
    int32_t slot;
    smq_state state;
    bool scheduled;    /* it waits, and is scheduled: "3:scheduled:..." */
    const char *score; /* as Redis printed it */
    const char *name;
    size_t name_len; /* at least 1 */
};

void cursor_format(struct buf *out, const struct cursor *cursor);

/* Read untrusted text.  `out` points into `bytes`.  false: it is no cursor of a topic with this
 * many slots. */
bool cursor_parse(struct cursor *out, struct buf *bytes, const char *text, int32_t slots);

#endif
