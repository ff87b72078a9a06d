/* test_shared_limit.c - several consumers under one limit of unanswered deliveries: they take
 * turns, and one that cannot claim holds up no other.
 *
 * All topics are on one server, because a master that stands still takes its topics out of turn. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { TOPICS = 3, EACH = 300, SLOTS = 4, LIMIT = 8, SLACK = 20, THREADS = 4, SLOWLY = 5 };

static const smq_consumer_options plain = SMQ_CONSUMER_OPTIONS_INIT;

/* Consumers of topics under one limit, and what came of each. */
struct party {
    smq_client *client;
    smq_limit *limit;
    const char *topics[TOPICS];
    smq_consumer *consumers[TOPICS];
    smq_delivery *held[LIMIT + 1];
    size_t holds;
    int came[TOPICS];
};

static smq_limit *limit_of(smq_client *client, int32_t most)
{
    smq_limit *limit;
    smq_error err;

    assert_ok(smq_limit_new(&limit, client, most, &err), &err);
    return limit;
}

static void set_most(const struct party *party, int32_t most)
{
    smq_error err;

    assert_ok(smq_limit_set(party->limit, most, &err), &err);
}

static void join(struct party *party, int i, smq_consumer_options options)
{
    options.limit = party->limit;
    party->consumers[i] = messages_consumer_with(party->client, &options, party->topics[i]);
}

/* All slots of those that have joined are theirs. */
static bool own_their_slots(void *arg)
{
    const struct party *party = arg;
    smq_metrics metrics = SMQ_METRICS_INIT;
    uint64_t slots = 0;

    for (int i = 0; i < TOPICS; i++) {
        slots += party->consumers[i] != NULL ? SLOTS : 0;
    }
    assert_int_equal(smq_client_metrics(party->client, &metrics, NULL), SMQ_OK);
    return metrics.slots_owned == slots;
}

/* Topics with EACH messages, and no consumers yet. */
static struct party party_begin(int32_t limit)
{
    struct party party = {.client = cluster_client()};

    party.limit = limit_of(party.client, limit);
    for (int i = 0; i < TOPICS; i++) {
        party.topics[i] = cluster_priority_topic(party.client, false, SLOTS);
        messages_send_numbers(party.client, party.topics[i], 0, EACH);
    }
    return party;
}

static void party_end(struct party *party)
{
    for (int i = 0; i < TOPICS; i++) {
        smq_consumer_free(party->consumers[i]);
    }
    smq_limit_free(party->limit);
    smq_client_free(party->client);
}

static uint64_t in_flight(const struct party *party)
{
    smq_metrics metrics = SMQ_METRICS_INIT;

    assert_int_equal(smq_client_metrics(party->client, &metrics, NULL), SMQ_OK);
    return metrics.in_flight;
}

/* Hold what can be polled without waiting. */
static void hold(struct party *party)
{
    for (int i = 0; i < TOPICS; i++) {
        size_t count = 0;

        if (party->consumers[i] != NULL) {
            assert_int_equal(smq_consumer_poll(party->consumers[i], party->held + party->holds,
                                               LIMIT + 1 - party->holds, &count, 0, NULL),
                             SMQ_OK);
        }
        party->holds += count;
        party->came[i] += (int) count;
    }
    assert_true(party->holds <= LIMIT);
}

static bool holds_the_limit(void *arg)
{
    struct party *party = arg;

    hold(party);
    assert_true(in_flight(party) <= LIMIT);
    return party->holds == LIMIT;
}

/* Answer the first one that is held. */
static void answer_one(struct party *party)
{
    messages_done(party->held[0]);
    party->holds--;
    memmove(party->held, party->held + 1, party->holds * sizeof(*party->held));
}

static void answer_all(struct party *party)
{
    while (party->holds > 0) {
        answer_one(party);
    }
}

static bool some_came(void *arg)
{
    struct party *party = arg;

    answer_all(party);
    hold(party);
    return party->holds > 0;
}

/* Handle messages, one after the other, until `count` have come. */
static void handle(struct party *party, int count)
{
    int came = 0;

    while (came < count) {
        assert_true(wait_until(some_came, party, TIMEOUT_MS));
        came += (int) party->holds;
    }
    answer_all(party);
}

