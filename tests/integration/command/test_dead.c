/* test_dead.c - dead letters and other messages, chosen by filters: listed, sent back, deleted. */
#include "command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/group.h"
#include "support/wait.h"

/* A topic whose messages "a1", "a2" died with exit 1, "b1" with exit 65. */
static void create_dead(const char *name, const char *layout)
{
    command_done(NULL, ARGS("topic", "create", name, "--type", "fixed_time", "--layout", layout,
                            "--slots", "2", "--backoff", "none", "--max-retries", "0"));
    if (strcmp(layout, "keyed") == 0) {
        command_done("a1\na2\nb1\n", ARGS("send", name, "--id-field", "1"));
    } else {
        command_done("a1\na2\nb1\n", ARGS("send", name));
    }
    command_done(NULL, ARGS("consume", name, "--exit-when-empty", "--", "sh", "-c",
                            "case $(cat) in a*) exit 1;; esac; exit 65"));
    assert_int_equal(command_stat(name, "dead"), 3);
}

static size_t dead_count(const char *const *arguments)
{
    json_t *lines = command_lines(NULL, arguments);
    const size_t count = json_array_size(lines);

    json_decref(lines);
    return count;
}

static void assert_said(const char *const *arguments, const char *wanted)
{
    char *err = command_err(NULL, arguments);

    assert_string_equal(err, wanted);
    free(err);
}

static void list_and_requeue(const char *topic, const char *layout)
{
    create_dead(topic, layout);
    assert_int_equal(dead_count(ARGS("dead", "list", topic, "--json")), 3);
    assert_int_equal(dead_count(ARGS("dead", "list", topic, "--json", "--reason", "exit 1")), 2);
    assert_int_equal(dead_count(ARGS("dead", "list", topic, "--json", "--match", "b")), 1);
    assert_int_equal(dead_count(ARGS("dead", "list", topic, "--json", "--id", "a2")), 1);
    assert_int_equal(dead_count(ARGS("dead", "list", topic, "--json", "--limit", "2")), 2);
    assert_int_equal(dead_count(ARGS("dead", "list", topic, "--json", "--older-than", "1h")), 0);
    assert_said(ARGS("dead", "requeue", topic, "--id", "a2"), "requeued 1\n");
    assert_said(ARGS("dead", "requeue", topic, "--older-than", "1h"), "requeued 0\n");
    assert_said(ARGS("dead", "requeue", topic, "--reason", "65", "--rate", "1000"), "requeued 1\n");
    assert_int_equal(command_stat(topic, "dead"), 1);
    assert_int_equal(command_stat(topic, "waiting"), 2);
    command_refused(1, topic, NULL, ARGS("dead", "requeue", topic, "--id", "a2"));
    command_refused(1, topic, NULL, ARGS("dead", "requeue", topic, "--id", "never"));
    assert_int_equal(command_stat(topic, "waiting"), 2);
    assert_said(ARGS("dead", "requeue", topic, "--all"), "requeued 1\n");
    char *out = command_out(NULL, ARGS("consume", topic, "--exit-when-empty"));
    assert_int_equal(strlen(out), 9);
    free(out);
}

static void test_some_are_listed_and_sent_back(void **state)
{
    list_and_requeue("inline", "inline");
    list_and_requeue("keyed", "keyed");
}

/* A reason that another one contains selects its own messages, and no others. */
static void test_those_of_exactly_one_reason(void **state)
{
    command_create_topic("exact", "fixed_time", "inline");
    command_done("plain\nmore\n", ARGS("send", "exact"));
    command_done(NULL, ARGS("consume", "exact", "--exit-when-empty", "--", "sh", "-c",
                            "grep -q plain || echo more >&2; exit 65"));
    assert_int_equal(dead_count(ARGS("dead", "list", "exact", "--json", "--reason", "exit 65")), 2);
    assert_int_equal(dead_count(ARGS("dead", "list", "exact", "--json", "--reason-is", "exit 65")),
                     1);
    assert_int_equal(dead_count(ARGS("dead", "list", "exact", "--json", "--reason-is", "more")), 0);
    assert_int_equal(dead_count(ARGS("dead", "list", "exact", "--json", "--reason-is", "")), 0);
    assert_said(ARGS("dead", "requeue", "exact", "--reason-is", "exit"), "requeued 0\n");
    assert_said(ARGS("dead", "requeue", "exact", "--reason-is", "exit 65"), "requeued 1\n");
    assert_int_equal(dead_count(ARGS("peek", "exact", "--json", "--reason-is", "")), 1);
    assert_int_equal(dead_count(ARGS("peek", "exact", "--json", "--reason-is", "exit 65")), 0);
    assert_said(
        ARGS("purge", "exact", "--state", "waiting,dead", "--reason-is", "exit 65: more", "--yes"),
        "purged 1\n");
    assert_int_equal(command_stat("exact", "waiting"), 1);
    assert_int_equal(command_stat("exact", "dead"), 0);
}

static void test_a_limit_bounds_a_requeue(void **state)
{
    create_dead("limit", "inline");
    assert_said(ARGS("dead", "requeue", "limit", "--all", "--limit", "2"), "requeued 2\n");
    assert_int_equal(command_stat("limit", "dead"), 1);
}

