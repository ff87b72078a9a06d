/* flags.c - reads flags by getopt_long() from tables. */
#include "cli/verb/flags.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/text/parse.h"
#include "cli/text/say.h"
#include "cli/verb/headers.h"
#include "cli/verb/option.h"

/* More than any verb and the global flags have together. */
#define FLAGS_MAX 48
/* getopt's values of long flags lie above all letters. */
#define LONG_BASE 256

/* The tables of one call in the form getopt wants. */
struct reader {
    const struct flag_set *sets;
    size_t set_count;
    const struct flags_verb *verb; /* NULL: the flags before it */
    struct option options[FLAGS_MAX + 1];
    char letters[2 * FLAGS_MAX + 3];
};

static bool flags_takes_operand(const struct flag *flag)
{
    return flag->operand != NULL;
}

static void reader_init(struct reader *reader, const struct flag_set *sets, size_t set_count,
                        const struct flags_verb *verb)
{
    size_t index = 0;

    *reader = (struct reader){.sets = sets, .set_count = set_count, .verb = verb};
    char *letter = reader->letters;
    *letter++ = verb ? '-' : '+';
    *letter++ = ':';
    for (size_t s = 0; s < set_count; s++) {
        for (size_t f = 0; f < sets[s].count && index < FLAGS_MAX; f++, index++) {
            const struct flag *flag = &sets[s].flags[f];
            reader->options[index] = (struct option){
                .name = flag->name,
                .has_arg = flags_takes_operand(flag) ? required_argument : no_argument,
                .val = LONG_BASE + (int) index,
            };
            if (flag->letter != 0) {
                *letter++ = flag->letter;
                if (flags_takes_operand(flag)) {
                    *letter++ = ':';
                }
            }
        }
    }
}

/* The flag that getopt means by `code`, and the set it belongs to. */
static const struct flag *reader_find(const struct reader *reader, int code,
                                      const struct flag_set **set)
{
    int index = LONG_BASE;

    for (size_t s = 0; s < reader->set_count; s++) {
        for (size_t f = 0; f < reader->sets[s].count; f++, index++) {
            const struct flag *flag = &reader->sets[s].flags[f];
            if (code == index || (code != 0 && code == flag->letter)) {
                *set = &reader->sets[s];
                return flag;
            }
        }
    }
    return NULL;
}

/* Is it the name of a flag that was typed, or rather a word that begins with a hyphen? */
static bool flags_is_name(const char *typed)
{
    return strncmp(typed, "--", 2) == 0 && isalpha((unsigned char) typed[2]);
}

/* `count` words were read before it. */
static enum exit_code flags_say_unknown(const struct reader *reader, const char *typed,
                                        size_t count)
{
    const struct flags_verb *verb = reader->verb;
    const char *space = verb ? " " : "";
    const char *of = verb ? verb->name : "";
    char name[64];

    if (!flags_is_name(typed)) {
        const bool word = verb && count < verb->max_words;
        return say_error(EXIT_USAGE, "unknown flag -%c; see slotmq%s%s --help%s%s",
                         optopt != 0 ? optopt : typed[1], space, of,
                         word ? ", or write -- before a word that begins with a hyphen: -- " : "",
                         word ? typed : "");
    }
    snprintf(name, sizeof(name), "%.*s", (int) strcspn(typed + 2, "="), typed + 2);
    struct nearest nearest = nearest_to(name);
    for (const struct option *option = reader->options; option->name; option++) {
        nearest_offer(&nearest, option->name);
    }
    if (nearest.best) {
        return say_error(EXIT_USAGE, "unknown flag --%s; did you mean --%s? See slotmq%s%s --help",
                         name, nearest.best, space, of);
    }
    return say_error(EXIT_USAGE, "unknown flag --%s; see slotmq%s%s --help", name, space, of);
}

