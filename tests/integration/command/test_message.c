/* test_message.c - get, rank, remove, reschedule: one message by its id. */
#include "command.h"
#include "support/group.h"

#include <stdlib.h>
#include <string.h>

static void test_get_finds_a_message_in_any_state(void **state)
{
    command_create_topic("found", "fixed_time", "inline");
    command_done(NULL, ARGS("send", "found", "one", "--key", "k", "--at", "4102444800000"));
    json_t *message = command_json(NULL, ARGS("get", "found", "one", "--key", "k", "--json"));
    assert_members(message, command_message_members);
    assert_string_equal(json_text(message, "topic"), "found");
    assert_string_equal(json_text(message, "state"), "waiting");
    assert_string_equal(json_text(message, "body"), "one");
    assert_int_equal(json_number(message, "due_at_ms"), 4102444800000);
    json_decref(message);
    command_done(NULL, ARGS("send", "found", "two"));
    command_kill_due("found", "1");
    message = command_json(NULL, ARGS("get", "found", "two", "--json"));
    assert_string_equal(json_text(message, "state"), "dead");
    assert_string_equal(json_text(message, "reason"), "exit 1");
    assert_int_equal(json_number(message, "attempt"), 1);
    assert_true(json_number(message, "dead_at_ms") > 1000000000000);
    const json_t *tried = json_array_get(json_object_get(message, "tries"), 0);
    assert_string_equal(json_text(tried, "how"), "retried");
    assert_string_equal(json_text(tried, "reason"), "exit 1");
    assert_int_equal(json_number(tried, "at_ms"), json_number(message, "dead_at_ms"));
    json_decref(message);
    char *table = command_out(NULL, ARGS("get", "found", "two"));
    assert_non_null(strstr(table, " retried: exit 1"));
    free(table);
}

