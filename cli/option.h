/* option.h - options of the library as flags and as KEY=VALUE. */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include <slotmq/slotmq.h>

#include "flags.h"

/* What the library says of an option; NULL: there is none of this name. */
const smq_option_info *option_info(smq_option_set set, const char *name);

/* Sets the option of a flag in the struct `options`.  What cannot be used has been said, in terms
 * of the flag. */
enum exit_code option_apply(void *options, const struct flag *flag, const char *text);

/* Sets an option from "KEY=VALUE"; the text must outlive the use of `options`. */
enum exit_code option_apply_pair(void *options, smq_option_set set, const char *pair);

/* The help of the flag of an option: a line to be freed.  NULL: there is no such option. */
char *option_help(const smq_option_info *info);

#endif
