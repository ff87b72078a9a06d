/* fill.c - writes what is made from the table of verbs: completions, and the synopsis of the manual
 * page.  It copies a template; a line of the template that ends in @NAME@ is replaced by the text
 * of that name.
 *
 * usage: fill TEMPLATE
 *
 * It runs while slotmq is built, so the command itself has no verb for this. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option.h"
#include "cli/verbs.h"

static size_t fill_first_word(const char *name)
{
    return strcspn(name, " ");
}

/* Is this verb the first of the table with its first word? */
static bool fill_begins_group(size_t index)
{
    const size_t length = fill_first_word(verbs[index]->name);

    return index == 0 || fill_first_word(verbs[index - 1]->name) != length ||
           strncmp(verbs[index - 1]->name, verbs[index]->name, length) != 0;
}

static bool fill_is_group(const struct verb *verb)
{
    return verb->name[fill_first_word(verb->name)] != '\0';
}

/* The words that the operand of a flag may be, as "a|b"; NULL: any text. */
static const char *fill_choices(const struct flag *flag)
{
    const char *type =
        flag->type == FLAG_OPTION ? option_info(flag->set, flag->option)->type : NULL;

    return type && strchr(type, '|') ? type : NULL;
}

static bool fill_is_file(const struct flag *flag)
{
    return flag->operand && strcmp(flag->operand, "FILE") == 0;
}

/* Prints `format`, in which %s is a text that may hold any letters, between single quotes. */
static void fill_quote(const char *text, const char *escaped, const char *quote)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs(quote, stdout);
        } else {
            printf("%s%c", strchr(escaped, *text) ? "\\" : "", *text);
        }
    }
}

/* Words "a|b" with `between` them. */
static void fill_words(const char *words, char between)
{
    for (; *words != '\0'; words++) {
        putchar(*words == '|' ? between : *words);
    }
}

struct keys {
    const char *before, *after;
};

static bool fill_key(const smq_option_info *info, void *user)
{
    const struct keys *keys = user;

    if (info->set == SMQ_OPTION_SET_CLIENT) {
        printf("%s%s%s", keys->before, info->name, keys->after);
    }
    return true;
}

/* The names of the options of a client. */
static void fill_keys(const char *before, const char *after)
{
    struct keys keys = {before, after};

    smq_option_each(fill_key, &keys);
}

/* === bash =============================================================== */

/* Each flag as a word: --switch, --flag= with any operand, --flag=a|b, --flag=@file, --flag=@keys.
 */
static void fill_bash_flag(const struct flag *flag, const char *name)
{
    const char *choices = fill_choices(flag);

    printf(" %s", name);
    if (!flag->operand) {
        return;
    }
    printf("=%s", choices ? choices : "");
    if (fill_is_file(flag) || flag->type == FLAG_PAIR) {
        fputs(flag->type == FLAG_PAIR ? "@keys" : "@file", stdout);
    }
}

static void fill_bash_flags(const struct flag *flags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[64] = {'-', flags[i].letter, '\0'};
        if (flags[i].letter != 0) {
            fill_bash_flag(&flags[i], name);
        }
        snprintf(name, sizeof(name), "--%s", flags[i].name);
        fill_bash_flag(&flags[i], name);
    }
}

static void fill_bash(void)
{
    fputs("    '') echo '", stdout);
    fill_bash_flags(global_flags, global_flag_count);
    fputs("' ;;\n", stdout);
    for (size_t i = 0; verbs[i]; i++) {
        printf("    '%s') echo '", verbs[i]->name);
        fill_bash_flags(verbs[i]->flags, verbs[i]->flag_count);
        fputs(verbs[i]->takes_program ? " --" : "", stdout);
        fputs("' ;;\n", stdout);
    }
}

/* Each first word with the second words that may follow it. */
static void fill_bash_words(void)
{
    for (size_t i = 0; verbs[i]; i++) {
        const int length = (int) fill_first_word(verbs[i]->name);
        if (fill_begins_group(i)) {
            printf("%s    [%.*s]='", i == 0 ? "" : "'\n", length, verbs[i]->name);
        }
        printf("%s", fill_is_group(verbs[i]) ? verbs[i]->name + length : "");
    }
    fputs("'\n", stdout);
}

static void fill_bash_keys(void)
{
    fputs("    echo '", stdout);
    fill_keys(" ", "=");
    fputs("'\n", stdout);
}

/* === zsh ================================================================ */

static void fill_zsh_text(const char *text)
{
    fill_quote(text, "[]:\\", "'\\''");
}