static int64_t released(const struct party *party)
{
    int64_t sum = 0;

    for (int i = 0; i < TOPICS; i++) {
        sum += (int64_t) messages_stats(party->client, party->topics[i]).released;
    }
    return sum;
}

static int came(const struct party *party)
{
    int sum = 0;

    for (int i = 0; i < TOPICS; i++) {
        sum += party->came[i];
    }
    return sum;
}

static void assert_came_alike(const struct party *party, int each)
{
    for (int i = 0; i < TOPICS; i++) {
        assert_in_range(party->came[i], each - SLACK, each + SLACK);
    }
}

/* --- turns --- */

/* Of the first messages each topic has a third, whether all that is held is answered at once, or
 * one at a time. */
static void full_topics_take_turns(void **state)
{
    struct party party = party_begin(LIMIT);

    for (int i = 0; i < TOPICS; i++) {
        join(&party, i, plain);
    }
    handle(&party, EACH);
    assert_came_alike(&party, EACH / TOPICS);
    for (int i = 0; i < EACH; i++) {
        assert_true(wait_until(holds_the_limit, &party, TIMEOUT_MS));
        answer_one(&party);
    }
    assert_came_alike(&party, 2 * EACH / TOPICS);
    handle(&party, TOPICS * EACH - came(&party));
    assert_int_equal(released(&party), 0);
    party_end(&party);
}

/* A topic that is added later has its part from then on; what one held that is freed makes room. */
static void a_topic_is_added_and_taken_away_while_messages_flow(void **state)
{
    struct party party = party_begin(LIMIT);

    join(&party, 0, plain);
    handle(&party, EACH / 4);
    join(&party, 1, plain);
    join(&party, 2, plain);
    assert_true(wait_until(own_their_slots, &party, TIMEOUT_MS));
    memset(party.came, 0, sizeof(party.came));
    handle(&party, EACH / 2);
    assert_came_alike(&party, EACH / 2 / TOPICS);

    assert_true(wait_until(holds_the_limit, &party, TIMEOUT_MS));
    smq_consumer_free(party.consumers[0]);
    party.consumers[0] = NULL;
    for (; party.holds > 0; party.holds--) { /* those of the freed consumer can only be dropped */
        (void) smq_done(party.held[party.holds - 1], NULL);
    }
    memset(party.came, 0, sizeof(party.came));
    handle(&party, EACH / 2);
    assert_int_equal(party.came[0], 0);
    assert_in_range(party.came[1], EACH / 4 - SLACK, EACH / 4 + SLACK);
    party_end(&party);
}

/* --- consumers that cannot claim --- */

static void others_pass_one_that_is_paused_or_rated(void **state)
{
    struct party party = party_begin(LIMIT);
    smq_error err;

    assert_ok(smq_topic_pause(party.client, party.topics[0], &err), &err);
    join(&party, 0, plain);
    join(&party, 1, SMQ_CONSUMER_OPTIONS(.rate_per_s = SLOWLY));
    join(&party, 2, plain);
    handle(&party, EACH);
    assert_int_equal(party.came[0], 0);
    assert_true(party.came[2] > EACH / 2);
    assert_ok(smq_topic_resume(party.client, party.topics[0], &err), &err);
    while (party.came[0] < EACH / 4) {
        assert_true(wait_until(some_came, &party, TIMEOUT_MS));
    }
    answer_all(&party);
    party_end(&party);
}

static void max_in_flight_of_a_consumer_holds_as_well(void **state)
{
    struct party party = party_begin(LIMIT);

    join(&party, 0, SMQ_CONSUMER_OPTIONS(.max_in_flight = 2));
    join(&party, 1, SMQ_CONSUMER_OPTIONS(.max_in_flight = 1));
    join(&party, 2, SMQ_CONSUMER_OPTIONS(.max_in_flight = LIMIT));
    assert_true(wait_until(holds_the_limit, &party, TIMEOUT_MS));
    assert_true(party.came[0] <= 2 && party.came[1] <= 1);
    handle(&party, EACH);
    assert_true(party.came[0] > SLACK && party.came[1] > SLACK);
    party_end(&party);
}

