/* test_handles.c - producers, against a fake of the Redis client: bounds, flushes, counts,
 * handles that are freed, callbacks, arguments, forks. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slotmq/metrics.h>

#include "base/memory.h"
#include "base/waiter.h"
#include "sending.h"
#include "support/group.h"
#include "unit/fixture/fake_redis.h"

static void too_many_pending_are_full(void **state)
{
    smq_producer *producer;
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_message message = sending_message("x", NULL);
    smq_error err;

    smq_producer_options options =
        SMQ_PRODUCER_OPTIONS(.max_pending = 10, .max_pending_bytes = 1000);
    producer = sending_producer(&options);
    sending_hold(true);
    sending_numbered(producer, 0, 10, "k", &receipts);
    assert_int_equal(smq_send_async(producer, "orders", &message, sending_on_sent, &receipts, &err),
                     SMQ_FULL);
    assert_non_null(strstr(err.text, "max_pending"));
    sending_hold(false);
    sending_flush(producer);
    sending_hold(true);
    message.body = smq_text("0123456789012345678901234567890123456789");
    for (int i = 0; i < 2; i++) { /* the bytes of 21 do not fit */
        message.key = (smq_bytes){message.body.data, 40};
        assert_int_equal(
            smq_send_async(producer, "orders", &message, sending_on_sent, &receipts, &err), SMQ_OK);
    }
    message.key = (smq_bytes){memory_new(900), 900};
    assert_int_equal(smq_send_async(producer, "orders", &message, sending_on_sent, &receipts, &err),
                     SMQ_FULL);
    free((void *) message.key.data);
    sending_hold(false);
    sending_flush(producer);
    assert_int_equal(receipts.total, 12);
    smq_producer_free(producer);
}

static void assert_sends(uint64_t sent, uint64_t merged, uint64_t failures, uint64_t pending)
{
    smq_metrics metrics = SMQ_METRICS_INIT;

    assert_int_equal(smq_client_metrics(sending.client, &metrics, NULL), SMQ_OK);
    assert_int_equal(metrics.sent, sent);
    assert_int_equal(metrics.merged, merged);
    assert_int_equal(metrics.send_failures, failures);
    assert_int_equal(metrics.send_pending, pending);
}

static void sends_are_counted_until_their_receipts_are_given(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_message message = sending_message("k-3", "k");
    smq_error err;

    sending_hold(true);
    sending_numbered(producer, 0, 7, "k", &receipts);
    assert_sends(0, 0, 0, 7);
    sending_hold(false);
    sending_flush(producer);
    assert_sends(7, 0, 0, 0);
    assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_OK);
    assert_sends(7, 1, 0, 0);
    sending_fault(FAULT_OOM, 1);
    assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_FULL);
    assert_sends(7, 1, 1, 0);
    smq_producer_free(producer);
}

static void waiting_for_room_ends_when_there_is_some(void **state)
{
    smq_producer *producer;
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};

    smq_producer_options options =
        SMQ_PRODUCER_OPTIONS(.max_pending = 3, .full_timeout_ms = SMQ_FOREVER);
    producer = sending_producer(&options);
    sending_numbered(producer, 0, 5000, "k", &receipts);
    sending_flush(producer);
    assert_int_equal(receipts.ok, 5000);
    sending_assert_in_order("k", 5000);
    smq_producer_free(producer);
}

static void flush_waits_for_all_so_far(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_error err;

    assert_int_equal(smq_producer_flush(producer, 0, &err), SMQ_OK);
    sending_hold(true);
    sending_numbered(producer, 0, 5, "k", &receipts);
    assert_int_equal(smq_producer_flush(producer, 1, &err), SMQ_TIMED_OUT);
    assert_int_equal(smq_producer_flush(producer, -7, &err), SMQ_INVALID);
    sending_hold(false);
    sending_flush(producer);
    assert_int_equal(receipts.ok, 5);
    smq_producer_free(producer);
}

static void a_freed_producer_ends_what_is_pending(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    struct sending_receipts wire = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sending_receipts queued = {.lock = PTHREAD_MUTEX_INITIALIZER};

    sending_hold(true);
    sending_numbered(producer, 0, 1, "k", &wire);
    fake_await_held(1);
    sending_numbered(producer, 1, 8, "k", &queued);
    smq_producer_free(producer);
    assert_int_equal(wire.total, 1);
    assert_int_equal(wire.last, SMQ_UNKNOWN);
    assert_int_equal(queued.total, 7);
    assert_int_equal(queued.other, 7);
    assert_int_equal(queued.last, SMQ_CLOSED);
    sending_hold(false); /* the abandoned request is answered */
}

static void handles_may_be_freed_in_any_order(void **state)
{
    smq_producer *producer = sending_producer(NULL), *other = sending_producer(NULL);
    smq_message message = sending_message("hello", NULL);
    smq_error err;

    smq_client_free(sending.client);
    sending.client = NULL;
    assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_OK);
    smq_producer_free(producer);
    assert_int_equal(smq_send(other, "orders", &message, NULL, &err), SMQ_OK);
    smq_producer_free(other);
}

/* What a callback does with the producer. */
struct inside {
    smq_producer *producer;
    smq_status send, flush;
    struct sending_receipts receipts;
    struct waiter waiter;
};

