/* test_keyed.c - layout keyed as the command shows it: ids, times to live, retries of a message. */
#include "command.h"
#include "support/group.h"

#include <stdlib.h>
#include <string.h>

static void create(const char *name, const char *type)
{
    command_done(NULL, ARGS("topic", "create", name, "--type", type, "--layout", "keyed", "--slots",
                            "4", "--backoff", "none"));
}

static json_t *take_one(const char *topic)
{
    return command_json(NULL, ARGS("consume", topic, "--count", "1", "--json"));
}

static void test_the_last_body_of_an_id_wins(void **state)
{
    create("same", "priority");
    char *err = command_err(NULL, ARGS("send", "same", "first", "--id", "i", "--key", "k"));
    assert_string_equal(err, "sent 1 merged 0\n");
    free(err);
    err = command_err(NULL, ARGS("send", "same", "last", "--id", "i", "--key", "k"));
    assert_string_equal(err, "sent 0 merged 1\n");
    free(err);
    json_t *message = take_one("same");
    assert_members(message, command_delivery_members);
    assert_string_equal(json_text(message, "body"), "last");
    assert_string_equal(json_text(message, "id"), "i");
    assert_string_equal(json_text(message, "key"), "k");
    json_decref(message);
}

static void test_an_id_that_the_library_made_is_shown(void **state)
{
    create("made", "priority");
    json_t *sent = command_json(NULL, ARGS("send", "made", "body", "--json"));
    assert_members(sent, ARGS("sent", "merged", "duplicates", "id"));
    json_t *message = take_one("made");
    assert_string_equal(json_text(message, "id"), json_text(sent, "id"));
    json_decref(sent);
    json_decref(message);
    char *err = command_err(NULL, ARGS("send", "made", "body"));
    assert_int_equal(strncmp(err, "id ", 3), 0);
    assert_non_null(strstr(err, "\nsent 1 merged 0\n"));
    free(err);
    json_t *lines =
        command_json("{\"body\":\"one\"}\n{\"body\":\"two\"}\n", ARGS("send", "made", "--json"));
    assert_members(lines, ARGS("sent", "merged", "duplicates"));
    json_decref(lines);
}

static void test_a_field_is_the_id(void **state)
{
    create("fields", "priority");
    char *err = command_err("7 one\n8 two\n7 three\n", ARGS("send", "fields", "--id-field", "1"));
    assert_string_equal(err, "sent 2 merged 1\n");
    free(err);
    command_refused(65, "line 1: there is no such field to be the id", "alone\n",
                    ARGS("send", "fields", "--id-field", "2"));
}

static void test_an_empty_body_is_a_message(void **state)
{
    create("empty", "priority");
    command_done(NULL, ARGS("send", "empty", "", "--id", "i"));
    command_done("\n\n", ARGS("send", "empty"));
    assert_int_equal(command_stat("empty", "waiting"), 3);
    json_t *message = take_one("empty");
    assert_string_equal(json_text(message, "body"), "");
    json_decref(message);
}

static void test_an_expired_message_is_not_delivered(void **state)
{
    create("short", "priority");
    command_done(NULL, ARGS("send", "short", "body", "--id", "i", "--ttl", "1ms"));
    char *out = command_out(NULL, ARGS("consume", "short", "--exit-when-empty"));
    assert_string_equal(out, "");
    free(out);
    assert_int_equal(command_stat("short", "expired"), 1);
}

static void test_a_message_may_have_its_own_retries(void **state)
{
    create("own", "priority");
    command_done(NULL, ARGS("send", "own", "body", "--id", "i", "--retries", "0"));
    command_done(NULL, ARGS("consume", "own", "--exit-when-empty", "--", "false"));
    assert_int_equal(command_stat("own", "dead"), 1);
    assert_int_equal(command_stat("own", "retried"), 0);
}

/* The header of that name in a message; NULL: it has none. */
static const char *header_text(json_t *message, const char *object, const char *name)
{
    return json_string_value(json_object_get(json_object_get(message, object), name));
}

