/* test_topic.c - topic create, list, show and delete. */
#include "command.h"
#include "support/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

static const char *const topic_members[] = {"name",
                                            "type",
                                            "layout",
                                            "slots",
                                            "shared",
                                            "ties",
                                            "max_retries",
                                            "backoff",
                                            "lease_ms",
                                            "delay_ms",
                                            "takeover",
                                            "takeover_replicas",
                                            "debounce_ms",
                                            "ttl_ms",
                                            "expired_to_dead",
                                            "skip_failed",
                                            "max_body",
                                            "max_waiting",
                                            "rate_per_s",
                                            "dedup_window_ms",
                                            "groups",
                                            "expires_ms",
                                            "expires_with_messages",
                                            "format",
                                            "whole_max",
                                            "paused",
                                            "damaged",
                                            NULL};

static bool has_topic(const char *name)
{
    json_t *document = command_json(NULL, ARGS("topic", "list", "--json"));
    json_t *topics = json_object_get(document, "topics");
    size_t index = 0;
    json_t *topic = NULL;
    bool found = false;

    assert_true(json_is_array(topics));
    json_array_foreach(topics, index, topic)
    {
        assert_members(topic, topic_members);
        found = found || strcmp(json_text(topic, "name"), name) == 0;
    }
    json_decref(document);
    return found;
}

/* The first test: nothing was created yet. */
static void test_that_there_are_no_topics_is_said(void **state)
{
    const char *const *const calls[] = {ARGS("topic", "list"), ARGS("stat"),
                                        ARGS("stat", "--slots")};

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        char *err = command_err(NULL, calls[i]);
        assert_string_equal(err, "there are no topics; slotmq topic create makes one\n");
        free(err);
    }
    char *err = command_err(NULL, ARGS("topic", "list", "-q"));
    assert_string_equal(err, "");
    free(err);
    char *out = command_out(NULL, ARGS("topic", "list", "--json"));
    assert_string_equal(out, "{\"topics\":[]}\n");
    free(out);
}

static void test_defaults_are_filled_in(void **state)
{
    command_done(NULL, ARGS("topic", "create", "plain", "--type", "priority"));
    json_t *topic = command_json(NULL, ARGS("topic", "show", "plain", "--json"));
    assert_members(topic, topic_members);
    assert_string_equal(json_text(topic, "name"), "plain");
    assert_string_equal(json_text(topic, "type"), "priority");
    assert_int_equal(json_number(topic, "slots"), 64);
    assert_true(json_is_false(json_object_get(topic, "shared")));
    assert_string_equal(json_text(topic, "ties"), "arrival");
    assert_int_equal(json_number(topic, "max_retries"), 16);
    assert_string_equal(json_text(topic, "backoff"), "exp:1000:600000");
    assert_int_equal(json_number(topic, "lease_ms"), 30000);
    assert_int_equal(json_number(topic, "delay_ms"), 0);
    assert_string_equal(json_text(topic, "takeover"), "fast");
    assert_string_equal(json_text(topic, "layout"), "inline");
    assert_int_equal(json_number(topic, "debounce_ms"), 0);
    assert_int_equal(json_number(topic, "ttl_ms"), 0);
    assert_true(json_is_false(json_object_get(topic, "expired_to_dead")));
    assert_true(json_is_false(json_object_get(topic, "skip_failed")));
    assert_int_equal(json_number(topic, "max_body"), 65536);
    assert_int_equal(json_number(topic, "max_waiting"), 0);
    assert_int_equal(json_number(topic, "rate_per_s"), 0);
    json_decref(topic);
}

static void test_a_name_alone_is_a_job_queue(void **state)
{
    command_done(NULL, ARGS("topic", "create", "jobs"));
    json_t *topic = command_json(NULL, ARGS("topic", "show", "jobs", "--json"));
    assert_string_equal(json_text(topic, "type"), "fixed_time");
    assert_string_equal(json_text(topic, "layout"), "keyed");
    json_decref(topic);
    command_done(NULL, ARGS("send", "jobs", "twice"));
    command_done(NULL, ARGS("send", "jobs", "twice"));
    char *out = command_out(NULL, ARGS("consume", "jobs", "--exit-when-empty"));
    assert_string_equal(out, "twice\ntwice\n");
    free(out);
}

