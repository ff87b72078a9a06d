/* test_usage.c - wrong command lines, help and version: nothing here needs a server. */
#include "command.h"
#include "support/group.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *arguments[8];
    const char *said; /* a part of it */
} wrong[] = {
    {{NULL}, "no verb given; see slotmq --help"},
    {{"publish"}, "unknown verb \"publish\""},
    {{"topics"}, "did you mean \"topic\"?"},
    {{"topic"}, "topic needs a second word: create, list, "},
    {{"topic", "lst"}, "did you mean \"topic list\"?"},
    {{"dead", "burn"}, "after dead comes list, requeue or purge"},
    {{"help", "nothing"}, "unknown verb \"nothing\""},
    {{"completion", "csh"}, "give bash, zsh or fish"},
    {{"--bogus"}, "unknown flag --bogus; see slotmq --help"},
    {{"send", "t", "--dely", "5"},
     "unknown flag --dely; did you mean --delay? See slotmq send --help"},
    {{"topic", "create", "t", "--retries", "5"},
     "unknown flag --retries; did you mean --max-retries? See slotmq topic create --help\n"},
    {{"topic", "alter", "t", "--max-retries", "5"},
     "unknown flag --max-retries; see slotmq topic alter --help\n"},
    {{"top", "--once"}, "unknown flag --once; see slotmq top --help\n"},
    {{"send", "t", "x", "-y"}, "unknown flag -y; see slotmq send --help\n"},
    {{"topic", "list", "-5"}, "unknown flag -5; see slotmq topic list --help\n"},
    {{"send", "t", "--key"}, "--key needs a value"},
    {{"send", "t", "--delay", "soon"}, "a duration such as 500ms, 30s or 5m"},
    {{"send", "t", "--at", "1.5"}, "--at \"1.5\" cannot be used"},
    {{"send", "t", "--key-field", "0"}, "at least 1"},
    {{"send", "t", "--key", "a", "--key-field", "1"}, "give one"},
    {{"send", "t", "--delay", "1s", "--at", "1"}, "give one"},
    {{"send", "t", "x", "--file", "f"}, "give one"},
    {{"send", "t", "x", "--id", "i", "--id-field", "1"}, "give one"},
    {{"send", "t", "--id", "i"}, "give its BODY"},
    {{"send", "t", "x", "--ttl", "0"}, "--ttl \"0\" cannot be used"},
    {{"send", "t", "x", "--retries", "64"}, "0 to 63"},
    {{"send"}, "send needs NAME"},
    {{"send", "t", "one", "two"}, "does not take \"two\""},
    {{"topic", "create", "t", "--type", "lifo"}, "range_merge, priority, fixed_time, fifo"},
    {{"topic", "create", "t", "--type", "priority", "--slots", "0"}, "1 to 65536"},
    {{"topic", "create", "t", "--type", "priority", "--slots", "65537"}, "1 to 65536"},
    {{"topic", "create", "t", "--type", "priority", "--max-retries", "64"}, "0 to 63"},
    {{"topic", "create", "t", "--type", "priority", "--ties", "odd"}, "arrival, bytes"},
    {{"topic", "show"}, "topic show needs NAME"},
    {{"topic", "list", "t"}, "does not take \"t\""},
    {{"consume", "t", "--json", "--", "cat"}, "--json"},
    {{"consume", "t", "--"}, "no program follows --"},
    {{"consume", "t", "--count", "0"}, "--count \"0\" cannot be used"},
    {{"consume", "t", "--batch", "1001"}, "1 to 1000"},
    {{"consume", "t", "--rate", "0"}, "--rate \"0\" cannot be used"},
    {{"consume", "t", "--max-in-flight", "many"}, "--max-in-flight \"many\""},
    {{"consume", "t", "--handler-timeout", "0"}, "--handler-timeout \"0\""},
    {{"consume", "t", "--drain-timeout", "2d"}, "0 to 1d"},
    {{"dead", "requeue", "t"}, "needs --all"},
    {{"dead", "requeue", "t", "--limit", "5"}, "needs --all"},
    {{"dead", "requeue", "t", "--all", "--reason", "x"}, "--all leaves nothing out"},
    {{"dead", "requeue", "t", "--all", "--reason-is", ""}, "--all leaves nothing out"},
    {{"dead", "list", "t", "--reason", "x", "--reason-is", "x"}, "give one"},
    {{"peek", "t", "--reason", "x", "--reason-is", ""}, "give one"},
    {{"dead", "requeue", "t", "--key", "k", "--reason", "x"}, "--key goes with an id"},
    {{"dead", "requeue", "t", "--all", "--rate", "0"}, "--rate \"0\" cannot be used"},
    {{"dead", "purge", "t", "--yes"}, "needs --all"},
    {{"dead", "purge", "t", "--all"}, "give --yes"},
    {{"dead", "list", "t", "--older-than", "0"}, "--older-than \"0\""},
    {{"purge", "t"}, "purge needs --state"},
    {{"peek", "t", "-H", "a=1", "-H", "b=1"}, "--header is given twice"},
    {{"copy", "t", "u", "-H", "a=1", "-H", "b=1"}, "--header is given twice"},
    {{"dead", "list", "t", "-H", "a=1", "-H", "b=1"}, "--header is given twice"},
    {{"purge", "t", "--state", "dead", "-H", "a=1", "-H", "b=1"}, "--header is given twice"},
    {{"purge", "t", "--state", "waiting"}, "give --yes"},
    {{"purge", "t", "--state", "claimed", "--yes"}, "claimed messages cannot be purged"},
    {{"purge", "t", "--state", "waitin", "--yes"}, "waiting, claimed, resting, dead"},
    {{"peek", "t", "--state", ""}, "waiting, claimed, resting, dead"},
    {{"peek", "t", "--limit", "0"}, "at least 1"},
    {{"get", "t"}, "get needs the id of a message; see slotmq get --help"},
    {{"get", "t", "i", "--id", "i"}, "the id is given twice, as \"i\" and by --id; give one"},
    {{"dead", "list", "t", "i", "--id", "j"}, "the id is given twice"},
    {{"dead", "list", "t", "--key", "k"}, "--key goes with an id"},
    {{"rank", "t", "i", "j"}, "does not take \"j\""},
    {{"remove", "t", "--key", "k"}, "remove needs the id of a message"},
    {{"reschedule", "t", "i"}, "needs one of --delay, --at and --priority"},
    {{"reschedule", "t", "i", "--delay", "1s", "--at", "1"}, "needs one of"},
    {{"topic", "alter", "t"}, "topic alter needs NAME KEY=VALUE..."},
    {{"topic", "alter", "t", "slots"}, "give KEY=VALUE"},
    {{"topic", "alter", "t", "max_retrys=5"}, "did you mean \"max_retries\"?"},
    {{"pause"}, "pause needs NAME"},
    {{"\xc2\x9b"
      "31m"},
     "unknown verb \"\\xc2\\x9b31m\""},
    {{"send", "p", "-5"}, "-- -5"},
    {{"send", "p", "---"}, "-- ---"},
    {{"topic", "list"}, "use -r host:port,... or the variable SLOTMQ_REDIS"},
    {{"topic", "--json", "list"}, "SLOTMQ_REDIS"},
    {{"stat", "--prometheus", "--json"}, "without --json"},
    {{"stat", "--prometheus", "--slots"}, "without --slots"},
    {{"top", "--interval", "99ms"}, "--interval"},
    {{"top", "--count", "0"}, "--count \"0\" cannot be used"},
    {{"top", "a", "b"}, "does not take \"b\""},
    {{"-r", "", "stat"}, "SLOTMQ_REDIS"},
    {{"-X", "request_timeout", "stat"}, "give KEY=VALUE"},
    {{"-X", "request_timeout=5s", "stat"}, "did you mean \"request_timeout_ms\"?"},
    {{"-X", "request_timeout_ms=soon", "stat"}, "a duration such as 500ms, 30s or 5m"},
    {{"stat", "-X", "redis="}, "SLOTMQ_REDIS"},
};

