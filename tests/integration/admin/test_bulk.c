/* test_bulk.c - many messages: visited page by page, requeued, purged, on a real cluster, in both
 * layouts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { HOUR_MS = 3600000, SLOTS = 4 };

static const char *const names[] = {[SMQ_LAYOUT_INLINE] = "inline", [SMQ_LAYOUT_KEYED] = "keyed"};

#define EACH_LAYOUT(layout)                                                                        \
    smq_layout layout = SMQ_LAYOUT_INLINE;                                                         \
    layout <= SMQ_LAYOUT_KEYED;                                                                    \
    layout++

/* --- messages --- */

static smq_message named(smq_layout layout, smq_bytes name)
{
    smq_message message = SMQ_MESSAGE(.body = name);
    if (layout == SMQ_LAYOUT_KEYED) {
        message.id = name;
    }
    return message;
}

static void topic_with(smq_topic_type type, smq_layout layout, int32_t slots)
{
    smq_topic_options options = cluster_topic_options(names[layout], type, slots);

    options.layout = layout;
    options.backoff = "none";
    cluster_create_topic(client, &options);
}

/* "m-0" ... with a priority each. */
static void send_many(smq_layout layout, int count, int64_t delay_ms)
{
    smq_message *messages = calloc((size_t) count, sizeof(*messages));
    char(*texts)[16] = calloc((size_t) count, sizeof(*texts));
    smq_error err;

    for (int i = 0; i < count; i++) {
        snprintf(texts[i], sizeof(texts[i]), "m-%d", i);
        messages[i] = named(layout, smq_text(texts[i]));
        messages[i].delay_ms = delay_ms;
    }
    assert_ok(smq_send_batch(producer, names[layout], messages, (size_t) count, NULL, &err), &err);
    free(messages);
    free(texts);
}

static smq_stats stats_of(smq_layout layout)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    assert_ok(smq_topic_stats(client, names[layout], &stats, &err), &err);
    return stats;
}

/* Rejects everything; the reason is "odd" or "even" by the last digit. */
static smq_verdict reject(smq_delivery *delivery, void *user)
{
    const smq_message_info *info = smq_delivery_info(delivery);
    char last = ((const char *) info->body.data)[info->body.len - 1];

    (void) user;
    (void) smq_reject(delivery, last % 2 == 1 ? "it is odd" : "it is even", NULL);
    return SMQ_LATER;
}

static smq_consumer *rejecting(smq_layout layout)
{
    smq_consumer *worker = NULL;
    smq_error err;

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = names[layout], .handler = reject, .threads = 1);
    assert_ok(smq_consumer_new(&worker, client, &options, &err), &err);
    assert_ok(smq_consumer_start(worker, &err), &err);
    return worker;
}

struct dying {
    smq_layout layout;
    uint64_t dead;
};

static bool are_dead(void *user)
{
    const struct dying *dying = user;

    return stats_of(dying->layout).dead == dying->dead;
}

/* This many dead letters, "m-0" ..., and nobody consumes. */
static void bury_many(smq_layout layout, int count)
{
    struct dying dying = {.layout = layout, .dead = (uint64_t) count};
    smq_consumer *worker;

    send_many(layout, count, 0);
    worker = rejecting(layout);
    assert_true(wait_until(are_dead, &dying, TIMEOUT_MS));
    smq_consumer_free(worker);
}

/* --- visiting --- */

enum { SEEN_MAX = 2000, TEXT_MAX = 32, CURSOR_MAX = 128 };

struct seen {
    char body[TEXT_MAX], cursor[CURSOR_MAX], reason[TEXT_MAX];
    int32_t slot;
    smq_state state;
    int64_t priority, due_at_ms;
};

struct visit {
    struct seen seen[SEEN_MAX];
    size_t count, limit;
};

