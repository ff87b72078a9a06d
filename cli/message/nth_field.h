/* nth_field.h - the n-th white-space separated field of a line.  Pure. */
#ifndef CLI_NTH_FIELD_H
#define CLI_NTH_FIELD_H

#include <stddef.h>

/* A part of a line, borrowed from it. */
struct nth_field {
    const char *start;
    size_t size; /* 0: the line has no such field */
};

/* Field `number` of the line, counted from 1. */
struct nth_field nth_field(const char *bytes, size_t size, size_t number);

#endif
