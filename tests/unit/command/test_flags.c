/* test_flags.c - a table of flags fills its struct, and every mistake is reported. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <slotmq/slotmq.h>

#include "cli/verb/flags.h"
#include "support/group.h"

enum { WORDS_MAX = 12 };

struct values {
    bool fast;
    int64_t loud;
    const char *name;
    struct flag_value count, wait, at;
    smq_topic_options topic;
};

#define VALUE(member) offsetof(struct values, member)

static const struct flag flags[] = {
    {.name = "fast", .type = FLAG_SWITCH, .offset = VALUE(fast)},
    {.name = "loud", .letter = 'l', .type = FLAG_COUNT, .offset = VALUE(loud)},
    {.name = "name", .letter = 'n', .type = FLAG_TEXT, .offset = VALUE(name), .operand = "NAME"},
    {.name = "count",
     .type = FLAG_NUMBER,
     .offset = VALUE(count),
     .operand = "N",
     .min = "1",
     .max = "9"},
    {.name = "wait",
     .type = FLAG_DURATION,
     .offset = VALUE(wait),
     .operand = "TIME",
     .max = "1h",
     .fallback = "5s"},
    {.name = "at",
     .type = FLAG_TIME,
     .offset = VALUE(at),
     .operand = "WHEN",
     .max = "2248-09-26T00:00:00Z"},
    {.name = "lease",
     .type = FLAG_OPTION,
     .offset = VALUE(topic),
     .operand = "TIME",
     .set = SMQ_OPTION_SET_TOPIC,
     .option = "lease_ms"},
    {.name = "shared",
     .type = FLAG_OPTION,
     .offset = VALUE(topic),
     .set = SMQ_OPTION_SET_TOPIC,
     .option = "shared"},
    {.name = "topic",
     .letter = 'T',
     .type = FLAG_PAIR,
     .offset = VALUE(topic),
     .operand = "KEY=VALUE",
     .set = SMQ_OPTION_SET_TOPIC},
};

/* A command line in one string, and what reading it gave. */
struct reading {
    char text[256];
    char *argv[WORDS_MAX + 1];
    int argc;
    struct values values;
    struct words words;
    enum exit_code code;
    char said[512];
};

/* Standard error of the call is caught in reading->said. */
static void read_line(struct reading *reading, const char *line, bool until_word)
{
    const struct flags_verb verb = {.name = "run", .max_words = 2};
    const struct flag_set set = {
        .flags = flags, .count = sizeof(flags) / sizeof(flags[0]), .values = &reading->values};
    char *rest = reading->text;
    char *word = NULL;
    FILE *file = tmpfile();
    const int saved = dup(STDERR_FILENO);

    memset(reading, 0, sizeof(*reading));
    reading->values.topic.struct_size = sizeof(reading->values.topic);
    snprintf(reading->text, sizeof(reading->text), "slotmq %s", line);
    while ((word = strsep(&rest, " ")) != NULL) {
        assert_true(reading->argc < WORDS_MAX);
        reading->argv[reading->argc++] = word;
    }
    assert_non_null(file);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    reading->code = flags_read(&reading->words, &set, 1, until_word ? NULL : &verb, reading->argc,
                               reading->argv);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    rewind(file);
    reading->said[fread(reading->said, 1, sizeof(reading->said) - 1, file)] = '\0';
    (void) fclose(file);
}

static void test_every_type_is_read(void **state)
{
    struct reading reading;

    read_line(&reading, "--fast one -ll --name=x --count 9 two --wait 2s --at 7", false);
    assert_int_equal(reading.code, EXIT_DONE);
    assert_string_equal(reading.said, "");
    assert_true(reading.values.fast);
    assert_int_equal(reading.values.loud, 2);
    assert_string_equal(reading.values.name, "x");
    assert_int_equal(reading.values.count.value, 9);
    assert_int_equal(reading.values.wait.value, 2000);
    assert_int_equal(reading.values.at.value, 7);
    assert_int_equal(reading.words.count, 2);
    assert_string_equal(reading.words.word[0], "one");
    assert_string_equal(reading.words.word[1], "two");
    assert_null(reading.words.tail);
    words_fini(&reading.words);
}

static void test_options_of_the_library_are_read(void **state)
{
    struct reading reading;

    read_line(&reading, "--lease 5s --shared -T slots=8 --topic=backoff=fixed:5 one", false);
    assert_int_equal(reading.code, EXIT_DONE);
    assert_string_equal(reading.said, "");
    assert_int_equal(reading.values.topic.lease_ms, 5000);
    assert_true(reading.values.topic.shared);
    assert_int_equal(reading.values.topic.slots, 8);
    assert_string_equal(reading.values.topic.backoff, "fixed:5");
    assert_int_equal(reading.words.count, 1);
    words_fini(&reading.words);
}

static void test_not_given_is_not_zero(void **state)
{
    struct reading reading;

    read_line(&reading, "--wait 0", false);
    assert_true(reading.values.wait.given);
    assert_int_equal(reading.values.wait.value, 0);
    assert_false(reading.values.count.given);
    words_fini(&reading.words);
}

