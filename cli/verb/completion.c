/* completion.c - what a shell offers for the word at its cursor, from the table of verbs, and the
 * scripts that ask for it. */
#include "cli/verb/completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/say.h"
#include "cli/verb/config.h"
#include "cli/verb/option.h"
#include "completions.h" /* the scripts of cli/completion */

/* What the words before the cursor say of its place. */
struct place {
    const struct verb *const *all;
    char *name[2]; /* of the verb, so far */
    size_t name_count;
    const struct verb *verb; /* NULL: its name is not whole, or unknown */
    const struct flag *flag; /* the word is its operand; NULL: it is none */
    const char *config;      /* of --config; NULL: it was not given */
    bool tail;               /* "--" came before */
};

/* === Where ============================================================== */

/* The flag of the verb, or a global one, that is written as this word of `length`. */
static const struct flag *completion_find_flag(const struct verb *verb, const char *word,
                                               size_t length)
{
    const struct flag *const tables[] = {verb ? verb->flags : NULL, global_flags};
    const size_t counts[] = {verb ? verb->flag_count : 0, global_flag_count};

    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < counts[t]; i++) {
            const struct flag *flag = &tables[t][i];
            const bool is_short = length == 2 && flag->letter != 0 && word[1] == flag->letter;
            const bool is_long = strncmp(word, "--", 2) == 0 && strlen(flag->name) == length - 2 &&
                                 strncmp(flag->name, word + 2, length - 2) == 0;
            if (is_short || is_long) {
                return flag;
            }
        }
    }
    return NULL;
}

static void completion_read_name(struct place *place, char *word)
{
    size_t used = 0;
    bool group = false;

    if (place->verb || place->name_count == 2) {
        return;
    }
    place->name[place->name_count++] = word;
    place->verb = verb_find(place->all, &used, &group, place->name, place->name_count);
    if (place->verb == &help_verb) { /* the name of a verb follows */
        place->verb = NULL;
        place->name_count = 0;
    }
}

static void completion_read(struct place *place, char *const *words, size_t count)
{
    for (size_t i = 0; i < count && !place->tail; i++) {
        if (place->flag) {
            if (strcmp(place->flag->name, "config") == 0) {
                place->config = words[i];
            }
            place->flag = NULL;
        } else if (strcmp(words[i], "--") == 0) {
            place->tail = true;
        } else if (strncmp(words[i], "--config=", strlen("--config=")) == 0) {
            place->config = words[i] + strlen("--config=");
        } else if (words[i][0] == '-') {
            place->flag = completion_find_flag(place->verb, words[i], strlen(words[i]));
            place->flag = place->flag && place->flag->operand ? place->flag : NULL;
        } else {
            completion_read_name(place, words[i]);
        }
    }
}

/* === What =============================================================== */

/* Words "a|b", each behind the first `length` bytes of `before`. */
static void completion_print_choices(const char *choices, const char *before, size_t length)
{
    for (const char *end = choices; *end != '\0'; choices = end + 1) {
        end = choices + strcspn(choices, "|");
        printf("%.*s%.*s\t\n", (int) length, before, (int) (end - choices), choices);
    }
}

static bool completion_print_key(const smq_option_info *info, void *user)
{
    (void) user;
    if (info->set == SMQ_OPTION_SET_CLIENT) {
        printf("%s=\t%s\n", info->name, info->text);
    }
    return true;
}

/* The contexts of the configuration file, each behind the first `length` bytes of `before`. */
static void completion_print_contexts(const struct place *place, const char *before, size_t length)
{
    struct config config;

    if (config_read(&config, place->config, place->all) == EXIT_DONE) {
        for (size_t i = 0; i < config.context_count; i++) {
            printf("%.*s%s\t\n", (int) length, before, config.contexts[i]);
        }
    }
    config_fini(&config);
}

