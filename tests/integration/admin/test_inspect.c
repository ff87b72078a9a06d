/* test_inspect.c - looking at topics and slots, and dead letters, on a real cluster.  Claims and
 * dead letters are written by hand, in the encoding of lua/README.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

#define REST 17592186044416.0 /* 2^44 */

static void put(const char *topic, int slot, const char *set, double score, const char *entry)
{
    char key[64];

    snprintf(key, sizeof(key), "%s{%s_%d}", set, topic, slot);
    freeReplyObject(keys_command(key, "ZADD %s %f %s", key, score, entry));
}

static void bury(const char *topic, int slot, double score, const char *entry, const char *reason)
{
    char key[64];

    put(topic, slot, "dead", score, entry);
    snprintf(key, sizeof(key), "why{%s_%d}", topic, slot);
    freeReplyObject(keys_command(key, "HSET %s %s %s", key, entry, reason));
}

/* --- stats --- */

static void counts_are_summed_over_the_slots(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 4);
    smq_message message = SMQ_MESSAGE_INIT;
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;
    char body[16];

    cluster_create_topic(client, &options);
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.waiting + stats.due + stats.claimed + stats.resting + stats.dead, 0);
    assert_int_equal(stats.oldest_due_age_ms, 0);
    assert_int_equal(stats.next_due_at_ms, 0);
    for (int i = 0; i < 30; i++) {
        snprintf(body, sizeof(body), "m-%d", i);
        message = messages_text(body);
        message.delay_ms = i < 10 ? 0 : 3600000;
        (void) messages_send_by(producer, "t", &message);
    }
    (void) messages_send_by(producer, "t", &message);
    put("t", 1, "prepare", 1700000000000.0, "1600000000000c1:claimed");
    put("t", 2, "prepare", 1700000000000.0, "1600000000000c1:claimed");
    put("t", 2, "prepare", REST + 1700000000000.0, "1600000000000r1:resting");
    bury("t", 3, 1700000000000.0, "1600000000000d:dead", "it broke");
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.waiting, 30);
    assert_int_equal(stats.due, 12);
    assert_int_equal(stats.claimed, 2);
    assert_int_equal(stats.stalled, 2); /* their leases ended long ago */
    assert_int_equal(stats.resting, 1);
    assert_int_equal(stats.dead, 1);
    assert_int_equal(stats.sent, 30);
    assert_int_equal(stats.merged, 1);
    assert_int_equal(stats.next_due_at_ms, 1700000000000);
    assert_true(stats.oldest_due_age_ms >= 0);
}

static bool has_a_lag(void *arg)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    assert_ok(smq_topic_stats(client, arg, &stats, &err), &err);
    return stats.due > 0 && stats.oldest_due_age_ms != 0;
}