static bool note(const smq_message_info *message, void *user)
{
    struct visit *visit = user;
    struct seen *seen = &visit->seen[visit->count++];

    assert_true(visit->count <= SEEN_MAX);
    assert_true(message->body.len < TEXT_MAX);
    memset(seen, 0, sizeof(*seen)); /* they are compared as bytes */
    memcpy(seen->body, message->body.data, message->body.len);
    assert_true(strlen(message->cursor) < CURSOR_MAX);
    snprintf(seen->cursor, CURSOR_MAX, "%s", message->cursor);
    snprintf(seen->reason, TEXT_MAX, "%s", message->reason);
    seen->slot = message->slot;
    seen->state = message->state;
    seen->priority = message->priority;
    seen->due_at_ms = message->due_at_ms;
    return visit->count != visit->limit;
}

static struct visit visits[2];

static const struct visit *visited_into(struct visit *visit, smq_layout layout,
                                        const smq_filter *filter)
{
    smq_error err;

    assert_ok(smq_message_each(client, names[layout], filter, note, visit, &err), &err);
    return visit;
}

static const struct visit *visited(smq_layout layout, const smq_filter *filter)
{
    visits[0].count = visits[0].limit = 0;
    return visited_into(&visits[0], layout, filter);
}

static void messages_come_slot_by_slot_in_their_order(void **state)
{
    for (EACH_LAYOUT(layout)) {
        const struct visit *visit;

        topic_with(SMQ_TYPE_PRIORITY, layout, SLOTS);
        for (int i = 0; i < 300; i++) {
            char text[16];
            smq_message message;

            snprintf(text, sizeof(text), "m-%d", i);
            message = named(layout, smq_text(text));
            message.priority = i * 7 % 10;
            (void) messages_send_by(producer, names[layout], &message);
        }
        visit = visited(layout, NULL);
        assert_int_equal(visit->count, 300);
        for (size_t i = 1; i < visit->count; i++) {
            const struct seen *seen = &visit->seen[i], *before = seen - 1;

            assert_true(seen->slot >= before->slot);
            assert_true(seen->slot > before->slot || seen->priority <= before->priority);
            if (seen->slot == before->slot && seen->priority == before->priority) {
                assert_true(atoi(seen->body + 2) > atoi(before->body + 2));
            }
        }
    }
}

/* In pieces of every size the same messages come, in the same order. */
static void a_cursor_goes_on_where_it_was_given(void **state)
{
    static const size_t pieces[] = {1, 7, 256};

    for (EACH_LAYOUT(layout)) {
        struct visit *parts = &visits[1];
        const struct visit *whole;

        topic_with(SMQ_TYPE_FIXED_TIME, layout, SLOTS);
        bury_many(layout, 100);
        send_many(layout, 200, HOUR_MS);
        smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_WAITING | SMQ_STATE_DEAD);
        whole = visited(layout, &filter);
        assert_int_equal(whole->count, 300);
        for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
            size_t before;

            parts->count = 0;
            filter.cursor = NULL;
            filter.limit = pieces[p];
            do {
                before = parts->count;
                parts->limit = 0;
                visited_into(parts, layout, &filter);
                assert_true(parts->count - before <= pieces[p]);
                filter.cursor = parts->seen[parts->count - 1].cursor;
            } while (parts->count > before);
            assert_int_equal(parts->count, whole->count);
            assert_memory_equal(parts->seen, whole->seen, whole->count * sizeof(whole->seen[0]));
        }
    }
}

/* What was seen last may be gone, or be a name of any bytes. */
static void a_cursor_stands_what_happens_meanwhile(void **state)
{
    for (EACH_LAYOUT(layout)) {
        char odd[] = "% \n:\x80";
        smq_message message = named(layout, (smq_bytes){odd, 5});
        smq_error err;
        char cursor[CURSOR_MAX];

        topic_with(SMQ_TYPE_FIXED_TIME, layout, 1);
        message.due_at_ms = 3000000000000;
        (void) messages_send_by(producer, names[layout], &message);
        message = named(layout, smq_text("later"));
        message.due_at_ms = 4000000000000;
        (void) messages_send_by(producer, names[layout], &message);
        smq_filter filter = SMQ_FILTER(.limit = 1);
        snprintf(cursor, CURSOR_MAX, "%s", visited(layout, &filter)->seen[0].cursor);
        assert_memory_equal(visits[0].seen[0].body, odd, 6);
        filter.cursor = cursor;
        assert_string_equal(visited(layout, &filter)->seen[0].body, "later");
        message = named(layout, (smq_bytes){odd, 5});
        assert_ok(smq_message_remove(client, names[layout], MESSAGE_SENT(&message), &err), &err);
        assert_string_equal(visited(layout, &filter)->seen[0].body, "later");
    }
}

