/* help.c - help texts, made from the tables of verbs and flags. */
#include "help.h"

#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "say.h"

/* Where the second column of verbs and flags begins. */
#define VERB_WIDTH 14
#define FLAG_WIDTH 28
/* Where lines end at the latest. */
#define LINE_WIDTH 100

/* The text from the column `left` on, and the next lines as well. */
static void print_wrapped(FILE *out, const char *text, int left)
{
    int column = left;

    while (*text != '\0') {
        const int word = (int) strcspn(text, " ");
        if (column > left && column + 1 + word > LINE_WIDTH) {
            fprintf(out, "\n%*s", left, "");
            column = left;
        } else if (column > left) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", word, text);
        column += word;
        text += word;
        text += *text == ' ' ? 1 : 0;
    }
    fputc('\n', out);
}

static void print_flags(FILE *out, const struct flag *flags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char left[64];
        char letter[8] = "    ";
        char *help = flags[i].help ? NULL : option_help(option_info(flags[i].set, flags[i].option));
        if (flags[i].letter != 0) {
            snprintf(letter, sizeof(letter), "-%c, ", flags[i].letter);
        }
        snprintf(left, sizeof(left), "%s--%s%s%s", letter, flags[i].name,
                 flags[i].operand ? " " : "", flags[i].operand ? flags[i].operand : "");
        fprintf(out, "  %-*s  ", FLAG_WIDTH, left);
        print_wrapped(out, help ? help : (flags[i].help ? flags[i].help : ""), FLAG_WIDTH + 4);
        free(help);
    }
}

static void print_verbs(FILE *out, const char *group)
{
    for (size_t i = 0; verbs[i]; i++) {
        const size_t length = group ? strlen(group) : 0;
        const bool member = !group || (strncmp(verbs[i]->name, group, length) == 0 &&
                                       verbs[i]->name[length] == ' ');
        if (member) {
            fprintf(out, "  %-*s  %s\n", VERB_WIDTH, verbs[i]->name, verbs[i]->summary);
        }
    }
}

void help_overview(FILE *out, const char *group)
{
    fprintf(out, "Usage: slotmq [-r REDIS] [-z ZOOKEEPER] [-X KEY=VALUE] [--json] %s%sVERB ...\n\n",
            group ? group : "", group ? " " : "");
    if (!group) {
        fputs("Message queues in Redis Cluster, one owner per slot.\n\n", out);
    }
    fputs("Verbs:\n", out);
    print_verbs(out, group);
    fputs("\nGlobal flags, before or after the verb:\n", out);
    print_flags(out, global_flags, global_flag_count);
    if (!group) {
        fputs("\nExamples:\n"
              "  slotmq topic create mail --type range_merge --delay 5s\n"
              "  slotmq send mail 'to=ann' --key ann\n"
              "  slotmq consume mail -- ./deliver\n"
              "  slotmq stat\n",
              out);
    }
    fputs("\nslotmq VERB --help tells more about a verb.\n", out);
}

void help_on_verb(FILE *out, const struct verb *verb)
{
    fprintf(out, "slotmq %s: %s\n\nUsage: slotmq %s%s%s%s%s\n", verb->name, verb->summary,
            verb->name, verb->operands[0] != '\0' ? " " : "", verb->operands,
            verb->flag_count > 0 ? " [flags]" : "", verb->takes_program ? " [-- CMD ARG...]" : "");
    if (verb->text) {
        fprintf(out, "\n%s\n", verb->text);
    }
    if (verb->flag_count > 0) {
        fputs("\nFlags:\n", out);
        print_flags(out, verb->flags, verb->flag_count);
    }
    fputs("\nGlobal flags:\n", out);
    print_flags(out, global_flags, global_flag_count);
}

static enum exit_code help_run(const struct command *command)
{
    size_t used = 0;
    bool group = false;
    const struct verb *verb = verb_find(&used, &group, command->words, command->word_count);

    if (command->word_count == 0) {
        help_overview(stdout, NULL);
    } else if (verb && used == command->word_count) {
        help_on_verb(stdout, verb);
    } else if (group && command->word_count == 1) {
        help_overview(stdout, command->words[0]);
    } else {
        return verb_say_unknown(command->words, command->word_count);
    }
    return EXIT_DONE;
}

const struct verb help_verb = {
    .name = "help",
    .operands = "[VERB]",
    .summary = "help on all verbs, or on one",
    .max_words = 2,
    .run = help_run,
};