static void test_headers_are_sent_shown_and_matched(void **state)
{
    create("told", "fixed_time");
    command_done(
        NULL, ARGS("send", "told", "body", "--id", "i", "-H", "trace=a=b", "--header", "raw=\xff"));
    command_done("{\"body\":\"line\",\"headers\":{\"trace\":\"c\"},"
                 "\"headers_base64\":{\"raw\":\"AP8=\"}}\n",
                 ARGS("send", "told", "--json", "-H", "other=1"));
    json_t *found = command_json(NULL, ARGS("peek", "told", "--header", "trace=a=b", "--json"));
    assert_string_equal(json_text(found, "body"), "body");
    assert_string_equal(header_text(found, "headers", "trace"), "a=b");
    assert_string_equal(header_text(found, "headers_base64", "raw"), "/w==");
    json_decref(found);
    found = command_json(NULL, ARGS("peek", "told", "--header", "trace=c", "--json"));
    assert_string_equal(json_text(found, "body"), "line");
    assert_string_equal(header_text(found, "headers_base64", "raw"), "AP8=");
    assert_null(header_text(found, "headers", "other"));
    json_decref(found);
    char *out = command_out(NULL, ARGS("peek", "told", "--header", "trace=d", "--json"));
    assert_string_equal(out, "");
    free(out);
    out = command_out(NULL, ARGS("get", "told", "i"));
    assert_non_null(strstr(out, "header trace"));
    free(out);
    command_refused(64, "header slotmq-x: names that begin with slotmq- are kept", NULL,
                    ARGS("send", "told", "body", "-H", "slotmq-x=1"));
    command_refused(64, "--header \"x\" cannot be used; give NAME=VALUE", NULL,
                    ARGS("send", "told", "body", "--header", "x"));
}

/* What is printed comes back by --restore, and copy takes headers along. */
static void test_headers_are_copied_and_restored(void **state)
{
    create("origin", "fixed_time");
    create("target", "fixed_time");
    command_done(NULL, ARGS("send", "origin", "body", "-H", "trace=a", "-H", "raw=\xff"));
    char *lines = command_out(NULL, ARGS("peek", "origin", "--json"));
    command_done(lines, ARGS("send", "target", "--json", "--restore"));
    free(lines);
    json_t *found = take_one("target");
    assert_string_equal(header_text(found, "headers", "trace"), "a");
    assert_string_equal(header_text(found, "headers_base64", "raw"), "/w==");
    json_decref(found);
    command_done(NULL, ARGS("copy", "origin", "target"));
    found = take_one("target");
    assert_string_equal(header_text(found, "headers", "trace"), "a");
    json_decref(found);
}

static void assert_done(const char *const *arguments, const char *done, int64_t count)
{
    json_t *document = command_json(NULL, arguments);

    assert_int_equal(json_integer_value(json_object_get(document, done)), count);
    json_decref(document);
}

/* Of three dead letters those of one tenant are listed, sent back, copied and deleted. */
static void test_a_header_selects_what_is_edited(void **state)
{
    create("tenants", "fixed_time");
    create("elsewhere", "fixed_time");
    command_done(NULL, ARGS("send", "tenants", "1", "-H", "tenant=a", "-H", "trace=1"));
    command_done(NULL, ARGS("send", "tenants", "2", "-H", "tenant=b"));
    command_done(NULL, ARGS("send", "tenants", "3", "-H", "tenant=a"));
    command_done(NULL, ARGS("send", "tenants", "4"));
    command_done(NULL, ARGS("consume", "tenants", "--count", "4", "--", "sh", "-c", "exit 65"));
    json_t *found = command_json(NULL, ARGS("dead", "list", "tenants", "-H", "tenant=b", "--json"));
    assert_string_equal(json_text(found, "body"), "2");
    json_decref(found);
    assert_done(
        ARGS("copy", "tenants", "elsewhere", "--state", "dead", "--header", "tenant=a", "--json"),
        "copied", 2);
    assert_done(ARGS("dead", "requeue", "tenants", "--header", "tenant=a", "--json"), "requeued",
                2);
    assert_done(
        ARGS("purge", "tenants", "--state", "waiting", "--header", "trace=1", "--yes", "--json"),
        "purged", 1);
    assert_done(ARGS("dead", "purge", "tenants", "--header", "tenant=c", "--yes", "--json"),
                "purged", 0);
    assert_done(ARGS("dead", "purge", "tenants", "--header", "tenant=b", "--yes", "--json"),
                "purged", 1);
    assert_int_equal(command_stat("tenants", "waiting"), 1);
    assert_int_equal(command_stat("tenants", "dead"), 1);
    command_done(NULL, ARGS("topic", "create", "headless", "--layout", "inline"));
    command_refused(64, "layout", NULL,
                    ARGS("dead", "requeue", "headless", "--header", "tenant=a"));
}

