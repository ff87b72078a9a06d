/* test_one_wake.c - a message of a shared topic wakes one process of those that sleep, and another
 * one if that dies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "integration/fixture/sharers.h"
#include "support/group.h"
#include "support/process.h"
#include "support/servers.h"
#include "support/wait.h"

/* BACKUP_MS: how long after the first one the backup looks for a message that is due; LOOK_MS: how
 * long after a wake another one looks (lua/lib/idle.lua). */
enum { FLEET = 8, ROUNDS = 5 };
enum { BACKUP_MS = 500, LOOK_MS = 400 };

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
    struct sharers sharers;
    int count = ROUNDS * (size > FLEET ? FLEET : size);
    int64_t scripts, published;

    sharers_begin(&sharers, client, 1);
    sharers_grow(&sharers, size, answer);
    scripts = keys_scripts_run();
    published = keys_published();
    for (int i = 0; i < count; i++) {
        sharers_send(&sharers, client, delay_ms, attempts);
    }
    scripts = 100 * (keys_scripts_run() - scripts) / count;
    published = 100 * (keys_published() - published) / count;
    print_message("%d asleep: %d.%02d scripts, %d.%02d publications for each\n", size,
                  (int) scripts / 100, (int) scripts % 100, (int) published / 100,
                  (int) published % 100);
    assert_in_range(scripts, 0, scripts_most);
    assert_in_range(published, 0, published_most);
    messages_await_counts(client, sharers.topic, (struct message_counts){.done = count});
    for (int i = 0; i < size && size <= FLEET; i++) { /* nobody starves */
        while (handler_log_count(sharers.log[i]) == 0) {
            assert_true(sharers_count(&sharers) < HANDLER_LOG_MAX);
            sharers_send(&sharers, client, delay_ms, attempts);
        }
    }
    sharers_end(&sharers);
    smq_client_free(client);
}

static void message_that_is_due_wakes_one(void **state)
{
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
    messages_cost(1, 0, 2, retry_once, 520, 300);
    messages_cost(FLEET, 0, 2, retry_once, 520, 400);
}

/* The one that looks after a wake only reads, and so it is not the one that looks for a message
 * that is due behind that. */
static void message_that_is_due_after_the_look_of_a_backup_has_its_own(void **state)
{
    smq_client *client = cluster_client();
    int64_t least = INT64_MAX;
    struct sharers sharers;

    sharers_begin(&sharers, client, 1);
    sharers_grow(&sharers, 3, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        sharers_send(&sharers, client, 0, 1);
        least = earlier_of(least, sharers_send(&sharers, client, LOOK_MS + 50, 1));
    }
    assert_in_range(least, 0, BACKUP_MS - 1);
    sharers_end(&sharers);
    smq_client_free(client);
}

/* --- the one that is woken ------------------------------------------------------------------- */

/* The first that sleeps is a process that the test can stop.  It has handled one message: so it has
 * heard that it is subscribed, after which it looks once more and is the last that sleeps. */
static struct member *fleet_behind_a_member(struct sharers *sharers, smq_client *client,
                                            struct members *members, int size)
{
    struct member *member;

    sharers_begin(sharers, client, 1);
    members_init(members, sharers->topic);
    member = members_start(members);
    keys_await_asleep(sharers->topic, 1);
    messages_send(client, sharers->topic, (struct test_message){.body = "first"});
    messages_await_counts(client, sharers->topic, (struct message_counts){.done = 1});
    keys_await_asleep(sharers->topic, 1);
    while (sharers->size < size) {
        sharers_add(sharers, NULL, 0);
        keys_await_asleep(sharers->topic, sharers->size + 1);
    }
    return member;
}

/* Of the only message: how long after it was due. */
static int64_t begun_after(const struct sharers *sharers)
{
    for (int i = 0; i < sharers->size; i++) {
        if (handler_log_count(sharers->log[i]) > 0) {
            struct seen seen = handler_log_seen(sharers->log[i], 0);
            return seen.at_ms - seen.due_at_ms;
        }
    }
    return -1;
}

