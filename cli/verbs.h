/* verbs.h - the table of verbs. */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "cli/verb/verb.h"

/* All verbs in the order of the help; ends with NULL. */
extern const struct verb *const verbs[];

#endif
