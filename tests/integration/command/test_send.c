/* test_send.c - one message, many lines, keys, and what cannot be sent. */
#include "command.h"
#include "support/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_MAX = 65536, KEY_MAX = 1024, MANY = 20000 };

static void create(const char *name, const char *type)
{
    command_done(NULL, ARGS("topic", "create", name, "--type", type, "--slots", "4"));
}

static void assert_counts(const char *in, const char *const *arguments, const char *wanted)
{
    char *err = command_err(in, arguments);

    assert_string_equal(err, wanted);
    free(err);
}

static void test_each_type_takes_its_options(void **state)
{
    create("merge", "range_merge");
    create("urgent", "priority");
    create("timed", "fixed_time");
    assert_counts(NULL, ARGS("send", "merge", "a", "--delay", "1h"), "sent 1 merged 0\n");
    assert_counts(NULL, ARGS("send", "merge", "b", "--delay", "0"), "sent 1 merged 0\n");
    assert_counts(NULL, ARGS("send", "urgent", "a"), "sent 1 merged 0\n");
    assert_counts(NULL, ARGS("send", "urgent", "b", "--priority", "-7"), "sent 1 merged 0\n");
    assert_counts(NULL, ARGS("send", "timed", "a"), "sent 1 merged 0\n");
    assert_counts(NULL, ARGS("send", "timed", "b", "--at", "4102444800000"), "sent 1 merged 0\n");
    assert_counts(NULL, ARGS("send", "timed", "c", "--delay", "1h"), "sent 1 merged 0\n");
    assert_int_equal(command_stat("merge", "waiting"), 2);
    assert_int_equal(command_stat("merge", "due"), 1);
    assert_int_equal(command_stat("urgent", "due"), 2);
    assert_int_equal(command_stat("timed", "waiting"), 3);
    assert_int_equal(command_stat("timed", "due"), 1);
}

static void test_what_waits_is_merged(void **state)
{
    create("twice", "priority");
    assert_counts(NULL, ARGS("send", "twice", "same"), "sent 1 merged 0\n");
    assert_counts(NULL, ARGS("send", "twice", "same", "--priority", "3"), "sent 0 merged 1\n");
    assert_counts("same\nother\nother\n", ARGS("send", "twice"), "sent 1 merged 2\n");
    json_t *counts = command_json("{\"body\":\"same\"}\n{\"body\":\"third\"}\n",
                                  ARGS("send", "twice", "--json"));
    assert_members(counts, ARGS("sent", "merged", "duplicates"));
    assert_int_equal(json_number(counts, "sent"), 1);
    assert_int_equal(json_number(counts, "merged"), 1);
    json_decref(counts);
    char *out = command_out(NULL, ARGS("--json", "send", "twice", "last"));
    assert_string_equal(out, "{\"sent\":1,\"merged\":0,\"duplicates\":0}\n");
    free(out);
    assert_int_equal(command_stat("twice", "sent"), 4);
    assert_int_equal(command_stat("twice", "merged"), 4);
}

static void test_a_topic_may_have_the_delay(void **state)
{
    command_done(NULL, ARGS("topic", "create", "own", "--type", "range_merge", "--delay", "1h"));
    command_done(NULL, ARGS("send", "own", "later"));
    command_done(NULL, ARGS("send", "own", "now", "--delay", "0"));
    assert_int_equal(command_stat("own", "waiting"), 2);
    assert_int_equal(command_stat("own", "due"), 1);
}

static void test_the_delay_of_a_topic_may_be_zero(void **state)
{
    json_t *topic = command_json(
        NULL, ARGS("topic", "create", "zero", "--type", "range_merge", "--delay", "0", "--json"));
    assert_int_equal(json_number(topic, "delay_ms"), 0);
    json_decref(topic);
    command_done(NULL, ARGS("topic", "create", "zero", "--type", "range_merge", "--delay", "0"));
    command_done(NULL, ARGS("send", "zero", "now"));
    assert_int_equal(command_stat("zero", "due"), 1);
    command_done(NULL, ARGS("topic", "alter", "zero", "delay_ms=none"));
    topic = command_json(NULL, ARGS("topic", "show", "zero", "--json"));
    assert_true(json_is_null(json_object_get(topic, "delay_ms")));
    json_decref(topic);
    command_done(NULL, ARGS("send", "zero", "none"));
    command_done(NULL, ARGS("topic", "alter", "zero", "delay_ms=0"));
    command_done(NULL, ARGS("send", "zero", "again"));
    assert_int_equal(command_stat("zero", "due"), 3);
}

