/* test_groups.c - the groups of a topic on a Redis Cluster: each with a fleet of processes of its
 * own, and one that is added while messages are sent. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 16, MESSAGES = 1500, FLEET = 3, SENDERS = 3, NUMBERS_MAX = 200000 };

static void create(smq_client *client, const char *name, const char *groups)
{
    smq_topic_options options = cluster_topic_options(name, SMQ_TYPE_FIXED_TIME, SLOTS);

    options.layout = SMQ_LAYOUT_KEYED;
    options.groups = groups;
    options.backoff = "none";
    options.max_retries = 1;
    cluster_create_topic(client, &options);
}

/* --- fleets --- */

static void start_fleet(struct members *members, const char *group, bool failing)
{
    members_init(members, group);
    members->sent_to = "orders";
    members->zookeeper = true;
    members->failing = failing;
    members->work_us = 200;
    for (int i = 0; i < FLEET; i++) {
        (void) members_start(members);
    }
}

static bool has_begun(void *arg)
{
    return members_begun(arg, NULL, 0) > MESSAGES / 10;
}

/* One group fails everything, and loses a process.  The other one is paused until then; afterwards
 * it handles all, and loses a process too. */
static void no_group_affects_the_other(void **state)
{
    smq_client *client = cluster_client();
    struct members billing, search, beside;
    struct verdict verdict;
    smq_error err = SMQ_ERROR_INIT;

    create(client, "orders", "billing,search");
    create(client, "orders.billing", NULL); /* in ZooKeeper it is beside the group */
    members_init(&beside, "orders.billing");
    beside.zookeeper = true;
    (void) members_start(&beside);
    members_send(&beside, client, "b", 5, 0, 20);
    messages_await_counts(client, "orders.billing", (struct message_counts){0, 0, 0, 0, 20});
    assert_ok(smq_topic_pause(client, "orders/billing", &err), &err);
    start_fleet(&billing, "orders/billing", false);
    start_fleet(&search, "orders/search", true);
    members_send(&billing, client, "k", 40, 0, MESSAGES);

    assert_true(wait_until(has_begun, &search, TIMEOUT_MS));
    member_kill(&search.member[0]);
    messages_await_counts(client, "orders/search", (struct message_counts){0, 0, 0, MESSAGES, -1});
    assert_int_equal(members_begun(&billing, NULL, 0), 0);
    messages_await_counts(client, "orders/billing", (struct message_counts){MESSAGES, 0, 0, 0, 0});

    assert_ok(smq_topic_resume(client, "orders/billing", &err), &err);
    assert_true(wait_until(has_begun, &billing, TIMEOUT_MS));
    member_kill(&billing.member[1]);
    messages_await_counts(client, "orders/billing", (struct message_counts){0, 0, 0, 0, MESSAGES});
    messages_await_counts(client, "orders/search", (struct message_counts){0, 0, 0, MESSAGES, 0});
    assert_true(members_begun(&search, NULL, 0) >= 2 * MESSAGES);
    verdict = members_judge(&billing);
    assert_int_equal(verdict.sent, MESSAGES);
    assert_int_equal(verdict.handled, MESSAGES);
    assert_int_equal(verdict.lost, 0);
    assert_int_equal(verdict.overlaps, 0);
    assert_int_equal(members_begun(&beside, NULL, 0), 20);
    members_fini(&beside);
    members_fini(&billing);
    members_fini(&search);
    assert_ok(smq_topic_delete(client, "orders", true, &err), &err);
    smq_client_free(client);
}

/* --- a group is added --- */

/* A thread that sends numbers, one after the other, by a client of its own. */
struct sender {
    pthread_t thread;
    const char *topic;
    int index;
    atomic_bool stop;
    atomic_int begun, ended; /* sends */
    bool seen[NUMBERS_MAX];
};

static void *run_sender(void *arg)
{
    struct sender *sender = arg;
    smq_client *client = cluster_client();
    smq_producer *producer = messages_producer(client, NULL);

    for (int i = 0; i < NUMBERS_MAX && !atomic_load(&sender->stop); i++) {
        char body[32];
        smq_message message;
        smq_error err = SMQ_ERROR_INIT;

        snprintf(body, sizeof(body), "%d %d", sender->index, i);
        message = SMQ_MESSAGE(.body = smq_text(body));
        atomic_store(&sender->begun, i + 1);
        if (smq_send(producer, sender->topic, &message, NULL, &err) != SMQ_OK) {
            fprintf(stderr, "a send failed: %s\n", err.text);
            abort();
        }
        atomic_store(&sender->ended, i + 1);
    }
    smq_producer_free(producer);
    smq_client_free(client);
    return NULL;
}

static void start_senders(struct sender **senders, const char *topic)
{
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = calloc(1, sizeof(*senders[i]));
        assert_non_null(senders[i]);
        senders[i]->topic = topic;
        senders[i]->index = i;
        assert_int_equal(pthread_create(&senders[i]->thread, NULL, run_sender, senders[i]), 0);
    }
}

