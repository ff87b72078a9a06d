/* test_producer.c - sending, against a fake of the Redis client: batches, order, repeats, bounds,
 * definitions that change, and producers that are freed. */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <slotmq/metrics.h>
#include <slotmq/producer.h>
#include <slotmq/topic.h>

#include "base/memory.h"
#include "base/waiter.h"
#include "fake_redis.h"
#include "model/slot.h"
#include "model/topic.h"
#include "support/wait.h"

enum { STORED_MAX = 200000, WAIT_MS = 30000, SEND_HEAD = 8 };

/* --- a model of the servers: one topic, and what was stored, in order --- */

/* What happens to a send. */
enum fault {
    FAULT_NONE,
    FAULT_LOST_BEFORE, /* no reply, not executed */
    FAULT_LOST_AFTER,  /* no reply, executed */
    FAULT_NOT_DONE,    /* no server */
    FAULT_OOM,
    FAULT_SCRIPT_ERROR
};

struct stored {
    int32_t slot;
    char body[64];
};

static struct model {
    pthread_mutex_t lock;
    bool exists, hold, hold_reads;
    struct topic topic;
    enum fault fault;
    int faulty;     /* so many sends more; -1: all */
    int32_t broken; /* a slot without a definition; -1: none */
    int sends, reads;
    size_t count, largest;
    struct stored *stored;
} model = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void model_topic(int32_t slots, const char *nonce)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;
    smq_error err;

    options.name = "orders";
    options.type = SMQ_FIXED_TIME;
    options.slots = slots;
    pthread_mutex_lock(&model.lock);
    assert_int_equal(topic_from_options(&model.topic, &options, &err), SMQ_OK);
    snprintf(model.topic.nonce, sizeof(model.topic.nonce), "%s", nonce);
    model.topic.version = 1;
    model.topic.generation = 1;
    model.exists = true;
    pthread_mutex_unlock(&model.lock);
}

static void model_delete(void)
{
    pthread_mutex_lock(&model.lock);
    model.exists = false;
    pthread_mutex_unlock(&model.lock);
}

static void model_fault(enum fault fault, int count)
{
    pthread_mutex_lock(&model.lock);
    model.fault = fault;
    model.faulty = count;
    pthread_mutex_unlock(&model.lock);
}

/* Hold sends back, or let them go. */
static void model_hold(bool hold)
{
    pthread_mutex_lock(&model.lock);
    model.hold = hold;
    pthread_mutex_unlock(&model.lock);
    if (!hold) {
        fake_resume();
    }
}

static void model_hold_reads(bool hold)
{
    pthread_mutex_lock(&model.lock);
    model.hold_reads = hold;
    pthread_mutex_unlock(&model.lock);
    if (!hold) {
        fake_resume();
    }
}

static void put_pair(redisReply *array, size_t index, const char *name, redisReply *value)
{
    fake_put(array, index, fake_text(name));
    fake_put(array, index + 1, value);
}

static redisReply *model_definition(void)
{
    struct buf text = {0};
    redisReply *reply;

    model.reads++;
    if (!model.exists) {
        return fake_array(0);
    }
    topic_format(&text, &model.topic);
    reply = fake_array(10);
    put_pair(reply, 0, "state", fake_text("ready"));
    put_pair(reply, 2, "definition", fake_string(text.data, text.len));
    put_pair(reply, 4, "nonce", fake_text(model.topic.nonce));
    put_pair(reply, 6, "version", fake_text("1"));
    put_pair(reply, 8, "generation", fake_text("1"));
    buf_fini(&text);
    return reply;
}

static redisReply *model_word(const char *word)
{
    redisReply *reply = fake_array(1);

    fake_put(reply, 0, fake_text(word));
    return reply;
}

