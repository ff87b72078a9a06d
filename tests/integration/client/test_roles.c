/* test_roles.c - users with the rights of their roles in SECURITY.md, and no others, in each kind
 * of topic: they send, consume, administrate and look, and they say what Redis has lost.
 *
 * The topic is always "orders", for which the file has the rules. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "integration/fixture/roles.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 8, MESSAGES = 24, FAILED = 3 };

static const char topic_with_groups[] = "orders", groups[] = "billing,search";

/* A kind of topic, and how it is used. */
struct form {
    const char *name;
    smq_topic_options topic;
    int32_t replicas; /* of sends */
    bool fleet;       /* consumers are members of a fleet */
};

#define FORM(...)                                                                                  \
    SMQ_TOPIC_OPTIONS(.name = "orders", .slots = SLOTS, .backoff = "none", __VA_ARGS__)

static int start(void **state)
{
    const struct servers_options options = {
        .redis = REDIS_CLUSTER, .masters = 3, .replicas = 1, .zookeeper = true};

    return cluster_start(&options);
}

/* --- clients whose events are watched --- */

/* What a client has said. */
struct said {
    atomic_int lacks, damaged, repaired, stopped;
};

static void on_event(const smq_event *event, void *user)
{
    struct said *said = user;

    if (event->level <= SMQ_LEVEL_WARN &&
        (strstr(event->text, "right") != NULL || strstr(event->text, "permission") != NULL)) {
        print_message("%s\n", event->text);
        atomic_fetch_add(&said->lacks, 1);
    }
    if (event->slot < 0) {
        atomic_fetch_add(&said->damaged, event->kind == SMQ_EVENT_DAMAGED ? 1 : 0);
        atomic_fetch_add(&said->repaired, event->kind == SMQ_EVENT_REPAIRED ? 1 : 0);
    }
    atomic_fetch_add(&said->stopped, event->kind == SMQ_EVENT_STOPPED ? 1 : 0);
}

/* Also what a failed test has left. */
static void create_topic(smq_client *client, const smq_topic_options *options)
{
    smq_error err = SMQ_ERROR_INIT;

    (void) smq_topic_delete(client, "orders", true, &err);
    cluster_create_topic(client, options);
}

static smq_client *client_of(const char *role, struct said *said, bool fleet)
{
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.event = on_event, .event_user = said, .event_level = SMQ_LEVEL_INFO,
                           .zookeeper = fleet ? servers_zookeeper(cluster_servers()) : NULL);
    return roles_client_of(role, &options);
}

/* --- the paths of each role --- */

static void make_users(bool with_groups)
{
    void (*make)(const char *, const char *) =
        with_groups ? roles_make_user_of_groups : roles_make_user;

    make("producer", "");
    make("consumer", "");
    roles_make_user("admin", "");
    roles_make_user("monitor", "");
}

static const char *form_consumed(const struct form *form)
{
    return form->topic.groups != NULL ? "orders/billing" : topic_with_groups;
}

/* Each body is another message, so none merges; keys repeat. */
static void send_some(smq_client *client, const struct form *form, int from, int count)
{
    smq_producer *producer;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.replicas = form->replicas);
    producer = messages_producer(client, &options);
    for (int i = from; i < from + count; i++) {
        char body[16], key[16];
        smq_message message;

        (void) snprintf(body, sizeof(body), "%d", i);
        (void) snprintf(key, sizeof(key), "k%d", i % (2 * SLOTS));
        message = messages_text(body);
        message.key = (smq_bytes){key, strlen(key)};
        if (form->topic.layout == SMQ_LAYOUT_KEYED) {
            message.id = message.body;
        }
        (void) messages_send_by(producer, "orders", &message);
    }
    smq_producer_free(producer);
}

/* The first ones are retried, and some rejected. */
static smq_verdict fail_some(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) index;
    if (atoi(seen->body) < FAILED) {
        smq_error err = SMQ_ERROR_INIT;

        assert_ok(smq_reject(delivery, "of a test", &err), &err);
        return SMQ_LATER;
    }
    return atoi(seen->body) < 2 * FAILED && seen->attempt == 1 ? SMQ_RETRY : SMQ_DONE;
}

