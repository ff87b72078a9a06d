/* test_fleet.c - a fleet of processes under ZooKeeper on a Redis Cluster: joins, leaves, deaths. */
#include <hiredis/hiredis.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <slotmq/ops.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/flow.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/long_form.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/servers.h"
#include "support/wait.h"

enum { SLOTS = 64, KEYS = 5000, TOPICS = 36, ONE_WAY_MS = 80 };

/* --- where the fleet is coordinated --- */

static bool in_redis;

static int choose_redis(void **state)
{
    (void) state;
    in_redis = true;
    return 0;
}

static int choose_zookeeper(void **state)
{
    (void) state;
    in_redis = false;
    return 0;
}

static void use_kind(struct members *members)
{
    members->zookeeper = !in_redis;
}

#define TREE "tree{slotmq:/slotmq}"

/* The same test with the other kind of fleet. */
#define IN_REDIS(test)                                                                             \
    {                                                                                              \
#test "_in_redis", test, choose_redis, choose_zookeeper, NULL                              \
    }

/* --- who owns what, as Redis says --- */

struct owners {
    char owner[SLOTS][128], token[SLOTS][32];
};

static bool see_slot(const smq_slot_info *slot, void *user)
{
    struct owners *owners = user;

    snprintf(owners->owner[slot->slot], sizeof(owners->owner[0]), "%s", slot->owner);
    snprintf(owners->token[slot->slot], sizeof(owners->token[0]), "%s", slot->token);
    return true;
}

static void owners_read(struct owners *owners, smq_client *client, const char *topic)
{
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_topic_slots(client, topic, see_slot, owners, &err), &err);
}

static int slots_of(const struct owners *owners, const char *name)
{
    int count = 0;

    for (int i = 0; i < SLOTS; i++) {
        count += strcmp(owners->owner[i], name) == 0 ? 1 : 0;
    }
    return count;
}

/* Does every slot have an owner, and each of `members` owners its share? */
static bool is_shared_out(const struct owners *owners, int members)
{
    int shares = 0;

    for (int i = 0; i < SLOTS; i++) {
        int count = slots_of(owners, owners->owner[i]);
        bool first = true;

        if (owners->owner[i][0] == '\0' || count < SLOTS / members ||
            count > (SLOTS + members - 1) / members) {
            return false;
        }
        for (int j = 0; j < i; j++) {
            first = first && strcmp(owners->owner[i], owners->owner[j]) != 0;
        }
        shares += first ? 1 : 0;
    }
    return shares == members;
}

static int tokens_changed(const struct owners *before, const struct owners *after)
{
    int changed = 0;

    for (int i = 0; i < SLOTS; i++) {
        changed += strcmp(before->token[i], after->token[i]) != 0 ? 1 : 0;
    }
    return changed;
}

/* --- load --- */

/* Sends a few messages each time it is asked whether the slots are shared out. */
struct load {
    struct members *members;
    smq_client *client;
    struct owners owners;
    int shares, sent;
    int each;      /* messages each time; 0: others send */
    pid_t leaving; /* 0: nobody; -1: has left */
};

static bool has_shares_under_load(void *arg)
{
    struct load *load = arg;
    int status = -1;

    if (load->each > 0) {
        members_send(load->members, load->client, "k", KEYS, load->sent, load->each);
        load->sent += load->each;
    }
    if (load->leaving > 0 && process_ended(load->leaving, &status)) {
        assert_int_equal(status, 0);
        load->leaving = -1;
    }
    owners_read(&load->owners, load->client, load->members->topic);
    return load->leaving <= 0 && is_shared_out(&load->owners, load->shares);
}

static void await_shares(struct load *load, int shares)
{
    load->shares = shares;
    if (!wait_until(has_shares_under_load, load, TIMEOUT_MS)) {
        fail_msg("the slots were not shared out over %d members", shares);
    }
}

