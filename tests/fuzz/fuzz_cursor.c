/* fuzz_cursor.c - where a visit continues, as a user gives it back. */
#include <string.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "model/cursor.h"

enum { SLOTS = 64 };

static void read_cursor(const char *text)
{
    struct cursor cursor, again;
    struct buf bytes = {0}, bytes_again = {0}, written = {0};

    if (cursor_parse(&cursor, &bytes, text, SLOTS)) {
        FUZZ_CHECK(cursor.slot >= 0 && cursor.slot < SLOTS && cursor.name_len > 0);
        cursor_format(&written, &cursor);
        FUZZ_CHECK(cursor_parse(&again, &bytes_again, written.data, SLOTS));
        FUZZ_CHECK(again.slot == cursor.slot && again.state == cursor.state);
        FUZZ_CHECK(strcmp(again.score, cursor.score) == 0 && again.name_len == cursor.name_len);
        FUZZ_CHECK(memcmp(again.name, cursor.name, cursor.name_len) == 0);
    }
    buf_fini(&bytes);
    buf_fini(&bytes_again);
    buf_fini(&written);
}

FUZZ_TARGET(cursor)
{
    char *text = calloc(1, size + 1);

    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    read_cursor(text);
    free(text);
}