static void test_every_flag_is_stored(void **state)
{
    json_t *topic = command_json(NULL, ARGS("topic", "create", "all", "--type", "range_merge",
                                            "--slots", "8", "--shared", "--max-retries", "0",
                                            "--backoff", "ladder:1,20,300", "--lease", "5s",
                                            "--delay", "250ms", "--takeover", "strict", "--json"));
    assert_members(topic, topic_members);
    assert_string_equal(json_text(topic, "type"), "range_merge");
    assert_int_equal(json_number(topic, "slots"), 8);
    assert_true(json_is_true(json_object_get(topic, "shared")));
    assert_int_equal(json_number(topic, "max_retries"), 0);
    assert_string_equal(json_text(topic, "backoff"), "ladder:1,20,300");
    assert_int_equal(json_number(topic, "lease_ms"), 5000);
    assert_int_equal(json_number(topic, "delay_ms"), 250);
    assert_string_equal(json_text(topic, "takeover"), "strict");
    json_decref(topic);
    topic = command_json(
        NULL, ARGS("topic", "create", "bytes", "--type", "priority", "--ties", "bytes", "--json"));
    assert_string_equal(json_text(topic, "ties"), "bytes");
    json_decref(topic);
}

static void test_every_flag_of_layout_keyed_is_stored(void **state)
{
    json_t *topic =
        command_json(NULL, ARGS("topic", "create", "keyed", "--type", "range_merge", "--layout",
                                "keyed", "--debounce", "1m", "--ttl", "1d", "--expired-to-dead",
                                "--max-body", "5000", "--max-waiting", "1000", "--rate", "200",
                                "--expires", "1h", "--expires-with-messages", "--json"));
    assert_string_equal(json_text(topic, "layout"), "keyed");
    assert_int_equal(json_number(topic, "debounce_ms"), 60000);
    assert_int_equal(json_number(topic, "ttl_ms"), 86400000);
    assert_true(json_is_true(json_object_get(topic, "expired_to_dead")));
    assert_int_equal(json_number(topic, "max_body"), 5000);
    assert_int_equal(json_number(topic, "max_waiting"), 1000);
    assert_int_equal(json_number(topic, "rate_per_s"), 200);
    assert_int_equal(json_number(topic, "expires_ms"), 3600000);
    assert_true(json_is_true(json_object_get(topic, "expires_with_messages")));
    json_decref(topic);
    topic = command_json(
        NULL, ARGS("topic", "create", "fifo", "--type", "fifo", "--skip-failed", "--json"));
    assert_string_equal(json_text(topic, "type"), "fifo");
    assert_string_equal(json_text(topic, "layout"), "keyed");
    assert_true(json_is_true(json_object_get(topic, "skip_failed")));
    json_decref(topic);
}

static void test_options_that_do_not_go_together_are_refused(void **state)
{
    static const struct {
        const char *arguments[10];
        const char *said;
    } rows[] = {
        {{"topic", "create", "no", "--type", "range_merge", "--debounce", "5s"}, "debounce"},
        {{"topic", "create", "no", "--type", "priority", "--layout", "keyed", "--debounce", "5s"},
         "debounce"},
        {{"topic", "create", "no", "--type", "range_merge", "--ttl", "5s"}, "ttl"},
        {{"topic", "create", "no", "--type", "priority", "--layout", "keyed", "--ttl", "0"},
         "--ttl \"0\" cannot be used"},
        {{"topic", "create", "no", "--type", "priority", "--skip-failed"}, "skip_failed"},
        {{"topic", "create", "no", "--type", "fifo", "--shared"}, "shared"},
        {{"topic", "create", "no", "--type", "priority", "--shared", "--rate", "5"}, "rate"},
        {{"topic", "create", "no", "--type", "priority", "--max-body", "65537"}, "max_body"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(64, rows[i].said, NULL, rows[i].arguments);
    }
    assert_false(has_topic("no"));
}

static void test_the_same_again_is_fine_another_names_the_difference(void **state)
{
    static const struct {
        const char *arguments[10];
        const char *said;
    } rows[] = {
        {{"topic", "create", "again", "--type", "priority", "--slots", "16"}, "slots"},
        {{"topic", "create", "again", "--type", "fixed_time", "--slots", "8"}, "type"},
        {{"topic", "create", "again", "--type", "priority", "--slots", "8", "--shared"}, "shared"},
    };
    const char *const *same =
        ARGS("topic", "create", "again", "--type", "priority", "--slots", "8");

    command_done(NULL, same);
    command_done(NULL, same);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(73, rows[i].said, NULL, rows[i].arguments);
    }
    command_done(NULL, same);
}

