/* test_failover.c - replicas take over while a fleet consumes and a producer sends: by agreement,
 * because a master died or stands still, and without the last writes.  Three masters with one
 * replica each. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/load.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "integration/fixture/pairs.h"
#include "integration/fixture/sharers.h"
#include "support/group.h"
#include "support/long_form.h"
#include "support/wait.h"

enum { MASTERS = 3, FAILOVERS_ASKED = 20, FAILOVER_MS = 6000, SHARERS = 8 };

/* A replica takes over however old its data is. */
static int start(void **state)
{
    static const char *const config[] = {"cluster-replica-validity-factor 0", NULL};
    struct servers_options options = {.redis = REDIS_CLUSTER,
                                      .masters = MASTERS,
                                      .replicas = 1,
                                      .redis_config = config,
                                      .zookeeper = true};

    return cluster_start(&options);
}

/* --- failovers by agreement --- */

/* Nodes vote once in two node time-outs for a replica of one master, and Redis gives up after 5 s:
 * then it is asked again. */
static void fail_over(struct load *load, struct pair *pair)
{
    for (int i = 0; i < FAILOVERS_ASKED && !pair_has_taken_over(pair); i++) {
        freeReplyObject(keys_command_at(pair->replica, "CLUSTER FAILOVER"));
        load_send(load, long_form(SIZE_BURST));
        (void) wait_until(pair_has_taken_over, pair, FAILOVER_MS);
    }
    assert_true(pair_has_taken_over(pair));
}

/* --- the tests ----------------------------------------------------------------------------- */

static void nothing_is_lost_or_handled_twice_in_failovers_by_agreement(void **state)
{
    struct load *load = load_start(*state);

    load_round(load);
    for (int i = 0; i < long_form(SIZE_FAILOVERS); i++) {
        struct pair pair = pair_with(load_master(load, i % LOAD_SLOTS));
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
    struct pair pair = pair_with(load_master(load, 0));

    load_round(load);
    load_send(load, long_form(SIZE_BURST));
    server_kill(pair.master);
    load_send(load, long_form(SIZE_BURST));
    pair_await_takeover(&pair);
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
    struct pair pair = pair_with(load_master(load, 0));

    load_round(load);
    load_send(load, long_form(SIZE_BURST));
    server_pause(pair.master);
    load_send(load, long_form(SIZE_BURST));
    pair_await_takeover(&pair);
    load_keep(load, long_form(SIZE_AWAY_MS));
    server_resume(pair.master);
    load_send(load, long_form(SIZE_BURST));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    load_send(load, long_form(SIZE_BURST));
    (void) load_end(load);
}

/* What was handled before the master dies is forgotten, and only messages that the replica has may
 * come again.  Owners continue, although Redis does not know their last claims. */
static void owners_continue_when_a_replica_takes_over_without_the_last_writes(void **state)
{
    struct load *load = load_start(*state);
    struct pair pair = pair_with(load_master(load, 0));
    struct verdict verdict;
    int before;

    load_round(load);
    load_send(load, long_form(SIZE_BURST));
    pair_leave_behind(&pair);
    before = load_acknowledged(load);
    load_keep(load, long_form(SIZE_BEHIND_MS));
    load_await_handled(load);
    server_kill(pair.master);
    pair_await_takeover(&pair);
    load_round(load);
    assert_true(server_restart(pair.master));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    load_send(load, long_form(SIZE_BURST));
    verdict = load_end(load);
    print_message("%d were handled more than once\n", (int) verdict.repeated);
    assert_in_range(verdict.repeated, 0, before);
}

/* --- a busy master that dies --- */

enum { BUSY_SLOTS = 256, WAVE = 512, SLOW_WAVES = 3, SLOW_MS = 50 };

struct busy {
    smq_client *client;
    const char *topic;
    smq_producer *producer;
    atomic_int stored, ended;
    int sent;
};

static void busy_on_sent(const smq_receipt *receipt, void *user)
{
    struct busy *busy = user;

    atomic_fetch_add(&busy->stored, receipt->status == SMQ_OK ? 1 : 0);
    atomic_fetch_add(&busy->ended, 1);
}

static void busy_send(struct busy *busy)
{
    char key[16];
    smq_error err;

    for (int i = 0; i < WAVE; i++, busy->sent++) {
        snprintf(key, sizeof(key), "k%d", busy->sent);
        smq_message message = messages_text(key);
        message.key = message.body;
        assert_ok(smq_send_async(busy->producer, busy->topic, &message, busy_on_sent, busy, &err),
                  &err);
    }
}

static bool busy_has_ended(void *arg)
{
    struct busy *busy = arg;

    return atomic_load(&busy->ended) == busy->sent;
}

/* A master that stands still for moments is slow, so requests of its slots wait for each other,
 * both sends and claims, when it dies. */
static void requests_that_wait_for_a_busy_master_survive_its_death(void **state)
{
    struct busy busy = {.client = cluster_client()};
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.slots = BUSY_SLOTS);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    struct pair pair;
    char key[64];

    (void) state;
    busy.topic = cluster_topic(busy.client, &topic);
    (void) snprintf(key, sizeof(key), "slot{%s_0}", busy.topic);
    pair = pair_of_key(key);
    busy.producer =
        messages_producer(busy.client, &SMQ_PRODUCER_OPTIONS(.send_timeout_ms = TIMEOUT_MS));
    worker = handler_log_worker(busy.client, busy.topic, log);
    for (int i = 0; i < SLOW_WAVES; i++) {
        int64_t until_ms = clock_wall_ms() + SLOW_MS;

        server_pause(pair.master);
        busy_send(&busy);
        messages_await_clock(until_ms);
        server_resume(pair.master);
        assert_true(wait_until(busy_has_ended, &busy, TIMEOUT_MS));
    }
    handler_log_await(log, busy.sent); /* what no replica has is handled already */
    server_pause(pair.master);
    busy_send(&busy);
    server_kill(pair.master);
    pair_await_takeover(&pair);
    assert_true(wait_until(busy_has_ended, &busy, TIMEOUT_MS));
    assert_int_equal(atomic_load(&busy.stored), busy.sent);
    assert_true(server_restart(pair.master));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    messages_await_counts(busy.client, busy.topic, (struct message_counts){.done = -1});
    assert_true(handler_log_count(log) >= busy.sent);
    handler_log_stop_worker(worker);
    smq_producer_free(busy.producer);
    handler_log_free(log);
    smq_client_free(busy.client);
}

