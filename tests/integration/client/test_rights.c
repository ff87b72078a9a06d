/* test_rights.c - users with no more rights than the rules of SECURITY.md give them: each does what
 * its role does, and the lack of a right is named. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "consume/slot/sleep.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "integration/fixture/roles.h"
#include "support/group.h"
#include "support/wait.h"

/* How long a worker may sleep until it looks for what nobody may wake it for.  What a call itself
 * needs is named within PROMISED_MS. */
enum {
    ORDERS_SLOTS = 8,
    NAMED_MS = 20000,
    PROMISED_MS = 2000, /* a member joins within half a second */
    TRIES = 3,
    SLEEP_MS = 4000, /* of a slot that expects notices; UNNOTICED messages, one by one, take less */
    UNNOTICED = 5
};

static smq_status try_client(smq_client **out, const char *role, smq_event_fn *event,
                             smq_error *err)
{
    /* who may not listen sees what its fleet decides after a sixth of this */
    smq_client_options options = SMQ_CLIENT_OPTIONS(.event = event, .event_level = SMQ_LEVEL_WARN,
                                                    .session_timeout_ms = 1000);
    return roles_try_client(out, role, &options, err);
}

/* --- what each role does --- */

static smq_status send_one(smq_client *client, smq_error *err)
{
    smq_producer *producer = messages_producer(client, NULL);
    smq_message message = messages_text("text");
    smq_status status = smq_send(producer, "orders", &message, NULL, err);

    smq_producer_free(producer);
    return status;
}

static int group_start(void **state)
{
    int failed = cluster_start_masters(state);

    if (failed == 0) {
        smq_topic_options options =
            cluster_topic_options("orders", SMQ_TYPE_FIXED_TIME, ORDERS_SLOTS);
        smq_client *client = cluster_client();

        options.max_retries = SMQ_NONE;
        cluster_create_topic(client, &options);
        smq_client_free(client);
    }
    return failed;
}

static void producer_and_consumer_have_enough(void **state)
{
    smq_client *producer = roles_client("producer"), *consumer = roles_client("consumer");
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(consumer, "orders", log);

    for (int i = 1; i <= 50; i++) {
        char body[16];

        snprintf(body, sizeof(body), "%d", i);
        messages_send(producer, "orders", (struct test_message){.body = body, .key = body});
        handler_log_await(log, i);
    }
    messages_send_numbers(consumer, "orders", 1000, 10);
    handler_log_await(log, 60);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(producer);
    smq_client_free(consumer);
}

static bool count_topic(const smq_topic_info *topic, void *user)
{
    assert_null(topic->unreadable);
    ++*(int *) user;
    return true;
}

static bool count_message(const smq_message_info *message, void *user)
{
    (void) message;
    ++*(int *) user;
    return true;
}

static bool check_server(const smq_server_info *server, void *user)
{
    assert_int_equal(server->status, SMQ_OK);
    assert_string_equal(server->why, "");
    assert_string_equal(server->version_why, "");
    assert_string_equal(server->config_why, "");
    assert_string_equal(server->cluster_why, "");
    assert_string_equal(server->clock_why, "");
    ++*(int *) user;
    return true;
}

/* Everything that only looks. */
static void look_at_all(smq_client *client, int messages)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;
    smq_fleet_visitor nothing = SMQ_FLEET_VISITOR_INIT;
    int topics = 0, seen = 0, servers = 0;

    smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_WAITING);
    assert_ok(cluster_visit(client, NULL, count_topic, &topics, &err), &err);
    assert_true(topics >= 1);
    assert_ok(smq_topic_stats(client, "orders", &stats, &err), &err);
    assert_int_equal(stats.waiting, messages);
    assert_ok(smq_message_each(client, "orders", &filter, count_message, &seen, &err), &err);
    assert_int_equal(seen, messages);
    assert_ok(smq_server_each(client, check_server, &servers, &err), &err);
    assert_int_equal(servers, 3);
    assert_ok(smq_fleet_describe(client, &nothing, &err), &err);
}

