/* test_groups.c - topics with groups: created, altered, deleted, repaired; what is refused, and
 * what Redis holds. */
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

static smq_client *client;

static int set_up(void **state)
{
    keys_flush();
    client = cluster_client();
    return 0;
}

static int tear_down(void **state)
{
    smq_client_free(client);
    return 0;
}

/* --- helpers --- */

static void create(const char *name, const char *groups, int32_t slots)
{
    smq_topic_options options = cluster_topic_options(name, SMQ_TYPE_FIXED_TIME, slots);

    options.groups = groups;
    options.backoff = "none";
    cluster_create_topic(client, &options);
}

static bool take_name(const smq_topic_info *topic, void *user)
{
    char *names = user;

    snprintf(names + strlen(names), 512 - strlen(names), "%s%s", names[0] != '\0' ? " " : "",
             topic->name);
    return true;
}

static bool take_groups(const smq_topic_info *topic, void *user)
{
    snprintf(user, 512, "%s", topic->options->groups != NULL ? topic->options->groups : "none");
    return true;
}

/* The names of all topics, or the groups of one. */
static void assert_topics(const char *expected)
{
    char names[512] = "";
    smq_error err;

    assert_ok(cluster_visit(client, NULL, take_name, names, &err), &err);
    assert_string_equal(names, expected);
}

static void assert_groups(const char *topic, const char *expected)
{
    char groups[512] = "";
    smq_error err;

    assert_ok(cluster_visit(client, topic, take_groups, groups, &err), &err);
    assert_string_equal(groups, expected);
}

#define assert_refused(call, expected_status, expected_text)                                       \
    do {                                                                                           \
        smq_error err_ = SMQ_ERROR_INIT;                                                           \
        smq_error *why = &err_;                                                                    \
        assert_int_equal(call, expected_status);                                                   \
        assert_string_equal(err_.text, expected_text);                                             \
    } while (0)

static void await(const char *topic, int waiting, int done)
{
    messages_await_counts(client, topic, (struct message_counts){waiting, -1, -1, -1, done});
}

static void send_text(const char *topic, const char *body)
{
    smq_message message = messages_text(body);
    smq_producer *producer = messages_producer(client, NULL);

    (void) messages_send_by(producer, topic, &message);
    smq_producer_free(producer);
}

static smq_status send_refused(const char *topic, const char *body, smq_receipt *receipt,
                               smq_error *err)
{
    smq_message message = messages_text(body);
    smq_producer *producer = messages_producer(client, NULL);
    smq_status status = smq_send(producer, topic, &message, receipt, err);

    smq_producer_free(producer);
    return status;
}

/* --- what works --- */

