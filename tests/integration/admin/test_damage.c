/* test_damage.c - topics of which Redis has lost a part: keys of slots, the topic's own key, or the
 * last writes to either; and calls that come late. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum { REPAIRS = 300 };

static const smq_topic_options four_slots = {
    .struct_size = sizeof(four_slots), .name = "t", .type = SMQ_TYPE_FIXED_TIME, .slots = 4};

static void send_many(int count)
{
    for (int i = 0; i < count; i++) {
        char body[16];
        smq_message message;

        snprintf(body, sizeof(body), "m-%d", i);
        message = messages_text(body);
        (void) messages_send_by(producer, "t", &message);
    }
}

/* How many messages the slots hold, as Redis says. */
static int64_t messages_held(int slots)
{
    int64_t held = 0;

    for (int i = 0; i < slots; i++) {
        char store[16];

        snprintf(store, sizeof(store), "t_%d", i);
        held += keys_number(store, "ZCARD %s", store) - 1;
    }
    return held;
}

static smq_topic_report repaired(void)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    assert_ok(smq_topic_repair(client, "t", &report, &err), &err);
    return report;
}

static smq_topic_report created(const smq_topic_options *options)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    assert_ok(smq_topic_create(client, options, &report, &err), &err);
    return report;
}

/* --- slots without keys --- */

static void a_slot_without_keys_is_opened_again(void **state)
{
    smq_topic_report report;
    int64_t kept;

    cluster_create_topic(client, &four_slots);
    send_many(40);
    report = repaired();
    assert_false(report.repaired);
    assert_string_equal(report.text, "");
    keys_lose_slot("t", 1);
    keys_lose_slot("t", 3);
    kept = keys_number("t_0", "ZCARD t_0") + keys_number("t_2", "ZCARD t_2") - 2;
    report = repaired();
    assert_true(report.repaired);
    assert_false(report.restored);
    assert_int_equal(report.slots_reopened, 2);
    assert_non_null(strstr(report.text, "slots 1, 3 had lost their keys"));
    assert_int_equal(messages_held(4), kept);
    send_many(40);
    assert_int_equal(messages_held(4), 40);
    assert_false(repaired().repaired);
}

static void a_creation_opens_it_again_too(void **state)
{
    smq_topic_report report;

    report = created(&four_slots);
    assert_true(report.created);
    assert_false(report.repaired);
    keys_lose_slot("t", 2);
    report = created(&four_slots);
    assert_false(report.created);
    assert_true(report.repaired);
    assert_int_equal(report.slots_reopened, 1);
    report = created(&four_slots);
    assert_false(report.repaired);
    send_many(20);
}

static void a_paused_topic_is_paused_in_the_slot_that_is_opened_again(void **state)
{
    smq_error err;

    cluster_create_topic(client, &four_slots);
    assert_ok(smq_topic_pause(client, "t", &err), &err);
    keys_lose_slot("t", 0);
    assert_int_equal(repaired().slots_reopened, 1);
    assert_int_equal(keys_number("t_0", "HGET slot{t_0} paused"), 1);
    assert_ok(smq_topic_resume(client, "t", &err), &err);
    assert_int_equal(keys_number("t_0", "HEXISTS slot{t_0} paused"), 0);
}

/* --- a topic that is whole --- */

struct alterer {
    pthread_t thread;
    atomic_bool stopped;
    smq_client *client;
    const char *paused; /* the topic, or a group of it */
};

static void *alter_again_and_again(void *user)
{
    static const char *const values[] = {"3", "4"};
    struct alterer *alterer = user;

    for (int i = 0; !atomic_load(&alterer->stopped); i++) {
        smq_error err = SMQ_ERROR_INIT;
        smq_status status = cluster_alter(alterer->client, "t", "max_retries", values[i % 2], &err);

        if (status == SMQ_OK && i % 8 == 0) {
            status = smq_topic_pause(alterer->client, alterer->paused, &err);
            status = status == SMQ_OK ? smq_topic_resume(alterer->client, alterer->paused, &err)
                                      : status;
        }
        if (status != SMQ_OK) {
            print_error("%s\n", err.text);
            return alterer;
        }
    }
    return NULL;
}

