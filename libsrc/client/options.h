/* options.h - structs of the public interface that carry their own size.  So a program that was
 * compiled with an older header keeps working: fields that it does not have get their defaults.
 *
 * Pure. */
#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H

#include <slotmq/options.h>

/* Copy the caller's struct into `out` of `size` bytes, whose first member is struct_size.  `init`
 * names the initializer for the text of an error.  Fails: INVALID (NULL, without a size, or larger
 * than this library knows). */
smq_status options_check_and_copy(void *out, size_t size, const void *options, const char *init,
                                  smq_error *err);

/* Copy a struct of options, check all options, and fill in the defaults.  `out` has its full size.
 * Fails: INVALID; the text names the option, its range and the value. */
smq_status options_complete(void *out, smq_option_set set, const void *options, smq_error *err);

/* Copy `from` of `size` bytes into the caller's struct, as far as that reaches.  Fails: INVALID. */
smq_status options_copy_out(void *out, const void *from, size_t size, const char *init,
                            smq_error *err);

#endif
