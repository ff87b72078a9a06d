/* test_push.c - messages that a send has claimed for the owner of a slot: which of them count,
 * how old they may be, and that none is handled twice however publications and replies overtake
 * each other. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <slotmq/consumer.h>
#include <slotmq/metrics.h>
#include <slotmq/topic.h>

#include "base/clock.h"
#include "consume/slot/push.h"
#include "scripts.h"
#include "support/group.h"
#include "unit/fixture/fake_slots.h"

enum { WAIT_MS = 30000, LEASE_MS = 600000, SHORT_LEASE_MS = 300, REDIS_MS = 1000, CALLS_MAX = 32 };

/* --- which push counts --- */

static const struct token former = {.generation = 1, .epoch = 1},
                          mine = {.generation = 1, .epoch = 2},
                          later = {.generation = 1, .epoch = 3};

static void only_the_next_claim_of_the_owner_is_accepted(void **state)
{
    static const struct {
        const struct token *owner; /* NULL: mine */
        bool part;
        uint64_t last, claim;
        int64_t replied_ms, now_ms;
        enum push_verdict verdict;
    } cases[] = {
        {.last = 6, .claim = 7, .replied_ms = 50, .now_ms = 51, .verdict = PUSH_ACCEPTED},
        {.last = 6, .claim = 7, .replied_ms = 50, .now_ms = 50, .verdict = PUSH_ACCEPTED},
        {.last = 0, .claim = 1, .replied_ms = 50, .now_ms = 51, .verdict = PUSH_ACCEPTED},
        {.last = 7, .claim = 7, .replied_ms = 50, .now_ms = 51, .verdict = PUSH_WAKE},
        {.last = 9, .claim = 7, .replied_ms = 50, .now_ms = 51, .verdict = PUSH_WAKE},
        {.last = 5, .claim = 7, .replied_ms = 50, .now_ms = 51, .verdict = PUSH_WAKE},
        {.part = true, .last = 6, .claim = 7, .replied_ms = 50, .now_ms = 51, .verdict = PUSH_WAKE},
        {.last = 6, .claim = 7, .replied_ms = 50, .now_ms = 49, .verdict = PUSH_WAKE},
        {.last = 6, .claim = 7, .replied_ms = 0, .now_ms = 51, .verdict = PUSH_WAKE},
        {&later, .last = 6, .claim = 7, .replied_ms = 50, .now_ms = 51, .verdict = PUSH_FOREIGN},
        {&later, .last = 7, .claim = 7, .replied_ms = 50, .now_ms = 51, .verdict = PUSH_FOREIGN},
        {&former, .last = 6, .claim = 7, .replied_ms = 50, .now_ms = 51, .verdict = PUSH_WAKE},
        {&former, .last = 7, .claim = 7, .replied_ms = 50, .now_ms = 51, .verdict = PUSH_WAKE},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct push_known known = {.token = mine,
                                         .last = cases[i].last,
                                         .part = cases[i].part,
                                         .replied_ms = cases[i].replied_ms};
        const struct store_push push = {.token = cases[i].owner != NULL ? *cases[i].owner : mine,
                                        .claim = cases[i].claim,
                                        .now_ms = cases[i].now_ms};

        if (push_judge(&known, &push) != cases[i].verdict) {
            fail_msg("case %zu: %d", i, push_judge(&known, &push));
        }
    }
}

