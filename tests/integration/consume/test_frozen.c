/* test_frozen.c - a process that is stopped for a while, or has reason not to trust its membership,
 * begins nothing of slots that may be another's. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/process.h"
#include "support/wait.h"

enum { SLOTS = 16, MESSAGES = 1600, SESSION_MS = 2000, STOP_MS = 2500 };

/* Of messages: longer than all that a process is stopped here, so that the time for which the
 * process itself may own slots is what keeps it from beginning. */
enum { LEASE_MS = 60000 };

static const char newer_token[] = "0000000200000000000000ff";

static int64_t monotonic_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_past(void *arg)
{
    return monotonic_ms() >= *(int64_t *) arg;
}

/* --- a process that is stopped --- */

struct owners {
    smq_client *client;
    const char *topic;
    char name[128]; /* of the owner of slot 0, when it was looked at first */
    int others;     /* slots of another owner */
};

static bool see_owner(const smq_slot_info *slot, void *user)
{
    struct owners *owners = user;

    if (owners->name[0] == '\0') {
        snprintf(owners->name, sizeof(owners->name), "%s", slot->owner);
    }
    owners->others += slot->owner[0] != '\0' && strcmp(slot->owner, owners->name) != 0 ? 1 : 0;
    return true;
}

static void look(struct owners *owners)
{
    smq_error err = SMQ_ERROR_INIT;

    owners->others = 0;
    assert_ok(smq_topic_slots(owners->client, owners->topic, see_owner, owners, &err), &err);
}

static bool all_are_anothers(void *arg)
{
    struct owners *owners = arg;

    look(owners);
    return owners->others == SLOTS;
}

static bool some_have_begun(void *arg)
{
    return members_begun(arg, NULL, 0) > SLOTS;
}

static bool all_is_handled(void *arg)
{
    struct members *members = arg;

    return members_judge(members).handled == MESSAGES;
}

/* A process is stopped until long after another one has its slots, and then continues. */
static void freeze_and_wake(bool zookeeper, int64_t bound_ms)
{
    struct owners owners = {.client = cluster_client()};
    struct members members;
    struct verdict verdict;
    struct member *frozen;
    int64_t awake;

    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = SLOTS, .lease_ms = LEASE_MS);
    owners.topic = cluster_topic(owners.client, &options);
    members_init(&members, owners.topic);
    members.zookeeper = zookeeper;
    members.session_ms = SESSION_MS;
    members.threads = 4;
    members.work_us = 20000;
    members.bound_ms = bound_ms;
    frozen = members_start(&members);
    members_send(&members, owners.client, "k", MESSAGES, 0, MESSAGES);
    assert_true(wait_until(some_have_begun, &members, TIMEOUT_MS));
    look(&owners);
    assert_true(process_pause(frozen->pid));
    (void) members_start(&members);
    assert_true(wait_until(all_are_anothers, &owners, TIMEOUT_MS));
    awake = monotonic_ms() + STOP_MS;
    assert_true(wait_until(is_past, &awake, TIMEOUT_MS));
    assert_true(process_resume(frozen->pid));
    assert_true(wait_until(all_is_handled, &members, TIMEOUT_MS));
    for (int i = 0; i < members.count; i++) {
        member_leave(&members.member[i]);
    }
    verdict = members_judge(&members);
    print_message("%" PRIu64 " handlers begun in time, %" PRIu64 " late\n", verdict.outlived,
                  verdict.late);
    assert_int_equal(verdict.late, 0);
    assert_int_equal(verdict.lost, 0);
    members_fini(&members);
    smq_client_free(owners.client);
}

static void woken_member_begins_nothing_of_lost_slots(void **state)
{
    freeze_and_wake(true, SESSION_MS * 2 / 3);
}

/* Its lease in Redis lasts 3/2 of that time. */
static void woken_single_process_begins_nothing_of_lost_slots(void **state)
{
    freeze_and_wake(false, SESSION_MS);
}

/* --- the same, while messages are pushed --- */

static int begun_by(const struct member *member)
{
    struct members one = {.count = 1, .member[0] = *member};

    return members_begun(&one, NULL, 0);
}

struct awaited {
    struct members *members;
    int count;
};

static bool so_many_are_handled(void *arg)
{
    struct awaited *awaited = arg;

    return members_judge(awaited->members).handled == (uint64_t) awaited->count;
}

/* A process is stopped while it sleeps.  The first message that comes into each slot is claimed for
 * it, and lies in its socket until it wakes, when another process has its slots.  It begins none.
 */
