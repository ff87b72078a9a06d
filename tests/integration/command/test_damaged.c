/* test_damaged.c - topics of which Redis has lost a part: what the verbs show of them, and their
 * repair. */
#include "command.h"
#include "support/group.h"
#include "terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void redis_cli(const char *const *words)
{
    command_redis(servers_node(command_servers(), 0), words);
}

/* Topics: whole, slot (without the keys of its slot 1), and lost (without topic{lost}). */
static int set_up(void **state)
{
    static const char *const names[] = {"lost", "slot", "whole"};

    if (command_setup_with(&(struct servers_options){.redis = REDIS_SINGLE}) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        command_done(NULL, ARGS("topic", "create", names[i], "--type", "priority", "--slots", "2"));
    }
    command_done("a\nb\nc\n", ARGS("send", "lost"));
    redis_cli(ARGS("DEL", "topic{lost}"));
    redis_cli(
        ARGS("DEL", "slot_1", "prepare{slot_1}", "dead{slot_1}", "why{slot_1}", "slot{slot_1}"));
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
    char *out = command_out(NULL, ARGS("topic", "list"));

    assert_state(out, "lost", "damaged");
    assert_state(out, "whole", " - ");
    free(out);
    out = command_out(NULL, ARGS("topic", "list", "--json"));
    json_t *lost = topic_at(out, 0);
    json_t *whole = topic_at(out, 2);
    assert_true(json_is_true(json_object_get(lost, "damaged")));
    assert_true(json_is_false(json_object_get(whole, "damaged")));
    json_decref(lost);
    json_decref(whole);
    free(out);
    out = command_out(NULL, ARGS("topic", "show", "lost"));
    assert_state(out, "damaged", "true");
    free(out);
    out = command_out(NULL, ARGS("topic", "show", "whole"));
    assert_state(out, "damaged", "false");
    free(out);
    json_t *shown = command_json(NULL, ARGS("topic", "show", "lost", "--json"));
    assert_true(json_is_true(json_object_get(shown, "damaged")));
    json_decref(shown);
}

static void test_stat_names_what_is_damaged_and_counts_the_rest(void **state)
{
    char *out = command_partly(1, "slot 1 of topic slot", ARGS("stat", "slot"));

    assert_state(out, "slot", "damaged");
    free(out);
    out = command_partly(1, "slotmq topic repair lost", ARGS("stat"));
    assert_state(out, "slot", "damaged");
    assert_state(out, "whole", "unowned");
    free(out);
    out = command_partly(1, "slot 1 of topic slot", ARGS("stat", "slot", "--json"));
    json_t *topic = topic_at(out, 0);
    assert_int_equal(json_number(topic, "slots_damaged"), 1);
    assert_int_equal(json_number(topic, "slots_silent"), 0);
    json_decref(topic);
    free(out);
    command_refused(1, "slotmq topic repair lost", NULL, ARGS("stat", "lost"));
}

/* As without the option: the text is whole, and what is damaged is named. */
static void test_prometheus_names_what_is_damaged(void **state)
{
    char *out = command_partly(1, "slot 1 of topic slot", ARGS("stat", "--prometheus"));

    assert_non_null(strstr(out, "\nslotmq_topic_slots_damaged{topic=\"slot\"} 1\n"));
    assert_non_null(strstr(out, "\nslotmq_topic_slots_damaged{topic=\"lost\"} 2\n"));
    assert_non_null(strstr(out, "\nslotmq_topic_slots_damaged{topic=\"whole\"} 0\n"));
    assert_non_null(strstr(out, "\nslotmq_topic_unreadable{topic=\"whole\"} 0\n"));
    free(out);
    free(command_partly(1, "slotmq topic repair lost", ARGS("stat", "--prometheus")));
    out = command_partly(1, "slot 1 of topic slot", ARGS("stat", "slot", "--prometheus"));
    assert_non_null(strstr(out, "\nslotmq_topic_slots_damaged{topic=\"slot\"} 1\n"));
    free(out);
    free(command_out(NULL, ARGS("stat", "whole", "--prometheus")));
}

static void test_top_shows_what_is_damaged(void **state)
{
    char *out = command_partly(1, "slotmq topic repair slot", ARGS("top", "slot", "--count", "1"));

    assert_state(out, "slot", "damaged");
    free(out);
    out = command_partly(1, "slotmq topic repair lost", ARGS("top", "--count", "1", "--json"));
    json_t *topic = topic_at(out, 0);
    assert_string_equal(json_text(topic, "topic"), "slot");
    assert_int_equal(json_number(topic, "slots_damaged"), 1);
    assert_int_equal(json_number(topic, "slots_silent"), 0);
    json_decref(topic);
    free(out);
    command_refused(1, "slotmq topic repair lost", NULL, ARGS("top", "lost", "--count", "1"));
}

