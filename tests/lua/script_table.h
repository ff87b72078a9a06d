/* script_table.h - tables of calls: each row is a call and what it must answer, or a look at the
 * keys and what they must hold.
 *
 *   open KIND [shared] [keyed]  empty the server and open the slot with a kind: m t p b f; keyed
 *                             scripts get the keys of that layout too
 *   at MS                     the scripts' time from now on
 *   listen, deaf, woken       begin or end to listen on wake{x}; how many wake-ups came
 *   heard                     what came with them: '' for a plain one
 *   SCRIPT WORD...            call a script; its fixed arguments have defaults, which NAME=VALUE
 *                             replaces, the words follow them
 *   whole WORD...             send, of whole messages: without the keys of layout keyed
 *   store, prepare, dead, done, ticks  the members in order, each MEMBER@INTEGER, MEMBER@INTEGER~2s
 *   why, body, topic          the fields of a hash, sorted, each NAME=VALUE
 *   field NAME                a field of slot{x}
 *   redis WORD...             any command
 *
 * A table has one row a line.  Where clang-format would put short rows side by side, the table is
 * fenced off from it.
 *
 * Tokens are small numbers, "shared", or 24 digits.  Times in answers of consume, and all others,
 * are those of `at`.  After each call every key of the slot must still have its sentinel.
 *
 * Thread: main. */
#ifndef TESTS_LUA_SCRIPT_TABLE_H
#define TESTS_LUA_SCRIPT_TABLE_H

#include "fixture.h"

struct script_row {
    const char *command;
    const char *expected; /* NULL: whatever it is; "OK ...": what begins so */
};

/* Runs the rows; ends the test at the first one that differs. */
void script_table_run(struct fixture *fixture, const struct script_row *rows, size_t count);

/* The same with an array, and the state of the test that cmocka hands it. */
#define SCRIPT_TABLE(state, rows) script_table_run(*(state), rows, sizeof(rows) / sizeof((rows)[0]))

/* Runs one row whatever it answers, and whatever the keys hold then.  false: it was an error. */
bool script_table_call(struct fixture *fixture, const char *command);

#endif