/* What a topic does anyway is no option that it does not have. */
static void test_at_once_is_taken_by_every_type(void **state)
{
    static const char *const types[] = {"range_merge", "priority", "fixed_time", "fifo"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        char name[24];

        snprintf(name, sizeof(name), "once-%s", types[i]);
        create(name, types[i]);
        command_done(NULL, ARGS("send", name, "now", "--delay", "0"));
        assert_int_equal(command_stat(name, "waiting"), 1);
        if (i == 3) {
            command_refused(64, "--delay", NULL, ARGS("send", name, "x", "--delay", "1s"));
            command_refused(64, "--delay", NULL, ARGS("reschedule", name, "now", "--delay", "0"));
        }
    }
}

static void test_options_of_another_type_are_refused_even_as_zero(void **state)
{
    static const struct {
        const char *arguments[6];
        const char *said;
    } rows[] = {
        {{"send", "r", "x", "--priority", "0"}, "--priority"},
        {{"send", "r", "x", "--at", "0"}, "--at"},
        {{"send", "o", "x", "--delay", "1ms"}, "--delay"},
        {{"send", "o", "x", "--at", "0"}, "--at"},
        {{"send", "f", "x", "--priority", "0"}, "--priority"},
    };

    create("r", "range_merge");
    create("o", "fifo");
    create("f", "fixed_time");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(64, rows[i].said, NULL, rows[i].arguments);
    }
    assert_int_equal(command_stat("r", "sent"), 0);
    assert_int_equal(command_stat("o", "sent"), 0);
    assert_int_equal(command_stat("f", "sent"), 0);
}

static void test_priorities_beyond_the_range_are_refused(void **state)
{
    create("range", "priority");
    command_done(NULL, ARGS("send", "range", "low", "--priority", "-8191"));
    command_done(NULL, ARGS("send", "range", "high", "--priority", "8191"));
    command_refused(64, "8191", NULL, ARGS("send", "range", "x", "--priority", "8192"));
    command_refused(64, "8191", NULL, ARGS("send", "range", "x", "--priority", "-8192"));
    assert_int_equal(command_stat("range", "waiting"), 2);
    command_done(NULL, ARGS("topic", "create", "wide", "--type", "priority", "--ties", "bytes"));
    command_done(NULL, ARGS("send", "wide", "high", "--priority", "1099511627776"));
    command_refused(64, "1099511627776", NULL,
                    ARGS("send", "wide", "x", "--priority", "1099511627777"));
}

static void test_a_time_may_be_given_as_people_write_it(void **state)
{
    create("alarms", "fixed_time");
    command_done(NULL, ARGS("send", "alarms", "a", "--at", "2100-01-02T03:04:05Z"));
    command_done(NULL, ARGS("send", "alarms", "b", "--delay", "1d"));
    command_done(NULL, ARGS("reschedule", "alarms", "b", "--at", "2100-01-02T04:04:05.25+01:00"));
    const char *const bodies[] = {"a", "b"};
    const json_int_t times[] = {4102542245000, 4102542245250};
    for (size_t i = 0; i < 2; i++) {
        json_t *message = command_json(NULL, ARGS("get", "alarms", bodies[i], "--json"));
        assert_int_equal(json_number(message, "due_at_ms"), times[i]);
        json_decref(message);
    }
    command_refused(64, "with its zone", NULL,
                    ARGS("send", "alarms", "c", "--at", "2100-01-02T03:04:05"));
}