static void consume_all(struct said *said, const struct form *form)
{
    smq_client *producer = client_of("producer", said, false);
    smq_client *consumer = client_of("consumer", said, form->fleet);
    struct handler_log *log = handler_log_new(fail_some);
    smq_consumer *worker = handler_log_worker(consumer, form_consumed(form), log);

    send_some(producer, form, 0, MESSAGES);
    handler_log_await(log, MESSAGES + FAILED);
    send_some(consumer, form, MESSAGES, 1); /* to an owner that may sleep */
    handler_log_await(log, MESSAGES + FAILED + 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(consumer);
    smq_client_free(producer);
}

static bool count_one(const smq_message_info *message, void *user)
{
    (void) message;
    ++*(int *) user;
    return true;
}

static void look(struct said *said, const struct form *form)
{
    smq_client *monitor = client_of("monitor", said, false);
    smq_stats stats = messages_stats(monitor, form_consumed(form));
    int dead = 0;
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(stats.dead, FAILED);
    assert_int_equal(stats.slots_damaged, 0);
    smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_DEAD);
    assert_ok(smq_message_each(monitor, form_consumed(form), &filter, count_one, &dead, &err),
              &err);
    assert_int_equal(dead, FAILED);
    smq_client_free(monitor);
}

static smq_message waiting_message(const struct form *form)
{
    smq_message message = messages_text("100");

    message.key = (smq_bytes){"k4", 2}; /* 100 % (2 * SLOTS) */
    if (form->topic.layout == SMQ_LAYOUT_KEYED) {
        message.id = message.body;
    }
    return message;
}

/* All that changes single messages, and bulks of them. */
static void edit_messages(smq_client *admin, const struct form *form)
{
    const char *topic = form_consumed(form);
    smq_message message = waiting_message(form);
    uint64_t count = 0;
    smq_error err = SMQ_ERROR_INIT;

    send_some(admin, form, 100, 4);
    assert_ok(smq_message_get(admin, topic, MESSAGE_SENT(&message), NULL, &err), &err);
    assert_ok(smq_message_rank(admin, topic, MESSAGE_SENT(&message), &count, &err), &err);
    if (form->topic.type == SMQ_TYPE_FIXED_TIME) {
        message.delay_ms = 60000;
        assert_ok(smq_message_reschedule(admin, topic, MESSAGE_SENT(&message), &message, &err),
                  &err);
    }
    assert_ok(smq_message_remove(admin, topic, MESSAGE_SENT(&message), &err), &err);
    assert_ok(smq_dead_requeue(admin, topic, NULL, &count, NULL, NULL, &err), &err);
    assert_int_equal(count, FAILED);
    smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_WAITING);
    assert_ok(smq_topic_purge(admin, topic, &filter, &count, NULL, NULL, &err), &err);
    assert_int_equal(count, 3 + FAILED);
}

static void alter_topic(smq_client *admin, const struct form *form)
{
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(cluster_alter(admin, "orders", "max_retries", "3", &err), &err);
    assert_ok(smq_topic_pause(admin, form_consumed(form), &err), &err);
    assert_ok(smq_topic_resume(admin, form_consumed(form), &err), &err);
    if (form->topic.groups != NULL) {
        assert_ok(cluster_alter(admin, "orders", "groups", "billing,search,mail", &err), &err);
        assert_ok(cluster_alter(admin, "orders", "groups", "billing,search", &err), &err);
    }
    if (form->topic.dedup_window_ms > 0) {
        assert_ok(cluster_alter(admin, "orders", "dedup_window_ms", "none", &err), &err);
    }
    assert_ok(smq_topic_repair(admin, "orders", NULL, &err), &err);
    if (!form->topic.shared) { /* from the coordination of the consumers to the other one */
        smq_client *other;
        struct said said = {0};

        other = client_of("admin", &said, !form->fleet);
        assert_ok(smq_topic_rebind(other, form_consumed(form), false, &err), &err);
        smq_client_free(other);
    }
}