static bool model_store(int32_t slot, const char *body, size_t len)
{
    struct stored *stored = &model.stored[model.count];

    for (size_t i = 0; i < model.count && model.count < 2000; i++) {
        if (strlen(model.stored[i].body) == len && memcmp(model.stored[i].body, body, len) == 0) {
            return false;
        }
    }
    assert(model.count < STORED_MAX && len < sizeof(stored->body));
    stored->slot = slot;
    memcpy(stored->body, body, len);
    stored->body[len] = '\0';
    model.count++;
    return true;
}

/* The slot, from the key "orders_SLOT". */
static int32_t model_slot(const struct redis_command *command)
{
    char key[SLOT_KEY_MAX];
    size_t len;
    const char *data = fake_arg(command, 0, &len);

    memcpy(key, data, len);
    key[len] = '\0';
    return atoi(strrchr(key, '_') + 1);
}

static redisReply *model_send(const struct redis_command *command)
{
    char stamp[TOPIC_STAMP_MAX];
    size_t count = (command->args.count - SEND_HEAD) / 2, len;
    int32_t slot = model_slot(command);
    char *results = memory_new(count + 1);
    redisReply *reply;

    topic_stamp(stamp, &model.topic);
    if (!model.exists || slot >= model.topic.slots || slot == model.broken) {
        free(results);
        return model_word("NO_TOPIC");
    }
    if (!fake_arg_is(command, 3, stamp)) {
        free(results);
        return model_word("STALE");
    }
    for (size_t i = 0; i < count; i++) {
        const char *body = fake_arg(command, SEND_HEAD + 2 * i, &len);

        results[i] = model_store(slot, body, len) ? 'a' : 'm';
    }
    model.largest = count > model.largest ? count : model.largest;
    reply = fake_array(2);
    fake_put(reply, 0, fake_text("OK"));
    fake_put(reply, 1, fake_string(results, count));
    free(results);
    return reply;
}

static enum fault model_next_fault(void)
{
    if (model.faulty == 0) {
        return FAULT_NONE;
    }
    model.faulty -= model.faulty > 0 ? 1 : 0;
    return model.fault;
}

static void answer_send(const struct redis_command *command, struct fake_answer *answer)
{
    model.sends++;
    switch (model_next_fault()) {
    case FAULT_NONE:
        answer->reply = model_send(command);
        break;
    case FAULT_LOST_AFTER:
        freeReplyObject(model_send(command));
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
        break;
    case FAULT_LOST_BEFORE:
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
        break;
    case FAULT_NOT_DONE:
        *answer = (struct fake_answer){.outcome = REDIS_NOT_DONE, .status = SMQ_UNAVAILABLE};
        break;
    case FAULT_OOM:
        *answer = (struct fake_answer){.outcome = REDIS_NOT_DONE, .status = SMQ_FULL};
        break;
    case FAULT_SCRIPT_ERROR:
        *answer = (struct fake_answer){.outcome = REDIS_PARTLY, .status = SMQ_INTERNAL};
        break;
    }
}

static bool model_serve(const struct redis_command *command, struct fake_answer *answer, void *user)
{
    bool answered = true;

    (void) user;
    pthread_mutex_lock(&model.lock);
    if (command->script == NULL) {
        answered = !model.hold_reads;
        answer->reply = answered ? model_definition() : NULL;
    } else if (model.hold) {
        answered = false;
    } else {
        answer_send(command, answer);
    }
    pthread_mutex_unlock(&model.lock);
    return answered;
}

/* --- what each test begins and ends with --- */

static smq_client *client;

static int set_up(void **state)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_error err;

    (void) state;
    model.exists = model.hold = model.hold_reads = false;
    model.faulty = model.sends = model.reads = 0;
    model.broken = -1;
    model.count = model.largest = 0;
    model.stored = memory_new(STORED_MAX * sizeof(*model.stored));
    fake_serve(model_serve, NULL);
    fake_connects(SMQ_OK);
    model_topic(4, "00000000000000aa");
    options.redis = "fake:1";
    assert_int_equal(smq_client_new(&client, &options, &err), SMQ_OK);
    return 0;
}

static bool no_client_is_left(void *arg)
{
    (void) arg;
    return fake_clients() == 0;
}

