/* test_schedules.c - schedules: each tick is stored once, also if a consumer dies or pauses.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { EVERY_MS = 200, TICKS = 8 };

static const char *topic_of(smq_client *client, bool shared)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .shared = shared, .layout = SMQ_LAYOUT_KEYED,
                          .slots = 4, .dedup_window_ms = 3600000);
    return cluster_topic(client, &options);
}

static smq_schedule_change put(smq_client *client, const char *topic, const char *id,
                               const smq_schedule *schedule)
{
    smq_schedule_change change;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_schedule_put(client, topic, id, schedule, &change, &err), &err);
    return change;
}

static void put_every(smq_client *client, const char *topic, const char *id, int64_t every_ms,
                      const char *body)
{
    const smq_message message = messages_text(body);
    const smq_schedule schedule = SMQ_SCHEDULE(.every_ms = every_ms, .message = &message);

    (void) put(client, topic, id, &schedule);
}

/* To be freed. */
static smq_schedule_info *get(smq_client *client, const char *topic, const char *id)
{
    smq_schedule_info *info = NULL;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_schedule_get(client, topic, id, &info, &err), &err);
    return info;
}

static int64_t ticks_of(smq_client *client, const char *topic, const char *id)
{
    smq_schedule_info *info = get(client, topic, id);
    int64_t ticks = info->ticks;

    smq_schedule_info_free(info);
    return ticks;
}

/* What a test waits for: ticks of a schedule. */
struct awaited {
    smq_client *client;
    const char *topic;
    int64_t ticks;
};

static bool has_ticks(void *arg)
{
    const struct awaited *awaited = arg;

    return ticks_of(awaited->client, awaited->topic, "s") >= awaited->ticks;
}

/* Each of the deliveries is a tick of its own, in order, and none is early. */
static void check_ticks(struct handler_log *log, const char *id)
{
    int64_t before = 0;

    for (int i = 0; i < handler_log_count(log); i++) {
        struct seen seen = handler_log_seen(log, i);
        int64_t due;
        size_t len = strlen(id);

        assert_memory_equal(seen.id, id, len);
        assert_int_equal(sscanf(seen.id + len, "@%" SCNd64, &due), 1);
        assert_string_equal(seen.key, id);
        assert_int_equal(due % EVERY_MS, 0);
        assert_true(due > before);
        assert_true(seen.sent_at_ms >= due);
        before = due;
    }
}

static void an_owner_makes_each_tick_once(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    put_every(client, topic, "s", EVERY_MS, "x"); /* the owner sleeps by now, or soon */
    for (int i = 1; i <= TICKS; i++) {            /* each program of a deployment puts it again */
        const smq_message message = messages_text("x");
        const smq_schedule schedule = SMQ_SCHEDULE(.every_ms = EVERY_MS, .message = &message);

        handler_log_await(log, i);
        assert_int_equal(put(client, topic, "s", &schedule), SMQ_SCHEDULE_SAME);
    }
    assert_ok(smq_schedule_remove(client, topic, "s", &err), &err);
    assert_int_equal(smq_schedule_get(client, topic, "s", NULL, &err), SMQ_NO_SCHEDULE);
    handler_log_stop_worker(worker);
    check_ticks(log, "s");
    assert_int_equal(messages_stats(client, topic).sent, handler_log_count(log));
    assert_int_equal(messages_stats(client, topic).merged, 0);
    assert_ok(smq_client_metrics(client, &metrics, &err), &err);
    assert_int_equal(metrics.ticks, handler_log_count(log));
    handler_log_free(log);
    smq_client_free(client);
}

static void an_owner_without_room_makes_them_too(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.batch_size = 1, .max_in_flight = 1);
    struct awaited awaited = {client, topic, TICKS};

    handler_log_gate(log);
    worker = handler_log_worker_with(client, &options, topic, log);
    put_every(client, topic, "s", EVERY_MS, "x");
    handler_log_await(log, 1);
    messages_await_counts(client, topic, (struct message_counts){-1, 1, -1, -1, -1});
    assert_true(wait_until(has_ticks, &awaited, TIMEOUT_MS)); /* its handler is at the gate */
    handler_log_open(log, 1000);
    handler_log_await(log, TICKS);
    handler_log_stop_worker(worker);
    check_ticks(log, "s");
    handler_log_free(log);
    smq_client_free(client);
}