static void start_four(struct members *members, smq_client *client)
{
    members_init(members, cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS));
    use_kind(members);
    members->session_ms = 20000; /* nobody dies here, not even of slowness */
    members->work_us = 500;      /* so that there is something in flight whenever one leaves */
    for (int i = 0; i < 4; i++) {
        members_start(members);
    }
}

/* The member `number` is asked to leave, and another one is started when it has. */
static void restart_one(struct load *load, int number)
{
    load->leaving = load->members->member[number].pid;
    kill(load->leaving, SIGTERM);
    await_shares(load, 3);
    load->members->member[number].pid = 0;
    members_start(load->members);
    await_shares(load, 4);
}

/* All that was sent was handled once, and no lease was lost; the last four leave. */
static void end_flawless(struct load *load)
{
    struct members *members = load->members;
    struct verdict verdict;
    smq_stats stats;

    messages_await_counts(load->client, members->topic,
                          (struct message_counts){.done = load->sent});
    stats = messages_stats(load->client, members->topic);
    assert_int_equal(stats.retried, 0);
    assert_int_equal(stats.lease_lost, 0);
    verdict = members_judge(members);
    assert_int_equal(verdict.sent, load->sent);
    assert_int_equal(verdict.handled, load->sent);
    assert_int_equal(verdict.lost, 0);
    assert_int_equal(verdict.runs, load->sent); /* no duplicate */
    assert_int_equal(verdict.overlaps, 0);
    assert_int_equal(verdict.fenced, 0);
    for (int i = members->count - 4; i < members->count; i++) {
        member_leave(&members->member[i]);
    }
    members_fini(members);
}

static void join_and_leave_move_only_what_they_must(void **state)
{
    smq_client *client = cluster_client();
    struct members members;
    struct load load = {.members = &members, .client = client, .each = 200};
    struct owners four, five;
    struct member *fifth = NULL;
    struct verdict verdict;
    smq_stats stats;

    members_init(&members, cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS));
    use_kind(&members);
    members.session_ms = 20000; /* nobody dies here, not even of slowness */
    members.work_us = 200;
    for (int i = 0; i < 4; i++) {
        members_start(&members);
    }
    await_shares(&load, 4);
    four = load.owners;

    fifth = members_start(&members);
    await_shares(&load, 5);
    five = load.owners;
    assert_int_equal(tokens_changed(&four, &five), SLOTS / 5);

    load.leaving = fifth->pid;
    kill(fifth->pid, SIGTERM);
    await_shares(&load, 4);
    fifth->pid = 0;
    assert_int_equal(tokens_changed(&five, &load.owners), SLOTS / 5);

    messages_await_counts(client, members.topic, (struct message_counts){.done = load.sent});
    stats = messages_stats(client, members.topic);
    assert_int_equal(stats.retried, 0);
    assert_int_equal(stats.lease_lost, 0);
    verdict = members_judge(&members);
    assert_int_equal(verdict.sent, load.sent);
    assert_int_equal(verdict.handled, load.sent);
    assert_int_equal(verdict.runs, load.sent); /* no duplicate */
    assert_int_equal(verdict.overlaps, 0);
    assert_int_equal(verdict.fenced, 0);
    for (int i = 0; i < 4; i++) {
        member_leave(&members.member[i]);
    }
    members_fini(&members);
    smq_client_free(client);
}

/* Each of four members in turn is asked to leave, and another one is started when it has. */
static void rolling_restart_costs_no_message_a_retry(void **state)
{
    smq_client *client = cluster_client();
    struct members members;
    struct load load = {.members = &members, .client = client, .each = 200};

    start_four(&members, client);
    await_shares(&load, 4);
    for (int i = 0; i < 4; i++) {
        restart_one(&load, i);
    }
    end_flawless(&load);
    smq_client_free(client);
}

/* --- a rolling restart while messages come one by one --- */

enum { FLOW_PER_S = 10000 };

struct pushes {
    int64_t before;
};

