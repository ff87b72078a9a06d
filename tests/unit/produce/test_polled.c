/* test_polled.c - receipts that are polled, and how the application hears that there is room,
 * against a fake of the Redis client. */
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slotmq/metrics.h>

#include "base/waiter.h"
#include "sending.h"
#include "support/group.h"
#include "unit/fixture/fake_redis.h"

enum { RECEIPTS_MAX = 16, NUMBERS = 64 };

static smq_producer *polled_producer(int64_t max_pending)
{
    smq_producer_options options =
        SMQ_PRODUCER_OPTIONS(.poll_receipts = true, .max_pending = max_pending);
    return sending_producer(&options);
}

static bool is_readable(smq_producer *producer, int timeout_ms)
{
    struct pollfd wait = {.fd = smq_producer_fd(producer), .events = POLLIN};

    return poll(&wait, 1, timeout_ms) == 1;
}

static char places[NUMBERS];

static int number_of(const smq_receipt *receipt)
{
    return (int) ((char *) receipt->user - places);
}

/* Send without a callback; `user` is the place of a number. */
static smq_status send_number(smq_producer *producer, int number)
{
    smq_message message = sending_message("hello", "k");

    return smq_send_async(producer, "orders", &message, NULL, &places[number % NUMBERS], NULL);
}

static size_t poll_now(smq_producer *producer, smq_receipt *receipts, size_t capacity, bool *room)
{
    size_t count = SIZE_MAX;

    assert_int_equal(smq_producer_poll(producer, receipts, capacity, &count, room, 0, NULL),
                     SMQ_OK);
    return count;
}

static void receipts_wait_until_they_are_polled(void **state)
{
    smq_producer *producer = polled_producer(0);
    struct sending_receipts called = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_receipt receipts[RECEIPTS_MAX];
    bool room = true, seen[6] = {false};
    size_t count = 0;

    assert_false(is_readable(producer, 0));
    assert_int_equal(poll_now(producer, receipts, RECEIPTS_MAX, &room), 0);
    assert_false(room);
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(send_number(producer, i), SMQ_OK);
    }
    sending_numbered(producer, 0, 3, "called", &called);
    sending_flush(producer); /* does not wait for polls */
    assert_int_equal(called.total, 3);
    assert_true(is_readable(producer, 0));
    assert_int_equal(smq_client_metrics(sending.client, &metrics, NULL), SMQ_OK);
    assert_int_equal(metrics.send_pending, 5);
    assert_int_equal(smq_producer_poll(producer, receipts, 2, &count, NULL, SMQ_FOREVER, NULL),
                     SMQ_OK);
    assert_int_equal(count, 2);
    assert_true(is_readable(producer, 0));
    count += poll_now(producer, receipts + 2, RECEIPTS_MAX - 2, &room);
    assert_int_equal(count, 5);
    assert_false(is_readable(producer, 0));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(receipts[i].status, SMQ_OK);
        assert_in_range(receipts[i].slot, 0, 3);
        assert_null(receipts[i].text);
        assert_in_range(number_of(&receipts[i]), 1, 5);
        seen[number_of(&receipts[i])] = true;
    }
    assert_true(seen[1] && seen[2] && seen[3] && seen[4] && seen[5]);
    smq_producer_free(producer);
}

static void a_receipt_ends_a_poll_that_waits(void **state)
{
    smq_producer *producer = polled_producer(0);
    smq_receipt receipt;
    size_t count = 0;

    sending_hold(true);
    assert_int_equal(send_number(producer, 1), SMQ_OK);
    assert_int_equal(smq_producer_poll(producer, &receipt, 1, &count, NULL, 1, NULL), SMQ_OK);
    assert_int_equal(count, 0);
    sending_hold(false);
    assert_int_equal(smq_producer_poll(producer, &receipt, 1, &count, NULL, SMQ_FOREVER, NULL),
                     SMQ_OK);
    assert_int_equal(count, 1);
    smq_producer_free(producer);
}

