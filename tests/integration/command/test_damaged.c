/* test_damaged.c - topics of which Redis has lost a part: what the verbs show of them, and their
 * repair. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A server of its own, which holds these topics only. */
static struct servers *servers;

static void redis_cli(const char *const *words)
{
    const char *argv[12] = {"redis-cli", "-p"};
    char port[8];
    struct run run;

    snprintf(port, sizeof(port), "%d", server_port(servers_node(servers, 0)));
    argv[2] = port;
    for (size_t i = 0; words[i] != NULL; i++) {
        assert_true(i + 4 < sizeof(argv) / sizeof(argv[0]));
        argv[i + 3] = words[i];
    }
    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
}

#define ON(...) ARGS("-r", servers_redis(servers), __VA_ARGS__)

/* Topics: whole, slot (without the keys of its slot 1), and lost (without topic{lost}). */
static int set_up(void **state)
{
    static const char *const names[] = {"lost", "slot", "whole"};

    (void) state;
    servers = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});
    assert_non_null(servers);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        command_done(NULL, ON("topic", "create", names[i], "--type", "priority", "--slots", "2"));
    }
    command_done("a\nb\nc\n", ON("send", "lost"));
    redis_cli(ARGS("DEL", "topic{lost}"));
    redis_cli(
        ARGS("DEL", "slot_1", "prepare{slot_1}", "dead{slot_1}", "why{slot_1}", "slot{slot_1}"));
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    servers_free(servers);
    return 0;
}

/* The state of a topic in the table that a verb prints. */
static void assert_state(const char *out, const char *topic, const char *state)
{
    char name[32];
    size_t len;

    (void) snprintf(name, sizeof(name), "\n%s ", topic);
    const char *row = strstr(out, name);
    if (row == NULL) {
        fail_msg("no row of %s: %s", topic, out);
        return;
    }
    len = strcspn(row + 1, "\n");
    char *line = strndup(row + 1, len);
    assert_non_null(line);
    if (strstr(line, state) == NULL) {
        fail_msg("not %s: %s", state, line);
    }
    free(line);
}

/* Run it; its standard output, to be freed.  Standard error holds `text`. */
static char *run_out(int code, const char *text, const char *const *arguments)
{
    struct run run;

    command_run(&run, NULL, arguments);
    if (run.exit_code != code || strstr(run.err, text) == NULL) {
        fail_msg("exit code %d, and said: %s", run.exit_code, run.err);
    }
    char *out = strdup(run.out);
    assert_non_null(out);
    run_fini(&run);
    return out;
}

/* Member `index` of "topics". */
static json_t *topic_at(const char *out, size_t index)
{
    json_t *document = json_loads(out, 0, NULL);
    json_t *topic = json_incref(json_array_get(json_object_get(document, "topics"), index));

    assert_non_null(topic);
    json_decref(document);
    return topic;
}

static void test_list_and_show_say_that_the_definition_is_lost(void **state)
{
    char *out = command_out(NULL, ON("topic", "list"));

    (void) state;
    assert_state(out, "lost", "damaged");
    assert_state(out, "whole", " - ");
    free(out);
    out = command_out(NULL, ON("topic", "list", "--json"));
    json_t *lost = topic_at(out, 0);
    json_t *whole = topic_at(out, 2);
    assert_true(json_is_true(json_object_get(lost, "damaged")));
    assert_true(json_is_false(json_object_get(whole, "damaged")));
    json_decref(lost);
    json_decref(whole);
    free(out);
    out = command_out(NULL, ON("topic", "show", "lost"));
    assert_non_null(strstr(out, "damaged"));
    free(out);
    json_t *shown = command_json(NULL, ON("topic", "show", "lost", "--json"));
    assert_true(json_is_true(json_object_get(shown, "damaged")));
    json_decref(shown);
}