static void test_lines_are_messages(void **state)
{
    create("lines", "priority");
    assert_counts("one\ntwo\nthree without end", ARGS("send", "lines"), "sent 3 merged 0\n");
    assert_counts("", ARGS("send", "lines"), "sent 0 merged 0\n");
    assert_int_equal(command_stat("lines", "waiting"), 3);
}

/* The one message of a topic as `consume --json` shows it. */
static json_t *take_one(const char *topic)
{
    return command_json(NULL, ARGS("consume", topic, "--count", "1", "--json"));
}

static void test_any_bytes_can_be_sent(void **state)
{
    static const char bytes[] = "a\0\xff\n";
    const char *const argv[] = {getenv("SLOTMQ_COMMAND"), "send", "binary", NULL};
    char redis[512];
    struct run run;

    create("binary", "priority");
    snprintf(redis, sizeof(redis), "SLOTMQ_REDIS=%s", servers_redis(command_servers()));
    const char *const environment[] = {redis, NULL};
    assert_true(run_command(
        &run,
        &(struct run_options){.argv = argv, .environment = environment, .in = bytes, .in_len = 4},
        TIMEOUT_MS));
    assert_string_equal(run.err, "sent 1 merged 0\n");
    run_fini(&run);
    json_t *message = take_one("binary");
    assert_string_equal(json_text(message, "body_base64"), "YQD/");
    assert_null(json_object_get(message, "body"));
    json_decref(message);
}

static void test_a_field_is_the_key_and_the_body_stays_whole(void **state)
{
    create("fields", "priority");
    command_done("zsh 5.9 2465\n", ARGS("send", "fields", "--key-field", "1"));
    json_t *by_field = take_one("fields");
    command_done(NULL, ARGS("send", "fields", "other body", "--key", "zsh"));
    json_t *by_key = take_one("fields");
    assert_string_equal(json_text(by_field, "body"), "zsh 5.9 2465");
    assert_int_equal(json_number(by_field, "slot"), json_number(by_key, "slot"));
    json_decref(by_field);
    json_decref(by_key);
}

/* Key of a message: zlib's crc32 of it, of which the lower bits are the slot. */
static void test_the_slot_is_the_crc32_of_the_key(void **state)
{
    command_done(NULL, ARGS("topic", "create", "crc", "--type", "priority", "--slots", "1024"));
    command_done(NULL, ARGS("send", "crc", "body", "--key", "123456789"));
    json_t *message = take_one("crc");
    assert_int_equal(json_number(message, "slot"), 0xcbf43926 & 1023);
    json_decref(message);
}

static void test_the_first_bad_line_ends_it_and_is_named(void **state)
{
    create("bad", "priority");
    command_refused(65, "line 3: ", "one\ntwo\n\nfour\n", ARGS("send", "bad"));
    command_refused(65, "sent 0 merged 2", "one\ntwo\n\nfour\n", ARGS("send", "bad"));
    command_refused(65, "line 2: ", "k one\nkey-alone\n", ARGS("send", "bad", "--key-field", "2"));
    assert_int_equal(command_stat("bad", "waiting"), 3);
    command_refused(65, "empty body", NULL, ARGS("send", "bad", ""));
}

static void test_limits_of_body_and_key(void **state)
{
    char *body = malloc(BODY_MAX + 3);
    char key[KEY_MAX + 2];

    assert_non_null(body);
    memset(body, 'b', BODY_MAX + 2);
    memset(key, 'k', sizeof(key));
    create("limits", "priority");
    body[BODY_MAX + 1] = '\n';
    body[BODY_MAX + 2] = '\0';
    command_refused(65, "line 1: ", body, ARGS("send", "limits", "--key", "k"));
    body[BODY_MAX] = '\n';
    body[BODY_MAX + 1] = '\0';
    assert_counts(body, ARGS("send", "limits", "--key", "k"), "sent 1 merged 0\n");
    key[KEY_MAX + 1] = '\0';
    command_refused(65, "key", NULL, ARGS("send", "limits", "x", "--key", key));
    key[KEY_MAX] = '\0';
    assert_counts(NULL, ARGS("send", "limits", "x", "--key", key), "sent 1 merged 0\n");
    assert_int_equal(command_stat("limits", "waiting"), 2);
    free(body);
}

