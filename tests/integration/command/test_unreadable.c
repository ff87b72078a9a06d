/* test_unreadable.c - a topic whose definition cannot be read: it is named, and all others are
 * shown. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A server of its own, as others count topics on theirs. */
static struct servers *servers;

static void redis_cli(const char *const *words)
{
    const char *argv[8] = {"redis-cli", "-p"};
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

static void define(const char *name, const char *definition)
{
    char key[32];

    command_done(NULL, ARGS("-r", servers_redis(servers), "topic", "create", name, "--type",
                            "priority", "--slots", "2"));
    if (definition != NULL) {
        snprintf(key, sizeof(key), "topic{%s}", name);
        redis_cli(ARGS("HSET", key, "definition", definition));
    }
}

static int set_up(void **state)
{
    (void) state;
    servers = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});
    assert_non_null(servers);
    define("broken", "nonsense");
    define("foreign", NULL);
    define("good", NULL);
    define("newer", "format=99 type=priority");
    define("well", NULL);
    redis_cli(ARGS("DEL", "topic{foreign}"));
    redis_cli(ARGS("SET", "topic{foreign}", "precious"));
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    servers_free(servers);
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
    const char *arguments[8] = {"-r", servers_redis(servers)};
    struct run run;
    char *out;

    for (size_t i = 0; words[i] != NULL; i++) {
        assert_true(i + 3 < sizeof(arguments) / sizeof(arguments[0]));
        arguments[i + 2] = words[i];
    }
    command_run(&run, NULL, arguments);
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

    (void) state;
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

    (void) state;
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

    (void) state;
    assert_non_null(strstr(out, "slotmq_topic_unreadable{topic=\"broken\"} 1\n"));
    assert_non_null(strstr(out, "slotmq_topic_unreadable{topic=\"foreign\"} 1\n"));
    assert_non_null(strstr(out, "slotmq_topic_unreadable{topic=\"newer\"} 1\n"));
    assert_non_null(strstr(out, "slotmq_topic_unreadable{topic=\"good\"} 0\n"));
    assert_non_null(strstr(out, "slotmq_topic_messages_waiting{topic=\"well\"} 0\n"));
    assert_null(strstr(out, "slotmq_topic_messages_waiting{topic=\"broken\"}"));
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_show_the_others),
        cmocka_unit_test(json_has_the_others),
        cmocka_unit_test(prometheus_names_them),
    };

    return cmocka_run_group_tests_name("unreadable", tests, set_up, tear_down);
}
