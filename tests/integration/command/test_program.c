/* test_program.c - a program is run for each message, and its exit code is the answer. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/group.h"
#include "support/wait.h"

/* A named pipe: `sh -c 'read line < PIPE'` begins when a test writes to it. */
static char gate[512];

static int setup(void **state)
{
    if (command_setup(state) != 0) {
        return -1;
    }
    snprintf(gate, sizeof(gate), "%s/gate", servers_folder(command_servers()));
    return mkfifo(gate, 0600);
}

static void create(const char *name)
{
    command_done(NULL, ARGS("topic", "create", name, "--type", "priority", "--slots", "1",
                            "--backoff", "none", "--max-retries", "2"));
}

static void test_body_and_environment_reach_the_program(void **state)
{
    create("env");
    command_done("line one\n", ARGS("send", "env"));
    char *out = command_out(
        NULL, ARGS("consume", "env", "--exit-when-empty", "--", "sh", "-c",
                   "echo \"$(cat) $SLOTMQ_TOPIC $SLOTMQ_SLOT $SLOTMQ_ATTEMPT ${#SLOTMQ_TOKEN}\""));
    assert_string_equal(out, "line one env 0 1 24\n");
    free(out);
    assert_int_equal(command_stat("env", "done"), 1);
}

/* What the program of the only message of a topic prints of its variables. */
static void assert_variables(const char *topic, const char *wanted)
{
    char *out = command_out(
        NULL, ARGS("consume", topic, "--count", "1", "--", "sh", "-c",
                   "env | LC_ALL=C grep -aE '^SLOTMQ_(KEY|ID|PRIO|HEADER)' | LC_ALL=C sort"));

    assert_string_equal(out, wanted);
    free(out);
}

static void send_bytes(const char *topic, const char *lines, size_t size)
{
    const char *const argv[] = {
        getenv("SLOTMQ_COMMAND"), "send", topic, "--key-field", "1", "--id-field", "2", NULL};
    char redis[512];
    struct run run;

    snprintf(redis, sizeof(redis), "SLOTMQ_REDIS=%s", servers_redis(command_servers()));
    const char *const environment[] = {redis, NULL};
    assert_true(
        run_command(&run,
                    &(struct run_options){
                        .argv = argv, .environment = environment, .in = lines, .in_len = size},
                    TIMEOUT_MS));
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
}

/* What a message has not is not that of a program around us; bodies are in no environment. */
static void test_key_id_and_priority_reach_the_program(void **state)
{
    assert_int_equal(setenv("SLOTMQ_KEY", "of another", 1), 0);
    assert_int_equal(setenv("SLOTMQ_ID_BASE64", "of another", 1), 0);
    create("inline");
    command_done(NULL, ARGS("send", "inline", "secret", "--priority", "-7"));
    assert_variables("inline", "SLOTMQ_PRIORITY=-7\n");
    command_done(NULL, ARGS("send", "inline", "secret", "--key", "customer 7"));
    assert_variables("inline", "SLOTMQ_KEY=customer 7\nSLOTMQ_PRIORITY=0\n");
    command_done(NULL, ARGS("topic", "create", "keyed", "--type", "fixed_time", "--layout", "keyed",
                            "--slots", "1"));
    command_done(NULL, ARGS("send", "keyed", "secret", "--id", "order\n1", "--key", "\xff"));
    assert_variables("keyed", "SLOTMQ_ID=order\nSLOTMQ_KEY=\xff\nSLOTMQ_PRIORITY=0\n");
    send_bytes("keyed", "k\0 i\0i\n", 7);
    assert_variables("keyed", "SLOTMQ_ID_BASE64=aQBp\nSLOTMQ_KEY_BASE64=awA=\n"
                              "SLOTMQ_PRIORITY=0\n");
    assert_int_equal(unsetenv("SLOTMQ_KEY"), 0);
    assert_int_equal(unsetenv("SLOTMQ_ID_BASE64"), 0);
}

/* Letters of a variable are upper-case, and of two headers with one variable the first is it. */
static void test_headers_reach_the_program(void **state)
{
    assert_int_equal(setenv("SLOTMQ_HEADER_OLD", "of another", 1), 0);
    command_done(NULL, ARGS("topic", "create", "headed", "--slots", "1"));
    command_done("{\"body\":\"b\",\"id\":\"i\",\"headers\":{\"content-type\":\"x=y\","
                 "\"Trace\":\"1\",\"trace\":\"2\",\"nul\":\"a\\u0000b\",\"none\":\"\"}}\n",
                 ARGS("send", "headed", "--json"));
    assert_variables("headed", "SLOTMQ_HEADER_CONTENT_TYPE=x=y\nSLOTMQ_HEADER_NONE=\n"
                               "SLOTMQ_HEADER_TRACE=1\nSLOTMQ_ID=i\nSLOTMQ_KEY=i\n"
                               "SLOTMQ_PRIORITY=0\n");
    assert_int_equal(unsetenv("SLOTMQ_HEADER_OLD"), 0);
}