/* A call was sent at 1000, by the local clock; Redis replied at its time 500000. */
static void a_push_is_never_taken_for_younger_than_it_is(void **state)
{
    static const struct {
        int64_t pushed_ms, now_ms, made_ms;
        const char *why;
    } cases[] = {
        {500000, 1001, 1000, "as old as the question"},
        {500200, 1300, 1200, "it lay about for 100 ms"},
        {500200, 1200, 1200, "it came at once"},
        {500205, 1200, 1200, "rounded"},
        {560000, 61000, 61000, "a minute later"},
        {560040, 61000, 61000, "a minute later, and the clocks run apart"},
        {500200, 1100, 1000, "the clock of Redis has jumped ahead"},
        {3600000, 1300, 1000, "by an hour"},
        {400000, 1300, -99000, "it has jumped back"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t made_ms = push_made_ms(1000, 500000, cases[i].pushed_ms, cases[i].now_ms);

        if (made_ms != cases[i].made_ms) {
            fail_msg("%s: %" PRId64, cases[i].why, made_ms);
        }
    }
}

#define HEADER "1000"

/* --- a server with one slot, which is parked and open unless the test says more --- */

/* What the script of a consume call was given, and what it answers. */
struct call {
    int64_t n, open, pushed, answers;
    bool part;     /* a part of the claim after the last is known */
    bool released; /* its first answer is a release */
    uint64_t last;
};

static struct model {
    int64_t lease_ms;
    bool fifo;        /* in layout keyed */
    bool hold;        /* keep consume calls back */
    bool lose;        /* the next reply to one */
    const char *body; /* of the newest claim */
    uint64_t claims;  /* the newest claim; what of it the caller does not know is handed over */
    int held;         /* calls that were kept back */
    struct call calls[CALLS_MAX];
    int count; /* calls that were answered */
    int renews, vacated;
    char token[TOKEN_TEXT_LEN + 1]; /* of the owner */
} model;

static smq_client *client;

static redisReply *definition(void)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.name = "t", .type = model.fifo ? SMQ_TYPE_FIFO : SMQ_TYPE_FIXED_TIME,
                          .slots = 1, .lease_ms = model.lease_ms);
    return fake_topic_of(&options, "ready");
}

static redisReply *consumed(const struct redis_command *command)
{
    static const char all_done[] = "11111111";
    struct call *call = &model.calls[model.count++];
    size_t others, len;
    redisReply *reply;
    const char *data;
    char entry[32];
    bool lost;

    assert_true(model.count < CALLS_MAX);
    memcpy(model.token, fake_arg(command, fake_argv(command, SCRIPT_CONSUME_ARGV_TOKEN), &len),
           TOKEN_TEXT_LEN);
    call->n = fake_number(command, SCRIPT_CONSUME_ARGV_N);
    call->open = fake_number(command, SCRIPT_CONSUME_ARGV_OPEN);
    call->pushed = fake_number(command, SCRIPT_CONSUME_ARGV_PUSHED);
    call->last = (uint64_t) fake_number(command, SCRIPT_CONSUME_ARGV_LAST);
    data = fake_arg(command, fake_argv(command, SCRIPT_CONSUME_ARGV_LAST), &len);
    call->part = memchr(data, ',', len) != NULL;
    call->answers = fake_number(command, SCRIPT_CONSUME_ARGV_NDONE);
    others = fake_argv_count(command, SCRIPT_CONSUME_ARGV_ANSWERS) - (size_t) call->answers;
    call->answers += (int64_t) others / 4;
    call->released =
        others > 0 && fake_arg_is(command, fake_argv(command, SCRIPT_CONSUME_ARGV_ANSWERS), "b");
    lost = call->last < model.claims;
    reply = fake_array(!lost ? 6 : model.fifo ? 10 : 8);
    fake_put(reply, 0, fake_text("OK"));
    fake_put(reply, 1, fake_integer(REDIS_MS));
    fake_put(reply, 2, fake_text(""));
    fake_put(reply, 3, fake_integer((int64_t) model.claims));
    fake_put(reply, 4, fake_string(all_done, (size_t) call->answers));
    fake_put(reply, 5, fake_integer(0));
    if (lost) {
        (void) snprintf(entry, sizeof(entry), "1c%" PRIu64 ":%s", model.claims, model.body);
        fake_put(reply, 6, fake_text(entry));
        fake_put(reply, 7, fake_integer(0));
    }
    if (lost && model.fifo) {
        fake_put(reply, 8, fake_text(HEADER));
        fake_put(reply, 9, fake_text("body"));
    }
    return reply;
}

static bool consume(const struct redis_command *command, struct fake_answer *answer)
{
    if (model.hold) {
        model.held++;
        return false;
    }
    answer->reply = consumed(command);
    if (model.lose) {
        model.lose = false;
        freeReplyObject(answer->reply);
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
    }
    return true;
}

static bool other(const struct redis_command *command, struct fake_answer *answer)
{
    if (strcmp(command->script->name, "renew") == 0) {
        model.renews++;
        answer->reply = fake_array(3);
        fake_put(answer->reply, 0, fake_text("OK"));
        fake_put(answer->reply, 1, fake_integer(REDIS_MS));
        fake_put(answer->reply, 2, fake_text("1"));
    }
    model.vacated += strcmp(command->script->name, "vacate") == 0 ? 1 : 0;
    return true;
}

