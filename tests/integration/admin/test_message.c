/* test_message.c - one message: found, ranked, removed, rescheduled, on a real cluster, in both
 * layouts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum { HOUR_MS = 3600000 };

static const smq_layout layouts[] = {SMQ_LAYOUT_INLINE, SMQ_LAYOUT_KEYED};
static const char *const names[] = {"inline", "keyed"};

#define EACH_LAYOUT(i)                                                                             \
    size_t i = 0;                                                                                  \
    i < 2;                                                                                         \
    i++

/* --- messages --- */

/* Named by its body, or by its id; then its body is the same text. */
static smq_message named(smq_layout layout, const char *name)
{
    smq_message message = messages_text(name);

    if (layout == SMQ_LAYOUT_KEYED) {
        message.id = smq_text(name);
    }
    return message;
}

static void topic_with(const char *name, smq_topic_type type, smq_layout layout, int32_t slots)
{
    smq_topic_options options = cluster_topic_options(name, type, slots);

    options.layout = layout;
    options.delay_ms = type == SMQ_TYPE_RANGE_MERGE ? HOUR_MS : 0;
    cluster_create_topic(client, &options);
}

static void send_named(const char *topic, smq_layout layout, const char *name, int64_t delay_ms)
{
    smq_message message = named(layout, name);

    message.delay_ms = delay_ms;
    (void) messages_send_by(producer, topic, &message);
}

static smq_message_info *got(const char *topic, const smq_message *which)
{
    smq_message_info *info = NULL;
    smq_error err;

    assert_ok(smq_message_get(client, topic, MESSAGE_SENT(which), &info, &err), &err);
    return info;
}

static smq_state state_of(const char *topic, smq_layout layout, const char *name)
{
    smq_message which = named(layout, name);
    smq_message_info *info = got(topic, &which);
    smq_state state = info->state;

    smq_message_info_free(info);
    return state;
}

/* Its owner made it, if no later one has taken the slot over. */
static void assert_claimed_by_its_owner(const char *topic, const smq_message *which)
{
    char key[64], owner[512];

    snprintf(key, sizeof(key), "slot{%s_0}", topic);
    for (int former = 0; former < 2; former++) {
        smq_message_info *info = got(topic, which);

        keys_text(owner, key, "HGET %s owner", key);
        assert_string_equal(info->claimed_by, former ? "" : owner);
        assert_int_equal(info->claimed_at_ms, 0); /* its lease was not renewed */
        smq_message_info_free(info);
        assert_int_equal(keys_number(key, "HINCRBY %s base 9", key), former ? 18 : 9);
    }
}

static uint64_t rank_of(const char *topic, const smq_message *which)
{
    uint64_t rank = UINT64_MAX;
    smq_error err;

    assert_ok(smq_message_rank(client, topic, MESSAGE_SENT(which), &rank, &err), &err);
    return rank;
}

/* --- consuming --- */

static smq_consumer *consumer_made(const char *topic)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.per_slot = 100);
    return messages_consumer_with(client, &options, topic);
}

/* One message in each state: waits, claimed, rests, dead.  The claimed one is yours. */
static smq_delivery *one_in_each_state(const char *topic, smq_layout layout, smq_consumer *consumer)
{
    smq_delivery *claimed = NULL;
    smq_error err;

    send_named(topic, layout, "waits", HOUR_MS);
    send_named(topic, layout, "claimed", 0);
    send_named(topic, layout, "rests", 0);
    send_named(topic, layout, "dead", 0);
    for (int i = 0; i < 3; i++) {
        smq_delivery *delivery = messages_poll(consumer);
        const smq_message_info *info = smq_delivery_info(delivery);

        if (info->body.len == 7) {
            claimed = delivery;
        } else if (memcmp(info->body.data, "rests", 5) == 0) {
            assert_ok(smq_retry(delivery, HOUR_MS, "not now", &err), &err);
        } else {
            assert_ok(smq_reject(delivery, "no such order", &err), &err);
        }
    }
    assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
    assert_non_null(claimed);
    return claimed;
}

/* --- get --- */

