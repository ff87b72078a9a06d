/* command.c - the command under test, run against servers that all tests of a program share. */
#include "command.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"
#include "support/wait.h"

enum { ARGUMENTS_MAX = 32 };

static struct servers *servers;

int command_setup_with(const struct servers_options *options)
{
    servers = servers_start(options);
    return servers ? 0 : -1;
}

int command_setup(void **state)
{
    return command_setup_with(&(struct servers_options){.redis = REDIS_CLUSTER, .zookeeper = true});
}

int command_teardown(void **state)
{
    servers_free(servers);
    servers = NULL;
    return 0;
}

const struct servers *command_servers(void)
{
    return servers;
}

void command_redis(const struct server *server, const char *const *words)
{
    const char *argv[ARGUMENTS_MAX] = {"redis-cli", "-e", "-p"};
    char port[8];
    struct run run;

    snprintf(port, sizeof(port), "%d", server_port(server));
    argv[3] = port;
    for (size_t i = 0; words[i]; i++) {
        assert_true(i + 5 < ARGUMENTS_MAX);
        argv[i + 4] = words[i];
    }
    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    if (run.exit_code != 0) {
        fail_msg("redis-cli %s: %s%s", words[0], run.out, run.err);
    }
    run_fini(&run);
}

/* === Running ============================================================ */

static const int *refused;

void command_refuse(const int *calls)
{
    refused = calls;
}

void command_start(struct run *run, const char *in, const char *const *arguments)
{
    const char *argv[ARGUMENTS_MAX + 2] = {getenv("SLOTMQ_COMMAND")};
    char redis[512] = "SLOTMQ_REDIS";

    assert_non_null(argv[0]);
    for (size_t i = 0; arguments[i]; i++) {
        assert_true(i < ARGUMENTS_MAX);
        argv[i + 1] = arguments[i];
    }
    if (servers) {
        snprintf(redis, sizeof(redis), "SLOTMQ_REDIS=%s", servers_redis(servers));
    }
    const char *const environment[] = {redis, "SLOTMQ_ZOOKEEPER", COMMAND_NO_CONFIG, NULL};
    assert_true(run_start(
        run, &(struct run_options){
                 .argv = argv, .environment = environment, .in = in, .refused = refused}));
}

void command_run(struct run *run, const char *in, const char *const *arguments)
{
    command_start(run, in, arguments);
    assert_true(run_wait(run, TIMEOUT_MS));
}

static void assert_success(const struct run *run)
{
    if (run->exit_code != 0) {
        fail_msg("exit %d: %s", run->exit_code, run->err);
    }
}

void command_end(struct run *run)
{
    assert_true(run_wait(run, TIMEOUT_MS));
    assert_success(run);
}

void command_done(const char *in, const char *const *arguments)
{
    struct run run;

    command_run(&run, in, arguments);
    assert_success(&run);
    run_fini(&run);
}

char *command_out(const char *in, const char *const *arguments)
{
    struct run run;

    command_run(&run, in, arguments);
    assert_success(&run);
    char *out = strdup(run.out);
    run_fini(&run);
    assert_non_null(out);
    return out;
}

char *command_err(const char *in, const char *const *arguments)
{
    struct run run;

    command_run(&run, in, arguments);
    assert_success(&run);
    char *err = strdup(run.err);
    run_fini(&run);
    assert_non_null(err);
    return err;
}

json_t *command_json(const char *in, const char *const *arguments)
{
    char *out = command_out(in, arguments);
    json_error_t error;
    json_t *document = json_loads(out, 0, &error);

    if (!document) {
        fail_msg("not JSON (%s): %s", error.text, out);
    }
    free(out);
    return document;
}

json_t *command_lines(const char *in, const char *const *arguments)
{
    char *out = command_out(in, arguments);
    json_t *lines = json_array();
    char *rest = out;

    for (char *line = strsep(&rest, "\n"); line && *line != '\0'; line = strsep(&rest, "\n")) {
        json_t *object = json_loads(line, JSON_ALLOW_NUL, NULL);
        if (!json_is_object(object)) {
            fail_msg("no JSON object: %s", line);
        }
        assert_int_equal(json_array_append_new(lines, object), 0);
    }
    free(out);
    return lines;
}

