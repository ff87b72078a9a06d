/* test_top.c - top: rounds, rates, ends; on a terminal and off it. */
#include "command.h"
#include "gate.h"
#include "terminal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/group.h"
#include "support/wait.h"

#define COUNTS                                                                                     \
    "paused", "waiting", "due", "claimed", "stalled", "resting", "dead", "oldest_due_age_ms",      \
        "oldest_claim_age_ms", "stalled_age_ms", "tick_late_ms", "slots_damaged", "slots_silent"
#define RATES "sent_per_s", "merged_per_s", "done_per_s", "retried_per_s", "rejected_per_s"

static void create(const char *name)
{
    command_done(NULL, ARGS("topic", "create", name, "--type", "priority", "--slots", "2"));
}

/* Topic number 0 of line `number` of what was printed. */
static json_t *topic_of_line(const char *out, int number)
{
    const char *line = out;
    json_error_t error;

    for (int i = 0; i < number; i++) {
        line = strchr(line, '\n');
        assert_non_null(line);
        line++;
    }
    json_t *document = json_loadb(line, strcspn(line, "\n"), 0, &error);
    if (!document) {
        fail_msg("not JSON (%s): %s", error.text, line);
    }
    assert_members(document, ARGS("topics"));
    json_t *topic = json_incref(json_array_get(json_object_get(document, "topics"), 0));
    assert_non_null(topic);
    json_decref(document);
    return topic;
}

static int lines_of(const char *out)
{
    int count = 0;

    for (; *out != '\0'; out++) {
        count += *out == '\n' ? 1 : 0;
    }
    return count;
}

static void test_json_is_an_object_a_look_and_the_first_has_no_rates(void **state)
{
    create("shape");
    command_done("a\nb\n", ARGS("send", "shape"));
    char *out =
        command_out(NULL, ARGS("top", "shape", "--json", "--count", "2", "--interval", "100ms"));
    assert_int_equal(lines_of(out), 2);
    for (int i = 0; i < 2; i++) {
        json_t *topic = topic_of_line(out, i);
        assert_members(topic, ARGS("topic", COUNTS, RATES));
        assert_string_equal(json_text(topic, "topic"), "shape");
        assert_int_equal(json_number(topic, "waiting"), 2);
        if (i == 0) {
            assert_true(json_is_null(json_object_get(topic, "sent_per_s")));
        } else {
            assert_true(json_real_value(json_object_get(topic, "sent_per_s")) == 0);
            assert_true(json_is_real(json_object_get(topic, "rejected_per_s")));
        }
        json_decref(topic);
    }
    free(out);
}

/* The look that first sees three more messages has a rate; and Ctrl-C ends it well. */
static void test_rates_are_those_between_two_looks(void **state)
{
    struct run run;
    int line = 0;

    create("busy");
    command_start(&run, NULL, ARGS("top", "busy", "--json", "--interval", "100ms"));
    assert_true(run_wait_out(&run, "\"waiting\":0", TIMEOUT_MS));
    command_done("a\nb\nc\n", ARGS("send", "busy"));
    assert_true(run_wait_out(&run, "\"waiting\":3", TIMEOUT_MS));
    run_signal(&run, SIGINT);
    command_end(&run);
    json_t *topic = topic_of_line(run.out, line);
    while (json_number(topic, "waiting") < 3) {
        json_decref(topic);
        topic = topic_of_line(run.out, ++line);
    }
    assert_true(json_real_value(json_object_get(topic, "sent_per_s")) > 0);
    json_decref(topic);
    run_fini(&run);
}

static void test_off_a_terminal_one_table_follows_the_other(void **state)
{
    create("plain-1");
    create("plain-2");
    char *out = command_out(NULL, ARGS("top", "--count", "2", "--interval", "100ms"));
    const char *first = strstr(out, "plain-2");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "plain-2"));
    assert_non_null(strstr(out, "WAITING"));
    assert_non_null(strstr(out, "DONE/S"));
    assert_non_null(strstr(out, "\n\nTOPIC"));
    assert_null(strchr(out, '\033'));
    free(out);
}