/* A producer freed in a callback ends its client a moment later, on another thread. */
static int tear_down(void **state)
{
    (void) state;
    smq_client_free(client);
    assert_true(wait_until(no_client_is_left, NULL, WAIT_MS));
    free(model.stored);
    return 0;
}

static smq_producer *producer_made(const smq_producer_options *options)
{
    smq_producer *producer = NULL;
    smq_error err = {.text = ""};

    if (smq_producer_new(&producer, client, options, &err) != SMQ_OK) {
        fail_msg("%s", err.text);
    }
    return producer;
}

static smq_message message_of(const char *body, const char *key)
{
    smq_message message = SMQ_MESSAGE_INIT;

    message.body = body;
    message.body_len = SMQ_STRING;
    message.key = key;
    message.key_len = key != NULL ? strlen(key) : 0;
    return message;
}

/* Receipts of asynchronous sends, counted by status. */
struct receipts {
    pthread_mutex_t lock;
    int ok, merged, other, total;
    smq_status last;
};

static void on_sent(const smq_receipt *receipt, void *user)
{
    struct receipts *receipts = user;

    pthread_mutex_lock(&receipts->lock);
    receipts->total++;
    receipts->ok += receipt->status == SMQ_OK ? 1 : 0;
    receipts->merged += receipt->merged ? 1 : 0;
    receipts->other += receipt->status != SMQ_OK ? 1 : 0;
    receipts->last = receipt->status;
    pthread_mutex_unlock(&receipts->lock);
}

static void send_numbered(smq_producer *producer, int from, int to, const char *key,
                          struct receipts *receipts)
{
    for (int i = from; i < to; i++) {
        char body[32];
        smq_error err = {.text = ""};
        smq_message message;

        snprintf(body, sizeof(body), "%s-%d", key, i);
        message = message_of(body, key);
        if (smq_send_async(producer, "orders", &message, on_sent, receipts, &err) != SMQ_OK) {
            fail_msg("%s", err.text);
        }
    }
}

static void flush(smq_producer *producer)
{
    smq_error err = {.text = ""};

    if (smq_producer_flush(producer, WAIT_MS, &err) != SMQ_OK) {
        fail_msg("%s", err.text);
    }
}

static bool is_held(void *count)
{
    return fake_held() >= *(size_t *) count;
}

static void await_held(size_t count)
{
    assert_true(wait_until(is_held, &count, WAIT_MS));
}

/* Were key-0 ... key-(count - 1) stored in this order? */
static void assert_in_order(const char *key, int count)
{
    int next = 0;
    size_t len = strlen(key);

    for (size_t i = 0; i < model.count; i++) {
        const char *body = model.stored[i].body;

        if (strncmp(body, key, len) == 0 && body[len] == '-') {
            assert_int_equal(atoi(body + len + 1), next);
            next++;
        }
    }
    assert_int_equal(next, count);
}

/* --- tests --- */

static void a_send_is_stored_and_a_repeated_one_merges(void **state)
{
    smq_producer *producer = producer_made(NULL);
    smq_message message = message_of("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    (void) state;
    assert_int_equal(smq_send(&receipt, producer, "orders", &message, &err), SMQ_OK);
    assert_int_equal(receipt.status, SMQ_OK);
    assert_int_equal(receipt.slot, slot_of_key("hello", 5, 4));
    assert_false(receipt.merged);
    assert_int_equal(smq_send(&receipt, producer, "orders", &message, &err), SMQ_OK);
    assert_true(receipt.merged);
    assert_int_equal(smq_send(NULL, producer, "orders", &message, NULL), SMQ_OK);
    assert_int_equal(model.reads, 1);
    smq_producer_free(producer);
}

static void what_comes_during_a_request_goes_together(void **state)
{
    smq_producer *producer = producer_made(NULL);
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};

    (void) state;
    model_hold(true);
    send_numbered(producer, 0, 1, "k", &receipts);
    await_held(1);
    send_numbered(producer, 1, 1201, "k", &receipts);
    model_hold(false);
    flush(producer);
    assert_int_equal(receipts.ok, 1201);
    assert_int_equal(model.sends, 4); /* 1, 500, 500, 200 */
    assert_int_equal(model.largest, 500);
    assert_in_order("k", 1201);
    smq_producer_free(producer);
}