static void stop_senders(struct sender **senders)
{
    for (int i = 0; i < SENDERS; i++) {
        atomic_store(&senders[i]->stop, true);
        pthread_join(senders[i]->thread, NULL);
    }
}

/* The group that was read last must have all that was sent. */
static void end_senders(struct sender **senders)
{
    for (int i = 0; i < SENDERS; i++) {
        for (int n = 0; n < atomic_load(&senders[i]->ended); n++) {
            assert_true(senders[i]->seen[n]);
        }
        free(senders[i]);
    }
}

static bool take_number(const smq_message_info *message, void *user)
{
    struct sender *const *senders = user;
    char text[32];
    int index = 0;
    int number = 0;

    snprintf(text, sizeof(text), "%.*s", (int) message->body.len,
             (const char *) message->body.data);
    assert_int_equal(sscanf(text, "%d %d", &index, &number), 2);
    assert_false(senders[index]->seen[number]);
    senders[index]->seen[number] = true;
    return true;
}

static void read_numbers(smq_client *client, const char *group, struct sender **senders)
{
    smq_error err = SMQ_ERROR_INIT;

    for (int i = 0; i < SENDERS; i++) {
        memset(senders[i]->seen, 0, sizeof(senders[i]->seen));
    }
    assert_ok(smq_message_each(client, group, NULL, take_number, senders, &err), &err);
}

struct progress {
    struct sender **senders;
    int at[SENDERS];
};

static bool has_sent_more(void *arg)
{
    const struct progress *progress = arg;

    for (int i = 0; i < SENDERS; i++) {
        if (atomic_load(&progress->senders[i]->ended) < progress->at[i] + 50) {
            return false;
        }
    }
    return true;
}

static void await_more(struct sender **senders)
{
    struct progress progress = {.senders = senders};

    for (int i = 0; i < SENDERS; i++) {
        progress.at[i] = atomic_load(&senders[i]->ended);
    }
    assert_true(wait_until(has_sent_more, &progress, TIMEOUT_MS));
}

/* What was sent before the alteration began is not in the new group; what was sent after its answer
 * is. */
static void assert_added(struct sender **senders, const int *before, const int *after)
{
    for (int i = 0; i < SENDERS; i++) {
        for (int n = 0; n < before[i]; n++) {
            assert_false(senders[i]->seen[n]);
        }
        for (int n = after[i]; n < atomic_load(&senders[i]->ended); n++) {
            assert_true(senders[i]->seen[n]);
        }
    }
}

static void a_group_is_added_under_load(void **state)
{
    smq_client *client = cluster_client();
    struct sender *senders[SENDERS];
    smq_error err = SMQ_ERROR_INIT;
    static const char *const steps[] = {"billing,search", "audit,billing,search"};
    static const char *const added[] = {"load/search", "load/audit"};
    int before[2][SENDERS], after[2][SENDERS];

    create(client, "load", "billing");
    start_senders(senders, "load");
    for (int step = 0; step < 2; step++) {
        await_more(senders);
        for (int i = 0; i < SENDERS; i++) {
            before[step][i] = atomic_load(&senders[i]->ended);
        }
        assert_ok(cluster_alter(client, "load", "groups", steps[step], &err), &err);
        for (int i = 0; i < SENDERS; i++) {
            after[step][i] = atomic_load(&senders[i]->begun);
        }
    }
    await_more(senders);
    stop_senders(senders);
    for (int step = 0; step < 2; step++) {
        read_numbers(client, added[step], senders);
        assert_added(senders, before[step], after[step]);
    }
    read_numbers(client, "load/billing", senders);
    end_senders(senders);
    smq_client_free(client);
}

/* Groups are dropped and added again while messages are sent: no send fails, and the group that
 * stays has all. */
static void groups_are_dropped_under_load(void **state)
{
    smq_client *client = cluster_client();
    struct sender *senders[SENDERS];
    smq_error err = SMQ_ERROR_INIT;

    create(client, "drops", "billing,search");
    start_senders(senders, "drops");
    for (int round = 0; round < 3; round++) {
        await_more(senders);
        assert_ok(smq_topic_delete(client, "drops/search", true, &err), &err);
        await_more(senders);
        assert_ok(cluster_alter(client, "drops", "groups", "billing,search", &err), &err);
    }
    await_more(senders);
    stop_senders(senders);
    read_numbers(client, "drops/billing", senders);
    end_senders(senders);
    smq_client_free(client);
}

TEST_GROUP(groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_group_affects_the_other),
        cmocka_unit_test(a_group_is_added_under_load),
        cmocka_unit_test(groups_are_dropped_under_load),
    };

    return cmocka_run_group_tests(tests, cluster_start_fleet, cluster_end);
}
