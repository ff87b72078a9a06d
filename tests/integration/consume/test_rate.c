/* test_rate.c - rates of a worker and of a topic: no message begins earlier than the rate allows,
 * counted from before its worker could claim anything, and all of them are handled in the end.  A
 * handler may begin long after the claim, so the time between two handlers says nothing. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 64, MANY_SLOTS = 1024, MEMBERS = 4 };

static const char *topic_of(smq_client *client, int32_t slots, int64_t rate_per_s)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_PRIORITY, .slots = slots, .rate_per_s = rate_per_s);
    return cluster_topic(client, &options);
}

/* A bucket holds what comes in so long; the clocks are read in whole ms. */
enum { BURST_MS = 100, CLOCK_MS = 2 };

/* --- one process --- */

/* `count` messages at `rate` a second: none sooner than that takes, and with few round trips. */
static void check_pace(smq_client *client, const char *topic, int64_t own_rate, int count, int rate)
{
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    int64_t before, began;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.rate_per_s = own_rate);
    messages_send_numbers(client, topic, 0, count);
    before = keys_scripts_run();
    began = clock_wall_ms();
    worker = handler_log_worker_with(client, &options, topic, log);
    handler_log_await(log, count);
    for (int i = 0; i < count; i++) {
        /* the burst comes at once: 100 ms of the rate */
        assert_true(handler_log_seen(log, i).at_ms - began >=
                    INT64_C(1000) * i / rate - BURST_MS - CLOCK_MS);
    }
    assert_in_range(keys_scripts_run() - before, 1, 2 * count + 20 * SLOTS);
    messages_await_counts(client, topic, (struct message_counts){.done = count});
    handler_log_stop_worker(worker);
    assert_int_equal(handler_log_count(log), count);
    handler_log_free(log);
}

static void worker_claims_no_more_than_its_rate(void **state)
{
    smq_client *client = cluster_client();

    check_pace(client, topic_of(client, 4, 0), 100, 150, 100);
    smq_client_free(client);
}

static void lone_process_has_the_whole_rate_of_the_topic(void **state)
{
    smq_client *client = cluster_client();

    check_pace(client, topic_of(client, 4, 100), 0, 150, 100);
    smq_client_free(client);
}

static void smaller_of_two_rates_holds(void **state)
{
    smq_client *client = cluster_client();

    check_pace(client, topic_of(client, 1, 50), 1000, 60, 50);
    smq_client_free(client);
}

static void slow_rate_lets_the_first_message_pass_at_once(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 1, 0);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    int64_t began;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.rate_per_s = 1, .batch_size = 1);
    messages_send_numbers(client, topic, 0, 3);
    began = clock_wall_ms();
    worker = handler_log_worker_with(client, &options, topic, log);
    handler_log_await(log, 2);
    assert_true(handler_log_seen(log, 1).at_ms - began >= 1000 - CLOCK_MS);
    handler_log_stop_worker(worker); /* does not wait for tokens */
    assert_int_equal(messages_stats(client, topic).released, 0);
    handler_log_free(log);
    smq_client_free(client);
}

/* Nothing else happens that could remind the worker of the message. */
static void message_that_finds_no_token_waits_for_the_next_one(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 1, 0);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    int64_t began = clock_wall_ms();

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.rate_per_s = 2);
    worker = handler_log_worker_with(client, &options, topic, log);
    for (int i = 1; i <= 3; i++) {
        char body[16];

        snprintf(body, sizeof(body), "%d", i);
        messages_send(client, topic, (struct test_message){.body = body});
        handler_log_await(log, i);
    }
    assert_true(handler_log_seen(log, 2).at_ms - began >= 1000 - CLOCK_MS);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

struct calls {
    int64_t before, more;
};

static bool calls_were_made(void *arg)
{
    const struct calls *calls = arg;

    return keys_scripts_run() - calls->before >= calls->more;
}

/* At three messages per second each slot, which is empty, is looked at without waiting for a token:
 * what a claim did not find is not counted.  (Slots that wait longer for a token are looked at
 * without a claim.) */
static void looking_at_empty_slots_uses_no_rate(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, MANY_SLOTS, 0);
    struct handler_log *log = handler_log_new(NULL);
    struct calls calls = {.before = keys_scripts_run(),
                          .more = (int64_t) 2 * MANY_SLOTS}; /* takeover, consume */
    smq_consumer *worker;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.rate_per_s = 3);
    worker = handler_log_worker_with(client, &options, topic, log);
    assert_true(wait_until(calls_were_made, &calls, TIMEOUT_MS));
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- a fleet --- */

struct owned {
    int count;
    char owners[4][128];
    int owner_count;
};

static bool see_slot(const smq_slot_info *slot, void *user)
{
    struct owned *owned = user;
    int i = 0;

    owned->count += slot->owner[0] != '\0' ? 1 : 0;
    while (i < owned->owner_count && strcmp(owned->owners[i], slot->owner) != 0) {
        i++;
    }
    if (i == owned->owner_count && i < 4) {
        snprintf(owned->owners[owned->owner_count++], sizeof(owned->owners[0]), "%s", slot->owner);
    }
    return true;
}

struct fleet {
    smq_client *client;
    struct members members;
    int running;
    int begun; /* this many handlers are awaited */
};

/* --- a member with a small part of a slow topic --- */

struct part {
    smq_client *client;
    const char *topic;
    int32_t slot; /* -1: count the owned ones */
    int owned;
    uint64_t left; /* messages of the slot */
};