static void assert_shown(const smq_message_info *info, smq_layout layout, const char *name)
{
    assert_string_equal(info->topic, names[layout == SMQ_LAYOUT_KEYED]);
    assert_int_equal(info->body.len, strlen(name));
    assert_memory_equal(info->body.data, name, info->body.len);
    assert_int_equal(info->id.len, strlen(name));
    assert_memory_equal(info->id.data, name, info->id.len);
    assert_int_equal(info->key.data != NULL, layout == SMQ_LAYOUT_KEYED);
    assert_int_equal(info->sent_at_ms > 0, layout == SMQ_LAYOUT_KEYED);
    assert_string_equal(info->cursor, "");
}

static void a_message_is_shown_in_every_state(void **state)
{
    for (EACH_LAYOUT(i)) {
        const char *topic = names[i];
        smq_consumer *consumer;
        smq_delivery *claimed;
        smq_message_info *info;
        smq_message which;
        smq_error err;
        int64_t now;

        topic_with(topic, SMQ_TYPE_FIXED_TIME, layouts[i], 1);
        consumer = consumer_made(topic);
        claimed = one_in_each_state(topic, layouts[i], consumer);
        which = named(layouts[i], "dead");
        info = got(topic, &which);
        assert_shown(info, layouts[i], "dead");
        assert_int_equal(info->state, SMQ_STATE_DEAD);
        assert_string_equal(info->reason, "no such order");
        assert_int_equal(info->attempt, 1);
        assert_int_equal(info->retries_left, 16);
        assert_int_equal(strlen(info->token), 24);
        now = info->dead_at_ms;
        assert_true(now >= info->due_at_ms && info->due_at_ms > 1600000000000);
        smq_message_info_free(info);
        which = named(layouts[i], "waits");
        info = got(topic, &which);
        assert_shown(info, layouts[i], "waits");
        assert_int_equal(info->state, SMQ_STATE_WAITING);
        assert_true(info->due_at_ms > now + HOUR_MS / 2);
        assert_int_equal(info->attempt, 0);
        assert_int_equal(info->dead_at_ms + info->lease_at_ms, 0);
        smq_message_info_free(info);
        which = named(layouts[i], "rests");
        info = got(topic, &which);
        assert_shown(info, layouts[i], "rests");
        assert_int_equal(info->state, SMQ_STATE_RESTING);
        assert_true(info->due_at_ms > now + HOUR_MS / 2);
        assert_int_equal(info->attempt, 1);
        assert_int_equal(info->retries_left, 15);
        smq_message_info_free(info);
        which = named(layouts[i], "claimed");
        info = got(topic, &which);
        assert_shown(info, layouts[i], "claimed");
        assert_int_equal(info->state, SMQ_STATE_CLAIMED);
        assert_true(info->lease_at_ms > info->due_at_ms);
        assert_int_equal(info->attempt, 1);
        smq_message_info_free(info);
        assert_claimed_by_its_owner(topic, &which);
        assert_ok(smq_message_get(client, topic, MESSAGE_SENT(&which), NULL, &err), &err);
        assert_ok(smq_done(claimed, &err), &err);
        smq_consumer_free(consumer);
    }
}

/* A waiting one goes before a claimed one, that before a dead one. */
static void one_that_is_there_twice_is_shown_as_it_waits(void **state)
{
    for (EACH_LAYOUT(i)) {
        const char *topic = names[i];
        smq_consumer *consumer;
        smq_delivery *delivery;
        smq_error err;

        topic_with(topic, SMQ_TYPE_FIXED_TIME, layouts[i], 1);
        consumer = consumer_made(topic);
        send_named(topic, layouts[i], "a", 0);
        assert_ok(smq_reject(messages_poll(consumer), "bad", &err), &err);
        assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
        assert_int_equal(state_of(topic, layouts[i], "a"), SMQ_STATE_DEAD);
        send_named(topic, layouts[i], "a", 0);
        delivery = messages_poll(consumer);
        assert_int_equal(state_of(topic, layouts[i], "a"), SMQ_STATE_CLAIMED);
        send_named(topic, layouts[i], "a", HOUR_MS);
        assert_int_equal(state_of(topic, layouts[i], "a"), SMQ_STATE_WAITING);
        assert_ok(smq_done(delivery, &err), &err);
        smq_consumer_free(consumer);
    }
}