/* Redis loses a key that says when they are due. */
static void lost_times_are_made_anew(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct awaited awaited = {client, topic, TICKS};
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    char key[64];

    put_every(client, topic, "s", EVERY_MS, "x");
    handler_log_await(log, 1);
    for (int i = 0; i < 4; i++) {
        (void) snprintf(key, sizeof(key), "schedule{%s_%d}", topic, i);
        freeReplyObject(keys_command(key, "DEL %s", key));
    }
    assert_true(wait_until(has_ticks, &awaited, TIMEOUT_MS));
    handler_log_stop_worker(worker);
    check_ticks(log, "s");
    handler_log_free(log);
    smq_client_free(client);
}

/* As many schedules in a zone that this machine does not know, which have long been due. */
static void put_in_no_zone(const char *topic, int count)
{
    char slot[64], schedule[64];

    (void) snprintf(slot, sizeof(slot), "slot{%s_0}", topic);
    (void) snprintf(schedule, sizeof(schedule), "schedule{%s_0}", topic);
    freeReplyObject(keys_command(slot, "EVAL %s 2 %s %s %d",
                                 "local times = '* * * * *\\n0\\nMars/Olympus\\n0\\n0\\n0\\none' "
                                 "for i = 1, ARGV[1] do "
                                 "redis.call('HSET', KEYS[1], 'X' .. i, '1,' .. i .. ',0,,0,', "
                                 "'Y' .. i, #times .. ':' .. times .. '1:k2:+00:0:0:', 'tick', 1) "
                                 "redis.call('ZADD', KEYS[2], i, i) end",
                                 slot, schedule, count));
}

static const char *topic_of_one_slot(smq_client *client)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED, .slots = 1);

    return cluster_topic(client, &options);
}

/* More than are read at once, and due before the one that can be followed. */
static void what_cannot_be_followed_hides_no_other(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of_one_slot(client);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    put_every(client, topic, "s", EVERY_MS, "x");
    put_in_no_zone(topic, 250);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, TICKS);
    handler_log_stop_worker(worker);
    check_ticks(log, "s");
    assert_ok(smq_client_metrics(client, &metrics, &err), &err);
    assert_int_equal(metrics.ticks, handler_log_count(log));
    handler_log_free(log);
    smq_client_free(client);
}

static void handle_number(smq_client *client, const char *topic, struct handler_log *log, int i)
{
    messages_send_numbers(client, topic, i, 1);
    handler_log_await(log, i + 1);
    keys_await_open(topic, 1, 1);
}

/* Each message costs a script that sends and one that consumes.  Beside them one in a second reads
 * what is due, and the session in the tree is kept. */
static void what_cannot_be_followed_is_tried_each_second_not_with_each_message(void **state)
{
    enum { MESSAGES = 100 };
    smq_client *client = cluster_client();
    const char *topic = topic_of_one_slot(client);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    int64_t scripts, since_ms, seconds;

    put_every(client, topic, "s", 86400000, "x");
    put_in_no_zone(topic, 1);
    handle_number(client, topic, log, 0); /* it is known that one is due */
    scripts = keys_scripts_run();
    since_ms = clock_now_ms();
    for (int i = 1; i <= MESSAGES; i++) {
        handle_number(client, topic, log, i);
    }
    scripts = keys_scripts_run() - scripts;
    seconds = (clock_now_ms() - since_ms) / 1000;
    assert_in_range(scripts, 2 * MESSAGES, 2 * MESSAGES + MESSAGES / 8 + 2 * seconds);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static bool a_tick_is_late(void *arg)
{
    const struct awaited *awaited = arg;

    return messages_stats(awaited->client, awaited->topic).tick_late_ms > EVERY_MS;
}

/* Of two messages one is at its handler, and the other one fills the slot. */
static void a_full_slot_keeps_the_tick_until_there_is_room(void **state)
{
    smq_client *client = cluster_client();
    smq_topic_options topic_options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED, .slots = 1,
                          .max_waiting = 1);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.batch_size = 1, .max_in_flight = 1);
    const char *topic = cluster_topic(client, &topic_options);
    struct awaited awaited = {client, topic, 0};
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    handler_log_gate(log);
    worker = handler_log_worker_with(client, &options, topic, log);
    messages_send_numbers(client, topic, 0, 1);
    handler_log_await(log, 1);
    messages_send_numbers(client, topic, 1, 1);
    put_every(client, topic, "s", EVERY_MS, "x");
    assert_true(wait_until(a_tick_is_late, &awaited, TIMEOUT_MS));
    assert_int_equal(ticks_of(client, topic, "s"), 0);
    handler_log_open(log, 1000);
    handler_log_await(log, 4);
    handler_log_stop_worker(worker);
    assert_string_equal(handler_log_seen(log, 1).body, "1");
    for (int i = 2; i < handler_log_count(log); i++) {
        assert_string_equal(handler_log_seen(log, i).key, "s");
    }
    assert_int_equal(ticks_of(client, topic, "s"), handler_log_count(log) - 2);
    handler_log_free(log);
    smq_client_free(client);
}