/* Which of them the program sees is said, once. */
static void test_header_names_that_collide_are_said(void **state)
{
    struct run run;

    command_done(NULL, ARGS("topic", "create", "collide", "--slots", "1"));
    for (const char *const *id = ARGS("i", "j"); *id; id++) {
        command_done(NULL, ARGS("send", "collide", "b", "--id", *id, "-H", "trace-id=A", "-H",
                                "trace_id=B"));
    }
    command_run(&run, NULL,
                ARGS("consume", "collide", "--count", "2", "--threads", "1", "--", "sh", "-c",
                     "echo $SLOTMQ_HEADER_TRACE_ID"));
    assert_string_equal(run.out, "A\nA\n");
    assert_string_equal(run.err, "the headers trace-id and trace_id of a message are both the "
                                 "variable SLOTMQ_HEADER_TRACE_ID: the program gets that of "
                                 "trace-id, the first one; this is said once\n");
    run_fini(&run);
}

static void test_standard_error_is_ours(void **state)
{
    struct run run;

    create("stderr");
    command_done("x\n", ARGS("send", "stderr"));
    command_run(&run, NULL,
                ARGS("consume", "stderr", "--count", "1", "--", "sh", "-c", "echo words >&2"));
    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.out, "");
    assert_string_equal(run.err, "words\n");
    run_fini(&run);
}

/* Freed by the caller. */
static char *largest_body(void)
{
    enum { SIZE = 65536 };
    char *body = malloc(SIZE + 1);

    assert_non_null(body);
    memset(body, 'x', SIZE);
    body[SIZE] = '\0';
    return body;
}

static void test_a_program_need_not_read(void **state)
{
    char *body = largest_body();

    create("unread");
    command_done(body, ARGS("send", "unread", "--key", "k"));
    free(body);
    command_done(NULL, ARGS("consume", "unread", "--count", "1", "--", "true"));
    assert_int_equal(command_stat("unread", "done"), 1);
}

static void test_the_body_is_whole(void **state)
{
    char *body = largest_body();

    create("whole");
    command_done(body, ARGS("send", "whole", "--key", "k"));
    char *out = command_out(NULL, ARGS("consume", "whole", "--count", "1", "--", "cat"));
    assert_string_equal(out, body);
    free(out);
    free(body);
}

/* The only dead letter of a topic. */
static json_t *dead_letter(const char *topic)
{
    return command_json(NULL, ARGS("dead", "list", topic, "--json"));
}

static void assert_dies(const char *topic, const char *script, const char *out, const char *reason)
{
    create(topic);
    command_done("x\n", ARGS("send", topic));
    char *printed =
        command_out(NULL, ARGS("consume", topic, "--exit-when-empty", "--", "sh", "-c", script));
    assert_string_equal(printed, out);
    free(printed);
    json_t *letter = dead_letter(topic);
    assert_string_equal(json_text(letter, "reason"), reason);
    assert_string_equal(json_text(letter, "body"), "x");
    json_decref(letter);
}

static void test_exit_65_rejects_at_once(void **state)
{
    assert_dies("reject", "echo $SLOTMQ_ATTEMPT; exit 65", "1\n", "exit 65");
    assert_int_equal(command_stat("reject", "rejected"), 1);
    assert_int_equal(command_stat("reject", "dead_rejected"), 1);
    assert_int_equal(command_stat("reject", "retried"), 0);
}

static void test_any_other_exit_retries_with_its_reason(void **state)
{
    assert_dies("exit", "echo $SLOTMQ_ATTEMPT; exit 3", "1\n2\n3\n", "exit 3");
    assert_int_equal(command_stat("exit", "retried"), 2);
}

static void test_the_last_line_of_standard_error_is_the_reason(void **state)
{
    assert_dies("declined", "echo 'card declined: 51' >&2; exit 65", "",
                "exit 65: card declined: 51");
    assert_dies("trace", "printf 'Traceback\n\033[31mValueError: no\t7\033[0m\n\n' >&2; exit 1", "",
                "exit 1: ValueError: no 7");
    assert_dies("shot", "printf 'half a line' >&2; kill -9 $$", "", "signal 9: half a line");
    assert_dies("quiet", "echo words >&2; exec 2>&-; exit 3", "", "exit 3: words");
}

