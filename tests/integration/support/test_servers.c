/* test_servers.c - the starter of real servers: all answer, end and start again, and leave nothing.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "support/group.h"
#include "support/process.h"
#include "support/servers.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 30000 };

static redisReply *ask(const struct server *server, const char *command)
{
    redisContext *context = redisConnect("127.0.0.1", server_port(server));

    assert_non_null(context);
    assert_int_equal(context->err, 0);
    redisReply *reply = redisCommand(context, command);
    redisFree(context);
    assert_non_null(reply);
    return reply;
}

static void assert_status(const struct server *server, const char *command, const char *wanted)
{
    redisReply *reply = ask(server, command);

    assert_string_equal(reply->str, wanted);
    freeReplyObject(reply);
}

static bool exists(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0;
}

static bool runs(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static void test_single_server_takes_configuration(void **state)
{
    const char *const config[] = {"maxmemory 50mb", NULL};
    struct servers *servers =
        servers_start(&(struct servers_options){.redis = REDIS_SINGLE, .redis_config = config});

    assert_non_null(servers);
    assert_int_equal(servers_count(servers), 1);
    assert_null(servers_zookeeper(servers));
    redisReply *reply = ask(servers_node(servers, 0), "CONFIG GET maxmemory");
    assert_string_equal(reply->element[1]->str, "52428800");
    freeReplyObject(reply);
    assert_string_equal(servers_redis(servers), server_address(servers_node(servers, 0)));
    servers_free(servers);
}

static void test_nothing_is_left(void **state)
{
    struct servers *servers =
        servers_start(&(struct servers_options){.redis = REDIS_SINGLE, .zookeeper = true});

    assert_non_null(servers);
    char *folder = strdup(servers_folder(servers));
    pid_t redis = server_pid(servers_node(servers, 0));
    pid_t zookeeper = server_pid(servers_zookeeper_server(servers));
    assert_true(exists(folder) && runs(redis) && runs(zookeeper));
    servers_free(servers);
    assert_false(exists(folder) || runs(redis) || runs(zookeeper));
    free(folder);
}

static bool is_failed(void *arg)
{
    redisReply *reply = ask(arg, "CLUSTER INFO");
    bool failed = strstr(reply->str, "cluster_state:fail") != NULL;

    freeReplyObject(reply);
    return failed;
}

static void test_cluster_loses_a_master_and_gets_it_back(void **state)
{
    struct servers *servers = servers_start(
        &(struct servers_options){.redis = REDIS_CLUSTER, .masters = 3, .node_timeout_ms = 500});

    assert_non_null(servers);
    assert_int_equal(servers_count(servers), 3);
    struct server *owner = servers_node_of(servers, "some-key");
    assert_non_null(owner);
    assert_status(owner, "SET some-key 1", "OK");

    struct server *other = servers_node(servers, owner == servers_node(servers, 0) ? 1 : 0);
    server_kill(owner);
    assert_int_equal(server_pid(owner), 0);
    assert_true(wait_until(is_failed, other, TIMEOUT_MS));
    assert_true(server_restart(owner));
    assert_true(servers_wait(servers, TIMEOUT_MS));
    assert_ptr_equal(servers_node_of(servers, "some-key"), owner);
    servers_free(servers);
}

static void test_replica_takes_over(void **state)
{
    struct servers *servers = servers_start(&(struct servers_options){
        .redis = REDIS_CLUSTER, .masters = 3, .replicas = 1, .node_timeout_ms = 500});

    assert_non_null(servers);
    assert_int_equal(servers_count(servers), 6);
    struct server *master = servers_node(servers, 0);
    struct server *replica = servers_node(servers, 3);
    assert_status(replica, "READONLY", "OK");
    server_kill(master);
    assert_true(wait_until(is_failed, replica, TIMEOUT_MS));
    assert_true(servers_wait(servers, TIMEOUT_MS));
    redisReply *reply = ask(replica, "ROLE");
    assert_string_equal(reply->element[0]->str, "master");
    freeReplyObject(reply);
    servers_free(servers);
}

static void test_paused_server_does_not_answer_until_resumed(void **state)
{
    struct servers *servers = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});

    assert_non_null(servers);
    struct server *server = servers_node(servers, 0);
    server_pause(server);
    redisContext *context =
        redisConnectWithTimeout("127.0.0.1", server_port(server), (struct timeval){.tv_sec = 5});
    redisSetTimeout(context, (struct timeval){.tv_usec = 100000});
    assert_null(redisCommand(context, "PING"));
    redisFree(context);
    server_resume(server);
    assert_status(server, "PING", "PONG");
    servers_free(servers);
}

static void test_missing_program_is_an_error(void **state)
{
    const char *const argv[] = {"no-such-program", NULL};

    assert_int_equal(process_start(&(struct process_options){.argv = argv}), 0);
}

static void test_bad_configuration_is_an_error(void **state)
{
    const char *const config[] = {"no-such-directive 1", NULL};

    assert_null(
        servers_start(&(struct servers_options){.redis = REDIS_SINGLE, .redis_config = config}));
}

/* It is not our child: init waits for it, or nobody, and then it stays a zombie. */
static bool is_gone(void *arg)
{
    const pid_t *pid = arg;
    char path[64], line[256] = "";

    snprintf(path, sizeof(path), "/proc/%d/stat", (int) *pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return true;
    }
    const char *read_line = fgets(line, sizeof(line), file);
    fclose(file);
    return read_line == NULL || strstr(line, ") Z ") != NULL;
}

static bool is_removed(void *arg)
{
    return !exists(arg);
}

/* A parent that is killed takes its servers and their folder with it. */
static void test_servers_die_with_their_starter(void **state)
{
    struct servers_options options = {.redis = REDIS_SINGLE};
    char folder[64];
    int pipes[2];
    pid_t server = 0;

    snprintf(folder, sizeof(folder), "/tmp/slotmq-servers-test-%d", (int) getpid());
    options.folder = folder;
    assert_int_equal(pipe(pipes), 0);
    pid_t starter = fork();
    if (starter == 0) {
        struct servers *servers = servers_start(&options);
        pid_t pid = servers != NULL ? server_pid(servers_node(servers, 0)) : 0;
        ssize_t written = write(pipes[1], &pid, sizeof(pid));
        raise(written > 0 ? SIGKILL : SIGABRT);
    }
    assert_int_equal(read(pipes[0], &server, sizeof(server)), (int) sizeof(server));
    assert_true(server > 0);
    assert_true(process_wait(starter, NULL, TIMEOUT_MS));
    assert_true(wait_until(is_gone, &server, TIMEOUT_MS));
    close(pipes[0]);
    close(pipes[1]);
    assert_true(wait_until(is_removed, folder, TIMEOUT_MS));
}

TEST_GROUP(servers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_server_takes_configuration),
        cmocka_unit_test(test_nothing_is_left),
        cmocka_unit_test(test_cluster_loses_a_master_and_gets_it_back),
        cmocka_unit_test(test_replica_takes_over),
        cmocka_unit_test(test_paused_server_does_not_answer_until_resumed),
        cmocka_unit_test(test_missing_program_is_an_error),
        cmocka_unit_test(test_bad_configuration_is_an_error),
        cmocka_unit_test(test_servers_die_with_their_starter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
