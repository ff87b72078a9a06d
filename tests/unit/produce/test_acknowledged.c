/* test_acknowledged.c - sends that replicas must have, too, against a fake of the Redis client:
 * what the receipt says for each thing that can become of a WAIT. */
#include <string.h>

#include "base/clock.h"
#include "model/slot.h"
#include "sending.h"
#include "support/group.h"
#include "support/wait.h"
#include "unit/fixture/fake_redis.h"

/* What the replicas do; the lock of the fake guards it. */
static struct {
    enum redis_outcome outcome;
    int skip;  /* this many times enough have it, */
    int count; /* then this many times that happens (-1: always), then enough have it again */
    bool hold; /* until it has ended */
    int awaits;
} replicas;

/* Fewer have it when the time of the await has ended, not before. */
static void fall_short(const struct redis_await *await, struct fake_answer *answer)
{
    *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
    if (replicas.outcome == REDIS_NOT_DONE) {
        while (clock_now_ms() < await->until_ms) {
        }
        *answer = (struct fake_answer){.outcome = REDIS_NOT_DONE, .status = SMQ_TIMED_OUT};
    }
}

static bool answer_await(const struct redis_await *await, struct fake_answer *answer)
{
    bool answered = true;

    if (replicas.hold) {
        answered = false;
    } else if (replicas.skip > 0) {
        replicas.skip--;
    } else if (replicas.count != 0) {
        replicas.count -= replicas.count > 0 ? 1 : 0;
        fall_short(await, answer);
    }
    replicas.awaits += answered ? 1 : 0;
    return answered;
}

static void replicas_do(enum redis_outcome outcome, int count)
{
    fake_lock();
    replicas.outcome = outcome;
    replicas.count = count;
    fake_unlock();
}

static void replicas_hold(bool hold)
{
    fake_lock();
    replicas.hold = hold;
    fake_unlock();
    if (!hold) {
        fake_resume();
    }
}

static int set_up(void **state)
{
    memset(&replicas, 0, sizeof(replicas));
    fake_replicate(answer_await);
    return sending_set_up(state);
}

static smq_producer *producer_with(int32_t count, int64_t send_timeout_ms, bool no_repeat)
{
    smq_producer_options options =
        SMQ_PRODUCER_OPTIONS(.replicas = count, .send_timeout_ms = send_timeout_ms,
                             .no_repeat = no_repeat);
    return sending_producer(&options);
}

static void a_receipt_waits_for_the_replicas(void **state)
{
    smq_producer *producer = producer_with(1, 0, false);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};

    replicas_hold(true);
    sending_numbered(producer, 0, 1, "k", &receipts);
    fake_await_held(1);
    assert_int_equal(sending.count, 1);
    assert_int_equal(receipts.total, 0);
    sending_numbered(producer, 1, 300, "k", &receipts); /* which go together then */
    replicas_hold(false);
    sending_flush(producer);
    assert_int_equal(receipts.ok, 300);
    assert_int_equal(receipts.merged, 0);
    assert_int_equal(sending.sends, 2);
    assert_int_equal(replicas.awaits, 2);
    sending_assert_in_order("k", 300);
    smq_producer_free(producer);
}

static void without_replicas_nobody_waits(void **state)
{
    smq_producer *producer = producer_with(0, 0, false);
    smq_message message = sending_message("hello", NULL);

    replicas_hold(true);
    assert_int_equal(smq_send(producer, "orders", &message, NULL, NULL), SMQ_OK);
    assert_int_equal(replicas.awaits, 0);
    smq_producer_free(producer);
}

static void what_is_stored_on_too_few_is_unknown_and_not_sent_again(void **state)
{
    smq_producer *producer = producer_with(1, 1000, false);
    smq_message message = sending_message("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    replicas_do(REDIS_NOT_DONE, -1);
    assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_UNKNOWN);
    assert_int_equal(receipt.status, SMQ_UNKNOWN);
    assert_false(receipt.merged);
    assert_non_null(strstr(err.text, "stored, but"));
    assert_int_equal(sending.sends, 1);
    replicas_do(REDIS_DONE, 0);
    assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_OK);
    assert_true(receipt.merged);
    smq_producer_free(producer);
}

static bool is_past(void *ms)
{
    return clock_now_ms() > *(int64_t *) ms;
}

/* A request is waited for until the first of its deadlines, then for the rest of it.  The deadlines
 * are APART_MS apart, which is more than a busy machine is late. */
