/* test_one_wake.c - a message of a shared topic wakes one process of those that sleep, and another
 * one if that dies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/process.h"
#include "support/servers.h"
#include "support/wait.h"

/* BY_ITSELF_MS: before that no process looks by itself (sleep.c).  BACKUP_MS: how long after the
 * first one the backup looks for a message that is due; LOOK_MS: how long after a wake another one
 * looks (lua/lib/idle.lua). */
enum { FLEET = 8, FLEET_MAX = 250, ROUNDS = 5, BY_ITSELF_MS = 20000 };
enum { BACKUP_MS = 500, LOOK_MS = 400 };

/* Processes that sleep in a topic; in the test each is a client with a worker of one thread. */
struct fleet {
    int size;
    const char *topic;
    smq_client *client[FLEET_MAX];
    struct handler_log *log[FLEET_MAX];
    smq_worker *worker[FLEET_MAX];
};

static void fleet_add(struct fleet *fleet, handler_log_fn *answer, int32_t max_in_flight)
{
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    int i = fleet->size++;

    options.order = SMQ_ORDER_SLOT; /* by key a slow handler costs one more look */
    options.max_in_flight = max_in_flight;
    fleet->client[i] = cluster_client();
    fleet->log[i] = handler_log_new(answer);
    fleet->worker[i] =
        handler_log_worker_with(fleet->client[i], &options, fleet->topic, fleet->log[i]);
}

static void fleet_begin(struct fleet *fleet, smq_client *client, int32_t slots)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    options.type = SMQ_TYPE_FIXED_TIME;
    options.shared = true;
    options.slots = slots;
    *fleet = (struct fleet){.topic = cluster_topic(client, &options)};
}

static void fleet_grow(struct fleet *fleet, int size, handler_log_fn *answer)
{
    while (fleet->size < size) {
        fleet_add(fleet, answer, 0);
        keys_await_asleep(fleet->topic, fleet->size);
    }
}

static void fleet_stop(struct fleet *fleet, int i)
{
    handler_log_stop_worker(fleet->worker[i]);
    handler_log_free(fleet->log[i]);
    smq_client_free(fleet->client[i]);
}

static void fleet_end(struct fleet *fleet)
{
    for (int i = 0; i < fleet->size; i++) {
        fleet_stop(fleet, i);
    }
}

static int fleet_count(struct fleet *fleet)
{
    int count = 0;

    for (int i = 0; i < fleet->size; i++) {
        count += handler_log_count(fleet->log[i]);
    }
    return count;
}

struct awaited {
    struct fleet *fleet;
    int count;
};

static bool fleet_has_begun(void *arg)
{
    struct awaited *awaited = arg;

    return fleet_count(awaited->fleet) >= awaited->count;
}

static void fleet_await(struct fleet *fleet, int count, int64_t most_ms)
{
    struct awaited awaited = {.fleet = fleet, .count = count};

    assert_true(wait_until(fleet_has_begun, &awaited, most_ms));
}

/* The first attempt of the message with this number. */
static struct seen fleet_seen(struct fleet *fleet, int number)
{
    for (int i = 0; i < fleet->size; i++) {
        for (int j = 0; j < handler_log_count(fleet->log[i]); j++) {
            struct seen seen = handler_log_seen(fleet->log[i], j);

            if (atoi(seen.body) == number) {
                return seen;
            }
        }
    }
    fail_msg("message %d was not seen", number);
    return (struct seen){.slot = -1};
}

/* Send the message with this number, and wait until so many attempts have begun in all. */
static struct seen fleet_send_number(struct fleet *fleet, smq_client *client, int number,
                                     int64_t delay_ms, int count)
{
    char body[16];

    snprintf(body, sizeof(body), "%d", number);
    messages_send(client, fleet->topic, (struct test_message){.body = body, .delay_ms = delay_ms});
    fleet_await(fleet, count, TIMEOUT_MS);
    return fleet_seen(fleet, number);
}

/* A message, of which so many attempts are made until all sleep again. */
static struct seen fleet_send(struct fleet *fleet, smq_client *client, int64_t delay_ms,
                              int attempts)
{
    int before = fleet_count(fleet);
    struct seen seen = fleet_send_number(fleet, client, before, delay_ms, before + attempts);

    keys_await_asleep(fleet->topic, fleet->size);
    return seen;
}

static int64_t earlier_of(int64_t least, struct seen seen)
{
    int64_t late = seen.at_ms - seen.due_at_ms;

    return late < least ? late : least;
}

