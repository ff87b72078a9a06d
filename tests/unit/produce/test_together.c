/* test_together.c - sends that wait for others, against a fake of the Redis client: what goes
 * together, and what does not wait. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "model/slot.h"
#include "produce/outbox.h"
#include "sending.h"
#include "support/group.h"
#include "support/wait.h"
#include "unit/fixture/fake_redis.h"

enum { SLOTS = 4, LONG_MS = 120000, FEW = 5, MANY = 16, DAY_MS = 86400000 };

/* A key of each slot. */
static char keys[SLOTS][16];

static void find_keys(void)
{
    char key[16];

    for (int i = 0; i < 1000; i++) {
        int len = snprintf(key, sizeof(key), "key%d", i);

        (void) snprintf(keys[slot_of_key(key, (size_t) len, SLOTS)], sizeof(key), "%s", key);
    }
}

/* A producer with the first send of slot 0 in progress: nothing is answered until the test says
 * so. */
static smq_producer *producer_with_one_in_progress(int64_t linger_ms, int64_t send_timeout_ms,
                                                   struct sending_receipts *receipts)
{
    smq_producer *producer;

    find_keys();
    smq_producer_options options =
        SMQ_PRODUCER_OPTIONS(.linger_ms = linger_ms, .send_timeout_ms = send_timeout_ms);
    producer = sending_producer(&options);
    sending_hold(true);
    sending_numbered(producer, 0, 1, keys[0], receipts);
    fake_await_held(1);
    return producer;
}

static void send_to_each_slot(smq_producer *producer, int number, struct sending_receipts *receipts)
{
    for (int i = 0; i < SLOTS; i++) {
        sending_numbered(producer, number, number + 1, keys[i], receipts);
    }
}

/* Wait until what was sent so far is in its outbox: sends of all producers come there in their
 * order. */
static void await_outboxes(size_t held)
{
    static struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *another;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.linger_ms = SMQ_NONE);
    another = sending_producer(&options);
    sending_numbered(another, 0, 1, "another", &receipts);
    fake_await_held(held + 1);
    smq_producer_free(another);
}

static bool all_are_stored(void *arg)
{
    struct sending_receipts *receipts = arg;
    bool all;

    pthread_mutex_lock(&receipts->lock);
    all = receipts->ok == 1 + SLOTS * FEW;
    pthread_mutex_unlock(&receipts->lock);
    return all;
}

static void what_comes_meanwhile_goes_together(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(LONG_MS, DAY_MS, &receipts);

    send_to_each_slot(producer, 1, &receipts);
    await_outboxes(1);
    for (int number = 2; number <= FEW; number++) {
        send_to_each_slot(producer, number, &receipts);
    }
    sending_hold(false);
    assert_true(wait_until(all_are_stored, &receipts, WAIT_MS));
    assert_int_equal(sending.sends, 1 + 1 + SLOTS); /* of another, the first, one for each slot */
    smq_producer_free(producer);
}

static void send_to_each_other_slot(smq_producer *producer, struct sending_receipts *receipts)
{
    for (int i = 1; i < SLOTS; i++) {
        sending_numbered(producer, 0, 1, keys[i], receipts);
    }
}

/* What a test awaits comes although nothing is answered. */
static void end(smq_producer *producer)
{
    sending_hold(false);
    sending_flush(producer);
    smq_producer_free(producer);
}

static void without_linger_nothing_waits(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(SMQ_NONE, DAY_MS, &receipts);

    send_to_each_other_slot(producer, &receipts);
    fake_await_held(SLOTS);
    end(producer);
}

static void nothing_waits_longer_than_the_option_says(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(1, DAY_MS, &receipts);

    send_to_each_other_slot(producer, &receipts);
    fake_await_held(SLOTS);
    end(producer);
}

static void nothing_waits_until_its_time_is_over(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(LONG_MS, LONG_MS / 4, &receipts);

    send_to_each_other_slot(producer, &receipts);
    fake_await_held(SLOTS);
    end(producer);
}