static bool no_tick_is_late(void *arg)
{
    return !a_tick_is_late(arg);
}

static void what_nobody_makes_is_late(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct awaited awaited = {client, topic, 0};
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    put_every(client, topic, "s", EVERY_MS, "x");
    assert_true(wait_until(a_tick_is_late, &awaited, TIMEOUT_MS));
    assert_int_equal(messages_stats(client, topic).waiting, 0);
    worker = handler_log_worker(client, topic, log);
    assert_true(wait_until(no_tick_is_late, &awaited, TIMEOUT_MS));
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void callers_of_a_shared_topic_make_each_tick_once(void **state)
{
    enum { CLIENTS = 3 };
    smq_client *client = cluster_client(), *clients[CLIENTS];
    const char *topic = topic_of(client, true);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *workers[CLIENTS];
    smq_error err = SMQ_ERROR_INIT;

    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = cluster_client();
        workers[i] = handler_log_worker(clients[i], topic, log);
    }
    put_every(client, topic, "s", EVERY_MS, "x");
    handler_log_await(log, TICKS);
    assert_ok(smq_schedule_remove(client, topic, "s", &err), &err);
    for (int i = 0; i < CLIENTS; i++) {
        handler_log_stop_worker(workers[i]);
        smq_client_free(clients[i]);
    }
    check_ticks(log, "s");
    assert_int_equal(messages_stats(client, topic).sent, handler_log_count(log));
    assert_int_equal(messages_stats(client, topic).merged, 0);
    handler_log_free(log);
    smq_client_free(client);
}

/* The owner of the slot is killed, again and again. */
static void killed_owners_lose_and_repeat_no_tick(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct awaited awaited = {client, topic, 0};
    struct members members;
    smq_error err = SMQ_ERROR_INIT;

    members_init(&members, topic);
    members.zookeeper = true;
    members.session_ms = 2000;
    put_every(client, topic, "s", EVERY_MS, "tick0 0");
    (void) members_start(&members);
    for (int i = 0; i < 3; i++) {
        struct member *victim = &members.member[members.count - 1];

        awaited.ticks = ticks_of(client, topic, "s") + 3;
        assert_true(wait_until(has_ticks, &awaited, TIMEOUT_MS));
        (void) members_start(&members);
        member_kill(victim);
    }
    awaited.ticks = ticks_of(client, topic, "s") + 3;
    assert_true(wait_until(has_ticks, &awaited, TIMEOUT_MS));
    assert_ok(smq_schedule_pause(client, topic, "s", "it is enough", &err), &err);
    assert_int_equal(messages_stats(client, topic).sent, ticks_of(client, topic, "s"));
    assert_int_equal(messages_stats(client, topic).merged, 0);
    assert_int_equal(messages_stats(client, topic).duplicates, 0);
    messages_await_counts(
        client, topic, (struct message_counts){.done = ticks_of(client, topic, "s"), .waiting = 0});
    members_fini(&members);
    smq_client_free(client);
}