/* getopt refused an argument: '?' is unknown or has a value too many, ':' lacks its value. */
static enum exit_code flags_say_refused(const struct reader *reader, int code, const char *typed,
                                        size_t count)
{
    const struct flag_set *set = NULL;
    const struct flag *flag = reader_find(reader, optopt, &set);

    if (!flag) {
        return flags_say_unknown(reader, typed, count);
    }
    if (code == ':') {
        return say_error(EXIT_USAGE, "--%s needs a value: --%s %s", flag->name, flag->name,
                         flag->operand);
    }
    return say_error(EXIT_USAGE, "--%s takes no value", flag->name);
}

/* What may be given, in words. */
static void flags_range_text(char *text, size_t size, const struct flag *flag)
{
    const char *what = "a whole number";

    if (flag->type == FLAG_DURATION) {
        what = "a duration such as 500ms, 30s or 5m";
    } else if (flag->type == FLAG_TIME) {
        what = "milliseconds since 1970 (13 digits today), or a time with its zone such as "
               "2026-12-01T00:00:00Z or "
               "2026-12-01T01:00:00+01:00";
    }
    if (flag->min && flag->max) {
        snprintf(text, size, "%s, %s to %s", what, flag->min, flag->max);
    } else if (flag->min) {
        snprintf(text, size, "%s of at least %s", what, flag->min);
    } else if (flag->max) {
        snprintf(text, size, "%s, at most %s", what, flag->max);
    } else {
        snprintf(text, size, "%s", what);
    }
}

static bool flag_parse_any(int64_t *out, enum flag_type type, const char *text)
{
    switch (type) {
    case FLAG_DURATION:
        return parse_duration(out, text);
    case FLAG_TIME:
        return parse_time(out, text);
    default:
        return parse_number(out, text);
    }
}

bool flag_parse(int64_t *out, const struct flag *flag, const char *text)
{
    int64_t value = 0;
    int64_t min = INT64_MIN;
    int64_t max = INT64_MAX;

    if (!flag_parse_any(&value, flag->type, text) ||
        (flag->min && !flag_parse_any(&min, flag->type, flag->min)) ||
        (flag->max && !flag_parse_any(&max, flag->type, flag->max))) {
        return false;
    }
    if (value < min || value > max) {
        return false;
    }
    *out = value;
    return true;
}

static enum exit_code flags_read_amount(struct flag_value *out, const struct flag *flag,
                                        const char *text)
{
    char range[192];

    if (flag_parse(&out->value, flag, text)) {
        out->given = true;
        return EXIT_DONE;
    }
    flags_range_text(range, sizeof(range), flag);
    return say_error(EXIT_USAGE, "--%s \"%s\" cannot be used; give %s", flag->name, text, range);
}

/* Amounts that are not given have the value of their fallback. */
static void flags_set_fallbacks(const struct flag_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct flag *flag = &set->flags[i];
        if (flag->fallback && flag->type != FLAG_OPTION) {
            struct flag_value *value = (void *) ((char *) set->values + flag->offset);
            (void) flag_parse(&value->value, flag, flag->fallback);
        }
    }
}

static enum exit_code flags_set(const struct flag *flag, void *values, const char *text)
{
    void *member = (char *) values + flag->offset;

    switch (flag->type) {
    case FLAG_SWITCH:
        *(bool *) member = true;
        return EXIT_DONE;
    case FLAG_COUNT:
        *(int64_t *) member += 1;
        return EXIT_DONE;
    case FLAG_TEXT:
        *(const char **) member = text;
        return EXIT_DONE;
    case FLAG_NUMBER:
    case FLAG_DURATION:
    case FLAG_TIME:
        return flags_read_amount(member, flag, text);
    case FLAG_OPTION:
        return option_apply(member, flag, text);
    case FLAG_PAIR:
        return option_apply_pair(member, flag->set, text);
    case FLAG_HEADER:
        return headers_add(member, flag->name, text);
    }
    return EXIT_DEFECT;
}

static bool flags_is_duration(const struct flag *flag)
{
    return flag->type == FLAG_DURATION ||
           (flag->type == FLAG_OPTION &&
            strcmp(option_info(flag->set, flag->option)->type, "duration") == 0);
}

