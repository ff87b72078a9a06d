/* option.h - every option that has a name: what it may be, what it is by default, and where it is
 * stored.  Parsing, checking, the help of the command and docs/CONFIGURATION.md read one table.
 *
 * Pure. */
#ifndef MODEL_OPTION_H
#define MODEL_OPTION_H

#include <slotmq/options.h>

enum { OPTION_WORD_SIZE = 16 }; /* more than any word of a choice has */

enum option_kind {
    OPTION_INTEGER,
    OPTION_DURATION, /* in milliseconds */
    OPTION_STRING,
    OPTION_CHOICE /* info.type is the words, in the order of their values from min to max */
};

/* A field holds what a caller gives, where 0 is the default and SMQ_NONE may be a way to say
 * "none"; or it is complete and holds what is meant. */
struct option {
    smq_option_info info;
    enum option_kind kind;
    size_t offset, size;                    /* of the field: int32_t, int64_t, enum, bool, string */
    int64_t min, max;                       /* of what may be given besides 0 and `none_name` */
    bool power_of_two;                      /* only these */
    int64_t fallback;                       /* what 0 means ... */
    int64_t (*choose)(const void *options); /* ... if NULL; else it depends on the machine or on the
                                             fields before this one, which are complete */
    const char *fallback_text;              /* strings: what NULL means, or NULL */
    const char *none_name;                  /* "SMQ_NONE" when that may be given, or NULL ... */
    int64_t none;                           /* ... and what it means */
    const char *word;                       /* a word that may stand in a text, or NULL ... */
    int64_t word_value;                     /* ... and what it gives */
};

extern const struct option option_table[];
extern const size_t option_count;

/* NULL: there is none. */
const struct option *option_find(smq_option_set set, const char *name);

/* A field of `size` bytes that is no string. */
int64_t option_load(const void *field, size_t size);
void option_store(void *field, size_t size, int64_t value);

/* The field of an option that is no string, in its struct. */
int64_t option_get(const struct option *option, const void *options);
void option_set(const struct option *option, void *options, int64_t value);

/* What a field means that holds `given`; `options` is its struct. */
int64_t option_meaning(const struct option *option, const void *options, int64_t given);

/* The other way: how a caller gives what is meant. */
int64_t option_given(const struct option *option, int64_t meaning);

/* The word for a value of a choice; false: it has none. */
bool option_word(char out[OPTION_WORD_SIZE], const struct option *option, int64_t value);

/* The value of a word of a choice; false: it is none of them. */
bool option_from_word(int64_t *out, const struct option *option, const char *word);

/* All words of a choice, with `last` before the last one: "a, b or c". */
void option_format_words(char *out, size_t size, const struct option *option, const char *last);

/* Does the value lie in the range, or have a word?  Fails: INVALID; the text names the option, its
 * range and the value. */
smq_status option_check(const struct option *option, int64_t value, smq_error *err);

/* Check all fields of a struct of full size, and make them complete.  Fails: INVALID, as
 * option_check(); then some of the fields are complete. */
smq_status option_complete(void *options, smq_option_set set, smq_error *err);

/* As smq_option_parse(). */
smq_status option_parse(void *options, smq_option_set set, const char *name, const char *value,
                        smq_error *err);

#endif