static const struct fake_slots served = {
    .definition = definition, .consume = consume, .script = other};

/* --- the dialogue --- */

static int set_up(void **state)
{
    model.lease_ms = LEASE_MS;
    model.hold = model.lose = model.fifo = false;
    model.body = "m";
    model.claims = 0;
    model.held = model.renews = model.vacated = 0;
    model.count = 0;
    memset(model.calls, 0, sizeof(model.calls));
    client = fake_slots_client(&served, NULL);
    return 0;
}

static void hold(bool hold)
{
    fake_lock();
    model.hold = hold;
    fake_unlock();
    fake_resume();
}

/* The server has made this claim. */
static void claim(uint64_t number)
{
    fake_lock();
    model.claims = number;
    fake_unlock();
}

static void publish(const char *data)
{
    fake_publish("wake{t_0}", data, strlen(data));
}

static void push(uint64_t number, int64_t redis_ms, bool another_owner)
{
    char data[128], entry[32];

    (void) snprintf(entry, sizeof(entry), "1c%" PRIu64 ":%c", number,
                    model.fifo ? 'm' : (char) ('l' + number));
    (void) snprintf(data, sizeof(data), "%s %" PRId64 " %" PRId64 " %zu %zu\n%s%s", model.token,
                    redis_ms, model.lease_ms, strlen(entry), model.fifo ? strlen(HEADER) : 0, entry,
                    model.fifo ? HEADER "body" : "");
    if (another_owner) {
        data[0] = 'a';
    }
    publish(data);
}

/* A consumer whose slot is parked; it may have this many unanswered.  With room for more it looks
 * again when no answer comes for a moment: another call. */
static smq_consumer *consumer_with(int32_t per_slot, int32_t max_in_flight)
{
    smq_consumer *consumer = NULL;

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = "t", .per_slot = per_slot, .max_in_flight = max_in_flight,
                             .push_slots = 1);
    assert_int_equal(smq_consumer_new(&consumer, client, &options, NULL), SMQ_OK);
    fake_await(&model.count, 1);
    return consumer;
}

static smq_consumer *consumer_of_topic(void)
{
    return consumer_with(0, 1);
}

static smq_delivery *poll(smq_consumer *consumer)
{
    smq_delivery *delivery = NULL;
    size_t count = 0;

    assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, &count, WAIT_MS, NULL), SMQ_OK);
    assert_int_equal(count, 1);
    return delivery;
}

static void answer_done(smq_consumer *consumer)
{
    assert_int_equal(smq_done(poll(consumer), NULL), SMQ_OK);
}

static void end(smq_consumer *consumer)
{
    smq_delivery *delivery;
    size_t count;

    smq_consumer_stop(consumer);
    assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, &count, WAIT_MS, NULL), SMQ_CLOSED);
    smq_consumer_free(consumer);
}

static uint64_t count_claimed(void)
{
    smq_metrics metrics = SMQ_METRICS_INIT;

    assert_int_equal(smq_client_metrics(client, &metrics, NULL), SMQ_OK);
    return metrics.claimed;
}

/* --- the tests of it --- */

static void a_push_needs_no_call_of_its_own(void **state)
{
    smq_consumer *consumer = consumer_of_topic();

    assert_int_equal(model.calls[0].open, 1);
    assert_int_equal(model.calls[0].pushed, 0);
    claim(1);
    push(1, REDIS_MS, false);
    answer_done(consumer);
    fake_await(&model.count, 2);
    assert_int_equal(model.calls[1].answers, 1);
    assert_int_equal(model.calls[1].last, 1);
    assert_int_equal(model.calls[1].open, 1);
    assert_int_equal(model.calls[1].pushed, REDIS_MS);
    end(consumer);
    assert_int_equal(count_claimed(), 1);
    assert_int_equal(model.renews, 0);
}