/* A repair that is overtaken again and again says that it must be tried again. */
static smq_topic_report repaired_at_last(void)
{
    smq_topic_report report;
    smq_status status;
    smq_error err;

    do {
        report = (smq_topic_report) SMQ_TOPIC_REPORT_INIT;
        status = smq_topic_repair(client, "t", &report, &err);
    } while (status == SMQ_TOPIC_DIFFERS && strstr(err.text, "try again") != NULL);
    assert_ok(status, &err);
    return report;
}

/* Between two reads of a repair the topic changes. */
static void repaired_beside_alterations(const char *groups)
{
    struct alterer alterer = {.client = cluster_client(), .paused = groups != NULL ? "t/a" : "t"};
    smq_topic_options options = four_slots;
    void *failed;
    int found = 0;

    options.groups = groups;
    cluster_create_topic(client, &options);
    assert_int_equal(pthread_create(&alterer.thread, NULL, alter_again_and_again, &alterer), 0);
    for (int i = 0; i < REPAIRS; i++) {
        smq_topic_report report = repaired_at_last();

        found += report.repaired ? 1 : 0;
    }
    atomic_store(&alterer.stopped, true);
    assert_int_equal(pthread_join(alterer.thread, &failed), 0);
    assert_null(failed);
    smq_client_free(alterer.client);
    assert_int_equal(found, 0);
}

static void a_repair_beside_alterations_finds_nothing(void **state)
{
    repaired_beside_alterations(NULL);
}

static void nor_does_one_of_a_topic_with_groups(void **state)
{
    repaired_beside_alterations("a,b");
}

/* --- topic{T} --- */

static void a_lost_definition_comes_back_from_the_slots(void **state)
{
    char nonce[512], text[512];
    smq_topic_report report;
    smq_error err;

    cluster_create_topic(client, &four_slots);
    keys_text(nonce, "topic{t}", "HGET topic{t} nonce");
    assert_ok(cluster_alter(client, "t", "max_retries", "5", &err), &err);
    assert_ok(smq_topic_pause(client, "t", &err), &err);
    send_many(30);
    freeReplyObject(keys_command("t_2", "HSET slot{t_2} token 000000070000000000000123"));
    keys_lose_topic("t");
    freeReplyObject(
        keys_command("slotmq{topics}", "DEL slotmq{topics}")); /* the list of topics, too */
    report = repaired();
    assert_true(report.restored);
    assert_int_equal(report.adopted, 30);
    assert_int_equal(report.slots_reopened, 0);
    assert_string_equal(keys_text(text, "topic{t}", "HGET topic{t} nonce"), nonce);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} version"), 2);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} generation"), 8);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} paused"), 1);
    assert_int_equal(keys_number("slotmq{topics}", "HEXISTS slotmq{topics} t"), 1);
    assert_ok(smq_topic_resume(client, "t", &err), &err);
    assert_int_equal(keys_number("t_3", "HEXISTS slot{t_3} paused"), 0);
    assert_int_equal(messages_held(4), 30);
}

static void a_creation_adopts_the_messages(void **state)
{
    smq_topic_options other = four_slots;
    smq_topic_report report;
    smq_error err;

    cluster_create_topic(client, &four_slots);
    send_many(12);
    keys_lose_topic("t");
    keys_lose_slot("t", 0); /* the first that is asked */
    other.slots = 8;
    assert_int_equal(smq_topic_create(client, &other, NULL, &err), SMQ_TOPIC_DIFFERS);
    assert_non_null(strstr(err.text, "slots is 4, not 8"));
    assert_int_equal(keys_number("topic{t}", "EXISTS topic{t}"), 0);
    other.slots = 4;
    other.max_retries = 3;
    report = created(&other);
    assert_true(report.restored);
    assert_true(report.differs);
    assert_int_equal(report.slots_reopened, 1);
    assert_int_equal(report.adopted, messages_held(4));
    assert_non_null(strstr(report.text, "max_retries is 16, not 3"));
    send_many(12);
    assert_int_equal(messages_held(4), 12);
}

