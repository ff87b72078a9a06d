/* vectors.h - reads the files of tests/vectors, a vector of words a line.
 *
 * Thread: the test's. */
#ifndef SUPPORT_VECTORS_H
#define SUPPORT_VECTORS_H

#include <stddef.h>

enum { VECTOR_LINE_MAX = 4096, VECTOR_FIELDS_MAX = 8 };

struct vector {
    char line[VECTOR_LINE_MAX];
    char *fields[VECTOR_FIELDS_MAX]; /* of `line`; [0] is the word */
    int count;
};

typedef void vector_fn(const struct vector *vector, void *user);

/* Call `check` for each vector of the file that begins with `word` and has `fields` fields behind
 * it; -1: any number.  The test fails if there is none, or one with another number. */
void vector_each(const char *path, const char *word, int fields, vector_fn *check, void *user);

/* Write the bytes behind hex digits, where "-" is none, over them; returns their number. */
size_t vector_unhex(char *hex);

#endif