/* A service that ensures its topic at start must not fail because an operator altered it. */
static void test_what_may_be_altered_does_not_make_a_creation_fail(void **state)
{
    const char *const *create = ARGS("topic", "create", "altered", "--type", "priority", "--slots",
                                     "8", "--max-retries", "3");

    command_done(NULL, create);
    command_done(NULL, ARGS("topic", "alter", "altered", "max_retries=5"));
    char *said = command_err(NULL, create);
    assert_string_equal(said, "topic altered is ready: max_retries is 5, not 3 (it is not changed: "
                              "see topic alter)\n");
    free(said);
    json_t *topic = command_json(
        NULL, ARGS("topic", "create", "altered", "--type", "priority", "--slots", "8", "--json"));
    assert_int_equal(json_number(topic, "max_retries"), 5);
    json_decref(topic);
}

static void test_list_holds_what_exists(void **state)
{
    assert_false(has_topic("listed"));
    command_done(NULL, ARGS("topic", "create", "listed", "--type", "fixed_time"));
    assert_true(has_topic("listed"));
    char *table = command_out(NULL, ARGS("topic", "list"));
    assert_non_null(strstr(table, "listed"));
    assert_non_null(strstr(table, "fixed_time"));
    free(table);
    command_done(NULL, ARGS("topic", "delete", "listed"));
    assert_false(has_topic("listed"));
}

static void test_delete_keeps_messages_unless_forced(void **state)
{
    command_done(NULL, ARGS("topic", "create", "full", "--type", "priority"));
    command_done(NULL, ARGS("send", "full", "precious"));
    command_refused(1, "topic full still holds 1 messages; consume them, or give --force\n", NULL,
                    ARGS("topic", "delete", "full"));
    assert_int_equal(command_stat("full", "waiting"), 1);
    command_refused(64, "--yes", NULL, ARGS("topic", "delete", "full", "--force"));
    assert_int_equal(command_stat("full", "waiting"), 1);
    json_t *answer =
        command_json(NULL, ARGS("topic", "delete", "full", "--force", "--yes", "--json"));
    assert_string_equal(json_text(answer, "deleted"), "full");
    json_decref(answer);
    command_refused(1, "full", NULL, ARGS("topic", "show", "full"));
}

static void test_a_deleted_topic_can_be_created_anew(void **state)
{
    command_done(NULL, ARGS("topic", "create", "anew", "--type", "priority", "--slots", "4"));
    command_done(NULL, ARGS("send", "anew", "old"));
    command_done(NULL, ARGS("topic", "delete", "anew", "--force", "--yes"));
    command_done(NULL, ARGS("topic", "create", "anew", "--type", "fixed_time", "--slots", "2"));
    assert_int_equal(command_stat("anew", "waiting"), 0);
    command_done(NULL, ARGS("send", "anew", "new"));
    assert_int_equal(command_stat("anew", "waiting"), 1);
}