static void run_form(const struct form *form)
{
    struct said said = {0};
    smq_client *admin;
    smq_error err = SMQ_ERROR_INIT;

    print_message("%s\n", form->name);
    make_users(form->topic.groups != NULL);
    admin = client_of("admin", &said, false);
    create_topic(admin, &form->topic);
    consume_all(&said, form);
    look(&said, form);
    edit_messages(admin, form);
    alter_topic(admin, form);
    assert_ok(smq_topic_delete(admin, "orders", true, &err), &err);
    smq_client_free(admin);
    assert_int_equal(atomic_load(&said.lacks), 0);
    assert_int_equal(atomic_load(&said.stopped), 0);
}

static void each_role_has_enough_for_each_kind_of_topic(void **state)
{
    const struct form forms[] = {
        {.name = "inline, replicas, fleet",
         .topic = FORM(.type = SMQ_TYPE_FIXED_TIME, .takeover_replicas = 1),
         .replicas = 1,
         .fleet = true},
        {.name = "priority", .topic = FORM(.type = SMQ_TYPE_PRIORITY)},
        {.name = "range_merge", .topic = FORM(.type = SMQ_TYPE_RANGE_MERGE, .delay_ms = 1)},
        {.name = "keyed, expires",
         .topic =
             FORM(.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED, .expires_ms = 60000),
         .replicas = 1},
        {.name = "keyed, dedup window",
         .topic = FORM(.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED,
                       .dedup_window_ms = 60000)},
        {.name = "fifo, fleet",
         .topic = FORM(.type = SMQ_TYPE_FIFO, .layout = SMQ_LAYOUT_KEYED),
         .fleet = true},
        {.name = "shared", .topic = FORM(.type = SMQ_TYPE_FIXED_TIME, .shared = true)},
        {.name = "shared, keyed",
         .topic = FORM(.type = SMQ_TYPE_FIXED_TIME, .shared = true, .layout = SMQ_LAYOUT_KEYED)},
        {.name = "groups", .topic = FORM(.type = SMQ_TYPE_FIXED_TIME, .groups = groups)},
        {.name = "groups, keyed, dedup window, fleet",
         .topic = FORM(.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED, .groups = groups,
                       .dedup_window_ms = 60000, .expires_ms = 60000),
         .replicas = 1,
         .fleet = true},
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        run_form(&forms[i]);
    }
}

/* --- what Redis has lost --- */

static bool is_positive(void *arg)
{
    return atomic_load((atomic_int *) arg) > 0;
}

static void repair(void)
{
    smq_client *admin = roles_client_of("admin", NULL);
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_topic_repair(admin, "orders", &report, &err), &err);
    assert_true(report.repaired);
    smq_client_free(admin);
}

/* Who begins while the definition is lost learns how to repair the topic. */
static void learns_how_to_repair(struct said *said)
{
    smq_client *producer = client_of("producer", said, false);
    smq_client *consumer = client_of("consumer", said, false);
    smq_producer *sender = messages_producer(producer, NULL);
    smq_message message = messages_text("lost");
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(smq_send(sender, "orders", &message, NULL, &err), SMQ_DAMAGED);
    assert_non_null(strstr(err.text, "slotmq topic repair orders"));
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "orders", .handler = (smq_handler_fn *) abort);
    assert_int_equal(smq_consumer_new(&worker, consumer, &options, &err), SMQ_DAMAGED);
    assert_non_null(strstr(err.text, "slotmq topic repair orders"));
    smq_producer_free(sender);
    smq_client_free(consumer);
    smq_client_free(producer);
}