static void test_an_unknown_topic_is_not_found(void **state)
{
    command_refused(1, "nowhere", NULL, ARGS("send", "nowhere", "x"));
    command_refused(1, "nowhere", "x\n", ARGS("send", "nowhere"));
}

/* A reply that comes too late makes the library send again, which merges: only the sum is sure. */
/* The servers of these tests have no replicas. */
/* A user that may do all but publish, as Redis 7 makes one that is given no channels. */
static void test_a_right_without_which_nobody_is_woken_is_named(void **state)
{
    const struct server *master;
    char servers[128];
    struct run run;

    command_done(NULL, ARGS("topic", "create", "asleep", "--slots", "1"));
    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        command_redis(
            servers_node(command_servers(), i),
            ARGS("ACL", "SETUSER", "app", "on", ">sesame", "~*", "resetchannels", "+@all"));
    }
    master = servers_node_of(command_servers(), "slot{asleep_0}");
    command_redis(master, ARGS("HSET", "slot{asleep_0}", "parked", "9007199254740992"));
    snprintf(servers, sizeof(servers), "redis://app:sesame@%s", server_address(master));
    command_run(&run, NULL, ARGS("send", "-r", servers, "asleep", "x"));
    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.err, "the user lacks the right &wake{asleep_*"));
    assert_non_null(strstr(run.err, "sent 1 merged 0"));
    run_fini(&run);
    command_run(&run, NULL, ARGS("send", "-q", "-r", servers, "asleep", "y"));
    assert_string_equal(run.err, "");
    run_fini(&run);
}

static void test_replicas_that_are_not_there_are_missed(void **state)
{
    create("careful", "fixed_time");
    command_done(NULL, ARGS("send", "careful", "a", "--replicas", "0"));
    command_refused(64, "--replicas", NULL, ARGS("send", "careful", "b", "--replicas", "17"));
    command_refused(69, "it has 0 replicas in sync, but 1 must acknowledge", NULL,
                    ARGS("send", "careful", "b", "--replicas", "1"));
    assert_int_equal(command_stat("careful", "waiting"), 1);
}

static void test_many_lines_are_sent_at_once(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);

    assert_non_null(lines);
    for (int i = 0; i < MANY; i++) {
        (void) fprintf(lines, "key-%d line %d\n", i % 100, i);
    }
    assert_int_equal(fclose(lines), 0);
    command_done(NULL, ARGS("topic", "create", "many", "--type", "range_merge"));
    command_done(text, ARGS("send", "many", "--delay", "0", "--key-field", "1"));
    assert_int_equal(command_stat("many", "sent"), MANY);
    assert_int_equal(command_stat("many", "waiting"), MANY);
    free(text);
}

TEST_GROUP(send)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_type_takes_its_options),
        cmocka_unit_test(test_what_waits_is_merged),
        cmocka_unit_test(test_a_topic_may_have_the_delay),
        cmocka_unit_test(test_the_delay_of_a_topic_may_be_zero),
        cmocka_unit_test(test_at_once_is_taken_by_every_type),
        cmocka_unit_test(test_options_of_another_type_are_refused_even_as_zero),
        cmocka_unit_test(test_priorities_beyond_the_range_are_refused),
        cmocka_unit_test(test_a_time_may_be_given_as_people_write_it),
        cmocka_unit_test(test_lines_are_messages),
        cmocka_unit_test(test_any_bytes_can_be_sent),
        cmocka_unit_test(test_a_field_is_the_key_and_the_body_stays_whole),
        cmocka_unit_test(test_the_slot_is_the_crc32_of_the_key),
        cmocka_unit_test(test_the_first_bad_line_ends_it_and_is_named),
        cmocka_unit_test(test_limits_of_body_and_key),
        cmocka_unit_test(test_an_unknown_topic_is_not_found),
        cmocka_unit_test(test_a_right_without_which_nobody_is_woken_is_named),
        cmocka_unit_test(test_replicas_that_are_not_there_are_missed),
        cmocka_unit_test(test_many_lines_are_sent_at_once),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