static void each_group_gets_each_tick(void **state)
{
    smq_client *client = cluster_client();
    smq_topic_options options = cluster_topic_options("grouped", SMQ_TYPE_FIXED_TIME, 2);
    struct handler_log *log[2] = {handler_log_new(NULL), handler_log_new(NULL)};
    smq_message_ref which = SMQ_MESSAGE_REF(.key = smq_text("s"));
    smq_schedule_info *info, *added;
    char id[40];
    int64_t at_ms = 0;
    smq_consumer *workers[2];
    smq_error err = SMQ_ERROR_INIT;

    options.layout = SMQ_LAYOUT_KEYED;
    options.groups = "a,b";
    cluster_create_topic(client, &options);
    workers[0] = handler_log_worker(client, "grouped/a", log[0]);
    workers[1] = handler_log_worker(client, "grouped/b", log[1]);
    put_every(client, "grouped", "s", EVERY_MS, "x");
    for (int i = 0; i < 2; i++) {
        handler_log_await(log[i], 3);
    }
    assert_ok(smq_schedule_remove(client, "grouped", "s", &err), &err);
    for (int i = 0; i < 2; i++) {
        handler_log_stop_worker(workers[i]);
        check_ticks(log[i], "s");
        handler_log_free(log[i]);
    }
    put_every(client, "grouped", "s", 86400000, "x"); /* one message, by any number of repeats */
    assert_ok(smq_schedule_run(client, "grouped/b", "s", &at_ms, &err), &err);
    assert_ok(smq_schedule_run(client, "grouped", "s", &at_ms, &err), &err);
    (void) snprintf(id, sizeof(id), "s@%" PRId64, at_ms);
    which.id = smq_text(id);
    assert_ok(smq_message_get(client, "grouped/a", &which, NULL, &err), &err);
    assert_ok(smq_message_get(client, "grouped/b", &which, NULL, &err), &err);
    assert_int_equal(messages_stats(client, "grouped/b").waiting, 1);
    assert_ok(cluster_alter(client, "grouped", "groups", "a,b,new", &err), &err);
    info = get(client, "grouped/a", "s");
    added = get(client, "grouped/new", "s");
    assert_int_equal(added->next_at_ms, info->next_at_ms);
    assert_memory_equal(added->schedule->message->body.data, "x", 1);
    smq_schedule_info_free(info);
    smq_schedule_info_free(added);
    smq_client_free(client);
}

static void what_is_put_again_counts_on(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    smq_header header = {"kind", smq_text("report")};
    smq_message message =
        SMQ_MESSAGE(.body = smq_text("a"), .key = smq_text("k"), .ttl_ms = 60000,
                    .max_retries = SMQ_NONE, .headers = &header, .header_count = 1);
    smq_schedule schedule =
        SMQ_SCHEDULE(.cron = "30 2 * * *", .zone = "Europe/Berlin", .missed = SMQ_MISSED_NONE,
                     .limit = 9, .message = &message);
    smq_schedule_info *info, *again;

    assert_int_equal(put(client, topic, "nightly", &schedule), SMQ_SCHEDULE_MADE);
    assert_int_equal(put(client, topic, "nightly", &schedule), SMQ_SCHEDULE_SAME);
    info = get(client, topic, "nightly");
    assert_string_equal(info->schedule->cron, "30 2 * * *");
    assert_string_equal(info->schedule->zone, "Europe/Berlin");
    assert_int_equal(info->schedule->missed, SMQ_MISSED_NONE);
    assert_int_equal(info->schedule->limit, 9);
    assert_memory_equal(info->schedule->message->body.data, "a", 1);
    assert_memory_equal(info->schedule->message->key.data, "k", 1);
    assert_int_equal(info->schedule->message->ttl_ms, 60000);
    assert_int_equal(info->schedule->message->max_retries, SMQ_NONE);
    assert_string_equal(info->schedule->message->headers[0].name, "kind");
    assert_true(info->next_at_ms > clock_wall_ms());

    message.body = smq_text("b");
    assert_int_equal(put(client, topic, "nightly", &schedule), SMQ_SCHEDULE_CHANGED);
    message.key = smq_text("another key, so another slot");
    (void) put(client, topic, "nightly", &schedule);
    schedule.cron = "31 2 * * *";
    assert_int_equal(put(client, topic, "nightly", &schedule), SMQ_SCHEDULE_RESTARTED);
    again = get(client, topic, "nightly");
    assert_true(again->version > info->version);
    assert_int_equal(again->next_at_ms, info->next_at_ms + 60000);
    assert_memory_equal(again->schedule->message->body.data, "b", 1);
    smq_schedule_info_free(again);
    smq_schedule_info_free(info);
    smq_client_free(client);
}

static bool count_one(const smq_schedule_info *info, void *user)
{
    char *text = user;

    (void) snprintf(text + strlen(text), 64, "%s%s ", info->id, info->paused ? " paused" : "");
    assert_null(info->schedule->message);
    return true;
}

