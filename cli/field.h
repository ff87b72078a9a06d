/* field.h - the n-th white-space separated field of a line.  Pure. */
#ifndef CLI_FIELD_H
#define CLI_FIELD_H

#include <stddef.h>

/* A part of the bytes it was found in. */
struct field {
    const char *start;
    size_t size;
};

/* Counted from 1; size 0: there are fewer. */
struct field field_of(const char *bytes, size_t size, size_t number);

#endif