static void each_group_handles_each_message(void **state)
{
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    create("orders", "search,billing", 4);
    create("orders.billing", NULL, 4);
    assert_topics("orders.billing orders/billing orders/search");
    assert_groups("orders", "billing,search");
    assert_groups("orders/billing", "none");
    for (int i = 0; i < 20; i++) {
        char body[16];

        snprintf(body, sizeof(body), "order %d", i);
        send_text("orders", body);
    }
    await("orders/billing", 20, 0);
    await("orders/search", 20, 0);
    await("orders.billing", 0, 0);
    worker = handler_log_worker(client, "orders/billing", log);
    await("orders/billing", 0, 20);
    await("orders/search", 20, 0);
    send_text("orders", "one more");
    await("orders/billing", 0, 21);
    await("orders/search", 21, 0);
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

static void keys_stand_as_designed(void **state)
{
    char text[512];

    create("t", "a.b", 1);
    send_text("t", "one");
    assert_string_equal(keys_text(text, "topic{t}", "HGET topic.a.b{t} state"), "ready");
    assert_string_equal(keys_text(text, "t_0", "TYPE t_0"), "none");
    assert_int_equal(keys_number("t_0", "ZCARD store.a.b{t_0}"), 2);
    assert_int_equal(keys_number("t_0", "ZCARD prepare.a.b{t_0}"), 1);
    assert_int_equal(keys_number("t_0", "ZCARD dead.a.b{t_0}"), 1);
    assert_int_equal(keys_number("t_0", "HLEN why.a.b{t_0}"), 1);
    assert_true(keys_number("slotmq{topics}", "HGET slotmq{topics} t/a.b") > 1600000000000);
    assert_string_equal(keys_text(text, "slotmq{topics}", "HGET slotmq{topics} t"), "");
}

static void a_group_is_paused_and_edited_alone(void **state)
{
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *billing, *search;
    uint64_t purged = 0;
    smq_error err;

    create("orders", "billing,search", 1);
    assert_ok(smq_topic_pause(client, "orders/billing", &err), &err);
    send_text("orders", "one");
    billing = handler_log_worker(client, "orders/billing", log);
    search = handler_log_worker(client, "orders/search", log);
    await("orders/search", 0, 1);
    await("orders/billing", 1, 0);
    assert_ok(smq_topic_purge(client, "orders/billing", &SMQ_FILTER(.states = SMQ_STATE_WAITING),
                              &purged, NULL, NULL, &err),
              &err);
    assert_int_equal(purged, 1);
    assert_ok(smq_topic_resume(client, "orders/billing", &err), &err);
    send_text("orders", "two");
    await("orders/billing", 0, 1);
    await("orders/search", 0, 2);
    handler_log_stop_worker(billing);
    handler_log_stop_worker(search);
    handler_log_free(log);
}

/* --- alterations --- */

static void an_alteration_reaches_all_groups(void **state)
{
    char text[512];
    smq_error err;

    create("orders", "billing,search", 2);
    assert_ok(cluster_alter(client, "orders", "max_waiting", "2", &err), &err);
    assert_int_equal(keys_number("topic{orders}", "HGET topic.search{orders} version"), 2);
    assert_non_null(strstr(keys_text(text, "topic{orders}", "HGET topic.search{orders} definition"),
                           "max_waiting=2"));
    assert_null(
        strstr(keys_text(text, "topic{orders}", "HGET topic.search{orders} definition"), "groups"));
    for (int i = 0; i < 4; i++) {
        char key[32];

        snprintf(key, sizeof(key), "slot.%s{orders_%d}", i < 2 ? "billing" : "search", i % 2);
        assert_int_equal(keys_number(key, "HGET %s version", key), 2);
    }
}

/* Is this line in the metrics of the process? */
static void assert_metric(const char *line)
{
    char *text = NULL;
    smq_error err;

    assert_ok(smq_metrics_text(client, NULL, &text, &err), &err);
    if (strstr(text, line) == NULL) {
        fail_msg("no %s in:\n%s", line, text);
    }
    smq_free(text);
}

static void a_full_group_refuses_for_all(void **state)
{
    smq_receipt receipt = {.status = SMQ_OK};
    smq_error err;

    create("orders", "billing,search", 1);
    assert_ok(cluster_alter(client, "orders", "max_waiting", "1", &err), &err);
    send_text("orders", "one");
    await("orders/search", 1, 0);
    assert_ok(smq_topic_purge(client, "orders/billing", &SMQ_FILTER(.states = SMQ_STATE_WAITING),
                              NULL, NULL, NULL, &err),
              &err);
    assert_int_equal(send_refused("orders", "two", &receipt, &err), SMQ_FULL);
    assert_int_equal(receipt.status, SMQ_FULL);
    assert_string_equal(err.text,
                        "slot 0 of topic orders/search is full: max_waiting is 1 over 1 slots; "
                        "send again when messages were consumed, or raise it");
    await("orders/billing", 0, 0);
    await("orders/search", 1, 0);
    assert_metric("\nslotmq_sends_full_total{topic=\"orders/billing\"} 0\n"
                  "slotmq_sends_full_total{topic=\"orders/search\"} 1\n");
}

/* Its message waits for a time, which the next send changes. */
static void a_full_group_takes_another_time(void **state)
{
    smq_topic_options options = cluster_topic_options("calls", SMQ_TYPE_PRIORITY, 1);
    struct handler_log *log = handler_log_new(NULL);
    struct test_message call = {.body = "one", .priority = 3, .delay_ms = 3600000};
    smq_consumer *worker;
    smq_error err;

    options.groups = "billing,search";
    options.max_waiting = 1;
    cluster_create_topic(client, &options);
    assert_false(messages_send(client, "calls", call));
    worker = handler_log_worker(client, "calls/billing", log);
    assert_int_equal(send_refused("calls", "two", NULL, &err), SMQ_FULL);
    call.delay_ms = 300;
    assert_true(messages_send(client, "calls", call));
    assert_int_equal(send_refused("calls", "two", NULL, &err), SMQ_FULL);
    await("calls/billing", 0, 1);
    await("calls/search", 1, 0);
    assert_int_equal(handler_log_seen(log, 0).priority, 3);
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

/* The places of the arrival sequence are used up in one group, and a message waits there. */
static void a_group_without_places_refuses_for_all(void **state)
{
    smq_topic_options options = cluster_topic_options("calls", SMQ_TYPE_PRIORITY, 1);
    smq_receipt receipt = {.status = SMQ_OK};
    smq_error err;

    options.groups = "billing,search";
    cluster_create_topic(client, &options);
    send_text("calls", "one");
    (void) keys_number("x{calls_0}", "HSET slot.search{calls_0} seq 4294967296");
    assert_int_equal(send_refused("calls", "two", &receipt, &err), SMQ_FULL);
    assert_int_equal(receipt.status, SMQ_FULL);
    assert_string_equal(err.text, "slot 0 of topic calls/search: the arrival sequence of the slot "
                                  "is used up; drain it");
    assert_metric("\nslotmq_sends_full_total{topic=\"calls/search\"} 1\n");
    await("calls/billing", 1, 0);
    await("calls/search", 1, 0);
}

static void a_full_topic_is_counted_by_its_name(void **state)
{
    smq_error err;

    create("plain", NULL, 1);
    assert_ok(cluster_alter(client, "plain", "max_waiting", "1", &err), &err);
    send_text("plain", "one");
    assert_metric("\nslotmq_sends_full_total{topic=\"plain\"} 0\n");
    assert_int_equal(send_refused("plain", "two", NULL, &err), SMQ_FULL);
    assert_metric("\nslotmq_sends_full_total{topic=\"plain\"} 1\n");
}

static void a_group_is_added_and_dropped(void **state)
{
    uint64_t purged;
    smq_error err;

    create("orders", "billing", 4);
    send_text("orders", "before");
    assert_ok(cluster_alter(client, "orders", "groups", "search,billing", &err), &err);
    assert_groups("orders", "billing,search");
    send_text("orders", "after");
    await("orders/billing", 2, 0);
    await("orders/search", 1, 0);
    assert_refused(cluster_alter(client, "orders", "groups", "search", why), SMQ_NOT_EMPTY,
                   "topic orders/billing still holds 2 messages; consume them, or force its "
                   "deletion");
    assert_refused(cluster_alter(client, "orders", "groups", "search,audit", why), SMQ_NOT_EMPTY,
                   "topic orders/billing still holds 2 messages; consume them, or force its "
                   "deletion");
    assert_topics("orders/billing orders/search");
    assert_refused(smq_topic_delete(client, "orders/billing", false, why), SMQ_NOT_EMPTY,
                   "topic orders/billing still holds 2 messages; consume them, or force its "
                   "deletion");
    send_text("orders", "more");
    await("orders/billing", 3, 0);
    assert_ok(smq_topic_delete(client, "orders/billing", true, &err), &err);
    assert_groups("orders", "search");
    assert_topics("orders/search");
    send_text("orders", "last");
    await("orders/search", 3, 0);
    assert_refused(smq_topic_delete(client, "orders/search", true, why), SMQ_INVALID,
                   "orders/search is the last group of topic orders: delete the topic, or add "
                   "another group first");
    assert_ok(cluster_alter(client, "orders", "groups", "billing,search", &err), &err);
    await("orders/billing", 0, 0);
    send_text("orders", "again");
    await("orders/billing", 1, 0);
    assert_ok(smq_topic_purge(client, "orders/search", &SMQ_FILTER(.states = SMQ_STATE_WAITING),
                              &purged, NULL, NULL, &err),
              &err);
    assert_int_equal(purged, 4);
    assert_ok(cluster_alter(client, "orders", "groups", "billing", &err), &err);
    assert_topics("orders/billing");
}

static void a_topic_is_deleted_with_its_groups(void **state)
{
    smq_error err;

    create("orders", "billing,search", 2);
    send_text("orders", "one");
    assert_refused(smq_topic_delete(client, "orders", false, why), SMQ_NOT_EMPTY,
                   "topic orders/billing still holds 1 messages; consume them, or force its "
                   "deletion");
    send_text("orders", "two");
    await("orders/search", 2, 0);
    assert_ok(smq_topic_delete(client, "orders", true, &err), &err);
    assert_topics("");
    create("orders", NULL, 2);
    send_text("orders", "three");
    await("orders", 1, 0);
    assert_ok(smq_topic_delete(client, "orders", true, &err), &err);
    create("orders", "billing", 2);
    await("orders/billing", 0, 0);
}

/* The server of the definition does not answer, so nothing is deleted, and the call says so. */
static void a_group_that_cannot_be_asked_about_is_not_deleted(void **state)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS(.request_timeout_ms = 500);
    struct server *server = servers_node_of(cluster_servers(), "topic{orders}");
    smq_client *hasty = cluster_client_with(&options);
    smq_error err = SMQ_ERROR_INIT;
    smq_status status;

    create("orders", "billing,search", 2);
    server_pause(server);
    status = smq_topic_delete(hasty, "orders/billing", true, &err);
    server_resume(server);
    assert_int_equal(status, SMQ_UNKNOWN);
    assert_groups("orders", "billing,search");
    smq_client_free(hasty);
}

static void created_again_it_stays(void **state)
{
    smq_topic_options options = cluster_topic_options("orders", SMQ_TYPE_FIXED_TIME, 2);
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    create("orders", "billing,search", 2);
    send_text("orders", "one");
    options.groups = "search,billing";
    options.backoff = "none";
    assert_ok(smq_topic_create(client, &options, &report, &err), &err);
    assert_false(report.created || report.differs || report.repaired);
    options.groups = "billing,shipping";
    assert_ok(smq_topic_create(client, &options, &report, &err), &err);
    assert_true(report.differs);
    assert_groups("orders", "billing,search");
    options.groups = NULL;
    assert_refused(smq_topic_create(client, &options, NULL, why), SMQ_TOPIC_DIFFERS,
                   "topic orders exists, but groups is billing,search, not none");
    await("orders/search", 1, 0);
}

/* --- damage --- */

static void lost_definitions_are_restored(void **state)
{
    smq_topic_options options = cluster_topic_options("orders", SMQ_TYPE_FIXED_TIME, 4);
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    create("orders", "billing,search", 4);
    send_text("orders", "one");
    assert_ok(cluster_alter(client, "orders", "max_retries", "3", &err), &err);
    assert_int_equal(keys_number("topic{orders}", "DEL topic.billing{orders}"), 1);
    assert_ok(smq_topic_repair(client, "orders/billing", &report, &err), &err);
    assert_true(report.restored);
    await("orders/billing", 1, 0);
    keys_lose_topic("orders");
    assert_int_equal(keys_number("topic{orders}", "DEL topic.billing{orders}"), 1);
    assert_int_equal(keys_number("topic{orders}", "DEL topic.search{orders}"), 1);
    options.groups = "billing,search";
    assert_ok(smq_topic_create(client, &options, &report, &err), &err);
    assert_true(report.restored);
    send_text("orders", "two");
    await("orders/billing", 2, 0);
    await("orders/search", 2, 0);
}

static void a_lost_slot_is_opened_again(void **state)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    create("orders", "billing,search", 1);
    send_text("orders", "one");
    (void) keys_number("x{orders_0}",
                       "DEL store.search{orders_0} prepare.search{orders_0} dead.search{orders_0} "
                       "why.search{orders_0} slot.search{orders_0} body.search{orders_0}");
    assert_ok(smq_topic_repair(client, "orders", &report, &err), &err);
    assert_int_equal(report.slots_reopened, 1);
    send_text("orders", "two");
    await("orders/billing", 2, 0);
    await("orders/search", 1, 0);
}

