/* option.c - the values of options: stored in their structs, checked, and completed with defaults.
 *
 * Pure. */
#include "model/option.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

const struct option *option_find(smq_option_set set, const char *name)
{
    for (size_t i = 0; i < option_count; i++) {
        if (option_table[i].info.set == set && strcmp(option_table[i].info.name, name) == 0) {
            return &option_table[i];
        }
    }
    return NULL;
}

/* === Fields ============================================================= */

int64_t option_load(const void *field, size_t size)
{
    int64_t wide;
    int32_t narrow;

    if (size == sizeof(bool)) {
        return *(const char *) field != 0;
    }
    if (size == sizeof(narrow)) {
        memcpy(&narrow, field, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, field, sizeof(wide));
    return wide;
}

void option_store(void *field, size_t size, int64_t value)
{
    const int32_t narrow = (int32_t) value;
    const bool flag = value != 0;

    if (size == sizeof(flag)) {
        memcpy(field, &flag, sizeof(flag));
    } else if (size == sizeof(narrow)) {
        memcpy(field, &narrow, sizeof(narrow));
    } else {
        memcpy(field, &value, sizeof(value));
    }
}

int64_t option_get(const struct option *option, const void *options)
{
    return option_load((const char *) options + option->offset, option->size);
}

void option_set(const struct option *option, void *options, int64_t value)
{
    option_store((char *) options + option->offset, option->size, value);
}

/* === Values ============================================================= */

static bool option_is_none(const struct option *option, int64_t given)
{
    return option->none_name != NULL && given == SMQ_NONE;
}

int64_t option_meaning(const struct option *option, const void *options, int64_t given)
{
    if (given == 0) {
        return option->choose != NULL ? option->choose(options) : option->fallback;
    }
    return option_is_none(option, given) ? option->none : given;
}

int64_t option_given(const struct option *option, int64_t meaning)
{
    if (meaning == option->fallback && meaning <= 0) {
        return 0;
    }
    return option->none_name != NULL && meaning == option->none ? SMQ_NONE : meaning;
}

bool option_word(char out[OPTION_WORD_SIZE], const struct option *option, int64_t value)
{
    const char *word = option->info.type;

    if (value < option->min || value > option->max) {
        return false;
    }
    for (int64_t i = option->min; i < value; i++) {
        word += strcspn(word, "|") + 1;
    }
    snprintf(out, OPTION_WORD_SIZE, "%.*s", (int) strcspn(word, "|"), word);
    return true;
}

bool option_from_word(int64_t *out, const struct option *option, const char *word)
{
    char known[OPTION_WORD_SIZE];

    for (int64_t i = option->min; option_word(known, option, i); i++) {
        if (strcmp(known, word) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

void option_format_words(char *out, size_t size, const struct option *option, const char *last)
{
    char word[OPTION_WORD_SIZE];
    size_t used = 0;

    for (int64_t i = option->min; used < size && option_word(word, option, i); i++) {
        const char *between = i == option->min ? "" : i == option->max ? last : ", ";

        used += (size_t) snprintf(out + used, size - used, "%s%s", between, word);
    }
}

/* The text of the values that may be given; 0 is left out unless it is a value like the others. */
static void option_format_range(char *out, size_t size, const struct option *option)
{
    int64_t min = option->min == 0 && option->fallback > 0 ? 1 : option->min;
    const char *only = option->power_of_two ? "a power of two " : "";
    const char *before = option->none_name != NULL ? ", or " : "";
    const char *none = option->none_name != NULL ? option->none_name
                       : option->word != NULL    ? ", or 0 for none"
                                                 : "";

    if (option->max == INT64_MAX) {
        snprintf(out, size, "at least %" PRId64 "%s%s", min, before, none);
    } else {
        snprintf(out, size, "%sfrom %" PRId64 " to %" PRId64 "%s%s", only, min, option->max, before,
                 none);
    }
}

static smq_status option_refuse(const struct option *option, int64_t value, smq_error *err)
{
    char range[128];

    if (option->kind == OPTION_CHOICE) {
        option_format_words(range, sizeof(range), option, " or ");
    } else {
        option_format_range(range, sizeof(range), option);
    }
    return status_set(err, SMQ_INVALID, "%s must be %s, not %" PRId64, option->info.name, range,
                      value);
}

smq_status option_check(const struct option *option, int64_t value, smq_error *err)
{
    bool good = value >= option->min && value <= option->max &&
                (!option->power_of_two || (value & (value - 1)) == 0);

    return good ? SMQ_OK : option_refuse(option, value, err);
}

/* Is the value the one that the word of the option means? */
static bool option_is_word(const struct option *option, const void *options, int64_t value)
{
    return option->word != NULL && value == option_meaning(option, options, option->word_value);
}

smq_status option_format(char *out, size_t size, const struct option *option, const void *options,
                         smq_error *err)
{
    char number[OPTION_WORD_SIZE + 8] = "";
    const char *text = number;
    int64_t value;

    if (option->kind == OPTION_STRING) {
        memcpy(&text, (const char *) options + option->offset, sizeof(text));
        text = text == NULL ? "" : text;
    } else if (option->applies == NULL || option->applies(options)) {
        value = option_get(option, options);
        if (option->kind == OPTION_CHOICE) {
            (void) option_word(number, option, value);
        } else if (option_is_word(option, options, value)) {
            text = option->word;
        } else {
            snprintf(number, sizeof(number), "%" PRId64, value);
        }
    }
    if (out == NULL || strlen(text) >= size) {
        return status_set(err, SMQ_INVALID,
                          "%s has %zu bytes, and there is room for %zu: give a larger size",
                          option->info.name, strlen(text), out == NULL || size == 0 ? 0 : size - 1);
    }
    memcpy(out, text, strlen(text) + 1);
    return SMQ_OK;
}

/* === Structs ============================================================ */

static smq_status option_complete_field(const struct option *option, void *options, smq_error *err)
{
    const char **text = (const char **) (void *) ((char *) options + option->offset);
    int64_t given;
    smq_status status = SMQ_OK;

    if (option->kind == OPTION_STRING) {
        *text = *text == NULL ? option->fallback_text : *text;
        return SMQ_OK;
    }
    given = option_get(option, options);
    if (option->applies != NULL && !option->applies(options)) {
        return given == 0 ? SMQ_OK
                          : status_set(err, SMQ_INVALID, "%s is only for %s", option->info.name,
                                       option->owner);
    }
    if (given == 0 || option_is_none(option, given)) {
        given = option_meaning(option, options, given);
        status = option->kind == OPTION_CHOICE ? option_check(option, given, err) : SMQ_OK;
    } else {
        status = option_check(option, given, err);
    }
    if (status == SMQ_OK) {
        option_set(option, options, given);
    }
    return status;
}

smq_status option_complete_to(void *options, const struct option *last, smq_error *err)
{
    for (const struct option *option = option_table; option != last; option++) {
        if (option->info.set == last->info.set) {
            (void) option_complete_field(option, options, NULL);
        }
    }
    return option_complete_field(last, options, err);
}

smq_status option_complete(void *options, smq_option_set set, smq_error *err)
{
    smq_status status = SMQ_OK;

    for (size_t i = 0; status == SMQ_OK && i < option_count; i++) {
        if (option_table[i].info.set == set) {
            status = option_complete_field(&option_table[i], options, err);
        }
    }
    return status;
}