static bool filtered_is(smq_layout layout, const smq_filter *filter, const char *expected)
{
    const struct visit *visit = visited(layout, filter);
    char list[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < visit->count && used < sizeof(list); i++) {
        used += (size_t) snprintf(list + used, sizeof(list) - used, "%s%s", used > 0 ? "," : "",
                                  visit->seen[i].body);
    }
    if (strcmp(list, expected) != 0) {
        print_error("%s: got %s, not %s\n", names[layout], list, expected);
        return false;
    }
    return true;
}

static void only_what_passes_the_filter_is_shown(void **state)
{
    for (EACH_LAYOUT(layout)) {
        smq_filter filter = SMQ_FILTER_INIT;
        smq_message which = named(layout, smq_text("m-2"));

        topic_with(SMQ_TYPE_FIXED_TIME, layout, 1);
        bury_many(layout, 4);
        send_many(layout, 3, HOUR_MS);
        assert_true(filtered_is(layout, &filter, "m-0,m-1,m-2"));
        filter.contains = "-1";
        assert_true(filtered_is(layout, &filter, "m-1"));
        filter.contains = "%d";
        assert_true(filtered_is(layout, &filter, ""));
        filter.contains = "";
        filter.which = MESSAGE_SENT(&which);
        assert_true(filtered_is(layout, &filter, "m-2"));
        filter.states = SMQ_STATE_WAITING | SMQ_STATE_CLAIMED | SMQ_STATE_RESTING | SMQ_STATE_DEAD;
        assert_true(filtered_is(layout, &filter, "m-2,m-2"));
        filter.which = NULL;
        filter.older_than_ms = 1; /* what waits is due in an hour */
        filter.reason = "odd";
        assert_true(filtered_is(layout, &filter, "m-1,m-3"));
        filter.limit = 1;
        assert_true(filtered_is(layout, &filter, "m-1"));
        filter.reason = NULL;
        filter.limit = 0;
        filter.reason_is = "odd";
        assert_true(filtered_is(layout, &filter, ""));
        filter.reason_is = "it is odd";
        assert_true(filtered_is(layout, &filter, "m-1,m-3"));
        filter.reason_is = "";
        assert_true(filtered_is(layout, &filter, ""));
        filter.reason_is = NULL;
        filter.older_than_ms = HOUR_MS;
        assert_true(filtered_is(layout, &filter, ""));
    }
}

