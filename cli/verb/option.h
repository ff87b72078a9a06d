/* option.h - options of the library as flags and as KEY=VALUE. */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include <slotmq/slotmq.h>

#include "cli/verb/flags.h"

/* What the library says of an option; NULL: there is none of this name. */
const smq_option_info *option_info(smq_option_set set, const char *name);

/* Sets the option of a flag in the struct `options`.  A value that cannot be used is refused with
 * the name of the flag instead of that of the option.  On any other result than EXIT_DONE the
 * error has already been printed. */
enum exit_code option_apply(void *options, const struct flag *flag, const char *text);

/* Sets an option from "KEY=VALUE"; the text must outlive the use of `options`. */
enum exit_code option_apply_pair(void *options, smq_option_set set, const char *pair);

/* Sets an option to the default that the library names for it. */
void option_apply_default(void *options, smq_option_set set, const char *name);

/* May an option that is a number have this value? */
bool option_takes(void *scratch, smq_option_set set, const char *name, int64_t value);

/* What the help of a flag says: its text, or that of its option, then the range and the default.
 * A line to be freed. */
char *option_help(const struct flag *flag);

/* The range of a flag as "1 .. 63" or "a, b or c", and its default; "" when there is nothing to
 * say of it. */
struct option_values {
    char range[128];
    const char *fallback;
};
void option_values(struct option_values *out, const struct flag *flag);

#endif
