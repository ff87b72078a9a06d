/* test_config.c - flags from a configuration file, and its contexts. */
#include "command.h"
#include "support/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[512], path[600];

/* Writes the configuration file of the user. */
static void configure(const char *text)
{
    snprintf(folder, sizeof(folder), "%s/config", servers_folder(command_servers()));
    (void) mkdir(folder, 0700);
    snprintf(path, sizeof(path), "%s/slotmq", folder);
    (void) mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/slotmq/config", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Runs the command with the file, and with `redis` as SLOTMQ_REDIS; NULL: unset. */
static void run_configured(struct run *run, const char *redis, const char *const *arguments)
{
    const char *argv[32] = {getenv("SLOTMQ_COMMAND")};
    char home[600] = "", variable[600] = "SLOTMQ_REDIS";

    for (size_t i = 0; arguments[i]; i++) {
        argv[i + 1] = arguments[i];
    }
    snprintf(home, sizeof(home), "XDG_CONFIG_HOME=%s", folder);
    if (redis) {
        snprintf(variable, sizeof(variable), "SLOTMQ_REDIS=%s", redis);
    }
    const char *const environment[] = {variable, home, "SLOTMQ_ZOOKEEPER", NULL};
    assert_true(run_command(run, &(struct run_options){.argv = argv, .environment = environment},
                            TIMEOUT_MS));
}

static void assert_ends(int code, const char *text, const char *redis, const char *const *arguments)
{
    struct run run;

    run_configured(&run, redis, arguments);
    if (run.exit_code != code || (!strstr(run.out, text) && !strstr(run.err, text))) {
        fail_msg("wanted %d and \"%s\"; exit %d: %s%s", code, text, run.exit_code, run.out,
                 run.err);
    }
    run_fini(&run);
}

static void test_the_file_gives_global_flags_and_those_of_verbs(void **state)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "# where the cluster is\n"
             "redis = %s\n"
             "  option=request_timeout_ms=20s  \r\n"
             "option = connect_timeout_ms=20s\n"
             "\n"
             "[topic create]\n"
             "slots = 8\n"
             "shared = true\n"
             "lease = 5000\n"
             "[send]\n"
             "retries = 3\n",
             servers_redis(command_servers()));
    configure(text);
    assert_ends(0, "\"slots\":8", NULL, ARGS("topic", "create", "made", "--json"));
    assert_ends(0, ":9: --lease 5000 has no unit", NULL, ARGS("topic", "create", "made"));
    assert_ends(0, "\"shared\":true", NULL, ARGS("topic", "show", "made", "--json"));
    assert_ends(0, "sent 1", NULL, ARGS("send", "made", "a", "--id", "i"));
    assert_ends(0, "\"retries_left\":3", NULL, ARGS("get", "made", "i", "--json"));
}

static void test_flags_go_before_variables_and_these_before_the_file(void **state)
{
    const char *const redis = servers_redis(command_servers());

    configure("redis = 127.0.0.1:1\n[topic create]\nslots = 8\n");
    assert_ends(69, "127.0.0.1:1", NULL, ARGS("topic", "list"));
    assert_ends(0, "", redis, ARGS("topic", "list"));
    assert_ends(0, "", "127.0.0.1:2", ARGS("-r", redis, "topic", "list"));
    assert_ends(0, "\"slots\":2", redis,
                ARGS("topic", "create", "typed", "--slots", "2", "--json"));
}

static void test_a_file_can_be_named(void **state)
{
    char other[600];
    char text[600];

    snprintf(text, sizeof(text), "redis = %s\njson = true\nverbose = 2\nquiet = false\n",
             servers_redis(command_servers()));
    configure(text);
    snprintf(other, sizeof(other), "%s/other", folder);
    assert_int_equal(rename(path, other), 0);
    assert_ends(0, "{\"topics\":[", NULL, ARGS("--config", other, "topic", "list"));
    assert_ends(0, "{\"topics\":[", NULL, ARGS("topic", "list", "--config", other));
    assert_ends(64, "no Redis given", NULL, ARGS("topic", "list"));
    assert_ends(66, "cannot read /no/such/file", NULL,
                ARGS("--config", "/no/such/file", "topic", "list"));
    assert_ends(64, "no Redis given", NULL, ARGS("--config", "/dev/null", "topic", "list"));
}