static void a_failure_is_told_with_its_text(void **state)
{
    smq_producer *producer = polled_producer(0);
    smq_receipt receipts[2];
    size_t count;

    sending_fault(FAULT_OOM, 1);
    assert_int_equal(send_number(producer, 7), SMQ_OK);
    assert_true(is_readable(producer, WAIT_MS));
    assert_int_equal(smq_producer_poll(producer, receipts, 2, &count, NULL, 0, NULL), SMQ_OK);
    assert_int_equal(count, 1);
    assert_int_equal(receipts[0].status, SMQ_FULL);
    assert_int_equal(number_of(&receipts[0]), 7);
    assert_non_null(strstr(receipts[0].text, "topic orders"));
    assert_int_equal(send_number(producer, 8), SMQ_OK);
    assert_true(is_readable(producer, WAIT_MS));
    assert_int_equal(poll_now(producer, receipts, 2, NULL), 1); /* the text is freed */
    sending_fault(FAULT_OOM, 1);
    assert_int_equal(send_number(producer, 9), SMQ_OK);
    sending_flush(producer); /* and this one is never polled */
    smq_producer_free(producer);
}

static void polls_make_room_and_say_so_once(void **state)
{
    smq_producer *producer = polled_producer(4);
    smq_receipt receipts[RECEIPTS_MAX];
    bool room = true;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(send_number(producer, i), SMQ_OK);
    }
    sending_flush(producer);
    assert_int_equal(poll_now(producer, receipts, 1, &room), 1);
    assert_false(room); /* nobody was refused */
    assert_int_equal(send_number(producer, 4), SMQ_OK);
    assert_int_equal(send_number(producer, 5), SMQ_FULL); /* receipts that wait count */
    sending_flush(producer);
    assert_int_equal(poll_now(producer, receipts, 2, &room), 2);
    assert_true(room);
    assert_int_equal(poll_now(producer, receipts, RECEIPTS_MAX, &room), 2);
    assert_false(room);
    assert_false(is_readable(producer, 0));
    smq_producer_free(producer);
}

static void room_without_a_receipt_is_told_too(void **state)
{
    smq_producer *producer = polled_producer(3);
    struct sending_receipts called = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_receipt receipt;
    bool room = false;

    sending_hold(true);
    sending_numbered(producer, 0, 3, "called", &called);
    assert_int_equal(send_number(producer, 1), SMQ_FULL);
    assert_false(is_readable(producer, 0));
    sending_hold(false);
    assert_true(is_readable(producer, WAIT_MS));
    assert_int_equal(poll_now(producer, &receipt, 1, &room), 0);
    assert_true(room);
    assert_false(is_readable(producer, 0));
    smq_producer_free(producer);
}

/* An application that only waits for the descriptor: each time that it is readable there is
 * something to get. */
static void no_wake_is_empty(void **state)
{
    enum { SENDS = 20000 };
    smq_producer *producer = polled_producer(64);
    smq_receipt receipts[RECEIPTS_MAX];
    int sent = 0, got = 0, empty = 0;
    bool full = false;

    while (got < SENDS) {
        bool room = false;
        size_t count;

        while (!full && sent < SENDS) {
            full = send_number(producer, sent) == SMQ_FULL;
            sent += full ? 0 : 1;
        }
        assert_true(is_readable(producer, WAIT_MS));
        count = poll_now(producer, receipts, RECEIPTS_MAX, &room);
        empty += count == 0 && !room ? 1 : 0;
        got += (int) count;
        full = full && !room;
    }
    assert_int_equal(got, SENDS);
    assert_int_equal(empty, 0);
    assert_false(is_readable(producer, 0));
    smq_producer_free(producer);
}

/* --- the callback for room --- */

struct caller {
    smq_producer *producer;
    int told;
    smq_status status; /* of a send in the callback */
    struct waiter waiter;
};

static void on_room(void *user)
{
    struct caller *caller = user;

    caller->told++;
    caller->status = send_number(caller->producer, 0);
    waiter_done(&caller->waiter);
}

