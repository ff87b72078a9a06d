/* test_topic_requests.c - administration against a fake of the Redis client: what happens between
 * two steps, and to replies that are lost. */
#include <stdio.h>
#include <string.h>

#include <slotmq/admin.h>
#include <slotmq/topic.h>

#include "scripts.h"
#include "support/group.h"
#include "unit/fixture/fake_redis.h"

enum { SLOTS = 4 };

/* --- a model of one topic --- */

static struct model {
    char state[16]; /* "": no topic */
    bool sealed[SLOTS];
    uint64_t late; /* messages that a seal of slot 2 finds, but a look before does not */
    int lost;      /* this many replies of scripts are lost; -1: all */
    bool full;     /* the server of the definition is */
    int unseals, clears, pauses;
} model;

static redisReply *answer_of(const char *word, size_t count)
{
    redisReply *reply = fake_array(count);

    fake_put(reply, 0, fake_text(word));
    return reply;
}

static redisReply *serve_get(void)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.name = "t", .type = SMQ_TYPE_FIXED_TIME, .slots = SLOTS);
    return model.state[0] != '\0' ? fake_topic_of(&options, model.state) : fake_array(0);
}

static redisReply *serve_plain(const struct redis_command *command)
{
    return fake_arg_is(command, 0, "HGETALL") ? serve_get() : fake_integer(1);
}

static redisReply *serve_topic(const struct redis_command *command)
{
    size_t verb = fake_argv(command, SCRIPT_TOPIC_ARGV_VERB);

    if (fake_arg_is(command, verb, "delete")) {
        redisReply *reply = answer_of("OK", 2);

        snprintf(model.state, sizeof(model.state), "deleting");
        fake_put(reply, 1, fake_integer(1));
        return reply;
    } else if (fake_arg_is(command, verb, "keep")) {
        snprintf(model.state, sizeof(model.state), "ready");
    } else if (fake_arg_is(command, verb, "removed")) {
        model.state[0] = '\0';
    }
    return answer_of("OK", 1);
}

static redisReply *serve_inspect(void)
{
    redisReply *reply = answer_of("OK", 34);

    for (size_t i = 1; i < 34; i++) {
        bool is_text = (i >= 7 && i <= 10) || (i >= 14 && i <= 16);

        fake_put(reply, i, is_text ? fake_text("") : fake_integer(0));
    }
    return reply;
}

static redisReply *serve_seal(int32_t slot)
{
    redisReply *reply;

    if (slot == 2 && model.late > 0) {
        reply = answer_of("NOT_EMPTY", 2);
        fake_put(reply, 1, fake_integer((int64_t) model.late));
        return reply;
    }
    model.sealed[slot] = true;
    return answer_of("OK", 1);
}

static redisReply *serve_clear(void)
{
    redisReply *reply = answer_of("OK", 2);

    fake_put(reply, 1, fake_integer(model.clears++ < 10)); /* more, at first */
    return reply;
}

static int32_t slot_of(const struct redis_command *command)
{
    size_t len;
    const char *key = fake_arg(command, 0, &len); /* t_N, or slot{t_N} */

    return key[len - (key[len - 1] == '}' ? 2 : 1)] - '0';
}

static redisReply *serve_script(const struct redis_command *command)
{
    const char *name = command->script->name;

    if (strcmp(name, "topic") == 0) {
        return serve_topic(command);
    } else if (strcmp(name, "slot_read") == 0) {
        return fake_slot_notes(0);
    } else if (strcmp(name, "inspect") == 0) {
        return serve_inspect();
    } else if (strcmp(name, "slot_seal") == 0) {
        return serve_seal(slot_of(command));
    } else if (strcmp(name, "slot_unseal") == 0) {
        model.unseals++;
        model.sealed[slot_of(command)] = false;
    } else if (strcmp(name, "slot_clear") == 0) {
        return serve_clear();
    } else if (strcmp(name, "slot_pause") == 0) {
        model.pauses++;
    }
    return answer_of("OK", 1);
}