/* --- the limit --- */

static void a_limit_that_goes_8_0_3_holds_for_all(void **state)
{
    struct party party = party_begin(LIMIT);

    for (int i = 0; i < TOPICS; i++) {
        join(&party, i, plain);
    }
    assert_true(wait_until(holds_the_limit, &party, TIMEOUT_MS));
    set_most(&party, 0);
    answer_all(&party);
    for (int i = 0; i < TOPICS; i++) {
        assert_int_equal(smq_consumer_flush(party.consumers[i], TIMEOUT_MS, NULL), SMQ_OK);
        assert_int_equal(messages_stats(party.client, party.topics[i]).claimed, 0);
    }
    assert_int_equal(in_flight(&party), 0);
    set_most(&party, 3);
    for (int i = 0; i < SLACK; i++) {
        while (party.holds < 3) {
            hold(&party);
            assert_true(in_flight(&party) <= 3);
        }
        answer_one(&party);
    }
    answer_all(&party);
    set_most(&party, LIMIT);
    assert_true(wait_until(holds_the_limit, &party, TIMEOUT_MS));
    answer_all(&party);
    party_end(&party);
}

static void a_limit_is_refused_that_no_consumer_of_the_client_can_have(void **state)
{
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_limit *limit = limit_of(other, 1);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.topic = topic, .limit = limit);
    smq_consumer *consumer;
    smq_limit *none;
    smq_error err;

    assert_int_equal(smq_consumer_new(&consumer, client, &options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "the limit belongs to another client"));
    assert_int_equal(smq_limit_new(&none, client, -1, &err), SMQ_INVALID);
    assert_string_equal(err.text, "a limit of deliveries must be 0 or more, not -1");
    assert_int_equal(smq_limit_set(limit, -1, &err), SMQ_INVALID);
    smq_limit_free(limit);
    smq_limit_free(NULL);
    smq_client_free(other);
    smq_client_free(client);
}

/* --- handlers --- */

static atomic_int running, most_running, handled;

static smq_verdict count_running(smq_delivery *delivery, void *user)
{
    int now = atomic_fetch_add(&running, 1) + 1, most = atomic_load(&most_running);

    (void) delivery, (void) user;
    while (now > most && !atomic_compare_exchange_weak(&most_running, &most, now)) {
    }
    atomic_fetch_sub(&running, 1);
    atomic_fetch_add(&handled, 1);
    return SMQ_DONE;
}

static bool all_handled(void *arg)
{
    (void) arg;
    return atomic_load(&handled) == TOPICS * EACH;
}

/* The handle of the limit may be freed before them. */
static void handlers_of_all_topics_keep_the_limit(void **state)
{
    struct party party = party_begin(2);
    smq_error err;

    for (int i = 0; i < TOPICS; i++) {
        smq_consumer_options options =
            SMQ_CONSUMER_OPTIONS(.topic = party.topics[i], .handler = count_running,
                                 .threads = THREADS);

        options.limit = party.limit;
        assert_ok(smq_consumer_new(&party.consumers[i], party.client, &options, &err), &err);
        assert_ok(smq_consumer_start(party.consumers[i], &err), &err);
    }
    smq_limit_free(party.limit);
    party.limit = NULL;
    assert_true(wait_until(all_handled, NULL, TIMEOUT_MS));
    assert_true(atomic_load(&most_running) <= 2);
    party_end(&party);
}

TEST_GROUP(shared_limit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_topics_take_turns),
        cmocka_unit_test(a_topic_is_added_and_taken_away_while_messages_flow),
        cmocka_unit_test(others_pass_one_that_is_paused_or_rated),
        cmocka_unit_test(max_in_flight_of_a_consumer_holds_as_well),
        cmocka_unit_test(a_limit_that_goes_8_0_3_holds_for_all),
        cmocka_unit_test(a_limit_is_refused_that_no_consumer_of_the_client_can_have),
        cmocka_unit_test(handlers_of_all_topics_keep_the_limit),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