static void admin_has_enough(void **state)
{
    smq_client *admin = roles_client("admin");
    smq_topic_options options = cluster_topic_options("other", SMQ_TYPE_FIXED_TIME, 8);
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    uint64_t count = 0;
    smq_error err;

    cluster_create_topic(admin, &options);
    assert_ok(cluster_alter(admin, "other", "lease_ms", "10s", &err), &err);
    assert_ok(smq_topic_pause(admin, "other", &err), &err);
    assert_ok(smq_topic_resume(admin, "other", &err), &err);
    assert_ok(smq_topic_repair(admin, "other", &report, &err), &err);
    messages_send_numbers(admin, "other", 0, 10);
    messages_send_numbers(admin, "orders", 0, 10);
    look_at_all(admin, 10);
    smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_WAITING);
    assert_ok(smq_topic_purge(admin, "orders", &filter, &count, NULL, NULL, &err), &err);
    assert_int_equal(count, 10);
    assert_ok(smq_dead_requeue(admin, "orders", NULL, &count, NULL, NULL, &err), &err);
    assert_ok(smq_topic_delete(admin, "other", true, &err), &err);
    smq_client_free(admin);
}

static void monitor_sees_all_and_changes_nothing(void **state)
{
    smq_client *monitor = roles_client("monitor");
    smq_error err;

    look_at_all(monitor, 0);
    assert_true(send_one(monitor, &err) != SMQ_OK);
    assert_int_equal(smq_topic_pause(monitor, "orders", &err), SMQ_DENIED);
    assert_true(smq_topic_delete(monitor, "orders", true, &err) != SMQ_OK);
    look_at_all(monitor, 0);
    smq_client_free(monitor);
}

/* --- rights that are missing --- */

static smq_verdict consume_one(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    return SMQ_DONE;
}

/* A worker that lacks a right from the start ends by itself. */
static smq_status consume_some(smq_client *client, smq_error *err)
{
    smq_consumer *worker = NULL;
    smq_status status;

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "orders", .handler = consume_one, .threads = 1);
    status = smq_consumer_new(&worker, client, &options, err);
    if (status == SMQ_OK) {
        assert_int_equal(smq_consumer_start(worker, err), SMQ_OK);
        status = smq_consumer_wait(worker, TIMEOUT_MS, err);
        smq_consumer_free(worker);
    }
    return status;
}

/* The right is missing for claims alone; most slots have nothing to claim. */
static smq_status consume_sent(smq_client *client, smq_error *err)
{
    smq_client *allowed = cluster_client();
    smq_error sending = SMQ_ERROR_INIT;

    assert_ok(send_one(allowed, &sending), &sending);
    smq_client_free(allowed);
    return consume_some(client, err);
}

/* Have the wake channels of all slots of "orders" a subscriber? */
static bool orders_are_subscribed(void *arg)
{
    size_t count = 0;

    (void) arg;
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        redisReply *reply = keys_command_at(servers_node(cluster_servers(), i),
                                            "PUBSUB SHARDCHANNELS wake{orders_*");

        assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
        count += reply->elements;
        freeReplyObject(reply);
    }
    return count == ORDERS_SLOTS;
}

/* A worker that ends because it is stopped. */
static smq_status consume_and_stop(smq_client *client, smq_error *err)
{
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, "orders", log);

    (void) err;
    assert_true(wait_until(orders_are_subscribed, NULL, TIMEOUT_MS));
    handler_log_stop_worker(worker);
    handler_log_free(log);
    return SMQ_OK;
}

static smq_status count_messages(smq_client *client, smq_error *err)
{
    smq_stats stats = SMQ_STATS_INIT;

    return smq_topic_stats(client, "orders", &stats, err);
}

/* Each time another topic, because a deletion that fails leaves it. */
static smq_status create_and_delete(smq_client *client, smq_error *err)
{
    static int number;
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_topic_options options;
    smq_status status;
    char name[32];

    (void) snprintf(name, sizeof(name), "brief%d", ++number);
    options = cluster_topic_options(name, SMQ_TYPE_FIXED_TIME, 8);
    status = smq_topic_create(client, &options, &report, err);
    return status == SMQ_OK ? smq_topic_delete(client, name, true, err) : status;
}