static void test_what_is_not_given_has_its_fallback(void **state)
{
    struct reading reading;

    read_line(&reading, "one", false);
    assert_false(reading.values.wait.given);
    assert_int_equal(reading.values.wait.value, 5000);
    assert_int_equal(reading.values.count.value, 0);
    words_fini(&reading.words);
}

static void test_what_follows_two_hyphens_is_left_alone(void **state)
{
    struct reading reading;

    read_line(&reading, "one -- --fast -x", false);
    assert_int_equal(reading.code, EXIT_DONE);
    assert_false(reading.values.fast);
    assert_int_equal(reading.words.count, 1);
    assert_string_equal(reading.words.tail[0], "--fast");
    assert_string_equal(reading.words.tail[1], "-x");
    assert_null(reading.words.tail[2]);
    words_fini(&reading.words);
}

static void test_reading_stops_at_the_first_word(void **state)
{
    struct reading reading;

    read_line(&reading, "--fast one --bogus", true);
    assert_int_equal(reading.code, EXIT_DONE);
    assert_true(reading.values.fast);
    assert_int_equal(reading.words.count, 2);
    assert_string_equal(reading.words.word[1], "--bogus");
    words_fini(&reading.words);
}

static void test_each_mistake_is_told_in_one_line(void **state)
{
    static const struct {
        const char *line;
        const char *said; /* a part of it */
    } rows[] = {
        {"--bogus", "unknown flag --bogus"},
        {"--bogus=1", "unknown flag --bogus"},
        {"--cuont 3", "did you mean --count?"},
        {"--coun 3", "did you mean --count?"},
        {"-x", "unknown flag -x"},
        {"-lx", "unknown flag -x"},
        {"--count", "--count needs a value: --count N"},
        {"-n", "--name needs a value: --name NAME"},
        {"--fast=yes", "--fast takes no value"},
        {"--count 0", "--count \"0\" cannot be used; give a whole number, 1 to 9"},
        {"--count 10", "1 to 9"},
        {"--count many", "--count \"many\""},
        {"--count 5x", "--count \"5x\""},
        {"--wait -1", "a duration such as 500ms, 30s or 5m"},
        {"--wait 5weeks", "--wait \"5weeks\""},
        {"--wait 61m", "a duration such as 500ms, 30s or 5m, at most 1h"},
        {"--at 2248-09-26T00:00:01Z", "2026-12-01T00:00:00Z or 2026-12-01T01:00:00+01:00, at most"},
        {"--at 2248-09-26T00:00:01Z", "at most 2248-09-26T00:00:00Z"},
        {"--lease 5", "--lease \"5\" cannot be used; give a duration"},
        {"--shared=true", "--shared takes no value"},
        {"-T slots", "give KEY=VALUE"},
        {"-T slots=1000000", "1 to 65536"},
        {"-T slot=8", "did you mean \"slots\"?"},
        {"-T =8", "no topic option \"\""},
        {"--count 1\n2", "--count \"1\\x0a2\""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct reading reading;
        read_line(&reading, rows[i].line, false);
        assert_int_equal(reading.code, EXIT_USAGE);
        const char *newline = strchr(reading.said, '\n');
        if (!strstr(reading.said, rows[i].said) || !newline || newline[1] != '\0') {
            fail_msg("for \"%s\" it said: %s", rows[i].line, reading.said);
        }
    }
}

/* What is read all the same, and said in one line. */
static void test_a_duration_without_a_unit_is_warned_of(void **state)
{
    static const struct {
        const char *line;
        const char *said;
    } rows[] = {
        {"--wait 5", "slotmq: --wait 5 has no unit and is read as 5ms; write the unit, which "
                     "version 0.3 will require\n"},
        {"--lease 5000", "slotmq: --lease 5000 has no unit and is read as 5000ms; write the unit, "
                         "which version 0.3 will require\n"},
        {"--wait 0", ""},
        {"--wait 5s", ""},
        {"--wait 1m5s", ""},
        {"--lease 5s", ""},
        {"--count 5", ""},
        {"--at 7", ""},
        {"-T lease_ms=5000", ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct reading reading;
        read_line(&reading, rows[i].line, false);
        assert_int_equal(reading.code, EXIT_DONE);
        assert_string_equal(reading.said, rows[i].said);
        words_fini(&reading.words);
    }
}

TEST_GROUP(flags)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_is_read),
        cmocka_unit_test(test_options_of_the_library_are_read),
        cmocka_unit_test(test_not_given_is_not_zero),
        cmocka_unit_test(test_what_is_not_given_has_its_fallback),
        cmocka_unit_test(test_what_follows_two_hyphens_is_left_alone),
        cmocka_unit_test(test_reading_stops_at_the_first_word),
        cmocka_unit_test(test_each_mistake_is_told_in_one_line),
        cmocka_unit_test(test_a_duration_without_a_unit_is_warned_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