/* Keys and ids of any bytes, a body of its own, its own limits. */
static void a_keyed_message_is_shown_with_all_it_has(void **state)
{
    smq_message message = SMQ_MESSAGE_INIT;
    smq_message_info *info;
    smq_error err;

    topic_with("keyed", SMQ_TYPE_PRIORITY, SMQ_LAYOUT_KEYED, 16);
    message.key = (smq_bytes){"a\0key", 5};
    message.id = (smq_bytes){"\0id", 3};
    message.body = (smq_bytes){"body \0\xff", 7};
    message.priority = -7;
    message.ttl_ms = HOUR_MS;
    message.max_retries = 3;
    (void) messages_send_by(producer, "keyed", &message);
    smq_message which = SMQ_MESSAGE(.key = message.key, .id = message.id);
    info = got("keyed", &which);
    assert_int_equal(info->key.len, 5);
    assert_memory_equal(info->key.data, "a\0key", 5);
    assert_int_equal(info->id.len, 3);
    assert_memory_equal(info->id.data, "\0id", 3);
    assert_int_equal(info->body.len, 7);
    assert_memory_equal(info->body.data, "body \0\xff", 7);
    assert_int_equal(info->priority, -7);
    assert_int_equal(info->due_at_ms, 0);
    assert_int_equal(info->retries_left, 3);
    assert_int_equal(info->expires_at_ms, info->sent_at_ms + HOUR_MS);
    smq_message_info_free(info);
    which.key = (smq_bytes){NULL, 0}; /* another key: another message */
    assert_int_equal(smq_message_get(client, "keyed", MESSAGE_SENT(&which), NULL, &err),
                     SMQ_NO_MESSAGE);
}

static void an_unknown_message_is_no_message(void **state)
{
    smq_message which;
    uint64_t rank;
    smq_error err;

    for (EACH_LAYOUT(i)) {
        smq_message_info *info = (smq_message_info *) &err;

        topic_with(names[i], SMQ_TYPE_FIXED_TIME, layouts[i], 4);
        send_named(names[i], layouts[i], "there", 0);
        which = named(layouts[i], "not there");
        assert_int_equal(smq_message_get(client, names[i], MESSAGE_SENT(&which), &info, &err),
                         SMQ_NO_MESSAGE);
        assert_ptr_equal(info, &err); /* untouched */
        assert_int_equal(smq_message_rank(client, names[i], MESSAGE_SENT(&which), &rank, &err),
                         SMQ_NO_MESSAGE);
        assert_int_equal(smq_message_remove(client, names[i], MESSAGE_SENT(&which), &err),
                         SMQ_NO_MESSAGE);
        assert_int_equal(
            smq_message_reschedule(client, names[i], MESSAGE_SENT(&which), &which, &err),
            SMQ_NO_MESSAGE);
        assert_non_null(strstr(err.text, names[i]));
        assert_int_equal(smq_message_get(client, "none", MESSAGE_SENT(&which), NULL, &err),
                         SMQ_NO_TOPIC);
        assert_int_equal(smq_message_get(client, names[i], NULL, NULL, &err), SMQ_INVALID);
    }
    which = SMQ_MESSAGE();
    assert_int_equal(smq_message_get(client, "inline", MESSAGE_SENT(&which), NULL, &err),
                     SMQ_INVALID);
    assert_non_null(strstr(err.text, "body"));
    which.body = (smq_bytes){"there", 5};
    assert_int_equal(smq_message_get(client, "keyed", MESSAGE_SENT(&which), NULL, &err),
                     SMQ_INVALID);
    assert_non_null(strstr(err.text, "id"));
    assert_int_equal(
        smq_message_get(client, "inline", &(smq_message_ref){.body = {"a", 1}}, NULL, &err),
        SMQ_INVALID);
    assert_int_equal(smq_message_rank(client, "inline", MESSAGE_SENT(&which), NULL, &err),
                     SMQ_INVALID);
    smq_message_info_free(NULL);
}

static bool count_any(const smq_message_info *message, void *user)
{
    (void) message;
    ++*(int *) user;
    return true;
}