static void a_push_that_comes_twice_is_handled_once(void **state)
{
    smq_consumer *consumer = consumer_of_topic();

    claim(1);
    push(1, REDIS_MS, false);
    push(1, REDIS_MS, false);
    answer_done(consumer);
    assert_int_equal(smq_consumer_flush(consumer, WAIT_MS, NULL), SMQ_OK);
    end(consumer);
    assert_int_equal(count_claimed(), 1);
}

/* The wake makes the slot look; what it finds then is published late. */
static void a_reply_may_overtake_the_push(void **state)
{
    smq_consumer *consumer = consumer_of_topic();

    claim(1);
    publish("");
    answer_done(consumer);
    fake_await(&model.count, 3);
    push(1, REDIS_MS, false);
    fake_await(&model.count, 4); /* it is only a wake */
    assert_int_equal(model.calls[1].answers, 0);
    assert_int_equal(model.calls[2].answers, 1);
    end(consumer);
    assert_int_equal(count_claimed(), 1);
}

/* A look was sent before the push came, and its reply has the same message. */
static void a_push_may_overtake_the_reply(void **state)
{
    smq_consumer *consumer = consumer_with(0, 2);
    smq_delivery *delivery;

    hold(true);
    publish("");
    fake_await(&model.held, 1);
    claim(1);
    push(1, REDIS_MS, false);
    delivery = poll(consumer);
    hold(false);
    fake_await(&model.count, 2);
    assert_int_equal(model.calls[1].last, 0);
    assert_int_equal(smq_done(delivery, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_flush(consumer, WAIT_MS, NULL), SMQ_OK);
    assert_int_equal(model.calls[2].last, 1);
    assert_false(model.calls[2].part);
    end(consumer);
    assert_int_equal(count_claimed(), 1);
}

/* The reply of the call that parked the slot comes after the push, and knows nothing of it. */
static void the_reply_that_parks_may_come_after_the_push(void **state)
{
    smq_consumer *consumer = consumer_with(0, 2);
    smq_delivery *delivery;

    hold(true);
    publish("");
    fake_await(&model.held, 1);
    push(1, REDIS_MS, false);
    delivery = poll(consumer);
    hold(false); /* claims is 0 in its reply */
    fake_await(&model.count, 2);
    claim(1);
    assert_int_equal(smq_done(delivery, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_flush(consumer, WAIT_MS, NULL), SMQ_OK);
    assert_int_equal(model.calls[model.count - 1].last, 1);
    assert_int_equal(model.calls[model.count - 1].answers, 1);
    end(consumer);
    assert_int_equal(count_claimed(), 1);
}

static void a_push_for_another_owner_is_ignored(void **state)
{
    smq_consumer *consumer = consumer_of_topic();

    push(1, REDIS_MS, true);
    claim(1);
    push(1, REDIS_MS, false);
    answer_done(consumer);
    fake_await(&model.count, 2);
    assert_int_equal(model.calls[1].answers, 1); /* no call for the first */
    end(consumer);
}

static void what_is_no_push_wakes(void **state)
{
    static const char *const cases[] = {"", "1", "nonsense", "0000000100000000000000011 1 1 0\n"};
    smq_consumer *consumer = consumer_of_topic();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        publish(cases[i]);
        fake_await(&model.count, 2 + (int) i);
    }
    push(2, REDIS_MS, false); /* a claim is missing before it */
    fake_await(&model.count, 2 + (int) (sizeof(cases) / sizeof(cases[0])));
    end(consumer);
    assert_int_equal(count_claimed(), 0);
}

/* A claim that was made for the slot before it stopped is found by the call that ends that, and
 * returned. */
static void a_slot_that_stops_closes_first_and_returns_what_it_finds(void **state)
{
    smq_consumer *consumer = consumer_of_topic();

    claim(1); /* its publication is lost */
    end(consumer);
    assert_int_equal(model.count, 3);
    assert_int_equal(model.calls[1].n, 0);
    assert_int_equal(model.calls[1].open, 0);
    assert_true(model.calls[2].released);
    assert_int_equal(model.vacated, 1);
}

static void a_slot_that_is_not_open_stops_at_once(void **state)
{
    smq_consumer *consumer = consumer_of_topic();
    smq_delivery *delivery;

    claim(1);
    push(1, REDIS_MS, false);
    delivery = poll(consumer);
    assert_int_equal(smq_release(delivery, 0, NULL), SMQ_OK);
    end(consumer);
    assert_true(model.calls[1].released);
    assert_int_equal(model.vacated, 1);
}

/* Of the only slot one message may be unanswered at once. */
static void surplus_is_returned(void **state)
{
    smq_consumer *consumer = consumer_with(0, 1);
    smq_delivery *delivery;

    push(1, REDIS_MS, false);
    delivery = poll(consumer);
    claim(2);
    push(2, REDIS_MS, false);
    fake_await(&model.count, 2);
    assert_true(model.calls[1].released);
    assert_int_equal(model.calls[1].last, 2);
    assert_int_equal(smq_done(delivery, NULL), SMQ_OK);
    end(consumer);
}

/* Its time is before that of the reply which parked the slot: it belongs to an earlier claim of
 * that number, which a failover has lost. */
static void a_push_from_before_the_last_reply_wakes(void **state)
{
    smq_consumer *consumer = consumer_of_topic();

    claim(1);
    push(1, REDIS_MS - 1, false);
    answer_done(consumer);
    fake_await(&model.count, 3);
    assert_int_equal(model.calls[1].answers, 0);
    assert_int_equal(model.calls[1].last, 0);
    end(consumer);
    assert_int_equal(count_claimed(), 1);
}

/* A failover has lost a push, which comes while a look is in progress; Redis gave its number to
 * another message.  Whether or not the first reply is lost, both are handled. */
static void check_number_given_twice(bool lose)
{
    smq_consumer *consumer = consumer_with(2, 0);
    smq_delivery *deliveries[2];

    hold(true);
    publish("");
    fake_await(&model.held, 1);
    push(1, REDIS_MS, false);
    deliveries[0] = poll(consumer);
    model.body = "n";
    model.lose = lose;
    claim(1);
    hold(false);
    deliveries[1] = poll(consumer);
    assert_memory_equal(smq_delivery_info(deliveries[1])->body.data, "n", 1);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(smq_done(deliveries[i], NULL), SMQ_OK);
    }
    fake_await(&model.count, 3);
    assert_int_equal(model.calls[1].last, 0);
    assert_int_equal(model.calls[2].last, lose ? 0 : 1);
    end(consumer);
    assert_int_equal(count_claimed(), 2);
}

