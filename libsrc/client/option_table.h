/* option_table.h - every option that has a name: what it may be, and where it is stored.
 *
 * Pure. */
#ifndef CLIENT_OPTION_TABLE_H
#define CLIENT_OPTION_TABLE_H

#include <slotmq/options.h>

enum option_kind {
    OPTION_INTEGER,
    OPTION_DURATION, /* in milliseconds */
    OPTION_STRING,
    OPTION_CHOICE /* info.type is the words, in the order of their values */
};

struct option {
    smq_option_info info;
    enum option_kind kind;
    size_t offset, size; /* of the field: int32_t, int64_t, an enum, bool or const char * */
    int64_t min, max;    /* integers and durations */
    int64_t zero;        /* integers and durations: what 0 is stored as */
    const char *word;    /* a word that may stand instead, or NULL ... */
    int64_t word_value;  /* ... and what it is stored as */
    int64_t first;       /* choices: the value of the first word */
};

extern const struct option option_table[];
extern const size_t option_count;

#endif
