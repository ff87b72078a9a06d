/* options.h - structs that cross the public border and carry their own size, so that a program
 * compiled with an older header keeps working: what it does not know is the default.
 *
 * Pure. */
#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H

#include <slotmq/options.h>

/* Copy a caller's struct into `out` of `size` bytes, whose first member is struct_size.  `init`
 * names the initializer for the error text.  Fails: INVALID (NULL, without a size, or larger than
 * this library knows). */
smq_status options_check_and_copy(void *out, size_t size, const void *options, const char *init,
                                  smq_error *err);

/* Take a struct of options, check all of them, and put in the defaults.  `out` has its full size.
 * Fails: INVALID; the text names the option, its range and the value. */
smq_status options_complete(void *out, smq_option_set set, const void *options, smq_error *err);

/* Copy `from` of `size` bytes into a caller's struct, as far as that reaches.  Fails: INVALID. */
smq_status options_copy_out(void *out, const void *from, size_t size, const char *init,
                            smq_error *err);

#endif