/* What `doctor` shows of a server that it cannot look into. */
static bool note_server(const smq_server_info *server, void *user)
{
    const char *const whys[] = {server->version_why, server->config_why, server->cluster_why,
                                server->clock_why};
    smq_error *err = user;

    for (size_t i = 0; i < sizeof(whys) / sizeof(whys[0]); i++) {
        if (whys[i][0] != '\0') {
            (void) snprintf(err->text, sizeof(err->text), "%s", whys[i]);
        }
    }
    return true;
}

static smq_status look_at_servers(smq_client *client, smq_error *err)
{
    smq_error noted = SMQ_ERROR_INIT;
    smq_status status = smq_server_each(client, note_server, &noted, err);

    memcpy(err->text, noted.text, sizeof(err->text));
    return status;
}

/* What a user lacks by this change, who finds it, and how the error names it. */
struct lack {
    const char *role, *change;
    smq_status (*use)(smq_client *client, smq_error *err); /* NULL: to connect is enough */
    const char *named;
};

static const char any_command[] = "no permissions to run the '";

static const struct lack lacks[] = {
    {"producer", "-cluster|slots", NULL, "'cluster|slots'"},
    {"producer", "-evalsha", send_one, "'evalsha'"},
    {"producer", "-script|load", send_one, "'script|load'"},
    {"producer", "-@hash", send_one, "'hgetall'"},
    {"producer", "-hmget", send_one, "'hmget'"},
    {"producer", "-@sortedset", send_one, any_command},
    {"producer", "-zadd", send_one, "'zadd'"},
    {"producer", "-time", send_one, "'time'"},
    {"producer", "resetkeys", send_one, "key"},
    {"producer", "resetkeys ~topic{orders}", send_one, "key"},
    {"producer", "resetkeys ~topic{orders} ~orders_*", send_one, "key"},
    {"consumer", "-evalsha", consume_some, "'evalsha'"},
    {"consumer", "-@hash", consume_some, "'hgetall'"},
    {"consumer", "-@sortedset", consume_some, any_command},
    {"consumer", "-zremrangebyrank", consume_sent, "'zremrangebyrank'"},
    {"consumer", "-ssubscribe", consume_some, "+ssubscribe"},
    {"consumer", "resetchannels", consume_some, "&wake*"},
    {"consumer", "resetkeys ~topic{orders}", consume_some, "key"},
    {"admin", "-unlink", create_and_delete, "'unlink'"},
    {"admin", "-exists", create_and_delete, "'exists'"},
    {"admin", "-@hash", create_and_delete, "'hgetall'"},
    {"admin", "resetkeys ~topic* ~slotmq{topics}", create_and_delete, "key"},
    {"admin", "-config|get", look_at_servers, "'config|get'"},
    {"admin", "-cluster|info -cluster|nodes", look_at_servers, "'cluster|"},
    {"monitor", "-evalsha", count_messages, "'evalsha'"},
    {"monitor", "-time", count_messages, "'time'"},
    {"monitor", "-@read", count_messages, "'hgetall'"},
    {"monitor", "-time", look_at_servers, "'time'"},
};

/* No call fails, and an event names these. */
static const struct lack noted_lacks[] = {
    {"producer", "-info", NULL, "'info'"},
    {"consumer", "-sunsubscribe", consume_and_stop, "'sunsubscribe'"},
};

static struct {
    pthread_mutex_t lock;
    char text[8192]; /* of all warnings and errors of a client */
} heard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_event(const smq_event *event, void *user)
{
    size_t len;

    (void) user;
    pthread_mutex_lock(&heard.lock);
    len = strlen(heard.text);
    (void) snprintf(heard.text + len, sizeof(heard.text) - len, "%s\n", event->text);
    pthread_mutex_unlock(&heard.lock);
}