/* Of those slots that are asked for a lost definition none knows it; others do. */
static void a_creation_meets_slots_that_were_not_asked(void **state)
{
    enum { LOST = 16, SLOTS = 32 };
    smq_topic_options options = four_slots;
    smq_topic_report report;
    int64_t kept;

    options.slots = SLOTS;
    cluster_create_topic(client, &options);
    send_many(100);
    keys_lose_topic("t");
    for (int i = 0; i < LOST; i++) {
        keys_lose_slot("t", i);
    }
    kept = messages_held(SLOTS) + LOST; /* a key that is not there counts as -1 */
    assert_true(kept > 0);
    report = created(&options);
    assert_false(report.created);
    assert_true(report.restored);
    assert_int_equal(report.slots_reopened, LOST);
    assert_int_equal(report.adopted, kept);
    send_many(100);
    assert_int_equal(messages_held(SLOTS), 100);
}

/* What a foreign key in the place of a slot says of the topic: nothing. */
static void a_key_of_others_is_no_topic(void **state)
{
    smq_error err;

    freeReplyObject(keys_command("t_3", "SET t_3 precious"));
    assert_int_equal(smq_topic_repair(client, "t", NULL, &err), SMQ_NO_TOPIC);
    assert_int_equal(smq_topic_delete(client, "t", true, &err), SMQ_NO_TOPIC);
}

static void a_deletion_says_no_more_than_it_did(void **state)
{
    smq_error err;

    cluster_create_topic(client, &four_slots);
    send_many(6);
    keys_lose_topic("t");
    for (int force = 0; force < 2; force++) {
        assert_int_equal(smq_topic_delete(client, "t", force == 1, &err), SMQ_DAMAGED);
        assert_non_null(strstr(err.text, "topic repair t"));
        assert_int_equal(messages_held(4), 6);
        assert_int_equal(keys_number("slotmq{topics}", "HEXISTS slotmq{topics} t"), 1);
    }
    (void) repaired();
    assert_ok(smq_topic_delete(client, "t", true, &err), &err);
    assert_int_equal(keys_number("t_0", "EXISTS t_0"), 0);
    assert_int_equal(smq_topic_repair(client, "t", NULL, &err), SMQ_NO_TOPIC);
    assert_true(created(&four_slots).created);
}

/* Nothing is left but a slot of a topic that an earlier version deleted: new owners must not be
 * fenced. */
static void a_new_topic_passes_what_its_slots_have_seen(void **state)
{
    static const char *const kept[] = {
        "ZADD t_2 inf %s",
        "ZADD prepare{t_2} inf %s",
        "ZADD dead{t_2} inf %s",
        "HSET why{t_2} %s 1",
        ("HSET slot{t_2} %s 1 token 000000050000000000000123 owner me base 7 claims 7 generation 1 "
         "sealed 1"),
    };
    smq_error err;

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        freeReplyObject(keys_command("t_2", kept[i], ""));
    }
    assert_true(created(&four_slots).created);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} generation"), 6);
    send_many(8);
    assert_ok(smq_topic_delete(client, "t", true, &err), &err);
}

/* --- what a failover lost --- */

static void an_alteration_that_topic_t_forgot_is_valid_again(void **state)
{
    char before[512];
    smq_message message = messages_text("after");
    smq_topic_report report;
    smq_error err;

    cluster_create_topic(client, &four_slots);
    keys_text(before, "topic{t}", "HGET topic{t} definition");
    assert_ok(cluster_alter(client, "t", "max_retries", "5", &err), &err);
    freeReplyObject(keys_command("topic{t}", "HSET topic{t} version 1 definition %s", before));
    report = repaired();
    assert_true(report.repaired);
    assert_false(report.restored);
    assert_false(report.lost_alteration);
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} version"), 2);
    assert_true(created(&SMQ_TOPIC_OPTIONS(.name = "t", .type = SMQ_TYPE_FIXED_TIME, .slots = 4,
                                           .max_retries = 16))
                    .differs);
    (void) messages_send_by(producer, "t", &message);
}

/* The stamp reached the slots by the calls of others, the text did not. */
static void an_alteration_of_which_only_the_number_is_left(void **state)
{
    smq_topic_report report;

    cluster_create_topic(client, &four_slots);
    for (int i = 0; i < 4; i++) {
        char store[16], nonce[512];

        snprintf(store, sizeof(store), "t_%d", i);
        keys_text(nonce, "topic{t}", "HGET topic{t} nonce");
        freeReplyObject(keys_command(store, "HSET slot{%s} def %s.7", store, nonce));
    }
    report = repaired();
    assert_true(report.lost_alteration);
    assert_non_null(strstr(report.text, "the last alteration is lost"));
    assert_int_equal(keys_number("topic{t}", "HGET topic{t} version"), 8);
    send_many(8);
}

