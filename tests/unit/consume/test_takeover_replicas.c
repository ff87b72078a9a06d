/* test_takeover_replicas.c - a new owner and the replicas of its server, against a fake of the
 * Redis client: when it begins to claim, what it asks again, and what it reports. */
#include <string.h>

#include <slotmq/consumer.h>
#include <slotmq/metrics.h>
#include <slotmq/topic.h>

#include "support/group.h"
#include "unit/fixture/fake_slots.h"

enum { WAIT_MS = 30000, SHORT_MS = 300, LONG_MS = 600000, REPLICAS = 2, SLOTS = 4, PLAN_MAX = 4 };

/* How a takeover that is repeated for replicas ends: the script, then the wait for them. */
enum end {
    DONE, /* also every further one */
    NOBODY_IN_TIME,
    CONNECTION_LOST,
    SCRIPT_UNAVAILABLE,
    SCRIPT_UNKNOWN,
    SCRIPT_DENIED,
    SCRIPT_FENCED
};

/* An exclusive topic.  The lock guards it. */
static struct model {
    int replicas, slots;     /* of the topic */
    enum end plan[PLAN_MAX]; /* of the repeats, one after another */
    bool hold;               /* keep the replicas back */
    bool all_alike;          /* each repeat ends like the first of the plan */
    int lost;                /* this many calls of an owner find an older token */
    int takeovers, repeats, awaits, consumes;
    int gained, warned, fenced, stopped; /* events */
    char warning[1024];
} model;

/* --- the server --- */

static redisReply *definition(void)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.name = "t", .type = SMQ_TYPE_FIXED_TIME, .slots = model.slots,
                          .takeover_replicas = model.replicas);
    return fake_topic_of(&options, "ready");
}

static redisReply *fenced(const char *token)
{
    redisReply *reply = fake_array(2);

    fake_put(reply, 0, fake_text("FENCED"));
    fake_put(reply, 1, fake_text(token));
    return reply;
}

static enum end end_of_repeat(void)
{
    int number = model.all_alike ? 0 : model.repeats - 1;

    return number < PLAN_MAX ? model.plan[number] : DONE;
}

static bool take_over(const struct redis_command *command, struct fake_answer *answer)
{
    if (strcmp(command->script->name, "takeover") != 0) {
        return true;
    }
    model.takeovers += command->replicas == 0 ? 1 : 0;
    model.repeats += command->replicas > 0 ? 1 : 0;
    if (command->replicas == 0) {
        return true;
    }
    assert_int_equal(command->replicas, model.replicas);
    switch (end_of_repeat()) {
    case SCRIPT_UNAVAILABLE:
        *answer = (struct fake_answer){.outcome = REDIS_NOT_DONE, .status = SMQ_UNAVAILABLE};
        break;
    case SCRIPT_UNKNOWN:
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
        break;
    case SCRIPT_DENIED:
        *answer = (struct fake_answer){.outcome = REDIS_NOT_DONE, .status = SMQ_DENIED};
        break;
    case SCRIPT_FENCED:
        answer->reply = fenced("ffffffffffffffffffffffff");
        break;
    case DONE:
    case NOBODY_IN_TIME:
    case CONNECTION_LOST:
        break;
    }
    return true;
}

/* Nothing waits. */
static bool consume(const struct redis_command *command, struct fake_answer *answer)
{
    (void) command;
    if (model.lost > 0) {
        model.lost--;
        answer->reply = fenced("000000000000000000000001");
        return true;
    }
    model.consumes++;
    answer->reply = fake_consumed(0, 0, 0, '1', false);
    return true;
}

static const struct fake_slots served = {
    .definition = definition, .consume = consume, .script = take_over};

static bool replicate(const struct redis_await *await, struct fake_answer *answer)
{
    bool answered = !model.hold;

    (void) await;
    model.awaits += answered ? 1 : 0;
    if (end_of_repeat() == NOBODY_IN_TIME) {
        *answer = (struct fake_answer){.outcome = REDIS_NOT_DONE, .status = SMQ_TIMED_OUT};
    } else if (end_of_repeat() == CONNECTION_LOST) {
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
    }
    return answered;
}