static bool was_heard(void *arg)
{
    bool found;

    pthread_mutex_lock(&heard.lock);
    found = strstr(heard.text, arg) != NULL;
    pthread_mutex_unlock(&heard.lock);
    return found;
}

/* The scripts are loaded anew, because the right to do that may be missing.  Returns how long it
 * took from the beginning of the call that needs the right until the right was named. */
static int64_t name_lack(const struct lack *lack, bool noted)
{
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;
    smq_status status;
    int64_t begun_ms, named_ms;

    roles_make_user(lack->role, lack->change);
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        freeReplyObject(keys_command_at(servers_node(cluster_servers(), i), "SCRIPT FLUSH"));
    }
    heard.text[0] = '\0';
    begun_ms = clock_now_ms();
    status = try_client(&client, lack->role, on_event, &err);
    if (lack->use != NULL) {
        assert_ok(status, &err);
        begun_ms = clock_now_ms();
        status = lack->use(client, &err);
    }
    assert_true(status == SMQ_OK || status == SMQ_DENIED || status == SMQ_UNKNOWN);
    if (noted) {
        (void) wait_until(was_heard, (void *) lack->named, TIMEOUT_MS);
    }
    named_ms = clock_now_ms() - begun_ms;
    print_message("%s %s, %d ms: %s\n", lack->role, lack->change, (int) named_ms, err.text);
    if (strstr(noted ? heard.text : err.text, lack->named) == NULL) {
        fail_msg("%s is not named, but: %s\n%s", lack->named, err.text, heard.text);
    }
    smq_client_free(client);
    return named_ms;
}

/* A timer would make each try slow, and a busy machine does not. */
static void check_lack(const struct lack *lack, bool noted)
{
    for (int i = 0; i < TRIES; i++) {
        if (name_lack(lack, noted) < PROMISED_MS) {
            return;
        }
    }
    fail_msg("%s %s is named, but not within %d ms", lack->role, lack->change, PROMISED_MS);
}

static void what_is_missing_is_named(void **state)
{
    for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
        check_lack(&lacks[i], false);
    }
    for (size_t i = 0; i < sizeof(noted_lacks) / sizeof(noted_lacks[0]); i++) {
        check_lack(&noted_lacks[i], true);
    }
}

/* What the user `consumer` lacks; "none" if it is not shown. */
static bool note_lacks(const smq_sender_info *sender, void *user)
{
    if (strcmp(sender->user, "consumer") == 0) {
        (void) snprintf(user, 256, "%s", sender->missing);
    }
    return true;
}

static void shown_to_lack(const char *topic, const char *rights)
{
    smq_client *client = cluster_client();
    smq_error err = SMQ_ERROR_INIT;
    char found[256] = "none";

    assert_ok(smq_sender_each(client, topic, note_lacks, found, &err), &err);
    assert_string_equal(found, rights);
    smq_client_free(client);
}

/* A consumer without one of the rights to the tree of its fleet.  What it lacks is shown before it
 * begins, but not when the topic is of a fleet in ZooKeeper. */
static void a_member_of_a_fleet_in_redis_needs_its_tree(void **state)
{
#define NO_TREE                                                                                    \
    "resetkeys resetchannels ~topic{orders} ~orders_* ~*{orders_* ~slotmq{topics} &wake{orders_*"
    static const struct {
        const char *change, *named, *lacks;
    } missing[] = {
        {NO_TREE, "key", "~tree{slotmq:/slotmq} &tree{slotmq:/slotmq}:*"},
        {NO_TREE " &tree{slotmq:/slotmq}:*", "key", "~tree{slotmq:/slotmq}"},
        {"-info", "info", "+info"},
    };
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
        roles_make_user("consumer", missing[i].change);
        shown_to_lack("orders", missing[i].lacks);
        client = roles_client_of("consumer", NULL);
        print_message("%s\n", missing[i].change);
        assert_int_equal(consume_some(client, &err), SMQ_DENIED);
        assert_non_null(strstr(err.text, missing[i].named));
        smq_client_free(client);
    }
    roles_make_user("consumer", NO_TREE);
    freeReplyObject(keys_command("topic{orders}", "HSET topic{orders} coord zookeeper:/slotmq"));
    shown_to_lack("orders", "");
    freeReplyObject(keys_command("topic{orders}", "HSET topic{orders} coord redis:/slotmq"));
    roles_make_user("consumer", "");
    shown_to_lack("orders", "");
}

