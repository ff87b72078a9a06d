/* help.c - help texts, made from the tables of verbs and flags. */
#include "cli/verb/help.h"

#include <stdlib.h>
#include <string.h>

#include "cli/text/output.h"
#include "cli/verb/option.h"

/* Where the second column of verbs and flags begins. */
#define VERB_WIDTH 17
#define FLAG_WIDTH 28
/* Lines end at the edge of the terminal, within these. */
#define LINE_LEAST 40
#define LINE_MOST  100
/* More than a summary or a usage line has. */
#define LINE_SIZE 256

static int help_line_width(void)
{
    const size_t columns = output_columns();

    return columns < LINE_LEAST ? LINE_LEAST : columns > LINE_MOST ? LINE_MOST : (int) columns;
}

/* One line of text from the column `left` on, and what does not fit below it. */
static void help_print_wrapped(FILE *out, const char *text, int left)
{
    const int width = help_line_width();
    const char *end = text + strcspn(text, "\n");
    int column = left;

    while (text < end) {
        const int word = (int) strcspn(text, " \n");
        if (column > left && column + 1 + word > width) {
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

/* Lines of text; where a line has a wide gap, what follows it is a column of its own. */
static void help_print_text(FILE *out, const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        const char *gap = memmem(text, length, "   ", 3);
        const int left = gap ? (int) (gap - text + (ptrdiff_t) strspn(gap, " ")) : 0;
        fprintf(out, "%.*s", left, text);
        help_print_wrapped(out, text + left, left);
        text += length + (text[length] == '\n' ? 1 : 0);
    }
}

static void help_print_flags(FILE *out, const struct flag *flags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char left[64];
        char letter[8] = "    ";
        char *help = option_help(&flags[i]);
        if (flags[i].letter != 0) {
            snprintf(letter, sizeof(letter), "-%c, ", flags[i].letter);
        }
        snprintf(left, sizeof(left), "%s--%s%s%s", letter, flags[i].name,
                 flags[i].operand ? " " : "", flags[i].operand ? flags[i].operand : "");
        fprintf(out, "  %-*s  ", FLAG_WIDTH, left);
        help_print_wrapped(out, help, FLAG_WIDTH + 4);
        free(help);
    }
}

static void help_print_verbs(FILE *out, const struct verb *const *all, const char *group)
{
    for (size_t i = 0; all[i]; i++) {
        const size_t length = group ? strlen(group) : 0;
        const bool member =
            !group || (strncmp(all[i]->name, group, length) == 0 && all[i]->name[length] == ' ');
        if (member) {
            fprintf(out, "  %-*s  ", VERB_WIDTH, all[i]->name);
            help_print_wrapped(out, all[i]->summary, VERB_WIDTH + 4);
        }
    }
}

void help_overview(FILE *out, const struct verb *const *all, const char *group)
{
    char usage[LINE_SIZE];

    snprintf(usage, sizeof(usage),
             "Usage: slotmq [-r REDIS] [-z ZOOKEEPER] [-X KEY=VALUE] [--json] %s%sVERB ...",
             group ? group : "", group ? " " : "");
    help_print_wrapped(out, usage, 0);
    fputc('\n', out);
    if (!group) {
        fputs("Message queues in Redis Cluster, one owner per slot.\n\n", out);
    }
    fputs("Verbs:\n", out);
    help_print_verbs(out, all, group);
    fputs("\nGlobal flags, before or after the verb:\n", out);
    help_print_flags(out, global_flags, global_flag_count);
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
    char line[LINE_SIZE];

    snprintf(line, sizeof(line), "slotmq %s: %s", verb->name, verb->summary);
    help_print_wrapped(out, line, 0);
    fputc('\n', out);
    snprintf(line, sizeof(line), "Usage: slotmq %s%s%s%s%s", verb->name,
             verb->operands[0] != '\0' ? " " : "", verb->operands,
             verb->flag_count > 0 ? " [flags]" : "", verb->takes_program ? " [-- CMD ARG...]" : "");
    help_print_wrapped(out, line, 0);
    if (verb->text) {
        fputc('\n', out);
        help_print_text(out, verb->text);
    }
    if (verb->flag_count > 0) {
        fputs("\nFlags:\n", out);
        help_print_flags(out, verb->flags, verb->flag_count);
    }
    fputs("\nThe global flags, such as -r and --json: slotmq --help\n", out);
}

static enum exit_code help_run(const struct command *command)
{
    size_t used = 0;
    bool group = false;
    const struct verb *verb =
        verb_find(command->verbs, &used, &group, command->words, command->word_count);

    if (command->word_count == 0) {
        help_overview(stdout, command->verbs, NULL);
    } else if (verb && used == command->word_count) {
        help_on_verb(stdout, verb);
    } else if (group && command->word_count == 1) {
        help_overview(stdout, command->verbs, command->words[0]);
    } else {
        return verb_say_unknown(command->verbs, command->words, command->word_count);
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
