/* test_departures.c - sends that wait for others, against a fake of the Redis client: what goes
 * together, and what does not wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/slot.h"
#include "produce/outbox.h"
#include "sending.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 4, LONG_MS = 60000, FEW = 5, MANY = 16, DAY_MS = 86400000 };

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
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *producer;

    find_keys();
    options.linger_ms = linger_ms;
    options.send_timeout_ms = send_timeout_ms;
    producer = sending_producer(&options);
    sending_hold(true);
    sending_numbered(producer, 0, 1, keys[0], receipts);
    sending_await_held(1);
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
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *another;

    options.linger_ms = SMQ_NONE;
    another = sending_producer(&options);
    sending_numbered(another, 0, 1, "another", &receipts);
    sending_await_held(held + 1);
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

    (void) state;
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

    (void) state;
    send_to_each_other_slot(producer, &receipts);
    sending_await_held(SLOTS);
    end(producer);
}

static void nothing_waits_longer_than_the_option_says(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(1, DAY_MS, &receipts);

    (void) state;
    send_to_each_other_slot(producer, &receipts);
    sending_await_held(SLOTS);
    end(producer);
}

static void nothing_waits_until_its_time_is_over(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(LONG_MS, LONG_MS / 2, &receipts);

    (void) state;
    send_to_each_other_slot(producer, &receipts);
    sending_await_held(SLOTS);
    end(producer);
}

static void flush_does_not_wait_for_company(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(LONG_MS, DAY_MS, &receipts);
    smq_error err;

    (void) state;
    send_to_each_other_slot(producer, &receipts);
    assert_int_equal(smq_producer_flush(producer, 0, &err), SMQ_TIMED_OUT);
    sending_await_held(SLOTS);
    end(producer);
}

/* They fill a request, and take along what waits. */
static void many_sends_of_a_slot_do_not_wait(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_producer *producer = producer_with_one_in_progress(LONG_MS, DAY_MS, &receipts);

    (void) state;
    send_to_each_other_slot(producer, &receipts);
    sending_numbered(producer, 1, MANY, keys[1], &receipts);
    sending_await_held(SLOTS);
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

    (void) state;
    assert_int_equal(pthread_create(&caller, NULL, send_and_wait, producer), 0);
    sending_await_held(2);
    sending_hold(false);
    assert_int_equal(pthread_join(caller, NULL), 0);
    smq_producer_free(producer);
}

/* --- halves --- */

enum { NOW_US = 1000000, ALL = -1 };

static const struct halves {
    const char *what;
    int64_t linger_ms;
    int ready, callers;
    bool busy; /* a request is in flight */
    int leave; /* READY outboxes */
} halves[] = {
    {"nobody waits", 1, 4, 0, false, ALL},     {"one caller", 1, 4, 1, false, ALL},
    {"two callers", 1, 2, 2, false, 1},        {"several callers", 1, 4, 4, false, 2},
    {"an odd number", 1, 3, 3, false, 2},      {"callers with one slot", 1, 1, 4, false, 1},
    {"Redis is not idle", 1, 4, 4, true, ALL}, {"nothing may wait", 0, 4, 4, false, ALL},
};

static int departing(struct outbox_set *set, int64_t now_us, bool busy, int64_t *at_us)
{
    static struct send_request request;
    size_t most;

    LIST_INIT(&set->requests.wire);
    if (busy) {
        LIST_INSERT_HEAD(&set->requests.wire, &request, link);
    }
    set->now_us = now_us;
    most = outbox_set_departing(set, at_us);
    return most == SIZE_MAX ? ALL : (int) most;
}

static void set_up(struct outbox_set *set, const struct halves *row, struct outbox *outboxes)
{
    *set = (struct outbox_set){.urgent = true, .callers = row->callers};
    pace_init(&set->pace, row->linger_ms);
    TAILQ_INIT(&set->ready);
    for (int i = 0; i < row->ready; i++) {
        TAILQ_INSERT_TAIL(&set->ready, &outboxes[i], link);
    }
}

/* The others wait until their time, or until the first half is answered. */
static void rest_leaves_later(struct outbox_set *set, int64_t rest_us)
{
    int64_t at_us;

    assert_in_range(rest_us, NOW_US + 2, NOW_US + 100);
    assert_int_equal(departing(set, NOW_US + 1, true, &at_us), 0);
    assert_int_equal(at_us, rest_us);
    assert_int_equal(departing(set, rest_us, true, &at_us), ALL);
    assert_int_equal(departing(set, NOW_US + 1, false, &at_us), ALL);
}

static void half_of_several_callers_leaves_first(void **state)
{
    struct outbox outboxes[SLOTS];
    int64_t rest_us;

    (void) state;
    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        const struct halves *row = &halves[i];
        struct outbox_set set;

        print_message("%s\n", row->what);
        set_up(&set, row, outboxes);
        assert_int_equal(departing(&set, NOW_US, row->busy, &rest_us), row->leave);
        if (row->leave != ALL) {
            rest_leaves_later(&set, rest_us);
        }
        outbox_set_departed(&set);
        assert_false(set.urgent);
        set.callers = row->callers; /* the next departure is halved, too */
        set.urgent = true;
        assert_int_equal(departing(&set, NOW_US, row->busy, &rest_us), row->leave);
    }
}

TEST_GROUP(departures)
{
    const struct CMUnitTest tests[] = {
        SENDING_TEST(what_comes_meanwhile_goes_together),
        SENDING_TEST(without_linger_nothing_waits),
        SENDING_TEST(nothing_waits_longer_than_the_option_says),
        SENDING_TEST(nothing_waits_until_its_time_is_over),
        SENDING_TEST(flush_does_not_wait_for_company),
        SENDING_TEST(many_sends_of_a_slot_do_not_wait),
        SENDING_TEST(blocked_caller_does_not_wait_for_company),
        cmocka_unit_test(half_of_several_callers_leaves_first),
    };

    return cmocka_run_group_tests_name("departures", tests, NULL, NULL);
}