static void they_are_visited_in_order_and_end_with_their_topic(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    char text[256] = "", id[16];
    smq_error err = SMQ_ERROR_INIT;

    for (int i = 0; i < 9; i++) {
        (void) snprintf(id, sizeof(id), "s%d", 8 - i);
        put_every(client, topic, id, 86400000, "x");
    }
    assert_ok(smq_schedule_pause(client, topic, "s3", NULL, &err), &err);
    assert_ok(smq_schedule_each(client, topic, count_one, text, &err), &err);
    assert_string_equal(text, "s0 s1 s2 s3 paused s4 s5 s6 s7 s8 ");
    assert_int_equal(messages_stats(client, topic).waiting, 0);
    assert_ok(smq_topic_delete(client, topic, false, &err), &err);
    {
        smq_topic_options options = cluster_topic_options(topic, SMQ_TYPE_FIXED_TIME, 4);
        options.layout = SMQ_LAYOUT_KEYED;
        cluster_create_topic(client, &options);
    }
    text[0] = '\0';
    assert_ok(smq_schedule_each(client, topic, count_one, text, &err), &err);
    assert_string_equal(text, "");
    smq_client_free(client);
}

/* A pause misses ticks: of these one is made, or none. */
static void missed_ticks_follow_the_policy(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct handler_log *log = handler_log_new(NULL);
    const smq_message message = messages_text("x");
    smq_schedule schedule = SMQ_SCHEDULE(.every_ms = 86400000, .message = &message);
    smq_consumer *worker;
    smq_schedule_info *info;
    smq_error err = SMQ_ERROR_INIT;

    schedule.start_at_ms = clock_wall_ms() + 500; /* the first tick, and the next a day later */
    (void) put(client, topic, "one", &schedule);
    schedule.missed = SMQ_MISSED_NONE;
    schedule.every_ms = EVERY_MS;
    schedule.end_at_ms = schedule.start_at_ms + (int64_t) 2 * EVERY_MS + 1;
    (void) put(client, topic, "none", &schedule);
    assert_ok(smq_topic_pause(client, topic, &err), &err);
    messages_await_clock(schedule.end_at_ms + 1000);
    worker = handler_log_worker(client, topic, log);
    assert_ok(smq_topic_resume(client, topic, &err), &err);
    handler_log_await(log, 1);
    do {
        info = get(client, topic, "none");
        if (info->next_at_ms != 0) {
            smq_schedule_info_free(info);
            info = NULL;
        }
    } while (info == NULL);
    assert_int_equal(info->ticks, 0); /* all were missed, and its end has passed */
    smq_schedule_info_free(info);
    assert_int_equal(ticks_of(client, topic, "one"), 1);
    handler_log_stop_worker(worker);
    assert_int_equal(handler_log_count(log), 1);
    handler_log_free(log);
    smq_client_free(client);
}