static void one_is_gone(int size, bool killed, struct test_message message)
{
    smq_client *client = cluster_client();
    struct members members;
    struct sharers sharers;
    struct member *member = fleet_behind_a_member(&sharers, client, &members, size);

    assert_true(process_pause(member->pid));
    messages_send(client, sharers.topic, message);
    if (killed) {
        member_kill(member);
    }
    sharers_await(&sharers, 1, SHARERS_BY_ITSELF_MS);
    print_message("%d asleep, one is %s: begun after %d ms\n", size, killed ? "killed" : "frozen",
                  (int) begun_after(&sharers));
    messages_await_counts(client, sharers.topic, (struct message_counts){.done = 2});
    sharers_end(&sharers);
    members_fini(&members);
    smq_client_free(client);
}

static void one_that_is_killed_when_it_was_woken_is_replaced(void **state)
{
    one_is_gone(1, true, (struct test_message){.body = "a"});
    one_is_gone(FLEET, true, (struct test_message){.body = "a"});
}

/* It still counts as a subscriber. */
static void so_is_one_that_is_frozen(void **state)
{
    one_is_gone(1, false, (struct test_message){.body = "a"});
    one_is_gone(FLEET, false, (struct test_message){.body = "a"});
}

/* The last one that slept is told when to look; here it is the only other one. */
static void one_that_was_told_to_look_may_die(void **state)
{
    smq_client *client = cluster_client();
    struct members members;
    struct sharers sharers;
    struct member *member;

    sharers_begin(&sharers, client, 1);
    members_init(&members, sharers.topic);
    sharers_grow(&sharers, 2, NULL);
    member = members_start(&members);
    keys_await_asleep(sharers.topic, 3);
    messages_send(client, sharers.topic, (struct test_message){.body = "a", .delay_ms = 200});
    assert_true(process_pause(member->pid));
    sharers_await(&sharers, 1, SHARERS_BY_ITSELF_MS);
    sharers_end(&sharers);
    members_fini(&members);
    smq_client_free(client);
}

/* By the clock of the node, does the turn of those that look last no longer? */
static bool has_passed(void *topic)
{
    char key[64], parked[512];
    long long woken_at = 0;
    redisReply *now;
    bool passed;

    (void) snprintf(key, sizeof(key), "slot{%s_0}", (const char *) topic);
    (void) sscanf(keys_text(parked, key, "HGET %s parked", key), "%*s %lld", &woken_at);
    now = keys_command(key, "TIME");
    passed = atoll(now->element[0]->str) * 1000 + atoll(now->element[1]->str) / 1000 >
             woken_at + LOOK_MS;
    freeReplyObject(now);
    return passed;
}

/* The one that has slept longest and the last one have stood still for long: they keep their turn,
 * which costs a message the time until the next one comes. */
static void two_that_are_frozen_keep_a_message_until_the_next_one(void **state)
{
    smq_client *client = cluster_client();
    struct members members;
    struct sharers sharers;
    struct member *first = fleet_behind_a_member(&sharers, client, &members, 1), *last;

    last = members_start(&members);
    keys_await_asleep(sharers.topic, 3);
    assert_true(process_pause(first->pid) && process_pause(last->pid));
    messages_send_numbers(client, sharers.topic, 0, 1);
    assert_true(wait_until(has_passed, (void *) sharers.topic, TIMEOUT_MS));
    messages_send_numbers(client, sharers.topic, 1, 1);
    sharers_await(&sharers, 2, SHARERS_BY_ITSELF_MS);
    assert_in_range(begun_after(&sharers), LOOK_MS, TIMEOUT_MS);
    messages_await_counts(client, sharers.topic, (struct message_counts){.done = 3});
    sharers_end(&sharers);
    members_fini(&members);
    smq_client_free(client);
}

/* One of three has no room: it holds up one message of one of two slots.  Returns how many were
 * sent, all of which have begun. */