void flag_say_unit(const char *name, const char *text)
{
    if (parse_lacks_unit(text)) {
        (void) say_error(EXIT_DONE,
                         "--%s %s has no unit and is read as %sms; write the unit, which version "
                         "0.3 will require",
                         name, text, text);
    }
}

enum exit_code flag_apply(const struct flag *flag, void *values, const char *text)
{
    const enum exit_code code = flags_set(flag, values, text);

    if (code == EXIT_DONE && flags_is_duration(flag)) {
        flag_say_unit(flag->name, text);
    }
    return code;
}

/* === Given ============================================================== */

static void flags_given_add(struct flags_given *given, const struct flag *flag, void *values,
                            const char *text)
{
    given->given = say_grow(given->given, given->count, sizeof(*given->given));
    given->given[given->count++] =
        (struct flag_given){.flag = flag, .values = values, .text = text};
}

const char *flags_given_find(const struct flags_given *given, const char *name)
{
    const char *found = NULL;

    for (size_t i = 0; i < given->count; i++) {
        const struct flag_given *one = &given->given[i];
        if (strcmp(one->flag->name, name) == 0) {
            found = one->text ? one->text : "";
        }
    }
    return found;
}

enum exit_code flags_given_apply(const struct flags_given *given)
{
    enum exit_code code = EXIT_DONE;

    for (size_t i = 0; i < given->count && code == EXIT_DONE; i++) {
        code = flag_apply(given->given[i].flag, given->given[i].values, given->given[i].text);
    }
    return code;
}

void flags_given_fini(struct flags_given *given)
{
    free(given->given);
    *given = (struct flags_given){.count = 0};
}

/* === Reading ============================================================ */

/* getopt accepts the beginning of a long name; a name that is not whole would change its meaning
 * with the next flag that is added. */
static bool flags_is_abbreviated(const struct flag *flag, const char *typed)
{
    return strncmp(typed, "--", 2) == 0 && strcspn(typed + 2, "=") != strlen(flag->name);
}

/* One result of getopt: `typed` is the argument it looked at. */
static enum exit_code flags_take(const struct reader *reader, int code, const char *typed,
                                 struct words *words)
{
    const struct flag_set *set = NULL;

    if (code == 1) {
        words->word[words->count++] = optarg;
        return EXIT_DONE;
    }
    if (code == '?' || code == ':') {
        return flags_say_refused(reader, code, typed, words->count);
    }
    const struct flag *flag = reader_find(reader, code, &set);
    if (!flag || flags_is_abbreviated(flag, typed)) {
        return flags_say_unknown(reader, typed, words->count);
    }
    if (set->given) {
        flags_given_add(set->given, flag, set->values, optarg);
        return EXIT_DONE;
    }
    return flag_apply(flag, set->values, optarg);
}

enum exit_code flags_read(struct words *words, const struct flag_set *sets, size_t set_count,
                          const struct flags_verb *verb, int argc, char **argv)
{
    struct reader reader;

    for (size_t i = 0; i < set_count; i++) {
        flags_set_fallbacks(&sets[i]);
    }
    reader_init(&reader, sets, set_count, verb);
    *words = (struct words){.word = say_alloc((size_t) argc + 1, sizeof(char *))};
    opterr = 0;
    optind = 0; /* glibc: begin anew */
    for (;;) {
        const char *typed = argv[optind > 0 ? optind : 1];
        const int code = getopt_long(argc, argv, reader.letters, reader.options, NULL);
        if (code == -1) {
            break;
        }
        const enum exit_code taken = flags_take(&reader, code, typed, words);
        if (taken != EXIT_DONE) {
            words_fini(words);
            return taken;
        }
    }
    if (!verb) {
        for (int i = optind; i < argc; i++) {
            words->word[words->count++] = argv[i];
        }
    } else if (strcmp(argv[optind - 1], "--") == 0) {
        words->tail = argv + optind;
    }
    return EXIT_DONE;
}

void words_fini(struct words *words)
{
    free(words->word);
    *words = (struct words){0};
}
