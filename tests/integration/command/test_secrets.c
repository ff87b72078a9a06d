/* test_secrets.c - passwords in files, in the environment and in the command line: they work, and
 * nobody sees them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "support/group.h"
#include "support/wait.h"

static char redis_user[256], redis_uri[256], zookeeper[256];
static char password_file[] = "/tmp/slotmq-password-XXXXXX";
static char auth_file[] = "/tmp/slotmq-auth-XXXXXX";

static void make_file(char *path, const char *text)
{
    int file = mkstemp(path);

    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    assert_int_equal(close(file), 0);
}

static int start(void **state)
{
    int failed = command_setup(state);

    if (failed) {
        return failed;
    }
    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        command_redis(servers_node(command_servers(), i),
                      ARGS("ACL", "SETUSER", "ann", "reset", "on", ">sesame", "~*", "&*", "+@all"));
    }
    snprintf(redis_user, sizeof(redis_user), "redis://ann@%s", servers_redis(command_servers()));
    snprintf(redis_uri, sizeof(redis_uri), "redis://ann:sesame@%s",
             servers_redis(command_servers()));
    snprintf(zookeeper, sizeof(zookeeper), "%s/secrets", servers_zookeeper(command_servers()));
    make_file(password_file, "sesame\n");
    make_file(auth_file, "fleet:sesame\n");
    command_done(NULL, ARGS("topic", "create", "t", "--slots", "4"));
    command_done(NULL, ARGS("-z", zookeeper, "topic", "create", "bound", "--slots", "4"));
    return 0;
}

static int end(void **state)
{
    (void) unlink(password_file);
    (void) unlink(auth_file);
    return command_teardown(state);
}

/* Start the command with variables of the environment. */
static void start_with(struct run *run, const char *const *environment, const char *const *words)
{
    const char *argv[24] = {getenv("SLOTMQ_COMMAND")};

    for (size_t i = 0; words[i] != NULL; i++) {
        argv[i + 1] = words[i];
    }
    assert_true(run_start(run, &(struct run_options){.argv = argv, .environment = environment}));
}

/* Does a file of the process hold the text? */
static bool process_shows(const struct run *run, const char *file, const char *text)
{
    char path[64], bytes[8192];
    FILE *open;
    size_t len;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int) run->pid, file);
    open = fopen(path, "r");
    assert_non_null(open);
    len = fread(bytes, 1, sizeof(bytes), open);
    assert_int_equal(fclose(open), 0);
    return memmem(bytes, len, text, strlen(text)) != NULL;
}

/* It works, and what it writes with -vvv and shows to others has no password. */
static void assert_secret(const char *const *environment, const char *const *words)
{
    struct run run;

    start_with(&run, environment, words);
    assert_true(run_wait_err(&run, "slot_gained", TIMEOUT_MS));
    assert_false(process_shows(&run, "cmdline", "sesame"));
    assert_true(process_shows(&run, "cmdline", "-vvv"));
    run_signal(&run, 2);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_null(strstr(run.err, "sesame"));
    assert_null(strstr(run.out, "sesame"));
    run_fini(&run);
}

static void redis_passwords_are_not_seen(void **state)
{
    char option[160];

    snprintf(option, sizeof(option), "redis_password_file=%s", password_file);
    assert_secret(ARGS("SLOTMQ_REDIS_PASSWORD=sesame"),
                  ARGS("-r", redis_user, "-vvv", "consume", "t"));
    assert_secret(ARGS("SLOTMQ_REDIS"),
                  ARGS("-r", redis_user, "-X", option, "-vvv", "consume", "t"));
    assert_secret(ARGS("SLOTMQ_REDIS"), ARGS("-r", redis_uri, "-vvv", "consume", "t"));
    snprintf(option, sizeof(option), "SLOTMQ_REDIS_PASSWORD_FILE=%s", password_file);
    assert_secret(ARGS(option), ARGS("-r", redis_user, "-vvv", "consume", "t"));
    assert_secret(ARGS("SLOTMQ_REDIS_PASSWORD=wrong"),
                  ARGS("-r", redis_uri, "-vvv", "consume", "t")); /* the nearer one counts */
}