static int fleet_with_a_full_one(struct sharers *sharers, smq_client *client)
{
    int sent = 0;

    sharers_begin(sharers, client, 2);
    sharers_add(sharers, NULL, 1);
    handler_log_gate(sharers->log[0]);
    keys_await_asleep(sharers->topic, 1);
    sharers_grow(sharers, 3, NULL);
    while (handler_log_count(sharers->log[0]) == 0) {
        messages_send_numbers(client, sharers->topic, sent++, 1);
        sharers_await(sharers, sent, SHARERS_BY_ITSELF_MS);
    }
    return sent;
}

static void fleet_end_with_a_full_one(struct sharers *sharers, smq_client *client, int sent)
{
    assert_int_equal(handler_log_count(sharers->log[0]), 1);
    handler_log_open(sharers->log[0], sent);
    messages_await_counts(client, sharers->topic, (struct message_counts){.done = sent});
    sharers_end(sharers);
    smq_client_free(client);
}

static void one_that_has_no_room_passes_it_on(void **state)
{
    smq_client *client = cluster_client();
    struct sharers sharers;
    int sent = fleet_with_a_full_one(&sharers, client);

    for (int i = 0; i < FLEET; i++) {
        messages_send_numbers(client, sharers.topic, sent++, 1);
        sharers_await(&sharers, sent, SHARERS_BY_ITSELF_MS);
    }
    fleet_end_with_a_full_one(&sharers, client, sent);
}

/* Send until the slow one has handled one more; returns its slot. */
static int32_t send_to_the_slow_one(struct sharers *sharers, smq_client *client, int *sent)
{
    int before = handler_log_count(sharers->log[0]);

    while (handler_log_count(sharers->log[0]) == before) {
        keys_await_asleep(sharers->topic, sharers->size);
        (void) sharers_send_number(sharers, client, *sent, 0, *sent + 1);
        ++*sent;
    }
    return handler_log_seen(sharers->log[0], before).slot;
}

/* It has claimed what its rate allows in a second, and sleeps in the other slot, where it is woken
 * first.  Of those messages the one that began earliest did not wait for another one to look. */
static void one_whose_rate_is_used_up_passes_it_on(void **state)
{
    enum { TURNS = 3 };
    smq_client *client = cluster_client();
    int64_t least = INT64_MAX;
    struct sharers sharers;
    int sent = 0;

    sharers_begin(&sharers, client, 2);
    sharers_add_slow(&sharers, 1);
    keys_await_asleep(sharers.topic, 1);
    sharers_grow(&sharers, 3, NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        int32_t slot = send_to_the_slow_one(&sharers, client, &sent);
        struct seen seen;

        do {
            seen = sharers_send_number(&sharers, client, sent, 0, sent + 1);
            sent++;
        } while (seen.slot == slot);
        least = earlier_of(least, seen);
    }
    assert_in_range(least, 0, LOOK_MS - 1);
    messages_await_counts(client, sharers.topic, (struct message_counts){.done = sent});
    sharers_end(&sharers);
    smq_client_free(client);
}

/* In the slot in which it sleeps it is the one that has slept longest, and so it is told. */
static void one_that_was_told_to_look_and_has_no_room_passes_it_on(void **state)
{
    smq_client *client = cluster_client();
    int64_t least = INT64_MAX;
    struct sharers sharers;
    int sent = fleet_with_a_full_one(&sharers, client), rounds = 0;
    int32_t full_in = handler_log_seen(sharers.log[0], 0).slot;

    while (rounds < 2 * ROUNDS) {
        struct seen seen = sharers_send_number(&sharers, client, sent, 30, sent + 1);

        sent++;
        rounds += seen.slot != full_in ? 1 : 0;
        least = seen.slot != full_in && rounds > ROUNDS ? earlier_of(least, seen) : least;
    }
    assert_in_range(least, 0, BACKUP_MS - 1);
    fleet_end_with_a_full_one(&sharers, client, sent);
}

