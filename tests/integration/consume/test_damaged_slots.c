/* test_damaged_slots.c - what consumers, senders and looks do while Redis has lost a part of their
 * topic, and when it is repaired. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 4, COUNT = 40, ALTERATIONS = 120, TEXT_MAX = 256 };

/* How often damage and repair were reported of each slot; the last is the topic's own. */
struct told {
    pthread_mutex_t lock;
    int damaged[SLOTS + 1], repaired[SLOTS + 1];
    int gained;          /* slots */
    char text[TEXT_MAX]; /* of the last damage */
};

static void on_event(const smq_event *event, void *user)
{
    struct told *told = user;
    int place = event->slot < 0 ? SLOTS : event->slot;

    pthread_mutex_lock(&told->lock);
    if (event->kind == SMQ_EVENT_DAMAGED) {
        told->damaged[place]++;
        snprintf(told->text, sizeof(told->text), "%s", event->text);
    } else if (event->kind == SMQ_EVENT_REPAIRED) {
        told->repaired[place]++;
    }
    told->gained += event->kind == SMQ_EVENT_SLOT_GAINED ? 1 : 0;
    pthread_mutex_unlock(&told->lock);
}

struct wanted {
    struct told *told;
    int place;
    bool repaired;
};

static bool is_told(void *arg)
{
    const struct wanted *wanted = arg;
    bool so;

    pthread_mutex_lock(&wanted->told->lock);
    so = (wanted->repaired ? wanted->told->repaired : wanted->told->damaged)[wanted->place] > 0;
    pthread_mutex_unlock(&wanted->told->lock);
    return so;
}

static void await_told(struct told *told, int place, bool repaired)
{
    struct wanted wanted = {told, place, repaired};

    if (!wait_until(is_told, &wanted, TIMEOUT_MS)) {
        fail_msg("%d was not told to be %s", place, repaired ? "repaired" : "damaged");
    }
}

static int gained(struct told *told)
{
    int gained;

    pthread_mutex_lock(&told->lock);
    gained = told->gained;
    pthread_mutex_unlock(&told->lock);
    return gained;
}

static bool all_came_back(void *arg)
{
    return gained(arg) == SLOTS + SLOTS / 2;
}

static smq_client *client_of(struct told *told, const char *zookeeper)
{
    pthread_mutex_init(&told->lock, NULL);
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.zookeeper = zookeeper, .event = on_event,
                           .event_level = SMQ_LEVEL_DEBUG, .event_user = told);
    return cluster_client_with(&options);
}

static bool is_parked(void *arg)
{
    const char *store = arg;
    redisReply *reply = keys_command(store, "HGET slot{%s} parked", store);
    bool parked = reply->type == REDIS_REPLY_STRING;

    freeReplyObject(reply);
    return parked;
}

/* The owner of the slot sleeps. */
static void await_parked(const char *topic, int slot)
{
    char store[64];

    snprintf(store, sizeof(store), "%s_%d", topic, slot);
    assert_true(wait_until(is_parked, store, TIMEOUT_MS));
}

static void repair(smq_client *client, const char *topic)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    assert_ok(smq_topic_repair(client, topic, &report, &err), &err);
    assert_true(report.repaired);
}

/* A key whose messages go to that slot; what is sent is named after it. */
static const char *key_of_slot(smq_client *client, const char *topic, int32_t slot)
{
    static char key[32];
    smq_producer *producer = NULL;
    smq_error err;

    assert_ok(smq_producer_new(&producer, client, NULL, &err), &err);
    for (int i = 0;; i++) {
        smq_message message = SMQ_MESSAGE_INIT;
        smq_receipt receipt;

        snprintf(key, sizeof(key), "key-%d", i);
        message.body = message.key = smq_text(key);
        assert_ok(smq_send(producer, topic, &message, &receipt, &err), &err);
        if (receipt.slot == slot) {
            smq_producer_free(producer);
            return key;
        }
    }
}

static smq_status send_briefly(smq_client *client, const char *topic, const char *key,
                               smq_error *err)
{
    smq_producer *producer = NULL;
    smq_status status;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = 1500);
    assert_ok(smq_producer_new(&producer, client, &options, err), err);
    smq_message message = SMQ_MESSAGE(.body = smq_text("briefly"), .key = smq_text(key));
    status = smq_send(producer, topic, &message, NULL, err);
    smq_producer_free(producer);
    return status;
}