/* '--name[help]:operand:action', with a letter also '(-l --name)'{-l,--name}'[...'. */
static void fill_zsh_flag(const struct flag *flag, const char *indent)
{
    char *help = option_help(flag);
    const char *choices = fill_choices(flag);
    const char *many = flag->type == FLAG_COUNT || flag->type == FLAG_PAIR ? "*" : "";

    if (flag->letter != 0 && many[0] == '\0') {
        printf("%s'(-%c --%s)'{-%c,--%s=}'[", indent, flag->letter, flag->name, flag->letter,
               flag->name);
    } else if (flag->letter != 0) {
        printf("%s'*'{-%c,--%s}'[", indent, flag->letter, flag->name);
    } else {
        printf("%s'--%s%s[", indent, flag->name, flag->operand ? "=" : "");
    }
    fill_zsh_text(help);
    putchar(']');
    if (flag->operand) {
        printf(":%s:", flag->operand);
        if (choices) {
            putchar('(');
            fill_words(choices, ' ');
            putchar(')');
        }
        fputs(fill_is_file(flag) ? "_files" : flag->type == FLAG_PAIR ? "->key" : "", stdout);
    }
    fputs("'\n", stdout);
    free(help);
}

static void fill_zsh_globals(void)
{
    for (size_t i = 0; i < global_flag_count; i++) {
        fill_zsh_flag(&global_flags[i], "    ");
    }
}

static void fill_zsh(void)
{
    for (size_t i = 0; verbs[i]; i++) {
        printf("    '%s')\n        flags=(\n", verbs[i]->name);
        for (size_t f = 0; f < verbs[i]->flag_count; f++) {
            fill_zsh_flag(&verbs[i]->flags[f], "            ");
        }
        printf("        )\n        %s;;\n", verbs[i]->takes_program ? "program=1 " : "");
    }
}

/* 'word:summary' of the verbs that consist of one word, and of each group of verbs. */
static void fill_zsh_first(void)
{
    for (size_t i = 0; verbs[i]; i++) {
        const int length = (int) fill_first_word(verbs[i]->name);
        if (fill_begins_group(i)) {
            printf("    '%.*s:", length, verbs[i]->name);
            fill_zsh_text(fill_is_group(verbs[i]) ? "verbs of two words" : verbs[i]->summary);
            fputs("'\n", stdout);
        }
    }
}

static void fill_zsh_second(void)
{
    for (size_t i = 0; verbs[i]; i++) {
        const int length = (int) fill_first_word(verbs[i]->name);
        if (!fill_is_group(verbs[i])) {
            continue;
        }
        if (fill_begins_group(i)) {
            printf("    %.*s)\n        second=(\n", length, verbs[i]->name);
        }
        printf("            '%s:", verbs[i]->name + length + 1);
        fill_zsh_text(verbs[i]->summary);
        fputs("'\n", stdout);
        if (!verbs[i + 1] || fill_begins_group(i + 1)) {
            fputs("        )\n        ;;\n", stdout);
        }
    }
}

static void fill_zsh_keys(void)
{
    fill_keys("    ", "\n");
}

/* === fish =============================================================== */

static void fill_fish_text(const char *text)
{
    fill_quote(text, "\\", "\\'");
}

static void fill_fish_flag(const struct flag *flag, const char *verb)
{
    char *help = option_help(flag);
    const char *choices = fill_choices(flag);

    fputs("complete -c slotmq", stdout);
    if (verb) {
        printf(" -n '__slotmq_is \"%s\"'", verb);
    }
    if (flag->letter != 0) {
        printf(" -s %c", flag->letter);
    }
    printf(" -l %s", flag->name);
    if (flag->operand) {
        fputs(fill_is_file(flag) ? " -r -F" : " -x", stdout);
    }
    if (choices) {
        fputs(" -a '", stdout);
        fill_words(choices, ' ');
        putchar('\'');
    } else if (flag->type == FLAG_PAIR) {
        fputs(" -a '", stdout);
        fill_keys("", "= ");
        putchar('\'');
    }
    fputs(" -d '", stdout);
    fill_fish_text(help);
    fputs("'\n", stdout);
    free(help);
}

static void fill_fish_verb(size_t index)
{
    const struct verb *verb = verbs[index];
    const int length = (int) fill_first_word(verb->name);

    if (fill_begins_group(index)) {
        printf("complete -c slotmq -n '__slotmq_is \"\" help' -a %.*s -d '", length, verb->name);
        fill_fish_text(fill_is_group(verb) ? "verbs of two words" : verb->summary);
        fputs("'\n", stdout);
    }
    if (fill_is_group(verb)) {
        printf("complete -c slotmq -n '__slotmq_is \"%.*s\"' -a %s -d '", length, verb->name,
               verb->name + length + 1);
        fill_fish_text(verb->summary);
        fputs("'\n", stdout);
    }
    for (size_t f = 0; f < verb->flag_count; f++) {
        fill_fish_flag(&verb->flags[f], verb->name);
    }
}

static void fill_fish(void)
{
    for (size_t i = 0; i < global_flag_count; i++) {
        fill_fish_flag(&global_flags[i], NULL);
    }
    for (size_t i = 0; verbs[i]; i++) {
        fill_fish_verb(i);
    }
}

/* The words after which the name of a verb has not ended. */
static void fill_fish_groups(void)
{
    fputs("        case", stdout);
    for (size_t i = 0; verbs[i]; i++) {
        if (fill_begins_group(i) && fill_is_group(verbs[i])) {
            printf(" %.*s", (int) fill_first_word(verbs[i]->name), verbs[i]->name);
        }
    }
    putchar('\n');
}

