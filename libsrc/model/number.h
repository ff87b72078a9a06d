/* number.h - decimal numbers in untrusted text.
 *
 * Pure. */
#ifndef MODEL_NUMBER_H
#define MODEL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read the number, 0 .. max, with which text[0..len) begins, with all its digits and without a
 * leading zero.  Returns how many digits it has; 0: the text begins with something else, and *out
 * is unchanged. */
size_t number_read_prefix(int64_t *out, const char *text, size_t len, int64_t max);

/* Read the whole of text[0..len) as such a number.  false: it is something else, and *out is
 * unchanged. */
bool number_parse(int64_t *out, const char *text, size_t len, int64_t max);

/* Read a duration: a number followed by ms, s, m, h or d; without a unit milliseconds.  Several
 * with smaller and smaller units are added: 7m21s.  The result in milliseconds is at most `max`. */
bool number_parse_duration(int64_t *out_ms, const char *text, size_t len, int64_t max);

/* Read a size: a number of bytes, or of KiB, MiB or GiB, for which K, M and G also stand. */
bool number_parse_size(int64_t *out, const char *text, size_t len, int64_t max);

#endif
