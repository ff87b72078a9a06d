/* option.c - options of the library as flags and as KEY=VALUE. */
#include "option.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

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

/* Of these defaults the text itself tells, or nothing needs to be told. */
static bool option_default_is_plain(const char *value)
{
    return value[0] == '\0' || strcmp(value, "none") == 0 || strcmp(value, "false") == 0;
}

/* The words "a|b|c" of an option as "a, b or c", or its range; "" when there is nothing to say. */
static void option_values_text(char *text, size_t size, const smq_option_info *info)
{
    const char *word = info->type;
    size_t used = 0;

    snprintf(text, size, "%s", info->range);
    if (!strchr(word, '|') || strcmp(word, "false|true") == 0) {
        return;
    }
    for (;; word++) {
        const size_t length = strcspn(word, "|");
        const char *before = used == 0 ? "" : word[length] == '\0' ? " or " : ", ";
        used += (size_t) snprintf(text + used, size - used, "%s%.*s", before, (int) length, word);
        word += length;
        if (*word == '\0' || used >= size) {
            return;
        }
    }
}

char *option_help(const smq_option_info *info)
{
    char values[128];
    char *line = NULL;

    if (!info) {
        return NULL;
    }
    const int length = (int) strlen(info->text) - 1; /* without the full stop */
    const bool plain = option_default_is_plain(info->default_value);
    option_values_text(values, sizeof(values), info);
    if (asprintf(&line, "%.*s%s%s%s%s", length, info->text, values[0] != '\0' ? "; " : "", values,
                 plain ? "" : "; default ", plain ? "" : info->default_value) < 0) {
        say_no_memory();
    }
    line[0] = (char) tolower((unsigned char) line[0]);
    return line;
}
