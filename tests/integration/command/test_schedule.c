/* test_schedule.c - schedule put, get, list, remove, pause, resume, run and next. */
#include "command.h"
#include "support/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const schedule_members[] = {
    "topic",      "id",         "cron",    "every_ms", "zone",    "start_at_ms",
    "end_at_ms",  "limit",      "missed",  "ticks",    "paused",  "note",
    "next_at_ms", "last_at_ms", "version", "slot",     "message", NULL};

static void assert_change(const char *const *arguments, const char *change)
{
    json_t *document = command_json(NULL, arguments);

    assert_string_equal(json_text(document, "change"), change);
    json_decref(document);
}

static void test_a_schedule_from_put_to_remove(void **state)
{
    json_t *document, *message;
    char *out;

    command_done(NULL, ARGS("topic", "create", "nightly", "--dedup-window", "1d"));
    assert_change(ARGS("schedule", "put", "nightly", "report", "all", "--cron", "30 2 * * *",
                       "--zone", "Europe/Berlin", "-H", "kind=pdf", "--retries", "3", "--json"),
                  "made");
    assert_change(ARGS("schedule", "put", "nightly", "report", "all", "--cron", "30 2 * * *",
                       "--zone", "Europe/Berlin", "-H", "kind=pdf", "--retries", "3", "--json"),
                  "same");
    assert_change(ARGS("schedule", "put", "nightly", "report", "some", "--cron", "30 2 * * *",
                       "--zone", "Europe/Berlin", "-H", "kind=pdf", "--retries", "3", "--json"),
                  "changed");
    assert_change(
        ARGS("schedule", "put", "nightly", "pulse", "--every", "1d", "--missed", "none", "--json"),
        "made");
    assert_change(ARGS("schedule", "pause", "nightly", "pulse", "until tomorrow", "--json"),
                  "paused");

    document = command_lines(NULL, ARGS("schedule", "list", "nightly", "--json"));
    assert_int_equal(json_array_size(document), 2);
    assert_members(json_array_get(document, 0), schedule_members);
    assert_string_equal(json_text(json_array_get(document, 0), "note"), "until tomorrow");
    assert_string_equal(json_text(json_array_get(document, 1), "zone"), "Europe/Berlin");
    json_decref(document);

    document = command_json(NULL, ARGS("schedule", "get", "nightly", "report", "--json"));
    message = json_object_get(document, "message");
    assert_string_equal(json_text(message, "body"), "some");
    assert_string_equal(json_text(message, "key"), "report");
    assert_int_equal(json_integer_value(json_object_get(message, "max_retries")), 3);
    assert_string_equal(json_text(json_object_get(message, "headers"), "kind"), "pdf");
    json_decref(document);

    assert_change(ARGS("schedule", "run", "nightly", "pulse", "--json"), "run");
    out = command_out(NULL, ARGS("stat", "nightly", "--json"));
    assert_non_null(strstr(out, "\"waiting\":1"));
    free(out);
    assert_change(ARGS("schedule", "resume", "nightly", "pulse", "--json"), "resumed");
    assert_change(ARGS("schedule", "remove", "nightly", "pulse", "--json"), "removed");
    out = command_out(NULL, ARGS("schedule", "list", "nightly"));
    assert_null(strstr(out, "pulse"));
    assert_non_null(strstr(out, "30 2 * * * Europe/Berlin"));
    free(out);
}

static const struct {
    const char *flag, *value, *other, *other_value, *says;
} REFUSED[] = {
    {"--every", "0", "--count", "1", "--every \"0\" cannot be used"},
    {"--every", "99ms", "--count", "1", "100ms to 100000d"},
    {"--every", "1s", "--limit", "99999999999999", "1 to 8796093022208"},
    {"--every", "1s", "--from", "-1", "--from is before 1970"},
    {"--every", "1s", "--start", "99999999999999", "--start is before 1970, or after 2248"},
    {"--start=2026-12-02T00:00:00Z", "--every=1s", "--end", "2026-12-01T00:00:00Z",
     "--end is before --start"},
};

static void test_what_is_wrong_is_said_in_one_line(void **state)
{
    char *err;

    command_done(NULL, ARGS("topic", "create", "forgets"));
    err = command_err(NULL, ARGS("schedule", "put", "forgets", "s", "--every", "1d"));
    assert_non_null(strstr(err, "remembers no ids"));
    free(err);
    command_refused(64, ">>>25<<<", NULL,
                    ARGS("schedule", "put", "forgets", "s", "--cron", "0 25 * * *"));
    command_refused(64, "no such zone", NULL,
                    ARGS("schedule", "next", "--cron", "@daily", "--zone", "Mars/Olympus"));
    command_refused(64, "either --cron or --every", NULL,
                    ARGS("schedule", "put", "forgets", "s", "x"));
    command_refused(1, "no schedule \"other\"", NULL,
                    ARGS("schedule", "remove", "forgets", "other"));
    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
        command_refused(64, REFUSED[i].says, NULL,
                        ARGS("schedule", "next", REFUSED[i].flag, REFUSED[i].value,
                             REFUSED[i].other, REFUSED[i].other_value));
    }
}

static void test_a_time_is_shown_with_its_milliseconds(void **state)
{
    char *out = command_out(NULL, ARGS("schedule", "next", "--every", "750ms", "--count", "2",
                                       "--from", "1774692000000"));

    assert_string_equal(out, "2026-03-28T10:00:00.750Z\n2026-03-28T10:00:01.500Z\n");
    free(out);
}

static void test_what_is_not_utf_8_has_another_form(void **state)
{
    json_t *one;

    command_done(NULL, ARGS("topic", "create", "latin"));
    command_done(NULL, ARGS("schedule", "put", "latin", "caf\xe9", "--every", "1d", "-q"));
    one = command_json(NULL, ARGS("schedule", "list", "latin", "--json"));
    assert_string_equal(json_text(one, "id_base64"), "Y2Fm6Q==");
    assert_null(json_object_get(one, "id"));
    json_decref(one);
}

TEST_GROUP(schedule)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_schedule_from_put_to_remove),
        cmocka_unit_test(test_what_is_wrong_is_said_in_one_line),
        cmocka_unit_test(test_a_time_is_shown_with_its_milliseconds),
        cmocka_unit_test(test_what_is_not_utf_8_has_another_form),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