static void one_runs_at_once_and_keeps_its_time(void **state)
{
    int64_t at_ms = 0;
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_schedule_info *info, *again;
    smq_error err = SMQ_ERROR_INIT;

    put_every(client, topic, "s", 86400000, "x");
    info = get(client, topic, "s");
    assert_ok(smq_schedule_pause(client, topic, "s", "while the store moves", &err), &err);
    assert_ok(smq_schedule_run(client, topic, "s", &at_ms, &err), &err);
    messages_await_counts(client, topic, (struct message_counts){.done = 1});
    assert_ok(smq_schedule_run(client, topic, "s", &at_ms, &err), &err); /* a repeat */
    assert_int_equal(messages_stats(client, topic).waiting, 0);
    again = get(client, topic, "s");
    assert_true(again->paused);
    assert_string_equal(again->note, "while the store moves");
    assert_int_equal(again->next_at_ms, info->next_at_ms);
    assert_int_equal(again->ticks, 0);
    smq_schedule_info_free(info);
    smq_schedule_info_free(again);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* clang-format off */
static const struct {
    const char *id;
    smq_schedule schedule;
    const char *says;
} REFUSED[] = {
    {"", {.every_ms = 1000}, "1 to 200 bytes"},
    {"a\nb", {.every_ms = 1000}, "no control characters"},
    {"  ", {.every_ms = 1000}, "not of blanks alone"},
    {"s", {.every_ms = 0}, "either cron or every_ms"},
    {"s", {.every_ms = 1000, .cron = "@daily"}, "either cron or every_ms"},
    {"s", {.every_ms = 99}, "every_ms must be from 100"},
    {"s", {.every_ms = 1000, .zone = "UTC"}, "a zone is for cron"},
    {"s", {.cron = "0 25 * * *"}, ">>>25<<<"},
    {"s", {.cron = "@daily", .zone = "Mars/Olympus"}, "this machine has no such zone"},
    {"s", {.cron = "@daily", .zone = "../etc/passwd"}, "has a name such as"},
    {"s", {.cron = "@daily", .zone = "/etc/localtime"}, "has a name such as"},
    {"s", {.cron = "@daily", .zone = "Europe"}, "this machine has no such zone"},
    {"s", {.cron = "@daily", .end_at_ms = 1000}, "is never due"},
    {"s", {.cron = "@daily", .missed = 7}, "missed is"},
    {"s", {.cron = "@daily", .start_at_ms = 9, .end_at_ms = 8}, "end_at_ms must be from 9"},
};
/* clang-format on */

static void what_cannot_be_is_refused_in_one_line(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    smq_message message = messages_text("x");
    smq_schedule schedule = SMQ_SCHEDULE(.every_ms = 1000, .message = &message);
    smq_error err = SMQ_ERROR_INIT;

    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
        smq_schedule given = REFUSED[i].schedule;

        given.struct_size = sizeof(given);
        assert_int_equal(smq_schedule_put(client, topic, REFUSED[i].id, &given, NULL, &err),
                         SMQ_INVALID);
        if (strstr(err.text, REFUSED[i].says) == NULL) {
            fail_msg("row %zu: %s", i, err.text);
        }
    }
    message.id = smq_text("an id");
    assert_int_equal(smq_schedule_put(client, topic, "s", &schedule, NULL, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "its id is ID@DUE"));
    message.id = smq_text(NULL);
    message.key = smq_text("s@");
    assert_int_equal(smq_schedule_put(client, topic, "s", &schedule, NULL, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "does not begin with \"s@\""));
    assert_int_equal(smq_schedule_run(client, topic, "s", NULL, &err), SMQ_NO_SCHEDULE);
    assert_int_equal(smq_schedule_remove(client, topic, "s", &err), SMQ_NO_SCHEDULE);
    assert_int_equal(smq_schedule_put(client, "no-topic", "s", &schedule, NULL, &err),
                     SMQ_NO_TOPIC);
    smq_client_free(client);
}

static void the_next_times_need_no_server(void **state)
{
    const smq_schedule cron = SMQ_SCHEDULE(.cron = "30 2 * * *", .zone = "Europe/Berlin");
    const smq_schedule limited = SMQ_SCHEDULE(.every_ms = 1000, .limit = 2);
    int64_t times[3];
    size_t count;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_schedule_next(&cron, 1774692000000, times, 3, &count, &err), &err);
    assert_int_equal(count, 3);
    assert_true(times[0] == 1774746000000); /* 2026-03-29T01:00Z: the end of the gap */
    assert_true(times[1] == 1774830600000);
    assert_ok(smq_schedule_next(&limited, 0, times, 3, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_true(times[1] == 2000);
}

TEST_GROUP(schedules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_makes_each_tick_once),
        cmocka_unit_test(an_owner_without_room_makes_them_too),
        cmocka_unit_test(lost_times_are_made_anew),
        cmocka_unit_test(what_cannot_be_followed_hides_no_other),
        cmocka_unit_test(what_cannot_be_followed_is_tried_each_second_not_with_each_message),
        cmocka_unit_test(a_full_slot_keeps_the_tick_until_there_is_room),
        cmocka_unit_test(what_nobody_makes_is_late),
        cmocka_unit_test(callers_of_a_shared_topic_make_each_tick_once),
        cmocka_unit_test(killed_owners_lose_and_repeat_no_tick),
        cmocka_unit_test(each_group_gets_each_tick),
        cmocka_unit_test(what_is_put_again_counts_on),
        cmocka_unit_test(they_are_visited_in_order_and_end_with_their_topic),
        cmocka_unit_test(missed_ticks_follow_the_policy),
        cmocka_unit_test(one_runs_at_once_and_keeps_its_time),
        cmocka_unit_test(what_cannot_be_is_refused_in_one_line),
        cmocka_unit_test(the_next_times_need_no_server),
    };

    return cmocka_run_group_tests(tests, cluster_start_single_fleet, cluster_end);
}