/* --- the consumer --- */

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    fake_lock();
    model.gained += event->kind == SMQ_EVENT_SLOT_GAINED ? 1 : 0;
    model.fenced += event->kind == SMQ_EVENT_FENCED ? 1 : 0;
    model.stopped += event->kind == SMQ_EVENT_STOPPED ? 1 : 0;
    if (strstr(event->text, "takeover_replicas") != NULL) {
        assert_int_equal(event->level, SMQ_LEVEL_WARN);
        model.warned++;
        (void) strncpy(model.warning, event->text, sizeof(model.warning) - 1);
    }
    fake_unlock();
}

static smq_verdict on_message(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    return SMQ_DONE;
}

struct running {
    smq_client *client;
    smq_consumer *consumer;
};

/* A consumer of the topic, with what the test has set in the model. */
static struct running start(int64_t request_timeout_ms)
{
    struct running running = {0};

    fake_slots_serve(&served);
    fake_connects(SMQ_OK);
    fake_replicate(replicate);
    smq_client_options client =
        SMQ_CLIENT_OPTIONS(.redis = "fake:1", .zookeeper = "fake:2",
                           .request_timeout_ms = request_timeout_ms, .event = on_event,
                           .event_level = SMQ_LEVEL_DEBUG);
    assert_int_equal(smq_client_new(&running.client, &client, NULL), SMQ_OK);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.topic = "t", .handler = on_message);
    assert_int_equal(smq_consumer_new(&running.consumer, running.client, &options, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_start(running.consumer, NULL), SMQ_OK);
    return running;
}

/* The slots that began without their replicas are counted. */
static void assert_unreplicated(const struct running *running, uint64_t count)
{
    smq_metrics metrics = SMQ_METRICS_INIT;

    assert_int_equal(smq_client_metrics(running->client, &metrics, NULL), SMQ_OK);
    assert_int_equal(metrics.slots_unreplicated, count);
}

static void end(struct running *running)
{
    smq_consumer_free(running->consumer);
    smq_client_free(running->client);
    fake_replicate(NULL);
}

static int set_up(void **state)
{
    fake_lock();
    model.replicas = REPLICAS;
    model.slots = 1;
    memset(model.plan, 0, sizeof(model.plan));
    model.hold = model.all_alike = false;
    model.lost = 0;
    model.takeovers = model.repeats = model.awaits = model.consumes = 0;
    model.gained = model.warned = model.fenced = model.stopped = 0;
    model.warning[0] = '\0';
    fake_unlock();
    return 0;
}

/* --- the tests --- */

static void without_the_option_nothing_is_repeated(void **state)
{
    struct running running;

    model.replicas = 0;
    running = start(LONG_MS);
    fake_await(&model.consumes, 1);
    end(&running);
    assert_int_equal(model.takeovers, 1);
    assert_int_equal(model.repeats, 0);
    assert_int_equal(model.awaits, 0);
}

static void nothing_is_claimed_before_the_replicas_know_the_owner(void **state)
{
    struct running running;

    model.hold = true;
    running = start(LONG_MS);
    fake_await_held(1);
    fake_lock();
    assert_int_equal(model.repeats, 1);
    assert_int_equal(model.gained, 0);
    assert_int_equal(model.consumes, 0);
    model.hold = false;
    fake_unlock();
    fake_resume();
    fake_await(&model.consumes, 1);
    assert_unreplicated(&running, 0);
    end(&running);
    assert_int_equal(model.takeovers, 1);
    assert_int_equal(model.repeats, 1);
    assert_int_equal(model.awaits, 1);
    assert_int_equal(model.gained, 1);
    assert_int_equal(model.warned, 0);
}

/* What a consumer does that is stopped while it waits for replicas. */
static void a_stop_does_not_gain_the_slot(void **state)
{
    struct running running;

    model.hold = true;
    running = start(LONG_MS);
    fake_await_held(1);
    smq_consumer_stop(running.consumer);
    (void) smq_topic_get(running.client, "t", NULL, NULL); /* it has seen the stop */
    fake_lock();
    model.hold = false;
    fake_unlock();
    fake_resume();
    assert_int_equal(smq_consumer_wait(running.consumer, WAIT_MS, NULL), SMQ_OK);
    end(&running);
    assert_int_equal(model.gained, 0);
    assert_int_equal(model.consumes, 0);
}