/* Messages that come one by one, each when all sleep again: scripts and publications for each, at
 * most and in hundredths. */
static void messages_cost(int size, int64_t delay_ms, int attempts, handler_log_fn *answer,
                          int64_t scripts_most, int64_t published_most)
{
    smq_client *client = cluster_client();
    struct fleet fleet;
    int count = ROUNDS * (size > FLEET ? FLEET : size);
    int64_t scripts, published;

    fleet_begin(&fleet, client, 1);
    fleet_grow(&fleet, size, answer);
    scripts = keys_scripts_run();
    published = keys_published();
    for (int i = 0; i < count; i++) {
        fleet_send(&fleet, client, delay_ms, attempts);
    }
    scripts = 100 * (keys_scripts_run() - scripts) / count;
    published = 100 * (keys_published() - published) / count;
    print_message("%d asleep: %d.%02d scripts, %d.%02d publications for each\n", size,
                  (int) scripts / 100, (int) scripts % 100, (int) published / 100,
                  (int) published % 100);
    assert_in_range(scripts, 0, scripts_most);
    assert_in_range(published, 0, published_most);
    messages_await_counts(client, fleet.topic, (struct message_counts){.done = count});
    for (int i = 0; i < size && size <= FLEET; i++) { /* nobody starves */
        while (handler_log_count(fleet.log[i]) == 0) {
            assert_true(fleet_count(&fleet) < HANDLER_LOG_MAX);
            fleet_send(&fleet, client, delay_ms, attempts);
        }
    }
    fleet_end(&fleet);
    smq_client_free(client);
}

static void message_that_is_due_wakes_one(void **state)
{
    (void) state;
    messages_cost(1, 0, 1, NULL, 320, 300);
    messages_cost(2, 0, 1, NULL, 320, 300);
    messages_cost(FLEET, 0, 1, NULL, 320, 300);
    if (getenv("SIZES") != NULL) {
        messages_cost(64, 0, 1, NULL, 320, 300);
        messages_cost(250, 0, 1, NULL, 320, 300);
    }
}

static void delayed_message_wakes_one(void **state)
{
    (void) state;
    messages_cost(1, 30, 1, NULL, 320, 300);
    messages_cost(FLEET, 30, 1, NULL, 320, 300);
}

static smq_verdict retry_once(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) index;
    if (seen->attempt == 1) {
        assert_int_equal(smq_retry(delivery, 30, "later", NULL), SMQ_OK);
        return SMQ_LATER;
    }
    return SMQ_DONE;
}

/* Each attempt is a claim and an answer. */
static void retried_message_wakes_one(void **state)
{
    (void) state;
    messages_cost(1, 0, 2, retry_once, 520, 300);
    messages_cost(FLEET, 0, 2, retry_once, 520, 400);
}

/* The one that looks after a wake only reads, and so it is not the one that looks for a message
 * that is due behind that. */
static void message_that_is_due_after_the_look_of_a_backup_has_its_own(void **state)
{
    smq_client *client = cluster_client();
    int64_t least = INT64_MAX;
    struct fleet fleet;

    (void) state;
    fleet_begin(&fleet, client, 1);
    fleet_grow(&fleet, 3, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        fleet_send(&fleet, client, 0, 1);
        least = earlier_of(least, fleet_send(&fleet, client, LOOK_MS + 50, 1));
    }
    assert_in_range(least, 0, BACKUP_MS - 1);
    fleet_end(&fleet);
    smq_client_free(client);
}

/* --- the one that is woken ------------------------------------------------------------------- */

/* The first that sleeps is a process that the test can stop. */
static struct member *fleet_behind_a_member(struct fleet *fleet, smq_client *client,
                                            struct members *members, int size)
{
    struct member *member;

    fleet_begin(fleet, client, 1);
    members_init(members, fleet->topic);
    member = members_start(members);
    keys_await_asleep(fleet->topic, 1);
    while (fleet->size < size) {
        fleet_add(fleet, NULL, 0);
        keys_await_asleep(fleet->topic, fleet->size + 1);
    }
    return member;
}

static void one_is_gone(int size, bool killed, struct test_message message)
{
    smq_client *client = cluster_client();
    struct members members;
    struct fleet fleet;
    struct member *member = fleet_behind_a_member(&fleet, client, &members, size);

    assert_true(process_pause(member->pid));
    messages_send(client, fleet.topic, message);
    if (killed) {
        member_kill(member);
    }
    fleet_await(&fleet, 1, BY_ITSELF_MS);
    messages_await_counts(client, fleet.topic, (struct message_counts){.done = 1});
    fleet_end(&fleet);
    members_fini(&members);
    smq_client_free(client);
}