/* The operand of a flag; `typed` holds --flag= before it in its first `length` bytes. */
static void completion_print_operand(const struct place *place, const struct flag *flag,
                                     const char *typed, size_t length)
{
    if (strcmp(flag->name, "context") == 0) {
        completion_print_contexts(place, typed, length);
    } else if (flag->type == FLAG_PAIR) {
        if (!strchr(typed + length, '=')) {
            smq_option_each(completion_print_key, NULL);
        }
    } else if (strcmp(flag->operand, "FILE") == 0) {
        puts("@file");
    } else if (flag->type == FLAG_OPTION) {
        const char *type = option_info(flag->set, flag->option)->type;
        if (strchr(type, '|')) {
            completion_print_choices(type, typed, length);
        }
    }
}

static void completion_print_flags(const struct flag *flags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *help = option_help(&flags[i]);
        if (flags[i].letter != 0) {
            printf("-%c\t%s\n", flags[i].letter, help);
        }
        printf("--%s\t%s\n", flags[i].name, help);
        free(help);
    }
}

/* The first words of verbs, or the second ones of a group. */
static void completion_print_names(const struct verb *const *all, const char *group)
{
    for (size_t i = 0; all[i]; i++) {
        const char *name = all[i]->name;
        const size_t first = strcspn(name, " ");
        const bool is_group = name[first] != '\0';
        if (group && is_group && strlen(group) == first && strncmp(group, name, first) == 0) {
            printf("%s\t%s\n", name + first + 1, all[i]->summary);
        } else if (!group && (i == 0 || strncmp(all[i - 1]->name, name, first + 1) != 0)) {
            printf("%.*s\t%s\n", (int) first, name,
                   is_group ? "verbs of two words" : all[i]->summary);
        }
    }
}

static void completion_print_word(const struct place *place, const char *typed)
{
    const struct verb *verb = place->verb;

    if (typed[0] == '-') {
        completion_print_flags(verb ? verb->flags : NULL, verb ? verb->flag_count : 0);
        completion_print_flags(global_flags, global_flag_count);
    } else if (!verb && place->name_count < 2) {
        completion_print_names(place->all, place->name_count > 0 ? place->name[0] : NULL);
    } else if (verb && strchr(verb->operands, '|')) {
        completion_print_choices(verb->operands, "", 0);
    }
}

enum exit_code completion_answer(const struct verb *const *all, char *const *words, size_t count)
{
    struct place place = {.all = all};
    const char *typed = count > 0 ? words[count - 1] : "";
    const size_t length = strcspn(typed, "=");
    const struct flag *flag = NULL;

    completion_read(&place, words, count > 0 ? count - 1 : 0);
    if (typed[0] == '-' && typed[length] == '=') {
        flag = completion_find_flag(place.verb, typed, length);
    }
    if (place.tail) {
        fputs(place.verb && place.verb->takes_program ? "@program\n" : "", stdout);
    } else if (place.flag) {
        completion_print_operand(&place, place.flag, typed, 0);
    } else if (flag && flag->operand) {
        completion_print_operand(&place, flag, typed, length + 1);
    } else {
        completion_print_word(&place, typed);
    }
    return EXIT_DONE;
}

/* === The verb =========================================================== */

static enum exit_code completion_run(const struct command *command)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {{"bash", COMPLETION_BASH}, {"zsh", COMPLETION_ZSH}, {"fish", COMPLETION_FISH}};

    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        if (strcmp(command->words[0], scripts[i].shell) == 0) {
            fputs(scripts[i].script, stdout);
            return EXIT_DONE;
        }
    }
    return say_error(EXIT_USAGE, "there is no completion for \"%s\"; give bash, zsh or fish",
                     command->words[0]);
}

const struct verb completion_verb = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "print the completion script of a shell",
    .text = "Packages install it. Otherwise, in the file that the shell reads when it starts:\n"
            "bash:   source <(slotmq completion bash)\n"
            "zsh:    source <(slotmq completion zsh)\n"
            "fish:   slotmq completion fish | source\n",
    .min_words = 1,
    .max_words = 1,
    .run = completion_run,
};
