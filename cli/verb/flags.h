/* flags.h - flags as data: one table per verb is read by the parser and by the help. */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slotmq/options.h>

#include "cli/text/exit.h"

enum flag_type {
    FLAG_SWITCH,   /* bool: given or not */
    FLAG_COUNT,    /* int64_t: how many times */
    FLAG_TEXT,     /* const char *: NULL when not given */
    FLAG_NUMBER,   /* struct flag_value */
    FLAG_DURATION, /* struct flag_value, in milliseconds */
    FLAG_TIME,     /* struct flag_value, in milliseconds since 1970 */
    FLAG_OPTION,   /* a struct of the library: one option of it, "true" when there is no operand */
    FLAG_PAIR,     /* a struct of the library: KEY=VALUE sets an option of it */
    FLAG_HEADER    /* struct headers: NAME=VALUE adds a header */
};

/* A value of which 0 and "not given" are not the same. */
struct flag_value {
    bool given;
    int64_t value; /* the fallback of the flag, or 0, when it is not given */
};

/* Range and default of an option are those that the library gives for it, unless
 * `fallback` gives another default.  Those of a number, a duration or a time are written as a user
 * types them; NULL is none.  The parser, the errors and the help read the same texts. */
struct flag {
    const char *name; /* without the hyphens */
    char letter;      /* of the short form, or 0 */
    enum flag_type type;
    size_t offset;       /* of the member in the struct of values */
    const char *operand; /* what follows it, for the help; NULL: nothing does */
    const char *help;    /* one line, which range and default follow; NULL: that of the option */
    const char *min, *max, *fallback;
    smq_option_set set; /* options and pairs */
    const char *option; /* options: its name */
};

/* Rows of a table of flags: `at` is the offset of the member.  A number is at least 1. */
#define SWITCH_FLAG(name_, at_, help_)                                                             \
    {                                                                                              \
        .name = (name_), .type = FLAG_SWITCH, .offset = (at_), .help = (help_)                     \
    }
#define TEXT_FLAG(name_, at_, operand_, help_)                                                     \
    {                                                                                              \
        .name = (name_), .type = FLAG_TEXT, .offset = (at_), .operand = (operand_),                \
        .help = (help_)                                                                            \
    }
#define NUMBER_FLAG(name_, at_, help_)                                                             \
    {                                                                                              \
        .name = (name_), .type = FLAG_NUMBER, .offset = (at_), .operand = "N", .min = "1",         \
        .help = (help_)                                                                            \
    }

/* Flags that were read and not applied yet. */
struct flags_given {
    struct flag_given {
        const struct flag *flag;
        void *values;
        const char *text; /* its operand, borrowed from argv */
    } * given;            /* owned */
    size_t count;
};

/* A table and the struct it fills.  `given`: the flags are kept there instead of being applied. */
struct flag_set {
    const struct flag *flags;
    size_t count;
    void *values;
    struct flags_given *given;
};

/* What is left of a command line without its flags. */
struct words {
    char **word; /* owned; the strings are those of argv */
    size_t count;
    char **tail; /* what followed "--", borrowed from argv; NULL: there was no "--" */
};

/* The verb whose flags are read, as errors name it. */
struct flags_verb {
    const char *name;
    size_t max_words; /* how many words it takes */
};

/* Reads the flags of argv[1] and after into the `set_count` sets.  `verb` NULL: those before the
 * verb: it stops before the first word and leaves that and all after it in `words`.  On any other
 * result than EXIT_DONE the error has already been printed. */
enum exit_code flags_read(struct words *words, const struct flag_set *sets, size_t set_count,
                          const struct flags_verb *verb, int argc, char **argv);

void words_fini(struct words *words);

/* The operand of the last one of this name, for a flag without one ""; NULL: it was not given. */
const char *flags_given_find(const struct flags_given *given, const char *name);

/* Applies them in their order.  On any other result than EXIT_DONE the error has been printed. */
enum exit_code flags_given_apply(const struct flags_given *given);
void flags_given_fini(struct flags_given *given);

/* Sets the value of one flag; `text` is its operand.  A duration without a unit is warned of. */
enum exit_code flag_apply(const struct flag *flag, void *values, const char *text);

/* Says in one line that a duration, which was read, has no unit; nothing of one that has. */
void flag_say_unit(const char *name, const char *text);

/* Reads what a user types for a number, a duration or a time.  false: it cannot be read, or lies
 * outside of the range. */
bool flag_parse(int64_t *out, const struct flag *flag, const char *text);

#endif
