/* test_send_file.c - the lines of a file are sent, also when it cannot be read to its end. */
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/group.h"
#include "support/process.h"

enum { MANY = 300000 };

static void create(const char *name)
{
    command_done(NULL, ARGS("topic", "create", name, "--type", "priority", "--slots", "4"));
}

/* A new file below the folder of the servers. */
static void make_file(char *path, size_t size, const char *name, const char *text)
{
    snprintf(path, size, "%s/%s", servers_folder(command_servers()), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_lines_of_a_file_are_messages(void **state)
{
    char path[512];

    create("file");
    make_file(path, sizeof(path), "lines", "a 1\nb 2\na 3");
    char *err = command_err(NULL, ARGS("send", "file", "--file", path, "--key-field", "1"));
    assert_string_equal(err, "sent 3 merged 0\n");
    free(err);
    err = command_err(NULL, ARGS("send", "file", "--file", path, "--key-field", "1"));
    assert_string_equal(err, "sent 0 merged 3\n");
    free(err);
    err = command_err("one\n", ARGS("send", "file", "--file", "-"));
    assert_string_equal(err, "sent 1 merged 0\n");
    free(err);
    assert_int_equal(command_stat("file", "waiting"), 4);
}

static void test_what_cannot_be_read_sends_nothing(void **state)
{
    create("unread");
    command_refused(66, "/no/such/file", NULL, ARGS("send", "unread", "--file", "/no/such/file"));
    command_refused(66, "cannot read /", NULL, ARGS("send", "unread", "--file", "/"));
    assert_int_equal(command_stat("unread", "sent"), 0);
}

/* Newlines are bytes of the bodies. */
static void test_another_byte_may_end_a_line(void **state)
{
    create("parts");
    char *err = command_err("a\nb;c\r", ARGS("send", "parts", "--delimiter", ";"));
    assert_string_equal(err, "sent 2 merged 0\n");
    free(err);
    command_done(NULL, ARGS("get", "parts", "a\nb"));
    char *out =
        command_out(NULL, ARGS("consume", "parts", "--exit-when-empty", "--delimiter", "\\x3b"));
    assert_int_equal(strlen(out), 7);
    assert_non_null(strstr(out, "a\nb;"));
    assert_non_null(strstr(out, "c\r;"));
    free(out);
    command_refused(64, "--delimiter \"ab\" cannot be used; give one byte", NULL,
                    ARGS("send", "parts", "--delimiter", "ab"));
    command_refused(64, "--delimiter", NULL, ARGS("send", "parts", "x", "--delimiter", ";"));
    command_refused(64, "--delimiter", NULL,
                    ARGS("consume", "parts", "--delimiter", ";", "--", "cat"));
}

static void test_lines_that_were_sent_are_skipped(void **state)
{
    command_done(NULL, ARGS("topic", "create", "rest", "--slots", "1"));
    char *err = command_err("a\nb\nc\n", ARGS("send", "rest", "--skip", "2"));
    assert_string_equal(err, "sent 1 merged 0\n");
    free(err);
    json_t *message = command_json(NULL, ARGS("peek", "rest", "--json"));
    assert_string_equal(json_text(message, "body"), "c");
    json_decref(message);
    command_refused(64, "--skip is for lines", NULL, ARGS("send", "rest", "x", "--skip", "1"));
}

static void limit_bulks(const char *size)
{
    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        command_redis(servers_node(command_servers(), i),
                      ARGS("CONFIG", "SET", "proto-max-bulk-len", size));
    }
}

/* Redis refuses one line; those behind it are on their way by then.  The advice leads past it, and
 * stores no line twice. */
static void test_the_advice_leads_past_a_line_that_redis_refuses(void **state)
{
    enum { BIG = 2 * 1024 * 1024, LINES = 40, AT = 5 };
    char *in = calloc(BIG + 16 * LINES, 1), *end = in, skip[24], *advice = NULL;
    struct run run;

    command_done(NULL, ARGS("topic", "create", "big", "--max-body", "4MiB", "--type", "fixed_time",
                            "--layout", "keyed"));
    for (int i = 1; i <= LINES; i++) {
        if (i == AT) {
            memset(end, 'x', BIG);
            end += BIG;
        }
        end += sprintf(end, "%d\n", i);
    }
    limit_bulks("1mb");
    command_run(&run, in, ARGS("send", "big"));
    assert_int_equal(run.exit_code, 65);
    assert_non_null(strstr(run.err, "invalid bulk length; sent "));
    advice = strstr(run.err, "; to continue without line 5: --skip ");
    if (advice == NULL) {
        fail_msg("%s", run.err);
    }
    snprintf(skip, sizeof(skip), "%ld", strtol(strstr(advice, "--skip ") + 7, NULL, 10));
    run_fini(&run);
    command_done(in, ARGS("send", "big", "--skip", skip));
    limit_bulks("512mb");
    assert_int_equal(command_stat("big", "waiting"), LINES - 1);
    assert_int_equal(command_stat("big", "sent"), LINES - 1);
    free(in);
}

static void test_a_file_may_be_one_body(void **state)
{
    char path[512];

    command_done(NULL, ARGS("topic", "create", "files", "--slots", "1", "--max-body", "16"));
    make_file(path, sizeof(path), "whole", "two\nlines\n");
    char *err = command_err(NULL, ARGS("send", "files", "--body-file", path, "--id", "i"));
    assert_string_equal(err, "sent 1 merged 0\n");
    free(err);
    json_t *message = command_json(NULL, ARGS("get", "files", "i", "--json"));
    assert_string_equal(json_text(message, "body"), "two\nlines\n");
    json_decref(message);
    err = command_err("", ARGS("send", "files", "--body-file", "-"));
    assert_int_equal(strncmp(err, "id ", 3), 0);
    free(err);
    command_refused(65, "it is longer than 16 bytes, which is the max_body of topic files",
                    "12345678901234567", ARGS("send", "files", "--body-file", "-"));
    command_refused(66, "/no/such/file", NULL,
                    ARGS("send", "files", "--body-file", "/no/such/file"));
    command_refused(64, "give one of them", NULL, ARGS("send", "files", "x", "--body-file", path));
    assert_int_equal(command_stat("files", "waiting"), 2);
}

/* The master of a terminal fails once its slave is closed, after what was written there. */
static int open_broken(const char *text)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    assert_int_equal(write(slave, text, strlen(text)), strlen(text));
    close(slave);
    return master;
}