static void a_message_of_one_byte_is_found(void **state)
{
    for (EACH_LAYOUT(i)) {
        smq_message which = named(layouts[i], "a");
        smq_filter filter = SMQ_FILTER(.which = MESSAGE_SENT(&which));
        smq_error err;
        int count = 0;

        topic_with(names[i], SMQ_TYPE_FIXED_TIME, layouts[i], 4);
        send_named(names[i], layouts[i], "a", HOUR_MS);
        send_named(names[i], layouts[i], "b", HOUR_MS);
        assert_int_equal(state_of(names[i], layouts[i], "a"), SMQ_STATE_WAITING);
        assert_ok(smq_message_each(client, names[i], &filter, count_any, &count, &err), &err);
        assert_int_equal(count, 1);
    }
}

/* Among more than one look takes. */
static void a_dead_letter_is_found_among_thousands(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 1);
    smq_message which = messages_text("body-4321");
    smq_message_info *info;
    smq_error err;

    cluster_create_topic(client, &options);
    for (int i = 0; i < 5000; i += 500) {
        char command[32 * 500] = "ZADD dead{t_0}";
        size_t used = strlen(command);

        for (int j = i; j < i + 500; j++) {
            used += (size_t) snprintf(command + used, sizeof(command) - used, " %d %dd:body-%d",
                                      1000 + j, j, j);
        }
        freeReplyObject(keys_command("t_0", command));
    }
    info = got("t", &which);
    assert_int_equal(info->dead_at_ms, 5321);
    assert_int_equal(info->due_at_ms, 4321);
    smq_message_info_free(info);
    which = messages_text("body-5000");
    assert_int_equal(smq_message_get(client, "t", MESSAGE_SENT(&which), NULL, &err),
                     SMQ_NO_MESSAGE);
}

/* --- remove --- */

static void all_but_claimed_messages_are_removed(void **state)
{
    static const char *const gone[] = {"waits", "rests", "dead"};

    for (EACH_LAYOUT(i)) {
        const char *topic = names[i];
        smq_consumer *consumer;
        smq_delivery *claimed;
        smq_message which;
        char slot[32];
        smq_error err;

        topic_with(topic, SMQ_TYPE_FIXED_TIME, layouts[i], 1);
        consumer = consumer_made(topic);
        claimed = one_in_each_state(topic, layouts[i], consumer);
        for (size_t j = 0; j < 3; j++) {
            which = named(layouts[i], gone[j]);
            assert_ok(smq_message_remove(client, topic, MESSAGE_SENT(&which), &err), &err);
            assert_int_equal(smq_message_get(client, topic, MESSAGE_SENT(&which), NULL, &err),
                             SMQ_NO_MESSAGE);
        }
        which = named(layouts[i], "claimed");
        assert_int_equal(smq_message_remove(client, topic, MESSAGE_SENT(&which), &err),
                         SMQ_IN_WORK);
        assert_ok(smq_delivery_check(claimed), &err);
        assert_ok(smq_done(claimed, &err), &err);
        assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
        smq_consumer_free(consumer);
        snprintf(slot, sizeof(slot), "%s_0", topic);
        assert_int_equal(keys_number(slot, "HLEN why{%s}", slot), 1); /* the sentinels */
        assert_int_equal(keys_number(slot, "HLEN body{%s}", slot), (int) i);
        assert_ok(smq_topic_delete(client, topic, false, &err), &err);
    }
}

/* --- reschedule --- */

static void a_rescheduled_message_comes_at_once(void **state)
{
    for (EACH_LAYOUT(i)) {
        const char *topic = names[i];
        smq_message which = named(layouts[i], "a");
        smq_consumer *consumer;
        smq_error err;

        topic_with(topic, SMQ_TYPE_RANGE_MERGE, layouts[i], 1);
        consumer = consumer_made(topic);
        send_named(topic, layouts[i], "a", HOUR_MS);
        which.delay_ms = 0;
        assert_ok(smq_message_reschedule(client, topic, MESSAGE_SENT(&which), &which, &err), &err);
        assert_ok(smq_done(messages_poll(consumer), &err), &err);
        smq_consumer_free(consumer);
    }
}