static void freeze_with_pushes(bool zookeeper)
{
    enum { COUNT = 4 * SLOTS };
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = SLOTS);
    struct owners owners = {.client = cluster_client()};
    struct members members;
    struct awaited awaited = {&members, COUNT};
    struct member *frozen;
    int64_t pushed, awake;

    options.lease_ms = LEASE_MS;
    owners.topic = cluster_topic(owners.client, &options);
    members_init(&members, owners.topic);
    members.zookeeper = zookeeper;
    members.session_ms = SESSION_MS;
    frozen = members_start(&members);
    keys_await_open(owners.topic, SLOTS, SLOTS);
    look(&owners);
    assert_true(process_pause(frozen->pid));
    pushed = -keys_pushes();
    for (int i = 0; i < COUNT; i++) {
        members_send(&members, owners.client, "k", COUNT, i, 1);
    }
    pushed += keys_pushes();
    assert_in_range(pushed, 1, SLOTS); /* one of each slot, unless no key has that slot */
    assert_int_equal(messages_stats(owners.client, owners.topic).claimed, pushed);
    (void) members_start(&members);
    assert_true(wait_until(all_are_anothers, &owners, TIMEOUT_MS));
    awake = monotonic_ms() + STOP_MS;
    assert_true(wait_until(is_past, &awake, TIMEOUT_MS));
    assert_true(wait_until(so_many_are_handled, &awaited, TIMEOUT_MS));
    assert_true(process_resume(frozen->pid));
    member_leave(&members.member[1]); /* the other one has its slots again, and what comes next */
    members_send(&members, owners.client, "k", COUNT, COUNT, COUNT);
    awaited.count += COUNT;
    assert_true(wait_until(so_many_are_handled, &awaited, TIMEOUT_MS));
    assert_int_equal(begun_by(&members.member[0]), COUNT);
    assert_int_equal(begun_by(&members.member[1]), COUNT);
    assert_int_equal(messages_stats(owners.client, owners.topic).lease_lost, pushed);
    member_leave(frozen);
    members_fini(&members);
    smq_client_free(owners.client);
}

static void woken_member_begins_nothing_that_was_pushed_to_it(void **state)
{
    freeze_with_pushes(true);
}

static void woken_single_process_begins_nothing_that_was_pushed_to_it(void **state)
{
    freeze_with_pushes(false);
}

/* --- one slot that has a newer owner --- */

static atomic_int slots_lost;

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    atomic_fetch_add(&slots_lost, event->kind == SMQ_EVENT_SLOT_LOST ? 1 : 0);
}

static bool both_are_lost(void *arg)
{
    (void) arg;
    return atomic_load(&slots_lost) == 2;
}

static void set_tokens(redisContext *redis, const char *topic)
{
    for (int slot = 0; slot < 2; slot++) {
        (void) keys_read_number(redis, "HSET slot{%s_%d} token %s", topic, slot, newer_token);
    }
}

static smq_verdict first_is_answered_later(smq_delivery *delivery, const struct seen *seen,
                                           int index)
{
    (void) delivery;
    (void) seen;
    return index == 0 ? SMQ_LATER : SMQ_DONE;
}

/* Both slots have a newer owner; the first of them says so by a call that is refused.  What is
 * claimed of the second one could still begin by its age. */
static void one_lost_slot_makes_the_others_doubtful(void **state)
{
    enum { COUNT = 40 };
    struct handler_log *log = handler_log_new(first_is_answered_later);
    redisContext *redis = keys_connect();
    smq_client *client;
    smq_consumer *worker;
    const char *topic;

    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.event = on_event, .event_level = SMQ_LEVEL_DEBUG);
    client = cluster_client_with(&options);
    smq_topic_options topic_options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = 2);
    topic = cluster_topic(client, &topic_options);
    messages_send_numbers(client, topic, 0, COUNT);
    handler_log_gate(log);
    handler_log_open(log, 1);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 2); /* the second one occupies the only thread */
    messages_await_counts(
        client, topic,
        (struct message_counts){.claimed = COUNT, .resting = -1, .dead = -1, .done = -1});
    assert_int_equal(handler_log_seen(log, 1).slot, handler_log_seen(log, 0).slot);
    set_tokens(redis, topic);
    (void) smq_done(handler_log_seen(log, 0).delivery, NULL);
    messages_await_check(handler_log_seen(log, 1).delivery, SMQ_FENCED);
    handler_log_open(log, COUNT);
    assert_true(wait_until(both_are_lost, NULL, TIMEOUT_MS));
    assert_int_equal(handler_log_count(log), 2);
    smq_consumer_stop(worker);
    smq_consumer_free(worker);
    handler_log_free(log);
    redisFree(redis);
    smq_client_free(client);
}

TEST_GROUP(frozen)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(woken_member_begins_nothing_of_lost_slots),
        cmocka_unit_test(woken_single_process_begins_nothing_of_lost_slots),
        cmocka_unit_test(woken_member_begins_nothing_that_was_pushed_to_it),
        cmocka_unit_test(woken_single_process_begins_nothing_that_was_pushed_to_it),
        cmocka_unit_test(one_lost_slot_makes_the_others_doubtful),
    };

    return cmocka_run_group_tests(tests, cluster_start_single_fleet, cluster_end);
}