/* The lag is known but of priorities that are inline; and it is never 0 because it is not known. */
static void the_lag_is_known_or_said_to_be_unknown(void **state)
{
    static const struct {
        smq_topic_type type;
        smq_layout layout;
        smq_ties ties;
        bool known;
    } cases[] = {
        {SMQ_TYPE_RANGE_MERGE, SMQ_LAYOUT_INLINE, SMQ_TIES_ARRIVAL, true},
        {SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_INLINE, SMQ_TIES_ARRIVAL, true},
        {SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, SMQ_TIES_ARRIVAL, true},
        {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_KEYED, SMQ_TIES_ARRIVAL, true},
        {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_KEYED, SMQ_TIES_BYTES, true},
        {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_INLINE, SMQ_TIES_ARRIVAL, false},
        {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_INLINE, SMQ_TIES_BYTES, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[16];
        snprintf(name, sizeof(name), "lag-%zu", i);
        smq_topic_options options = cluster_topic_options(name, cases[i].type, 2);
        smq_message message = messages_text("x");
        smq_stats stats = SMQ_STATS_INIT;
        smq_error err;

        if (cases[i].type == SMQ_TYPE_RANGE_MERGE) {
            options.delay_ms = 1;
        }
        options.layout = cases[i].layout;
        options.ties = cases[i].ties;
        cluster_create_topic(client, &options);
        assert_ok(smq_topic_stats(client, name, &stats, &err), &err);
        assert_int_equal(stats.oldest_due_age_ms, 0);
        (void) messages_send_by(producer, name, &message);
        assert_true(wait_until(has_a_lag, name, 10000));
        assert_ok(smq_topic_stats(client, name, &stats, &err), &err);
        assert_int_equal(stats.oldest_due_age_ms != SMQ_AGE_UNKNOWN, cases[i].known);
    }
}

/* Send a message of that priority that was sent first at that time, in each of two topics. */
static void send_of(const char *const topics[2], const char *id, int64_t priority, int64_t sent_at)
{
    for (int i = 0; i < 2; i++) {
        const smq_message_copy copy =
            SMQ_MESSAGE_COPY(.body = {"x", 1}, .id = smq_text(id),
                             .priority = i == 0 ? priority : 0, .sent_at_ms = sent_at);
        smq_error err;

        assert_ok(smq_restore(producer, topics[i], &copy, NULL, &err), &err);
    }
}

/* The first is "next" in both topics, in the fifo topic because it came first. */
static void the_lag_of_places_is_the_time_since_the_first_send_of_what_comes_next(void **state)
{
    static const char *const topics[] = {"ranks", "steps"};
    const int64_t day_ms = 86400000, old_ms = 1600000000000, future_ms = 4000000000000;
    smq_topic_options ranks = cluster_topic_options("ranks", SMQ_TYPE_PRIORITY, 1);
    smq_topic_options steps = cluster_topic_options("steps", SMQ_TYPE_FIFO, 1);
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    ranks.layout = SMQ_LAYOUT_KEYED;
    smq_filter all = SMQ_FILTER(.states = SMQ_STATE_WAITING);
    cluster_create_topic(client, &ranks);
    cluster_create_topic(client, &steps);
    send_of(topics, "future", 5, future_ms);
    for (int i = 0; i < 2; i++) {
        assert_ok(smq_topic_stats(client, topics[i], &stats, &err), &err);
        assert_int_equal(stats.due, 1);
        assert_int_equal(stats.oldest_due_age_ms, 0);
        assert_ok(smq_topic_purge(client, topics[i], &all, NULL, NULL, NULL, &err), &err);
    }
    send_of(topics, "next", 5, old_ms + day_ms);
    send_of(topics, "older", -5, old_ms);
    for (int i = 0; i < 2; i++) {
        int64_t since = clock_wall_ms() - old_ms - day_ms;

        assert_ok(smq_topic_stats(client, topics[i], &stats, &err), &err);
        assert_int_equal(stats.due, 2);
        assert_in_range(stats.oldest_due_age_ms, since - day_ms / 2, since + day_ms / 2);
    }
}

static void paused_slots_are_counted(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_PRIORITY, 4);
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    cluster_create_topic(client, &options);
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.slots_paused, 0);
    assert_ok(smq_topic_pause(client, "t", &err), &err);
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.slots_paused, 4);
    assert_ok(smq_topic_resume(client, "t", &err), &err);
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.slots_paused, 0);
}

static void small_and_unset_structs(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 2);
    smq_stats stats = SMQ_STATS_INIT;
    smq_message message = messages_text("x");
    smq_error err;

    cluster_create_topic(client, &options);
    (void) messages_send_by(producer, "t", &message);
    stats.struct_size = offsetof(smq_stats, due);
    stats.due = 4711;
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.waiting, 1);
    assert_int_equal(stats.due, 4711); /* behind the end: not written */
    stats.struct_size = 0;
    assert_int_equal(smq_topic_stats(client, "t", &stats, &err), SMQ_INVALID);
    assert_int_equal(smq_topic_stats(client, "t", NULL, &err), SMQ_INVALID);
    stats.struct_size = sizeof(stats);
    assert_int_equal(smq_topic_stats(client, "none", &stats, &err), SMQ_NO_TOPIC);
    assert_int_equal(smq_topic_stats(client, "n{}", &stats, &err), SMQ_INVALID);
    assert_int_equal(smq_topic_stats(NULL, "t", &stats, &err), SMQ_INVALID);
}

struct slots_seen {
    int count, limit;
    uint64_t waiting;
    char owners[64];
    char token[32];
};