static void one_that_is_killed_when_it_was_woken_is_replaced(void **state)
{
    (void) state;
    one_is_gone(1, true, (struct test_message){.body = "a"});
    one_is_gone(FLEET, true, (struct test_message){.body = "a"});
}

/* It still counts as a subscriber. */
static void so_is_one_that_is_frozen(void **state)
{
    (void) state;
    one_is_gone(1, false, (struct test_message){.body = "a"});
    one_is_gone(FLEET, false, (struct test_message){.body = "a"});
}

/* The last one that slept is told when to look; here it is the only other one. */
static void one_that_was_told_to_look_may_die(void **state)
{
    smq_client *client = cluster_client();
    struct members members;
    struct fleet fleet;
    struct member *member;

    (void) state;
    fleet_begin(&fleet, client, 1);
    members_init(&members, fleet.topic);
    fleet_grow(&fleet, 2, NULL);
    member = members_start(&members);
    keys_await_asleep(fleet.topic, 3);
    messages_send(client, fleet.topic, (struct test_message){.body = "a", .delay_ms = 200});
    assert_true(process_pause(member->pid));
    fleet_await(&fleet, 1, BY_ITSELF_MS);
    fleet_end(&fleet);
    members_fini(&members);
    smq_client_free(client);
}

/* One of three has no room: it holds up one message of one of two slots.  Returns how many were
 * sent, all of which have begun. */
static int fleet_with_a_full_one(struct fleet *fleet, smq_client *client)
{
    int sent = 0;

    fleet_begin(fleet, client, 2);
    fleet_add(fleet, NULL, 1);
    handler_log_gate(fleet->log[0]);
    keys_await_asleep(fleet->topic, 1);
    fleet_grow(fleet, 3, NULL);
    while (handler_log_count(fleet->log[0]) == 0) {
        messages_send_numbers(client, fleet->topic, sent++, 1);
        fleet_await(fleet, sent, BY_ITSELF_MS);
    }
    return sent;
}

static void fleet_end_with_a_full_one(struct fleet *fleet, smq_client *client, int sent)
{
    assert_int_equal(handler_log_count(fleet->log[0]), 1);
    handler_log_open(fleet->log[0], sent);
    messages_await_counts(client, fleet->topic, (struct message_counts){.done = sent});
    fleet_end(fleet);
    smq_client_free(client);
}

static void one_that_has_no_room_passes_it_on(void **state)
{
    smq_client *client = cluster_client();
    struct fleet fleet;
    int sent = fleet_with_a_full_one(&fleet, client);

    (void) state;
    for (int i = 0; i < FLEET; i++) {
        messages_send_numbers(client, fleet.topic, sent++, 1);
        fleet_await(&fleet, sent, BY_ITSELF_MS);
    }
    fleet_end_with_a_full_one(&fleet, client, sent);
}

/* In the slot in which it sleeps it is the one that has slept longest, and so it is told. */
static void one_that_was_told_to_look_and_has_no_room_passes_it_on(void **state)
{
    smq_client *client = cluster_client();
    int64_t least = INT64_MAX;
    struct fleet fleet;
    int sent = fleet_with_a_full_one(&fleet, client), rounds = 0;
    int32_t full_in = handler_log_seen(fleet.log[0], 0).slot;

    (void) state;
    while (rounds < 2 * ROUNDS) {
        struct seen seen = fleet_send_number(&fleet, client, sent, 30, sent + 1);

        sent++;
        rounds += seen.slot != full_in ? 1 : 0;
        least = seen.slot != full_in && rounds > ROUNDS ? earlier_of(least, seen) : least;
    }
    assert_in_range(least, 0, BACKUP_MS - 1);
    fleet_end_with_a_full_one(&fleet, client, sent);
}