/* Neither its definition nor its slots are left. */
static void a_lost_group_is_made_again(void **state)
{
    smq_topic_options options = cluster_topic_options("orders", SMQ_TYPE_FIXED_TIME, 1);
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    create("orders", "billing,search", 1);
    send_text("orders", "one");
    assert_int_equal(keys_number("topic{orders}", "DEL topic.search{orders}"), 1);
    (void) keys_number("x{orders_0}",
                       "DEL store.search{orders_0} prepare.search{orders_0} dead.search{orders_0} "
                       "why.search{orders_0} slot.search{orders_0} body.search{orders_0}");
    assert_refused(smq_topic_stats(client, "orders/search", &stats, why), SMQ_NO_TOPIC,
                   "Redis has lost all of orders/search, a group of topic orders: create the topic "
                   "again with its groups, and it is there, empty");
    options.groups = "billing,search";
    options.backoff = "none";
    assert_ok(smq_topic_create(client, &options, NULL, &err), &err);
    send_text("orders", "two");
    await("orders/billing", 2, 0);
    await("orders/search", 1, 0);
}

/* The group knows a newer version than the topic: a failover has lost that of the topic. */
static void versions_are_one_after_a_repair(void **state)
{
    smq_error err;

    create("orders", "billing,search", 1);
    assert_ok(cluster_alter(client, "orders", "max_retries", "3", &err), &err);
    (void) keys_number("topic{orders}", "HSET topic{orders} version 1");
    (void) keys_number("topic{orders}", "HSET topic.billing{orders} version 1");
    (void) keys_number("topic{orders}", "HSET topic.search{orders} version 1");
    assert_ok(smq_topic_repair(client, "orders", NULL, &err), &err);
    assert_true(keys_number("topic{orders}", "HGET topic{orders} version") >= 2);
    assert_int_equal(keys_number("topic{orders}", "HGET topic{orders} version"),
                     keys_number("topic{orders}", "HGET topic.search{orders} version"));
    send_text("orders", "one");
    await("orders/billing", 1, 0);
    await("orders/search", 1, 0);
}