static void a_message_gets_another_time_or_priority(void **state)
{
    smq_message which = named(SMQ_LAYOUT_KEYED, "a");
    smq_message_info *info;
    smq_error err;

    topic_with("times", SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_KEYED, 4);
    send_named("times", SMQ_LAYOUT_KEYED, "a", HOUR_MS);
    which.due_at_ms = 4000000000000;
    assert_ok(smq_message_reschedule(client, "times", MESSAGE_SENT(&which), &which, &err), &err);
    info = got("times", &which);
    assert_int_equal(info->due_at_ms, 4000000000000);
    smq_message_info_free(info);
    which.delay_ms = 1; /* not both */
    assert_int_equal(smq_message_reschedule(client, "times", MESSAGE_SENT(&which), &which, &err),
                     SMQ_INVALID);
    which = named(SMQ_LAYOUT_KEYED, "a");
    which.priority = 1;
    assert_int_equal(smq_message_reschedule(client, "times", MESSAGE_SENT(&which), &which, &err),
                     SMQ_WRONG_TYPE);
    topic_with("priorities", SMQ_TYPE_PRIORITY, SMQ_LAYOUT_KEYED, 1);
    send_named("priorities", SMQ_LAYOUT_KEYED, "a", 0);
    send_named("priorities", SMQ_LAYOUT_KEYED, "b", 0);
    which.priority = -8191;
    assert_ok(smq_message_reschedule(client, "priorities", MESSAGE_SENT(&which), &which, &err),
              &err);
    assert_int_equal(rank_of("priorities", &which), 1);
    which.priority = 8191;
    assert_ok(smq_message_reschedule(client, "priorities", MESSAGE_SENT(&which), &which, &err),
              &err);
    assert_int_equal(rank_of("priorities", &which), 0);
    which.priority = 8192;
    assert_int_equal(
        smq_message_reschedule(client, "priorities", MESSAGE_SENT(&which), &which, &err),
        SMQ_INVALID);
    info = got("priorities", &which);
    assert_int_equal(info->priority, 8191);
    smq_message_info_free(info);
}

static void only_waiting_messages_are_rescheduled_and_ranked(void **state)
{
    static const char *const cases[] = {"claimed", "rests", "dead"};

    for (EACH_LAYOUT(i)) {
        const char *topic = names[i];
        smq_consumer *consumer;
        smq_delivery *claimed;
        uint64_t rank = 7;
        smq_error err;

        topic_with(topic, SMQ_TYPE_FIXED_TIME, layouts[i], 1);
        consumer = consumer_made(topic);
        claimed = one_in_each_state(topic, layouts[i], consumer);
        for (size_t j = 0; j < 3; j++) {
            smq_message which = named(layouts[i], cases[j]);
            smq_status expected = j == 0 ? SMQ_IN_WORK : SMQ_NO_MESSAGE;

            assert_int_equal(
                smq_message_reschedule(client, topic, MESSAGE_SENT(&which), &which, &err),
                expected);
            assert_int_equal(smq_message_rank(client, topic, MESSAGE_SENT(&which), &rank, &err),
                             expected);
            assert_int_equal(rank, 7);
        }
        assert_ok(smq_release(claimed, 0, &err), &err);
        smq_consumer_free(consumer);
    }
    topic_with("fifo", SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, 1);
    send_named("fifo", SMQ_LAYOUT_KEYED, "a", 0);
    {
        smq_message which = named(SMQ_LAYOUT_KEYED, "a");
        smq_error err;

        assert_int_equal(smq_message_reschedule(client, "fifo", MESSAGE_SENT(&which), &which, &err),
                         SMQ_WRONG_TYPE);
    }
}

/* --- reasons --- */

static void flushed(smq_consumer *consumer)
{
    smq_error err;

    assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
}

static void assert_failed(const char *topic, const smq_message *which, smq_state state,
                          const char *reason)
{
    smq_message_info *info = got(topic, which);

    assert_int_equal(info->state, state);
    assert_string_equal(info->reason, reason);
    smq_message_info_free(info);
}

static bool count_seen(const smq_message_info *message, void *user)
{
    assert_string_equal(message->reason, "not now");
    ++*(int *) user;
    return true;
}

/* Of those in these states, how many have "not" in the reason? */
static int not_now_count(const char *topic, unsigned states)
{
    smq_error err;
    int count = 0;

    smq_filter filter = SMQ_FILTER(.states = states, .reason = "not");
    assert_ok(smq_message_each(client, topic, &filter, count_seen, &count, &err), &err);
    return count;
}

/* Nothing but the sentinels. */
static void assert_no_reason_is_left(const char *topic, int32_t slots)
{
    for (int32_t i = 0; i < slots; i++) {
        char key[64];

        snprintf(key, sizeof(key), "why{%s_%d}", topic, (int) i);
        assert_int_equal(keys_number(key, "HLEN %s", key), 1);
    }
}