/* By its rate it takes most of a second. */
static void test_a_terminal_sees_a_bar(void **state)
{
    char lines[80 * 3 + 1] = "";

    command_done(NULL, ARGS("topic", "create", "bar", "--type", "priority", "--slots", "1"));
    for (int i = 10; i < 90; i++) {
        snprintf(lines + strlen(lines), 4, "%d\n", i);
    }
    command_done(lines, ARGS("send", "bar"));
    command_done(NULL, ARGS("consume", "bar", "--exit-when-empty", "--", "sh", "-c", "exit 65"));
    char *seen = command_shown(ARGS("dead", "requeue", "bar", "--all", "--rate", "100"));
    assert_non_null(strstr(seen, "%  requeued "));
    assert_non_null(strstr(seen, "requeued 80\r\n"));
    free(seen);
    /* How many have this reason is not known before all were looked at. */
    command_done(NULL, ARGS("consume", "bar", "--exit-when-empty", "--", "sh", "-c",
                            "read line; [ \"$line\" -ge 50 ] || echo low >&2; exit 65"));
    seen = command_shown(ARGS("dead", "requeue", "bar", "--reason", "low", "--rate", "60"));
    assert_null(strchr(seen, '%'));
    assert_non_null(strstr(seen, "\rrequeued "));
    assert_non_null(strstr(seen, "requeued 40\r\n"));
    free(seen);
}

static void test_purge_of_dead_letters_needs_a_yes(void **state)
{
    create_dead("sure", "keyed");
    command_refused(64, "--yes", NULL, ARGS("dead", "purge", "sure", "--all"));
    assert_int_equal(command_at_terminal("n\n", ARGS("dead", "purge", "sure", "--all")), 1);
    assert_int_equal(command_stat("sure", "dead"), 3);
    json_t *answer =
        command_json(NULL, ARGS("dead", "purge", "sure", "--reason", "65", "--yes", "--json"));
    assert_members(answer, ARGS("purged"));
    assert_int_equal(json_number(answer, "purged"), 1);
    json_decref(answer);
    assert_int_equal(command_at_terminal("y\n", ARGS("dead", "purge", "sure", "--all")), 0);
    assert_int_equal(command_stat("sure", "dead"), 0);
    command_refused(1, "sure", NULL, ARGS("dead", "purge", "sure", "--id", "a1", "--yes"));
}

static void test_purge_of_what_waits(void **state)
{
    create_dead("mixed", "inline");
    command_done("x1\nx2\ny1\n", ARGS("send", "mixed", "--delay", "1h"));
    command_refused(64, "--yes", NULL, ARGS("purge", "mixed", "--state", "waiting"));
    assert_said(ARGS("purge", "mixed", "--state", "waiting", "--match", "x", "--yes"),
                "purged 2\n");
    assert_int_equal(command_stat("mixed", "waiting"), 1);
    assert_int_equal(command_stat("mixed", "dead"), 3);
    assert_int_equal(command_at_terminal("no\n", ARGS("purge", "mixed", "--state", "dead")), 1);
    assert_said(ARGS("purge", "mixed", "--state", "waiting,dead", "--yes"), "purged 4\n");
    assert_int_equal(command_stat("mixed", "dead"), 0);
    command_refused(1, "nowhere", NULL, ARGS("purge", "nowhere", "--state", "dead", "--yes"));
    command_refused(1, "nowhere", NULL, ARGS("dead", "purge", "nowhere", "--all", "--yes"));
}

struct falling {
    const char *topic, *count;
    json_int_t from;
};

static bool has_fallen(void *arg)
{
    const struct falling *falling = arg;

    return command_stat(falling->topic, falling->count) < falling->from;
}

/* By its rate it would take minutes; Ctrl-C ends it after some, and they are counted. */
static void interrupt(const char *const *arguments, struct falling *falling, const char *said)
{
    struct run run;
    char wanted[80];

    command_start(&run, NULL, arguments);
    assert_true(wait_until(has_fallen, falling, TIMEOUT_MS));
    run_signal(&run, SIGINT);
    assert_true(run_wait(&run, TIMEOUT_MS));
    const json_int_t left = command_stat(falling->topic, falling->count);
    assert_true(left > 0);
    snprintf(wanted, sizeof(wanted), "%s %d", said, (int) (falling->from - left));
    assert_refused(&run, 128 + SIGINT, wanted);
    run_fini(&run);
}

static void test_an_interrupt_tells_what_was_done(void **state)
{
    struct falling waiting = {"slow", "waiting", 200};
    struct falling dead = {"slow", "dead", 200};
    char lines[200 * 4 + 1] = "";

    command_done(NULL, ARGS("topic", "create", "slow", "--type", "priority", "--slots", "1"));
    for (int i = 100; i < 300; i++) {
        snprintf(lines + strlen(lines), 5, "%d\n", i);
    }
    command_done(lines, ARGS("send", "slow"));
    command_done(NULL, ARGS("consume", "slow", "--exit-when-empty", "--threads", "4", "--", "sh",
                            "-c", "exit 65"));
    interrupt(ARGS("dead", "requeue", "slow", "--all", "--rate", "1"), &dead,
              "interrupted; requeued");
    command_done(NULL, ARGS("dead", "requeue", "slow", "--all"));
    interrupt(ARGS("purge", "slow", "--state", "waiting", "--rate", "1", "--yes"), &waiting,
              "interrupted; purged");
}

TEST_GROUP(dead)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some_are_listed_and_sent_back),
        cmocka_unit_test(test_those_of_exactly_one_reason),
        cmocka_unit_test(test_a_limit_bounds_a_requeue),
        cmocka_unit_test(test_a_terminal_sees_a_bar),
        cmocka_unit_test(test_purge_of_dead_letters_needs_a_yes),
        cmocka_unit_test(test_purge_of_what_waits),
        cmocka_unit_test(test_an_interrupt_tells_what_was_done),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