/* --- schedules --- */

enum { EVERY_MS = 100, TICKS_BETWEEN = 5 };

/* Each failover by agreement, so no write is lost: the due times of the ticks differ, and rise. */
static void a_schedule_ticks_on_once_over_failovers(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_topic(
        client, &SMQ_TOPIC_OPTIONS(.layout = SMQ_LAYOUT_KEYED, .dedup_window_ms = 3600000));
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    const smq_message message = messages_text("x");
    const smq_schedule schedule = SMQ_SCHEDULE(.every_ms = EVERY_MS, .message = &message);
    smq_error err = SMQ_ERROR_INIT;
    char key[64];
    int64_t before = 0;

    (void) state;
    (void) snprintf(key, sizeof(key), "slot{%s_0}", topic);
    assert_ok(smq_schedule_put(client, topic, "s", &schedule, NULL, &err), &err);
    for (int i = 0; i < long_form(SIZE_FAILOVERS); i++) {
        struct pair pair = pair_of_key(key);

        handler_log_await(log, handler_log_count(log) + TICKS_BETWEEN);
        for (int asked = 0; asked < FAILOVERS_ASKED && !pair_has_taken_over(&pair); asked++) {
            freeReplyObject(keys_command_at(pair.replica, "CLUSTER FAILOVER"));
            (void) wait_until(pair_has_taken_over, &pair, FAILOVER_MS);
        }
        assert_true(pair_has_taken_over(&pair));
        assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    }
    handler_log_await(log, handler_log_count(log) + TICKS_BETWEEN);
    handler_log_stop_worker(worker);
    for (int i = 0; i < handler_log_count(log); i++) {
        const int64_t due = strtoll(handler_log_seen(log, i).id + strlen("s@"), NULL, 10);

        assert_true(due > before && due % EVERY_MS == 0);
        before = due;
    }
    assert_int_equal(messages_stats(client, topic).sent, handler_log_count(log));
    handler_log_free(log);
    smq_client_free(client);
}

/* --- a push that is lost ------------------------------------------------------------------- */

/* `some` messages are handled; then the replica hears nothing any more, and `more` are.  FOUND_MS
 * is promised. */