/* On the screen, and again when it is gone. */
static void test_top_says_on_a_screen_how_to_repair(void **state)
{
    static const char slot[] = "topic slot has 1 damaged slot: run slotmq topic repair slot\r\n";
    static const char lost[] = ": run slotmq topic repair lost\r\n";
    struct terminal terminal;

    terminal_start(&terminal, terminal_wide, NULL, "1h");
    terminal_await(&terminal, slot);
    terminal_await(&terminal, lost);
    terminal_type(&terminal, "q");
    terminal_end(&terminal, 1);
    const char *after = strstr(terminal.shown, "\033[?1049l");
    assert_non_null(after);
    assert_non_null(strstr(after, slot));
    assert_non_null(strstr(after, lost));
}

static void test_top_names_a_lost_definition_once(void **state)
{
    struct run run;

    command_run(&run, NULL, ARGS("top", "--count", "3", "--interval", "100ms"));
    assert_int_equal(run.exit_code, 1);
    const char *said = strstr(run.err, "slotmq topic repair lost");
    assert_non_null(said);
    assert_null(strstr(said + 1, "slotmq topic repair lost"));
    run_fini(&run);
}

static void test_a_key_of_another_type_is_named(void **state)
{
    static const char *const verbs[] = {"stat", "peek", "top"};

    redis_cli(ARGS("SET", "topic{foreign}", "precious"));
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        command_refused(64, "the key topic{foreign} holds something else", NULL,
                        ARGS(verbs[i], "foreign"));
    }
    command_refused(64, "the key topic{foreign} holds something else", NULL,
                    ARGS("topic", "repair", "foreign"));
}

/* The last test: the topics are whole then. */
static void test_repair_says_what_it_did(void **state)
{
    char *err = command_err(NULL, ARGS("topic", "repair", "slot"));

    assert_string_equal(
        err, "topic slot is repaired: slot 1 had lost its keys and is open again\n"
             "schedules of slots that had lost their keys are lost, too: slotmq schedule "
             "put brings them back from a backup\n");
    free(err);
    /* what is lost is named, also when all else is whole */
    free(command_partly(1, "slotmq topic repair lost", ARGS("top", "--count", "1")));
    free(command_partly(1, "slotmq topic repair lost", ARGS("stat")));
    json_t *report = command_json(NULL, ARGS("topic", "repair", "lost", "--json"));
    assert_members(report, ARGS("topic", "repaired", "restored", "lost_alteration",
                                "slots_reopened", "adopted", "text"));
    assert_true(json_is_true(json_object_get(report, "restored")));
    assert_int_equal(json_number(report, "adopted"), 3);
    json_decref(report);
    err = command_err(NULL, ARGS("topic", "repair", "lost"));
    assert_string_equal(err, "topic lost is whole: nothing to repair\n");
    free(err);
    command_done(NULL, ARGS("stat"));
    command_done(NULL, ARGS("top", "--count", "1"));
    command_refused(1, "nowhere", NULL, ARGS("topic", "repair", "nowhere"));
}

/* Those of the other slot are as they were. */
static void test_the_schedules_of_a_lost_slot_are_put_again(void **state)
{
    enum { MANY = 8 };
    char name[8], counts[64];
    size_t lost = 0;

    command_done(NULL, ARGS("topic", "create", "ticks", "--type", "priority", "--slots", "2"));
    for (int i = 0; i < MANY; i++) {
        (void) snprintf(name, sizeof(name), "s%d", i);
        command_done(NULL, ARGS("schedule", "put", "ticks", name, "x", "--every", "1d", "-q"));
    }
    char *backup = command_out(NULL, ARGS("schedule", "list", "ticks", "--json"));
    for (const char *at = backup; (at = strstr(at, "\"slot\":1")) != NULL; at++) {
        lost++;
    }
    assert_in_range(lost, 1, MANY - 1);
    redis_cli(ARGS("DEL", "ticks_1", "prepare{ticks_1}", "dead{ticks_1}", "why{ticks_1}",
                   "slot{ticks_1}", "schedule{ticks_1}"));
    char *err = command_err(NULL, ARGS("topic", "repair", "ticks"));
    assert_non_null(strstr(err, "schedules of slots that had lost their keys are lost, too"));
    free(err);
    err = command_err(backup, ARGS("schedule", "put", "ticks"));
    (void) snprintf(counts, sizeof(counts), "same %zu made %zu changed 0 restarted 0\n",
                    MANY - lost, lost);
    assert_ptr_equal(strstr(err, counts), err);
    free(err);
    free(backup);
}

TEST_GROUP(damaged)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_and_show_say_that_the_definition_is_lost),
        cmocka_unit_test(test_stat_names_what_is_damaged_and_counts_the_rest),
        cmocka_unit_test(test_prometheus_names_what_is_damaged),
        cmocka_unit_test(test_top_shows_what_is_damaged),
        cmocka_unit_test(test_top_names_a_lost_definition_once),
        cmocka_unit_test(test_top_says_on_a_screen_how_to_repair),
        cmocka_unit_test(test_a_key_of_another_type_is_named),
        cmocka_unit_test(test_repair_says_what_it_did),
        cmocka_unit_test(test_the_schedules_of_a_lost_slot_are_put_again),
    };

    return cmocka_run_group_tests_name("damaged", tests, set_up, command_teardown);
}
