/* completion.h - what a shell offers for the word at its cursor. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/verb/verb.h"

/* How the scripts of cli/completion ask: slotmq __complete WORD..., with the words after "slotmq"
 * up to the cursor; the last one, which may be "", is what was typed of the word there. */
#define COMPLETION_ASKED "__complete"

/* Prints a line for each word that may be at the place of the last one: the word, a tab, its help.
 * "@file" or "@program" alone: a name of these.  A word is printed whatever was typed of it; the
 * shell chooses, in its own way. */
enum exit_code completion_answer(const struct verb *const *all, char *const *words, size_t count);

#endif
