/* test_disturbed.c - servers that disturb a fleet that consumes and a producer that sends: they
 * forget scripts, cut connections, have no memory, run a script that does not end, or take no
 * writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/load.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/long_form.h"
#include "support/port.h"
#include "support/wait.h"

static void tell(const struct server *server, const char *command)
{
    freeReplyObject(keys_command_at(server, command));
}

static void tell_all(const char *command)
{
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        tell(servers_node(cluster_servers(), i), command);
    }
}

/* The number behind `field` in what INFO says of this section; 0 if it is not there. */
static int64_t info_number(const struct server *server, const char *section, const char *field)
{
    redisReply *reply = keys_command_at(server, "INFO %s", section);
    const char *at = strstr(reply->str, field);
    int64_t number = at != NULL ? strtoll(at + strlen(field), NULL, 10) : 0;

    freeReplyObject(reply);
    return number;
}

/* --- scripts and connections --------------------------------------------------------------- */

static void nothing_is_lost_or_handled_twice_when_scripts_are_flushed(void **state)
{
    struct load *load = load_start(*state);

    load_round(load);
    for (int i = 0; i < long_form(SIZE_DISTURBANCES); i++) {
        int acknowledged = load_acknowledged(load);

        assert_true(info_number(load_master(load, 0), "memory", "number_of_cached_scripts:") > 0);
        load_send(load, long_form(SIZE_BURST));
        tell_all("SCRIPT FLUSH");
        load_send(load, long_form(SIZE_BURST));
        load_await_more(load, acknowledged);
        load_await_handled(load);
    }
    load_end_each_once(load);
}

static void kill_connections(const char *type)
{
    int64_t killed = 0;

    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        redisReply *reply = keys_command_at(servers_node(cluster_servers(), i),
                                            "CLIENT KILL TYPE %s SKIPME yes", type);
        killed += reply->integer;
        freeReplyObject(reply);
    }
    assert_true(killed > 0);
}

static void nothing_is_lost_or_handled_twice_when_connections_are_killed(void **state)
{
    struct load *load = load_start(*state);

    load_round(load);
    for (int i = 0; i < long_form(SIZE_DISTURBANCES); i++) {
        int acknowledged = load_acknowledged(load);

        load_send(load, long_form(SIZE_BURST));
        load_await_more(load, acknowledged);
        kill_connections("normal");
        load_send(load, long_form(SIZE_BURST));
        load_await_handled(load);
        kill_connections("pubsub");
        load_round(load);
    }
    load_end_each_once(load);
}

/* --- memory -------------------------------------------------------------------------------- */

static bool has_full(void *arg)
{
    return load_full(arg) > 0;
}

/* Sends are refused, and may be sent again later; consumers continue. */
static void what_is_acknowledged_is_handled_while_a_server_is_full(void **state)
{
    struct load *load = load_start(*state);
    struct server *full = load_master(load, 0);

    load_round(load);
    load_send(load, long_form(SIZE_BURST));
    tell(full, "CONFIG SET maxmemory 1");
    load_keep(load, long_form(SIZE_FULL_MS));
    assert_true(wait_until(has_full, load, TIMEOUT_MS));
    load_await_handled(load);
    messages_await_counts(load_client(load), load_topic(load),
                          (struct message_counts){.dead = 0, .done = -1});
    tell(full, "CONFIG SET maxmemory 0");
    int refused = load_full(load);
    load_round(load);
    assert_int_equal(load_full(load), refused);
    struct verdict verdict = load_end(load);
    assert_int_equal(verdict.runs, verdict.sent);
}

/* --- a script that does not end ------------------------------------------------------------ */

static bool is_killed(void *arg)
{
    redisReply *reply = redisCommand(arg, "SCRIPT KILL");
    bool killed = reply != NULL && reply->type == REDIS_REPLY_STATUS;

    freeReplyObject(reply);
    return killed;
}

/* The server is busy while messages come, and at least for `ms`. */
static void be_busy(struct load *load, const struct server *server, int64_t ms)
{
    redisContext *runner = redisConnect("127.0.0.1", server_port(server));
    redisContext *killer = redisConnect("127.0.0.1", server_port(server));
    redisReply *ended = NULL;

    assert_int_equal(redisAppendCommand(runner, "EVAL %s 0", "while true do end"), REDIS_OK);
    for (int done = 0; done == 0;) {
        assert_int_equal(redisBufferWrite(runner, &done), REDIS_OK);
    }
    load_keep(load, ms);
    assert_true(wait_until(is_killed, killer, TIMEOUT_MS));
    assert_int_equal(redisGetReply(runner, (void **) &ended), REDIS_OK);
    freeReplyObject(ended);
    redisFree(killer);
    redisFree(runner);
}

static void nothing_is_lost_or_handled_twice_while_a_server_is_busy(void **state)
{
    struct load *load = load_start(*state);
    const struct server *server = load_master(load, 0);

    load_round(load);
    tell(server, "CONFIG SET busy-reply-threshold 20");
    tell(server, "CONFIG RESETSTAT");
    for (int64_t ms = long_form(SIZE_BUSY_MS);
         info_number(server, "errorstats", "errorstat_BUSY:count=") == 0; ms += 250) {
        be_busy(load, server, ms);
    }
    load_end_each_once(load);
}

/* --- no writes ----------------------------------------------------------------------------- */

static bool is_refused(void *arg)
{
    return info_number(arg, "errorstats", "errorstat_READONLY:count=") > 0;
}

/* The server is the replica of one that is not there. */
static void nothing_is_lost_or_handled_twice_while_a_server_is_read_only(void **state)
{
    struct load *load = load_start(*state);
    struct server *server = servers_node(cluster_servers(), 0);
    struct port nobody;

    assert_true(port_reserve(&nobody, false));
    load_round(load);
    load_send(load, long_form(SIZE_BURST));
    freeReplyObject(keys_command_at(server, "REPLICAOF 127.0.0.1 %d", nobody.number));
    load_keep(load, long_form(SIZE_READ_ONLY_MS));
    assert_true(wait_until(is_refused, server, TIMEOUT_MS));
    tell(server, "REPLICAOF NO ONE");
    load_send(load, long_form(SIZE_BURST));
    load_end_each_once(load);
    port_release(&nobody);
}

TEST_GROUP(disturbed)
{
    const struct CMUnitTest cluster[] = {
        LOAD_TESTS(nothing_is_lost_or_handled_twice_when_scripts_are_flushed),
        LOAD_TESTS(nothing_is_lost_or_handled_twice_when_connections_are_killed),
        LOAD_TESTS(what_is_acknowledged_is_handled_while_a_server_is_full),
        LOAD_TESTS(nothing_is_lost_or_handled_twice_while_a_server_is_busy),
    };
    const struct CMUnitTest single[] = {
        LOAD_TESTS(nothing_is_lost_or_handled_twice_while_a_server_is_read_only),
    };

    return cmocka_run_group_tests(cluster, cluster_start_fleet, cluster_end) +
           cmocka_run_group_tests(single, cluster_start_single_fleet, cluster_end);
}