static void zookeeper_passwords_are_not_seen(void **state)
{
    char option[160];

    snprintf(option, sizeof(option), "zookeeper_auth_file=%s", auth_file);
    assert_secret(ARGS("SLOTMQ_ZOOKEEPER_AUTH=fleet:sesame"),
                  ARGS("-r", redis_uri, "-z", zookeeper, "-vvv", "consume", "bound"));
    assert_secret(ARGS("SLOTMQ_REDIS"),
                  ARGS("-r", redis_uri, "-z", zookeeper, "-X", option, "-vvv", "consume", "bound"));
    snprintf(option, sizeof(option), "SLOTMQ_ZOOKEEPER_AUTH_FILE=%s", auth_file);
    assert_secret(ARGS(option), ARGS("-r", redis_uri, "-z", zookeeper, "-vvv", "consume", "bound"));
    assert_secret(ARGS("SLOTMQ_REDIS"),
                  ARGS("-r", redis_uri, "-z", zookeeper, "-X", "zookeeper_auth=fleet:sesame",
                       "-vvv", "consume", "bound"));
}

/* All three ways gave the same credentials: nobody else may read the nodes. */
static void nodes_of_zookeeper_are_closed_to_others(void **state)
{
    struct run run;

    start_with(&run, ARGS("SLOTMQ_REDIS"),
               ARGS("-r", redis_uri, "-z", zookeeper, "consume", "bound", "--exit-when-empty"));
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_not_equal(run.exit_code, 0);
    assert_non_null(strstr(run.err, "zookeeper_auth"));
    run_fini(&run);
}

static void wrong_secrets_are_refused_in_words(void **state)
{
    static const struct {
        const char *option, *text;
    } rows[] = {
        {"redis_password_file=/nowhere", "redis_password_file: /nowhere cannot be read"},
        {"zookeeper_auth_file=/nowhere", "zookeeper_auth_file: /nowhere cannot be read"},
    };
    char option[160];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(64, rows[i].text, NULL,
                        ARGS("-z", zookeeper, "-X", rows[i].option, "stat"));
    }
    snprintf(option, sizeof(option), "zookeeper_auth_file=%s", password_file);
    command_refused(64, "must be \"user:password\"", NULL,
                    ARGS("-z", zookeeper, "-X", option, "stat"));
    command_refused(64, "without a password", NULL, ARGS("-r", redis_user, "stat"));
}

static void a_secret_and_its_file_are_not_both_taken(void **state)
{
    struct run run;

    start_with(&run, ARGS("SLOTMQ_REDIS_PASSWORD=a", "SLOTMQ_REDIS_PASSWORD_FILE=/b"),
               ARGS("-r", redis_user, "stat"));
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_refused(&run, 64, "SLOTMQ_REDIS_PASSWORD and SLOTMQ_REDIS_PASSWORD_FILE are both set");
    run_fini(&run);
}

/* What a program that runs for a message finds of the variables with which the command was started,
 * one name in a line. */
static void assert_passed(const char *redis, const char *flag, const char *wanted)
{
    static const char found[] =
        "env | sed -nE 's/^(SLOTMQ_(REDIS|SERVE_TOKEN|ZOOKEEPER)[^=]*)=.*/\\1/p' | sort";
    struct run run;

    command_done("x\n", ARGS("send", "t"));
    start_with(
        &run,
        ARGS("SLOTMQ_REDIS_PASSWORD=sesame", "SLOTMQ_SERVE_TOKEN=sesame-sesame-sesame",
             "SLOTMQ_ZOOKEEPER_AUTH_FILE=/sesame", redis, "SLOTMQ_ZOOKEEPER"),
        ARGS("-r", redis_uri, "consume", "t", "--count", "1", flag, "--", "sh", "-c", found));
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_string_equal(run.out, wanted);
    run_fini(&run);
}

static void a_program_gets_no_credentials_unless_asked(void **state)
{
    assert_passed("SLOTMQ_REDIS=redis://a:sesame@h:1", "-q", "");
    assert_passed("SLOTMQ_REDIS=redis://a@h:1", "-q", "SLOTMQ_REDIS\n");
    assert_passed("SLOTMQ_REDIS=redis://a:sesame@h:1", "--pass-credentials",
                  "SLOTMQ_REDIS\nSLOTMQ_REDIS_PASSWORD\nSLOTMQ_SERVE_TOKEN\n"
                  "SLOTMQ_ZOOKEEPER_AUTH_FILE\n");
}

TEST_GROUP(secrets)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redis_passwords_are_not_seen),
        cmocka_unit_test(zookeeper_passwords_are_not_seen),
        cmocka_unit_test(nodes_of_zookeeper_are_closed_to_others),
        cmocka_unit_test(wrong_secrets_are_refused_in_words),
        cmocka_unit_test(a_secret_and_its_file_are_not_both_taken),
        cmocka_unit_test(a_program_gets_no_credentials_unless_asked),
    };

    return cmocka_run_group_tests_name("secrets", tests, start, end);
}