void assert_refused(const struct run *run, int code, const char *text)
{
    const char *newline = strchr(run->err, '\n');
    const bool one_line = newline && newline[1] == '\0';

    if (run->exit_code != code || run->out_len != 0 || !one_line ||
        strncmp(run->err, "slotmq: ", 8) != 0 || !strstr(run->err, text)) {
        fail_msg("wanted exit %d and \"%s\"; exit %d, error \"%s\", output \"%s\"", code, text,
                 run->exit_code, run->err, run->out);
    }
}

void command_refused(int code, const char *text, const char *in, const char *const *arguments)
{
    struct run run;

    command_run(&run, in, arguments);
    assert_refused(&run, code, text);
    run_fini(&run);
}

char *command_partly(int code, const char *text, const char *const *arguments)
{
    struct run run;

    command_run(&run, NULL, arguments);
    if (run.exit_code != code || !strstr(run.err, text)) {
        fail_msg("wanted exit %d and \"%s\"; exit %d, error \"%s\"", code, text, run.exit_code,
                 run.err);
    }
    char *out = strdup(run.out);
    assert_non_null(out);
    run_fini(&run);
    return out;
}

/* === At a terminal ====================================================== */

/* The two ends of a new terminal. */
static void open_terminal(int *master, int *slave)
{
    *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(*master >= 0);
    assert_int_equal(grantpt(*master), 0);
    assert_int_equal(unlockpt(*master), 0);
    *slave = open(ptsname(*master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(*slave >= 0);
}

/* Starts the command with these descriptors. */
static pid_t start_with(const char *const *arguments, int in, int out, int err)
{
    const char *argv[ARGUMENTS_MAX + 2] = {getenv("SLOTMQ_COMMAND")};
    char redis[512];

    for (size_t i = 0; arguments[i]; i++) {
        assert_true(i < ARGUMENTS_MAX);
        argv[i + 1] = arguments[i];
    }
    snprintf(redis, sizeof(redis), "SLOTMQ_REDIS=%s", servers_redis(servers));
    const char *const environment[] = {redis, "COLUMNS", COMMAND_NO_CONFIG, NULL};
    const pid_t pid = process_start(&(struct process_options){
        .argv = argv, .environment = environment, .in = in, .out = out, .err = err});
    assert_true(pid > 0);
    return pid;
}

static int exit_code_of(pid_t pid)
{
    int status = 0;

    assert_true(process_wait(pid, &status, TIMEOUT_MS));
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int command_at_terminal(const char *answer, const char *const *arguments)
{
    int master = -1;
    int slave = -1;

    open_terminal(&master, &slave);
    assert_int_equal(write(master, answer, strlen(answer)), strlen(answer));
    const int code = exit_code_of(start_with(arguments, slave, 0, 0));
    close(slave);
    close(master);
    return code;
}

/* What comes out of a terminal until no process has its other side any more. */
static char *read_all(int master)
{
    char part[4096];
    char *text = NULL;
    size_t size = 0;
    ssize_t got = 0;
    FILE *all = open_memstream(&text, &size);

    assert_non_null(all);
    while ((got = read(master, part, sizeof(part))) > 0) {
        assert_int_equal(fwrite(part, 1, (size_t) got, all), got);
    }
    close(master);
    assert_int_equal(fclose(all), 0);
    return text;
}

char *command_shown(const char *const *arguments)
{
    int master = -1;
    int slave = -1;

    open_terminal(&master, &slave);
    const pid_t pid = start_with(arguments, 0, 0, slave);
    close(slave);
    char *text = read_all(master);
    assert_int_equal(exit_code_of(pid), 0);
    return text;
}

char *command_drawn(unsigned short columns, const char *const *arguments)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    int master = -1;
    int slave = -1;

    open_terminal(&master, &slave);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    const pid_t pid = start_with(arguments, 0, slave, 0);
    close(slave);
    char *text = read_all(master);
    assert_int_equal(exit_code_of(pid), 0);
    return text;
}

char *command_unread(const char *const *arguments)
{
    int ends[2];
    int errs[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pipe2(errs, O_CLOEXEC), 0);
    close(ends[0]);
    const pid_t pid = start_with(arguments, 0, ends[1], errs[1]);
    close(ends[1]);
    close(errs[1]);
    char *err = read_all(errs[0]);
    assert_int_equal(exit_code_of(pid), 0);
    return err;
}

/* === Statistics ========================================================= */

json_int_t command_stat(const char *topic, const char *name)
{
    json_t *document = command_json(NULL, ARGS("stat", topic, "--json"));
    const json_int_t value =
        json_number(json_array_get(json_object_get(document, "topics"), 0), name);

    json_decref(document);
    return value;
}

struct awaited {
    const char *topic;
    const char *name;
    json_int_t value;
};

static bool stat_is(void *arg)
{
    const struct awaited *awaited = arg;

    return command_stat(awaited->topic, awaited->name) == awaited->value;
}

void command_wait_stat(const char *topic, const char *name, json_int_t value)
{
    struct awaited awaited = {topic, name, value};

    if (!wait_until(stat_is, &awaited, TIMEOUT_MS)) {
        fail_msg("%s of %s is %lld, not %lld", name, topic, (long long) command_stat(topic, name),
                 (long long) value);
    }
}

/* === Results ============================================================ */

const char *json_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    if (!text) {
        fail_msg("there is no text \"%s\"", name);
    }
    return text;
}

json_int_t json_number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    if (!json_is_integer(value)) {
        fail_msg("there is no number \"%s\"", name);
    }
    return json_integer_value(value);
}