/* A send of many messages wakes one; each that claims and leaves some wakes the next. */
static void burst_spreads(void **state)
{
    enum { COUNT = 100 };
    smq_client *client = cluster_client();
    smq_producer *producer = messages_producer(client, NULL);
    struct sharers sharers;
    char body[COUNT][8];
    smq_error err = SMQ_ERROR_INIT;

    sharers_begin(&sharers, client, 1);
    for (int i = 0; i < FLEET; i++) {
        sharers_add(&sharers, NULL, 1);
        handler_log_gate(sharers.log[i]);
        keys_await_asleep(sharers.topic, sharers.size);
    }
    for (int i = 0; i < COUNT; i++) {
        smq_message message;

        snprintf(body[i], sizeof(body[i]), "%d", i);
        message = messages_text(body[i]);
        assert_ok(smq_send_async(producer, sharers.topic, &message, NULL, NULL, &err), &err);
    }
    sharers_await(&sharers, FLEET, SHARERS_BY_ITSELF_MS);
    for (int i = 0; i < FLEET; i++) {
        assert_int_equal(handler_log_count(sharers.log[i]), 1);
        handler_log_open(sharers.log[i], COUNT);
    }
    messages_await_counts(client, sharers.topic, (struct message_counts){.done = COUNT});
    smq_producer_free(producer);
    sharers_end(&sharers);
    smq_client_free(client);
}

/* --- pauses, stops, servers ------------------------------------------------------------------ */

static void resumed_topic_is_handled(void **state)
{
    smq_client *client = cluster_client();
    struct sharers sharers;
    smq_error err = SMQ_ERROR_INIT;

    sharers_begin(&sharers, client, 1);
    sharers_grow(&sharers, 3, NULL);
    assert_ok(smq_topic_pause(client, sharers.topic, &err), &err);
    keys_await_asleep(sharers.topic, 0);
    messages_send_numbers(client, sharers.topic, 0, 3);
    assert_ok(smq_topic_resume(client, sharers.topic, &err), &err);
    sharers_await(&sharers, 3, SHARERS_BY_ITSELF_MS);
    keys_await_asleep(sharers.topic, 3);
    messages_send_numbers(client, sharers.topic, 3, 3);
    sharers_await(&sharers, 6, SHARERS_BY_ITSELF_MS);
    sharers_end(&sharers);
    smq_client_free(client);
}

/* Those that have stopped stay in the list, and are found to hear nothing. */
static void last_that_is_left_is_woken(void **state)
{
    smq_client *client = cluster_client();
    struct sharers sharers;

    sharers_begin(&sharers, client, 1);
    sharers_grow(&sharers, FLEET, NULL);
    while (sharers.size > 1) {
        sharers.size--;
        sharers_stop(&sharers, sharers.size);
    }
    messages_send_numbers(client, sharers.topic, 0, 1);
    sharers_await(&sharers, 1, SHARERS_BY_ITSELF_MS);
    keys_await_asleep(sharers.topic, 1);
    sharers_end(&sharers);
    smq_client_free(client);
}

static void all_are_woken_after_the_node_was_away(void **state)
{
    smq_client *client = cluster_client();
    struct server *node = servers_node(cluster_servers(), 0);
    struct sharers sharers;

    sharers_begin(&sharers, client, 1);
    sharers_grow(&sharers, FLEET, NULL);
    freeReplyObject(keys_command_at(node, "SAVE"));
    server_stop(node);
    assert_true(server_restart(node));
    messages_send_numbers(client, sharers.topic, 0, 1); /* before all have subscribed again */
    sharers_await(&sharers, 1, SHARERS_BY_ITSELF_MS);
    sharers_check_wakes(&sharers, client);
    sharers_end(&sharers);
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
        cmocka_unit_test(two_that_are_frozen_keep_a_message_until_the_next_one),
        cmocka_unit_test(one_that_has_no_room_passes_it_on),
        cmocka_unit_test(one_whose_rate_is_used_up_passes_it_on),
        cmocka_unit_test(one_that_was_told_to_look_and_has_no_room_passes_it_on),
        cmocka_unit_test(burst_spreads),
        cmocka_unit_test(resumed_topic_is_handled),
        cmocka_unit_test(last_that_is_left_is_woken),
        cmocka_unit_test(all_are_woken_after_the_node_was_away),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