/* --- rights without which all is done, but later or at a higher price --- */

static int times_heard(const char *text)
{
    int times = 0;

    pthread_mutex_lock(&heard.lock);
    for (const char *at = strstr(heard.text, text); at != NULL; at = strstr(at + 1, text)) {
        times++;
    }
    pthread_mutex_unlock(&heard.lock);
    return times;
}

/* A client of a user that lacks a right, and whose warnings are heard. */
static smq_client *client_without(const char *role, const char *change)
{
    smq_client *client = NULL;
    smq_error err;

    roles_make_user(role, change);
    heard.text[0] = '\0';
    assert_ok(try_client(&client, role, on_event, &err), &err);
    return client;
}

/* The client has done several things for which it lacks the right: one warning names it, and no
 * other. */
static void end_named_once(smq_client *client, const char *right)
{
    if (!wait_until(was_heard, (void *) right, NAMED_MS)) {
        fail_msg("%s is not named, but: %s", right, heard.text);
    }
    smq_client_free(client);
    assert_int_equal(times_heard(right), 1);
    assert_int_equal(times_heard("lacks the right"), 1);
}

/* All into one slot; those with the same body would merge. */
static void send_keyed(smq_client *client, int number)
{
    char body[16];

    (void) snprintf(body, sizeof(body), "%d", number);
    messages_send(client, "orders", (struct test_message){.body = body, .key = "same"});
}

/* A worker whose slots all sleep.  A consumer that lacked a right may have left them open when it
 * stopped, and a takeover closes them: so they are closed before. */
static smq_consumer *sleeping_worker(smq_client *client, struct handler_log *log)
{
    smq_consumer *worker;

    for (int i = 0; i < ORDERS_SLOTS; i++) {
        char store[64];

        snprintf(store, sizeof(store), "orders_%d", i);
        freeReplyObject(keys_command(store, "HDEL slot{%s} parked", store));
    }
    worker = handler_log_worker(client, "orders", log);
    keys_await_open("orders", ORDERS_SLOTS, ORDERS_SLOTS);
    return worker;
}

/* All slots of the topic sleep; a send that may wake one wakes it for all its messages. */
static void check_unwoken(const char *change, const char *right)
{
    smq_client *allowed = cluster_client(), *client;
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = sleeping_worker(allowed, log);

    client = client_without("producer", change);
    for (int i = 0; i < 3; i++) {
        send_keyed(client, i);
    }
    end_named_once(client, right);
    send_keyed(allowed, 3);
    handler_log_await(log, 4);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(allowed);
}

static void sender_that_may_not_publish_is_warned(void **state)
{
    check_unwoken("-spublish", "+spublish");
    check_unwoken("resetchannels", "&wake{orders_*");
}

/* Into a topic of one slot, one after the other: how long it takes until all are handled. */
static int64_t handle_unnoticed(smq_client *sender, const char *topic, struct handler_log *log)
{
    int64_t begun_ms = clock_now_ms();

    for (int i = 0; i < UNNOTICED; i++) {
        int before = handler_log_count(log);

        messages_send_numbers(sender, topic, before, 1);
        handler_log_await(log, before + 1);
        keys_await_open(topic, 1, 1);
    }
    return clock_now_ms() - begun_ms;
}