enum { KEYS = 4, SOME = 10, MORE = 10, FOUND_MS = 15000 };

/* A topic of one slot, whose owner sleeps. */
struct asleep {
    smq_client *client;
    struct members members;
    char store[64];
    struct pair pair;
    redisContext *listener; /* at the replica; not the owner's */
    int sent;
};

static void asleep_init(struct asleep *asleep, const struct load_options *kind)
{
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = kind->type, .layout = kind->layout);

    memset(asleep, 0, sizeof(*asleep));
    asleep->client = cluster_client();
    members_init(&asleep->members, cluster_topic(asleep->client, &topic));
    asleep->members.zookeeper = true;
    asleep->members.session_ms = 20000; /* nobody dies here, not even of slowness */
    members_start(&asleep->members);
    snprintf(asleep->store, sizeof(asleep->store), "%s_0", asleep->members.topic);
    asleep->pair = pair_of_key(asleep->store);
}

static void asleep_send(struct asleep *asleep, int count)
{
    members_send(&asleep->members, asleep->client, "k", KEYS, asleep->sent, count);
    asleep->sent += count;
}

static bool all_have_begun(void *arg)
{
    struct asleep *asleep = arg;

    return members_begun(&asleep->members, NULL, 0) >= asleep->sent;
}

/* All are handled, their answers are stored, and the owner sleeps again. */
static void await_sleep(struct asleep *asleep)
{
    assert_true(wait_until(all_have_begun, asleep, TIMEOUT_MS));
    messages_await_counts(asleep->client, asleep->members.topic,
                          (struct message_counts){.done = asleep->sent});
    keys_await_open(asleep->members.topic, 1, 1);
}

static redisContext *replica_as(const struct pair *pair, const char *greeting)
{
    redisContext *redis = redisConnect("127.0.0.1", server_port(pair->replica));

    assert_non_null(redis);
    assert_int_equal(redis->err, 0);
    freeReplyObject(redisCommand(redis, greeting));
    return redis;
}

/* Until may_subscribe() nobody but the listener may subscribe there. */
static void keep_from_subscribing(const struct pair *pair)
{
    freeReplyObject(keys_command_at(pair->replica, "ACL SETUSER listener on >secret ~* &* +@all"));
    freeReplyObject(keys_command_at(pair->replica, "ACL SETUSER default -ssubscribe"));
}

static void may_subscribe(const struct pair *pair)
{
    freeReplyObject(keys_command_at(pair->replica, "ACL SETUSER default +ssubscribe"));
    freeReplyObject(keys_command_at(pair->replica, "ACL DELUSER listener"));
}

static bool listens(void *arg)
{
    const struct asleep *asleep = arg;
    redisReply *reply = redisCommand(asleep->listener, "SSUBSCRIBE wake{%s}", asleep->store);
    bool subscribed = reply != NULL && reply->type == REDIS_REPLY_ARRAY;

    freeReplyObject(reply);
    return subscribed;
}