/* What is copied from a terminal has no newline that the body has not. */
static void test_get_shows_a_long_body_whole(void **state)
{
    char body[301];

    memset(body, 'b', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    command_create_topic("whole", "fixed_time", "keyed");
    command_done(NULL, ARGS("send", "whole", body, "--id", "i"));
    char *shown = command_drawn(80, ARGS("get", "whole", "i"));
    assert_non_null(strstr(shown, body));
    assert_non_null(strstr(shown, "retries_left"));
    assert_non_null(strstr(shown, "waiting"));
    free(shown);
}

static void test_get_of_a_keyed_message_tells_all(void **state)
{
    command_create_topic("keyed", "priority", "keyed");
    command_done(NULL, ARGS("send", "keyed", "the body", "--id", "i", "--key", "k", "--priority",
                            "-3", "--ttl", "1d", "--retries", "5"));
    json_t *message = command_json(NULL, ARGS("get", "keyed", "i", "--key", "k", "--json"));
    assert_members(message, command_message_members);
    assert_string_equal(json_text(message, "id"), "i");
    assert_string_equal(json_text(message, "key"), "k");
    assert_string_equal(json_text(message, "body"), "the body");
    assert_int_equal(json_number(message, "priority"), -3);
    assert_int_equal(json_number(message, "retries_left"), 5);
    assert_int_equal(json_number(message, "expires_at_ms") - json_number(message, "sent_at_ms"),
                     86400000);
    json_decref(message);
    command_refused(1, "no such message", NULL, ARGS("get", "keyed", "i", "--key", "other"));
}

static void assert_failed_and_rests(const char *topic)
{
    command_done(NULL, ARGS("consume", topic, "--count", "1", "--", "sh", "-c", "exit 3"));
    json_t *message = command_json(NULL, ARGS("get", topic, "one", "--json"));
    assert_members(message, command_message_members);
    assert_string_equal(json_text(message, "state"), "resting");
    assert_string_equal(json_text(message, "reason"), "exit 3");
    assert_int_equal(json_number(message, "attempt"), 1);
    json_decref(message);
    char *table = command_out(NULL, ARGS("get", topic, "one"));
    assert_non_null(strstr(table, "exit 3"));
    free(table);
    table = command_out(NULL, ARGS("peek", topic, "--state", "resting"));
    assert_non_null(strstr(table, "REASON"));
    assert_non_null(strstr(table, "exit 3"));
    free(table);
    table = command_out(NULL, ARGS("peek", topic, "--state", "resting", "--reason", "t 4"));
    assert_null(strstr(table, "one"));
    free(table);
    command_done(NULL, ARGS("purge", topic, "--state", "resting", "--reason", "t 4", "--yes"));
    assert_int_equal(command_stat(topic, "resting"), 1);
    command_done(NULL, ARGS("purge", topic, "--state", "resting", "--reason", "t 3", "--yes"));
    assert_int_equal(command_stat(topic, "resting"), 0);
}

static void test_get_tells_why_a_message_failed_last(void **state)
{
    command_done(NULL, ARGS("topic", "create", "failed", "--type", "fixed_time", "--backoff",
                            "fixed:3600000"));
    command_done(NULL, ARGS("send", "failed", "one"));
    assert_failed_and_rests("failed");
    command_done(NULL, ARGS("topic", "create", "failed_id", "--type", "fixed_time", "--layout",
                            "keyed", "--backoff", "fixed:3600000"));
    command_done(NULL, ARGS("send", "failed_id", "body", "--id", "one"));
    assert_failed_and_rests("failed_id");
}

static void test_bytes_that_are_no_text_come_as_base64(void **state)
{
    command_create_topic("bytes", "priority", "keyed");
    command_done("\xff\xfe\n", ARGS("send", "bytes", "--id-field", "1"));
    json_t *message = command_json(NULL, ARGS("get", "bytes", "\xff\xfe", "--json"));
    assert_string_equal(json_text(message, "body_base64"), "//4=");
    assert_string_equal(json_text(message, "id_base64"), "//4=");
    assert_null(json_object_get(message, "body"));
    json_decref(message);
}

static void assert_rank(const char *topic, const char *id, const char *wanted)
{
    char *out = command_out(NULL, ARGS("rank", topic, id, "--json"));

    assert_string_equal(out, wanted);
    free(out);
}

static void test_rank_counts_what_comes_before(void **state)
{
    command_create_topic("ranks", "priority", "inline");
    command_done(NULL, ARGS("send", "ranks", "low", "--priority", "1"));
    command_done(NULL, ARGS("send", "ranks", "high", "--priority", "9"));
    command_done(NULL, ARGS("send", "ranks", "middle", "--priority", "5"));
    assert_rank("ranks", "high", "{\"rank\":0}\n");
    assert_rank("ranks", "middle", "{\"rank\":1}\n");
    assert_rank("ranks", "low", "{\"rank\":2}\n");
    char *out = command_out(NULL, ARGS("rank", "ranks", "low"));
    assert_string_equal(out, "2\n");
    free(out);
}

static void test_remove_takes_what_waits(void **state)
{
    command_create_topic("removed", "priority", "keyed");
    command_done(NULL, ARGS("send", "removed", "one", "--id", "i", "--key", "k"));
    command_done(NULL, ARGS("send", "removed", "two", "--id", "j"));
    json_t *answer = command_json(NULL, ARGS("remove", "removed", "i", "--key", "k", "--json"));
    assert_members(answer, ARGS("removed"));
    assert_int_equal(json_number(answer, "removed"), 1);
    json_decref(answer);
    char *err = command_err(NULL, ARGS("remove", "removed", "j"));
    assert_string_equal(err, "removed 1\n");
    free(err);
    assert_int_equal(command_stat("removed", "waiting"), 0);
    command_refused(1, "", NULL, ARGS("remove", "removed", "j"));
}

static void test_remove_takes_a_dead_letter(void **state)
{
    command_create_topic("buried", "priority", "inline");
    command_done(NULL, ARGS("send", "buried", "one"));
    command_kill_due("buried", "1");
    command_done(NULL, ARGS("remove", "buried", "one"));
    assert_int_equal(command_stat("buried", "dead"), 0);
}

/* Two customers order the same. */
static void test_a_key_names_one_of_two_with_one_body(void **state)
{
    command_create_topic("orders", "priority", "inline");
    char *err = command_err(NULL, ARGS("send", "orders", "two books", "--key", "customer-1"));
    assert_string_equal(err, "sent 1 merged 0\n");
    free(err);
    err = command_err(NULL, ARGS("send", "orders", "two books", "--key", "customer-2"));
    assert_string_equal(err, "sent 1 merged 0\n");
    free(err);
    char *table = command_out(NULL, ARGS("peek", "orders"));
    assert_non_null(strstr(table, "customer-1"));
    assert_non_null(strstr(table, "customer-2"));
    free(table);
    command_refused(1, "give --key", NULL, ARGS("rank", "orders", "two books"));
    command_done(NULL, ARGS("remove", "orders", "two books", "--key", "customer-2"));
    command_refused(1, "no such message", NULL,
                    ARGS("get", "orders", "two books", "--key", "customer-2"));
    json_t *message =
        command_json(NULL, ARGS("get", "orders", "two books", "--key", "customer-1", "--json"));
    assert_string_equal(json_text(message, "key"), "customer-1");
    assert_string_equal(json_text(message, "body"), "two books");
    json_decref(message);
    command_kill_due("orders", "1");
    command_done(NULL,
                 ARGS("dead", "requeue", "orders", "--id", "two books", "--key", "customer-1"));
    message = command_json(NULL, ARGS("consume", "orders", "--count", "1", "--json"));
    assert_string_equal(json_text(message, "key"), "customer-1");
    assert_string_equal(json_text(message, "body"), "two books");
    json_decref(message);
}

/* The same of two keys: which of them, is not guessed. */
static void assert_which_is_asked(const char *topic, const char *id)
{
    command_refused(1, "give --key b or --key a", NULL, ARGS("get", topic, id));
    command_refused(1, "give --key b or --key a", NULL, ARGS("rank", topic, "--id", id));
    command_refused(1, "give --key b or --key a", NULL,
                    ARGS("reschedule", topic, "--id", id, "--delay", "1h"));
    command_refused(1, "give --key b or --key a", NULL, ARGS("remove", topic, id));
    command_done(NULL, ARGS("get", topic, "--id", id, "--key", "b"));
}

static void assert_named_by_id(const char *topic, const char *layout)
{
    const bool keyed = strcmp(layout, "keyed") == 0;

    command_create_topic(topic, "fixed_time", layout);
    for (const char *const *sent = ARGS("one", "k", "two", "a", "two", "b", "three", "k"); *sent;
         sent += 2) {
        command_done(NULL, keyed ? ARGS("send", topic, "body", "--id", sent[0], "--key", sent[1])
                                 : ARGS("send", topic, sent[0], "--key", sent[1]));
    }
    command_done(NULL, ARGS("get", topic, "one"));
    command_done(NULL, ARGS("get", topic, "--id", "one"));
    command_done(NULL, ARGS("rank", topic, "one"));
    command_done(NULL, ARGS("rank", topic, "--id", "one", "--key", "k"));
    command_done(NULL, ARGS("reschedule", topic, "three", "--delay", "1h"));
    command_done(NULL, ARGS("remove", topic, "--id", "three"));
    command_refused(1, "no message", NULL, ARGS("get", topic, "three"));
    assert_which_is_asked(topic, "two");
    command_kill_due(topic, "3");
    json_t *lines = command_lines(NULL, ARGS("dead", "list", topic, "--id", "one", "--json"));
    assert_int_equal(json_array_size(lines), 1);
    json_decref(lines);
    lines = command_lines(NULL, ARGS("dead", "list", topic, "two", "--json"));
    assert_int_equal(json_array_size(lines), 2);
    json_decref(lines);
    command_refused(1, "give --key b or --key a", NULL, ARGS("dead", "requeue", topic, "two"));
    command_refused(1, "no dead letter of the id \"never\"", NULL,
                    ARGS("dead", "requeue", topic, "never"));
    command_done(NULL, ARGS("dead", "requeue", topic, "one"));
    command_done(NULL, ARGS("dead", "purge", topic, "--id", "two", "--key", "a", "--yes"));
    command_done(NULL, ARGS("dead", "purge", topic, "two", "--yes"));
    assert_int_equal(command_stat(topic, "dead"), 0);
    assert_int_equal(command_stat(topic, "waiting"), 1);
}

/* As a word or as --id, with its key and without. */
static void test_each_verb_finds_a_message_by_its_id_alone(void **state)
{
    assert_named_by_id("by_id", "keyed");
    assert_named_by_id("by_body", "inline");
}

static void test_a_claimed_message_is_left_alone(void **state)
{
    struct run run;

    command_create_topic("busy", "priority", "inline");
    command_done(NULL, ARGS("send", "busy", "one"));
    command_start(&run, NULL,
                  ARGS("consume", "busy", "-X", "name=worker-1", "--", "sh", "-c",
                       "echo begun; exec sleep 1000"));
    assert_true(run_wait_out(&run, "begun\n", TIMEOUT_MS));
    command_refused(75, "", NULL, ARGS("remove", "busy", "one"));
    command_refused(75, "", NULL, ARGS("reschedule", "busy", "one", "--priority", "3"));
    json_t *message = command_json(NULL, ARGS("get", "busy", "one", "--json"));
    assert_string_equal(json_text(message, "state"), "claimed");
    assert_true(json_number(message, "lease_at_ms") > 1000000000000);
    assert_int_equal(json_number(message, "attempt"), 1);
    assert_string_equal(json_text(message, "claimed_by"), "worker-1");
    json_decref(message);
    run_fini(&run);
}

static void test_reschedule_gives_another_priority(void **state)
{
    command_create_topic("moved", "priority", "inline");
    command_done("a\nb\n", ARGS("send", "moved", "--priority", "2"));
    json_t *answer =
        command_json(NULL, ARGS("reschedule", "moved", "b", "--priority", "7", "--json"));
    assert_int_equal(json_number(answer, "rescheduled"), 1);
    json_decref(answer);
    assert_rank("moved", "b", "{\"rank\":0}\n");
    json_t *message = command_json(NULL, ARGS("get", "moved", "b", "--json"));
    assert_int_equal(json_number(message, "priority"), 7);
    json_decref(message);
}

static void test_reschedule_gives_another_time(void **state)
{
    command_create_topic("timed", "fixed_time", "keyed");
    command_done(NULL, ARGS("send", "timed", "x", "--id", "i", "--delay", "1h"));
    command_done(NULL, ARGS("reschedule", "timed", "i", "--at", "4102444800000"));
    json_t *message = command_json(NULL, ARGS("get", "timed", "i", "--json"));
    assert_int_equal(json_number(message, "due_at_ms"), 4102444800000);
    json_decref(message);
    command_done(NULL, ARGS("reschedule", "timed", "i", "--at", "0"));
    assert_int_equal(command_stat("timed", "due"), 1);
    command_done(NULL, ARGS("reschedule", "timed", "i", "--delay", "1h"));
    assert_int_equal(command_stat("timed", "due"), 0);
    command_done(NULL, ARGS("reschedule", "timed", "i", "--delay", "0"));
    assert_int_equal(command_stat("timed", "due"), 1);
}

static void test_reschedule_refuses_what_the_topic_has_not(void **state)
{
    command_create_topic("range", "priority", "inline");
    command_done("a\n", ARGS("send", "range"));
    command_refused(64, "8191", NULL, ARGS("reschedule", "range", "a", "--priority", "8192"));
    command_refused(1, "", NULL, ARGS("reschedule", "range", "b", "--priority", "1"));
    command_done(NULL, ARGS("topic", "create", "line", "--type", "fifo"));
    command_refused(64, "fifo", NULL, ARGS("reschedule", "line", "b", "--priority", "1"));
    command_refused(64, "it has no --delay", NULL,
                    ARGS("reschedule", "line", "b", "--delay", "1s"));
    command_refused(64, "it has no --at", NULL, ARGS("reschedule", "line", "b", "--at", "0"));
}

static void assert_place(const char *topic, const char *id, int64_t priority, int64_t due_at_ms)
{
    json_t *message = command_json(NULL, ARGS("get", topic, id, "--json"));

    assert_string_equal(json_text(message, "state"), "waiting");
    assert_int_equal(json_number(message, "priority"), priority);
    assert_int_equal(json_number(message, "due_at_ms"), due_at_ms);
    json_decref(message);
}

/* A flag that is not given leaves the priority, or the time, as it is. */
static void test_priority_and_time_are_rescheduled_each_by_itself(void **state)
{
    command_create_topic("both", "priority", "keyed");
    command_done(
        NULL, ARGS("send", "both", "x", "--id", "i", "--priority", "5", "--at", "4102444800000"));
    assert_place("both", "i", 5, 4102444800000);
    command_done(NULL, ARGS("reschedule", "both", "i", "--priority", "7"));
    assert_place("both", "i", 7, 4102444800000);
    command_done(NULL, ARGS("reschedule", "both", "i", "--at", "4102444900000"));
    assert_place("both", "i", 7, 4102444900000);
    assert_int_equal(command_stat("both", "waiting"), 1);
    assert_int_equal(command_stat("both", "due"), 0);
    command_done(NULL, ARGS("reschedule", "both", "i", "--delay", "0", "--priority", "2"));
    assert_place("both", "i", 2, 0);
    assert_int_equal(command_stat("both", "due"), 1);
    command_done(NULL, ARGS("reschedule", "both", "i", "--delay", "1h"));
    assert_int_equal(command_stat("both", "due"), 0);
    command_done(NULL, ARGS("remove", "both", "i"));
    assert_int_equal(command_stat("both", "waiting"), 0);
}

static void test_what_is_not_there_is_told_in_one_line(void **state)
{
    command_create_topic("gone", "priority", "inline");
    command_refused(1, "topic gone has no message of the id \"nothing\"", NULL,
                    ARGS("get", "gone", "nothing"));
    command_refused(1, "", NULL, ARGS("get", "gone", "nothing", "--json"));
    command_refused(1, "", NULL, ARGS("rank", "gone", "nothing", "--json"));
    command_refused(1, "nowhere", NULL, ARGS("get", "nowhere", "x"));
    command_refused(1, "nowhere", NULL, ARGS("rank", "nowhere", "x"));
    command_refused(1, "nowhere", NULL, ARGS("remove", "nowhere", "x"));
    command_refused(1, "nowhere", NULL, ARGS("reschedule", "nowhere", "x", "--delay", "1s"));
    command_refused(64, "", NULL, ARGS("get", "gone", ""));
}

TEST_GROUP(message)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get_finds_a_message_in_any_state),
        cmocka_unit_test(test_get_shows_a_long_body_whole),
        cmocka_unit_test(test_get_of_a_keyed_message_tells_all),
        cmocka_unit_test(test_get_tells_why_a_message_failed_last),
        cmocka_unit_test(test_bytes_that_are_no_text_come_as_base64),
        cmocka_unit_test(test_rank_counts_what_comes_before),
        cmocka_unit_test(test_remove_takes_what_waits),
        cmocka_unit_test(test_remove_takes_a_dead_letter),
        cmocka_unit_test(test_a_key_names_one_of_two_with_one_body),
        cmocka_unit_test(test_each_verb_finds_a_message_by_its_id_alone),
        cmocka_unit_test(test_a_claimed_message_is_left_alone),
        cmocka_unit_test(test_reschedule_gives_another_priority),
        cmocka_unit_test(test_reschedule_gives_another_time),
        cmocka_unit_test(test_reschedule_refuses_what_the_topic_has_not),
        cmocka_unit_test(test_priority_and_time_are_rescheduled_each_by_itself),
        cmocka_unit_test(test_what_is_not_there_is_told_in_one_line),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