/* A slot that sleeps finds the first of its messages late, and from then on looks often. */
static void owner_looks_for_what_comes_without_a_notice(void **state)
{
    const struct sleep_times before = sleep_times;
    smq_client *allowed = cluster_client(), *consumer, *sender;
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(allowed, SMQ_TYPE_FIXED_TIME, 1);
    smq_consumer *worker;
    int64_t took_ms = INT64_MAX;

    sleep_times = (struct sleep_times){.least = SLEEP_MS, .most = SLEEP_MS, .soon_least = 20};
    consumer = client_without("consumer", "~* allchannels");
    worker = handler_log_worker(consumer, topic, log);
    keys_await_open(topic, 1, 1);
    roles_make_user("producer", "~* resetchannels");
    sender = roles_client_of("producer", NULL);
    for (int i = 0; i < TRIES && took_ms >= SLEEP_MS * 4 / 5; i++) {
        took_ms = handle_unnoticed(sender, topic, log);
    }
    print_message("%d messages took %d ms\n", UNNOTICED, (int) took_ms);
    assert_in_range(took_ms, 0, SLEEP_MS * 4 / 5);
    handler_log_stop_worker(worker);
    smq_client_free(consumer);
    smq_client_free(sender);
    smq_client_free(allowed);
    assert_int_equal(times_heard("a message came without a notice"), 1);
    assert_true(was_heard("+spublish and &wake{"));
    handler_log_free(log);
    sleep_times = before;
}

static void sender_that_may_not_count_subscribers_is_warned(void **state)
{
    smq_client *allowed = cluster_client(), *client;
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = sleeping_worker(allowed, log);

    client = client_without("producer", "-pubsub|shardnumsub");
    for (int i = 1; i <= 3; i++) {
        keys_await_open("orders", ORDERS_SLOTS, ORDERS_SLOTS);
        send_keyed(client, i);
        handler_log_await(log, i);
    }
    end_named_once(client, "+pubsub|shardnumsub");
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(allowed);
}

/* Its calls wake consumers whether or not one sleeps. */
static void admin_that_may_not_publish_is_warned(void **state)
{
    static const struct {
        const char *change, *right;
    } rows[] = {{"-spublish", "+spublish"}, {"resetchannels", "&wake{orders_*"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_client *client = client_without("admin", rows[i].change);
        smq_error err;

        assert_ok(smq_topic_pause(client, "orders", &err), &err);
        assert_ok(smq_topic_resume(client, "orders", &err), &err);
        assert_ok(cluster_alter(client, "orders", "lease_ms", "20s", &err), &err);
        end_named_once(client, rows[i].right);
    }
}

/* Of a shared topic: another worker shall know when the next message is due. */
static void sharer_that_may_not_publish_is_warned(void **state)
{
    smq_client *allowed = cluster_client(), *client;
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    const char *topic;
    char store[128];

    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .shared = true, .slots = 1);
    topic = cluster_topic(allowed, &options);
    client = client_without("consumer", "~* allchannels -spublish");
    handler_log_gate(log);
    worker = handler_log_worker(client, topic, log);
    messages_send(allowed, topic, (struct test_message){.body = "later", .delay_ms = 600000});
    messages_send(allowed, topic, (struct test_message){.body = "now"});
    handler_log_await(log, 1);
    (void) snprintf(store, sizeof(store), "%s_0", topic);
    freeReplyObject(
        keys_command(store, "HSET slot{%s} parked %s", store, "9007199254740992 0 -|w1 "));
    handler_log_open(log, 1);
    messages_await_counts(allowed, topic,
                          (struct message_counts){.waiting = 1, .dead = 0, .done = 1});
    handler_log_stop_worker(worker);
    end_named_once(client, "+spublish");
    handler_log_free(log);
    smq_client_free(allowed);
}

TEST_GROUP(rights)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(producer_and_consumer_have_enough),
        cmocka_unit_test(a_member_of_a_fleet_in_redis_needs_its_tree),
        cmocka_unit_test(admin_has_enough),
        cmocka_unit_test(monitor_sees_all_and_changes_nothing),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(sender_that_may_not_publish_is_warned),
        cmocka_unit_test(owner_looks_for_what_comes_without_a_notice),
        cmocka_unit_test(sender_that_may_not_count_subscribers_is_warned),
        cmocka_unit_test(admin_that_may_not_publish_is_warned),
        cmocka_unit_test(sharer_that_may_not_publish_is_warned),
    };

    return cmocka_run_group_tests_name("rights", tests, group_start, cluster_end);
}