static void send_inside(const smq_receipt *receipt, void *user)
{
    struct inside *inside = user;
    smq_message message = sending_message("from a callback", NULL);

    (void) receipt;
    inside->send = smq_send(inside->producer, "orders", &message, NULL, NULL);
    inside->flush = smq_producer_flush(inside->producer, WAIT_MS, NULL);
    waiter_done(&inside->waiter);
}

static void a_callback_may_send_but_not_flush(void **state)
{
    struct inside inside = {.producer = sending_producer(NULL)};
    smq_message message = sending_message("hello", NULL);
    smq_error err;

    waiter_init(&inside.waiter, 1);
    assert_int_equal(
        smq_send_async(inside.producer, "orders", &message, send_inside, &inside, &err), SMQ_OK);
    assert_true(waiter_wait(&inside.waiter, WAIT_MS));
    assert_int_equal(inside.send, SMQ_OK);
    assert_int_equal(inside.flush, SMQ_WRONG_THREAD);
    waiter_fini(&inside.waiter);
    smq_producer_free(inside.producer);
}

static void free_inside(const smq_receipt *receipt, void *user)
{
    struct inside *inside = user;

    (void) receipt;
    sending_hold(true);
    sending_numbered(inside->producer, 0, 6, "k", &inside->receipts);
    smq_producer_free(inside->producer);
    waiter_done(&inside->waiter);
}

static void a_callback_may_free_its_producer(void **state)
{
    struct inside inside = {.producer = sending_producer(NULL),
                            .receipts.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_message message = sending_message("hello", NULL);
    smq_error err;

    waiter_init(&inside.waiter, 1);
    assert_int_equal(
        smq_send_async(inside.producer, "orders", &message, free_inside, &inside, &err), SMQ_OK);
    assert_true(waiter_wait(&inside.waiter, WAIT_MS));
    assert_int_equal(inside.receipts.total, 6); /* given before smq_producer_free() returned */
    assert_int_equal(inside.receipts.other, 6);
    waiter_fini(&inside.waiter);
    sending_hold(false);
}

static void bad_arguments_are_refused(void **state)
{
    smq_producer *producer = NULL;
    smq_message message = sending_message("hello", NULL), unset = message;
    smq_receipt receipt;
    smq_error err;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.max_pending = -5);
    assert_int_equal(smq_producer_new(&producer, sending.client, &options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "max_pending"));
    assert_null(producer);
    assert_int_equal(smq_producer_new(NULL, sending.client, NULL, &err), SMQ_INVALID);
    assert_int_equal(smq_producer_new(&producer, NULL, NULL, &err), SMQ_INVALID);
    producer = sending_producer(NULL);
    unset.struct_size = 0;
    assert_int_equal(smq_send(producer, "orders", &unset, &receipt, &err), SMQ_INVALID);
    unset.struct_size = sizeof(unset) + 8;
    assert_int_equal(smq_send(producer, "orders", &unset, &receipt, &err), SMQ_INVALID);
    assert_int_equal(smq_send(producer, "orders", NULL, &receipt, &err), SMQ_INVALID);
    assert_int_equal(receipt.slot, -1);
    assert_int_equal(smq_send(producer, "a{b}", &message, &receipt, &err), SMQ_INVALID);
    assert_int_equal(smq_send(producer, NULL, &message, &receipt, &err), SMQ_INVALID);
    assert_int_equal(smq_send(NULL, "orders", &message, &receipt, &err), SMQ_INVALID);
    message.body.len = 256 * 1024 * 1024 + 1;
    assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_TOO_BIG);
    assert_int_equal(smq_send_async(producer, "orders", &message, NULL, NULL, &err), SMQ_TOO_BIG);
    assert_int_equal(sending.sends, 0);
    smq_producer_free(producer);
    smq_producer_free(NULL);
}

static void an_older_program_has_smaller_structs(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    smq_message message = sending_message("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    message.struct_size = offsetof(smq_message, priority);
    message.priority = 99; /* behind the end: not read */
    assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_OK);
    assert_int_equal(smq_send_batch(producer, "orders", &message, 1, &receipt, &err), SMQ_OK);
    smq_producer_free(producer);
}

static void a_forked_child_is_told(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    smq_message message = sending_message("hello", NULL);
    smq_status status;
    int exit_status;
    pid_t pid;

    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        status = smq_send(producer, "orders", &message, NULL, NULL);
        smq_producer_free(producer);
        smq_client_free(sending.client);
        _exit(status == SMQ_FORKED ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &exit_status, 0), pid);
    assert_true(WIFEXITED(exit_status) && WEXITSTATUS(exit_status) == 0);
    assert_int_equal(smq_send(producer, "orders", &message, NULL, NULL), SMQ_OK);
    smq_producer_free(producer);
}

TEST_GROUP(handles)
{
    const struct CMUnitTest tests[] = {
        SENDING_TEST(too_many_pending_are_full),
        SENDING_TEST(sends_are_counted_until_their_receipts_are_given),
        SENDING_TEST(waiting_for_room_ends_when_there_is_some),
        SENDING_TEST(flush_waits_for_all_so_far),
        SENDING_TEST(a_freed_producer_ends_what_is_pending),
        SENDING_TEST(handles_may_be_freed_in_any_order),
        SENDING_TEST(a_callback_may_send_but_not_flush),
        SENDING_TEST(a_callback_may_free_its_producer),
        SENDING_TEST(bad_arguments_are_refused),
        SENDING_TEST(an_older_program_has_smaller_structs),
        SENDING_TEST(a_forked_child_is_told),
    };

    return cmocka_run_group_tests_name("handles", tests, NULL, NULL);
}