static void lost_replies_are_repeated_in_order(void **state)
{
    static const enum fault faults[] = {FAULT_LOST_BEFORE, FAULT_LOST_AFTER, FAULT_NOT_DONE,
                                        FAULT_SCRIPT_ERROR};
    smq_producer *producer = producer_made(NULL);
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int sent = 0;

    (void) state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        model_hold(true);
        model_fault(faults[i], 3);
        send_numbered(producer, sent, sent + 1, "k", &receipts);
        await_held(1);
        send_numbered(producer, sent + 1, sent + 20, "k", &receipts);
        sent += 20;
        model_hold(false);
        flush(producer);
    }
    assert_int_equal(receipts.ok, sent);
    assert_true(receipts.merged > 0); /* those that were stored although the reply was lost */
    assert_in_order("k", sent);
    smq_producer_free(producer);
}

static void without_repeats_a_lost_reply_is_unknown(void **state)
{
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *producer;
    smq_message message = message_of("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    (void) state;
    options.no_repeat = true;
    producer = producer_made(&options);
    model_fault(FAULT_LOST_AFTER, 1);
    assert_int_equal(smq_send(&receipt, producer, "orders", &message, &err), SMQ_UNKNOWN);
    assert_int_equal(receipt.status, SMQ_UNKNOWN);
    assert_int_equal(err.status, SMQ_UNKNOWN);
    assert_int_equal(model.sends, 1);
    smq_producer_free(producer);
}

static void the_time_out_says_whether_it_may_be_stored(void **state)
{
    static const struct {
        enum fault fault;
        smq_status status;
    } cases[] = {{FAULT_NOT_DONE, SMQ_UNAVAILABLE},
                 {FAULT_LOST_BEFORE, SMQ_UNKNOWN},
                 {FAULT_LOST_AFTER, SMQ_UNKNOWN},
                 {FAULT_SCRIPT_ERROR, SMQ_UNKNOWN},
                 {FAULT_OOM, SMQ_FULL}};
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *producer;

    (void) state;
    options.send_timeout_ms = 60;
    producer = producer_made(&options);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        smq_message message = message_of("hello", NULL);
        smq_receipt receipt;
        smq_error err;

        model_fault(cases[i].fault, -1);
        assert_int_equal(smq_send(&receipt, producer, "orders", &message, &err), cases[i].status);
        assert_int_equal(receipt.status, cases[i].status);
        assert_int_equal(receipt.slot, slot_of_key("hello", 5, 4));
        model_fault(FAULT_NONE, 0);
        assert_int_equal(smq_send(NULL, producer, "orders", &message, &err), SMQ_OK);
    }
    smq_producer_free(producer);
}