static void a_forgotten_deletion_is_no_obstacle(void **state)
{
    smq_error err;

    cluster_create_topic(client, &four_slots);
    send_many(4);
    freeReplyObject(keys_command("t_1", "HDEL slot{t_1} def"));
    freeReplyObject(keys_command("t_1", "HSET slot{t_1} sealed 1"));
    assert_int_equal(repaired().slots_reopened, 1);
    send_many(8);
    assert_int_equal(smq_topic_delete(client, "t", false, &err), SMQ_NOT_EMPTY);
    send_many(8);
    assert_ok(smq_topic_delete(client, "t", true, &err), &err);
}

/* --- what cannot be repaired --- */

static void slots_that_disagree_are_listed(void **state)
{
    char text[512];
    smq_error err;

    cluster_create_topic(client, &four_slots);
    send_many(40);
    freeReplyObject(keys_command("t_1", "HSET slot{t_1} def 00000000deadbeef.1"));
    freeReplyObject(keys_command("t_3", "HSET slot{t_3} def 00000000deadbeef.1"));
    assert_int_equal(smq_topic_repair(client, "t", NULL, &err), SMQ_DAMAGED);
    assert_non_null(strstr(err.text, "slots 1, 3 belong to another creation"));
    assert_int_equal(smq_topic_create(client, &four_slots, NULL, &err), SMQ_DAMAGED);
    assert_string_equal(keys_text(text, "t_1", "HGET slot{t_1} def"), "00000000deadbeef.1");
    keys_text(text, "t_0", "HGET slot{t_0} def");
    freeReplyObject(keys_command("t_1", "HSET slot{t_1} def %s", text));
    freeReplyObject(keys_command("t_3", "HSET slot{t_3} def %s", text));
    keys_text(text, "t_0", "HGET slot{t_0} definition");
    strstr(text, "slots=4")[6] = '8';
    freeReplyObject(keys_command("t_2", "HSET slot{t_2} definition %s", text));
    assert_int_equal(smq_topic_repair(client, "t", NULL, &err), SMQ_DAMAGED);
    assert_non_null(strstr(err.text, "slots 2 have a definition with other options"));
    assert_int_equal(smq_topic_repair(client, "never", NULL, &err), SMQ_NO_TOPIC);
    assert_int_equal(smq_topic_repair(client, "a{b}", NULL, &err), SMQ_INVALID);
}

static void a_failed_creation_leaves_no_keys(void **state)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.name = "t", .type = SMQ_TYPE_FIFO, .slots = 64);
    smq_error err;

    freeReplyObject(keys_command("t_40", "SET t_40 precious"));
    assert_int_equal(smq_topic_create(client, &options, NULL, &err), SMQ_INVALID);
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        const struct server *node = servers_node(cluster_servers(), i);
        redisReply *reply = keys_command_at(node, "DBSIZE");

        assert_int_equal(reply->integer,
                         servers_node_of(cluster_servers(), "t_40") == node ? 1 : 0);
        freeReplyObject(reply);
    }
    freeReplyObject(keys_command("t_40", "DEL t_40"));
    cluster_create_topic(client, &options);
}

/* --- visits --- */

static bool on_topic(const smq_topic_info *topic, void *user)
{
    char *seen = user;

    snprintf(seen + strlen(seen), 64 - strlen(seen), "%s%s ", topic->name,
             topic->damaged ? " damaged" : "");
    return true;
}

static void a_topic_without_its_definition_is_visited(void **state)
{
    smq_topic_options other =
        SMQ_TOPIC_OPTIONS(.name = "other", .type = SMQ_TYPE_FIXED_TIME, .slots = 1);
    char seen[64] = "";
    smq_error err;

    cluster_create_topic(client, &four_slots);
    cluster_create_topic(client, &other);
    keys_lose_topic("t");
    assert_ok(cluster_visit(client, NULL, on_topic, seen, &err), &err);
    assert_string_equal(seen, "other t damaged ");
    seen[0] = '\0';
    assert_ok(cluster_visit(client, "t", on_topic, seen, &err), &err);
    assert_string_equal(seen, "t damaged ");
}