static void test_wrong_command_lines_say_what_to_do(void **state)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        command_refused(64, wrong[i].said, NULL, wrong[i].arguments);
    }
}

static void test_a_program_that_is_missing_is_told_before_anything_else(void **state)
{
    command_refused(66, "cannot run /no/such/program", NULL,
                    ARGS("consume", "t", "--", "/no/such/program"));
    command_refused(66, "cannot run no-such-program", NULL,
                    ARGS("consume", "t", "--", "no-such-program"));
}

static void test_a_file_that_is_missing_is_told_before_anything_else(void **state)
{
    command_refused(66, "cannot read /no/such/file", NULL,
                    ARGS("send", "t", "--file", "/no/such/file"));
}

static void test_an_empty_key_is_bad_data(void **state)
{
    command_refused(65, "empty key", NULL, ARGS("send", "t", "body", "--key", ""));
    command_refused(65, "empty id", NULL, ARGS("send", "t", "body", "--id", ""));
}

static void assert_help(const char *const *arguments, const char *wanted)
{
    struct run run;

    command_run(&run, NULL, arguments);
    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.err, "");
    if (!strstr(run.out, wanted)) {
        fail_msg("\"%s\" is not in: %s", wanted, run.out);
    }
    run_fini(&run);
}

static void test_help_is_a_result(void **state)
{
    assert_help(ARGS("--help"), "topic create");
    assert_help(ARGS("-h"), "topic create");
    assert_help(ARGS("help"), "topic create");
    assert_help(ARGS("help", "send"), "--key-field N");
    assert_help(ARGS("send", "--help"), "--key-field N");
    assert_help(ARGS("--help", "send"), "--key-field N");
    assert_help(ARGS("topic", "create", "--help"), "--max-retries N");
    assert_help(ARGS("topic", "--help"), "topic show");
    assert_help(ARGS("help", "topic"), "topic show");
    assert_help(ARGS("help", "topic", "create"), "--max-retries N");
    assert_help(ARGS("consume", "--help"), "[-- CMD ARG...]");
}

static void test_version_is_that_of_the_library(void **state)
{
    assert_help(ARGS("--version"), "slotmq 0.");
    assert_help(ARGS("stat", "--version"), "slotmq 0.");
}

TEST_GROUP(usage)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_command_lines_say_what_to_do),
        cmocka_unit_test(test_a_program_that_is_missing_is_told_before_anything_else),
        cmocka_unit_test(test_a_file_that_is_missing_is_told_before_anything_else),
        cmocka_unit_test(test_an_empty_key_is_bad_data),
        cmocka_unit_test(test_help_is_a_result),
        cmocka_unit_test(test_version_is_that_of_the_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