static void bad_filters_are_refused(void **state)
{
    static const char *const cursors[] = {
        "nonsense",      "9:waiting:1:a", "0:waiting:1:",    "0:nowhere:1:a",
        "0:waiting:x:a", "0:waiting:1",   "0:waiting:1:%zz", "-1:waiting:1:a"};
    smq_filter filter = SMQ_FILTER_INIT;
    uint64_t count = 7;
    smq_error err;

    topic_with(SMQ_TYPE_PRIORITY, SMQ_LAYOUT_INLINE, SLOTS);
    for (size_t i = 0; i < sizeof(cursors) / sizeof(cursors[0]); i++) {
        filter.cursor = cursors[i];
        assert_int_equal(smq_message_each(client, "inline", &filter, note, NULL, &err),
                         SMQ_INVALID);
        assert_non_null(strstr(err.text, cursors[i]));
    }
    filter.cursor = NULL;
    filter.older_than_ms = 1; /* priorities have no time */
    assert_int_equal(smq_message_each(client, "inline", &filter, note, NULL, &err), SMQ_WRONG_TYPE);
    filter.older_than_ms = -1;
    assert_int_equal(smq_message_each(client, "inline", &filter, note, NULL, &err), SMQ_INVALID);
    filter.older_than_ms = 0;
    filter.states = 16;
    assert_int_equal(smq_message_each(client, "inline", &filter, note, NULL, &err), SMQ_INVALID);
    filter.states = 0;
    assert_int_equal(smq_topic_purge(client, "inline", &filter, &count, NULL, NULL, &err),
                     SMQ_INVALID);
    assert_int_equal(count, 0);
    assert_int_equal(smq_topic_purge(client, "inline", NULL, &count, NULL, NULL, &err),
                     SMQ_INVALID);
    filter.states = SMQ_STATE_WAITING | SMQ_STATE_CLAIMED;
    assert_int_equal(smq_topic_purge(client, "inline", &filter, NULL, NULL, NULL, &err),
                     SMQ_INVALID);
    filter.states = SMQ_STATE_WAITING;
    filter.rate_per_s = -1;
    assert_int_equal(smq_topic_purge(client, "inline", &filter, NULL, NULL, NULL, &err),
                     SMQ_INVALID);
    filter.rate_per_s = 0;
    filter.reason = filter.reason_is = "it is odd";
    assert_int_equal(smq_dead_requeue(client, "inline", &filter, NULL, NULL, NULL, &err),
                     SMQ_INVALID);
    filter.reason = NULL;
    filter.struct_size = 0;
    assert_int_equal(smq_dead_requeue(client, "inline", &filter, NULL, NULL, NULL, &err),
                     SMQ_INVALID);
    assert_int_equal(smq_message_each(client, "inline", NULL, NULL, NULL, &err), SMQ_INVALID);
    assert_int_equal(smq_message_each(client, "none", NULL, note, NULL, &err), SMQ_NO_TOPIC);
}

/* --- a large topic --- */

enum { LARGE = 200000, PER_COMMAND = 1000, LOOKED_AT = 256 };

static bool count_up(const smq_message_info *message, void *user)
{
    (void) message;
    ++*(uint64_t *) user;
    return true;
}

/* No call looks at more than a few hundred messages, so none is long, however large the topic is.
 * That is counted, not timed: on a busy machine also the shortest command may be seen to last. */
static void a_large_topic_is_visited_in_short_calls(void **state)
{
    char *command = malloc((size_t) PER_COMMAND * 48 + 64);
    uint64_t seen = 0;
    int64_t before, calls;
    smq_error err;

    topic_with(SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_INLINE, 1);
    for (int i = 0; i < LARGE; i += PER_COMMAND) {
        size_t used = (size_t) sprintf(command, "ZADD inline_0");

        for (int j = i; j < i + PER_COMMAND; j++) { /* a hundred of each time */
            used += (size_t) sprintf(command + used, " %d message-%06d", j / 100, j);
        }
        freeReplyObject(keys_command("inline_0", command));
    }
    free(command);
    before = keys_scripts_run();
    assert_ok(smq_message_each(client, "inline", NULL, count_up, &seen, &err), &err);
    assert_int_equal(seen, LARGE);
    calls = keys_scripts_run() - before;
    assert_true(calls >= LARGE / LOOKED_AT && calls <= LARGE / LOOKED_AT + 10);
    seen = 0;
    smq_filter filter = SMQ_FILTER(.contains = "199999");
    before = keys_scripts_run();
    assert_ok(smq_message_each(client, "inline", &filter, count_up, &seen, &err), &err);
    assert_int_equal(seen, 1);
    calls = keys_scripts_run() - before;
    assert_true(calls >= LARGE / LOOKED_AT && calls <= LARGE / LOOKED_AT + 10);
}

