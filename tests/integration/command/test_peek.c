/* test_peek.c - messages are seen without being claimed. */
#include "command.h"
#include "support/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bodies that these arguments of peek show, sorted by nothing: as they come. */
static size_t peek_count(const char *const *arguments)
{
    json_t *lines = command_lines(NULL, arguments);
    const size_t count = json_array_size(lines);

    json_decref(lines);
    return count;
}

static void test_peek_shows_what_waits_and_claims_nothing(void **state)
{
    command_create_topic("seen", "priority", "inline");
    command_done("red apple\ngreen pear\nred cherry\n", ARGS("send", "seen", "--priority", "4"));
    json_t *lines = command_lines(NULL, ARGS("peek", "seen", "--json"));
    json_t *message = json_array_get(lines, 0);
    assert_int_equal(json_array_size(lines), 3);
    assert_members(message, command_message_members);
    assert_string_equal(json_text(message, "state"), "waiting");
    assert_int_equal(json_number(message, "priority"), 4);
    assert_int_equal(json_number(message, "attempt"), 0);
    assert_true(json_is_null(json_object_get(message, "key")));
    assert_true(json_is_null(json_object_get(message, "id")));
    json_decref(lines);
    assert_int_equal(peek_count(ARGS("peek", "seen", "--match", "red", "--json")), 2);
    assert_int_equal(peek_count(ARGS("peek", "seen", "--state", "dead", "--json")), 0);
    char *table = command_out(NULL, ARGS("peek", "seen"));
    assert_non_null(strstr(table, "PRIORITY"));
    assert_non_null(strstr(table, "green pear"));
    free(table);
    assert_int_equal(command_stat("seen", "waiting"), 3);
    assert_int_equal(command_stat("seen", "claimed"), 0);
}

static void test_peek_of_nothing_is_a_result(void **state)
{
    command_create_topic("void", "priority", "inline");
    char *out = command_out(NULL, ARGS("peek", "void", "--json"));
    assert_string_equal(out, "");
    free(out);
}

/* Bodies are distinct lines: each is seen once over all pages. */
static void test_pages_go_on_at_the_cursor(void **state)
{
    enum { MANY = 25 };
    bool seen[MANY] = {false};
    char lines[MANY * 4 + 1] = "";
    char cursor[256] = "";
    size_t pages = 0;
    bool more = true;

    command_create_topic("pages", "priority", "inline");
    for (int i = 0; i < MANY; i++) {
        snprintf(lines + strlen(lines), 5, "%d\n", i);
    }
    command_done(lines, ARGS("send", "pages"));
    do {
        json_t *page = command_lines(
            NULL, ARGS("peek", "pages", "--limit", "10", "--json", "--cursor", cursor));
        size_t index = 0;
        json_t *message = NULL;
        json_array_foreach(page, index, message)
        {
            const int number = atoi(json_text(message, "body"));
            assert_true(number >= 0 && number < MANY && !seen[number]);
            seen[number] = true;
            snprintf(cursor, sizeof(cursor), "%s", json_text(message, "cursor"));
        }
        more = index == 10;
        json_decref(page);
        pages++;
    } while (more);
    assert_int_equal(pages, 3);
    for (int i = 0; i < MANY; i++) {
        assert_true(seen[i]);
    }
    char *err = command_err(NULL, ARGS("peek", "pages", "--limit", "10"));
    assert_non_null(strstr(err, "--cursor "));
    free(err);
}

static void test_states_can_be_chosen(void **state)
{
    command_create_topic("states", "fixed_time", "inline");
    command_done("a\nb\n", ARGS("send", "states"));
    command_kill_due("states", "1");
    command_done("later\n", ARGS("send", "states", "--delay", "1h"));
    assert_int_equal(peek_count(ARGS("peek", "states", "--json", "--state", "dead")), 1);
    assert_int_equal(peek_count(ARGS("peek", "states", "--json", "--state", "waiting,dead")), 3);
    assert_int_equal(peek_count(ARGS("peek", "states", "--json", "--state", "claimed,resting")), 0);
}

static void test_what_is_not_there_is_told_in_one_line(void **state)
{
    command_create_topic("gone", "priority", "inline");
    command_refused(1, "nowhere", NULL, ARGS("peek", "nowhere"));
    command_refused(64, "cursor", NULL, ARGS("peek", "gone", "--cursor", "no cursor"));
}

/* `slotmq peek T | head -1`: the reader had enough, which is nobody's fault. */
static void test_a_reader_that_ended_is_no_error_to_tell(void **state)
{
    const char *const *const calls[] = {ARGS("peek", "left"), ARGS("peek", "left", "--json"),
                                        ARGS("stat"), ARGS("dead", "list", "left", "--json"),
                                        ARGS("help")};
    char lines[5000 * 5 + 1];
    char *end = lines;

    for (int i = 1000; i < 6000; i++) {
        end += sprintf(end, "%d\n", i);
    }
    command_done(NULL, ARGS("topic", "create", "left", "--type", "priority", "--slots", "2"));
    command_done(lines, ARGS("send", "left"));
    command_done(NULL, ARGS("consume", "left", "--count", "1", "--", "sh", "-c", "exit 65"));
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        char *err = command_unread(calls[i]);
        assert_string_equal(err, "");
        free(err);
    }
}

/* What senders sent cannot control the terminal of whom looks at it, and is told apart. */
static void test_what_does_not_print_is_escaped(void **state)
{
    command_done(NULL, ARGS("topic", "create", "bytes", "--type", "priority", "--slots", "1"));
    command_done("a\033[1m\xc2\x9b"
                 "31m\n",
                 ARGS("send", "bytes"));
    char *out = command_out(NULL, ARGS("peek", "bytes"));
    assert_non_null(strstr(out, "a\\x1b[1m\\xc2\\x9b31m\n"));
    free(out);
    out = command_out(NULL, ARGS("peek", "bytes", "--json"));
    assert_non_null(strstr(out, "\"a\\u001B[1m\\u009B31m\""));
    free(out);
    command_done(NULL, ARGS("topic", "create", "nul", "--type", "priority", "--slots", "1"));
    struct run run;
    const char *const argv[] = {getenv("SLOTMQ_COMMAND"), "send", "nul", NULL};
    char redis[512];
    snprintf(redis, sizeof(redis), "SLOTMQ_REDIS=%s", servers_redis(command_servers()));
    const char *const environment[] = {redis, NULL};
    assert_true(
        run_command(&run,
                    &(struct run_options){
                        .argv = argv, .environment = environment, .in = "n\0l\n", .in_len = 4},
                    TIMEOUT_MS));
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
    out = command_out(NULL, ARGS("peek", "nul"));
    assert_non_null(strstr(out, "n\\x00l\n"));
    free(out);
}

TEST_GROUP(peek)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peek_shows_what_waits_and_claims_nothing),
        cmocka_unit_test(test_peek_of_nothing_is_a_result),
        cmocka_unit_test(test_pages_go_on_at_the_cursor),
        cmocka_unit_test(test_states_can_be_chosen),
        cmocka_unit_test(test_what_is_not_there_is_told_in_one_line),
        cmocka_unit_test(test_a_reader_that_ended_is_no_error_to_tell),
        cmocka_unit_test(test_what_does_not_print_is_escaped),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
