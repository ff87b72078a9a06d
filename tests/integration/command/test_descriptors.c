/* test_descriptors.c - the command as a program of Unix: closed descriptors 0, 1 or 2, standard
 * output that is full or that nobody reads, signals that are ignored at the start, limits, locales,
 * and which descriptors a program that it runs gets. */
#include "command.h"
#include "support/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 512 };

/* Run a line of the shell, in which $SLOTMQ is the command. */
static void shell(struct run *run, const char *line)
{
    const char *const argv[] = {"/bin/sh", "-c", line, NULL};
    char redis[LINE_MAX_BYTES], zookeeper[LINE_MAX_BYTES], slotmq[LINE_MAX_BYTES];
    const char *const environment[] = {redis, zookeeper, slotmq, NULL};

    snprintf(redis, sizeof(redis), "SLOTMQ_REDIS=%s", servers_redis(command_servers()));
    snprintf(zookeeper, sizeof(zookeeper), "SLOTMQ_ZOOKEEPER=%s",
             servers_zookeeper(command_servers()));
    snprintf(slotmq, sizeof(slotmq), "SLOTMQ=%s", getenv("SLOTMQ_COMMAND"));
    assert_true(run_command(run, &(struct run_options){.argv = argv, .environment = environment},
                            TIMEOUT_MS));
}

static void closed_descriptors_are_no_obstacle(void **state)
{
    static const struct {
        const char *line;
        int code;
        const char *out, *err; /* held by the outputs */
    } cases[] = {
        {"\"$SLOTMQ\" stat closed <&-", 0, "closed", ""},
        {"\"$SLOTMQ\" stat closed 2>&-", 0, "closed", ""},
        {"\"$SLOTMQ\" stat closed <&- 2>&-", 0, "closed", ""},
        {"\"$SLOTMQ\" stat closed >&-", 74, "", "cannot write"},
        {"\"$SLOTMQ\" stat closed <&- >&- 2>&-", 74, "", ""},
        {"\"$SLOTMQ\" --version >&-", 74, "", "cannot write"},
        {"\"$SLOTMQ\" send closed --file - <&-", 66, "", "standard input"},
        {"\"$SLOTMQ\" send closed one <&- >&-", 0, "", ""},
        {"\"$SLOTMQ\" consume closed --count 1 <&- 2>&-", 0, "one\n", ""},
        {"\"$SLOTMQ\" send closed two && \"$SLOTMQ\" consume closed --count 1 >&-", 74, "",
         "cannot write"},
        {"\"$SLOTMQ\" consume closed --count 1 <&- >&- -- /bin/cat", 0, "", ""},
    };

    command_done(NULL, ARGS("topic", "create", "closed", "--type", "priority"));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run run;

        shell(&run, cases[i].line);
        print_message("%s: exit %d\n%s", cases[i].line, run.exit_code, run.err);
        assert_int_equal(run.exit_code, cases[i].code);
        assert_non_null(strstr(run.out, cases[i].out));
        assert_non_null(strstr(run.err, cases[i].err));
        run_fini(&run);
    }
}

/* Neither the sockets of Redis and ZooKeeper nor the pipes of their clients. */
static void program_gets_the_standard_descriptors_only(void **state)
{
    struct run run;

    command_done(NULL, ARGS("topic", "create", "open", "--type", "priority"));
    command_done(NULL, ARGS("send", "open", "a"));
    shell(&run, "exec \"$SLOTMQ\" consume open --count 1 -- sh -c '"
                "i=0; while [ $i -lt 200 ]; do [ ! -e /proc/$$/fd/$i ] || echo $i; "
                "i=$((i + 1)); done'");
    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.out, "0\n1\n2\n");
    run_fini(&run);
}

/* All verbs; `prints`: a result on standard output. */
static const struct {
    const char *line;
    bool prints;
    int code; /* when the result can be written */
} verb_lines[] = {
    {"topic create unix --type priority --slots 1", false, 0},
    {"topic create unix --type priority --slots 1 --json", true, 0},
    {"topic list", true, 0},
    {"topic show unix", true, 0},
    {"topic alter unix lease_ms=20s", false, 0},
    {"topic repair unix", false, 0},
    {"send unix a", false, 0},
    {"send unix a --json", true, 0},
    {"stat", true, 0},
    {"stat --json", true, 0},
    {"stat --prometheus", true, 0},
    {"top --count 1", true, 0},
    {"peek unix", true, 0},
    {"peek unix --json", true, 0},
    {"get unix a", true, 0},
    {"rank unix a", true, 0},
    {"reschedule unix a --priority 2", false, 0},
    {"send unix b -q; \"$SLOTMQ\" remove unix b", false, 0},
    {"copy unix unix-copy --json", true, 0},
    {"purge unix --state resting --yes --json", true, 0},
    {"pause unix", false, 0},
    {"resume unix", false, 0},
    {"dead list unix", false, 0},
    {"dead requeue unix --all --json", true, 0},
    {"dead purge unix --yes --all --json", true, 0},
    {"fleet show", true, 0},
    {"doctor", true, 1},
    {"doctor --json", true, 1},
    {"check unix", true, 1},
    {"check unix --json", true, 1},
    {"completion bash", true, 0},
    {"help", true, 0},
    {"--version", true, 0},
};