/* A message is pushed, and only the listener hears of it. */
static int64_t lose_a_push(struct asleep *asleep)
{
    struct timespec now;
    redisReply *heard;
    void *data = NULL;

    asleep->listener = replica_as(&asleep->pair, "AUTH listener secret");
    assert_true(wait_until(listens, asleep, TIMEOUT_MS));
    clock_gettime(CLOCK_MONOTONIC, &now);
    asleep_send(asleep, 1);
    assert_int_equal(redisGetReply(asleep->listener, &data), REDIS_OK);
    heard = data;
    assert_int_equal(heard->elements, 3);
    assert_string_equal(heard->element[0]->str, "smessage");
    assert_true(heard->element[2]->len > 0);
    freeReplyObject(heard);
    redisFree(asleep->listener);
    return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

static void end_asleep(struct asleep *asleep)
{
    struct verdict verdict;

    member_leave(&asleep->members.member[0]);
    verdict = members_judge(&asleep->members);
    if (!verdict_good(&verdict)) {
        verdict_print(&verdict, stderr);
        fail_msg("%s", verdict.example);
    }
    assert_int_equal(verdict.runs, asleep->sent);
    members_fini(&asleep->members);
    smq_client_free(asleep->client);
}

/* Redis gives the push a number that its owner knows already, and the owner does not hear of it. */
static void lost_push_after_a_failover_without_the_last_writes_is_found_in_time(void **state)
{
    int64_t at_ns[SOME + MORE + 1], sent_ns;
    struct asleep asleep;

    asleep_init(&asleep, *state);
    asleep_send(&asleep, SOME);
    await_sleep(&asleep);
    pair_await_level(&asleep.pair);
    pair_leave_behind(&asleep.pair);
    for (int i = 0; i < MORE; i++) {
        asleep_send(&asleep, 1);
        await_sleep(&asleep);
    }
    keep_from_subscribing(&asleep.pair);
    server_kill(asleep.pair.master);
    pair_await_takeover(&asleep.pair);
    sent_ns = lose_a_push(&asleep);
    may_subscribe(&asleep.pair);
    assert_true(wait_until(all_have_begun, &asleep, TIMEOUT_MS));
    assert_int_equal(members_begun(&asleep.members, at_ns, SOME + MORE + 1), SOME + MORE + 1);
    print_message("found after %d ms\n", (int) ((at_ns[SOME + MORE] - sent_ns) / 1000000));
    assert_in_range((at_ns[SOME + MORE] - sent_ns) / 1000000, 0, FOUND_MS);
    assert_true(server_restart(asleep.pair.master));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    end_asleep(&asleep);
}

/* --- who sleeps in a shared topic ---------------------------------------------------------- */

/* A message that is sent as soon as there is a new master begins before anybody looks by itself. */
static void sharers_hear_the_new_master(void (*stop)(struct server *server),
                                        void (*start_again)(struct server *server))
{
    smq_client *client = cluster_client();
    struct sharers sharers;
    struct pair pair;
    char key[64];

    sharers_begin(&sharers, client, 1);
    sharers_grow(&sharers, SHARERS, NULL);
    snprintf(key, sizeof(key), "slot{%s_0}", sharers.topic);
    pair = pair_of_key(key);
    pair_await_level(&pair); /* it knows who sleeps */
    stop(pair.master);
    pair_await_takeover(&pair);
    messages_send_numbers(client, sharers.topic, 0, 1);
    sharers_await(&sharers, 1, SHARERS_BY_ITSELF_MS);
    start_again(pair.master);
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    sharers_check_wakes(&sharers, client);
    sharers_end(&sharers);
    smq_client_free(client);
}

static void restart(struct server *server)
{
    assert_true(server_restart(server));
}

static void sharers_hear_the_new_master_when_the_old_one_dies(void **state)
{
    sharers_hear_the_new_master(server_kill, restart);
}

/* Nothing closes their connections. */
static void sharers_hear_the_new_master_when_the_old_one_stands_still(void **state)
{
    sharers_hear_the_new_master(server_pause, server_resume);
}

/* The master of the tree of a fleet is the one that fails. */
#define IN_REDIS(test) cmocka_unit_test_prestate(test, &load_in_redis)

TEST_GROUP(failover)
{
    const struct CMUnitTest tests[] = {
        LOAD_TESTS(nothing_is_lost_or_handled_twice_in_failovers_by_agreement),
        cmocka_unit_test_prestate(nothing_is_lost_or_handled_twice_in_failovers_by_agreement,
                                  &load_shared),
        LOAD_TESTS(what_replicas_acknowledged_is_handled_when_a_master_dies),
        cmocka_unit_test_prestate(what_replicas_acknowledged_is_handled_when_a_master_dies,
                                  &load_shared),
        LOAD_TESTS(what_replicas_acknowledged_is_handled_when_a_master_stands_still),
        LOAD_TESTS(owners_continue_when_a_replica_takes_over_without_the_last_writes),
        IN_REDIS(nothing_is_lost_or_handled_twice_in_failovers_by_agreement),
        IN_REDIS(what_replicas_acknowledged_is_handled_when_a_master_stands_still),
        IN_REDIS(owners_continue_when_a_replica_takes_over_without_the_last_writes),
        LOAD_TESTS(lost_push_after_a_failover_without_the_last_writes_is_found_in_time),
        cmocka_unit_test(requests_that_wait_for_a_busy_master_survive_its_death),
        cmocka_unit_test(a_schedule_ticks_on_once_over_failovers),
        cmocka_unit_test(sharers_hear_the_new_master_when_the_old_one_dies),
        cmocka_unit_test(sharers_hear_the_new_master_when_the_old_one_stands_still),
    };

    return cmocka_run_group_tests_name("failover", tests, start, cluster_end);
}
