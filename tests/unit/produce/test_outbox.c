/* test_outbox.c - sending, against a fake of the Redis client: batches, order, repeats,
 * definitions that change. */
#include <stdio.h>
#include <string.h>

#include <slotmq/metrics.h>

#include "model/slot.h"
#include "model/topic.h"
#include "produce/outbox.h"
#include "sending.h"
#include "support/group.h"
#include "support/wait.h"
#include "unit/fixture/fake_redis.h"

/* A row is the state before, a column the state after; 'x': it may follow. */
static void outbox_is_sent_from_ready_only(void **state)
{
    static const char *const rows[OUTBOX_STATES] = {
        [OUTBOX_EMPTY] = ".x..x",     [OUTBOX_READY] = "x.xx.",       [OUTBOX_GATED] = "x..x.",
        [OUTBOX_IN_FLIGHT] = "xx..x", [OUTBOX_BACKING_OFF] = "xx...",
    };

    for (int from = 0; from < OUTBOX_STATES; from++) {
        for (int to = 0; to < OUTBOX_STATES; to++) {
            assert_int_equal(outbox_may((enum outbox_state) from, (enum outbox_state) to),
                             rows[from][to] == 'x');
        }
    }
}

static void a_send_is_stored_and_a_repeated_one_merges(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    smq_message message = sending_message("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_OK);
    assert_int_equal(receipt.status, SMQ_OK);
    assert_int_equal(receipt.slot, slot_of_key("hello", 5, 4));
    assert_false(receipt.merged);
    assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_OK);
    assert_true(receipt.merged);
    assert_int_equal(smq_send(producer, "orders", &message, NULL, NULL), SMQ_OK);
    assert_int_equal(sending.reads, 1);
    smq_producer_free(producer);
}

static void what_comes_during_a_request_goes_together(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};

    sending_hold(true);
    sending_numbered(producer, 0, 1, "k", &receipts);
    fake_await_held(1);
    sending_numbered(producer, 1, 1201, "k", &receipts);
    sending_hold(false);
    sending_flush(producer);
    assert_int_equal(receipts.ok, 1201);
    assert_int_equal(sending.sends, 4); /* 1, 500, 500, 200 */
    assert_int_equal(sending.largest, 500);
    sending_assert_in_order("k", 1201);
    smq_producer_free(producer);
}

/* 16 bodies of 64,000 bytes are less than 1 MiB, 17 are more. */
static void a_request_has_at_most_1_mib(void **state)
{
    enum { COUNT = 40, LEN = 64000 };
    smq_producer *producer = sending_producer(NULL);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    char body[LEN + 1];

    sending_hold(true);
    sending_numbered(producer, 0, 1, "k", &receipts);
    fake_await_held(1);
    memset(body, 'x', LEN);
    body[LEN] = '\0';
    for (int i = 0; i < COUNT; i++) {
        smq_message message = sending_message(body, "k");

        body[0] = (char) ('A' + i);
        assert_int_equal(
            smq_send_async(producer, "orders", &message, sending_on_sent, &receipts, NULL), SMQ_OK);
    }
    sending_hold(false);
    sending_flush(producer);
    assert_int_equal(receipts.ok, 1 + COUNT);
    assert_int_equal(receipts.merged, 0);
    assert_int_equal(sending.sends, 4); /* 1, 16, 16, 8 */
    assert_int_equal(sending.largest, 16);
    smq_producer_free(producer);
}

static void lost_replies_are_repeated_in_order(void **state)
{
    static const enum sending_fault faults[] = {FAULT_LOST_BEFORE, FAULT_LOST_AFTER, FAULT_NOT_DONE,
                                                FAULT_SCRIPT_ERROR};
    smq_producer *producer = sending_producer(NULL);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int sent = 0;

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        sending_hold(true);
        sending_fault(faults[i], 3);
        sending_numbered(producer, sent, sent + 1, "k", &receipts);
        fake_await_held(1);
        sending_numbered(producer, sent + 1, sent + 20, "k", &receipts);
        sent += 20;
        sending_hold(false);
        sending_flush(producer);
    }
    assert_int_equal(receipts.ok, sent);
    assert_int_equal(receipts.merged, 0);
    sending_assert_in_order("k", sent);
    smq_producer_free(producer);
}

static uint64_t counted(bool merged)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err;

    assert_int_equal(smq_client_metrics(sending.client, &metrics, &err), SMQ_OK);
    return merged ? metrics.merged : metrics.sent;
}