static void test_definitions_that_cannot_be_are_refused_and_nothing_is_made(void **state)
{
    static const char *const rows[][9] = {
        {"topic", "create", "bad name", "--type", "priority"},
        {"topic", "create", "bad{name}", "--type", "priority"},
        {"topic", "create", "", "--type", "priority"},
        {"topic", "create", "odd", "--type", "priority", "--slots", "3"},
        {"topic", "create", "odd", "--type", "priority", "--backoff", "soon"},
        {"topic", "create", "odd", "--type", "priority", "--backoff", "exp:5"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(64, "", NULL, rows[i]);
    }
    assert_false(has_topic("odd"));
}

static void test_a_name_may_have_120_bytes_and_no_more(void **state)
{
    char name[122];

    memset(name, 'n', sizeof(name));
    name[121] = '\0';
    command_refused(64, "120", NULL, ARGS("topic", "create", name, "--type", "priority"));
    name[120] = '\0';
    command_done(NULL, ARGS("topic", "create", name, "--type", "priority", "--slots", "1"));
    command_done(NULL, ARGS("topic", "delete", name));
}

/* Each consumer looks at an empty topic, and ends.  With credentials there is no warning that the
 * nodes in ZooKeeper are open to everyone. */
static void test_a_topic_is_rebound(void **state)
{
    const char *const credentials = "zookeeper_auth=fleet:secret";
    char zookeeper[256];

    snprintf(zookeeper, sizeof(zookeeper), "%s/bound", servers_zookeeper(command_servers()));
    command_done(NULL, ARGS("topic", "create", "bound", "--type", "priority", "--slots", "4"));
    command_done(NULL, ARGS("consume", "bound", "--exit-when-empty"));
    command_refused(
        73, "slotmq topic rebind", NULL,
        ARGS("-z", zookeeper, "-X", credentials, "consume", "bound", "--exit-when-empty"));
    char *err =
        command_err(NULL, ARGS("-z", zookeeper, "-X", credentials, "topic", "rebind", "bound"));
    assert_string_equal(err, "topic bound is rebound\n");
    free(err);
    command_done(NULL,
                 ARGS("-z", zookeeper, "-X", credentials, "consume", "bound", "--exit-when-empty"));
    command_refused(73, "\"redis:/slotmq\"", NULL, ARGS("consume", "bound", "--exit-when-empty"));
    json_t *document = command_json(NULL, ARGS("topic", "rebind", "bound", "--force", "--json"));
    assert_string_equal(json_text(document, "rebound"), "bound");
    json_decref(document);
    command_done(NULL, ARGS("consume", "bound", "--exit-when-empty"));
    command_refused(1, "nowhere", NULL, ARGS("topic", "rebind", "nowhere"));
}

/* As if a producer of a version before 0.3.0 had just sent: its name begins with a hex digit. */
static void old_producer_sends(const char *slot)
{
    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        redisContext *redis =
            redisConnect("127.0.0.1", server_port(servers_node(command_servers(), i)));

        freeReplyObject(redisCommand(redis, "HSET %s P0123456789abcdef 1,1,%lld,a", slot,
                                     (long long) time(NULL) * 1000));
        redisFree(redis);
    }
}

/* Does the hash, of which one of the servers is the master, have that field? */
static bool has_field(const char *key, const char *field)
{
    bool found = false;

    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        redisContext *redis =
            redisConnect("127.0.0.1", server_port(servers_node(command_servers(), i)));
        redisReply *reply = redisCommand(redis, "HEXISTS %s %s", key, field);

        found = found || (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1);
        freeReplyObject(reply);
        redisFree(redis);
    }
    return found;
}

static void topic_has_format(const char *name, int64_t format)
{
    json_t *topic = command_json(NULL, ARGS("topic", "show", name, "--json"));

    assert_int_equal(json_number(topic, "format"), format);
    json_decref(topic);
}

static void is_upgraded(const char *const *arguments, const char *said)
{
    char *err = command_err(NULL, arguments);

    assert_string_equal(err, said);
    free(err);
}