static bool some_are_pushed(void *arg)
{
    const struct pushes *pushes = arg;

    return keys_pushes() > pushes->before;
}

/* Everything is handled, and all owners sleep: what comes next is pushed on any machine. */
static void await_sleep(struct load *load, struct flow *flow)
{
    flow_rest(flow);
    load->sent = flow_sent(flow);
    messages_await_counts(load->client, load->members->topic,
                          (struct message_counts){.done = load->sent});
    keys_await_open(load->members->topic, SLOTS, SLOTS);
}

/* A machine that keeps up pushes most of them; on another one messages wait, and then owners do not
 * sleep.  So each hand-over begins when they do. */
static void rolling_restart_costs_a_steady_flow_nothing(void **state)
{
    static struct members members; /* it outlives a test that fails, as the flow may */
    smq_client *client = cluster_client();
    struct load load = {.members = &members, .client = client};
    struct flow *flow;

    start_four(&members, client);
    await_shares(&load, 4);
    flow = flow_new(&members, client, KEYS, FLOW_PER_S);
    for (int i = 0; i < long_form(SIZE_RESTARTS); i++) {
        struct pushes pushes;
        int sent = flow_sent(flow);

        await_sleep(&load, flow);
        pushes.before = keys_pushes();
        flow_go(flow);
        assert_true(wait_until(some_are_pushed, &pushes, TIMEOUT_MS));
        restart_one(&load, i);
        print_message("hand-over %d: %d sent, %d of them pushed\n", i, flow_sent(flow) - sent,
                      (int) (keys_pushes() - pushes.before));
    }
    await_sleep(&load, flow);
    print_message("%d messages, %.0f per second\n", load.sent, flow_rate(flow));
    flow_free(flow);
    end_flawless(&load);
    smq_client_free(client);
}

/* --- deaths --- */

enum { DEATHS_EVERY_S = 5, DEATHS_AT_LEAST = 4 };

/* Kills the eldest by the clock until all is done; a new member joins for each. */
struct deaths {
    struct members *members;
    smq_client *client;
    int timer; /* a timerfd */
    int count;
    bool over; /* every message is done */
};

static bool is_time_or_over(void *arg)
{
    struct deaths *deaths = arg;
    struct pollfd timer = {.fd = deaths->timer, .events = POLLIN};
    smq_stats stats = messages_stats(deaths->client, deaths->members->topic);

    deaths->over = stats.waiting + stats.claimed + stats.resting == 0;
    return deaths->over || poll(&timer, 1, 0) == 1;
}

static void kill_one_after_another(struct deaths *deaths)
{
    struct itimerspec every = {.it_interval.tv_sec = DEATHS_EVERY_S,
                               .it_value.tv_sec = DEATHS_EVERY_S};
    uint64_t passed = 0;

    deaths->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    assert_true(deaths->timer >= 0);
    assert_int_equal(timerfd_settime(deaths->timer, 0, &every, NULL), 0);
    for (;;) {
        assert_true(wait_until(is_time_or_over, deaths, TIMEOUT_MS));
        if (deaths->over) {
            break;
        }
        assert_int_equal(read(deaths->timer, &passed, sizeof(passed)), sizeof(passed));
        member_kill(&deaths->members->member[deaths->count]);
        members_start(deaths->members);
        deaths->count++;
    }
    close(deaths->timer);
}

static void nothing_is_lost_when_one_member_after_another_is_killed(void **state)
{
    enum { TOTAL = 100000 };
    smq_client *client = cluster_client();
    struct members members;
    struct deaths deaths = {.members = &members, .client = client};
    struct verdict verdict;

    members_init(&members, cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS));
    use_kind(&members);
    members.work_us = 2400; /* eight threads: 30 s of work, and something in flight at any time */
    for (int i = 0; i < 4; i++) {
        members_start(&members);
    }
    members_send(&members, client, "k", KEYS, 0, TOTAL);
    kill_one_after_another(&deaths);
    assert_true(deaths.count >= DEATHS_AT_LEAST);
    verdict = members_judge(&members);
    if (!verdict_good(&verdict)) {
        verdict_print(&verdict, stderr);
        fail_msg("%s", verdict.example);
    }
    assert_int_equal(verdict.sent, TOTAL);
    assert_int_equal(verdict.handled, TOTAL);
    assert_int_equal(verdict.dead, 0);
    for (int i = deaths.count; i < members.count; i++) {
        member_leave(&members.member[i]);
    }
    members_fini(&members);
    smq_client_free(client);
}