/* --- looks --- */

static bool on_message(const smq_message_info *message, void *user)
{
    int *seen = user;

    (void) message;
    (*seen)++;
    return true;
}

static bool on_slot(const smq_slot_info *slot, void *user)
{
    char *seen = user;

    snprintf(seen + strlen(seen), 64 - strlen(seen), "%d%s ", (int) slot->slot,
             slot->status == SMQ_DAMAGED ? " damaged"
             : slot->status != SMQ_OK    ? " silent"
                                         : "");
    return true;
}

static void looks_name_a_damaged_slot_and_see_the_others(void **state)
{
    smq_stats stats = SMQ_STATS_INIT;
    char slots[64] = "", *metrics = NULL;
    smq_error err;
    int seen = 0;

    cluster_create_topic(client, &four_slots);
    send_many(40);
    keys_lose_slot("t", 1);
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.slots_damaged, 1);
    assert_int_equal(stats.slots_silent, 0);
    assert_int_equal(stats.waiting, keys_number("t_0", "ZCARD t_0") +
                                        keys_number("t_2", "ZCARD t_2") +
                                        keys_number("t_3", "ZCARD t_3") - 3);
    assert_ok(smq_topic_slots(client, "t", on_slot, slots, &err), &err);
    assert_string_equal(slots, "0 1 damaged 2 3 ");
    assert_int_equal(smq_message_each(client, "t", NULL, on_message, &seen, &err), SMQ_DAMAGED);
    assert_non_null(strstr(err.text, "slot 1 of topic t"));
    assert_int_equal(seen, stats.waiting);
    assert_ok(smq_metrics_text(client, "*", &metrics, &err), &err);
    assert_non_null(strstr(metrics, "slotmq_topic_slots_damaged{topic=\"t\"} 1\n"));
    smq_free(metrics);
    keys_lose_topic("t");
    assert_int_equal(smq_topic_stats(client, "t", &stats, &err), SMQ_DAMAGED);
    assert_ok(smq_metrics_text(client, "*", &metrics, &err), &err);
    assert_non_null(strstr(metrics, "slotmq_topic_slots_damaged{topic=\"t\"} 4\n"));
    smq_free(metrics);
}

static void looks_see_the_others_of_a_slot_with_a_key_of_others(void **state)
{
    smq_stats stats = SMQ_STATS_INIT;
    char slots[64] = "";
    smq_error err;

    cluster_create_topic(client, &four_slots);
    send_many(40);
    freeReplyObject(keys_command("t_2", "DEL prepare{t_2}"));
    freeReplyObject(keys_command("t_2", "SET prepare{t_2} precious"));
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.slots_damaged, 1);
    assert_int_equal(stats.waiting, messages_held(4) - keys_number("t_2", "ZCARD t_2") + 1);
    assert_ok(smq_topic_slots(client, "t", on_slot, slots, &err), &err);
    assert_string_equal(slots, "0 1 2 damaged 3 ");
    assert_int_equal(smq_topic_repair(client, "t", NULL, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "prepare{t_2}"));
}

static void a_purge_names_a_damaged_slot_and_empties_the_others(void **state)
{
    uint64_t purged = 0;
    int64_t kept;
    smq_error err;

    cluster_create_topic(client, &four_slots);
    send_many(40);
    keys_lose_slot("t", 1);
    kept = messages_held(4) + 1; /* a key that is not there counts as -1 */
    smq_filter waiting = SMQ_FILTER(.states = SMQ_STATE_WAITING);
    assert_int_equal(smq_topic_purge(client, "t", &waiting, &purged, NULL, NULL, &err),
                     SMQ_DAMAGED);
    assert_non_null(strstr(err.text, "slot 1 of topic t"));
    assert_int_equal(purged, kept);
    assert_int_equal(messages_held(4) + 1, 0);
}