static void test_a_topic_that_goes_ends_only_a_look_at_itself(void **state)
{
    struct run one, all;

    create("gone");
    command_refused(1, "nowhere", NULL, ARGS("top", "nowhere"));
    command_start(&one, NULL, ARGS("top", "gone", "--json", "--interval", "100ms"));
    command_start(&all, NULL, ARGS("top", "--json", "--interval", "100ms"));
    assert_true(run_wait_out(&one, "\"gone\"", TIMEOUT_MS));
    assert_true(run_wait_out(&all, "\"gone\"", TIMEOUT_MS));
    command_done(NULL, ARGS("topic", "delete", "gone"));
    assert_true(run_wait(&one, TIMEOUT_MS));
    assert_int_equal(one.exit_code, 1);
    assert_non_null(strstr(one.err, "gone"));
    create("came");
    assert_true(run_wait_out(&all, "\"came\"", TIMEOUT_MS));
    run_signal(&all, SIGTERM);
    command_end(&all);
    run_fini(&one);
    run_fini(&all);
}

/* === On a terminal ====================================================== */

static void test_a_terminal_gets_a_picture_until_q(void **state)
{
    struct terminal terminal;

    create("pictured");
    terminal_start(&terminal, terminal_wide, "pictured",
                   "1h"); /* the key is not waited for that long */
    terminal_await(&terminal, "pictured");
    assert_non_null(strstr(terminal.shown, "\033[?1049h"));
    assert_non_null(strstr(terminal.shown, "q ends"));
    terminal_type(&terminal, "xq");
    terminal_end(&terminal, 0);
}

static void test_a_terminal_gets_a_picture_until_ctrl_c(void **state)
{
    struct terminal terminal;

    create("interrupted");
    terminal_start(&terminal, terminal_wide, "interrupted", "1h");
    terminal_await(&terminal, "interrupted");
    terminal_type(&terminal, "\003");
    terminal_end(&terminal, 0);
}

/* A picture that is longer or wider than the terminal would scroll its head away. */
static void test_a_picture_fits_its_terminal(void **state)
{
    static const struct winsize sizes[] = {
        {.ws_row = 24, .ws_col = 80}, {.ws_row = 8, .ws_col = 60}, {.ws_row = 200, .ws_col = 40}};
    char name[64];

    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "one-of-thirty-topics-in-a-picture-%02d", i);
        create(name);
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct terminal terminal;
        terminal_start(&terminal, sizes[i], NULL, "1h");
        terminal_await(&terminal, "q ends");
        terminal_await(&terminal, sizes[i].ws_row < 50 ? " more\r\n" : "STATE");
        terminal_type(&terminal, "q");
        terminal_end(&terminal, 0);
        char *picture = strstr(terminal.shown, "\033[J");
        assert_non_null(picture);
        picture += strlen("\033[J");
        *strchr(picture, '\033') = '\0';
        assert_width(picture, sizes[i].ws_col);
        assert_true(lines_of(picture) < sizes[i].ws_row);
        assert_non_null(strstr(picture, "STATE"));
    }
}

/* The busiest of 30 topics is on the first page; others are reached by keys. */
static void test_keys_sort_and_scroll(void **state)
{
    const struct winsize size = {.ws_row = 12, .ws_col = 80};
    struct terminal terminal;

    create("a-first");
    create("z-last");
    command_done("one\ntwo\n", ARGS("send", "z-last"));
    command_done(NULL, ARGS("consume", "z-last", "--count", "1", "--", "sh", "-c", "exit 65"));
    terminal_start(&terminal, size, NULL, "1h");
    terminal_await(&terminal, "by activity");
    terminal_type(&terminal, "n");
    terminal_await(&terminal, "by name");
    terminal_await(&terminal, "a-first");
    terminal_type(&terminal, "jjj\033[6~\033[6~\033[6~\033[6~\033[6~");
    terminal_await(&terminal, "z-last");
    terminal_await(&terminal, "\033[1;31m"); /* its dead letter */
    terminal_type(&terminal, "d");
    terminal_await(&terminal, "by dead");
    terminal_type(&terminal, "q");
    terminal_end(&terminal, 0);
    const char *picture = strstr(terminal.shown, "by dead");
    assert_non_null(strstr(picture, "z-last"));
}

