/* screen.c - see screen.h. */
#include "screen.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/width.h"
#include "support/testing.h"

enum { SCREEN_SIZE = 16384 };

const size_t screen_widths[3] = {80, 120, 200};

int screen_setup(void **state)
{
    return setlocale(LC_CTYPE, "C.UTF-8") && setenv("NO_COLOR", "1", 1) == 0 ? 0 : -1;
}

static FILE *screen_open(const char *name, size_t columns, const char *mode)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s-%zu.txt", getenv("SLOTMQ_SCREENS"), name, columns);
    FILE *file = fopen(path, mode);
    if (!file) {
        fail_msg("cannot open %s", path);
    }
    return file;
}

static void screen_write(const char *name, size_t columns, const char *text)
{
    FILE *file = screen_open(name, columns, "w");

    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void screen_read(char *out, size_t size, const char *name, size_t columns)
{
    FILE *file = screen_open(name, columns, "r");

    out[fread(out, 1, size - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
}

void assert_screen(const char *name, size_t columns, struct table *const *tables, size_t count)
{
    char wanted[SCREEN_SIZE];
    char text[SCREEN_SIZE];
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        char *part = table_text(tables[i], columns);
        used +=
            (size_t) snprintf(text + used, sizeof(text) - used, "%s%s\n", i > 0 ? "\n" : "", part);
        assert_true(used < sizeof(text));
        free(part);
    }
    if (width_of(text) > columns) {
        fail_msg("%s is wider than %zu columns:\n%s", name, columns, text);
    }
    if (getenv("SLOTMQ_SCREENS_WRITE")) {
        screen_write(name, columns, text);
    }
    screen_read(wanted, sizeof(wanted), name, columns);
    if (strcmp(text, wanted) != 0) {
        fail_msg("screens/%s-%zu.txt is not:\n%s", name, columns, text);
    }
}
