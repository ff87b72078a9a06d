/* test_alter.c - topic alter, pause, resume. */
#include "command.h"
#include "support/group.h"

#include <stdlib.h>
#include <string.h>

static void create(const char *name, const char *layout)
{
    command_done(NULL, ARGS("topic", "create", name, "--type", "priority", "--layout", layout,
                            "--slots", "4"));
}

static void test_an_option_is_altered(void **state)
{
    create("altered", "keyed");
    char *err = command_err(NULL, ARGS("topic", "alter", "altered", "max_retries=5"));
    assert_string_equal(err, "topic altered is altered\n");
    free(err);
    json_t *topic = command_json(NULL, ARGS("topic", "alter", "altered", "lease_ms=1m", "--json"));
    assert_int_equal(json_number(topic, "max_retries"), 5);
    assert_int_equal(json_number(topic, "lease_ms"), 60000);
    json_decref(topic);
    command_done(NULL, ARGS("topic", "alter", "altered", "ttl_ms=1h"));
    command_done(NULL, ARGS("topic", "alter", "altered", "ttl_ms=none"));
    command_done(NULL, ARGS("topic", "alter", "altered", "expired_to_dead=true"));
    command_done(NULL, ARGS("topic", "alter", "altered", "max_retries=0"));
    command_done(NULL, ARGS("topic", "alter", "altered", "backoff=fixed:5", "lease_ms=2m"));
    topic = command_json(NULL, ARGS("topic", "show", "altered", "--json"));
    assert_int_equal(json_number(topic, "ttl_ms"), 0);
    assert_int_equal(json_number(topic, "max_retries"), 0);
    assert_true(json_is_true(json_object_get(topic, "expired_to_dead")));
    assert_string_equal(json_text(topic, "backoff"), "fixed:5");
    assert_int_equal(json_number(topic, "lease_ms"), 120000);
    json_decref(topic);
}

static void test_what_cannot_be_altered_is_told_and_nothing_changes(void **state)
{
    static const struct {
        const char *pair, *said;
    } rows[] = {
        {"max_retrys=5", "did you mean \"max_retries\"?"},
        {"max_retries=64", "0 to 63"},
        {"max_retries", "give KEY=VALUE"},
        {"=5", "option"},
        {"slots=8", "slots is fixed"},
        {"type=fifo", "type is fixed"},
        {"ttl_ms=0", "ttl_ms"},
        {"ttl_ms=1h", "ttl_ms"},
        {"delay_ms=5s", "delay_ms"},
        {"paused=true", "paused"},
    };

    create("stays", "inline");
    char *before = command_out(NULL, ARGS("topic", "show", "stays"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(64, rows[i].said, NULL, ARGS("topic", "alter", "stays", rows[i].pair));
    }
    char *after = command_out(NULL, ARGS("topic", "show", "stays"));
    assert_string_equal(after, before);
    free(before);
    free(after);
    command_refused(1, "nowhere", NULL, ARGS("topic", "alter", "nowhere", "max_retries=5"));
}

static void test_a_paused_topic_is_not_consumed(void **state)
{
    struct run run;

    create("rests", "inline");
    char *err = command_err(NULL, ARGS("pause", "rests"));
    assert_string_equal(err, "topic rests is paused\n");
    free(err);
    command_done("one\n", ARGS("send", "rests"));
    command_start(&run, NULL, ARGS("consume", "rests", "--count", "1", "-v"));
    assert_true(run_wait_err(&run, "slotmq: paused", TIMEOUT_MS));
    assert_int_equal(command_stat("rests", "waiting"), 1);
    json_t *topic = command_json(NULL, ARGS("topic", "show", "rests", "--json"));
    assert_true(json_is_true(json_object_get(topic, "paused")));
    json_decref(topic);
    json_t *answer = command_json(NULL, ARGS("resume", "rests", "--json"));
    assert_members(answer, ARGS("topic", "paused"));
    assert_true(json_is_false(json_object_get(answer, "paused")));
    json_decref(answer);
    command_end(&run);
    assert_string_equal(run.out, "one\n");
    run_fini(&run);
    command_refused(1, "nowhere", NULL, ARGS("pause", "nowhere"));
    command_refused(1, "nowhere", NULL, ARGS("resume", "nowhere"));
}

TEST_GROUP(alter)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_option_is_altered),
        cmocka_unit_test(test_what_cannot_be_altered_is_told_and_nothing_changes),
        cmocka_unit_test(test_a_paused_topic_is_not_consumed),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