/* The global flags that take the next word. */
static void fill_fish_operands(void)
{
    fputs("                case", stdout);
    for (size_t i = 0; i < global_flag_count; i++) {
        if (global_flags[i].operand && global_flags[i].letter != 0) {
            printf(" -%c", global_flags[i].letter);
        }
        if (global_flags[i].operand) {
            printf(" --%s", global_flags[i].name);
        }
    }
    putchar('\n');
}

/* === The synopsis of the manual page ==================================== */

static void fill_lower(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        putchar(tolower((unsigned char) text[i]));
    }
}

/* An operand: NAME, or KEY=VALUE. */
static void fill_synopsis_operand(const char *word, size_t length)
{
    const char *equals = memchr(word, '=', length);
    const size_t name = equals ? (size_t) (equals - word) : length;

    fputs("Ar ", stdout);
    fill_lower(word, name);
    if (equals) {
        fputs(" Ns = Ns Ar ", stdout);
        fill_lower(equals + 1, length - name - 1);
    }
}

/* The operands of a verb: NAME, [NAME], --flag OPERAND. */
static void fill_synopsis_operands(const char *words)
{
    while (*words != '\0') {
        size_t length = strcspn(words, " ");
        const char *next = words + length + strspn(words + length, " ");
        if (strncmp(words, "--", 2) == 0) {
            printf(".Fl %.*s ", (int) length - 1, words + 1);
            words = next;
            length = strcspn(words, " ");
            next = words + length + strspn(words + length, " ");
            fill_synopsis_operand(words, length);
        } else if (words[0] == '[') {
            fputs(".Op ", stdout);
            fill_synopsis_operand(words + 1, length - 2);
        } else {
            putchar('.');
            fill_synopsis_operand(words, length);
        }
        putchar('\n');
        words = next;
    }
}

static void fill_synopsis_flag(const struct flag *flag)
{
    if (flag->letter != 0) {
        printf(".Op Fl %c", flag->letter);
    } else {
        printf(".Op Fl -%s", flag->name);
    }
    if (flag->operand) {
        putchar(' ');
        fill_synopsis_operand(flag->operand, strlen(flag->operand));
    }
    putchar('\n');
}

/* Is this flag one of the operands, because the verb needs it? */
static bool fill_is_operand(const struct verb *verb, const struct flag *flag)
{
    char word[64];

    snprintf(word, sizeof(word), "--%s ", flag->name);
    return strstr(verb->operands, word) != NULL;
}

static void fill_synopsis_of(const struct verb *verb)
{
    printf(".Nm\n.Cm %s\n", verb->name);
    fill_synopsis_operands(verb->operands);
    for (size_t i = 0; i < verb->flag_count; i++) {
        if (!fill_is_operand(verb, &verb->flags[i])) {
            fill_synopsis_flag(&verb->flags[i]);
        }
    }
    if (verb->takes_program) {
        fputs(".Op Fl - Ar cmd Ar arg ...\n", stdout);
    }
}

static void fill_synopsis(void)
{
    fputs(".Nm\n", stdout);
    for (size_t i = 0; i < global_flag_count; i++) {
        fill_synopsis_flag(&global_flags[i]);
    }
    fputs(".Ar verb\n.Op Ar flags\n", stdout);
    for (size_t i = 0; verbs[i]; i++) {
        fill_synopsis_of(verbs[i]);
    }
}

/* === Templates ========================================================== */

static const struct {
    const char *name;
    void (*print)(void);
} texts[] = {
    {"@bash-flags@\n", fill_bash},
    {"@bash-words@\n", fill_bash_words},
    {"@bash-keys@\n", fill_bash_keys},
    {"@zsh-global@\n", fill_zsh_globals},
    {"@zsh-flags@\n", fill_zsh},
    {"@zsh-first@\n", fill_zsh_first},
    {"@zsh-second@\n", fill_zsh_second},
    {"@zsh-keys@\n", fill_zsh_keys},
    {"@fish-lines@\n", fill_fish},
    {"@fish-groups@\n", fill_fish_groups},
    {"@fish-operands@\n", fill_fish_operands},
    {"@synopsis@\n", fill_synopsis},
};

static void fill_line(const char *line)
{
    const size_t length = strlen(line);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const size_t name = strlen(texts[i].name);
        if (length >= name && strcmp(line + length - name, texts[i].name) == 0) {
            texts[i].print();
            return;
        }
    }
    fputs(line, stdout);
}

int main(int argc, char **argv)
{
    FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
    char *line = NULL;
    size_t size = 0;

    if (!in) {
        fprintf(stderr, "usage: fill TEMPLATE\n");
        return 64;
    }
    while (getline(&line, &size, in) > 0) {
        fill_line(line);
    }
    free(line);
    fclose(in);
    return fflush(stdout) == 0 ? 0 : 1;
}
