/* cursor.c - the text of a position at which a visit of messages continues.
 *
 * Pure. */
#include "model/cursor.h"

#include <inttypes.h>
#include <string.h>

#include "model/entry.h"
#include "model/number.h"
#include "model/state.h"

static const char digits[] = "0123456789ABCDEF";
static const char cursor_scheduled[] = "scheduled";

static bool cursor_is_plain(unsigned char byte)
{
    return byte > ' ' && byte < 0x7f && byte != '%';
}

void cursor_format(struct buf *out, const struct cursor *cursor)
{
    char *to;

    buf_printf(out, "%" PRId32 ":%s:%s:", cursor->slot,
               cursor->scheduled ? cursor_scheduled : smq_state_name(cursor->state), cursor->score);
    to = buf_room(out, 3 * cursor->name_len + 1);
    for (size_t i = 0; i < cursor->name_len; i++) {
        unsigned char byte = (unsigned char) cursor->name[i];

        if (cursor_is_plain(byte)) {
            *to++ = (char) byte;
        } else {
            *to++ = '%';
            *to++ = digits[byte >> 4];
            *to++ = digits[byte & 0xf];
        }
    }
    *to = '\0';
    out->len = (size_t) (to - out->data);
}

/* Read the part before the next ':', and advance *text behind it; false: there is none. */
static bool cursor_part_next(const char **part, size_t *len, const char **text)
{
    const char *colon = strchr(*text, ':');

    if (colon == NULL) {
        return false;
    }
    *part = *text;
    *len = (size_t) (colon - *text);
    *text = colon + 1;
    return true;
}

/* The score is stored with its NUL. */
static bool cursor_score_parse(struct buf *out, const char *text, size_t len)
{
    struct attempts attempts;
    int64_t integer;

    if (!entry_score_parse(&integer, &attempts, text, len)) {
        return false;
    }
    buf_add(out, text, len);
    buf_add(out, "", 1);
    return true;
}

static bool cursor_state_parse(struct cursor *out, const char *text, size_t len)
{
    out->scheduled = len == strlen(cursor_scheduled) && memcmp(text, cursor_scheduled, len) == 0;
    out->state = out->scheduled ? SMQ_STATE_WAITING : state_named(text, len);
    return out->state != 0;
}

static int cursor_digit_parse(char digit)
{
    const char *found = digit == '\0' ? NULL : strchr(digits, digit);

    return found == NULL ? -1 : (int) (found - digits);
}

static bool cursor_name_parse(struct buf *out, const char *text)
{
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        char byte = *text;

        if (byte == '%') {
            int high = cursor_digit_parse(text[1]);
            int low = high < 0 ? -1 : cursor_digit_parse(text[2]);

            if (low < 0) {
                return false;
            }
            byte = (char) (high << 4 | low);
            text += 2;
        } else if (!cursor_is_plain((unsigned char) byte)) {
            return false;
        }
        buf_add(out, &byte, 1);
    }
    return true;
}

bool cursor_parse(struct cursor *out, struct buf *bytes, const char *text, int32_t slots)
{
    struct cursor cursor;
    const char *part;
    size_t len, name_at;
    int64_t slot;

    buf_clear(bytes);
    if (!cursor_part_next(&part, &len, &text) || !number_parse(&slot, part, len, slots - 1) ||
        !cursor_part_next(&part, &len, &text) || !cursor_state_parse(&cursor, part, len) ||
        !cursor_part_next(&part, &len, &text) || !cursor_score_parse(bytes, part, len)) {
        return false;
    }
    name_at = bytes->len;
    if (!cursor_name_parse(bytes, text)) {
        return false;
    }
    cursor.slot = (int32_t) slot;
    cursor.score = bytes->data;
    cursor.name = bytes->data + name_at;
    cursor.name_len = bytes->len - name_at;
    *out = cursor;
    return true;
}