/* While it is claimed, rests and waits; done, it is unknown. */
static void the_last_reason_is_shown_until_it_is_done(void **state)
{
    for (EACH_LAYOUT(i)) {
        const char *topic = names[i];
        smq_message which = named(layouts[i], "a");
        smq_delivery *delivery;
        smq_consumer *consumer;
        smq_error err;

        topic_with(topic, SMQ_TYPE_FIXED_TIME, layouts[i], 4);
        consumer = consumer_made(topic);
        send_named(topic, layouts[i], "a", 0);
        assert_ok(smq_retry(messages_poll(consumer), 1, "at first", &err), &err);
        delivery = messages_poll(consumer);
        assert_failed(topic, &which, SMQ_STATE_CLAIMED, "at first");
        assert_ok(smq_topic_pause(client, topic, &err), &err);
        assert_ok(smq_retry(delivery, 0, "not now", &err), &err);
        flushed(consumer);
        assert_failed(topic, &which, SMQ_STATE_WAITING, "not now");
        assert_int_equal(not_now_count(topic, SMQ_STATE_WAITING), 1);
        assert_ok(smq_topic_resume(client, topic, &err), &err);
        assert_ok(smq_release(messages_poll(consumer), HOUR_MS, &err), &err);
        flushed(consumer);
        assert_failed(topic, &which, SMQ_STATE_RESTING, "not now");
        assert_int_equal(not_now_count(topic, SMQ_STATE_RESTING | SMQ_STATE_WAITING), 1);
        assert_ok(smq_message_remove(client, topic, MESSAGE_SENT(&which), &err), &err);
        assert_no_reason_is_left(topic, 4);
        send_named(topic, layouts[i], "a", 0);
        delivery = messages_poll(consumer);
        assert_failed(topic, &which, SMQ_STATE_CLAIMED, "");
        assert_ok(smq_retry(delivery, 0, "not now", &err), &err);
        assert_ok(smq_done(messages_poll(consumer), &err), &err);
        flushed(consumer);
        assert_int_equal(smq_message_get(client, topic, MESSAGE_SENT(&which), NULL, &err),
                         SMQ_NO_MESSAGE);
        assert_no_reason_is_left(topic, 4);
        smq_consumer_free(consumer);
    }
}

static void a_dead_letter_keeps_its_last_reason(void **state)
{
    for (EACH_LAYOUT(i)) {
        const char *topic = names[i];
        smq_topic_options options = cluster_topic_options(topic, SMQ_TYPE_PRIORITY, 1);
        smq_message which = named(layouts[i], "a");
        smq_consumer *consumer;
        smq_error err;

        options.layout = layouts[i];
        options.max_retries = 1;
        cluster_create_topic(client, &options);
        consumer = consumer_made(topic);
        send_named(topic, layouts[i], "a", 0);
        assert_ok(smq_retry(messages_poll(consumer), 0, "at first", &err), &err);
        assert_ok(smq_retry(messages_poll(consumer), 0, "not now", &err), &err);
        flushed(consumer);
        assert_failed(topic, &which, SMQ_STATE_DEAD, "not now");
        assert_ok(smq_topic_pause(client, topic, &err), &err);
        assert_ok(smq_dead_requeue(client, topic, NULL, NULL, NULL, NULL, &err), &err);
        assert_failed(topic, &which, SMQ_STATE_WAITING, "");
        smq_consumer_free(consumer);
    }
}

/* --- rank --- */

enum { RANKED = 1000, RANK_SLOTS = 64 };

struct ranked {
    char id[16];
    int32_t slot;
    int64_t place; /* smaller comes first */
    uint64_t in_slot;
};

struct ranking {
    struct ranked list[RANKED];
    size_t count;
    bool by_priority;
};

static bool rank_seen(const smq_message_info *message, void *user)
{
    struct ranking *ranking = user;
    struct ranked *ranked = &ranking->list[ranking->count];
    const struct ranked *before = ranking->count > 0 ? ranked - 1 : NULL;

    snprintf(ranked->id, sizeof(ranked->id), "%.*s", (int) message->id.len,
             (const char *) message->id.data);
    ranked->slot = message->slot;
    ranked->place = ranking->by_priority ? -message->priority : message->due_at_ms;
    ranked->in_slot = before != NULL && before->slot == message->slot ? before->in_slot + 1 : 0;
    ranking->count++;
    return ranking->count < RANKED;
}