static void check_room_is_called(smq_sent_fn *sent, void *user)
{
    struct caller caller = {.status = SMQ_INTERNAL};
    smq_message message = sending_message("hello", "k");

    smq_producer_options options =
        SMQ_PRODUCER_OPTIONS(.max_pending = 2, .room = on_room, .room_user = &caller);
    caller.producer = sending_producer(&options);
    waiter_init(&caller.waiter, 1);
    sending_hold(true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(smq_send_async(caller.producer, "orders", &message, sent, user, NULL),
                         SMQ_OK);
    }
    assert_int_equal(smq_send_async(caller.producer, "orders", &message, sent, user, NULL),
                     SMQ_FULL);
    sending_hold(false);
    assert_true(waiter_wait(&caller.waiter, WAIT_MS));
    sending_flush(caller.producer);
    assert_int_equal(caller.status, SMQ_OK);
    assert_int_equal(caller.told, 1);
    smq_producer_free(caller.producer);
    waiter_fini(&caller.waiter);
}

static void room_is_called_once_with_callbacks_and_without(void **state)
{
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};

    check_room_is_called(sending_on_sent, &receipts);
    assert_int_equal(receipts.total, 2);
    check_room_is_called(NULL, NULL);
}

/* --- arguments, fork, the end --- */

static void wrong_polls_are_refused(void **state)
{
    smq_producer *polled = polled_producer(0), *other = sending_producer(NULL), *made = NULL;
    smq_receipt receipt;
    size_t count;
    smq_error err;

    assert_int_equal(smq_producer_fd(other), -1);
    assert_int_equal(smq_producer_fd(NULL), -1);
    assert_int_equal(smq_producer_poll(other, &receipt, 1, &count, NULL, 0, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "poll_receipts"));
    assert_int_equal(smq_producer_poll(NULL, &receipt, 1, &count, NULL, 0, &err), SMQ_INVALID);
    assert_int_equal(smq_producer_poll(polled, NULL, 1, &count, NULL, 0, &err), SMQ_INVALID);
    assert_int_equal(smq_producer_poll(polled, &receipt, 0, &count, NULL, 0, &err), SMQ_INVALID);
    assert_int_equal(smq_producer_poll(polled, &receipt, 1, NULL, NULL, 0, &err), SMQ_INVALID);
    assert_int_equal(smq_producer_poll(polled, &receipt, 1, &count, NULL, -7, &err), SMQ_INVALID);
    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.poll_receipts = true, .room = on_room);
    assert_int_equal(smq_producer_new(&made, sending.client, &options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "room is only for producers without poll_receipts"));
    smq_producer_free(polled);
    smq_producer_free(other);
}

static void a_child_of_fork_has_no_descriptor(void **state)
{
    smq_producer *producer = polled_producer(0);
    int status = 1;
    pid_t child;

    child = fork();
    if (child == 0) {
        smq_receipt receipt;
        size_t count;

        _exit(smq_producer_fd(producer) == -1 &&
                      smq_producer_poll(producer, &receipt, 1, &count, NULL, 0, NULL) == SMQ_FORKED
                  ? 0
                  : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    smq_producer_free(producer);
}

static void what_was_not_polled_is_dropped(void **state)
{
    smq_producer *producer = polled_producer(0);
    smq_metrics metrics = SMQ_METRICS_INIT;

    assert_int_equal(send_number(producer, 1), SMQ_OK);
    sending_flush(producer);
    sending_hold(true);
    assert_int_equal(send_number(producer, 2), SMQ_OK);
    fake_await_held(1);
    smq_producer_free(producer);
    assert_int_equal(smq_client_metrics(sending.client, &metrics, NULL), SMQ_OK);
    assert_int_equal(metrics.send_pending, 0);
    sending_hold(false);
}

TEST_GROUP(polled)
{
    const struct CMUnitTest tests[] = {
        SENDING_TEST(receipts_wait_until_they_are_polled),
        SENDING_TEST(a_receipt_ends_a_poll_that_waits),
        SENDING_TEST(a_failure_is_told_with_its_text),
        SENDING_TEST(polls_make_room_and_say_so_once),
        SENDING_TEST(room_without_a_receipt_is_told_too),
        SENDING_TEST(no_wake_is_empty),
        SENDING_TEST(room_is_called_once_with_callbacks_and_without),
        SENDING_TEST(wrong_polls_are_refused),
        SENDING_TEST(a_child_of_fork_has_no_descriptor),
        SENDING_TEST(what_was_not_polled_is_dropped),
    };

    return cmocka_run_group_tests_name("polled", tests, NULL, NULL);
}