/* A send of many messages wakes one; each that claims and leaves some wakes the next. */
static void burst_spreads(void **state)
{
    enum { COUNT = 100 };
    smq_client *client = cluster_client();
    smq_producer *producer = messages_producer(client, NULL);
    struct fleet fleet;
    char body[COUNT][8];
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    fleet_begin(&fleet, client, 1);
    for (int i = 0; i < FLEET; i++) {
        fleet_add(&fleet, NULL, 1);
        handler_log_gate(fleet.log[i]);
        keys_await_asleep(fleet.topic, fleet.size);
    }
    for (int i = 0; i < COUNT; i++) {
        smq_message message;

        snprintf(body[i], sizeof(body[i]), "%d", i);
        message = messages_text(body[i]);
        assert_ok(smq_send_async(producer, fleet.topic, &message, NULL, NULL, &err), &err);
    }
    fleet_await(&fleet, FLEET, BY_ITSELF_MS);
    for (int i = 0; i < FLEET; i++) {
        assert_int_equal(handler_log_count(fleet.log[i]), 1);
        handler_log_open(fleet.log[i], COUNT);
    }
    messages_await_counts(client, fleet.topic, (struct message_counts){.done = COUNT});
    smq_producer_free(producer);
    fleet_end(&fleet);
    smq_client_free(client);
}

/* --- pauses, stops, servers ------------------------------------------------------------------ */

static void resumed_topic_is_handled(void **state)
{
    smq_client *client = cluster_client();
    struct fleet fleet;
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    fleet_begin(&fleet, client, 1);
    fleet_grow(&fleet, 3, NULL);
    assert_ok(smq_topic_pause(client, fleet.topic, &err), &err);
    keys_await_asleep(fleet.topic, 0);
    messages_send_numbers(client, fleet.topic, 0, 3);
    assert_ok(smq_topic_resume(client, fleet.topic, &err), &err);
    fleet_await(&fleet, 3, BY_ITSELF_MS);
    keys_await_asleep(fleet.topic, 3);
    messages_send_numbers(client, fleet.topic, 3, 3);
    fleet_await(&fleet, 6, BY_ITSELF_MS);
    fleet_end(&fleet);
    smq_client_free(client);
}

/* Those that have stopped stay in the list, and are found to hear nothing. */
static void last_that_is_left_is_woken(void **state)
{
    smq_client *client = cluster_client();
    struct fleet fleet;

    (void) state;
    fleet_begin(&fleet, client, 1);
    fleet_grow(&fleet, FLEET, NULL);
    while (fleet.size > 1) {
        fleet.size--;
        fleet_stop(&fleet, fleet.size);
    }
    messages_send_numbers(client, fleet.topic, 0, 1);
    fleet_await(&fleet, 1, BY_ITSELF_MS);
    keys_await_asleep(fleet.topic, 1);
    fleet_end(&fleet);
    smq_client_free(client);
}

static bool is_subscribed(void *arg)
{
    struct fleet *fleet = arg;
    char key[64];

    snprintf(key, sizeof(key), "wake{%s_0}", fleet->topic);
    redisReply *reply = keys_command(key, "PUBSUB SHARDNUMSUB %s", key);
    bool all = reply->elements == 2 && reply->element[1]->integer == fleet->size;

    freeReplyObject(reply);
    return all;
}

static void all_are_woken_after_the_node_was_away(void **state)
{
    smq_client *client = cluster_client();
    struct server *node = servers_node(cluster_servers(), 0);
    struct fleet fleet;

    (void) state;
    fleet_begin(&fleet, client, 1);
    fleet_grow(&fleet, FLEET, NULL);
    freeReplyObject(keys_command_at(node, "SAVE"));
    server_stop(node);
    assert_true(server_restart(node));
    assert_true(wait_until(is_subscribed, &fleet, TIMEOUT_MS));
    keys_await_asleep(fleet.topic, FLEET);
    for (int i = 0; i < FLEET; i++) {
        messages_send_numbers(client, fleet.topic, i, 1);
        fleet_await(&fleet, i + 1, BY_ITSELF_MS);
    }
    fleet_end(&fleet);
    smq_client_free(client);
}

TEST_GROUP(one_wake)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_that_is_due_wakes_one),
        cmocka_unit_test(delayed_message_wakes_one),
        cmocka_unit_test(retried_message_wakes_one),
        cmocka_unit_test(message_that_is_due_after_the_look_of_a_backup_has_its_own),
        cmocka_unit_test(one_that_is_killed_when_it_was_woken_is_replaced),
        cmocka_unit_test(so_is_one_that_is_frozen),
        cmocka_unit_test(one_that_was_told_to_look_may_die),
        cmocka_unit_test(one_that_has_no_room_passes_it_on),
        cmocka_unit_test(one_that_was_told_to_look_and_has_no_room_passes_it_on),
        cmocka_unit_test(burst_spreads),
        cmocka_unit_test(resumed_topic_is_handled),
        cmocka_unit_test(last_that_is_left_is_woken),
        cmocka_unit_test(all_are_woken_after_the_node_was_away),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