/* `to` is what follows the verb in a shell. */
static void assert_unwritable(size_t number, const char *to, int code, const char *text)
{
    char line[LINE_MAX_BYTES];
    struct run run;

    snprintf(line, sizeof(line), "{ \"$SLOTMQ\" %s; echo \"code $?\" >&2; } %s",
             verb_lines[number].line, to);
    shell(&run, line);
    snprintf(line, sizeof(line), "code %d\n", code);
    if (!strstr(run.err, line) || !strstr(run.err, text) ||
        (text[0] == '\0' && strstr(run.err, "write"))) {
        fail_msg("%s %s: wanted code %d and \"%s\": %s", verb_lines[number].line, to, code, text,
                 run.err);
    }
    run_fini(&run);
}

static void every_verb_says_when_its_result_cannot_be_written(void **state)
{
    command_done(NULL, ARGS("topic", "create", "unix-copy", "--type", "priority", "--slots", "1"));
    command_done(NULL, ARGS("topic", "create", "joined", "--slots", "1"));
    command_done(NULL, ARGS("-z", servers_zookeeper(command_servers()), "consume", "joined",
                            "--exit-when-empty"));
    command_done(NULL, ARGS("topic", "create", "unix", "--type", "priority", "--slots", "1"));
    for (size_t i = 0; i < sizeof(verb_lines) / sizeof(verb_lines[0]); i++) {
        const int code = verb_lines[i].code;
        const bool prints = verb_lines[i].prints;
        const bool probe = strncmp(verb_lines[i].line, "check", 5) == 0; /* 0 to 3 alone */
        const int lost = !prints ? code : probe ? 3 : 74;

        assert_unwritable(i, ">/dev/full", lost, prints ? "cannot write" : "");
        if (prints) {
            assert_unwritable(i, "| :", code, "");
        }
    }
}

/* As nohup does, and a shell for what it starts in the background. */
static void signals_that_are_ignored_stay_ignored(void **state)
{
    static const char *const names[] = {"HUP", "INT", "TERM"};
    char line[LINE_MAX_BYTES];
    struct run run;

    command_done(NULL, ARGS("topic", "create", "deaf", "--type", "priority", "--slots", "1"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        command_done("a\nb\n", ARGS("send", "deaf"));
        snprintf(line, sizeof(line),
                 "trap '' %s; \"$SLOTMQ\" consume deaf --count 2 --threads 1 -- sh -c "
                 "'kill -%s $PPID; echo done'",
                 names[i], names[i]);
        shell(&run, line);
        if (run.exit_code != 0 || strcmp(run.out, "done\ndone\n") != 0) {
            fail_msg("%s: exit %d: %s%s", names[i], run.exit_code, run.out, run.err);
        }
        run_fini(&run);
    }
}

/* A body that cannot be handed over fails alone. */
static void a_limit_of_files_costs_one_message(void **state)
{
    char body[8192];
    struct run run;

    memset(body, 'x', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    command_done(NULL, ARGS("topic", "create", "limited", "--type", "priority", "--slots", "1",
                            "--max-retries", "none"));
    command_done(NULL, ARGS("send", "limited", body));
    command_done(NULL, ARGS("send", "limited", "small"));
    shell(&run, "ulimit -f 1; \"$SLOTMQ\" consume limited --exit-when-empty -- cat");
    assert_string_equal(run.out, "small");
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
    char *out = command_out(NULL, ARGS("dead", "list", "limited", "--json"));
    assert_non_null(strstr(out, "ulimit -f"));
    free(out);
}

/* Limits of the shell, no terminal, and other locales: the same result. */
static void surroundings_change_no_result(void **state)
{
    static const char *const surroundings[] = {
        "ulimit -n 64;",
        "ulimit -c 0;",
        "ulimit -s 1024;",
        "TERM= ;",
        "unset TERM HOME PATH;",
        "export LC_ALL=C;",
        "export LC_ALL=de_DE.UTF-8 LANG=xx_YY;",
        "exec </dev/null;",
        "cd /;",
        "umask 777;",
        "setsid",
    };
    char line[LINE_MAX_BYTES];
    struct run plain, run;

    command_done(NULL, ARGS("topic", "create", "place", "--type", "priority", "--slots", "1"));
    command_done(NULL, ARGS("send", "place", "cafe"));
    shell(&plain, "\"$SLOTMQ\" peek place");
    assert_non_null(strstr(plain.out, "cafe"));
    for (size_t i = 0; i < sizeof(surroundings) / sizeof(surroundings[0]); i++) {
        snprintf(line, sizeof(line), "%s \"$SLOTMQ\" peek place", surroundings[i]);
        shell(&run, line);
        if (run.exit_code != 0 || run.err[0] != '\0' || strcmp(run.out, plain.out) != 0) {
            fail_msg("%s exit %d: %s%s", surroundings[i], run.exit_code, run.out, run.err);
        }
        run_fini(&run);
    }
    run_fini(&plain);
}

TEST_GROUP(descriptors)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_descriptors_are_no_obstacle),
        cmocka_unit_test(program_gets_the_standard_descriptors_only),
        cmocka_unit_test(every_verb_says_when_its_result_cannot_be_written),
        cmocka_unit_test(signals_that_are_ignored_stay_ignored),
        cmocka_unit_test(a_limit_of_files_costs_one_message),
        cmocka_unit_test(surroundings_change_no_result),
    };

    return cmocka_run_group_tests_name("descriptors", tests, command_setup, command_teardown);
}