/* Whose words they are is said when the message dies. */
static void test_a_death_names_its_message_and_its_reason(void **state)
{
    struct run run;

    command_done(NULL, ARGS("topic", "create", "shown", "--slots", "1"));
    command_done(NULL, ARGS("send", "shown", "x", "--id", "order-7"));
    command_run(&run, NULL,
                ARGS("consume", "shown", "--exit-when-empty", "--", "sh", "-c",
                     "echo one >&2; echo two >&2; exit 65"));
    assert_string_equal(run.err, "one\ntwo\nslotmq: dead: rejected: message \"order-7\" of slot 0 "
                                 "of topic shown, attempt 1: exit 65: two\n");
    run_fini(&run);
}

/* More than a pipe holds, and a reader that comes late. */
static void test_all_of_standard_error_is_passed_on(void **state)
{
    struct run run;

    create("loud");
    command_done("x\n", ARGS("send", "loud"));
    command_run(&run, NULL,
                ARGS("consume", "loud", "--count", "1", "--", "sh", "-c",
                     "seq 1 60000 >&2; (sleep 1; echo last >&2) &"));
    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.err, "1\n2\n3\n"));
    assert_non_null(strstr(run.err, "\n59999\n60000\n"));
    run_fini(&run);
}

static void test_a_signal_retries_with_its_reason(void **state)
{
    assert_dies("signal", "echo $SLOTMQ_ATTEMPT; kill -9 $$", "1\n2\n3\n", "signal 9");
}

static void test_a_program_can_succeed_later(void **state)
{
    create("third");
    command_done("x\n", ARGS("send", "third"));
    char *out = command_out(NULL, ARGS("consume", "third", "--count", "3", "--", "sh", "-c",
                                       "echo $SLOTMQ_ATTEMPT; test $SLOTMQ_ATTEMPT = 3"));
    assert_string_equal(out, "1\n2\n3\n");
    free(out);
    assert_int_equal(command_stat("third", "done"), 1);
    assert_int_equal(command_stat("third", "dead"), 0);
}

/* Its claim ends as if we had died: at first it is a suspect, then it uses retries. */
static void assert_slow_is_ended(const char *topic)
{
    create(topic);
    command_done("x\n", ARGS("send", topic));
    char *out = command_out(NULL, ARGS("consume", topic, "--exit-when-empty", "--threads", "2",
                                       "--handler-timeout", "200ms", "--rate", "1000", "--", "sh",
                                       "-c", "echo begun; exec sleep 1000"));
    assert_int_equal(strncmp(out, "begun\nbegun\n", 12), 0);
    free(out);
    assert_int_equal(command_stat(topic, "dead"), 1);
    assert_true(command_stat(topic, "lease_lost") >= 2);
    out = command_out(NULL, ARGS("dead", "list", topic));
    assert_non_null(strstr(out, "its handler took too long")); /* not that a process died */
    free(out);
}

static void test_a_program_that_takes_too_long_is_ended(void **state)
{
    assert_slow_is_ended("slow");
}

static void assert_three_files(const char *topic)
{
    create(topic);
    command_done("x\n", ARGS("send", topic));
    char *out = command_out(
        NULL, ARGS("consume", topic, "--count", "1", "--", "sh", "-c", "ls /proc/$$/fd"));
    assert_string_equal(out, "0\n1\n2\n");
    free(out);
}

static void test_a_program_gets_three_files(void **state)
{
    assert_three_files("files");
}

/* Signals that the command ignores or blocks end a program as ever. */
static void test_a_program_gets_the_default_signals(void **state)
{
    assert_dies("pipe", "kill -PIPE $$; exit 65", "", "signal 13");
    assert_dies("term", "kill -TERM $$; exit 65", "", "signal 15");
    assert_dies("interrupt-1", "kill -INT $$; exit 65", "", "signal 2");
}

/* Said before anything is claimed. */
static void test_what_is_no_program_is_refused(void **state)
{
    static const char *const programs[] = {"/etc", "/etc/passwd", "/nowhere", "no-such-program",
                                           ""};

    create("untouched");
    command_done("x\n", ARGS("send", "untouched"));
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        command_refused(66, "cannot run", NULL,
                        ARGS("consume", "untouched", "--exit-when-empty", "--", programs[i]));
    }
    assert_int_equal(command_stat("untouched", "waiting"), 1);
    command_refused(66, "cannot run /etc", NULL, /* of an empty topic, too */
                    ARGS("consume", "nowhere", "--exit-when-empty", "--", "/etc"));
}