static void consumed_around_a_damaged_slot(bool shared)
{
    struct told told = {.text = ""};
    smq_client *client = client_of(&told, NULL);
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_priority_topic(client, shared, SLOTS);
    char lost[32], kept[32];
    smq_consumer *worker;
    smq_error err;
    int seen;

    snprintf(lost, sizeof(lost), "%s", key_of_slot(client, topic, 1));
    snprintf(kept, sizeof(kept), "%s", key_of_slot(client, topic, 2));
    worker = handler_log_worker(client, topic, log);
    messages_await_counts(client, topic, (struct message_counts){0, 0, 0, 0, -1});
    keys_lose_slot_and_subscribers(topic, 1);
    await_told(&told, 1, false);
    assert_non_null(strstr(told.text, "lost the keys of slot 1"));
    assert_non_null(strstr(told.text, "topic repair"));
    seen = handler_log_count(log);
    messages_send(client, topic, (struct test_message){.body = "others", .key = kept});
    handler_log_await(log, seen + 1);
    assert_int_equal(send_briefly(client, topic, lost, &err), SMQ_DAMAGED);
    assert_non_null(strstr(err.text, "slot 1"));
    assert_non_null(strstr(err.text, "topic repair"));
    repair(client, topic);
    await_told(&told, 1, true);
    messages_send(client, topic, (struct test_message){.body = "again", .key = lost});
    handler_log_await(log, seen + 2);
    assert_int_equal(told.damaged[1], 1);
    assert_int_equal(told.damaged[0] + told.damaged[2] + told.damaged[3] + told.damaged[4], 0);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void a_worker_names_a_damaged_slot_and_consumes_the_others(void **state)
{
    consumed_around_a_damaged_slot(false);
}

static void so_does_one_of_a_shared_topic(void **state)
{
    consumed_around_a_damaged_slot(true);
}

/* The node of the slot lost its keys while nothing was sent, and no connection ended.  So the
 * worker does not know of it, and sleeps. */
static void woken_by_the_repair(bool shared)
{
    struct told told = {.text = ""};
    smq_client *client = client_of(&told, NULL);
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_priority_topic(client, shared, SLOTS);
    char lost[32];
    smq_consumer *worker;
    int seen;

    snprintf(lost, sizeof(lost), "%s", key_of_slot(client, topic, 1));
    worker = handler_log_worker(client, topic, log);
    messages_await_counts(client, topic, (struct message_counts){0, 0, 0, 0, -1});
    await_parked(topic, 1);
    seen = handler_log_count(log);
    keys_lose_slot(topic, 1);
    repair(client, topic);
    messages_send(client, topic, (struct test_message){.body = "again", .key = lost});
    handler_log_await(log, seen + 1);
    assert_int_equal(told.damaged[1], 0);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void a_worker_that_sleeps_is_woken_by_the_repair(void **state)
{
    woken_by_the_repair(false);
}

static void so_is_one_of_a_shared_topic(void **state)
{
    woken_by_the_repair(true);
}

/* What the handler has of the lost slot can never be settled: nothing waits for it.  The damage is
 * found before the worker is stopped, or while it stops. */
static void stopped_with_damaged_slots(bool found_before)
{
    struct told told = {.text = ""};
    smq_client *client = client_of(&told, NULL);
    struct handler_log *log = handler_log_new(NULL);
    const char *topic;
    smq_consumer *worker;
    smq_error err;

    topic = cluster_priority_topic(client, false, SLOTS);
    handler_log_gate(log);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.drain_timeout_ms = TIMEOUT_MS);
    worker = handler_log_worker_with(client, &options, topic, log);
    (void) key_of_slot(client, topic, 3);
    handler_log_await(log, 1);
    for (int i = 0; i < SLOTS; i++) {
        keys_lose_slot_and_subscribers(topic, i);
    }
    if (!found_before) {
        smq_consumer_stop(worker);
    }
    handler_log_open(log, HANDLER_LOG_MAX);
    for (int i = 0; found_before && i < SLOTS; i++) {
        await_told(&told, i, false);
    }
    smq_consumer_stop(worker);
    assert_ok(smq_consumer_wait(worker, TIMEOUT_MS / 2, &err), &err);
    smq_consumer_free(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void a_stop_does_not_wait_for_a_damaged_slot(void **state)
{
    stopped_with_damaged_slots(true);
}

static void nor_for_one_that_is_found_damaged_meanwhile(void **state)
{
    stopped_with_damaged_slots(false);
}

/* How many slots of the topic have an owner under each of two generations. */
struct owners {
    smq_client *client;
    const char *topic;
    int first, second; /* how many they are */
    int wanted_first, wanted_second;
};

static bool count_owner(const smq_slot_info *slot, void *user)
{
    struct owners *owners = user;

    owners->first += strncmp(slot->token, "00000001", 8) == 0;
    owners->second += strncmp(slot->token, "00000002", 8) == 0;
    return true;
}

static bool has_owners(void *arg)
{
    struct owners *owners = arg;
    smq_error err = SMQ_ERROR_INIT;

    owners->first = owners->second = 0;
    assert_ok(smq_topic_slots(owners->client, owners->topic, count_owner, owners, &err), &err);
    return owners->first == owners->wanted_first && owners->second == owners->wanted_second;
}

static void await_owners(smq_client *client, const char *topic, int first, int second)
{
    struct owners owners = {
        .client = client, .topic = topic, .wanted_first = first, .wanted_second = second};

    if (!wait_until(has_owners, &owners, TIMEOUT_MS)) {
        fail_msg("%d slots are owned under generation 1, and %d under 2; wanted %d and %d",
                 owners.first, owners.second, first, second);
    }
}

/* The repaired topic has a larger generation.  Its slots go to a member that came later and knows
 * that, and are granted again. */
static void a_fleet_continues_under_the_generation_of_the_repaired_topic(void **state)
{
    const char *zookeeper = servers_zookeeper(cluster_servers());
    static struct told told, told_later; /* they outlive a failure */
    smq_client *client = client_of(&told, zookeeper);
    smq_client *later = client_of(&told_later, zookeeper);
    struct handler_log *log = handler_log_new(NULL), *other = handler_log_new(NULL);
    const char *topic = cluster_priority_topic(client, false, SLOTS);
    smq_consumer *worker = handler_log_worker(client, topic, log), *second;
    int came_back = 0;

    await_owners(client, topic, SLOTS, 0);
    keys_lose_topic(topic);
    repair(client, topic);
    second = handler_log_worker(later, topic, other);
    await_owners(client, topic, SLOTS / 2, SLOTS / 2);
    handler_log_stop_worker(second);
    if (!wait_until(all_came_back, &told, TIMEOUT_MS)) {
        fail_msg("of %d slots only %d came back under the new generation", SLOTS / 2,
                 gained(&told) - SLOTS);
    }
    messages_send_numbers(client, topic, 0, COUNT);
    handler_log_await(log, COUNT);
    for (int i = 0; i < COUNT; i++) {
        came_back += strncmp(handler_log_seen(log, i).token, "00000002", 8) == 0;
    }
    assert_true(came_back > 0 && came_back < COUNT); /* the other slots never moved */
    assert_int_equal(handler_log_count(other), 0);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    handler_log_free(other);
    smq_client_free(later);
    smq_client_free(client);
}

/* --- topics that are whole --- */

/* Whenever a consumer reads the definition, a slot has a later one already.  Repairs beside them
 * find nothing either. */
static void one_alteration_after_the_other_is_no_damage(void **state)
{
    static const char *const values[] = {"3", "4"};
    struct told told = {.text = ""};
    smq_client *client = client_of(&told, NULL);
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_priority_topic(client, false, SLOTS);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_error err;

    for (int i = 0; i < ALTERATIONS; i++) {
        assert_ok(cluster_alter(client, topic, "max_retries", values[i % 2], &err), &err);
    }
    messages_send_numbers(client, topic, 0, COUNT);
    handler_log_await(log, COUNT);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client); /* all events have come */
    for (int i = 0; i <= SLOTS; i++) {
        assert_int_equal(told.damaged[i], 0);
    }
}

/* --- what the topic is bound to --- */

/* A worker of this client is refused; `why` is put into `text`. */
static void refused(smq_client *client, const char *topic, char text[TEXT_MAX])
{
    smq_consumer *worker = NULL;
    smq_error err = {.text = ""};

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = (smq_handler_fn *) abort);
    assert_int_equal(smq_consumer_new(&worker, client, &options, &err), SMQ_OTHER_FLEET);
    snprintf(text, TEXT_MAX, "%s", err.text);
}

/* Refused with the same words as before the damage. */
static void lost_and_repaired(smq_client *client, const char *topic)
{
    char before[TEXT_MAX], after[TEXT_MAX];

    refused(client, topic, before);
    keys_lose_topic(topic);
    repair(client, topic);
    refused(client, topic, after);
    assert_string_equal(after, before);
}

static void a_repaired_topic_belongs_to_the_fleet_that_owns_its_slots(void **state)
{
    struct told told = {.text = ""};
    smq_client *client = client_of(&told, servers_zookeeper(cluster_servers()));
    smq_client *in_redis = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_priority_topic(client, false, SLOTS);
    smq_consumer *worker = handler_log_worker(client, topic, log);

    await_owners(client, topic, SLOTS, 0);
    lost_and_repaired(in_redis, topic);
    messages_send_numbers(client, topic, 0, COUNT);
    handler_log_await(log, COUNT);
    await_owners(client, topic, SLOTS, 0); /* nobody was fenced */
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(in_redis);
    smq_client_free(client);
}

/* `first` has consumed the topic, and has stopped. */
static void belongs_to_the_last(smq_client *first, smq_client *other)
{
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_priority_topic(first, false, SLOTS);

    messages_send(first, topic, (struct test_message){.body = "before"});
    for (int i = 0; i < 2; i++) {
        smq_consumer *worker = handler_log_worker(first, topic, log);

        handler_log_await(log, i + 1);
        handler_log_stop_worker(worker);
        lost_and_repaired(other, topic);
        messages_send(first, topic, (struct test_message){.body = "after"});
    }
    handler_log_free(log);
}

static void or_to_the_one_that_owned_them_last(void **state)
{
    struct told told = {.text = ""};
    smq_client *client = client_of(&told, servers_zookeeper(cluster_servers()));
    smq_client *in_redis = cluster_client();

    belongs_to_the_last(client, in_redis);
    belongs_to_the_last(in_redis, client);
    smq_client_free(in_redis);
    smq_client_free(client);
}

/* No process has consumed it since. */
static void or_to_the_one_that_it_was_rebound_to(void **state)
{
    struct told told = {.text = ""};
    smq_client *client = client_of(&told, servers_zookeeper(cluster_servers()));
    smq_client *in_redis = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_priority_topic(client, false, SLOTS);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_error err = {.text = ""};

    await_owners(client, topic, SLOTS, 0);
    handler_log_stop_worker(worker);
    assert_ok(smq_topic_rebind(in_redis, topic, false, &err), &err);
    lost_and_repaired(client, topic);
    messages_send(client, topic, (struct test_message){.body = "after"});
    worker = handler_log_worker(in_redis, topic, log);
    handler_log_await(log, 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(in_redis);
    smq_client_free(client);
}

static smq_verdict note_it(smq_delivery *delivery, void *user)
{
    int index = 0;

    (void) handler_log_add(user, delivery, &index);
    return SMQ_DONE;
}

/* Its fleet has a node of an earlier creation: so who joins it asks Redis for the topic, just when
 * topic{T} is lost. */
static void a_member_that_joins_waits_for_the_lost_definition(void **state)
{
    struct told told = {.text = ""};
    smq_client *client = client_of(&told, servers_zookeeper(cluster_servers()));
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_priority_topic(client, false, SLOTS);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_error err = SMQ_ERROR_INIT;

    await_owners(client, topic, SLOTS, 0);
    handler_log_stop_worker(worker);
    assert_ok(smq_topic_delete(client, topic, true, &err), &err);
    smq_topic_options again =
        SMQ_TOPIC_OPTIONS(.name = topic, .type = SMQ_TYPE_PRIORITY, .slots = SLOTS);
    assert_ok(smq_topic_create(client, &again, NULL, &err), &err);
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = note_it, .user = log);
    assert_ok(smq_consumer_new(&worker, client, &options, &err), &err);
    keys_lose_topic(topic);
    assert_ok(smq_consumer_start(worker, &err), &err);
    await_told(&told, SLOTS, false);
    assert_non_null(strstr(told.text, "topic repair"));
    assert_int_equal(smq_consumer_wait(worker, 0, &err), SMQ_TIMED_OUT); /* it has not ended */
    repair(client, topic);
    await_told(&told, SLOTS, true);
    messages_send_numbers(client, topic, 0, COUNT);
    handler_log_await(log, COUNT);
    assert_int_equal(told.damaged[SLOTS], 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

TEST_GROUP(damaged_slots)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_alteration_after_the_other_is_no_damage),
        cmocka_unit_test(a_worker_names_a_damaged_slot_and_consumes_the_others),
        cmocka_unit_test(so_does_one_of_a_shared_topic),
        cmocka_unit_test(a_worker_that_sleeps_is_woken_by_the_repair),
        cmocka_unit_test(so_is_one_of_a_shared_topic),
        cmocka_unit_test(a_stop_does_not_wait_for_a_damaged_slot),
        cmocka_unit_test(nor_for_one_that_is_found_damaged_meanwhile),
        cmocka_unit_test(a_fleet_continues_under_the_generation_of_the_repaired_topic),
        cmocka_unit_test(a_repaired_topic_belongs_to_the_fleet_that_owns_its_slots),
        cmocka_unit_test(or_to_the_one_that_owned_them_last),
        cmocka_unit_test(or_to_the_one_that_it_was_rebound_to),
        cmocka_unit_test(a_member_that_joins_waits_for_the_lost_definition),
    };

    return cmocka_run_group_tests_name("damaged_slots", tests, cluster_start_fleet, cluster_end);
}
