/* help.h - help texts, made from the tables of verbs and flags. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/verb/verb.h"

/* All verbs of `all`, or those whose name begins with the word `group`. */
void help_overview(FILE *out, const struct verb *const *all, const char *group);

/* One verb with each flag it takes. */
void help_on_verb(FILE *out, const struct verb *verb);

#endif
