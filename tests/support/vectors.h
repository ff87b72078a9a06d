/* vectors.h - reads the files of tests/vectors, a vector of words a line.
 *
 * Thread: the test's. */
#ifndef SUPPORT_VECTORS_H
#define SUPPORT_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { VECTOR_LINE_MAX = 4096, VECTOR_FIELDS_MAX = 8 };

struct vector {
    char line[VECTOR_LINE_MAX];
    char *fields[VECTOR_FIELDS_MAX]; /* of `line`; [0] is the word */
    int count;
};

/* Read the next vector that begins with `word`, and has `fields` fields behind it; -1: any number.
 * Returns false at the end of the file, and closes it.  A line with too many fields fails the test.
 */
bool vector_next(struct vector *out, FILE *file, const char *word, int fields);

/* Write the bytes behind hex digits, where "-" is none, over them; returns their number. */
size_t vector_unhex(char *hex);

#endif