static bool serve(const struct redis_command *command, struct fake_answer *answer)
{
    answer->reply = command->script == NULL ? serve_plain(command) : serve_script(command);
    if (command->script != NULL && model.lost != 0) {
        model.lost -= model.lost > 0 ? 1 : 0;
        freeReplyObject(answer->reply);
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
    } else if (command->script != NULL && model.full &&
               strcmp(command->script->name, "topic") == 0) {
        freeReplyObject(answer->reply);
        *answer = (struct fake_answer){.outcome = REDIS_NOT_DONE, .status = SMQ_FULL};
    }
    return true;
}

static smq_client *client;

static int set_up(void **state)
{
    model.late = 0;
    model.full = false;
    model.lost = model.unseals = model.clears = model.pauses = 0;
    memset(model.sealed, 0, sizeof(model.sealed));
    snprintf(model.state, sizeof(model.state), "ready");
    client = fake_client(serve, NULL);
    return 0;
}

/* --- tests --- */

static void a_deletion_that_finds_messages_is_taken_back(void **state)
{
    smq_error err;

    model.late = 3;
    assert_int_equal(smq_topic_delete(client, "t", false, &err), SMQ_NOT_EMPTY);
    assert_non_null(strstr(err.text, "3 messages"));
    assert_string_equal(model.state, "ready");
    for (int i = 0; i < SLOTS; i++) {
        assert_false(model.sealed[i]);
    }
    assert_int_equal(model.clears, 0);
}

static void an_empty_topic_is_cleared_until_nothing_is_left(void **state)
{
    smq_error err;

    assert_int_equal(smq_topic_delete(client, "t", false, &err), SMQ_OK);
    assert_string_equal(model.state, "");
    assert_int_equal(model.clears, 10 + SLOTS);
    assert_int_equal(model.unseals, 0);
}

static void lost_replies_are_asked_for_again(void **state)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    model.lost = 2;
    assert_int_equal(smq_topic_stats(client, "t", &stats, &err), SMQ_OK);
    assert_int_equal(model.lost, 0);
    model.lost = -1;
    assert_int_equal(smq_topic_stats(client, "t", &stats, &err), SMQ_UNKNOWN);
    assert_int_equal(smq_topic_delete(client, "t", true, &err), SMQ_UNKNOWN);
}

static void a_pause_that_is_not_stored_reaches_no_slot(void **state)
{
    smq_error err;

    model.full = true;
    assert_int_equal(smq_topic_pause(client, "t", &err), SMQ_FULL);
    assert_int_equal(model.pauses, 0);
}

static void a_client_without_servers_is_refused(void **state)
{
    static const smq_status cases[] = {SMQ_UNAVAILABLE, SMQ_DENIED, SMQ_BAD_SERVER};
    smq_client *other = NULL;
    smq_error err;

    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = "redis://user:secret@fake:1");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_connects(cases[i]);
        assert_int_equal(smq_client_new(&other, &options, &err), cases[i]);
        assert_null(other);
    }
    fake_connects(SMQ_TIMED_OUT); /* nothing is ever said */
    options.connect_timeout_ms = 20;
    assert_int_equal(smq_client_new(&other, &options, &err), SMQ_UNAVAILABLE);
    assert_non_null(strstr(err.text, "fake:1 within 20 ms"));
    assert_null(strstr(err.text, "secret"));
}

#define ADMIN_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, fake_tear_down)

TEST_GROUP(topic_requests)
{
    const struct CMUnitTest tests[] = {
        ADMIN_TEST(a_deletion_that_finds_messages_is_taken_back),
        ADMIN_TEST(an_empty_topic_is_cleared_until_nothing_is_left),
        ADMIN_TEST(lost_replies_are_asked_for_again),
        ADMIN_TEST(a_pause_that_is_not_stored_reaches_no_slot),
        ADMIN_TEST(a_client_without_servers_is_refused),
    };

    return cmocka_run_group_tests_name("topic_requests", tests, NULL, NULL);
}