static bool see_part(const smq_slot_info *slot, void *user)
{
    struct part *part = user;

    part->owned += slot->owner[0] != '\0' ? 1 : 0;
    if (slot->slot == part->slot) {
        part->left = slot->stats.waiting + slot->stats.claimed;
    }
    return true;
}

static void part_read(struct part *part)
{
    smq_error err = SMQ_ERROR_INIT;

    part->owned = 0;
    assert_ok(smq_topic_slots(part->client, part->topic, see_part, part, &err), &err);
}

static bool all_is_owned(void *arg)
{
    struct part *part = arg;

    part_read(part);
    return part->owned == MANY_SLOTS;
}

static bool slot_is_empty(void *arg)
{
    struct part *part = arg;

    part_read(part);
    return part->left == 0;
}

/* One of 1024 slots at 1 message a second has its next token in 17 minutes. */
static void new_rate_reaches_who_waits_long_for_a_token(void **state)
{
    smq_client *client = cluster_fleet_client(20000), *other = cluster_fleet_client(20000);
    struct part part = {.client = client, .topic = topic_of(client, MANY_SLOTS, 1), .slot = -1};
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *consumer = NULL;
    smq_consumer *worker;
    smq_error err = SMQ_ERROR_INIT;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.topic = part.topic);
    options.weight = 1000; /* so that one slot is left for the other */
    assert_ok(smq_consumer_new(&consumer, other, &options, &err), &err);
    assert_true(wait_until(all_is_owned, &part, TIMEOUT_MS));
    worker = handler_log_worker(client, part.topic, log);
    messages_send_numbers(client, part.topic, 0, 3 * MANY_SLOTS);
    handler_log_await(log, 1);
    part.slot = handler_log_seen(log, 0).slot;
    assert_ok(cluster_alter(client, part.topic, "rate_per_s", "1000000", &err), &err);
    assert_true(wait_until(slot_is_empty, &part, TIMEOUT_MS));
    handler_log_stop_worker(worker);
    smq_consumer_free(consumer);
    handler_log_free(log);
    smq_client_free(other);
    smq_client_free(client);
}

/* --- four processes --- */

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool members_own_all_slots(void *arg)
{
    struct fleet *fleet = arg;
    struct owned owned = {.count = 0};
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_topic_slots(fleet->client, fleet->members.topic, see_slot, &owned, &err), &err);
    return owned.count == SLOTS && owned.owner_count == fleet->running;
}

static bool enough_have_begun(void *arg)
{
    struct fleet *fleet = arg;

    return members_begun(&fleet->members, NULL, 0) >= fleet->begun;
}

static void await_begun(struct fleet *fleet, int count)
{
    fleet->begun = count;
    assert_true(wait_until(enough_have_begun, fleet, TIMEOUT_MS));
}

/* `count` messages are sent to a fleet that owns all slots and has nothing to do; `leaving` leaves
 * among them.  Every process may begin with a full bucket, or with a token. */
static void check_round(struct fleet *fleet, int before, int count, int rate,
                        struct member *leaving)
{
    enum { MS_NS = 1000000, MOST = 10000 };
    static int64_t at_ns[MOST];
    int64_t began_ns;

    assert_true(wait_until(members_own_all_slots, fleet, TIMEOUT_MS));
    began_ns = now_ns();
    members_send(&fleet->members, fleet->client, "k", count, before, count);
    await_begun(fleet, before + count / 4);
    member_leave(leaving);
    fleet->running--;
    await_begun(fleet, before + count);
    assert_int_equal(members_begun(&fleet->members, at_ns, MOST), before + count);
    for (int i = 0; i < count; i++) {
        assert_true((at_ns[before + i] - began_ns) / MS_NS >=
                    INT64_C(1000) * (i - MEMBERS) / rate - BURST_MS - CLOCK_MS);
    }
}

static void rate_of_the_topic_holds_over_the_fleet_while_one_leaves(void **state)
{
    enum { RATE = 200, ROUND = 1000 };
    struct fleet fleet = {.client = cluster_client(), .running = MEMBERS};
    struct members *members = &fleet.members;

    members_init(members, topic_of(fleet.client, SLOTS, RATE));
    members->zookeeper = true;
    members->session_ms = 20000; /* nobody dies here, not even of slowness */
    for (int i = 0; i < MEMBERS; i++) {
        members_start(members);
    }
    check_round(&fleet, 0, ROUND, RATE, &members->member[0]);
    check_round(&fleet, ROUND, ROUND, RATE, &members->member[1]);
    messages_await_counts(fleet.client, members->topic,
                          (struct message_counts){.done = (int64_t) 2 * ROUND});
    assert_int_equal(messages_stats(fleet.client, members->topic).lease_lost, 0);
    members_fini(members);
    smq_client_free(fleet.client);
}

TEST_GROUP(rate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_claims_no_more_than_its_rate),
        cmocka_unit_test(lone_process_has_the_whole_rate_of_the_topic),
        cmocka_unit_test(smaller_of_two_rates_holds),
        cmocka_unit_test(slow_rate_lets_the_first_message_pass_at_once),
        cmocka_unit_test(looking_at_empty_slots_uses_no_rate),
        cmocka_unit_test(message_that_finds_no_token_waits_for_the_next_one),
        cmocka_unit_test(new_rate_reaches_who_waits_long_for_a_token),
        cmocka_unit_test(rate_of_the_topic_holds_over_the_fleet_while_one_leaves),
    };

    return cmocka_run_group_tests(tests, cluster_start_fleet, cluster_end);
}
