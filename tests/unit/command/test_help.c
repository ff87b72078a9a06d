/* test_help.c - the help of each verb names each flag that the verb takes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message/when_flags.h"
#include "cli/text/parse.h"
#include "cli/verb/help.h"
#include "cli/verb/option.h"
#include "cli/verbs.h"
#include "support/group.h"

static char *help_text(const struct verb *verb)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (verb) {
        help_on_verb(out, verb);
    } else {
        help_overview(out, verbs, NULL);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

/* A line of the help begins with the flag and its operand and continues with words. */
static void assert_named(const char *text, const struct flag *flag)
{
    char wanted[80];

    snprintf(wanted, sizeof(wanted), "--%s%s%s  ", flag->name, flag->operand ? " " : "",
             flag->operand ? flag->operand : "");
    wanted[strlen(wanted) - 1] = '\0';
    if (!strstr(text, wanted)) {
        fail_msg("the help does not name \"%s\":\n%s", wanted, text);
    }
    if (!flag->help) {
        assert_int_equal(flag->type, FLAG_OPTION);
        assert_non_null(option_info(flag->set, flag->option));
    }
}

static void test_each_flag_is_in_the_help_of_its_verb(void **state)
{
    for (size_t i = 0; verbs[i]; i++) {
        char *text = help_text(verbs[i]);
        for (size_t f = 0; f < verbs[i]->flag_count; f++) {
            assert_named(text, &verbs[i]->flags[f]);
        }
        free(text);
    }
}

/* Once, in the overview: in the help of a verb the flags of the verb shall be seen. */
static void test_global_flags_are_in_the_overview_alone(void **state)
{
    char *overview = help_text(NULL);

    for (size_t f = 0; f < global_flag_count; f++) {
        assert_named(overview, &global_flags[f]);
    }
    free(overview);
    for (size_t i = 0; verbs[i]; i++) {
        char *text = help_text(verbs[i]);
        assert_null(strstr(text, "--zookeeper ZOOKEEPER"));
        assert_non_null(strstr(text, "slotmq --help"));
        free(text);
    }
}

static void assert_fits(const char *text, size_t columns)
{
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        if (strcspn(line, "\n") > columns) {
            fail_msg("longer than %zu: %.*s", columns, (int) strcspn(line, "\n"), line);
        }
    }
}

/* COLUMNS, or 80, within what can be read well. */
static void test_no_line_is_longer_than_the_terminal_is_wide(void **state)
{
    static const struct {
        const char *columns;
        size_t wanted;
    } rows[] = {{NULL, 80}, {"80", 80}, {"70", 70}, {"100", 100}, {"1000", 100}, {"much", 80}};

    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        if (rows[r].columns) {
            assert_int_equal(setenv("COLUMNS", rows[r].columns, 1), 0);
        } else {
            assert_int_equal(unsetenv("COLUMNS"), 0);
        }
        for (size_t i = 0; i == 0 || verbs[i - 1]; i++) {
            char *text = help_text(i == 0 ? NULL : verbs[i - 1]);
            assert_fits(text, rows[r].wanted);
            free(text);
        }
    }
    assert_int_equal(unsetenv("COLUMNS"), 0);
}

/* Of an option that takes some words the help has each of them, or its range. */
static void test_flags_list_their_values(void **state)
{
    char *text = help_text(&topic_create_verb);
    for (char *newline = text; (newline = strstr(newline, "\n")) != NULL;) {
        const size_t blanks = strspn(newline + 1, " ");
        memmove(newline, newline + blanks, strlen(newline + blanks) + 1); /* one line */
        *newline = ' ';
    }
    assert_non_null(strstr(text, "range_merge, priority, fixed_time or fifo"));
    assert_non_null(strstr(text, "arrival or bytes"));
    assert_non_null(strstr(text, "fast or strict"));
    assert_non_null(strstr(text, "0 .. 63"));
    free(text);
}