static bool belongs_to_one_under_load(void *arg)
{
    struct load *load = arg;

    members_send(load->members, load->client, "k", KEYS, load->sent, load->each);
    load->sent += load->each;
    owners_read(&load->owners, load->client, load->members->topic);
    return is_shared_out(&load->owners, 1);
}

static bool all_is_handled(void *arg)
{
    struct load *load = arg;

    return messages_stats(load->client, load->members->topic).done == (uint64_t) load->sent;
}

/* A member is stopped past its session, in the middle of its handlers, and wakes up as a zombie. */
static void woken_zombie_changes_nothing(void **state)
{
    smq_client *client = cluster_client();
    struct members members;
    struct load load = {.members = &members, .client = client, .each = 200};
    struct member *zombie;
    struct verdict verdict;

    members_init(&members, cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS));
    use_kind(&members);
    members.work_us = 1000;
    zombie = members_start(&members);
    members_start(&members);
    await_shares(&load, 2);
    assert_true(process_pause(zombie->pid));
    assert_true(wait_until(belongs_to_one_under_load, &load, TIMEOUT_MS));
    assert_true(process_resume(zombie->pid));
    await_shares(&load, 2);
    assert_true(wait_until(all_is_handled, &load, TIMEOUT_MS));
    verdict = members_judge(&members);
    if (!verdict_good(&verdict)) {
        verdict_print(&verdict, stderr);
        fail_msg("%s", verdict.example);
    }
    assert_int_equal(verdict.handled, load.sent);
    member_leave(&members.member[0]);
    member_leave(&members.member[1]);
    members_fini(&members);
    smq_client_free(client);
}

/* The server of the tree starts anew with data from before the fourth member came: its former
 * owners keep their slots under their tokens, also those on that server.  When the grace is over a
 * fifth one gets its share, and no more moves. */
static void who_lives_keeps_its_slots_when_the_tree_goes_back(void **state)
{
    smq_client *client = cluster_client();
    struct members members;
    struct load load = {.members = &members, .client = client, .each = 50};
    struct server *server = servers_node_of(cluster_servers(), TREE);
    redisContext *redis = NULL;
    struct owners four;

    assert_non_null(server);
    members_init(&members, cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS));
    use_kind(&members);
    members.session_ms = 3000;
    members.work_us = 200;
    for (int i = 0; i < 3; i++) {
        members_start(&members);
    }
    await_shares(&load, 3);
    messages_await_counts(client, members.topic, (struct message_counts){.done = load.sent});
    redis = redisConnect("127.0.0.1", server_port(server));
    freeReplyObject(redisCommand(redis, "SAVE"));
    redisFree(redis);
    load.each = 0;
    members_start(&members);
    await_shares(&load, 4);
    keys_await_open(members.topic, SLOTS, SLOTS); /* no takeover waits for its answer */
    four = load.owners;

    server_kill(server);
    assert_true(server_restart(server));
    members_start(&members);
    load.each = 50;
    await_shares(&load, 5);
    assert_int_equal(tokens_changed(&four, &load.owners), SLOTS / 5);
    assert_true(wait_until(all_is_handled, &load, TIMEOUT_MS));
    for (int i = 0; i < 5; i++) {
        member_leave(&members.member[i]);
    }
    members_fini(&members);
    smq_client_free(client);
}