/* Whichever try is executed, and however often. */
static void a_repeat_gets_the_answer_to_the_first_try(void **state)
{
    /* clang-format off */
    static const struct {
        enum sending_fault fault;
        bool waits; /* it did before, so the first try merges */
    } rows[] = {
        {FAULT_NONE, false},
        {FAULT_NONE, true},
        {FAULT_LOST_BEFORE, false},
        {FAULT_LOST_BEFORE, true},
        {FAULT_LOST_AFTER, false},
        {FAULT_LOST_AFTER, true},
        {FAULT_NOT_DONE, false},
        {FAULT_NOT_DONE, true},
    };
    /* clang-format on */
    smq_producer *producer = sending_producer(NULL);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char body[16];
        smq_message message;
        smq_receipt receipt;
        smq_error err;
        uint64_t sent, merged;

        snprintf(body, sizeof(body), "row %zu", i);
        message = sending_message(body, NULL);
        if (rows[i].waits) {
            assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_OK);
        }
        sent = counted(false);
        merged = counted(true);
        sending_fault(rows[i].fault, rows[i].fault == FAULT_NONE ? 0 : 2);
        assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_OK);
        assert_int_equal(receipt.merged, rows[i].waits);
        assert_int_equal(counted(true) - merged, rows[i].waits);
        assert_int_equal(counted(false) - sent, !rows[i].waits);
    }
    smq_producer_free(producer);
}

/* From the first request of unknown outcome on, not from the last. */
static void a_send_is_repeated_while_redis_remembers_it(void **state)
{
    static const struct {
        int64_t deadline_ms;
        int64_t begun_ms[2]; /* of its requests */
        int64_t expected_ms;
    } rows[] = {
        {20000, {10000, 15000}, 20000},
        {INT64_MAX, {10000, 15000}, 10000 + SEND_REPEAT_MAX_MS},
        {10000 + SEND_REPEAT_MAX_MS + 1, {10000, 15000}, 10000 + SEND_REPEAT_MAX_MS},
        {10000 + SEND_REPEAT_MAX_MS - 1, {10000, 15000}, 10000 + SEND_REPEAT_MAX_MS - 1},
    };

    assert_true(SEND_REPEAT_MAX_MS < 3600000); /* after which a slot forgets its producer */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct message message = {.body = smq_text("hello")};
        struct send send;

        send_init(&send, "orders", &message, rows[i].deadline_ms);
        send_doubt(&send, rows[i].begun_ms[0]);
        send_doubt(&send, rows[i].begun_ms[1]);
        assert_true(send.unknown);
        assert_int_equal(send.deadline_ms, rows[i].expected_ms);
    }
}

static void without_repeats_a_lost_reply_is_unknown(void **state)
{
    smq_producer *producer;
    smq_message message = sending_message("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.no_repeat = true);
    producer = sending_producer(&options);
    sending_fault(FAULT_LOST_AFTER, 1);
    assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_UNKNOWN);
    assert_int_equal(receipt.status, SMQ_UNKNOWN);
    assert_int_equal(err.status, SMQ_UNKNOWN);
    assert_int_equal(sending.sends, 1);
    smq_producer_free(producer);
}

static void the_time_out_says_whether_it_may_be_stored(void **state)
{
    static const struct {
        enum sending_fault fault;
        smq_status status;
    } cases[] = {{FAULT_NOT_DONE, SMQ_UNAVAILABLE},
                 {FAULT_LOST_BEFORE, SMQ_UNKNOWN},
                 {FAULT_LOST_AFTER, SMQ_UNKNOWN},
                 {FAULT_SCRIPT_ERROR, SMQ_UNKNOWN},
                 {FAULT_OOM, SMQ_FULL}};
    smq_producer *producer;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = 60);
    producer = sending_producer(&options);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        smq_message message = sending_message("hello", NULL);
        smq_receipt receipt;
        smq_error err;

        sending_fault(cases[i].fault, -1);
        assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), cases[i].status);
        assert_int_equal(receipt.status, cases[i].status);
        assert_int_equal(receipt.slot, slot_of_key("hello", 5, 4));
        sending_fault(FAULT_NONE, 0);
        assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_OK);
    }
    smq_producer_free(producer);
}