static void test_fifo_keeps_the_order_of_a_key(void **state)
{
    command_done(NULL, ARGS("topic", "create", "line", "--type", "fifo", "--slots", "4"));
    command_done("k 3\nk 1\nk 2\n", ARGS("send", "line", "--key-field", "1"));
    char *out = command_out(NULL, ARGS("consume", "line", "--exit-when-empty"));
    assert_string_equal(out, "k 3\nk 1\nk 2\n");
    free(out);
    command_refused(64, "fifo needs layout keyed", NULL,
                    ARGS("topic", "create", "other", "--type", "fifo", "--layout", "inline"));
    command_refused(64, "fifo", NULL, ARGS("send", "line", "x", "--priority", "1"));
    command_refused(64, "fifo", NULL, ARGS("send", "line", "x", "--delay", "1s"));
}

static void test_a_full_topic_says_so(void **state)
{
    command_done(NULL, ARGS("topic", "create", "bound", "--type", "priority", "--slots", "1",
                            "--max-waiting", "2"));
    command_refused(75, "line 3: ", "one\ntwo\nthree\n", ARGS("send", "bound"));
    assert_int_equal(command_stat("bound", "waiting"), 2);
}

static void test_a_duplicate_is_refused(void **state)
{
    command_done(NULL, ARGS("topic", "create", "once", "--slots", "1", "--dedup-window", "1h"));
    command_done(NULL, ARGS("send", "once", "first", "--id", "i"));
    json_decref(take_one("once"));
    command_refused(1, "dedup_window_ms", NULL, ARGS("send", "once", "again", "--id", "i"));
    command_refused(1, "sent 1 merged 0 duplicate 2", "i one\nj two\ni three\n",
                    ARGS("send", "once", "--id-field", "1"));
    assert_int_equal(command_stat("once", "duplicates"), 3);
    assert_int_equal(command_stat("once", "waiting"), 1);
    command_done(NULL, ARGS("topic", "alter", "once", "dedup_window_ms=none"));
    command_done(NULL, ARGS("send", "once", "again", "--id", "i"));
    command_refused(64, "dedup_window_ms is for topics of layout keyed, not inline", NULL,
                    ARGS("topic", "create", "never", "--type", "priority", "--dedup-window", "1s"));
}

static void test_layout_inline_has_none_of_these(void **state)
{
    static const struct {
        const char *arguments[6];
        const char *said;
    } rows[] = {
        {{"send", "inline", "x", "--id", "i"}, "it has no --id"},
        {{"send", "inline", "--id-field", "1"}, "it has no --id-field"},
        {{"send", "inline", "x", "--ttl", "1s"}, "it has no --ttl"},
        {{"send", "inline", "x", "--retries", "0"}, "it has no --retries"},
    };

    command_done(NULL, ARGS("topic", "create", "inline", "--type", "priority"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(64, rows[i].said, NULL, rows[i].arguments);
    }
    assert_int_equal(command_stat("inline", "sent"), 0);
}

TEST_GROUP(keyed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_body_of_an_id_wins),
        cmocka_unit_test(test_an_id_that_the_library_made_is_shown),
        cmocka_unit_test(test_a_field_is_the_id),
        cmocka_unit_test(test_an_empty_body_is_a_message),
        cmocka_unit_test(test_an_expired_message_is_not_delivered),
        cmocka_unit_test(test_a_message_may_have_its_own_retries),
        cmocka_unit_test(test_headers_are_sent_shown_and_matched),
        cmocka_unit_test(test_headers_are_copied_and_restored),
        cmocka_unit_test(test_a_header_selects_what_is_edited),
        cmocka_unit_test(test_fifo_keeps_the_order_of_a_key),
        cmocka_unit_test(test_a_full_topic_says_so),
        cmocka_unit_test(test_a_duplicate_is_refused),
        cmocka_unit_test(test_layout_inline_has_none_of_these),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