/* One key of the slot is on another node already. */
static void looks_see_the_others_of_a_slot_that_moves(void **state)
{
    const struct server *from, *to = NULL;
    smq_stats stats = SMQ_STATS_INIT;
    char from_id[512], to_id[512], slots[64] = "";
    int64_t hash;
    smq_error err;
    int seen = 0;

    cluster_create_topic(client, &four_slots);
    send_many(40);
    from = servers_node_of(cluster_servers(), "t_1");
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        to = servers_node(cluster_servers(), i) != from ? servers_node(cluster_servers(), i) : to;
    }
    hash = keys_number("t_1", "CLUSTER KEYSLOT t_1");
    freeReplyObject(keys_command_at(from, "PING"));
    redisReply *reply = keys_command_at(from, "CLUSTER MYID");
    snprintf(from_id, sizeof(from_id), "%s", reply->str);
    freeReplyObject(reply);
    reply = keys_command_at(to, "CLUSTER MYID");
    snprintf(to_id, sizeof(to_id), "%s", reply->str);
    freeReplyObject(reply);
    freeReplyObject(keys_command_at(to, "CLUSTER SETSLOT %d IMPORTING %s", (int) hash, from_id));
    freeReplyObject(keys_command_at(from, "CLUSTER SETSLOT %d MIGRATING %s", (int) hash, to_id));
    freeReplyObject(
        keys_command_at(from, "MIGRATE 127.0.0.1 %d dead{t_1} 0 5000", server_port(to)));
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.slots_silent, 1);
    assert_int_equal(stats.slots_damaged, 0);
    assert_true(stats.waiting > 0 && stats.waiting < 40);
    assert_ok(smq_topic_slots(client, "t", on_slot, slots, &err), &err);
    assert_string_equal(slots, "0 1 silent 2 3 ");
    assert_int_not_equal(smq_message_each(client, "t", NULL, on_message, &seen, &err), SMQ_OK);
    assert_int_equal(seen, stats.waiting);
    for (int i = 0; i < 4; i++) {
        static const char *const rest[] = {"t_1", "prepare{t_1}", "why{t_1}", "slot{t_1}"};

        freeReplyObject(
            keys_command_at(from, "MIGRATE 127.0.0.1 %d %s 0 5000", server_port(to), rest[i]));
    }
    freeReplyObject(keys_command_at(to, "CLUSTER SETSLOT %d NODE %s", (int) hash, to_id));
    freeReplyObject(keys_command_at(from, "CLUSTER SETSLOT %d NODE %s", (int) hash, to_id));
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.waiting, 40);
    assert_int_equal(stats.slots_silent, 0);
}

TEST_GROUP(damage)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(a_slot_without_keys_is_opened_again),
        FRESH_CLIENT_TEST(a_creation_opens_it_again_too),
        FRESH_CLIENT_TEST(a_repair_beside_alterations_finds_nothing),
        FRESH_CLIENT_TEST(nor_does_one_of_a_topic_with_groups),
        FRESH_CLIENT_TEST(a_paused_topic_is_paused_in_the_slot_that_is_opened_again),
        FRESH_CLIENT_TEST(a_lost_definition_comes_back_from_the_slots),
        FRESH_CLIENT_TEST(a_creation_adopts_the_messages),
        FRESH_CLIENT_TEST(a_creation_meets_slots_that_were_not_asked),
        FRESH_CLIENT_TEST(a_key_of_others_is_no_topic),
        FRESH_CLIENT_TEST(a_deletion_says_no_more_than_it_did),
        FRESH_CLIENT_TEST(a_new_topic_passes_what_its_slots_have_seen),
        FRESH_CLIENT_TEST(an_alteration_that_topic_t_forgot_is_valid_again),
        FRESH_CLIENT_TEST(an_alteration_of_which_only_the_number_is_left),
        FRESH_CLIENT_TEST(a_forgotten_deletion_is_no_obstacle),
        FRESH_CLIENT_TEST(slots_that_disagree_are_listed),
        FRESH_CLIENT_TEST(a_failed_creation_leaves_no_keys),
        FRESH_CLIENT_TEST(a_topic_without_its_definition_is_visited),
        FRESH_CLIENT_TEST(looks_name_a_damaged_slot_and_see_the_others),
        FRESH_CLIENT_TEST(looks_see_the_others_of_a_slot_with_a_key_of_others),
        FRESH_CLIENT_TEST(a_purge_names_a_damaged_slot_and_empties_the_others),
        FRESH_CLIENT_TEST(looks_see_the_others_of_a_slot_that_moves),
    };

    return cmocka_run_group_tests_name("damage", tests, cluster_start_masters, cluster_end);
}
