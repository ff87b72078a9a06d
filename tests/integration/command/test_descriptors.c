/* test_descriptors.c - the command with closed descriptors 0, 1 or 2, and which descriptors a
 * program that it runs gets. */
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

    (void) state;
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

    (void) state;
    command_done(NULL, ARGS("topic", "create", "open", "--type", "priority"));
    command_done(NULL, ARGS("send", "open", "a"));
    shell(&run, "exec \"$SLOTMQ\" consume open --count 1 -- sh -c '"
                "i=0; while [ $i -lt 200 ]; do [ ! -e /proc/$$/fd/$i ] || echo $i; "
                "i=$((i + 1)); done'");
    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.out, "0\n1\n2\n");
    run_fini(&run);
}

TEST_GROUP(descriptors)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_descriptors_are_no_obstacle),
        cmocka_unit_test(program_gets_the_standard_descriptors_only),
    };

    return cmocka_run_group_tests_name("descriptors", tests, command_setup, command_teardown);
}