/* Each row: how repeats end, within a time that is short or long, and what comes of it. */
static void the_slot_begins_whatever_the_replicas_do(void **state)
{
    static const struct {
        enum end plan[PLAN_MAX];
        bool all_alike;
        int64_t timeout_ms;
        int repeats; /* 0: any number */
        int warned;
    } rows[] = {
        {{NOBODY_IN_TIME}, true, SHORT_MS, 0, 1}, /* a await that ends early is tried again */
        {{CONNECTION_LOST}, false, LONG_MS, 2, 0},
        {{CONNECTION_LOST, SCRIPT_UNKNOWN, SCRIPT_UNAVAILABLE}, false, LONG_MS, 4, 0},
        {{CONNECTION_LOST}, true, SHORT_MS, 0, 1},
        {{SCRIPT_UNAVAILABLE}, true, SHORT_MS, 0, 1},
        {{SCRIPT_UNKNOWN}, true, SHORT_MS, 0, 1},
        {{SCRIPT_DENIED}, true, LONG_MS, 1, 1}, /* waiting would change nothing */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct running running;

        (void) set_up(state);
        memcpy(model.plan, rows[i].plan, sizeof(model.plan));
        model.all_alike = rows[i].all_alike;
        running = start(rows[i].timeout_ms);
        fake_await(&model.consumes, 1);
        fake_await(&model.warned, rows[i].warned);
        assert_unreplicated(&running, (uint64_t) rows[i].warned);
        end(&running);
        assert_int_equal(model.gained, 1);
        assert_int_equal(model.warned, rows[i].warned);
        assert_int_equal(model.stopped, 0);
        assert_true(rows[i].repeats == 0 || model.repeats == rows[i].repeats);
    }
}

static void a_shortage_is_reported_once_for_a_server(void **state)
{
    struct running running;

    model.slots = SLOTS;
    model.all_alike = true;
    model.plan[0] = SCRIPT_DENIED;
    running = start(LONG_MS);
    fake_await(&model.gained, SLOTS);
    assert_unreplicated(&running, SLOTS);
    end(&running);
    assert_int_equal(model.warned, 1);
    assert_non_null(
        strstr(model.warning, " of topic t: fewer replicas than takeover_replicas, 2, have"));
}

/* Redis loses the token twice, so the slot is taken over three times: with too few replicas, with
 * enough, and with too few. */
static void a_new_shortage_is_reported_again(void **state)
{
    struct running running;

    model.plan[0] = model.plan[2] = SCRIPT_DENIED;
    model.lost = 2;
    running = start(LONG_MS);
    fake_await(&model.gained, 3);
    fake_await(&model.warned, 2);
    assert_unreplicated(&running, 2);
    end(&running);
    assert_int_equal(model.repeats, 3);
    assert_int_equal(model.warned, 2);
}

static void a_newer_owner_is_noticed_by_the_repeat(void **state)
{
    struct running running;

    model.all_alike = true;
    model.plan[0] = SCRIPT_FENCED;
    running = start(LONG_MS);
    fake_await(&model.fenced, 1);
    end(&running);
    assert_int_equal(model.gained, 0);
    assert_int_equal(model.consumes, 0);
    assert_int_equal(model.warned, 0);
}

TEST_GROUP(takeover_replicas)
{
#define TEST(test) cmocka_unit_test_setup(test, set_up)
    const struct CMUnitTest tests[] = {
        TEST(without_the_option_nothing_is_repeated),
        TEST(nothing_is_claimed_before_the_replicas_know_the_owner),
        TEST(a_stop_does_not_gain_the_slot),
        TEST(the_slot_begins_whatever_the_replicas_do),
        TEST(a_shortage_is_reported_once_for_a_server),
        TEST(a_new_shortage_is_reported_again),
        TEST(a_newer_owner_is_noticed_by_the_repeat),
    };

    return cmocka_run_group_tests_name("takeover_replicas", tests, NULL, NULL);
}
