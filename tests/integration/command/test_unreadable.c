/* test_unreadable.c - a topic whose definition cannot be read: it is named, and all others are
 * shown. */
#include "command.h"
#include "support/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void define(const char *name, const char *definition)
{
    char key[32];

    command_done(NULL, ARGS("topic", "create", name, "--type", "priority", "--slots", "2"));
    if (definition != NULL) {
        snprintf(key, sizeof(key), "topic{%s}", name);
        command_redis(servers_node(command_servers(), 0),
                      ARGS("HSET", key, "definition", definition));
    }
}

static int set_up(void **state)
{
    if (command_setup_with(&(struct servers_options){.redis = REDIS_SINGLE}) != 0) {
        return -1;
    }
    define("broken", "nonsense");
    define("foreign", NULL);
    define("good", NULL);
    define("newer", "format=99 type=priority");
    define("well", NULL);
    command_redis(servers_node(command_servers(), 0), ARGS("DEL", "topic{foreign}"));
    command_redis(servers_node(command_servers(), 0), ARGS("SET", "topic{foreign}", "precious"));
    return 0;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (; (text = strchr(text, '\n')) != NULL; text++) {
        count++;
    }
    return count;
}

/* Run it: exit code 1, and one line for each of the three.  Its standard output, to be freed. */
static char *partly_done(const char *const *words)
{
    struct run run;
    char *out;

    command_run(&run, NULL, words);
    if (run.exit_code != 1 || count_lines(run.err) != 3) {
        fail_msg("%s %s: exit code %d, and said: %s", words[0], words[1], run.exit_code, run.err);
    }
    assert_non_null(strstr(run.err, "topic broken cannot be read"));
    assert_non_null(strstr(run.err, "the key topic{foreign} holds something else"));
    assert_non_null(strstr(run.err, "topic newer was made by a newer slotmq"));
    out = strdup(run.out);
    assert_non_null(out);
    run_fini(&run);
    return out;
}

static void tables_show_the_others(void **state)
{
    const char *const *const commands[] = {
        ARGS("topic", "list"),
        ARGS("stat", "-q"),
        ARGS("stat", "--slots"),
        ARGS("top", "--count", "2", "--interval", "100ms"),
    };

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char *out = partly_done(commands[i]);

        assert_non_null(strstr(out, "\ngood "));
        assert_non_null(strstr(out, "\nwell "));
        assert_null(strstr(out, "broken"));
        assert_null(strstr(out, "foreign"));
        assert_null(strstr(out, "newer"));
        free(out);
    }
}

static void json_has_the_others(void **state)
{
    const struct {
        const char *const *command;
        const char *name;
    } cases[] = {{ARGS("topic", "list", "--json"), "name"},
                 {ARGS("stat", "--json"), "topic"},
                 {ARGS("top", "--json", "--count", "1"), "topic"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *out = partly_done(cases[i].command);
        json_t *document = json_loads(out, 0, NULL);
        json_t *topics = json_object_get(document, "topics");

        assert_int_equal(json_array_size(topics), 2);
        assert_string_equal(json_text(json_array_get(topics, 0), cases[i].name), "good");
        assert_string_equal(json_text(json_array_get(topics, 1), cases[i].name), "well");
        json_decref(document);
        free(out);
    }
}

static void prometheus_names_them(void **state)
{
    char *out = partly_done(ARGS("stat", "--prometheus"));

    assert_non_null(strstr(out, "slotmq_topic_unreadable{topic=\"broken\"} 1\n"));
    assert_non_null(strstr(out, "slotmq_topic_unreadable{topic=\"foreign\"} 1\n"));
    assert_non_null(strstr(out, "slotmq_topic_unreadable{topic=\"newer\"} 1\n"));
    assert_non_null(strstr(out, "slotmq_topic_unreadable{topic=\"good\"} 0\n"));
    assert_non_null(strstr(out, "slotmq_topic_messages_waiting{topic=\"well\"} 0\n"));
    assert_null(strstr(out, "slotmq_topic_messages_waiting{topic=\"broken\"}"));
    free(out);
}

TEST_GROUP(unreadable)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_show_the_others),
        cmocka_unit_test(json_has_the_others),
        cmocka_unit_test(prometheus_names_them),
    };

    return cmocka_run_group_tests_name("unreadable", tests, set_up, command_teardown);
}
