/* screen.h - tables as they are on terminals of three widths, as files of text in screens/.
 *
 * After a change of a table that is meant:
 *
 *     SLOTMQ_SCREENS_WRITE=1 meson test -C build command_screens command_top_table
 *
 * writes the files anew; git diff then shows what users will see.
 *
 * Thread: main. */
#ifndef COMMAND_SCREEN_H
#define COMMAND_SCREEN_H

#include <stddef.h>

#include "cli/text/table.h"

/* In columns. */
extern const size_t screen_widths[3];

/* Characters of UTF-8, no colors: for cmocka_run_group_tests(). */
int screen_setup(void **state);

/* The tables, one below the other, are as in screens/NAME-COLUMNS.txt, and no line is wider.  Frees
 * them. */
void assert_screen(const char *name, size_t columns, struct table *const *tables, size_t count);

#endif
