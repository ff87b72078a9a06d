/* test_leftovers.c - the keys of Redis that are left when a topic or a group is deleted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum { SLOTS = 8, HOUR_MS = 3600000 };

/* All keys of all nodes, but for those that go by themselves within an hour; how many those are. */
static int64_t keys_left(int64_t *ending)
{
    int64_t left = 0;

    *ending = 0;
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        const struct server *node = servers_node(cluster_servers(), i);
        redisReply *keys = keys_command_at(node, "KEYS *");

        for (size_t k = 0; k < keys->elements; k++) {
            redisReply *ttl = keys_command_at(node, "PTTL %s", keys->element[k]->str);
            bool ends = ttl->integer >= 0 && ttl->integer <= HOUR_MS;

            if (!ends) {
                print_message("left: %s\n", keys->element[k]->str);
            }
            left += ends ? 0 : 1;
            *ending += ends ? 1 : 0;
            freeReplyObject(ttl);
        }
        freeReplyObject(keys);
    }
    return left;
}

/* One small key for each slot and one for the topic, which end. */
static void assert_tombstones(int64_t slots, int64_t topics)
{
    int64_t ending;

    assert_int_equal(keys_left(&ending), 0);
    assert_int_equal(ending, slots + topics);
}

static void create(const char *groups, smq_layout layout, bool shared)
{
    cluster_create_topic(client, &SMQ_TOPIC_OPTIONS(.name = "t", .type = SMQ_TYPE_FIXED_TIME,
                                                    .layout = layout, .slots = SLOTS,
                                                    .shared = shared, .groups = groups));
}

static void send_and_handle(const char *topic, const char *consumed)
{
    struct handler_log *log = handler_log_new(NULL);
    smq_worker *worker;

    messages_send_numbers(client, topic, 0, 40);
    worker = handler_log_worker(client, consumed, log);
    handler_log_await(log, 20);
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

static void delete_topic(const char *name)
{
    smq_error err;

    assert_ok(smq_topic_delete(client, name, true, &err), &err);
}

static void a_deleted_topic_leaves_what_ends(void **state)
{
    static const struct {
        smq_layout layout;
        bool shared;
    } cases[] = {{SMQ_LAYOUT_KEYED, false}, {SMQ_LAYOUT_INLINE, false}, {SMQ_LAYOUT_KEYED, true}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        create(NULL, cases[i].layout, cases[i].shared);
        send_and_handle("t", "t");
        delete_topic("t");
        assert_tombstones(SLOTS, 1);
    }
}

static void so_does_a_group_that_is_dropped(void **state)
{
    smq_error err;
    int64_t before, after, ending;

    (void) state;
    create("a,b", SMQ_LAYOUT_KEYED, false);
    before = keys_left(&ending);
    for (int i = 0; i < 3; i++) {
        assert_ok(smq_topic_alter(client, "t", "groups", "a,b,c", &err), &err);
        send_and_handle("t", "t/c");
        delete_topic("t/c");
    }
    after = keys_left(&ending);
    assert_int_equal(after, before);
    assert_int_equal(ending, SLOTS + 1);
    delete_topic("t");
    assert_tombstones(INT64_C(3) * SLOTS, 3 + 1);
}

/* Its generation goes on, so calls of the deleted one that come late change nothing. */
static void a_topic_that_is_created_anew_goes_on_from_the_tombstone(void **state)
{
    char nonce[512], other[512];
    int64_t ending;

    (void) state;
    create(NULL, SMQ_LAYOUT_KEYED, false);
    keys_text(nonce, "topic{t}", "HGET topic{t} nonce");
    delete_topic("t");
    create(NULL, SMQ_LAYOUT_KEYED, false);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} generation"), 2);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} deletes"), 1);
    assert_int_equal(keys_number("t_1", "HGET slot{t_1} sealed"), 1);
    assert_string_not_equal(keys_text(other, "topic{t}", "HGET topic{t} nonce"), nonce);
    send_and_handle("t", "t");
    delete_topic("t");
    assert_tombstones(SLOTS, 1);
    assert_string_equal(keys_text(other, "topic{t}", "GET tombstone{t}"), "2 2");
    assert_string_equal(keys_text(other, "t_1", "GET tombstone{t_1}"), "2 2");
    keys_flush();
    create(NULL, SMQ_LAYOUT_KEYED, false);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} generation"), 1);
    assert_true(keys_left(&ending) > 0);
}