static void write_program(char *path, size_t size, const char *name, const char *text,
                          size_t length)
{
    snprintf(path, size, "%s/%s", servers_folder(command_servers()), name);
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, length), length);
    close(file);
}

/* A script without #!, an empty file, bytes of no format, no such interpreter: execvp() would let a
 * shell run the first two, and an empty file would acknowledge every message. */
static void test_a_file_that_the_system_cannot_run_is_refused(void **state)
{
    static const struct {
        const char *name;
        const char *text;
        size_t length;
        const char *why;
    } rows[] = {{"script", "cat\n", 4, "begins with #!"},
                {"empty", "", 0, "begins with #!"},
                {"garbage", "\177EL\0\1\2\3", 7, "begins with #!"},
                {"lost", "#!/no/such/interpreter\n", 23, "interpreter"}};
    char path[600];

    create("unharmed");
    command_done("x\n", ARGS("send", "unharmed"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_program(path, sizeof(path), rows[i].name, rows[i].text, rows[i].length);
        command_refused(66, rows[i].why, NULL,
                        ARGS("consume", "unharmed", "--exit-when-empty", "--", path));
    }
    assert_int_equal(command_stat("unharmed", "waiting"), 1);
}

/* The check at the start does not let it do anything. */
static void test_a_script_is_run_once_for_a_message(void **state)
{
    static const char text[] = "#!/bin/sh\necho run\n";
    char path[600];

    create("scripted");
    command_done("x\n", ARGS("send", "scripted"));
    write_program(path, sizeof(path), "good", text, sizeof(text) - 1);
    char *out = command_out(NULL, ARGS("consume", "scripted", "--exit-when-empty", "--", path));
    assert_string_equal(out, "run\n");
    free(out);
}

/* === Signals ============================================================ */

/* Writes to the gate as soon as a program waits at it. */
static bool open_gate(void *arg)
{
    const int file = open(gate, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

    (void) arg;
    if (file < 0) {
        assert_int_equal(errno, ENXIO);
        return false;
    }
    assert_int_equal(write(file, "go\n", 3), 3);
    close(file);
    return true;
}

/* Does no process wait at the gate? */
static bool gate_is_left(void *arg)
{
    const int file = open(gate, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

    (void) arg;
    if (file >= 0) {
        close(file);
    }
    return file < 0;
}

/* A program runs: it has said so, and waits at the gate by the command `waits`. */
static void start_program(struct run *run, const char *topic, const char *drain_timeout,
                          const char *waits)
{
    char script[1024];

    create(topic);
    command_done("x\n", ARGS("send", topic));
    snprintf(script, sizeof(script), "exec 3<>%s; echo begun; %s <&3; echo ended", gate, waits);
    command_start(
        run, NULL,
        ARGS("consume", topic, "--drain-timeout", drain_timeout, "--", "sh", "-c", script));
    assert_true(run_wait_out(run, "begun\n", TIMEOUT_MS));
}

static void start_waiting(struct run *run, const char *topic, const char *drain_timeout)
{
    start_program(run, topic, drain_timeout, "read line");
}

static void assert_drains(const char *topic)
{
    struct run run;

    start_waiting(&run, topic, "60s");
    run_signal(&run, SIGTERM);
    assert_true(wait_until(open_gate, NULL, TIMEOUT_MS));
    command_end(&run);
    assert_string_equal(run.out, "begun\nended\n");
    run_fini(&run);
    assert_int_equal(command_stat(topic, "done"), 1);
}

static void test_a_signal_lets_the_program_end(void **state)
{
    assert_drains("patient");
}

static void assert_drain_is_limited(const char *topic)
{
    struct run run;

    start_waiting(&run, topic, "100ms");
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 75);
    assert_string_equal(run.out, "begun\n");
    assert_non_null(strstr(run.err, "slotmq: the drain time has ended"));
    run_fini(&run);
    assert_true(wait_until(gate_is_left, NULL, TIMEOUT_MS));
    /* that it was killed is not the message's fault: it waits, as if never claimed */
    assert_int_equal(command_stat(topic, "waiting"), 1);
    assert_int_equal(command_stat(topic, "released"), 1);
    assert_int_equal(command_stat(topic, "retried"), 0);
    assert_int_equal(command_stat(topic, "lease_lost"), 0);
}

static void test_a_program_that_does_not_end_in_time_is_killed(void **state)
{
    assert_drain_is_limited("stubborn");
}

/* Has the process its default action for SIGINT? */
static bool ignores_no_interrupt(void *arg)
{
    const struct run *run = arg;
    unsigned long long caught = 0;
    char path[64];
    char line[256];

    snprintf(path, sizeof(path), "/proc/%d/status", (int) run->pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "SigCgt:", 7) == 0) {
            caught = strtoull(line + 7, NULL, 16);
        }
    }
    (void) fclose(file);
    return (caught >> (SIGINT - 1) & 1) == 0;
}