static void lose_and_repair(const struct form *form)
{
    struct said said = {0};
    smq_client *admin, *consumer;
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    smq_error err = SMQ_ERROR_INIT;

    print_message("%s\n", form->name);
    make_users(false);
    admin = client_of("admin", &said, false);
    create_topic(admin, &form->topic);
    consumer = client_of("consumer", &said, form->fleet);
    worker = handler_log_worker(consumer, "orders", log);
    send_some(admin, form, 0, 1);
    handler_log_await(log, 1);
    keys_lose_slot_and_subscribers("orders", 0);
    keys_lose_topic("orders");
    if (!wait_until(is_positive, &said.damaged, TIMEOUT_MS)) {
        fail_msg("the worker does not say that the definition is lost");
    }
    learns_how_to_repair(&said);
    assert_int_equal(smq_consumer_wait(worker, 0, &err), SMQ_TIMED_OUT); /* it has not ended */
    repair();
    assert_true(wait_until(is_positive, &said.repaired, TIMEOUT_MS));
    send_some(admin, form, 1, 1);
    handler_log_await(log, 2);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    assert_ok(smq_topic_delete(admin, "orders", true, &err), &err);
    smq_client_free(consumer);
    smq_client_free(admin);
    assert_int_equal(atomic_load(&said.stopped), 0);
    assert_int_equal(atomic_load(&said.lacks), 0);
}

static void a_lost_definition_is_named_and_waited_for(void **state)
{
    const struct form forms[] = {
        {.name = "inline", .topic = FORM(.type = SMQ_TYPE_FIXED_TIME)},
        {.name = "keyed, fleet",
         .topic = FORM(.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED),
         .fleet = true},
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        lose_and_repair(&forms[i]);
    }
}

/* A producer or consumer of whom the right is taken with which it would find out. */
static void names_the_right_that_hides_a_loss(const char *change, const char *named)
{
    struct said said = {0};
    smq_client *client;
    smq_producer *sender;
    smq_message message = messages_text("lost");
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    print_message("%s\n", change);
    roles_make_user("consumer", change);
    client = client_of("consumer", &said, false);
    sender = messages_producer(client, NULL);
    assert_int_equal(smq_send(sender, "orders", &message, NULL, &err), SMQ_DENIED);
    if (strstr(err.text, named) == NULL || strstr(err.text, "create it first") != NULL) {
        fail_msg("%s", err.text);
    }
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "orders", .handler = (smq_handler_fn *) abort);
    assert_int_equal(smq_consumer_new(&worker, client, &options, &err), SMQ_DENIED);
    assert_non_null(strstr(err.text, named));
    smq_producer_free(sender);
    smq_client_free(client);
}

static void a_right_that_hides_a_loss_is_named(void **state)
{
    smq_topic_options options = FORM(.type = SMQ_TYPE_FIXED_TIME);
    smq_client *client = cluster_client();
    struct said said = {0};
    struct handler_log *log = handler_log_new(NULL);
    smq_client *consumer;
    smq_consumer *worker;
    smq_error err = SMQ_ERROR_INIT;

    make_users(false);
    create_topic(client, &options);
    roles_make_user("producer", "+ssubscribe +sunsubscribe -type ~tree{slotmq:/slotmq} "
                                "&tree{slotmq:/slotmq}:*");
    consumer = client_of("producer", &said, false);
    worker = handler_log_worker(consumer, "orders", log);
    messages_send_numbers(client, "orders", 0, 1);
    handler_log_await(log, 1);
    keys_lose_slot_and_subscribers("orders", 0);
    keys_lose_topic("orders");
    names_the_right_that_hides_a_loss("-type", "'type'");
    names_the_right_that_hides_a_loss("-exists", "'exists'");
    if (!wait_until(is_positive, &said.lacks, TIMEOUT_MS)) {
        fail_msg("the worker does not name the right");
    }
    assert_int_equal(smq_consumer_wait(worker, 0, &err), SMQ_TIMED_OUT); /* it has not ended */
    roles_change_user("producer", "+type");
    assert_true(wait_until(is_positive, &said.damaged, TIMEOUT_MS));
    assert_int_equal(atomic_load(&said.lacks), 1);
    assert_ok(smq_topic_repair(client, "orders", NULL, &err), &err);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    assert_ok(smq_topic_delete(client, "orders", true, &err), &err);
    smq_client_free(consumer);
    smq_client_free(client);
}

TEST_GROUP(roles)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_role_has_enough_for_each_kind_of_topic),
        cmocka_unit_test(a_lost_definition_is_named_and_waited_for),
        cmocka_unit_test(a_right_that_hides_a_loss_is_named),
    };

    return cmocka_run_group_tests_name("roles", tests, start, cluster_end);
}