/* Runs the command with these descriptors; what it says comes into `said`. */
static int run_with(int in, const char *const *argv, int err, char *said, size_t size)
{
    char redis[512];
    int status = 0;

    snprintf(redis, sizeof(redis), "SLOTMQ_REDIS=%s", servers_redis(command_servers()));
    const char *const environment[] = {redis, NULL};
    const pid_t pid = process_start(
        &(struct process_options){.argv = argv, .environment = environment, .in = in, .err = err});
    assert_true(pid > 0);
    assert_true(process_wait(pid, &status, TIMEOUT_MS));
    assert_true(WIFEXITED(status));
    if (said) {
        const ssize_t got = pread(err, said, size - 1, 0);
        assert_true(got >= 0);
        said[got] = '\0';
    }
    return WEXITSTATUS(status);
}

static void test_whole_lines_before_a_broken_place_are_sent(void **state)
{
    const char *const argv[] = {
        getenv("SLOTMQ_COMMAND"), "send", "broken", "--file", "-", "-q", NULL};
    const int in = open_broken("one\ntwo\nhalf a li");
    FILE *err = tmpfile();
    char said[512];

    assert_non_null(err);
    create("broken");
    assert_int_equal(run_with(in, argv, fileno(err), said, sizeof(said)), 74);
    assert_string_equal(said, "slotmq: line 3: cannot read standard input: Input/output error; "
                              "sent 2 merged 0; to continue: --skip 2\n");
    assert_int_equal(command_stat("broken", "waiting"), 2);
    close(in);
    (void) fclose(err);
}

static void make_long_file(char *path, size_t size)
{
    make_file(path, size, "long", "");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < MANY; i++) {
        assert_true(fprintf(file, "line %d\n", i) > 0);
    }
    assert_int_equal(fclose(file), 0);
}

static void test_a_terminal_sees_a_bar(void **state)
{
    char path[512];

    create("long");
    make_long_file(path, sizeof(path));
    char *seen = command_shown(ARGS("send", "long", "--file", path));
    assert_non_null(strstr(seen, "%  sent "));
    assert_non_null(strstr(seen, "merged"));
    free(seen);
    (void) unlink(path);
}

/* The first line that is too long ends it; what comes before is sent. */
static void test_a_line_longer_than_max_body_is_refused(void **state)
{
    enum { LONG = 70000 };
    char path[512];
    char *text = calloc(1, LONG + 16);

    assert_non_null(text);
    create("bounded");
    memset(text, 'x', LONG);
    snprintf(text, 5, "one\n");
    text[4] = 'x';
    snprintf(text + LONG, 6, "\ntwo\n");
    make_file(path, sizeof(path), "too-long", text);
    command_refused(65,
                    "line 2: it is longer than 65536 bytes, which is the max_body of topic "
                    "bounded; sent 1 merged 0",
                    NULL, ARGS("send", "bounded", "--file", path));
    assert_int_equal(command_stat("bounded", "waiting"), 1);
    free(text);
}

