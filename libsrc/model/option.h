/* option.h - every option that can be set by name: its values, its default, and where it is stored.
 * Parsing, checking, the help of the command and docs/CONFIGURATION.md use the same table.
 *
 * Pure. */
#ifndef MODEL_OPTION_H
#define MODEL_OPTION_H

#include <slotmq/options.h>

enum { OPTION_WORD_SIZE = 16 }; /* longer than any word of a choice */

enum option_kind {
    OPTION_INTEGER,
    OPTION_DURATION, /* in milliseconds */
    OPTION_SIZE,     /* in bytes */
    OPTION_STRING,
    OPTION_CHOICE /* info.type has the words, in the order of their values from min to max */
};

/* A field is either as the caller gave it, where 0 means the default and SMQ_NONE may mean "none",
 * or complete, with the value that is meant. */
struct option {
    smq_option_info info;
    enum option_kind kind;
    /* of the field: int32_t, int64_t, enum, bool or string */
    size_t offset, size;
    /* Options of topics: where struct topic has it, with the same size, if it is no string; and its
     * place in the stored text, from 1.  0: the text has it in another way. */
    size_t topic;
    int stored;
    int64_t min, max;  /* range of the values besides 0 and `none_name` */
    bool power_of_two; /* only powers of two are allowed */
    int64_t fallback;  /* the meaning of 0, if `choose` is NULL */
    /* the default, if it depends on the machine or on fields before this one, which are complete
     * then */
    int64_t (*choose)(const void *options);
    /* NULL: always; else a field to which it does not apply must be 0, and stays so */
    bool (*applies)(const void *options);
    const char *owner;         /* for whom it is, if `applies` is given */
    const char *fallback_text; /* strings: the meaning of NULL, or NULL */
    const char *none_name;     /* "SMQ_NONE" if that may be given, or NULL */
    int64_t none;              /* the meaning of SMQ_NONE */
    const char *word;          /* a word that may be given as text, or NULL */
    int64_t word_value;        /* the value of `word` */
};

extern const struct option option_table[];
extern const size_t option_count;

/* Returns NULL if there is no such option. */
const struct option *option_find(smq_option_set set, const char *name);

/* As option_find(), but NULL is a failure, INVALID; its text gives the most similar name. */
const struct option *option_parse_find(smq_option_set set, const char *name, smq_error *err);

/* Read or write a field of `size` bytes that is no string. */
int64_t option_load(const void *field, size_t size);
void option_store(void *field, size_t size, int64_t value);

/* Read or write the field of an option, which is no string, in its struct. */
int64_t option_get(const struct option *option, const void *options);
void option_set(const struct option *option, void *options, int64_t value);

/* The complete value of a field with the value `given`; `options` is its struct. */
int64_t option_meaning(const struct option *option, const void *options, int64_t given);

/* The value that a caller gives for this complete value. */
int64_t option_given(const struct option *option, int64_t meaning);

/* The word for a value of a choice; false: it has none. */
bool option_word(char out[OPTION_WORD_SIZE], const struct option *option, int64_t value);

/* The value of a word of a choice; false: it is none of them. */
bool option_from_word(int64_t *out, const struct option *option, const char *word);

/* All words of a choice, with `last` before the last one: "a, b or c". */
void option_format_words(char *out, size_t size, const struct option *option, const char *last);

/* Check that the value is in the range, or has a word.  Fails: INVALID; the text names the option,
 * its range and the value. */
smq_status option_check(const struct option *option, int64_t value, smq_error *err);

/* Check and complete all fields of a struct of full size.  Fails: INVALID, as option_check(); then
 * some fields are complete. */
smq_status option_complete(void *options, smq_option_set set, smq_error *err);

/* Complete the fields of a struct of full size up to that of the option.  Fails: INVALID, of the
 * last one; others that are out of range stay so. */
smq_status option_complete_to(void *options, const struct option *last, smq_error *err);

/* The text of a complete field, as option_parse() reads it; "" of a string that is NULL, and of
 * what does not apply.  Fails: INVALID: `size` is too small. */
smq_status option_format(char *out, size_t size, const struct option *option, const void *options,
                         smq_error *err);

/* As smq_option_parse(). */
smq_status option_parse(void *options, smq_option_set set, const char *name, const char *value,
                        smq_error *err);

#endif