static bool on_slot(const smq_slot_info *slot, void *user)
{
    struct slots_seen *seen = user;

    assert_int_equal(slot->slot, seen->count);
    assert_string_equal(slot->topic, "t");
    seen->count++;
    seen->waiting += slot->stats.waiting;
    strncat(seen->owners, slot->owner, sizeof(seen->owners) - strlen(seen->owners) - 1);
    snprintf(seen->token, sizeof(seen->token), "%s", slot->token);
    return seen->count != seen->limit;
}

static void slots_are_visited_in_their_order(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 2048);
    smq_message message = messages_text("x");
    struct slots_seen seen = {.count = 0};
    smq_error err;

    cluster_create_topic(client, &options);
    (void) messages_send_by(producer, "t", &message);
    freeReplyObject(keys_command("t_7", "HSET slot{t_7} owner somebody"));
    assert_ok(smq_topic_slots(client, "t", on_slot, &seen, &err), &err);
    assert_int_equal(seen.count, 2048);
    assert_int_equal(seen.waiting, 1);
    assert_string_equal(seen.owners, "somebody");
    assert_string_equal(seen.token, "000000000000000000000000");
    seen = (struct slots_seen){.limit = 5};
    assert_ok(smq_topic_slots(client, "t", on_slot, &seen, &err), &err);
    assert_int_equal(seen.count, 5);
    assert_int_equal(smq_topic_slots(client, "t", NULL, NULL, &err), SMQ_INVALID);
}

/* Its kind is another one than its key says: no answer that can be read. */
static void a_broken_slot_is_told(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 4);
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    cluster_create_topic(client, &options);
    freeReplyObject(keys_command("t_2", "HSET slot{t_2} token %s",
                                 "this is not a token, and it is much too long to be one"));
    assert_int_equal(smq_topic_stats(client, "t", &stats, &err), SMQ_INTERNAL);
    assert_non_null(strstr(err.text, "slot 2"));
    freeReplyObject(keys_command("t_2", "DEL slot{t_2}"));
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.slots_damaged, 1);
    freeReplyObject(keys_command("t_2", "SET slot{t_2} x"));
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.slots_damaged, 1);
}

/* --- dead letters --- */

struct letters_seen {
    int count, limit;
    smq_message_info last;
    char body[64], reason[64];
    int64_t last_death;
    int32_t slot;
};

static bool on_letter(const smq_message_info *message, void *user)
{
    struct letters_seen *seen = user;

    assert_true(message->slot > seen->slot || message->dead_at_ms >= seen->last_death);
    seen->count++;
    seen->slot = message->slot;
    seen->last_death = message->dead_at_ms;
    seen->last = *message;
    snprintf(seen->body, sizeof(seen->body), "%.*s", (int) message->body.len,
             (const char *) message->body.data);
    snprintf(seen->reason, sizeof(seen->reason), "%s", message->reason);
    return seen->count != seen->limit;
}

static smq_status each_dead(const char *topic, smq_message_fn *visit, void *user, smq_error *err)
{
    smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_DEAD);
    return smq_message_each(client, topic, &filter, visit, user, err);
}

static void a_dead_letter_tells_its_story(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 2);
    struct letters_seen seen = {.count = 0};
    smq_error err;

    cluster_create_topic(client, &options);
    bury("t", 1, 1700000000000.25, "1600000000000d:bo:dy", "it broke");
    assert_ok(each_dead("t", on_letter, &seen, &err), &err);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.body, "bo:dy");
    assert_string_equal(seen.reason, "it broke");
    assert_int_equal(seen.last.state, SMQ_STATE_DEAD);
    assert_int_equal(seen.last.slot, 1);
    assert_int_equal(seen.last.due_at_ms, 1600000000000);
    assert_int_equal(seen.last.dead_at_ms, 1700000000000);
    assert_int_equal(seen.last.attempt, 17);
    assert_int_equal(seen.last.retries_left, 0);
    assert_null(seen.last.key.data);
    put("t", 0, "dead", 1.0, "nonsense");
    assert_int_equal(each_dead("t", on_letter, &seen, &err), SMQ_INTERNAL);
}