/* Programs end before the worker does; its own time may not be longer than a day. */
static void test_the_longest_time_to_drain_is_taken(void **state)
{
    command_done(NULL, ARGS("topic", "create", "day", "--type", "priority"));
    command_done(NULL, ARGS("send", "day", "a"));
    command_done(
        NULL, ARGS("consume", "day", "--drain-timeout", "1d", "--exit-when-empty", "--", "true"));
    assert_int_equal(command_stat("day", "done"), 1);
}

/* As the library ends it when there is no memory. */
static void test_an_abort_is_said(void **state)
{
    struct run run;

    start_waiting(&run, "aborted", "60s");
    run_signal(&run, SIGABRT);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 128 + SIGABRT);
    assert_non_null(strstr(run.err, "slotmq: aborted: out of memory, or a defect\n"));
    run_fini(&run);
    assert_true(wait_until(gate_is_left, NULL, TIMEOUT_MS)); /* its program has not survived it */
}

static void test_a_second_interrupt_ends_the_command(void **state)
{
    struct run run;

    start_waiting(&run, "interrupt", "60s");
    run_signal(&run, SIGINT);
    assert_true(wait_until(ignores_no_interrupt, &run, TIMEOUT_MS));
    run_signal(&run, SIGINT);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 128 + SIGINT);
    run_fini(&run);
    assert_true(wait_until(gate_is_left, NULL, TIMEOUT_MS)); /* its program has not survived it */
}

/* Nor has what its program started. */
static void assert_none_is_left(const char *topic)
{
    struct run run;

    start_program(&run, topic, "60s", "head -n 1");
    run_signal(&run, SIGKILL);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 128 + SIGKILL);
    run_fini(&run);
    assert_true(wait_until(gate_is_left, NULL, TIMEOUT_MS));
}

static void test_a_killed_command_leaves_no_program(void **state)
{
    assert_none_is_left("killed");
}

/* Kernels before 5.11 have no close_range() that marks descriptors, those before 5.3 no pidfd. */
static void test_an_older_kernel_will_do(void **state)
{
    static const int calls[] = {SYS_close_range, SYS_pidfd_open, -1};

    command_refuse(calls);
    assert_three_files("old-files");
    assert_slow_is_ended("old-slow");
    assert_drains("old-patient");
    assert_drain_is_limited("old-stubborn");
    assert_none_is_left("old-killed");
    command_refuse(NULL);
}

TEST_GROUP(program)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body_and_environment_reach_the_program),
        cmocka_unit_test(test_key_id_and_priority_reach_the_program),
        cmocka_unit_test(test_headers_reach_the_program),
        cmocka_unit_test(test_header_names_that_collide_are_said),
        cmocka_unit_test(test_standard_error_is_ours),
        cmocka_unit_test(test_a_program_need_not_read),
        cmocka_unit_test(test_the_body_is_whole),
        cmocka_unit_test(test_exit_65_rejects_at_once),
        cmocka_unit_test(test_any_other_exit_retries_with_its_reason),
        cmocka_unit_test(test_the_last_line_of_standard_error_is_the_reason),
        cmocka_unit_test(test_a_death_names_its_message_and_its_reason),
        cmocka_unit_test(test_all_of_standard_error_is_passed_on),
        cmocka_unit_test(test_a_signal_retries_with_its_reason),
        cmocka_unit_test(test_a_program_can_succeed_later),
        cmocka_unit_test(test_a_program_that_takes_too_long_is_ended),
        cmocka_unit_test(test_a_program_gets_three_files),
        cmocka_unit_test(test_a_program_gets_the_default_signals),
        cmocka_unit_test(test_what_is_no_program_is_refused),
        cmocka_unit_test(test_a_file_that_the_system_cannot_run_is_refused),
        cmocka_unit_test(test_a_script_is_run_once_for_a_message),
        cmocka_unit_test(test_a_signal_lets_the_program_end),
        cmocka_unit_test(test_a_program_that_does_not_end_in_time_is_killed),
        cmocka_unit_test(test_the_longest_time_to_drain_is_taken),
        cmocka_unit_test(test_an_abort_is_said),
        cmocka_unit_test(test_a_second_interrupt_ends_the_command),
        cmocka_unit_test(test_a_killed_command_leaves_no_program),
        cmocka_unit_test(test_an_older_kernel_will_do),
    };

    return cmocka_run_group_tests(tests, setup, command_teardown);
}