static void test_a_topic_gets_the_newest_format_and_the_one_before_again(void **state)
{
    command_done(NULL, ARGS("topic", "create", "form", "--slots", "1"));
    command_done(NULL, ARGS("send", "form", "four"));
    old_producer_sends("slot{form_0}");
    command_refused(1, "is used by 0 consumers and 1 producers of versions before 0.3.0", NULL,
                    ARGS("topic", "upgrade", "form"));
    is_upgraded(ARGS("topic", "upgrade", "form", "--force", "--dry-run"),
                "topic form can get format 5\n");
    topic_has_format("form", 4);
    is_upgraded(ARGS("topic", "upgrade", "form", "--force"), "topic form has format 5 now\n");
    is_upgraded(ARGS("topic", "upgrade", "form"), "topic form has format 5\n");
    command_done(NULL, ARGS("send", "form", "five", "--key", "k", "--header", "a=b"));
    command_done(NULL, ARGS("send", "form", "mine", "--id", "mine"));
    assert_true(has_field("body{form_0}", "hmine") && !has_field("body{form_0}", "bmine"));
    command_refused(64, "only by slotmq topic upgrade form --back", NULL,
                    ARGS("topic", "alter", "form", "format=4"));
    command_refused(1, "1 messages of topic form are stored as format 5 stores them", NULL,
                    ARGS("topic", "upgrade", "form", "--back"));
    command_refused(1, "run slotmq topic upgrade form --back", NULL,
                    ARGS("topic", "alter", "form", "format=4", "whole_max=256"));
    topic_has_format("form", 5);
    assert_true(has_field("body{form_0}", "bmine"));
    command_done(NULL, ARGS("send", "form", "after", "--id", "after"));
    assert_true(has_field("body{form_0}", "bafter"));
    char *out = command_out(NULL, ARGS("consume", "form", "--exit-when-empty", "--threads", "1"));
    assert_string_equal(out, "four\nfive\nmine\nafter\n");
    free(out);
    is_upgraded(ARGS("topic", "upgrade", "form", "--back"), "topic form has format 4 now\n");
    topic_has_format("form", 4);
}

static void test_the_way_back_looks_into_each_group(void **state)
{
    command_done(NULL, ARGS("topic", "create", "both", "--slots", "1", "--format", "5", "--groups",
                            "done,late"));
    command_done(NULL, ARGS("send", "both", "five"));
    free(command_out(NULL, ARGS("consume", "both/done", "--exit-when-empty")));
    command_refused(1, "1 messages of topic both are stored as format 5 stores them", NULL,
                    ARGS("topic", "upgrade", "both", "--back"));
    command_refused(1, "run slotmq topic upgrade both --back", NULL,
                    ARGS("topic", "alter", "both", "format=4", "whole_max=256"));
    topic_has_format("both", 5);
    free(command_out(NULL, ARGS("consume", "both/late", "--exit-when-empty")));
    is_upgraded(ARGS("topic", "upgrade", "both", "--back"), "topic both has format 4 now\n");
}

/* By key and id, whether it waits, rests or is dead. */
static void test_a_message_of_the_newest_format_is_found_and_moved(void **state)
{
    command_done(NULL, ARGS("topic", "create", "named", "--slots", "1", "--format", "5"));
    command_done(NULL, ARGS("send", "named", "first", "--key", "k", "--ttl", "1h"));
    command_done(NULL, ARGS("send", "named", "second", "--key", "k"));
    json_t *first = command_json(NULL, ARGS("peek", "named", "--json", "--limit", "1"));
    const char *const id = json_text(first, "id");
    assert_string_equal(json_text(first, "body"), "first");
    json_t *found = command_json(NULL, ARGS("get", "named", "--key", "k", "--id", id, "--json"));
    assert_string_equal(json_text(found, "body"), "first");
    assert_int_equal(json_number(found, "expires_at_ms"),
                     json_number(found, "sent_at_ms") + 3600000);
    json_decref(found);
    char *out = command_out(NULL, ARGS("rank", "named", "--key", "k", "--id", id));
    assert_string_equal(out, "0\n");
    free(out);
    command_done(NULL, ARGS("reschedule", "named", "--key", "k", "--id", id, "--delay", "1h"));
    out = command_out(NULL, ARGS("consume", "named", "--count", "1"));
    assert_string_equal(out, "second\n");
    free(out);
    command_done(NULL, ARGS("remove", "named", "--key", "k", "--id", id));
    command_refused(1, "no such message", NULL, ARGS("get", "named", "--key", "k", "--id", id));
    json_decref(first);
}