static bool tree_has_a_root(void *arg)
{
    (void) arg;
    return keys_number(TREE, "HEXISTS " TREE " n:members") == 1;
}

/* The tree is gone, and one that was no member makes it again, with the first generation.
 * Members raise that above their own, and all have it: what one had goes to others when it leaves.
 */
static void a_tree_that_is_lost_is_made_again(void **state)
{
    smq_client *client = cluster_client();
    struct members members;
    struct load load = {.members = &members, .client = client, .each = 50};
    struct owners two;
    smq_client *operator=
        cluster_client_with(&SMQ_CLIENT_OPTIONS(.coordination = SMQ_COORDINATION_REDIS));
    smq_fence fence = SMQ_FENCE_INIT;
    smq_error err = SMQ_ERROR_INIT;

    members_init(&members, cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS));
    use_kind(&members);
    members.session_ms = 3000;
    members.work_us = 200;
    while (fence.generation < 2) { /* beyond that of a new root */
        assert_ok(smq_fleet_raise_fence(operator, & fence, &err), &err);
    }
    for (int i = 0; i < 2; i++) {
        members_start(&members);
    }
    await_shares(&load, 2);
    keys_await_open(members.topic, SLOTS, SLOTS);
    two = load.owners;
    for (int i = 0; i < 2; i++) {
        assert_true(process_pause(members.member[i].pid));
    }
    freeReplyObject(keys_command(TREE, "DEL " TREE));
    members_start(&members);
    assert_true(wait_until(tree_has_a_root, NULL, TIMEOUT_MS));
    for (int i = 0; i < 2; i++) {
        assert_true(process_resume(members.member[i].pid));
    }
    await_shares(&load, 3);
    assert_in_range(tokens_changed(&two, &load.owners), SLOTS / 3, SLOTS / 3 + 1);
    load.leaving = members.member[2].pid;
    kill(load.leaving, SIGTERM);
    await_shares(&load, 2);
    members.member[2].pid = 0;
    assert_true(wait_until(all_is_handled, &load, TIMEOUT_MS));
    for (int i = 0; i < 2; i++) {
        member_leave(&members.member[i]);
    }
    members_fini(&members);
    smq_client_free(operator);
    smq_client_free(client);
}

static void missing_zookeeper_is_said_in_time(void **state)
{
    smq_client *client;
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.zookeeper = "127.0.0.1:1", .session_timeout_ms = 500);
    client = cluster_client_with(&options);
    smq_consumer_options work =
        SMQ_CONSUMER_OPTIONS(.topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS),
                             .handler = (smq_handler_fn *) abort);
    assert_int_equal(smq_consumer_new(&worker, client, &work, &err), SMQ_UNAVAILABLE);
    assert_null(worker);
    assert_non_null(strstr(err.text, "127.0.0.1:1"));
    smq_client_free(client);
}

/* --- many topics --- */

static _Atomic int complaints;

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    if (strstr(event->text, "this process has had no slot") != NULL) {
        complaints++;
        fprintf(stderr, "%s\n", event->text);
    }
}

static bool all_have_slots(void *arg)
{
    smq_health health = SMQ_HEALTH_INIT;

    assert_int_equal(smq_client_health(arg, &health, NULL), SMQ_OK);
    return health.consumers_slotless == 0;
}

/* It grants the slots of one topic after the other, for longer than a consumer waits for its own
 * until it says why it has none. */
static void an_assigner_at_work_is_not_blamed(void **state)
{
    struct proxy *proxy = proxy_start(server_port(servers_zookeeper_server(cluster_servers())));
    smq_consumer *consumers[TOPICS];
    char address[128];
    smq_client *client;

    (void) snprintf(address, sizeof(address), "%s/many", proxy_address(proxy));
    client = cluster_client_with(&SMQ_CLIENT_OPTIONS(.zookeeper = address, .event = on_event));
    proxy_delay(proxy, ONE_WAY_MS);
    for (int i = 0; i < TOPICS; i++) {
        consumers[i] =
            messages_consumer(client, cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1));
    }
    assert_true(wait_until(all_have_slots, client, TIMEOUT_MS));
    assert_int_equal(complaints, 0);
    proxy_delay(proxy, 0);
    for (int i = 0; i < TOPICS; i++) {
        smq_consumer_stop(consumers[i]);
    }
    for (int i = 0; i < TOPICS; i++) {
        smq_consumer_free(consumers[i]);
    }
    smq_client_free(client);
    proxy_stop(proxy);
}