/* A line for which there is no memory is not the end of the input.  The sanitizer bounds what the
 * command may allocate at once. */
static void test_a_line_that_does_not_fit_into_memory_is_an_error(void **state)
{
#ifdef SANITIZED
    enum { LONG = 3000000 };
    const char *const argv[] = {getenv("SLOTMQ_COMMAND"), "send", "huge", NULL};
    char *text = calloc(1, LONG + 16);
    char redis[512];
    struct run run;

    assert_non_null(text);
    command_done(NULL, ARGS("topic", "create", "huge", "--type", "priority", "--layout", "keyed",
                            "--slots", "1", "--max-body", "8388608"));
    memset(text, 'x', LONG);
    snprintf(text, 5, "one\n");
    text[4] = 'x';
    snprintf(text + LONG, 6, "\ntwo\n");
    snprintf(redis, sizeof(redis), "SLOTMQ_REDIS=%s", servers_redis(command_servers()));
    const char *const environment[] = {
        redis, "ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=2",
        "TSAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=2", NULL};
    assert_true(run_command(
        &run, &(struct run_options){.argv = argv, .environment = environment, .in = text},
        TIMEOUT_MS));
    assert_int_equal(run.exit_code, 75);
    assert_non_null(strstr(run.err, "line 2: cannot read standard input: Cannot allocate memory; "
                                    "sent 1 merged 0; to continue: --skip 1\n"));
    run_fini(&run);
    free(text);
#else
    skip();
#endif
}

static void test_carriage_returns_are_kept_and_said_once(void **state)
{
    create("windows");
    char *err = command_err("a\r\nb\r\nc\n", ARGS("send", "windows"));
    const char *said = strstr(err, "line 1 of standard input ends in CR LF");
    assert_non_null(said);
    assert_null(strstr(strchr(said, '\n'), "CR LF"));
    assert_non_null(strstr(said, "sent 3 merged 0\n"));
    free(err);
    err = command_err("d\r\n", ARGS("send", "windows", "-q"));
    assert_string_equal(err, "");
    free(err);
    command_done(NULL, ARGS("remove", "windows", "a\r"));
    command_done(NULL, ARGS("remove", "windows", "c"));
}

/* What was read before the signal is sent, counted, and the shell learns of the signal. */
static void test_a_signal_ends_it_with_the_count(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

    create("cut");
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        const char *const argv[] = {getenv("SLOTMQ_COMMAND"), "send", "cut", NULL};
        char redis[512];
        char wanted[128];
        char line[16];
        int status = 0;
        int ends[2];
        FILE *err = tmpfile();

        assert_non_null(err);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        snprintf(redis, sizeof(redis), "SLOTMQ_REDIS=%s", servers_redis(command_servers()));
        const char *const environment[] = {redis, NULL};
        const pid_t pid = process_start(&(struct process_options){
            .argv = argv, .environment = environment, .in = ends[0], .err = fileno(err)});
        assert_true(pid > 0);
        const int size = snprintf(line, sizeof(line), "line %zu\n", i);
        assert_int_equal(write(ends[1], line, (size_t) size), size);
        command_wait_stat("cut", "sent", (json_int_t) i + 1);
        assert_int_equal(kill(pid, signals[i]), 0);
        assert_true(process_wait(pid, &status, TIMEOUT_MS));
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        const ssize_t got = pread(fileno(err), wanted, sizeof(wanted) - 1, 0);
        assert_true(got >= 0);
        wanted[got] = '\0';
        assert_string_equal(wanted, "slotmq: line 2: interrupted before it was sent; "
                                    "sent 1 merged 0; to continue: --skip 1\n");
        close(ends[0]);
        close(ends[1]);
        (void) fclose(err);
    }
}

TEST_GROUP(send_file)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_a_file_are_messages),
        cmocka_unit_test(test_what_cannot_be_read_sends_nothing),
        cmocka_unit_test(test_another_byte_may_end_a_line),
        cmocka_unit_test(test_lines_that_were_sent_are_skipped),
        cmocka_unit_test(test_the_advice_leads_past_a_line_that_redis_refuses),
        cmocka_unit_test(test_a_file_may_be_one_body),
        cmocka_unit_test(test_whole_lines_before_a_broken_place_are_sent),
        cmocka_unit_test(test_a_terminal_sees_a_bar),
        cmocka_unit_test(test_a_line_longer_than_max_body_is_refused),
        cmocka_unit_test(test_a_line_that_does_not_fit_into_memory_is_an_error),
        cmocka_unit_test(test_carriage_returns_are_kept_and_said_once),
        cmocka_unit_test(test_a_signal_ends_it_with_the_count),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
