/* test_failover.c - replicas take over while a fleet consumes and a producer sends: by agreement,
 * because a master died or stands still, and without the last writes.  Three masters with one
 * replica each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/load.h"
#include "support/long_form.h"
#include "support/wait.h"

enum { MASTERS = 3, FAILOVERS_ASKED = 20, FAILOVER_MS = 6000 };

/* A replica takes over however old its data is. */
static int start(void **state)
{
    static const char *const config[] = {"cluster-replica-validity-factor 0", NULL};
    struct servers_options options = {.redis = REDIS_CLUSTER,
                                      .masters = MASTERS,
                                      .replicas = 1,
                                      .redis_config = config,
                                      .zookeeper = true};

    (void) state;
    return cluster_start(&options);
}

/* --- a master and its replica -------------------------------------------------------------- */

struct pair {
    struct server *master, *replica;
};

/* Those of a slot of the topic. */
static struct pair pair_of(const struct load *load, int slot)
{
    struct pair pair = {.master = load_master(load, slot)};
    size_t number = 0;

    while (servers_node(cluster_servers(), number) != pair.master) {
        number++;
    }
    pair.replica = servers_node(cluster_servers(), (number + MASTERS) % ((size_t) 2 * MASTERS));
    return pair;
}

static bool says(const struct server *server, const char *line)
{
    redisReply *reply = keys_command_at(server, "INFO replication");
    bool so = strstr(reply->str, line) != NULL;

    freeReplyObject(reply);
    return so;
}

static bool has_taken_over(void *arg)
{
    const struct pair *pair = arg;

    return says(pair->replica, "role:master");
}

static void await_takeover(struct pair *pair)
{
    assert_true(wait_until(has_taken_over, pair, TIMEOUT_MS));
}

/* Nodes vote once in two node time-outs for a replica of one master, and Redis gives up after 5 s:
 * then it is asked again. */
static void fail_over(struct load *load, struct pair *pair)
{
    for (int i = 0; i < FAILOVERS_ASKED && !has_taken_over(pair); i++) {
        freeReplyObject(keys_command_at(pair->replica, "CLUSTER FAILOVER"));
        load_send(load, long_form(SIZE_BURST));
        (void) wait_until(has_taken_over, pair, FAILOVER_MS);
    }
    assert_true(has_taken_over(pair));
}

static bool is_behind(void *arg)
{
    const struct pair *pair = arg;

    return says(pair->replica, "master_link_status:down");
}

/* --- the tests ----------------------------------------------------------------------------- */

static void nothing_is_lost_or_handled_twice_in_failovers_by_agreement(void **state)
{
    struct load *load = load_start(*state);

    load_round(load);
    for (int i = 0; i < long_form(SIZE_FAILOVERS); i++) {
        struct pair pair = pair_of(load, i % LOAD_SLOTS);
        int acknowledged = load_acknowledged(load);

        load_send(load, long_form(SIZE_BURST));
        fail_over(load, &pair);
        load_send(load, long_form(SIZE_BURST));
        assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
        load_await_more(load, acknowledged);
    }
    load_end_each_once(load);
}

/* What one replica must have before it counts as acknowledged. */
static struct load *start_with_replicas(const struct load_options *kind)
{
    struct load_options options = *kind;

    options.replicas = 1;
    return load_start(&options);
}

/* What was claimed or answered last may be repeated. */
static void what_replicas_acknowledged_is_handled_when_a_master_dies(void **state)
{
    struct load *load = start_with_replicas(*state);
    struct pair pair = pair_of(load, 0);

    load_round(load);
    load_send(load, long_form(SIZE_BURST));
    server_kill(pair.master);
    load_send(load, long_form(SIZE_BURST));
    await_takeover(&pair);
    load_keep(load, long_form(SIZE_AWAY_MS));
    assert_true(server_restart(pair.master));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    load_send(load, long_form(SIZE_BURST));
    (void) load_end(load);
}

/* When it wakes it believes for a moment that it is still the master. */
static void what_replicas_acknowledged_is_handled_when_a_master_stands_still(void **state)
{
    struct load *load = start_with_replicas(*state);
    struct pair pair = pair_of(load, 0);

    load_round(load);
    load_send(load, long_form(SIZE_BURST));
    server_pause(pair.master);
    load_send(load, long_form(SIZE_BURST));
    await_takeover(&pair);
    load_keep(load, long_form(SIZE_AWAY_MS));
    server_resume(pair.master);
    load_send(load, long_form(SIZE_BURST));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    load_send(load, long_form(SIZE_BURST));
    (void) load_end(load);
}

/* The replica is not given anything any more: its connection is cut, and a new one refused. */
static void leave_behind(struct pair *pair)
{
    freeReplyObject(keys_command_at(pair->master, "ACL SETUSER default -psync -sync"));
    freeReplyObject(keys_command_at(pair->master, "CLIENT KILL TYPE replica"));
    assert_true(wait_until(is_behind, pair, TIMEOUT_MS));
}

/* What was handled before the master dies is forgotten, and only messages that the replica has may
 * come again.  Owners continue, although Redis does not know their last claims. */
static void owners_continue_when_a_replica_takes_over_without_the_last_writes(void **state)
{
    struct load *load = load_start(*state);
    struct pair pair = pair_of(load, 0);
    struct verdict verdict;
    int before;

    load_round(load);
    load_send(load, long_form(SIZE_BURST));
    leave_behind(&pair);
    before = load_acknowledged(load);
    load_keep(load, long_form(SIZE_BEHIND_MS));
    load_await_handled(load);
    server_kill(pair.master);
    await_takeover(&pair);
    load_round(load);
    assert_true(server_restart(pair.master));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    load_send(load, long_form(SIZE_BURST));
    verdict = load_end(load);
    print_message("%d were handled more than once\n", (int) verdict.repeated);
    assert_in_range(verdict.repeated, 0, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOAD_TESTS(nothing_is_lost_or_handled_twice_in_failovers_by_agreement),
        LOAD_TESTS(what_replicas_acknowledged_is_handled_when_a_master_dies),
        LOAD_TESTS(what_replicas_acknowledged_is_handled_when_a_master_stands_still),
        LOAD_TESTS(owners_continue_when_a_replica_takes_over_without_the_last_writes),
    };

    return cmocka_run_group_tests_name("failover", tests, start, cluster_end);
}
