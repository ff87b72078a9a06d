/* play.h - tables of calls: each line is a call and what it must answer, or a look at the keys and
 * what they must hold.
 *
 *   open KIND [shared] [keyed]  empty the server and open the slot with a kind: m t p b f; keyed
 *                             scripts get the key of the bodies too
 *   at MS                     the scripts' time from now on
 *   listen, deaf, woken       begin or end to listen on wake{x}; how many wake-ups came
 *   SCRIPT WORD...            call a script; its fixed arguments have defaults, which NAME=VALUE
 *                             replaces, the words follow them
 *   store, prepare, dead      the members in order, each MEMBER@INTEGER, MEMBER@INTEGER~2s
 *   why, body, topic          the fields of a hash, sorted, each NAME=VALUE
 *   field NAME                a field of slot{x}
 *   redis WORD...             any command
 *
 * Tokens are small numbers, "shared", or 24 digits.  Times in answers of consume, and all others,
 * are those of `at`.  After each call every key of the slot must still have its sentinel.
 *
 * Thread: main. */
#ifndef TESTS_LUA_PLAY_H
#define TESTS_LUA_PLAY_H

#include "fixture.h"

struct play_line {
    const char *command;
    const char *expected; /* NULL: whatever it is */
};

/* Ends the test at the first line that differs. */
void play(struct fixture *fixture, const struct play_line *lines, size_t count);

/* Plays one line whatever it answers, and whatever the keys hold then. */
void play_alone(struct fixture *fixture, const char *command);

#define PLAY(state, ...)                                                                           \
    do {                                                                                           \
        static const struct play_line play_lines[] = {__VA_ARGS__};                                \
        play(*(state), play_lines, sizeof(play_lines) / sizeof(play_lines[0]));                    \
    } while (0)

#endif