static void test_an_unknown_topic_is_not_found(void **state)
{
    command_refused(1, "nowhere", NULL, ARGS("topic", "show", "nowhere"));
    command_refused(1, "nowhere", NULL, ARGS("topic", "show", "nowhere", "--json"));
    command_refused(1, "nowhere", NULL, ARGS("topic", "delete", "nowhere"));
}

static void test_a_person_is_asked_before_messages_are_thrown_away(void **state)
{
    const char *const *asked = ARGS("topic", "delete", "asked", "--force");

    command_done(NULL, ARGS("topic", "create", "asked", "--type", "priority"));
    command_done(NULL, ARGS("send", "asked", "precious"));
    assert_int_equal(command_at_terminal("n\n", asked), 1);
    assert_int_equal(command_at_terminal("\n", asked), 1);
    assert_true(has_topic("asked"));
    assert_int_equal(command_at_terminal("y\n", asked), 0);
    assert_false(has_topic("asked"));
    command_done(NULL, ARGS("topic", "create", "asked", "--type", "priority"));
    assert_int_equal(command_at_terminal("", ARGS("topic", "delete", "asked", "--force", "--yes")),
                     0);
}

static void test_bad_names_are_refused_by_every_verb(void **state)
{
    static const char *const rows[][5] = {
        {"topic", "show", "bad name"},
        {"topic", "delete", "bad name"},
        {"send", "bad name", "x"},
        {"consume", "bad name"},
        {"stat", "bad name"},
        {"dead", "list", "bad name"},
        {"dead", "requeue", "bad name", "--all"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(64, "\"bad name\"", NULL, rows[i]);
    }
}

static void test_words_go_to_standard_error(void **state)
{
    struct run run;

    command_run(&run, NULL, ARGS("topic", "create", "words", "--type", "priority"));
    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.out, "");
    assert_string_equal(run.err, "topic words is ready\n");
    run_fini(&run);
    command_run(&run, NULL, ARGS("topic", "delete", "words", "-q"));
    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.err, "");
    run_fini(&run);
}

TEST_GROUP(topic)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_that_there_are_no_topics_is_said),
        cmocka_unit_test(test_defaults_are_filled_in),
        cmocka_unit_test(test_a_name_alone_is_a_job_queue),
        cmocka_unit_test(test_every_flag_is_stored),
        cmocka_unit_test(test_every_flag_of_layout_keyed_is_stored),
        cmocka_unit_test(test_options_that_do_not_go_together_are_refused),
        cmocka_unit_test(test_the_same_again_is_fine_another_names_the_difference),
        cmocka_unit_test(test_what_may_be_altered_does_not_make_a_creation_fail),
        cmocka_unit_test(test_list_holds_what_exists),
        cmocka_unit_test(test_delete_keeps_messages_unless_forced),
        cmocka_unit_test(test_a_deleted_topic_can_be_created_anew),
        cmocka_unit_test(test_definitions_that_cannot_be_are_refused_and_nothing_is_made),
        cmocka_unit_test(test_a_name_may_have_120_bytes_and_no_more),
        cmocka_unit_test(test_a_topic_is_rebound),
        cmocka_unit_test(test_a_topic_gets_the_newest_format_and_the_one_before_again),
        cmocka_unit_test(test_the_way_back_looks_into_each_group),
        cmocka_unit_test(test_a_message_of_the_newest_format_is_found_and_moved),
        cmocka_unit_test(test_an_unknown_topic_is_not_found),
        cmocka_unit_test(test_a_person_is_asked_before_messages_are_thrown_away),
        cmocka_unit_test(test_bad_names_are_refused_by_every_verb),
        cmocka_unit_test(test_words_go_to_standard_error),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