/* Its node returned empty; the slots remember. */
static void so_does_one_whose_own_tombstone_is_lost(void **state)
{
    (void) state;
    create(NULL, SMQ_LAYOUT_KEYED, false);
    delete_topic("t");
    create(NULL, SMQ_LAYOUT_KEYED, false);
    delete_topic("t");
    freeReplyObject(keys_command("topic{t}", "DEL tombstone{t}"));
    create(NULL, SMQ_LAYOUT_KEYED, false);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} generation"), 3);
    send_and_handle("t", "t");
}

/* A process hung before it opened this slot, and the topic was deleted since. */
static void a_late_call_makes_no_slot_again(void **state)
{
    smq_error err;
    int64_t ending;

    (void) state;
    create(NULL, SMQ_LAYOUT_KEYED, false);
    delete_topic("t");
    assert_int_equal(smq_topic_repair(client, "t", NULL, &err), SMQ_NO_TOPIC);
    assert_int_equal(smq_topic_delete(client, "t", true, &err), SMQ_NO_TOPIC);
    assert_int_equal(smq_topic_alter(client, "t", "max_retries", "3", &err), SMQ_NO_TOPIC);
    assert_int_equal(keys_left(&ending), 0);
}

/* --- what earlier versions have left --- */

static bool count_deleted(const smq_topic_options *topic, void *user)
{
    *(int *) user += topic->deleted ? topic->slots : 100;
    return true;
}

static void what_an_earlier_version_has_left_is_counted_and_removed(void **state)
{
    static const char *const kept[] = {
        "ZADD old_%d inf %s",
        "ZADD prepare{old_%d} inf %s",
        "ZADD dead{old_%d} inf %s",
        "HSET why{old_%d} %s 1",
        "HSET slot{old_%d} %s 1 token 000000050000000000000123 claims 7 generation 3 sealed 2",
        "HSET body{old_%d} %s 1",
        "ZADD done{old_%d} inf %s",
    };
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;
    int slots = 0;

    (void) state;
    for (int slot = 0; slot < SLOTS; slot++) {
        char store[16];

        (void) snprintf(store, sizeof(store), "old_%d", slot);
        for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
            freeReplyObject(keys_command(store, kept[i], slot, ""));
        }
    }
    freeReplyObject(keys_command("topic{old}", "HSET topic{old} %s 1 generation 3 deletes 2", ""));
    freeReplyObject(keys_command("slot{others_1}", "SET slot{others_1} precious"));
    assert_ok(smq_topic_each(client, "*", count_deleted, &slots, &err), &err);
    assert_int_equal(slots, SLOTS);
    assert_ok(smq_topic_repair(client, "*", &report, &err), &err);
    assert_non_null(strstr(report.text, "old: it was deleted, and its last keys are removed"));
    freeReplyObject(keys_command("slot{others_1}", "DEL slot{others_1}"));
    assert_tombstones(SLOTS, 1);
}

TEST_GROUP(leftovers)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(a_deleted_topic_leaves_what_ends),
        FRESH_CLIENT_TEST(so_does_a_group_that_is_dropped),
        FRESH_CLIENT_TEST(a_topic_that_is_created_anew_goes_on_from_the_tombstone),
        FRESH_CLIENT_TEST(so_does_one_whose_own_tombstone_is_lost),
        FRESH_CLIENT_TEST(a_late_call_makes_no_slot_again),
        FRESH_CLIENT_TEST(what_an_earlier_version_has_left_is_counted_and_removed),
    };

    return cmocka_run_group_tests_name("leftovers", tests, cluster_start_masters, cluster_end);
}