/* Large bodies bound a page by their size. */
static void large_bodies_come_a_few_at_a_time(void **state)
{
    enum { COUNT = 40, SIZE = 60000 };

    for (EACH_LAYOUT(layout)) {
        char *body = malloc(SIZE);
        uint64_t seen = 0;
        smq_error err;

        topic_with(SMQ_TYPE_FIXED_TIME, layout, 1);
        memset(body, 'x', SIZE);
        for (int i = 0; i < COUNT; i++) {
            char id[16];
            smq_message message = named(SMQ_LAYOUT_INLINE, (smq_bytes){body, SIZE});

            body[i] = 'y';
            if (layout == SMQ_LAYOUT_KEYED) {
                snprintf(id, sizeof(id), "m-%d", i);
                message.id = smq_text(id);
            }
            (void) messages_send_by(producer, names[layout], &message);
        }
        assert_ok(smq_message_each(client, names[layout], NULL, count_up, &seen, &err), &err);
        assert_int_equal(seen, COUNT);
        free(body);
    }
}

/* --- requeue --- */

static uint64_t requeued(smq_layout layout, const smq_filter *filter)
{
    uint64_t count = UINT64_MAX;
    smq_error err;

    assert_ok(smq_dead_requeue(client, names[layout], filter, &count, NULL, NULL, &err), &err);
    return count;
}

static void dead_letters_are_requeued_by_filter(void **state)
{
    for (EACH_LAYOUT(layout)) {
        smq_filter filter = SMQ_FILTER_INIT;
        smq_message which = named(layout, smq_text("m-8"));
        const struct visit *visit;

        topic_with(SMQ_TYPE_FIXED_TIME, layout, SLOTS);
        assert_int_equal(requeued(layout, NULL), 0);
        bury_many(layout, 1000);
        filter.states = SMQ_STATE_WAITING; /* ignored */
        filter.which = MESSAGE_SENT(&which);
        assert_int_equal(requeued(layout, &filter), 1);
        assert_int_equal(requeued(layout, &filter), 0);
        filter.which = NULL;
        filter.older_than_ms = HOUR_MS;
        assert_int_equal(requeued(layout, &filter), 0);
        filter.older_than_ms = 0;
        filter.reason = "odd";
        filter.limit = 100;
        assert_int_equal(requeued(layout, &filter), 100);
        filter.limit = 0;
        filter.reason = NULL;
        filter.reason_is = "odd";
        assert_int_equal(requeued(layout, &filter), 0);
        filter.reason_is = "it is odd";
        assert_int_equal(requeued(layout, &filter), 400);
        assert_int_equal(stats_of(layout).dead, 499);
        assert_int_equal(stats_of(layout).waiting, 501);
        filter.reason_is = NULL;
        visit = visited(layout, &filter);
        assert_int_equal(visit->count, 501);
        assert_string_equal(visit->seen[0].reason, "");
        assert_int_equal(requeued(layout, NULL), 499);
        assert_int_equal(stats_of(layout).waiting, 1000);
    }
}

/* A message that dies again and again does not keep the call. */
static void what_dies_again_meanwhile_stays_dead(void **state)
{
    for (EACH_LAYOUT(layout)) {
        struct dying dying = {.layout = layout, .dead = 500};
        smq_consumer *worker;

        topic_with(SMQ_TYPE_FIXED_TIME, layout, 1);
        bury_many(layout, 500);
        worker = rejecting(layout);
        assert_int_equal(requeued(layout, NULL), 500);
        assert_true(wait_until(are_dead, &dying, TIMEOUT_MS));
        smq_consumer_free(worker);
        assert_int_equal(stats_of(layout).rejected, 1000);
    }
}

struct progress {
    uint64_t changed, total, calls, stop_at;
};