static uint64_t rank_expected(const struct ranking *ranking, size_t index, bool own_slot_only)
{
    const struct ranked *ranked = &ranking->list[index];
    uint64_t rank = ranked->in_slot;

    for (size_t i = 0; i < ranking->count && !own_slot_only; i++) {
        const struct ranked *other = &ranking->list[i];

        rank += other->slot != ranked->slot && other->place < ranked->place;
    }
    return rank;
}

static void check_ranks(const char *topic, smq_topic_type type, smq_layout layout, smq_ties ties)
{
    smq_topic_options options = cluster_topic_options(topic, type, RANK_SLOTS);
    static struct ranking ranking;
    static smq_message messages[RANKED];
    static char ids[RANKED][16];
    smq_error err;

    options.layout = layout;
    options.ties = ties;
    cluster_create_topic(client, &options);
    for (int i = 0; i < RANKED; i++) {
        snprintf(ids[i], sizeof(ids[i]), "m-%d", i);
        messages[i] = named(layout, ids[i]);
        messages[i].priority = type == SMQ_TYPE_PRIORITY ? i * 7 % 20 - 10 : 0;
        messages[i].due_at_ms = type == SMQ_TYPE_FIXED_TIME ? 4000000000000 + i * 7 % 100 : 0;
        messages[i].delay_ms = type == SMQ_TYPE_RANGE_MERGE ? HOUR_MS + i * 7 % 100 : 0;
    }
    assert_ok(smq_send_batch(producer, topic, messages, RANKED, NULL, &err), &err);
    ranking = (struct ranking){.by_priority = type == SMQ_TYPE_PRIORITY};
    assert_ok(smq_message_each(client, topic, NULL, rank_seen, &ranking, &err), &err);
    assert_int_equal(ranking.count, RANKED);
    for (size_t i = 0; i < RANKED; i++) {
        smq_message which = named(layout, ranking.list[i].id);

        assert_int_equal(rank_of(topic, &which), rank_expected(&ranking, i, type == SMQ_TYPE_FIFO));
    }
}

static void ranks_are_right_over_all_slots(void **state)
{
    check_ranks("r1", SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_INLINE, SMQ_TIES_ARRIVAL);
    check_ranks("r2", SMQ_TYPE_RANGE_MERGE, SMQ_LAYOUT_KEYED, SMQ_TIES_ARRIVAL);
    check_ranks("r3", SMQ_TYPE_PRIORITY, SMQ_LAYOUT_INLINE, SMQ_TIES_ARRIVAL);
    check_ranks("r4", SMQ_TYPE_PRIORITY, SMQ_LAYOUT_KEYED, SMQ_TIES_BYTES);
    check_ranks("r5", SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, SMQ_TIES_ARRIVAL);
}

TEST_GROUP(message)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(a_message_is_shown_in_every_state),
        FRESH_CLIENT_TEST(one_that_is_there_twice_is_shown_as_it_waits),
        FRESH_CLIENT_TEST(a_keyed_message_is_shown_with_all_it_has),
        FRESH_CLIENT_TEST(an_unknown_message_is_no_message),
        FRESH_CLIENT_TEST(a_message_of_one_byte_is_found),
        FRESH_CLIENT_TEST(a_dead_letter_is_found_among_thousands),
        FRESH_CLIENT_TEST(all_but_claimed_messages_are_removed),
        FRESH_CLIENT_TEST(a_rescheduled_message_comes_at_once),
        FRESH_CLIENT_TEST(a_message_gets_another_time_or_priority),
        FRESH_CLIENT_TEST(only_waiting_messages_are_rescheduled_and_ranked),
        FRESH_CLIENT_TEST(the_last_reason_is_shown_until_it_is_done),
        FRESH_CLIENT_TEST(a_dead_letter_keeps_its_last_reason),
        FRESH_CLIENT_TEST(ranks_are_right_over_all_slots),
    };

    return cmocka_run_group_tests_name("message", tests, cluster_start_masters, cluster_end);
}