/* The reply to a try in its last moments would hardly come, and leave it in doubt. */
static void what_was_refused_is_not_tried_at_the_last_moment(void **state)
{
    smq_message message = sending_message("hello", NULL);
    smq_producer *producer;
    smq_error err;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = 50);
    producer = sending_producer(&options);
    assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_OK);
    sending_fault(FAULT_NOT_DONE, -1);
    assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_UNAVAILABLE);
    assert_int_equal(sending.sends, 2);
    smq_producer_free(producer);
}

static void a_definition_that_never_comes_ends_in_time(void **state)
{
    smq_producer *producer;
    smq_message message = sending_message("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = 30);
    producer = sending_producer(&options);
    sending_hold_reads(true);
    assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_TIMED_OUT);
    assert_int_equal(receipt.slot, -1);
    smq_producer_free(producer); /* while the read is in flight */
    sending_hold_reads(false);
}

static void a_new_definition_is_used_and_order_is_kept(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static const char *const keys[] = {"alpha", "beta", "gamma", "delta", "epsilon"};
    static const int32_t slots[] = {16, 1, 2, 64, 1};

    for (int round = 0; round < 5; round++) {
        char nonce[TOPIC_NONCE_LEN + 1];

        snprintf(nonce, sizeof(nonce), "00000000000000b%d", round);
        for (size_t i = 0; i < 5; i++) { /* something is in flight in several slots */
            sending_hold(true);
            sending_numbered(producer, round * 40, round * 40 + 20, keys[i], &receipts);
        }
        fake_await_held(1);
        sending_topic(slots[round], nonce); /* created anew with other slots */
        for (size_t i = 0; i < 5; i++) {
            sending_numbered(producer, round * 40 + 20, round * 40 + 40, keys[i], &receipts);
        }
        sending_hold(false);
    }
    sending_flush(producer);
    assert_int_equal(receipts.ok, 1000);
    for (size_t i = 0; i < 5; i++) {
        sending_assert_in_order(keys[i], 200);
    }
    for (size_t i = 0; i < sending.count; i++) {
        assert_true(sending.stored[i].slot < 64);
    }
    smq_producer_free(producer);
}

static void alter_ttl(int64_t ttl_ms)
{
    fake_lock();
    sending.topic.format = TOPIC_FORMAT_WHOLE;
    sending.topic.layout = SMQ_LAYOUT_KEYED;
    sending.topic.whole_max = 256;
    sending.topic.ttl_ms = ttl_ms;
    sending.topic.version++;
    fake_unlock();
}

/* The first try may be stored: its member has the ttl that the topic had then. */
static void what_may_be_stored_keeps_its_ttl(void **state)
{
    static const char *const begins[] = {"e,5000,3:one", "e,9000,3:two"};
    smq_producer *producer = sending_producer(NULL);
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};

    alter_ttl(5000);
    sending_hold(true);
    sending_fault(FAULT_LOST_BEFORE, 1);
    sending_numbered(producer, 0, 1, "one", &receipts);
    fake_await_held(1);
    alter_ttl(9000);
    sending_hold(false);
    sending_flush(producer);
    sending_numbered(producer, 0, 1, "two", &receipts);
    sending_flush(producer);
    assert_int_equal(receipts.ok, 2);
    assert_int_equal(sending.count, 2);
    for (size_t i = 0; i < 2; i++) {
        sending.stored[i].body[strlen(begins[i])] = '\0';
        assert_string_equal(sending.stored[i].body, begins[i]);
    }
    smq_producer_free(producer);
}

static void a_deleted_topic_is_told(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    smq_message message = sending_message("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_OK);
    sending_delete();
    assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_NO_TOPIC);
    assert_int_equal(receipt.status, SMQ_NO_TOPIC);
    assert_non_null(strstr(err.text, "orders"));
    sending_topic(8, "00000000000000cc");
    assert_int_equal(smq_send(producer, "orders", &message, &receipt, &err), SMQ_OK);
    assert_int_equal(receipt.slot, slot_of_key("hello", 5, 8));
    smq_producer_free(producer);
}

/* What cannot be read says nothing about the topic. */
static void slots_that_answer_garbage_are_no_topic(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    smq_message message = sending_message("hello", NULL);
    smq_error err;

    sending_delete_garbled();
    assert_int_equal(smq_send(producer, "orders", &message, NULL, &err), SMQ_INTERNAL);
    smq_producer_free(producer);
}

static bool is_read_again(void *reads)
{
    bool again;

    fake_lock();
    again = sending.reads >= *(int *) reads;
    fake_unlock();
    return again;
}

