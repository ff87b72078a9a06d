/* option_parse.c - options set from text, by their names.
 *
 * Pure. */
#include <string.h>

#include "base/nearest.h"
#include "base/status.h"
#include "model/number.h"
#include "model/option.h"

static const char *const set_names[] = {
    [SMQ_OPTION_SET_CLIENT] = "client",
    [SMQ_OPTION_SET_TOPIC] = "topic",
    [SMQ_OPTION_SET_PRODUCER] = "producer",
    [SMQ_OPTION_SET_CONSUMER] = "consumer",
};

/* === Finding ============================================================ */

static void option_parse_fail_unknown(smq_option_set set, const char *name, smq_error *err)
{
    struct nearest nearest = nearest_to(name);

    for (size_t i = 0; i < option_count; i++) {
        if (option_table[i].info.set == set) {
            nearest_offer(&nearest, option_table[i].info.name);
        }
    }
    if (nearest.best != NULL) {
        (void) status_set(err, SMQ_INVALID, "there is no %s option \"%.60s\"; did you mean \"%s\"?",
                          set_names[set], name, nearest.best);
    } else {
        (void) status_set(err, SMQ_INVALID, "there is no %s option \"%.60s\"", set_names[set],
                          name);
    }
}

const struct option *option_parse_find(smq_option_set set, const char *name, smq_error *err)
{
    const struct option *option;

    if ((int) set < SMQ_OPTION_SET_CLIENT || set > SMQ_OPTION_SET_CONSUMER) {
        (void) status_set(err, SMQ_INVALID, "the set of options is not one of SMQ_OPTION_SET_...");
        return NULL;
    }
    if (name == NULL) {
        (void) status_set(err, SMQ_INVALID, "the name of the option is NULL");
        return NULL;
    }
    option = option_find(set, name);
    if (option == NULL) {
        option_parse_fail_unknown(set, name, err);
    }
    return option;
}

/* === Values ============================================================= */

/* The text is "...; give WHAT, A to B". */
static smq_status option_parse_fail_range(const struct option *option, const char *value,
                                          const char *what, smq_error *err)
{
    static const char dots[] = " .. ";
    const char *range = option->info.range;
    const char *to = strstr(range, dots);
    const int low = to != NULL ? (int) (to - range) : 0;

    return status_set(err, SMQ_INVALID, "%s \"%.60s\" cannot be used; give %s, %.*s%s%s",
                      option->info.name, value, what, low, range, to != NULL ? " to " : "",
                      to != NULL ? to + strlen(dots) : range);
}

static smq_status option_parse_fail_choices(const struct option *option, const char *value,
                                            smq_error *err)
{
    char words[128];

    option_format_words(words, sizeof(words), option, ", ");
    return status_set(err, SMQ_INVALID, "%s \"%.60s\" cannot be used; give one of %s",
                      option->info.name, value, words);
}

static bool option_parse_number(int64_t *out, const struct option *option, const char *value)
{
    switch (option->kind) {
    case OPTION_DURATION:
        return number_parse_duration(out, value, strlen(value), option->max);
    case OPTION_SIZE:
        return number_parse_size(out, value, strlen(value), option->max);
    default:
        return number_parse(out, value, strlen(value), option->max);
    }
}

static const char *option_parse_wanted(const struct option *option)
{
    return option->kind == OPTION_DURATION ? "a duration such as 500ms, 30s or 5m"
           : option->kind == OPTION_SIZE   ? "a size in bytes, or such as 64KiB or 1MiB"
                                           : "a whole number";
}

static smq_status option_parse_read_amount(int64_t *out, const struct option *option,
                                           const char *value, smq_error *err)
{
    if (option->word != NULL && strcmp(option->word, value) == 0) {
        *out = option->word_value;
        return SMQ_OK;
    }
    if (!option_parse_number(out, option, value) || *out < option->min) {
        return option_parse_fail_range(option, value, option_parse_wanted(option), err);
    }
    if (*out == 0 && option->none_name != NULL && option->none == 0) {
        *out = SMQ_NONE; /* 0 would be the default */
    }
    return SMQ_OK;
}

/* === Fields ============================================================= */

/* In a program with an older header the struct is shorter, and may end before the field. */
static smq_status option_parse_check_field(const struct option *option, const void *options,
                                           smq_error *err)
{
    size_t size;

    if (options == NULL) {
        return status_set(err, SMQ_INVALID, "the options are NULL");
    }
    memcpy(&size, options, sizeof(size));
    if (size < option->offset + option->size) {
        return status_set(err, SMQ_INVALID,
                          "struct_size is %zu, too small for %s: begin the struct with its "
                          "SMQ_..._INIT and compile with the header of this library",
                          size, option->info.name);
    }
    return SMQ_OK;
}

smq_status option_parse(void *options, smq_option_set set, const char *name, const char *value,
                        smq_error *err)
{
    const struct option *option = option_parse_find(set, name, err);
    int64_t number = 0;
    smq_status status;

    if (option == NULL) {
        return SMQ_INVALID;
    }
    if (value == NULL) {
        return status_set(err, SMQ_INVALID, "the value of %s is NULL", name);
    }
    status = option_parse_check_field(option, options, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (option->kind == OPTION_STRING) {
        memcpy((char *) options + option->offset, &value, option->size);
        return SMQ_OK;
    }
    if (option->kind == OPTION_CHOICE) {
        status = option_from_word(&number, option, value)
                     ? SMQ_OK
                     : option_parse_fail_choices(option, value, err);
    } else {
        status = option_parse_read_amount(&number, option, value, err);
    }
    if (status == SMQ_OK) {
        option_set(option, options, number);
    }
    return status;
}