static void a_definition_that_never_comes_ends_in_time(void **state)
{
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *producer;
    smq_message message = message_of("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    (void) state;
    options.send_timeout_ms = 30;
    producer = producer_made(&options);
    model_hold_reads(true);
    assert_int_equal(smq_send(&receipt, producer, "orders", &message, &err), SMQ_TIMED_OUT);
    assert_int_equal(receipt.slot, -1);
    smq_producer_free(producer); /* while the read is on its way */
    model_hold_reads(false);
}

static void a_new_definition_is_used_and_order_is_kept(void **state)
{
    smq_producer *producer = producer_made(NULL);
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static const char *const keys[] = {"alpha", "beta", "gamma", "delta", "epsilon"};
    static const int32_t slots[] = {16, 1, 2, 64, 1};

    (void) state;
    for (int round = 0; round < 5; round++) {
        char nonce[TOPIC_NONCE_LEN + 1];

        snprintf(nonce, sizeof(nonce), "00000000000000b%d", round);
        for (size_t i = 0; i < 5; i++) { /* something is on the wire in several slots */
            model_hold(true);
            send_numbered(producer, round * 40, round * 40 + 20, keys[i], &receipts);
        }
        await_held(1);
        model_topic(slots[round], nonce); /* created anew with other slots */
        for (size_t i = 0; i < 5; i++) {
            send_numbered(producer, round * 40 + 20, round * 40 + 40, keys[i], &receipts);
        }
        model_hold(false);
    }
    flush(producer);
    assert_int_equal(receipts.ok, 1000);
    for (size_t i = 0; i < 5; i++) {
        assert_in_order(keys[i], 200);
    }
    for (size_t i = 0; i < model.count; i++) {
        assert_true(model.stored[i].slot < 64);
    }
    smq_producer_free(producer);
}

static void a_deleted_topic_is_told(void **state)
{
    smq_producer *producer = producer_made(NULL);
    smq_message message = message_of("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    (void) state;
    assert_int_equal(smq_send(NULL, producer, "orders", &message, &err), SMQ_OK);
    model_delete();
    assert_int_equal(smq_send(&receipt, producer, "orders", &message, &err), SMQ_NO_TOPIC);
    assert_int_equal(receipt.status, SMQ_NO_TOPIC);
    assert_non_null(strstr(err.text, "orders"));
    model_topic(8, "00000000000000cc");
    assert_int_equal(smq_send(&receipt, producer, "orders", &message, &err), SMQ_OK);
    assert_int_equal(receipt.slot, slot_of_key("hello", 5, 8));
    smq_producer_free(producer);
}

static void model_break(int32_t slot)
{
    pthread_mutex_lock(&model.lock);
    model.broken = slot;
    pthread_mutex_unlock(&model.lock);
}

static bool is_read_again(void *reads)
{
    bool again;

    pthread_mutex_lock(&model.lock);
    again = model.reads >= *(int *) reads;
    pthread_mutex_unlock(&model.lock);
    return again;
}

static void a_slot_without_a_definition_stops_only_itself(void **state)
{
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *patient = producer_made(NULL), *impatient;
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_message broken = message_of("hello", NULL), fine = message_of("world", NULL);
    int reads = 4;
    smq_receipt receipt;
    smq_error err;

    (void) state;
    options.send_timeout_ms = 50;
    impatient = producer_made(&options);
    assert_int_not_equal(slot_of_key("hello", 5, 4), slot_of_key("world", 5, 4));
    model_break(slot_of_key("hello", 5, 4));
    assert_int_equal(smq_send(&receipt, impatient, "orders", &broken, &err), SMQ_NO_TOPIC);
    assert_non_null(strstr(err.text, "the slot has no definition"));
    assert_int_equal(smq_send_async(patient, "orders", &broken, on_sent, &receipts, &err), SMQ_OK);
    assert_true(wait_until(is_read_again, &reads, WAIT_MS));
    assert_int_equal(smq_send(NULL, patient, "orders", &fine, &err), SMQ_OK);
    model_break(-1);
    flush(patient);
    assert_int_equal(receipts.ok, 1);
    smq_producer_free(impatient);
    smq_producer_free(patient);
}

static void a_batch_has_a_receipt_for_each(void **state)
{
    smq_producer *producer = producer_made(NULL);
    smq_message messages[] = {message_of("one", NULL), message_of("", NULL),
                              message_of("one", NULL), message_of("two", NULL)};
    smq_receipt receipts[4];
    smq_error err;

    (void) state;
    messages[3].priority = 7; /* not for this type */
    assert_int_equal(smq_send_batch(receipts, producer, "orders", messages, 4, &err), SMQ_INVALID);
    assert_int_equal(err.status, SMQ_INVALID);
    assert_int_equal(receipts[0].status, SMQ_OK);
    assert_int_equal(receipts[1].status, SMQ_INVALID);
    assert_int_equal(receipts[1].slot, -1);
    assert_int_equal(receipts[2].status, SMQ_OK);
    assert_true(receipts[2].merged);
    assert_int_equal(receipts[3].status, SMQ_WRONG_TYPE);
    assert_int_equal(smq_send_batch(NULL, producer, "orders", messages, 1, &err), SMQ_OK);
    assert_int_equal(smq_send_batch(receipts, producer, "orders", messages, 0, &err), SMQ_OK);
    smq_producer_free(producer);
}

static void too_many_pending_are_full(void **state)
{
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *producer;
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_message message = message_of("x", NULL);
    smq_error err;

    (void) state;
    options.max_pending = 10;
    options.max_pending_bytes = 1000;
    producer = producer_made(&options);
    model_hold(true);
    send_numbered(producer, 0, 10, "k", &receipts);
    assert_int_equal(smq_send_async(producer, "orders", &message, on_sent, &receipts, &err),
                     SMQ_FULL);
    assert_non_null(strstr(err.text, "max_pending"));
    model_hold(false);
    flush(producer);
    model_hold(true);
    message.body = "0123456789012345678901234567890123456789";
    for (int i = 0; i < 2; i++) { /* the bytes of 21 do not fit */
        message.key = message.body;
        message.key_len = 40;
        assert_int_equal(smq_send_async(producer, "orders", &message, on_sent, &receipts, &err),
                         SMQ_OK);
    }
    message.key_len = 900;
    message.key = memory_new(900);
    assert_int_equal(smq_send_async(producer, "orders", &message, on_sent, &receipts, &err),
                     SMQ_FULL);
    free((void *) message.key);
    model_hold(false);
    flush(producer);
    assert_int_equal(receipts.total, 12);
    smq_producer_free(producer);
}

static void assert_sends(uint64_t sent, uint64_t merged, uint64_t failures, uint64_t pending)
{
    smq_metrics metrics = SMQ_METRICS_INIT;

    assert_int_equal(smq_client_metrics(&metrics, client, NULL), SMQ_OK);
    assert_int_equal(metrics.sent, sent);
    assert_int_equal(metrics.merged, merged);
    assert_int_equal(metrics.send_failures, failures);
    assert_int_equal(metrics.send_pending, pending);
}

static void sends_are_counted_until_their_receipts_are_given(void **state)
{
    smq_producer *producer = producer_made(NULL);
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_message message = message_of("k-3", "k");
    smq_error err;

    (void) state;
    model_hold(true);
    send_numbered(producer, 0, 7, "k", &receipts);
    assert_sends(0, 0, 0, 7);
    model_hold(false);
    flush(producer);
    assert_sends(7, 0, 0, 0);
    assert_int_equal(smq_send(NULL, producer, "orders", &message, &err), SMQ_OK);
    assert_sends(7, 1, 0, 0);
    model_fault(FAULT_OOM, 1);
    assert_int_equal(smq_send(NULL, producer, "orders", &message, &err), SMQ_FULL);
    assert_sends(7, 1, 1, 0);
    smq_producer_free(producer);
}

static void waiting_for_room_ends_when_there_is_some(void **state)
{
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *producer;
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};

    (void) state;
    options.max_pending = 3;
    options.full_timeout_ms = SMQ_FOREVER;
    producer = producer_made(&options);
    send_numbered(producer, 0, 5000, "k", &receipts);
    flush(producer);
    assert_int_equal(receipts.ok, 5000);
    assert_in_order("k", 5000);
    smq_producer_free(producer);
}

static void flush_waits_for_all_so_far(void **state)
{
    smq_producer *producer = producer_made(NULL);
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_error err;

    (void) state;
    assert_int_equal(smq_producer_flush(producer, 0, &err), SMQ_OK);
    model_hold(true);
    send_numbered(producer, 0, 5, "k", &receipts);
    assert_int_equal(smq_producer_flush(producer, 1, &err), SMQ_TIMED_OUT);
    assert_int_equal(smq_producer_flush(producer, -7, &err), SMQ_INVALID);
    model_hold(false);
    flush(producer);
    assert_int_equal(receipts.ok, 5);
    smq_producer_free(producer);
}

static void a_freed_producer_ends_what_is_pending(void **state)
{
    smq_producer *producer = producer_made(NULL);
    struct receipts wire = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct receipts queued = {.lock = PTHREAD_MUTEX_INITIALIZER};

    (void) state;
    model_hold(true);
    send_numbered(producer, 0, 1, "k", &wire);
    await_held(1);
    send_numbered(producer, 1, 8, "k", &queued);
    smq_producer_free(producer);
    assert_int_equal(wire.total, 1);
    assert_int_equal(wire.last, SMQ_UNKNOWN);
    assert_int_equal(queued.total, 7);
    assert_int_equal(queued.other, 7);
    assert_int_equal(queued.last, SMQ_CLOSED);
    model_hold(false); /* the abandoned request is answered */
}

static void handles_may_be_freed_in_any_order(void **state)
{
    smq_producer *producer = producer_made(NULL), *other = producer_made(NULL);
    smq_message message = message_of("hello", NULL);
    smq_error err;

    (void) state;
    smq_client_free(client);
    client = NULL;
    assert_int_equal(smq_send(NULL, producer, "orders", &message, &err), SMQ_OK);
    smq_producer_free(producer);
    assert_int_equal(smq_send(NULL, other, "orders", &message, &err), SMQ_OK);
    smq_producer_free(other);
}

/* What a callback does with the producer. */
struct inside {
    smq_producer *producer;
    smq_status send, flush;
    struct receipts receipts;
    struct waiter waiter;
};

static void send_inside(const smq_receipt *receipt, void *user)
{
    struct inside *inside = user;
    smq_message message = message_of("from a callback", NULL);

    (void) receipt;
    inside->send = smq_send(NULL, inside->producer, "orders", &message, NULL);
    inside->flush = smq_producer_flush(inside->producer, WAIT_MS, NULL);
    waiter_done(&inside->waiter);
}

static void a_callback_may_send_but_not_flush(void **state)
{
    struct inside inside = {.producer = producer_made(NULL)};
    smq_message message = message_of("hello", NULL);
    smq_error err;

    (void) state;
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
    model_hold(true);
    send_numbered(inside->producer, 0, 6, "k", &inside->receipts);
    smq_producer_free(inside->producer);
    waiter_done(&inside->waiter);
}

static void a_callback_may_free_its_producer(void **state)
{
    struct inside inside = {.producer = producer_made(NULL),
                            .receipts.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_message message = message_of("hello", NULL);
    smq_error err;

    (void) state;
    waiter_init(&inside.waiter, 1);
    assert_int_equal(
        smq_send_async(inside.producer, "orders", &message, free_inside, &inside, &err), SMQ_OK);
    assert_true(waiter_wait(&inside.waiter, WAIT_MS));
    assert_int_equal(inside.receipts.total, 6); /* given before smq_producer_free() returned */
    assert_int_equal(inside.receipts.other, 6);
    waiter_fini(&inside.waiter);
    model_hold(false);
}

static void bad_arguments_are_refused(void **state)
{
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *producer = NULL;
    smq_message message = message_of("hello", NULL), unset = message;
    smq_receipt receipt;
    smq_error err;

    (void) state;
    options.max_pending = -5;
    assert_int_equal(smq_producer_new(&producer, client, &options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "max_pending"));
    assert_null(producer);
    assert_int_equal(smq_producer_new(NULL, client, NULL, &err), SMQ_INVALID);
    assert_int_equal(smq_producer_new(&producer, NULL, NULL, &err), SMQ_INVALID);
    producer = producer_made(NULL);
    unset.struct_size = 0;
    assert_int_equal(smq_send(&receipt, producer, "orders", &unset, &err), SMQ_INVALID);
    unset.struct_size = sizeof(unset) + 8;
    assert_int_equal(smq_send(&receipt, producer, "orders", &unset, &err), SMQ_INVALID);
    assert_int_equal(smq_send(&receipt, producer, "orders", NULL, &err), SMQ_INVALID);
    assert_int_equal(receipt.slot, -1);
    assert_int_equal(smq_send(&receipt, producer, "a{b}", &message, &err), SMQ_INVALID);
    assert_int_equal(smq_send(&receipt, producer, NULL, &message, &err), SMQ_INVALID);
    assert_int_equal(smq_send(&receipt, NULL, "orders", &message, &err), SMQ_INVALID);
    message.body_len = 64 * 1024 * 1024 + 1;
    assert_int_equal(smq_send(&receipt, producer, "orders", &message, &err), SMQ_TOO_BIG);
    assert_int_equal(smq_send_async(producer, "orders", &message, NULL, NULL, &err), SMQ_TOO_BIG);
    assert_int_equal(model.sends, 0);
    smq_producer_free(producer);
    smq_producer_free(NULL);
}

static void an_older_program_has_smaller_structs(void **state)
{
    smq_producer *producer = producer_made(NULL);
    smq_message message = message_of("hello", NULL);
    smq_receipt receipt;
    smq_error err;

    (void) state;
    message.struct_size = offsetof(smq_message, priority);
    message.priority = 99; /* behind the end: not read */
    assert_int_equal(smq_send(&receipt, producer, "orders", &message, &err), SMQ_OK);
    assert_int_equal(smq_send_batch(&receipt, producer, "orders", &message, 1, &err), SMQ_OK);
    smq_producer_free(producer);
}

static void a_forked_child_is_told(void **state)
{
    smq_producer *producer = producer_made(NULL);
    smq_message message = message_of("hello", NULL);
    smq_status status;
    int exit_status;
    pid_t pid;

    (void) state;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        status = smq_send(NULL, producer, "orders", &message, NULL);
        smq_producer_free(producer);
        smq_client_free(client);
        _exit(status == SMQ_FORKED ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &exit_status, 0), pid);
    assert_true(WIFEXITED(exit_status) && WEXITSTATUS(exit_status) == 0);
    assert_int_equal(smq_send(NULL, producer, "orders", &message, NULL), SMQ_OK);
    smq_producer_free(producer);
}

#define PRODUCER_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRODUCER_TEST(a_send_is_stored_and_a_repeated_one_merges),
        PRODUCER_TEST(what_comes_during_a_request_goes_together),
        PRODUCER_TEST(lost_replies_are_repeated_in_order),
        PRODUCER_TEST(without_repeats_a_lost_reply_is_unknown),
        PRODUCER_TEST(the_time_out_says_whether_it_may_be_stored),
        PRODUCER_TEST(a_definition_that_never_comes_ends_in_time),
        PRODUCER_TEST(a_new_definition_is_used_and_order_is_kept),
        PRODUCER_TEST(a_deleted_topic_is_told),
        PRODUCER_TEST(a_slot_without_a_definition_stops_only_itself),
        PRODUCER_TEST(a_batch_has_a_receipt_for_each),
        PRODUCER_TEST(too_many_pending_are_full),
        PRODUCER_TEST(sends_are_counted_until_their_receipts_are_given),
        PRODUCER_TEST(waiting_for_room_ends_when_there_is_some),
        PRODUCER_TEST(flush_waits_for_all_so_far),
        PRODUCER_TEST(a_freed_producer_ends_what_is_pending),
        PRODUCER_TEST(handles_may_be_freed_in_any_order),
        PRODUCER_TEST(a_callback_may_send_but_not_flush),
        PRODUCER_TEST(a_callback_may_free_its_producer),
        PRODUCER_TEST(bad_arguments_are_refused),
        PRODUCER_TEST(an_older_program_has_smaller_structs),
        PRODUCER_TEST(a_forked_child_is_told),
    };

    return cmocka_run_group_tests_name("producer", tests, NULL, NULL);
}