static void a_slot_without_a_definition_stops_only_itself(void **state)
{
    smq_producer *patient = sending_producer(NULL), *impatient;
    struct sending_receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_message broken = sending_message("hello", NULL), fine = sending_message("world", NULL);
    int reads = 4;
    smq_receipt receipt;
    smq_error err;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = 50);
    impatient = sending_producer(&options);
    assert_int_not_equal(slot_of_key("hello", 5, 4), slot_of_key("world", 5, 4));
    sending_break(slot_of_key("hello", 5, 4));
    assert_int_equal(smq_send(impatient, "orders", &broken, &receipt, &err), SMQ_DAMAGED);
    assert_non_null(strstr(err.text, "run slotmq topic repair orders"));
    assert_int_equal(smq_send_async(patient, "orders", &broken, sending_on_sent, &receipts, &err),
                     SMQ_OK);
    assert_true(wait_until(is_read_again, &reads, WAIT_MS));
    assert_int_equal(smq_send(patient, "orders", &fine, NULL, &err), SMQ_OK);
    sending_break(-1);
    sending_flush(patient);
    assert_int_equal(receipts.ok, 1);
    smq_producer_free(impatient);
    smq_producer_free(patient);
}

/* The slot refuses the definition again, and the time ends before that can be read once more. */
static void a_damaged_slot_stays_known_to_be_damaged(void **state)
{
    smq_message broken = sending_message("hello", NULL), fine = sending_message("world", NULL);
    smq_producer *producer;
    smq_error err;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = 3000);
    producer = sending_producer(&options);
    assert_int_equal(smq_send(producer, "orders", &fine, NULL, &err), SMQ_OK);
    sending_break(slot_of_key("hello", 5, 4));
    sending_hold_reads_after(1);
    assert_int_equal(smq_send(producer, "orders", &broken, NULL, &err), SMQ_DAMAGED);
    assert_non_null(strstr(err.text, "run slotmq topic repair orders"));
    sending_hold_reads(false);
    smq_producer_free(producer);
}

static void a_batch_has_a_receipt_for_each(void **state)
{
    smq_producer *producer = sending_producer(NULL);
    smq_message messages[] = {sending_message("one", NULL), sending_message("", NULL),
                              sending_message("one", NULL), sending_message("two", NULL)};
    smq_receipt receipts[4];
    smq_error err;

    messages[3].priority = 7; /* not for this type */
    assert_int_equal(smq_send_batch(producer, "orders", messages, 4, receipts, &err), SMQ_INVALID);
    assert_int_equal(err.status, SMQ_INVALID);
    assert_int_equal(receipts[0].status, SMQ_OK);
    assert_int_equal(receipts[1].status, SMQ_INVALID);
    assert_int_equal(receipts[1].slot, -1);
    assert_int_equal(receipts[2].status, SMQ_OK);
    assert_true(receipts[2].merged);
    assert_int_equal(receipts[3].status, SMQ_WRONG_TYPE);
    assert_int_equal(smq_send_batch(producer, "orders", messages, 1, NULL, &err), SMQ_OK);
    assert_int_equal(smq_send_batch(producer, "orders", messages, 0, receipts, &err), SMQ_OK);
    smq_producer_free(producer);
}

TEST_GROUP(outbox)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outbox_is_sent_from_ready_only),
        SENDING_TEST(a_send_is_stored_and_a_repeated_one_merges),
        SENDING_TEST(what_comes_during_a_request_goes_together),
        SENDING_TEST(a_request_has_at_most_1_mib),
        SENDING_TEST(lost_replies_are_repeated_in_order),
        SENDING_TEST(a_repeat_gets_the_answer_to_the_first_try),
        cmocka_unit_test(a_send_is_repeated_while_redis_remembers_it),
        SENDING_TEST(without_repeats_a_lost_reply_is_unknown),
        SENDING_TEST(the_time_out_says_whether_it_may_be_stored),
        SENDING_TEST(what_was_refused_is_not_tried_at_the_last_moment),
        SENDING_TEST(a_definition_that_never_comes_ends_in_time),
        SENDING_TEST(a_new_definition_is_used_and_order_is_kept),
        SENDING_TEST(what_may_be_stored_keeps_its_ttl),
        SENDING_TEST(a_deleted_topic_is_told),
        SENDING_TEST(slots_that_answer_garbage_are_no_topic),
        SENDING_TEST(a_slot_without_a_definition_stops_only_itself),
        SENDING_TEST(a_damaged_slot_stays_known_to_be_damaged),
        SENDING_TEST(a_batch_has_a_receipt_for_each),
    };

    return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