static void flush_does_not_wait_for_company(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(LONG_MS, DAY_MS, &receipts);
    smq_error err;

    send_to_each_other_slot(producer, &receipts);
    assert_int_equal(smq_producer_flush(producer, 0, &err), SMQ_TIMED_OUT);
    fake_await_held(SLOTS);
    end(producer);
}

/* They fill a request, and take along what waits. */
static void many_sends_of_a_slot_do_not_wait(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(LONG_MS, DAY_MS, &receipts);

    send_to_each_other_slot(producer, &receipts);
    sending_numbered(producer, 1, MANY, keys[1], &receipts);
    fake_await_held(SLOTS);
    end(producer);
}

static void *send_and_wait(void *arg)
{
    smq_message message = {.struct_size = sizeof(message)};

    message.body = (smq_bytes){"awaited", strlen("awaited")};
    message.key = (smq_bytes){keys[1], strlen(keys[1])};
    (void) smq_send(arg, "orders", &message, NULL, NULL);
    return NULL;
}

static void blocked_caller_does_not_wait_for_company(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(LONG_MS, DAY_MS, &receipts);
    pthread_t caller;

    assert_int_equal(pthread_create(&caller, NULL, send_and_wait, producer), 0);
    fake_await_held(2);
    sending_hold(false);
    assert_int_equal(pthread_join(caller, NULL), 0);
    smq_producer_free(producer);
}

/* --- halves --- */

enum { NOW_US = 1000000 };

static struct next_call next_at(struct outbox_set *set, int64_t now_us, bool busy)
{
    static struct send_request request;

    LIST_INIT(&set->requests.wire);
    if (busy) {
        LIST_INSERT_HEAD(&set->requests.wire, &request, link);
    }
    set->now_us = now_us;
    return outbox_set_next(set);
}

static void assert_next(struct next_call next, enum next_call_why why, int32_t n)
{
    assert_int_equal(next.why, why);
    assert_int_equal(next.n, n);
}

/* The others wait until their time, or until the first half is answered; which half leaves first
 * in which case is a table of the unit test of next_call. */
static void other_half_leaves_later(void **state)
{
    struct outbox_set set = {.urgent = true, .callers = SLOTS, .ready_count = SLOTS};
    struct next_call half;

    pace_init(&set.pace, 1);
    half = next_at(&set, NOW_US, false);
    assert_next(half, NEXT_CALL_HALF, SLOTS / 2);
    assert_in_range(half.leave_at_us, NOW_US + 2, NOW_US + 100);
    set.ready_count = SLOTS / 2;
    assert_next(next_at(&set, NOW_US + 1, true), NEXT_CALL_TOGETHER, 0);
    assert_int_equal(next_at(&set, NOW_US + 1, true).leave_at_us, half.leave_at_us);
    assert_next(next_at(&set, half.leave_at_us, true), NEXT_CALL_NOW, SLOTS / 2);
    assert_next(next_at(&set, NOW_US + 1, false), NEXT_CALL_NOW, SLOTS / 2);
    outbox_set_flushed(&set);
    assert_false(set.urgent);
    set.callers = SLOTS; /* the next ones leave in halves, too */
    set.urgent = true;
    assert_next(next_at(&set, NOW_US, false), NEXT_CALL_HALF, SLOTS / 4);
}

TEST_GROUP(together)
{
    const struct CMUnitTest tests[] = {
        SENDING_TEST(what_comes_meanwhile_goes_together),
        SENDING_TEST(without_linger_nothing_waits),
        SENDING_TEST(nothing_waits_longer_than_the_option_says),
        SENDING_TEST(nothing_waits_until_its_time_is_over),
        SENDING_TEST(flush_does_not_wait_for_company),
        SENDING_TEST(many_sends_of_a_slot_do_not_wait),
        SENDING_TEST(blocked_caller_does_not_wait_for_company),
        cmocka_unit_test(other_half_leaves_later),
    };

    return cmocka_run_group_tests_name("together", tests, NULL, NULL);
}