static void test_what_is_wrong_is_named_with_its_line(void **state)
{
    static const char *const rows[][2] = {
        {"redis = h:1\nredsi = h:1\n", ":2: there is no \"redsi\" here; did you mean \"redis\"?"},
        {"redis\n", ":1: a line is NAME = VALUE"},
        {"= 5\n", ":1: a line is NAME = VALUE"},
        {"\n\n[consum]\n", ":3: there is no verb \"consum\"; did you mean [consume]?"},
        {"[consume\n", ":1: a section is the name of a verb"},
        {"[context]\n", ":1: a context has a name of one word, as in [context prod]"},
        {"[context a b]\n", ":1: a context has a name of one word"},
        {"[context a]\n[ context  a ]\n", ":2: the context \"a\" is there twice"},
        {"[context a]\nredsi = h:1\n", ":2: there is no \"redsi\" here; did you mean \"redis\"?"},
        {"[context a]\nslots = 4\n", ":2: there is no \"slots\" here"},
        {"[context a]\ncontext = a\n", ":2: there is no \"context\" here"},
        {"[contexts]\n", ":1: there is no verb \"contexts\""},
        {"[consume]\nthread = 4\n", ":2: there is no \"thread\" here; did you mean \"threads\"?"},
        {"[topic list]\nslots = 4\n", ":2: there is no \"slots\" here"},
        {"option = request_timeout_ms=soon\n", ":1: request_timeout_ms \"soon\" cannot be used"},
        {"option = no\n", ":1: \"no\" sets no option"},
        {"json = yes\n", ":1: json \"yes\" cannot be used; give true or false"},
        {"config = x\n", ":1: there is no \"config\" here"},
        {"[topic list]\n[peek]\nlimit = many\n", ":3: --limit \"many\" cannot be used"},
        {"[purge]\nyes = true\n", ":2: there is no \"yes\" here"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[1024];
        configure(rows[i][0]);
        snprintf(text, sizeof(text), "slotmq: %s%s", path, rows[i][1]);
        assert_ends(64, text, NULL, ARGS("peek", "any"));
        assert_ends(0, "peek", NULL, ARGS("peek", "--help"));
        assert_ends(0, "slotmq ", NULL, ARGS("--version"));
    }
}

/* === Contexts =========================================================== */

/* A file with two contexts, of which `first` is that of the file, and the real servers are those of
 * "real"; the lines above the sections lead nowhere. */
static void configure_contexts(const char *first)
{
    char text[2048];

    snprintf(text, sizeof(text),
             "redis = 127.0.0.1:1\n"
             "option = request_timeout_ms=soon-or-late\n"
             "json = true\n"
             "%s"
             "[topic create]\nslots = 8\n"
             "[context real]\nredis = %s\noption = request_timeout_ms=20s\n"
             "[context away]\nredis = redis://user:password@127.0.0.1:2\n"
             "zookeeper = zk:2181/away\n",
             first, servers_redis(command_servers()));
    configure(text);
}

static void test_a_context_is_chosen(void **state)
{
    const char *const real = servers_redis(command_servers());

    configure_contexts("");
    assert_ends(64, "request_timeout_ms \"soon-or-late\"", NULL, ARGS("topic", "list"));
    assert_ends(0, "{\"topics\":[", NULL, ARGS("--context", "real", "topic", "list"));
    assert_ends(0, "\"slots\":8", NULL, ARGS("topic", "create", "chosen", "--context", "real"));
    assert_ends(69, "127.0.0.1:2", real, ARGS("--context", "away", "topic", "list"));
    configure_contexts("context = real\n");
    assert_ends(0, "{\"topics\":[", NULL, ARGS("topic", "list"));
    assert_ends(69, "127.0.0.1:2", NULL, ARGS("--context", "away", "topic", "list"));
    /* Who says where Redis is does not mean the context of the file. */
    assert_ends(64, "soon-or-late", real, ARGS("topic", "list"));
    assert_ends(64, "soon-or-late", NULL, ARGS("-r", real, "topic", "list"));
    assert_ends(64, "--context and --redis both", NULL,
                ARGS("-r", real, "--context", "real", "topic", "list"));
}

static void test_a_variable_chooses_a_context(void **state)
{
    const char *const real = servers_redis(command_servers());

    configure_contexts("context = real\n");
    assert_int_equal(setenv("SLOTMQ_CONTEXT", "away", 1), 0);
    assert_ends(69, "127.0.0.1:2", NULL, ARGS("topic", "list"));
    assert_ends(69, "127.0.0.1:2", real, ARGS("topic", "list"));
    assert_ends(0, "{\"topics\":[", NULL, ARGS("topic", "list", "--context", "real"));
    assert_ends(64, "soon-or-late", NULL, ARGS("-r", real, "topic", "list"));
    assert_int_equal(setenv("SLOTMQ_CONTEXT", "", 1), 0);
    assert_ends(0, "{\"topics\":[", NULL, ARGS("topic", "list"));
    assert_int_equal(unsetenv("SLOTMQ_CONTEXT"), 0);
}

static void test_contexts_are_listed(void **state)
{
    char wanted[1024];

    configure_contexts("context = away\n");
    snprintf(wanted, sizeof(wanted),
             "{\"contexts\":[{\"name\":\"real\",\"current\":false,\"redis\":\"%s\","
             "\"zookeeper\":\"\"},{\"name\":\"away\",\"current\":true,"
             "\"redis\":\"redis://*************@127.0.0.1:2\",\"zookeeper\":\"zk:2181/away\"}]}\n",
             servers_redis(command_servers()));
    assert_ends(0, wanted, NULL, ARGS("context", "list"));
    assert_ends(0, "\"name\":\"real\",\"current\":true", NULL,
                ARGS("--context", "real", "context", "list"));
    configure("[context one]\nredis = redis1\n[context two]\n");
    assert_ends(0, "CONTEXT", NULL, ARGS("context", "list"));
    assert_ends(0, "one     no      redis1 -\ntwo     no      -      -\n", NULL,
                ARGS("context", "list"));
}

static void test_an_unknown_context_names_those_that_are_known(void **state)
{
    char wanted[1024];

    configure_contexts("");
    snprintf(wanted, sizeof(wanted), "there is no context \"rael\"; %s has real, away", path);
    assert_ends(64, wanted, NULL, ARGS("--context", "rael", "topic", "list"));
    assert_ends(64, wanted, NULL, ARGS("--context", "rael", "context", "list"));
    configure("json = true\n");
    snprintf(wanted, sizeof(wanted),
             "there is no context \"real\": %s has none; a line [context real] begins it", path);
    assert_ends(64, wanted, NULL, ARGS("--context", "real", "topic", "list"));
    configure("context = gone\n[context here]\n");
    assert_ends(64, "there is no context \"gone\"", NULL, ARGS("topic", "list"));
}

TEST_GROUP(config)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_file_gives_global_flags_and_those_of_verbs),
        cmocka_unit_test(test_flags_go_before_variables_and_these_before_the_file),
        cmocka_unit_test(test_a_file_can_be_named),
        cmocka_unit_test(test_what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(test_a_context_is_chosen),
        cmocka_unit_test(test_a_variable_chooses_a_context),
        cmocka_unit_test(test_contexts_are_listed),
        cmocka_unit_test(test_an_unknown_context_names_those_that_are_known),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