/* Letters that are keys elsewhere belong to the text. */
static void test_a_filter_is_typed_and_the_keys_are_shown(void **state)
{
    struct terminal terminal;

    create("filtered-jkq");
    create("not-here");
    terminal_start(&terminal, terminal_wide, NULL, "1h");
    terminal_await(&terminal, "not-here");
    terminal_type(&terminal, "/d-jkq");
    terminal_await(&terminal, "/d-jkq_  1 of ");
    terminal_await(&terminal, "filtered-jkq");
    terminal_type(&terminal, "\n?");
    terminal_await(&terminal, "those with d-jkq");
    terminal_await(&terminal, "any key leads back");
    terminal_type(&terminal, "xq");
    terminal_end(&terminal, 0);
    const char *typed = strstr(terminal.shown, "/d-jkq_  1 of ");
    assert_null(strstr(typed, "not-here"));
}

/* The key shows what was read with the topics: nothing is waited for. */
static void test_a_key_shows_what_is_in_work(void **state)
{
    struct terminal terminal;
    struct run run;
    struct gate gate;

    create("worked-on");
    command_done("a body\n", ARGS("send", "worked-on"));
    gate_close(&gate);
    command_start(&run, NULL,
                  ARGS("consume", "worked-on", "-X", "name=worker-1", "--count", "1", "--", "sh",
                       "-c", gate.program));
    command_wait_stat("worked-on", "claimed", 1);
    terminal_start(&terminal, terminal_wide, NULL, "1h");
    terminal_await(&terminal, "i work");
    terminal_type(&terminal, "i");
    terminal_await(&terminal, "1 slot in work by age");
    terminal_await(&terminal, "worker-1");
    terminal_type(&terminal, "n");
    terminal_await(&terminal, "by name");
    terminal_type(&terminal, "q");
    terminal_end(&terminal, 0);
    gate_open(&gate);
    command_end(&run);
    run_fini(&run);
}

static void test_no_color_is_heard(void **state)
{
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    char *drawn = command_drawn(120, ARGS("top", "z-last", "--count", "1"));
    assert_non_null(strstr(drawn, "\033[1;31m"));
    free(drawn);
    assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
    drawn = command_drawn(120, ARGS("top", "z-last", "--count", "1"));
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    assert_null(strchr(drawn, '\033'));
    free(drawn);
}

TEST_GROUP(top)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_is_an_object_a_look_and_the_first_has_no_rates),
        cmocka_unit_test(test_rates_are_those_between_two_looks),
        cmocka_unit_test(test_off_a_terminal_one_table_follows_the_other),
        cmocka_unit_test(test_a_topic_that_goes_ends_only_a_look_at_itself),
        cmocka_unit_test(test_a_picture_fits_its_terminal),
        cmocka_unit_test(test_keys_sort_and_scroll),
        cmocka_unit_test(test_a_filter_is_typed_and_the_keys_are_shown),
        cmocka_unit_test(test_a_key_shows_what_is_in_work),
        cmocka_unit_test(test_no_color_is_heard),
        cmocka_unit_test(test_a_terminal_gets_a_picture_until_q),
        cmocka_unit_test(test_a_terminal_gets_a_picture_until_ctrl_c),
    };

    (void) unsetenv("NO_COLOR"); /* of who runs the tests */
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