#define NEW_TREE "tree{slotmq:/first}"
enum { FIRST_SESSION_MS = 20000 }; /* longer than the start takes */

static bool is_node_made(void *topic)
{
    return keys_number(NEW_TREE, "HEXISTS " NEW_TREE " n:topics/%s", *(const char **) topic) == 1;
}

static bool note_grace(const smq_fleet_info *info, void *user)
{
    *(int64_t *) user = info->grace_ms;
    return true;
}

static smq_verdict handle_at_once(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    return SMQ_DONE;
}

/* The first to bind a topic knows that no slot has had an owner, and says so even where another
 * member has made the nodes before it.  So a new root costs nobody its grace. */
static void the_first_start_of_a_topic_waits_for_nobody(void **state)
{
    const smq_client_options options =
        SMQ_CLIENT_OPTIONS(.coordination = SMQ_COORDINATION_REDIS, .root = "/first",
                           .session_timeout_ms = FIRST_SESSION_MS);
    smq_client *first = cluster_client_with(&options), *second = cluster_client_with(&options);
    const char *topic = cluster_typed_topic(first, SMQ_TYPE_FIXED_TIME, SLOTS);
    smq_consumer_options consumer = SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = handle_at_once);
    smq_consumer *binds = NULL, *makes = NULL;
    int64_t grace_ms = 0;
    const smq_fleet_visitor visitor = SMQ_FLEET_VISITOR(.fleet = note_grace, .user = &grace_ms);
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    assert_ok(smq_consumer_new(&binds, first, &consumer, &err), &err);
    assert_ok(smq_consumer_new(&makes, second, &consumer, &err), &err);
    assert_ok(smq_consumer_start(makes, &err), &err);
    assert_true(wait_until(is_node_made, &topic, TIMEOUT_MS));
    assert_ok(smq_consumer_start(binds, &err), &err);
    messages_send_numbers(first, topic, 0, 1);
    messages_await_counts(first, topic, (struct message_counts){.done = 1});
    assert_ok(smq_fleet_describe(first, &visitor, &err), &err);
    assert_true(grace_ms > 0);
    handler_log_stop_worker(binds);
    handler_log_stop_worker(makes);
    smq_client_free(first);
    smq_client_free(second);
}

TEST_GROUP(fleet)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join_and_leave_move_only_what_they_must),
        cmocka_unit_test(rolling_restart_costs_no_message_a_retry),
        cmocka_unit_test(rolling_restart_costs_a_steady_flow_nothing),
        cmocka_unit_test(nothing_is_lost_when_one_member_after_another_is_killed),
        cmocka_unit_test(woken_zombie_changes_nothing),
        /* with the shortest session: the first to come to a server that has just begun waits for it
         */
        IN_REDIS(who_lives_keeps_its_slots_when_the_tree_goes_back),
        IN_REDIS(a_tree_that_is_lost_is_made_again),
        IN_REDIS(join_and_leave_move_only_what_they_must),
        IN_REDIS(rolling_restart_costs_no_message_a_retry),
        IN_REDIS(woken_zombie_changes_nothing),
        cmocka_unit_test(missing_zookeeper_is_said_in_time),
        cmocka_unit_test(an_assigner_at_work_is_not_blamed),
        cmocka_unit_test(the_first_start_of_a_topic_waits_for_nobody),
    };

    return cmocka_run_group_tests(tests, cluster_start_fleet, cluster_end);
}
