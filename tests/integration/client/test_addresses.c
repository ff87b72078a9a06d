/* test_addresses.c - where servers are: a unix socket, IPv6, and clusters whose nodes announce
 * other addresses than those they listen on. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { MESSAGES = 100, SLOTS = 32, MASTERS = 3 };

static smq_client *client_at(const char *redis)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = redis);
    return cluster_client_with(&options);
}

/* Messages of all slots are sent and handled. */
static void send_and_handle(const char *redis)
{
    smq_client *client = client_at(redis);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);

    messages_send_numbers(client, topic, 0, MESSAGES);
    handler_log_await(log, MESSAGES);
    messages_await_counts(client, topic, (struct message_counts){0, 0, 0, 0, MESSAGES});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- one server --- */

static void a_unix_socket_serves_as_a_host_and_port_does(void **state)
{
    static char path[] = "/tmp/slotmq-socket-XXXXXX";
    char socket_path[64], line[128], with_user[128];
    const char *const config[] = {line, "user ann on >sesame ~* &* +@all", NULL};
    smq_client *client = NULL;
    smq_error err;

    assert_non_null(mkdtemp(path));
    snprintf(socket_path, sizeof(socket_path), "%s/redis.sock", path);
    snprintf(line, sizeof(line), "unixsocket %s", socket_path);
    assert_int_equal(
        cluster_start(&(struct servers_options){.redis = REDIS_SINGLE, .redis_config = config}), 0);
    send_and_handle(socket_path);
    snprintf(with_user, sizeof(with_user), "unix://ann:sesame@%s", socket_path);
    send_and_handle(with_user);
    server_stop(servers_node(cluster_servers(), 0));
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = socket_path, .connect_timeout_ms = 2000);
    assert_int_equal(smq_client_new(&client, &options, &err), SMQ_UNAVAILABLE);
    assert_non_null(strstr(err.text, socket_path));
    (void) cluster_end(NULL);
    (void) unlink(socket_path);
    assert_int_equal(rmdir(path), 0);
}

static bool machine_has_ipv6(void)
{
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6,
                                          .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int tried = socket(AF_INET6, SOCK_STREAM, 0);
    bool has = tried >= 0 && bind(tried, (const void *) &loopback, sizeof(loopback)) == 0;

    (void) close(tried);
    return has;
}

static void an_ipv6_address_is_written_in_brackets(void **state)
{
    static const char *const config[] = {"bind 127.0.0.1 ::1", NULL};
    char redis[64];

    if (!machine_has_ipv6()) {
        print_message("this machine has no IPv6\n");
        skip();
    }
    assert_int_equal(
        cluster_start(&(struct servers_options){.redis = REDIS_SINGLE, .redis_config = config}), 0);
    snprintf(redis, sizeof(redis), "[::1]:%d", server_port(servers_node(cluster_servers(), 0)));
    send_and_handle(redis);
    (void) cluster_end(NULL);
}

/* --- clusters --- */

static void configure(size_t node, const char *name, const char *value)
{
    freeReplyObject(
        keys_command_at(servers_node(cluster_servers(), node), "CONFIG SET %s %s", name, value));
}

static void configure_all(const char *name, const char *value)
{
    for (size_t i = 0; i < MASTERS; i++) {
        configure(i, name, value);
    }
}

struct announced {
    const char *hosts[MASTERS]; /* NULL: none */
    int ports[MASTERS];
};

static bool has_node(const redisReply *map, const char *host, int port)
{
    for (size_t i = 0; i < map->elements; i++) {
        const redisReply *node = map->element[i]->element[2];
        const char *named =
            node->element[0]->type == REDIS_REPLY_STRING ? node->element[0]->str : NULL;
        bool same = host == NULL ? named == NULL : named != NULL && strcmp(named, host) == 0;

        if (same && node->element[1]->integer == port) {
            return true;
        }
    }
    return false;
}

/* Do all nodes announce themselves and each other so? */
static bool all_announce(void *arg)
{
    const struct announced *announced = arg;
    bool all = true;

    for (size_t i = 0; i < MASTERS; i++) {
        redisReply *map = keys_command_at(servers_node(cluster_servers(), i), "CLUSTER SLOTS");

        for (size_t j = 0; j < MASTERS; j++) {
            all = all && has_node(map, announced->hosts[j], announced->ports[j]);
        }
        freeReplyObject(map);
    }
    return all;
}

static struct announced announced_everywhere(const char *host)
{
    struct announced announced;

    for (size_t i = 0; i < MASTERS; i++) {
        announced.hosts[i] = host;
        announced.ports[i] = server_port(servers_node(cluster_servers(), i));
    }
    return announced;
}

static void nodes_that_announce_host_names_are_found(void **state)
{
    struct announced announced = announced_everywhere("localhost");

    configure_all("cluster-announce-hostname", "localhost");
    configure_all("cluster-preferred-endpoint-type", "hostname");
    assert_true(wait_until(all_announce, &announced, TIMEOUT_MS));
    send_and_handle(server_address(servers_node(cluster_servers(), 1)));
    configure_all("cluster-preferred-endpoint-type", "ip");
}

/* Their host is the one that was asked. */
static void nodes_that_announce_no_host_are_found(void **state)
{
    struct announced announced = announced_everywhere(NULL);
    char redis[64];

    configure_all("cluster-preferred-endpoint-type", "unknown-endpoint");
    assert_true(wait_until(all_announce, &announced, TIMEOUT_MS));
    snprintf(redis, sizeof(redis), "localhost:%d", server_port(servers_node(cluster_servers(), 2)));
    send_and_handle(redis);
    configure_all("cluster-preferred-endpoint-type", "ip");
}

/* As behind NAT: every node is reached by another port than its own. */
static void nodes_behind_other_ports_are_found(void **state)
{
    struct announced announced = announced_everywhere("127.0.0.1");
    struct proxy *proxies[MASTERS];
    char number[16];

    for (size_t i = 0; i < MASTERS; i++) {
        int port = server_port(servers_node(cluster_servers(), i));

        proxies[i] = proxy_start(port);
        announced.ports[i] = atoi(strchr(proxy_address(proxies[i]), ':') + 1);
        snprintf(number, sizeof(number), "%d", port + 10000);
        configure(i, "cluster-announce-bus-port", number);
        snprintf(number, sizeof(number), "%d", announced.ports[i]);
        configure(i, "cluster-announce-port", number);
    }
    assert_true(wait_until(all_announce, &announced, TIMEOUT_MS));
    for (size_t i = 0; i < MASTERS; i++) {
        proxy_count(proxies[i]);
    }
    send_and_handle(proxy_address(proxies[0]));
    for (size_t i = 0; i < MASTERS; i++) {
        assert_true(proxy_round_trips(proxies[i]) > 1);
    }
    configure_all("cluster-announce-port", "0");
    for (size_t i = 0; i < MASTERS; i++) {
        proxy_stop(proxies[i]);
    }
}

TEST_GROUP(addresses)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test(a_unix_socket_serves_as_a_host_and_port_does),
        cmocka_unit_test(an_ipv6_address_is_written_in_brackets),
    };
    const struct CMUnitTest clusters[] = {
        cmocka_unit_test(nodes_that_announce_host_names_are_found),
        cmocka_unit_test(nodes_that_announce_no_host_are_found),
        cmocka_unit_test(nodes_behind_other_ports_are_found),
    };
    int failed = cmocka_run_group_tests_name("addresses", singles, NULL, NULL);

    return failed +
           cmocka_run_group_tests_name("announced", clusters, cluster_start_masters, cluster_end);
}