/* The whole manual page, to be freed. */
static char *manual_text(void)
{
    const char *path = getenv("SLOTMQ_MANUAL");
    char *text = NULL;
    size_t size = 0;

    assert_non_null(path);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(getdelim(&text, &size, '\0', file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void assert_in_manual(const char *text, const char *macro, const char *name)
{
    char wanted[80];

    snprintf(wanted, sizeof(wanted), "%s%s", macro, name);
    if (!strstr(text, wanted)) {
        fail_msg("the manual page does not hold \"%s\"", wanted);
    }
}

static void test_each_verb_and_flag_is_in_the_manual(void **state)
{
    char *text = manual_text();

    for (size_t i = 0; verbs[i]; i++) {
        assert_in_manual(text, ".Ss ", verbs[i]->name);
        for (size_t f = 0; f < verbs[i]->flag_count; f++) {
            assert_in_manual(text, ".It Fl -", verbs[i]->flags[f].name);
        }
    }
    for (size_t f = 0; f < global_flag_count; f++) {
        assert_in_manual(text, "Fl -", global_flags[f].name);
    }
    free(text);
}

/* === The manual page and the table of options =========================== */

/* Macros of mdoc that come before words and are none of them. */
static bool manual_is_macro(const char *word)
{
    static const char *const macros[] = {"Ar", "Cm", "Dq", "Fl", "It", "Li",
                                         "No", "Ns", "Op", "Pp", "Xr"};

    for (size_t i = 0; i < sizeof(macros) / sizeof(macros[0]); i++) {
        if (strcmp(word, macros[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes the macros away: `text` is then words with one blank between them, in small letters. */
static void manual_flatten(char *text)
{
    char *rest = strdup(text);
    char *place = rest;
    char *word = NULL;
    size_t used = 0;

    assert_non_null(rest);
    while ((word = strsep(&place, " \n")) != NULL) {
        word += word[0] == '.' && word[1] != '\0' ? 1 : 0;
        if (word[0] == '\0' || manual_is_macro(word)) {
            continue;
        }
        if (used > 0 && !strchr(".,;:", word[0])) {
            text[used++] = ' ';
        }
        for (; *word != '\0'; word++) {
            text[used++] = (char) tolower((unsigned char) *word);
        }
    }
    text[used] = '\0';
    free(rest);
}

/* From `start` to the first of these ends, to be freed; NULL: there is no such start. */
static char *manual_part(const char *text, const char *start, const char *end, const char *other)
{
    const char *from = strstr(text, start);

    if (!from) {
        return NULL;
    }
    from += strlen(start);
    const char *to = strstr(from, end);
    const char *before = strstr(from, other);
    to = before && (!to || before < to) ? before : to;
    assert_non_null(to);
    return strndup(from, (size_t) (to - from));
}

/* What the page says of a flag in the section of its verb, to be freed; NULL: it has no item. */
static char *manual_item(const char *manual, const struct verb *verb, const struct flag *flag)
{
    char start[80];

    snprintf(start, sizeof(start), "\n.Ss %s\n", verb->name);
    char *section = manual_part(manual, start, "\n.Ss ", "\n.Sh ");
    assert_non_null(section);
    snprintf(start, sizeof(start), "\n.It Fl -%s%s", flag->name, flag->operand ? " " : "\n");
    char *item = manual_part(section, start, "\n.It ", "\n.El");
    free(section);
    if (item) {
        manual_flatten(item);
    }
    return item;
}

static void manual_must_say(const struct verb *verb, const struct flag *flag, const char *item,
                            const char *wanted)
{
    if (!strstr(item, wanted)) {
        fail_msg("%s --%s: the manual page does not say \"%s\" but: %s", verb->name, flag->name,
                 wanted, item);
    }
}

/* A range "a .. b" is written as "a to b", and of words each one. */
static void manual_must_say_range(const struct verb *verb, const struct flag *flag,
                                  const char *item, const char *range)
{
    const char *dots = strstr(range, " .. ");
    char text[160];

    if (dots) {
        snprintf(text, sizeof(text), "%.*s to %s", (int) (dots - range), range, dots + 4);
        manual_must_say(verb, flag, item, text);
    } else if (strchr(option_info(flag->set, flag->option)->type, '|')) {
        snprintf(text, sizeof(text), "%s", option_info(flag->set, flag->option)->type);
        for (char *rest = text, *word = NULL; (word = strsep(&rest, "|")) != NULL;) {
            manual_must_say(verb, flag, item, word);
        }
    } else {
        manual_must_say(verb, flag, item, range);
    }
}

/* Does `text` hold this word, with no letter or digit beside it? */
static bool text_has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        if ((at == text || !isalnum((unsigned char) at[-1])) &&
            !isalnum((unsigned char) at[length])) {
            return true;
        }
    }
    return false;
}

/* Numbers that the page says of an option are numbers that the library says of it, but for exit
 * codes. */
static void manual_must_say_no_other(const struct verb *verb, const struct flag *flag, char *item)
{
    const smq_option_info *info = option_info(flag->set, flag->option);
    char *known = NULL;
    const char *before = "";

    assert_true(asprintf(&known, "%s %s %s", info->range, info->default_value, info->text) > 0);
    for (char *rest = item, *word = NULL; (word = strsep(&rest, " ")) != NULL; before = word) {
        word += strspn(word, "(\"");
        word[strcspn(word, ".,;)\"")] = '\0';
        if (strpbrk(word, "0123456789") && strcmp(before, "code") != 0 &&
            !text_has_word(known, word)) {
            fail_msg("%s --%s: the manual page says \"%s\", the library: %s", verb->name,
                     flag->name, word, known);
        }
    }
    free(known);
}

static void assert_manual_agrees(const char *manual, const struct verb *verb,
                                 const struct flag *flag)
{
    char *item = manual_item(manual, verb, flag);
    struct option_values values;

    if (!item) { /* the page says whose flags these are */
        assert_true(flag->type != FLAG_OPTION || verb == &reschedule_verb ||
                    verb == &schedule_put_verb);
        return;
    }
    option_values(&values, flag);
    if (values.range[0] != '\0') {
        manual_must_say_range(verb, flag, item, values.range);
    }
    if (values.fallback[0] != '\0') {
        char text[160];
        snprintf(text, sizeof(text), "default %s", values.fallback);
        manual_must_say(verb, flag, item, text);
    }
    if (flag->type == FLAG_OPTION) {
        manual_must_say_no_other(verb, flag, item);
    }
    free(item);
}

/* The words of a text in small letters, with a blank on both sides of each; to be freed. */
static char *words_of(const char *text)
{
    char *words = calloc(1, strlen(text) + 3);
    size_t used = 0;

    assert_non_null(words);
    words[used++] = ' ';
    for (; *text != '\0'; text++) {
        if (isalnum((unsigned char) *text)) {
            words[used++] = (char) tolower((unsigned char) *text);
        } else if (words[used - 1] != ' ') {
            words[used++] = ' ';
        }
    }
    words[used] = words[used - 1] != ' ' ? ' ' : '\0';
    return words;
}

/* Its operands, and whether flags or a program follow. */
static void test_the_synopsis_has_each_verb(void **state)
{
    char *manual = manual_text();
    char *synopsis = manual_part(manual, "\n.Sh SYNOPSIS\n", ".Sh ", ".Sh ");
    char *words = NULL;

    manual_flatten(synopsis);
    words = words_of(synopsis);
    for (size_t i = 0; verbs[i]; i++) {
        char usage[160];
        snprintf(usage, sizeof(usage), "nm %s %s%s%s%s", verbs[i]->name, verbs[i]->operands,
                 verbs[i]->flag_count > 0 ? " flags" : "",
                 verbs[i]->takes_program ? " cmd arg" : "", verbs[i + 1] ? " nm" : "");
        char *wanted = words_of(usage);
        if (!strstr(words, wanted)) {
            fail_msg("the synopsis does not hold \"%s\" but: %s", wanted, words);
        }
        free(wanted);
    }
    free(words);
    free(synopsis);
    free(manual);
}

static void test_the_manual_has_the_ranges_and_defaults_of_the_library(void **state)
{
    char *manual = manual_text();

    for (size_t i = 0; verbs[i]; i++) {
        for (size_t f = 0; f < verbs[i]->flag_count; f++) {
            assert_manual_agrees(manual, verbs[i], &verbs[i]->flags[f]);
        }
    }
    free(manual);
}

/* === Texts and numbers ================================================== */

static void assert_texts_can_be_read(const struct flag *flag)
{
    const char *const texts[] = {flag->min, flag->max, flag->fallback};
    int64_t value = 0;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i] && !flag_parse(&value, flag, texts[i])) {
            fail_msg("--%s: \"%s\" cannot be read", flag->name, texts[i]);
        }
    }
}

static void test_ranges_and_defaults_of_flags_can_be_read(void **state)
{
    for (size_t i = 0; verbs[i]; i++) {
        for (size_t f = 0; f < verbs[i]->flag_count; f++) {
            const struct flag *flag = &verbs[i]->flags[f];
            if (flag->type == FLAG_NUMBER || flag->type == FLAG_DURATION ||
                flag->type == FLAG_TIME) {
                assert_texts_can_be_read(flag);
            }
        }
    }
}

/* Two numbers of the library that the command needs to check a whole file before it is sent. */
static void test_times_and_priorities_reach_as_far_as_the_library_says(void **state)
{
    const char *ties = option_info(SMQ_OPTION_SET_TOPIC, "ties")->text;
    const char *range = option_info(SMQ_OPTION_SET_TOPIC, "delay_ms")->range;
    char longest[32];
    char wanted[64];
    int64_t at = 0;
    int64_t delay = 0;

    assert_int_equal(sscanf(range, "0 .. %31[0-9d]", longest), 1);
    assert_true(parse_duration(&delay, longest));
    assert_true(parse_time(&at, WHEN_LAST_DAY));
    assert_int_equal(at, delay);
    snprintf(wanted, sizeof(wanted), "the first sent (from -%lld to %lld)",
             (long long) WHEN_PRIORITY_ARRIVAL, (long long) WHEN_PRIORITY_ARRIVAL);
    assert_non_null(strstr(ties, wanted));
    snprintf(wanted, sizeof(wanted), "bytes (from -%lld to %lld)", (long long) WHEN_PRIORITY_BYTES,
             (long long) WHEN_PRIORITY_BYTES);
    assert_non_null(strstr(ties, wanted));
}

/* ======================================================================== */

static void test_each_verb_is_in_the_overview(void **state)
{
    assert_int_equal(setenv("COLUMNS", "100", 1), 0); /* wide enough for each summary */
    char *text = help_text(NULL);
    for (size_t i = 0; verbs[i]; i++) {
        assert_non_null(strstr(text, verbs[i]->name));
        assert_non_null(strstr(text, verbs[i]->summary));
    }
    free(text);
    assert_int_equal(unsetenv("COLUMNS"), 0);
}

static bool option_is_switch(const struct flag *flag)
{
    return strcmp(option_info(flag->set, flag->option)->type, "false|true") == 0;
}

static void test_values_that_need_an_operand_name_it(void **state)
{
    for (size_t i = 0; verbs[i]; i++) {
        for (size_t f = 0; f < verbs[i]->flag_count; f++) {
            const struct flag *flag = &verbs[i]->flags[f];
            const bool bare = flag->type == FLAG_SWITCH || flag->type == FLAG_COUNT ||
                              (flag->type == FLAG_OPTION && option_is_switch(flag));
            assert_int_equal(flag->operand == NULL, bare);
            assert_true(flag->offset < verbs[i]->options_size);
        }
    }
}

/* The flag of a field: hyphens for underscores, without the unit. */
static void flag_name(char *out, size_t size, const char *field)
{
    static const char *const units[] = {"_ms", "_per_s"};
    size_t length = strlen(field);

    for (size_t i = 0; i < 2; i++) {
        const size_t unit = strlen(units[i]);
        if (length > unit && strcmp(field + length - unit, units[i]) == 0) {
            length -= unit;
        }
    }
    snprintf(out, size, "%.*s", (int) length, field);
    for (char *next = out; *next != '\0'; next++) {
        if (*next == '_') {
            *next = '-';
        }
    }
}

static bool assert_topic_flag(const smq_option_info *info, void *user)
{
    char name[64];

    (void) user;
    if (info->set != SMQ_OPTION_SET_TOPIC) {
        return true;
    }
    flag_name(name, sizeof(name), info->name);
    for (size_t f = 0; f < topic_create_verb.flag_count; f++) {
        if (strcmp(topic_create_verb.flags[f].name, name) == 0) {
            assert_string_equal(topic_create_verb.flags[f].option, info->name);
            return true;
        }
    }
    fail_msg("topic create has no --%s", name);
    return false;
}

static void test_each_option_of_a_topic_has_its_flag(void **state)
{
    smq_option_each(assert_topic_flag, NULL);
}

static void test_verbs_are_found_by_their_words(void **state)
{
    char *one[] = {(char *) "send", (char *) "orders"};
    char *two[] = {(char *) "dead", (char *) "list"};
    size_t used = 0;
    bool group = false;

    assert_ptr_equal(verb_find(verbs, &used, &group, one, 2), &send_verb);
    assert_int_equal(used, 1);
    assert_ptr_equal(verb_find(verbs, &used, &group, two, 2), &dead_list_verb);
    assert_int_equal(used, 2);
    assert_null(verb_find(verbs, &used, &group, two, 1));
    assert_true(group);
}

TEST_GROUP(help)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_flag_is_in_the_help_of_its_verb),
        cmocka_unit_test(test_global_flags_are_in_the_overview_alone),
        cmocka_unit_test(test_no_line_is_longer_than_the_terminal_is_wide),
        cmocka_unit_test(test_flags_list_their_values),
        cmocka_unit_test(test_each_verb_and_flag_is_in_the_manual),
        cmocka_unit_test(test_the_synopsis_has_each_verb),
        cmocka_unit_test(test_the_manual_has_the_ranges_and_defaults_of_the_library),
        cmocka_unit_test(test_ranges_and_defaults_of_flags_can_be_read),
        cmocka_unit_test(test_times_and_priorities_reach_as_far_as_the_library_says),
        cmocka_unit_test(test_each_verb_is_in_the_overview),
        cmocka_unit_test(test_values_that_need_an_operand_name_it),
        cmocka_unit_test(test_each_option_of_a_topic_has_its_flag),
        cmocka_unit_test(test_verbs_are_found_by_their_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
