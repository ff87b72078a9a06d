/* number.h - decimal numbers in text that is not trusted.
 *
 * Pure. */
#ifndef MODEL_NUMBER_H
#define MODEL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read the number 0 .. max that text[0..len) begins with, in the one form in which it is printed:
 * all digits that are there, no leading zero.  Answers how many they are; 0: it begins with
 * something else, and `*out` is untouched. */
size_t number_take(int64_t *out, const char *text, size_t len, int64_t max);

/* Read all of text[0..len) as such a number.  false: it is something else; `*out` is untouched. */
bool number_parse(int64_t *out, const char *text, size_t len, int64_t max);

/* The same for a duration: a number followed by ms, s, m, h or d; without a unit milliseconds.  The
 * result in milliseconds is at most `max`. */
bool number_parse_duration(int64_t *out_ms, const char *text, size_t len, int64_t max);

#endif