static void a_reply_may_have_the_number_of_a_push_that_was_lost(void **state)
{
    check_number_given_twice(false);
}

static void so_may_the_reply_to_a_repeated_call(void **state)
{
    check_number_given_twice(true);
}

/* One that has room for more looks for it, because a push closes the slot; also when the reply of
 * an earlier look says that there is nothing. */
static void a_poller_with_room_looks_for_more(void **state)
{
    smq_consumer *consumer = consumer_with(3, 0);
    smq_delivery *deliveries[2];

    claim(1);
    push(1, REDIS_MS, false);
    deliveries[0] = poll(consumer);
    fake_await(&model.count, 2);
    hold(true);
    publish("");
    fake_await(&model.held, 1);
    push(2, REDIS_MS, false);
    deliveries[1] = poll(consumer);
    hold(false);
    fake_await(&model.count, 4);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(model.calls[i].answers, 0);
    }
    claim(2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(smq_done(deliveries[i], NULL), SMQ_OK);
    }
    end(consumer);
    assert_int_equal(count_claimed(), 2);
}

/* The first reply is in flight, and the second must not overtake it. */
static void a_push_does_not_overtake_a_retry_in_fifo(void **state)
{
    smq_consumer *consumer;
    smq_delivery *delivery;

    model.fifo = true;
    consumer = consumer_of_topic();
    claim(1);
    push(1, REDIS_MS, false);
    delivery = poll(consumer);
    hold(true);
    assert_int_equal(smq_retry(delivery, SMQ_BACKOFF, NULL, NULL), SMQ_OK);
    fake_await(&model.held, 1);
    claim(2);
    push(2, REDIS_MS, false);
    hold(false);
    fake_await(&model.count, 3);
    assert_int_equal(model.calls[1].answers, 1);
    assert_false(model.calls[1].released);
    assert_true(model.calls[2].released);
    end(consumer);
    assert_int_equal(count_claimed(), 2);
}