static void test_stat_names_what_is_damaged_and_counts_the_rest(void **state)
{
    char *out = run_out(1, "slot 1 of topic slot", ON("stat", "slot"));

    (void) state;
    assert_state(out, "slot", "damaged");
    free(out);
    out = run_out(1, "slotmq topic repair lost", ON("stat"));
    assert_state(out, "slot", "damaged");
    assert_state(out, "whole", " - ");
    free(out);
    out = run_out(1, "slot 1 of topic slot", ON("stat", "slot", "--json"));
    json_t *topic = topic_at(out, 0);
    assert_int_equal(json_number(topic, "slots_damaged"), 1);
    assert_int_equal(json_number(topic, "slots_silent"), 0);
    json_decref(topic);
    free(out);
    command_refused(1, "slotmq topic repair lost", NULL, ON("stat", "lost"));
}

static void test_top_shows_what_is_damaged(void **state)
{
    char *out = run_out(1, "", ON("top", "slot", "--count", "1"));

    (void) state;
    assert_state(out, "slot", "damaged");
    free(out);
    out = run_out(1, "slotmq topic repair lost", ON("top", "--count", "1", "--json"));
    json_t *topic = topic_at(out, 0);
    assert_string_equal(json_text(topic, "topic"), "slot");
    assert_int_equal(json_number(topic, "slots_damaged"), 1);
    assert_int_equal(json_number(topic, "slots_silent"), 0);
    json_decref(topic);
    free(out);
    command_refused(1, "slotmq topic repair lost", NULL, ON("top", "lost", "--count", "1"));
}

static void test_top_names_a_lost_definition_once(void **state)
{
    struct run run;

    (void) state;
    command_run(&run, NULL, ON("top", "--count", "3", "--interval", "100ms"));
    assert_int_equal(run.exit_code, 1);
    const char *said = strstr(run.err, "slotmq topic repair lost");
    assert_non_null(said);
    assert_null(strstr(said + 1, "slotmq topic repair lost"));
    run_fini(&run);
}

static void test_a_key_of_another_type_is_named(void **state)
{
    static const char *const verbs[] = {"stat", "peek", "top"};

    (void) state;
    redis_cli(ARGS("SET", "topic{foreign}", "precious"));
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        command_refused(64, "the key topic{foreign} holds something else", NULL,
                        ON(verbs[i], "foreign"));
    }
    command_refused(64, "the key topic{foreign} holds something else", NULL,
                    ON("topic", "repair", "foreign"));
}

/* The last test: the topics are whole then. */
static void test_repair_says_what_it_did(void **state)
{
    char *err = command_err(NULL, ON("topic", "repair", "slot"));

    (void) state;
    assert_string_equal(err,
                        "topic slot is repaired: slot 1 had lost its keys and is open again\n");
    free(err);
    json_t *report = command_json(NULL, ON("topic", "repair", "lost", "--json"));
    assert_members(report, ARGS("topic", "repaired", "restored", "lost_alteration",
                                "slots_reopened", "adopted", "text"));
    assert_true(json_is_true(json_object_get(report, "restored")));
    assert_int_equal(json_number(report, "adopted"), 3);
    json_decref(report);
    err = command_err(NULL, ON("topic", "repair", "lost"));
    assert_string_equal(err, "topic lost is whole: nothing to repair\n");
    free(err);
    command_done(NULL, ON("stat"));
    command_done(NULL, ON("top", "--count", "1"));
    command_refused(1, "nowhere", NULL, ON("topic", "repair", "nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_and_show_say_that_the_definition_is_lost),
        cmocka_unit_test(test_stat_names_what_is_damaged_and_counts_the_rest),
        cmocka_unit_test(test_top_shows_what_is_damaged),
        cmocka_unit_test(test_top_names_a_lost_definition_once),
        cmocka_unit_test(test_a_key_of_another_type_is_named),
        cmocka_unit_test(test_repair_says_what_it_did),
    };

    return cmocka_run_group_tests_name("damaged", tests, set_up, tear_down);
}