static void a_priority_is_shown_as_it_was_given(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_PRIORITY, 1);
    struct letters_seen seen = {.count = 0};
    char entry[64];
    smq_error err;

    cluster_create_topic(client, &options);
    snprintf(entry, sizeof(entry), "%lldd:x", -7 * 4294967296LL + 4294967295LL - 3);
    bury("t", 0, 1700000000000.0, entry, "");
    assert_ok(each_dead("t", on_letter, &seen, &err), &err);
    assert_int_equal(seen.last.priority, -7);
    assert_int_equal(seen.last.due_at_ms, 0);
    assert_int_equal(seen.last.attempt, 1);
    assert_int_equal(seen.last.retries_left, 16);
}

static void many_dead_letters_are_visited_and_requeued(void **state)
{
    enum { COUNT = 2345 };
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 4);
    struct letters_seen seen = {.count = 0};
    smq_stats stats = SMQ_STATS_INIT;
    uint64_t count = 99;
    char text[512];
    smq_error err;

    cluster_create_topic(client, &options);
    assert_ok(smq_dead_requeue(client, "t", NULL, &count, NULL, NULL, &err), &err);
    assert_int_equal(count, 0);
    for (int i = 0; i < COUNT; i++) {
        char entry[64];

        snprintf(entry, sizeof(entry), "%lldd:body-%d", 1600000000000LL + i, i);
        bury("t", i < 250 ? 0 : 2, 1700000000000.0 + i + 0.25, entry, "why");
    }
    assert_ok(each_dead("t", on_letter, &seen, &err), &err);
    assert_int_equal(seen.count, COUNT);
    seen = (struct letters_seen){.limit = 123};
    assert_ok(each_dead("t", on_letter, &seen, &err), &err);
    assert_int_equal(seen.count, 123);
    assert_ok(smq_dead_requeue(client, "t", NULL, &count, NULL, NULL, &err), &err);
    assert_int_equal(count, COUNT);
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.dead, 0);
    assert_int_equal(stats.waiting, COUNT);
    assert_string_equal(keys_text(text, "t_0", "ZSCORE t_0 body-5"), "1600000000005");
    assert_int_equal(keys_number("t_2", "HLEN why{t_2}"), 1);
    assert_ok(smq_dead_requeue(client, "t", NULL, NULL, NULL, NULL, &err), &err);
    assert_int_equal(smq_dead_requeue(client, "none", NULL, &count, NULL, NULL, &err),
                     SMQ_NO_TOPIC);
    assert_int_equal(each_dead("none", on_letter, &seen, &err), SMQ_NO_TOPIC);
    assert_int_equal(each_dead("t", NULL, &seen, &err), SMQ_INVALID);
}

/* --- surveys --- */

enum { SURVEYED = 8 };

struct rows_seen {
    int count, slots, untouched; /* untouched: slots of a master that was not asked again */
    uint64_t waiting;
    char names[64];
};

static bool on_row(const smq_survey_topic *topic, void *user)
{
    struct rows_seen *seen = user;

    seen->count++;
    seen->waiting += topic->stats.waiting;
    assert_true(topic->options == NULL || topic->options->slots == 64);
    snprintf(seen->names + strlen(seen->names), sizeof(seen->names) - strlen(seen->names), "%s%s ",
             topic->topic, topic->status == SMQ_NO_TOPIC ? "?" : "");
    return true;
}

static void create_surveyed(void)
{
    char name[8];

    for (int i = 0; i < SURVEYED; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        smq_topic_options options = cluster_topic_options(name, SMQ_TYPE_FIXED_TIME, 64);
        cluster_create_topic(client, &options);
        smq_message message = messages_text(name);
        (void) messages_send_by(producer, name, &message);
    }
}

/* No value of a row is made up: what is not known is silent, or has no numbers at all. */
static bool on_row_of_two_masters(const smq_survey_topic *topic, void *user)
{
    if (topic->status == SMQ_OK) {
        assert_in_range(topic->stats.slots_silent, 1, 63);
    } else {
        assert_null(topic->options);
        assert_int_equal(topic->stats.waiting + topic->stats.slots_silent, 0);
        assert_true(topic->why[0] != '\0' && !topic->has_owners);
    }
    return on_row(topic, user);
}