static void each_send_has_its_own_time(void **state)
{
    enum { APART_MS = 1000 };

    smq_producer *producer = producer_with(1, 2000, false);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int64_t begin_ms;

    replicas.skip = 1; /* the first, which goes alone */
    replicas_do(REDIS_NOT_DONE, -1);
    sending_hold(true);
    sending_numbered(producer, 0, 1, "k", &receipts);
    fake_await_held(1);
    sending_numbered(producer, 1, 2, "k", &receipts);
    begin_ms = clock_now_ms() + APART_MS;
    assert_true(wait_until(is_past, &begin_ms, WAIT_MS));
    sending_numbered(producer, 2, 3, "k", &receipts);
    sending_hold(false);
    sending_flush(producer);
    assert_int_equal(receipts.ok, 1);
    assert_int_equal(receipts.other, 2);
    assert_int_equal(receipts.last, SMQ_UNKNOWN);
    assert_int_equal(sending.sends, 2);
    assert_int_equal(replicas.awaits, 3);
    smq_producer_free(producer);
}

static void a_lost_wait_is_repeated_in_order(void **state)
{
    smq_producer *producer = producer_with(2, 0, false);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};

    replicas_do(REDIS_UNKNOWN, 3);
    sending_numbered(producer, 0, 200, "k", &receipts);
    sending_flush(producer);
    assert_int_equal(receipts.ok, 200);
    assert_int_equal(receipts.merged, 0);
    sending_assert_in_order("k", 200);
    smq_producer_free(producer);
}

static void without_repeats_a_lost_wait_is_unknown(void **state)
{
    smq_producer *producer = producer_with(1, 0, true);
    smq_message message = sending_message("hello", NULL);
    smq_error err;

    replicas_do(REDIS_UNKNOWN, 1);
    assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_UNKNOWN);
    assert_non_null(strstr(err.text, "stored, but"));
    assert_int_equal(sending.sends, 1);
    smq_producer_free(producer);
}

static void repeats_end_in_time(void **state)
{
    smq_producer *producer = producer_with(1, 1000, false);
    smq_message message = sending_message("hello", NULL);
    smq_error err;

    replicas_do(REDIS_UNKNOWN, -1);
    assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_UNKNOWN);
    assert_non_null(strstr(err.text, "stored, but"));
    assert_in_range(sending.sends, 1, 60); /* with back-off */
    smq_producer_free(producer);
}

static void what_is_refused_waits_for_nobody(void **state)
{
    smq_producer *producer = producer_with(1, 0, false);
    smq_message message = sending_message("hello", NULL);

    replicas_hold(true);
    sending_fault(FAULT_OOM, 1);
    assert_int_equal(smq_send(producer, "orders", &message, NULL, NULL), SMQ_FULL);
    sending_delete();
    assert_int_equal(smq_send(producer, "orders", &message, NULL, NULL), SMQ_NO_TOPIC);
    smq_producer_free(producer);
}

static void a_freed_producer_waits_for_nobody(void **state)
{
    smq_producer *producer = producer_with(1, 0, false);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};

    replicas_hold(true);
    sending_numbered(producer, 0, 3, "k", &receipts);
    fake_await_held(1);
    smq_producer_free(producer);
    assert_int_equal(receipts.total, 3);
    assert_int_equal(receipts.ok, 0);
    replicas_hold(false);
}

static void the_number_is_checked(void **state)
{
    static const int32_t numbers[] = {-1, 17, INT32_MAX, INT32_MIN};
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *producer;
    smq_error err;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        options.replicas = numbers[i];
        assert_int_equal(smq_producer_new(&producer, sending.client, &options, &err), SMQ_INVALID);
        assert_non_null(strstr(err.text, "replicas must be from 0 to 16, not "));
    }
}

TEST_GROUP(acknowledged)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, sending_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_receipt_waits_for_the_replicas),
        TEST(without_replicas_nobody_waits),
        TEST(what_is_stored_on_too_few_is_unknown_and_not_sent_again),
        TEST(each_send_has_its_own_time),
        TEST(a_lost_wait_is_repeated_in_order),
        TEST(without_repeats_a_lost_wait_is_unknown),
        TEST(repeats_end_in_time),
        TEST(what_is_refused_waits_for_nobody),
        TEST(a_freed_producer_waits_for_nobody),
        TEST(the_number_is_checked),
    };
#undef TEST

    return cmocka_run_group_tests_name("acknowledged", tests, NULL, NULL);
}