static bool note_progress(uint64_t changed, uint64_t total, void *user)
{
    struct progress *progress = user;

    assert_true(changed >= progress->changed);
    progress->changed = changed;
    progress->total = total;
    progress->calls++;
    return changed < progress->stop_at;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void a_requeue_keeps_its_rate_and_tells_how_far_it_is(void **state)
{
    struct progress progress = {.stop_at = UINT64_MAX};
    int64_t began_ms;
    uint64_t count;
    smq_error err;

    topic_with(SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_INLINE, SLOTS);
    bury_many(SMQ_LAYOUT_INLINE, 100);
    smq_filter filter = SMQ_FILTER(.rate_per_s = 100, .limit = 60);
    began_ms = now_ms();
    assert_ok(smq_dead_requeue(client, "inline", &filter, &count, note_progress, &progress, &err),
              &err);
    assert_true(now_ms() - began_ms >= 500); /* no faster: 60, of which the last 10 are free */
    assert_int_equal(count, 60);
    assert_int_equal(progress.changed, 60);
    assert_int_equal(progress.total, 60);
    assert_true(progress.calls >= 2);
    progress = (struct progress){.stop_at = 1};
    filter.limit = 0;
    assert_ok(smq_dead_requeue(client, "inline", &filter, &count, note_progress, &progress, &err),
              &err);
    assert_true(count >= 1 && count < 40);
    assert_int_equal(count, progress.changed);
    assert_int_equal(progress.total, 40);
    assert_int_equal(stats_of(SMQ_LAYOUT_INLINE).dead, 40 - count);
    progress = (struct progress){.stop_at = UINT64_MAX};
    filter.contains = "1"; /* how many have it is not known */
    assert_ok(smq_dead_requeue(client, "inline", &filter, &count, note_progress, &progress, &err),
              &err);
    assert_int_equal(progress.total, 0);
}

/* --- purge --- */

static uint64_t purged(smq_layout layout, const smq_filter *filter)
{
    uint64_t count = UINT64_MAX;
    smq_error err;

    assert_ok(smq_topic_purge(client, names[layout], filter, &count, NULL, NULL, &err), &err);
    return count;
}

static void messages_are_purged_by_state_and_filter(void **state)
{
    for (EACH_LAYOUT(layout)) {
        smq_error err;

        topic_with(SMQ_TYPE_FIXED_TIME, layout, SLOTS);
        bury_many(layout, 500);
        send_many(layout, 1000, HOUR_MS);
        smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_DEAD, .reason = "odd");
        assert_int_equal(purged(layout, &filter), 250);
        filter.reason = NULL;
        filter.states = SMQ_STATE_WAITING | SMQ_STATE_RESTING;
        filter.contains = "m-1";
        assert_int_equal(purged(layout, &filter), 111);
        filter.contains = NULL;
        filter.limit = 9;
        assert_int_equal(purged(layout, &filter), 9);
        assert_int_equal(stats_of(layout).waiting, 880);
        assert_int_equal(stats_of(layout).dead, 250);
        filter.limit = 0;
        filter.states = SMQ_STATE_WAITING | SMQ_STATE_RESTING | SMQ_STATE_DEAD;
        assert_int_equal(purged(layout, &filter), 1130);
        assert_int_equal(purged(layout, &filter), 0);
        for (int i = 0; i < SLOTS; i++) {
            char slot[32];

            snprintf(slot, sizeof(slot), "%s_%d", names[layout], i);
            assert_int_equal(keys_number(slot, "HLEN why{%s}", slot), 1); /* the sentinels */
            assert_int_equal(keys_number(slot, "HLEN body{%s}", slot), layout == SMQ_LAYOUT_KEYED);
        }
        assert_ok(smq_topic_delete(client, names[layout], false, &err), &err);
    }
}

TEST_GROUP(bulk)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(messages_come_slot_by_slot_in_their_order),
        FRESH_CLIENT_TEST(a_cursor_goes_on_where_it_was_given),
        FRESH_CLIENT_TEST(a_cursor_stands_what_happens_meanwhile),
        FRESH_CLIENT_TEST(only_what_passes_the_filter_is_shown),
        FRESH_CLIENT_TEST(bad_filters_are_refused),
        FRESH_CLIENT_TEST(a_large_topic_is_visited_in_short_calls),
        FRESH_CLIENT_TEST(large_bodies_come_a_few_at_a_time),
        FRESH_CLIENT_TEST(dead_letters_are_requeued_by_filter),
        FRESH_CLIENT_TEST(what_dies_again_meanwhile_stays_dead),
        FRESH_CLIENT_TEST(a_requeue_keeps_its_rate_and_tells_how_far_it_is),
        FRESH_CLIENT_TEST(messages_are_purged_by_state_and_filter),
    };

    return cmocka_run_group_tests_name("bulk", tests, cluster_start_masters, cluster_end);
}