/* How old a reading gets follows from this number and the pace. */
static void a_survey_makes_one_call_for_a_definition_or_slot(void **state)
{
    const smq_survey_options paced = SMQ_SURVEY_OPTIONS(.calls_per_s = 4000);
    struct rows_seen seen = {.count = 0};
    smq_error err;

    create_surveyed();
    assert_ok(smq_survey(client, NULL, &paced, on_row, &seen, &err), &err); /* scripts are loaded */
    seen = (struct rows_seen){.count = 0};
    int64_t before = keys_scripts_run();
    assert_ok(smq_survey(client, "*", &paced, on_row, &seen, &err), &err);
    int64_t calls = keys_scripts_run() - before;
    assert_string_equal(seen.names, "s0 s1 s2 s3 s4 s5 s6 s7 ");
    assert_int_equal(seen.waiting, SURVEYED);
    assert_in_range(calls, SURVEYED * 64, SURVEYED * (64 + 1) + 1);
    seen = (struct rows_seen){.count = 0};
    assert_ok(smq_survey(client, "s3,none,s1,s3", NULL, on_row, &seen, &err), &err);
    assert_string_equal(seen.names, "s3 none? s1 ");
    assert_int_equal(smq_survey(client, "s1,", NULL, on_row, &seen, &err), SMQ_INVALID);
    assert_int_equal(smq_survey(client, "s1", NULL, NULL, &seen, &err), SMQ_INVALID);
    assert_int_equal(
        smq_survey(client, "s1", &SMQ_SURVEY_OPTIONS(.calls_per_s = -1), on_row, &seen, &err),
        SMQ_INVALID);
}

static bool on_surveyed_slot(const smq_slot_info *slot, void *user)
{
    struct rows_seen *seen = user;

    seen->slots++;
    seen->untouched += strstr(slot->why, "does not reply") != NULL ? 1 : 0;
    return true;
}

/* It costs one time-out, and the others are read. */
static void a_survey_asks_a_silent_master_once(void **state)
{
    const smq_survey_options paced =
        SMQ_SURVEY_OPTIONS(.calls_per_s = 4000, .slot = on_surveyed_slot);
    smq_client *hasty = cluster_client_with(&SMQ_CLIENT_OPTIONS(.request_timeout_ms = 500));
    struct rows_seen seen = {.count = 0};
    struct server *away = NULL;
    smq_error err = SMQ_ERROR_INIT;
    smq_status status;

    create_surveyed();
    assert_ok(smq_survey(hasty, NULL, NULL, on_row, &(struct rows_seen){.count = 0}, &err), &err);
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        away = servers_node(cluster_servers(), i);
        if (away != servers_node_of(cluster_servers(), "slotmq{topics}") &&
            away != servers_node_of(cluster_servers(), "topic{s0}")) {
            break;
        }
    }
    server_pause(away);
    status = smq_survey(hasty, NULL, &paced, on_row_of_two_masters, &seen, &err);
    server_resume(away);
    assert_ok(status, &err);
    smq_client_free(hasty);
    assert_string_equal(seen.names, "s0 s1 s2 s3 s4 s5 s6 s7 ");
    assert_true(seen.waiting > 0);
    assert_true(seen.untouched > 0);
}

TEST_GROUP(inspect)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(counts_are_summed_over_the_slots),
        FRESH_CLIENT_TEST(the_lag_is_known_or_said_to_be_unknown),
        FRESH_CLIENT_TEST(the_lag_of_places_is_the_time_since_the_first_send_of_what_comes_next),
        FRESH_CLIENT_TEST(paused_slots_are_counted),
        FRESH_CLIENT_TEST(small_and_unset_structs),
        FRESH_CLIENT_TEST(slots_are_visited_in_their_order),
        FRESH_CLIENT_TEST(a_broken_slot_is_told),
        FRESH_CLIENT_TEST(a_dead_letter_tells_its_story),
        FRESH_CLIENT_TEST(a_priority_is_shown_as_it_was_given),
        FRESH_CLIENT_TEST(many_dead_letters_are_visited_and_requeued),
        FRESH_CLIENT_TEST(a_survey_makes_one_call_for_a_definition_or_slot),
        FRESH_CLIENT_TEST(a_survey_asks_a_silent_master_once),
    };

    return cmocka_run_group_tests_name("inspect", tests, cluster_start_masters, cluster_end);
}
