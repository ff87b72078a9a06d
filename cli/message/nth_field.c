/* nth_field.c - the n-th white-space separated field of a line.  Pure. */
#include "cli/message/nth_field.h"

#include <stdbool.h>
#include <string.h>

static bool nth_field_is_space(char c)
{
    return c != '\0' && strchr(" \t\n\v\f\r", c) != NULL;
}

struct nth_field nth_field(const char *bytes, size_t size, size_t number)
{
    size_t end = 0;

    while (end < size) {
        size_t start = end;
        while (start < size && nth_field_is_space(bytes[start])) {
            start++;
        }
        end = start;
        while (end < size && !nth_field_is_space(bytes[end])) {
            end++;
        }
        if (--number == 0) {
            return (struct nth_field){.start = bytes + start, .size = end - start};
        }
    }
    return (struct nth_field){.start = bytes + size, .size = 0};
}
