/* option.c - options of the library as flags and as KEY=VALUE. */
#include "cli/verb/option.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/text/say.h"

/* Longer than the name of any option. */
#define NAME_SIZE 64

struct search {
    smq_option_set set;
    const char *name;
    const smq_option_info *found;
};

static bool option_compare(const smq_option_info *info, void *user)
{
    struct search *search = user;

    if (info->set == search->set && strcmp(info->name, search->name) == 0) {
        search->found = info;
    }
    return search->found == NULL;
}

const smq_option_info *option_info(smq_option_set set, const char *name)
{
    struct search search = {.set = set, .name = name};

    smq_option_each(option_compare, &search);
    return search.found;
}

enum exit_code option_apply(void *options, const struct flag *flag, const char *text)
{
    const size_t length = strlen(flag->option);
    smq_error err;

    if (smq_option_parse(options, flag->set, flag->option, text ? text : "true", &err) == SMQ_OK) {
        return EXIT_DONE;
    }
    if (strncmp(err.text, flag->option, length) == 0) {
        return say_error(EXIT_USAGE, "--%s%s", flag->name, err.text + length);
    }
    return say_failure(&err);
}

enum exit_code option_apply_pair(void *options, smq_option_set set, const char *pair)
{
    const char *equals = strchr(pair, '=');
    char name[NAME_SIZE];
    smq_error err;

    if (!equals) {
        return say_error(EXIT_USAGE, "\"%s\" sets no option; give KEY=VALUE", pair);
    }
    snprintf(name, sizeof(name), "%.*s", (int) (equals - pair), pair);
    if (smq_option_parse(options, set, name, equals + 1, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    return EXIT_DONE;
}

void option_apply_default(void *options, smq_option_set set, const char *name)
{
    const smq_option_info *info = option_info(set, name);

    (void) smq_option_parse(options, set, name, info->default_value, NULL);
}

bool option_takes(void *scratch, smq_option_set set, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    return smq_option_parse(scratch, set, name, text, NULL) == SMQ_OK;
}

/* === Help =============================================================== */

/* Is this a default that the help need not name? */
static bool option_default_is_plain(const char *value)
{
    return strcmp(value, "none") == 0 || strcmp(value, "false") == 0;
}

/* The words "a|b|c" as "a, b or c". */
static void option_words_text(char *text, size_t size, const char *words)
{
    size_t used = 0;

    for (const char *word = words; used < size; word++) {
        const size_t length = strcspn(word, "|");
        const char *before = used == 0 ? "" : word[length] == '\0' ? " or " : ", ";
        used += (size_t) snprintf(text + used, size - used, "%s%.*s", before, (int) length, word);
        word += length;
        if (*word == '\0') {
            return;
        }
    }
}

static void option_values_of_info(struct option_values *out, const smq_option_info *info)
{
    if (strchr(info->type, '|') && strcmp(info->type, "false|true") != 0) {
        option_words_text(out->range, sizeof(out->range), info->type);
    } else {
        snprintf(out->range, sizeof(out->range), "%s", info->range);
    }
    if (out->fallback[0] == '\0' && !option_default_is_plain(info->default_value)) {
        out->fallback = info->default_value;
    }
}

void option_values(struct option_values *out, const struct flag *flag)
{
    *out = (struct option_values){.fallback = flag->fallback ? flag->fallback : ""};
    if (flag->type == FLAG_OPTION) {
        option_values_of_info(out, option_info(flag->set, flag->option));
    } else if (flag->min && flag->max) {
        snprintf(out->range, sizeof(out->range), "%s .. %s", flag->min, flag->max);
    }
}

char *option_help(const struct flag *flag)
{
    const char *text = flag->help ? flag->help : option_info(flag->set, flag->option)->text;
    const size_t length = strlen(text);
    const bool stop = length > 0 && text[length - 1] == '.';
    struct option_values values;
    char *line = NULL;

    option_values(&values, flag);
    if (asprintf(&line, "%.*s%s%s%s%s", (int) (length - (stop ? 1 : 0)), text,
                 values.range[0] != '\0' ? "; " : "", values.range,
                 values.fallback[0] != '\0' ? "; default " : "", values.fallback) < 0) {
        say_no_memory();
    }
    if (!flag->help) {
        line[0] = (char) tolower((unsigned char) line[0]); /* the library writes sentences */
    }
    return line;
}