/* Its publication is lost, so the call that stores the retry finds it. */
static void a_push_found_with_a_retry_does_not_overtake_it_in_fifo(void **state)
{
    smq_consumer *consumer;
    smq_delivery *delivery;

    model.fifo = true;
    consumer = consumer_with(2, 0);
    claim(1);
    push(1, REDIS_MS, false);
    delivery = poll(consumer);
    fake_await(&model.count, 2);
    assert_int_equal(model.calls[1].open, 1);
    claim(2);
    assert_int_equal(smq_retry(delivery, SMQ_BACKOFF, NULL, NULL), SMQ_OK);
    fake_await(&model.count, 4);
    assert_int_equal(model.calls[2].answers, 1);
    assert_false(model.calls[2].released);
    assert_true(model.calls[3].released);
    assert_true(model.calls[3].n > 0);
    assert_int_equal(model.calls[2].n, 0); /* so what it finds was claimed before */
    end(consumer);
    assert_int_equal(count_claimed(), 2);
}

/* By Redis' clock it was made when the slot was parked; it comes when that confirms nothing any
 * more. */
static void an_old_push_is_confirmed_before_it_begins(void **state)
{
    smq_consumer *consumer;

    model.lease_ms = SHORT_LEASE_MS;
    consumer = consumer_of_topic();
    fake_await_ms(SHORT_LEASE_MS);
    assert_int_equal(model.renews, 0);
    claim(1);
    push(1, REDIS_MS, false);
    answer_done(consumer);
    assert_in_range(model.renews, 1, INT_MAX);
    end(consumer);
}

/* The same, but Redis' clock says that the push is new: no call but that of its answer is made
 * until the slot stops.  (A claim that is a sixth of its lease old is renewed.) */
static void a_new_push_after_a_long_rest_is_not(void **state)
{
    enum { REST_MS = 3000 };
    smq_consumer *consumer;
    int64_t parked, pushed;
    bool may_renew;

    model.lease_ms = REST_MS;
    consumer = consumer_of_topic();
    parked = clock_now_ms(); /* not before: by Redis' clock the push would come from the future */
    fake_await_ms(REST_MS);
    claim(1);
    pushed = clock_now_ms();
    push(1, REDIS_MS + pushed - parked, false);
    answer_done(consumer);
    assert_int_equal(smq_consumer_flush(consumer, WAIT_MS, NULL), SMQ_OK);
    may_renew = clock_now_ms() - pushed >= REST_MS / 6;
    end(consumer);
    assert_int_equal(count_claimed(), 1);
    assert_int_equal(model.count, 3);
    assert_int_equal(model.calls[1].answers, 1);
    assert_int_equal(model.calls[2].n, 0);
    assert_true(model.renews == 0 || may_renew);
}

#define PUSH_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, fake_tear_down)

TEST_GROUP(push)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_next_claim_of_the_owner_is_accepted),
        cmocka_unit_test(a_push_is_never_taken_for_younger_than_it_is),
        PUSH_TEST(a_push_needs_no_call_of_its_own),
        PUSH_TEST(a_push_that_comes_twice_is_handled_once),
        PUSH_TEST(a_reply_may_overtake_the_push),
        PUSH_TEST(a_push_may_overtake_the_reply),
        PUSH_TEST(the_reply_that_parks_may_come_after_the_push),
        PUSH_TEST(a_push_for_another_owner_is_ignored),
        PUSH_TEST(what_is_no_push_wakes),
        PUSH_TEST(a_slot_that_stops_closes_first_and_returns_what_it_finds),
        PUSH_TEST(a_slot_that_is_not_open_stops_at_once),
        PUSH_TEST(surplus_is_returned),
        PUSH_TEST(a_push_from_before_the_last_reply_wakes),
        PUSH_TEST(a_reply_may_have_the_number_of_a_push_that_was_lost),
        PUSH_TEST(so_may_the_reply_to_a_repeated_call),
        PUSH_TEST(a_poller_with_room_looks_for_more),
        PUSH_TEST(a_push_does_not_overtake_a_retry_in_fifo),
        PUSH_TEST(a_push_found_with_a_retry_does_not_overtake_it_in_fifo),
        PUSH_TEST(an_old_push_is_confirmed_before_it_begins),
        PUSH_TEST(a_new_push_after_a_long_rest_is_not),
    };

    return cmocka_run_group_tests_name("push", tests, NULL, NULL);
}
