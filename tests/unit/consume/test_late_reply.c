/* test_late_reply.c - a claim or a renewal whose reply lay about for longer than it is good for, as
 * after a stop of the process: how old it is counts from the question. */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <slotmq/consumer.h>
#include <slotmq/topic.h>

#include "base/clock.h"
#include "scripts.h"
#include "support/group.h"
#include "support/wait.h"
#include "unit/fixture/fake_redis.h"

enum { WAIT_MS = 30000, LEASE_MS = 500, TOPIC_LEASE_MS = 600000 };

/* A topic of one slot and one message. */
static struct model {
    pthread_mutex_t lock;
    bool shared;
    bool hold_consume, hold_renew; /* keep these back */
    const char *held;              /* the script of the call that was kept back last */
    bool claimed;
    int renews; /* that were answered */
    int before; /* this many before the handler began; -1: it has not */
} model = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the server --- */

static redisReply *definition(void)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    options.name = "t";
    options.type = SMQ_TYPE_FIXED_TIME;
    options.shared = model.shared;
    options.slots = 1;
    options.lease_ms = LEASE_MS;
    return fake_topic_of(&options, "ready");
}

/* OK, and numbers. */
static redisReply *numbers(size_t count, const int64_t *number)
{
    redisReply *reply = fake_array(1 + count);

    fake_put(reply, 0, fake_text("OK"));
    for (size_t i = 0; i < count; i++) {
        fake_put(reply, 1 + i, fake_integer(number[i]));
    }
    return reply;
}

/* An answer, if there is one, is done. */
static redisReply *consume(const struct redis_command *command)
{
    bool claim =
        !model.claimed && !fake_arg_is(command, fake_argv(command, SCRIPT_CONSUME_ARGV_N), "0");
    redisReply *reply = fake_array(claim ? 8 : 6);
    bool done = fake_arg_is(command, fake_argv(command, SCRIPT_CONSUME_ARGV_NDONE), "1");

    model.claimed = model.claimed || claim;
    fake_put(reply, 0, fake_text("OK"));
    fake_put(reply, 1, fake_integer(5));
    fake_put(reply, 2, fake_text(""));
    fake_put(reply, 3, fake_integer(model.claimed ? 1 : 0));
    fake_put(reply, 4, fake_text(done ? "1" : ""));
    fake_put(reply, 5, fake_integer(0));
    if (claim) {
        fake_put(reply, 6, fake_text("1c1:m"));
        fake_put(reply, 7, fake_integer(0));
    }
    return reply;
}

static redisReply *renew(const struct redis_command *command)
{
    redisReply *reply = fake_array(3);

    assert_int_equal(fake_argv_count(command, SCRIPT_RENEW_ARGV_ENTRIES), 1);
    model.renews++;
    fake_put(reply, 0, fake_text("OK"));
    fake_put(reply, 1, fake_integer(5));
    fake_put(reply, 2, fake_text("1"));
    return reply;
}

static redisReply *hold_back(const char *name)
{
    model.held = name;
    return NULL;
}

static redisReply *serve_script(const struct redis_command *command)
{
    static const int64_t lease[] = {1, 1, TOPIC_LEASE_MS}, takeover[] = {0, 0, 0}, bound[] = {1};
    const char *name = command->script->name;

    if (fake_is_consume(command)) {
        return model.hold_consume ? hold_back("consume") : consume(command);
    } else if (strcmp(name, "renew") == 0) {
        return model.hold_renew ? hold_back(name) : renew(command);
    } else if (strcmp(name, "lease") == 0) {
        return numbers(3, lease);
    } else if (strcmp(name, "takeover") == 0) {
        return numbers(3, takeover);
    }
    return numbers(1, bound); /* what the topic is bound to, and vacate */
}

static bool serve(const struct redis_command *command, struct fake_answer *answer, void *user)
{
    (void) user;
    pthread_mutex_lock(&model.lock);
    answer->reply = command->script == NULL ? definition() : serve_script(command);
    pthread_mutex_unlock(&model.lock);
    return answer->reply != NULL;
}

/* --- the consumer --- */

static smq_verdict on_message(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    pthread_mutex_lock(&model.lock);
    model.before = model.renews;
    pthread_mutex_unlock(&model.lock);
    return SMQ_DONE;
}

static bool has_begun(void *arg)
{
    bool begun;

    (void) arg;
    pthread_mutex_lock(&model.lock);
    begun = model.before >= 0;
    pthread_mutex_unlock(&model.lock);
    return begun;
}

static bool is_held(void *name)
{
    bool held;

    pthread_mutex_lock(&model.lock);
    held = model.held != NULL && strcmp(model.held, name) == 0;
    pthread_mutex_unlock(&model.lock);
    return held;
}

static bool is_past(void *arg)
{
    return clock_now_ms() > *(const int64_t *) arg;
}

/* What is held back is answered when it is worth nothing any more. */
static void answer_late(char *name, bool *hold)
{
    int64_t over;

    assert_true(wait_until(is_held, name, WAIT_MS));
    over = clock_now_ms() + LEASE_MS;
    assert_true(wait_until(is_past, &over, WAIT_MS));
    pthread_mutex_lock(&model.lock);
    *hold = false;
    pthread_mutex_unlock(&model.lock);
    fake_resume();
}

/* How many renewals were answered before the handler began.  One message at a time, because with
 * room for more the consumer looks again while it waits for the renewal, and the reply to that
 * confirms the slot, too. */
static int renewals_before(bool shared, bool late_renewal)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    smq_client *client = fake_client(serve, NULL);
    smq_consumer *consumer = NULL;

    assert_non_null(client);
    model.shared = shared;
    model.hold_consume = true;
    model.hold_renew = late_renewal;
    model.held = NULL;
    model.claimed = false;
    model.renews = 0;
    model.before = -1;
    options.topic = "t";
    options.max_in_flight = 1;
    options.handler = on_message;
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_start(consumer, NULL), SMQ_OK);
    answer_late("consume", &model.hold_consume);
    if (late_renewal) {
        answer_late("renew", &model.hold_renew);
    }
    assert_true(wait_until(has_begun, NULL, WAIT_MS));
    smq_consumer_free(consumer);
    smq_client_free(client);
    return model.before;
}

static void a_late_claim_is_renewed_before_its_handler_begins(void **state)
{
    (void) state;
    assert_in_range(renewals_before(false, false), 1, INT_MAX);
}

static void so_is_one_of_a_shared_topic(void **state)
{
    (void) state;
    assert_in_range(renewals_before(true, false), 1, INT_MAX);
}

static void a_late_renewal_is_asked_for_again(void **state)
{
    (void) state;
    assert_in_range(renewals_before(false, true), 2, INT_MAX);
}

static void so_is_one_of_a_claim_of_a_shared_topic(void **state)
{
    (void) state;
    assert_in_range(renewals_before(true, true), 2, INT_MAX);
}

TEST_GROUP(late_reply)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_claim_is_renewed_before_its_handler_begins),
        cmocka_unit_test(so_is_one_of_a_shared_topic),
        cmocka_unit_test(a_late_renewal_is_asked_for_again),
        cmocka_unit_test(so_is_one_of_a_claim_of_a_shared_topic),
    };

    return cmocka_run_group_tests_name("late_reply", tests, NULL, NULL);
}