void assert_members(const json_t *object, const char *const *names)
{
    size_t count = 0;

    for (; names[count]; count++) {
        if (!json_object_get(object, names[count])) {
            fail_msg("\"%s\" is missing", names[count]);
        }
    }
    assert_int_equal(json_object_size(object), count);
}

/* Characters of UTF-8; colors take no room. */
static size_t width_of(const char *line, size_t size)
{
    size_t width = 0;

    for (size_t i = 0; i < size; i++) {
        if (line[i] == '\033') {
            i += strcspn(line + i, "m");
        } else {
            width += ((unsigned char) line[i] & 0xc0) != 0x80 ? 1 : 0;
        }
    }
    return width;
}

void assert_width(const char *shown, size_t columns)
{
    for (const char *line = shown; *line != '\0'; line += strspn(line, "\r\n")) {
        const size_t size = strcspn(line, "\r\n");
        const size_t width = width_of(line, size);
        if (width > columns) {
            fail_msg("%zu columns: %.*s", width, (int) size, line);
        }
        line += size;
    }
}

void assert_lines(const char *out, const char *const *lines)
{
    const char *rest = out;

    for (size_t i = 0; lines[i]; i++) {
        const size_t size = strlen(lines[i]);
        if (strncmp(rest, lines[i], size) != 0 || rest[size] != '\n') {
            fail_msg("line %zu is not \"%s\" in:\n%s", i + 1, lines[i], out);
        }
        rest += size + 1;
    }
    assert_string_equal(rest, "");
}

/* --- messages --- */

void command_create_topic(const char *name, const char *type, const char *layout)
{
    command_done(NULL, ARGS("topic", "create", name, "--type", type, "--layout", layout, "--slots",
                            "4", "--backoff", "none", "--max-retries", "0"));
}

void command_kill_due(const char *topic, const char *count)
{
    command_done(NULL, ARGS("consume", topic, "--count", count, "--", "false"));
}

const char *const command_message_members[] = {
    "topic",         "slot",         "state",      "body",          "key",         "id",
    "priority",      "due_at_ms",    "sent_at_ms", "expires_at_ms", "lease_at_ms", "dead_at_ms",
    "attempt",       "retries_left", "token",      "reason",        "tries",       "cursor",
    "claimed_at_ms", "claimed_by",   NULL};

const char *const command_delivery_members[] = {
    "topic",     "slot",       "state",         "body",    "key",          "id",    "priority",
    "due_at_ms", "sent_at_ms", "expires_at_ms", "attempt", "retries_left", "token", NULL};
