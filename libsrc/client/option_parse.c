/* option_parse.c - public entry points: options by name.
 *
 * Pure. */
#include <string.h>

#include "base/nearest.h"
#include "base/status.h"
#include "client/option_table.h"
#include "model/number.h"

static const char *const set_names[] = {
    [SMQ_OPTIONS_CLIENT] = "client",     [SMQ_OPTIONS_TOPIC] = "topic",
    [SMQ_OPTIONS_PRODUCER] = "producer", [SMQ_OPTIONS_WORKER] = "worker",
    [SMQ_OPTIONS_CONSUMER] = "consumer",
};

/* === Finding ============================================================ */

static void option_parse_say_unknown(smq_option_set set, const char *name, smq_error *err)
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

/* NULL: it failed, and `err` says why. */
static const struct option *option_find(smq_option_set set, const char *name, smq_error *err)
{
    if ((int) set < SMQ_OPTIONS_CLIENT || set > SMQ_OPTIONS_CONSUMER) {
        (void) status_set(err, SMQ_INVALID, "the set of options is not one of SMQ_OPTIONS_...");
        return NULL;
    }
    if (name == NULL) {
        (void) status_set(err, SMQ_INVALID, "the name of the option is NULL");
        return NULL;
    }
    for (size_t i = 0; i < option_count; i++) {
        if (option_table[i].info.set == set && strcmp(option_table[i].info.name, name) == 0) {
            return &option_table[i];
        }
    }
    option_parse_say_unknown(set, name, err);
    return NULL;
}

/* === Values ============================================================= */

/* `what` may be: "give WHAT, A to B". */
static smq_status option_parse_say_range(const struct option *option, const char *value,
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

static smq_status option_parse_say_choices(const struct option *option, const char *value,
                                           smq_error *err)
{
    char words[128] = "";
    size_t used = 0;

    for (const char *next = option->info.type; *next != '\0' && used < sizeof(words) - 3; next++) {
        if (*next == '|') {
            words[used++] = ',';
            words[used++] = ' ';
        } else {
            words[used++] = *next;
        }
    }
    words[used] = '\0';
    return status_set(err, SMQ_INVALID, "%s \"%.60s\" cannot be used; give one of %s",
                      option->info.name, value, words);
}

static smq_status option_parse_read_amount(int64_t *out, const struct option *option,
                                           const char *value, smq_error *err)
{
    const bool duration = option->kind == OPTION_DURATION;

    if (option->word != NULL && strcmp(option->word, value) == 0) {
        *out = option->word_value;
        return SMQ_OK;
    }
    if (!(duration ? number_parse_duration : number_parse)(out, value, strlen(value),
                                                           option->max) ||
        *out < option->min) {
        return option_parse_say_range(
            option, value, duration ? "a duration such as 500ms, 30s or 5m" : "a whole number",
            err);
    }
    if (*out == 0) {
        *out = option->zero;
    }
    return SMQ_OK;
}

static smq_status option_parse_read_choice(int64_t *out, const struct option *option,
                                           const char *value, smq_error *err)
{
    const size_t length = strlen(value);
    const char *word = option->info.type;

    *out = option->first;
    while (strcspn(word, "|") != length || strncmp(word, value, length) != 0) {
        word += strcspn(word, "|");
        if (*word == '\0') {
            return option_parse_say_choices(option, value, err);
        }
        word++;
        ++*out;
    }
    return SMQ_OK;
}

/* === Fields ============================================================= */

/* A program with an older header has a shorter struct, which may end before the field. */
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

static void option_parse_store(void *field, size_t size, int64_t value)
{
    if (size == sizeof(bool)) {
        const bool narrow = value != 0;
        memcpy(field, &narrow, size);
    } else if (size == sizeof(int32_t)) {
        const int32_t narrow = (int32_t) value;
        memcpy(field, &narrow, size);
    } else {
        memcpy(field, &value, size);
    }
}

SMQ_API smq_status smq_option_parse(void *options, smq_option_set set, const char *name,
                                    const char *value, smq_error *err)
{
    const struct option *option = option_find(set, name, err);
    int64_t number = 0;

    if (option == NULL) {
        return SMQ_INVALID;
    }
    smq_status status = option_parse_check_field(option, options, err);
    if (value == NULL) {
        return status_set(err, SMQ_INVALID, "the value of %s is NULL", name);
    }
    if (status != SMQ_OK) {
        return status;
    }
    char *field = (char *) options + option->offset;
    if (option->kind == OPTION_STRING) {
        memcpy(field, &value, option->size);
        return SMQ_OK;
    }
    status = option->kind == OPTION_CHOICE ? option_parse_read_choice(&number, option, value, err)
                                           : option_parse_read_amount(&number, option, value, err);
    if (status == SMQ_OK) {
        option_parse_store(field, option->size, number);
    }
    return status;
}

SMQ_API void smq_option_each(smq_option_fn *visit, void *user)
{
    for (size_t i = 0; visit != NULL && i < option_count && visit(&option_table[i].info, user);
         i++) {
    }
}