/* --- what is refused --- */

static smq_status try_create(const char *name, const char *groups, smq_error *err)
{
    smq_topic_options options = cluster_topic_options(name, SMQ_TYPE_FIXED_TIME, 1);

    options.groups = groups;
    return smq_topic_create(client, &options, NULL, err);
}

static smq_status try_consume(const char *topic, smq_error *err)
{
    smq_consumer *consumer = NULL;
    smq_status status;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.topic = topic);
    status = smq_consumer_new(&consumer, client, &options, err);
    smq_consumer_free(consumer);
    return status;
}

static void bad_names_are_refused(void **state)
{
    assert_refused(try_create("orders", "bil ling", why), SMQ_INVALID,
                   "the name of a group must be letters, digits, '.', '_', '-', not \"bil ling\"; "
                   "separate names by commas");
    assert_refused(try_create("orders", "a,,b", why), SMQ_INVALID,
                   "the name of a group must be letters, digits, '.', '_', '-', not \"\"; "
                   "separate names by commas");
    assert_refused(try_create("orders", "a,b,a", why), SMQ_INVALID,
                   "group a is named twice: name each group once");
    assert_refused(try_create("orders", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", why), SMQ_INVALID,
                   "a topic has at most 16 groups: name fewer");
    assert_refused(try_create("orders/billing", NULL, why), SMQ_INVALID,
                   "orders/billing is a group of topic orders: create the topic, which does it for "
                   "all its groups");
    assert_topics("");
}

/* A key of another program has the name of a key of the last group. */
static void what_cannot_be_created_leaves_nothing(void **state)
{
    char text[512];
    smq_error err;

    (void) keys_text(text, "x{orders_0}", "SET slot.search{orders_0} theirs");
    assert_refused(try_create("orders", "billing,search", why), SMQ_INVALID,
                   "cannot create topic orders/search: the key slot.search{orders_0} holds "
                   "something else; rename the topic, or the key");
    assert_topics("");
    assert_string_equal(keys_text(text, "topic{orders}", "HGET topic{orders} state"), "");
    assert_string_equal(keys_text(text, "topic{orders}", "HGET topic.billing{orders} state"), "");
    assert_int_equal(keys_number("x{orders_0}", "DEL slot.search{orders_0}"), 1);
    assert_ok(try_create("orders", "billing,search", &err), &err);
    send_text("orders", "one");
    await("orders/billing", 1, 0);
    await("orders/search", 1, 0);
}

static void the_wrong_name_is_refused(void **state)
{
    static const char has_groups[] =
        "topic orders has groups; name one of them: orders/billing, orders/search";
    smq_stats stats = SMQ_STATS_INIT;
    smq_binding binding = SMQ_BINDING_INIT;

    create("orders", "billing,search", 1);
    create("plain", NULL, 1);
    assert_refused(try_consume("orders", why), SMQ_INVALID, has_groups);
    assert_refused(smq_topic_stats(client, "orders", &stats, why), SMQ_INVALID, has_groups);
    assert_refused(smq_topic_pause(client, "orders", why), SMQ_INVALID, has_groups);
    assert_refused(smq_topic_binding(client, "orders", &binding, why), SMQ_INVALID, has_groups);
    assert_refused(smq_topic_rebind(client, "orders", true, why), SMQ_INVALID, has_groups);
    assert_refused(smq_topic_purge(client, "orders", &SMQ_FILTER(.states = SMQ_STATE_WAITING), NULL,
                                   NULL, NULL, why),
                   SMQ_INVALID, has_groups);
    assert_refused(try_consume("orders/shipping", why), SMQ_NO_TOPIC,
                   "topic orders has no group shipping; its groups are orders/billing, "
                   "orders/search");
    assert_refused(try_consume("plain/billing", why), SMQ_NO_TOPIC,
                   "topic plain has no groups: name it without /billing");
    assert_refused(try_consume("orders/", why), SMQ_INVALID,
                   "a group is named TOPIC/GROUP, as in orders/billing: both letters, digits, '.', "
                   "'_', '-', at most 120 together, not \"orders/\"");
    assert_refused(try_consume("nothing/billing", why), SMQ_NO_TOPIC,
                   "no topic nothing; create it first");
    assert_refused(send_refused("orders/billing", "one", NULL, why), SMQ_INVALID,
                   "orders/billing is a group of topic orders: send to the topic, which does it "
                   "for all its groups");
    assert_refused(cluster_alter(client, "orders/billing", "max_retries", "3", why), SMQ_INVALID,
                   "orders/billing is a group of topic orders: alter the topic, which does it for "
                   "all its groups");
    assert_refused(smq_topic_delete(client, "orders/shipping", false, why), SMQ_NO_TOPIC,
                   "topic orders has no group shipping; its groups are orders/billing, "
                   "orders/search");
    assert_refused(smq_topic_delete(client, "plain/billing", false, why), SMQ_NO_TOPIC,
                   "topic plain has no groups: name it without /billing");
    assert_refused(
        cluster_alter(client, "orders", "groups", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", why),
        SMQ_INVALID, "a topic has at most 16 groups: name fewer");
    assert_refused(cluster_alter(client, "orders", "groups", "billing,billing", why), SMQ_INVALID,
                   "group billing is named twice: name each group once");
    assert_groups("orders", "billing,search");
    assert_refused(cluster_alter(client, "plain", "groups", "billing", why), SMQ_INVALID,
                   "topic plain was created without groups: it cannot get any; create another "
                   "topic, with groups");
    assert_refused(cluster_alter(client, "orders", "groups", "", why), SMQ_INVALID,
                   "topic orders was created with groups: name one at least, or delete the topic");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

TEST_GROUP(groups)
{
    const struct CMUnitTest tests[] = {
        TEST(each_group_handles_each_message),
        TEST(keys_stand_as_designed),
        TEST(a_group_is_paused_and_edited_alone),
        TEST(an_alteration_reaches_all_groups),
        TEST(a_full_group_refuses_for_all),
        TEST(a_full_group_takes_another_time),
        TEST(a_group_without_places_refuses_for_all),
        TEST(a_full_topic_is_counted_by_its_name),
        TEST(a_group_is_added_and_dropped),
        TEST(a_topic_is_deleted_with_its_groups),
        TEST(a_group_that_cannot_be_asked_about_is_not_deleted),
        TEST(created_again_it_stays),
        TEST(lost_definitions_are_restored),
        TEST(a_lost_slot_is_opened_again),
        TEST(a_lost_group_is_made_again),
        TEST(versions_are_one_after_a_repair),
        TEST(bad_names_are_refused),
        TEST(what_cannot_be_created_leaves_nothing),
        TEST(the_wrong_name_is_refused),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
