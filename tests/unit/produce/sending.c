/* sending.c - a model of the servers behind a fake of the Redis client, and sends to it. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/member.h"
#include "model/slot.h"
#include "model/whole.h"
#include "scripts.h"
#include "sending.h"
#include "support/testing.h"
#include "support/wait.h"
#include "unit/fixture/fake_redis.h"

enum { STORED_MAX = 200000 };

struct sending sending;

/* --- the servers --- */

void sending_topic(int32_t slots, const char *nonce)
{
    smq_error err;

    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.name = "orders", .type = SMQ_TYPE_FIXED_TIME, .slots = slots);
    fake_lock();
    assert_int_equal(topic_from_options(&sending.topic, &options, &err), SMQ_OK);
    snprintf(sending.topic.nonce, sizeof(sending.topic.nonce), "%s", nonce);
    sending.topic.version = 1;
    sending.topic.generation = 1;
    sending.exists = true;
    fake_unlock();
}

void sending_delete(void)
{
    fake_lock();
    sending.exists = false;
    fake_unlock();
}

void sending_delete_garbled(void)
{
    fake_lock();
    sending.exists = false;
    sending.garbled = true;
    fake_unlock();
}

void sending_break(int32_t slot)
{
    fake_lock();
    sending.broken = slot;
    fake_unlock();
}

void sending_fault(enum sending_fault fault, int count)
{
    fake_lock();
    sending.fault = fault;
    sending.faulty = count;
    fake_unlock();
}

/* Hold sends back, or let them go. */
void sending_hold(bool hold)
{
    fake_lock();
    sending.hold = hold;
    fake_unlock();
    if (!hold) {
        fake_resume();
    }
}

void sending_hold_reads(bool hold)
{
    fake_lock();
    sending.hold_reads = hold;
    sending.reads_most = 0;
    fake_unlock();
    if (!hold) {
        fake_resume();
    }
}

void sending_hold_reads_after(int count)
{
    fake_lock();
    sending.reads_most = sending.reads + count;
    fake_unlock();
}

static redisReply *model_definition(void)
{
    sending.reads++;
    return sending.exists ? fake_topic(&sending.topic, "ready") : fake_array(0);
}

static bool model_store(int32_t slot, const char *body, size_t len)
{
    struct sending_stored *stored = &sending.stored[sending.count];

    len = len < sizeof(stored->body) ? len : sizeof(stored->body) - 1;
    for (size_t i = 0; i < sending.count && sending.count < 2000; i++) {
        if (strlen(sending.stored[i].body) == len &&
            memcmp(sending.stored[i].body, body, len) == 0) {
            return false;
        }
    }
    assert(sending.count < STORED_MAX);
    stored->slot = slot;
    memcpy(stored->body, body, len);
    stored->body[len] = '\0';
    sending.count++;
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

/* Room for an argument that is a short text. */
enum { WORD_SIZE = 32 };

static void model_word_arg(char out[WORD_SIZE], const struct redis_command *command, int place)
{
    size_t len;
    const char *data = fake_arg(command, fake_argv(command, place), &len);

    assert(len < WORD_SIZE);
    memcpy(out, data, len);
    out[len] = '\0';
}

/* What the slot remembers of the producer of a call; NULL: the call has no send ids. */
static struct sending_record *model_record(const struct redis_command *command, int32_t slot)
{
    char producer[WORD_SIZE];
    struct sending_record *record = sending.records;

    model_word_arg(producer, command, SCRIPT_SEND_ARGV_PRODUCER);
    if (strcmp(producer, "-") == 0) {
        return NULL;
    }
    while (record->producer[0] != '\0' &&
           (record->slot != slot || strcmp(record->producer, producer) != 0)) {
        record++;
        assert(record < sending.records + SENDING_RECORDS_MAX);
    }
    memcpy(record->producer, producer, sizeof(producer));
    record->slot = slot;
    return record;
}

/* The answers to the first tries, if the call is a repeat. */
static bool model_was_sent(char *results, const struct sending_record *record, uint64_t sequence,
                           size_t count)
{
    uint64_t before = record->last - record->count;

    if (sequence > record->last) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        bool kept = sequence + i > before && sequence + i <= record->last;

        results[i] = 'u';
        if (kept) {
            results[i] = record->results[sequence + i - before - 1];
        }
    }
    return true;
}

static void model_store_all(char *results, const struct redis_command *command, int32_t slot,
                            size_t count)
{
    size_t messages = fake_argv(command, SCRIPT_SEND_ARGV_MESSAGES), len;

    for (size_t i = 0; i < count; i++) {
        const char *data = fake_arg(command, messages + 2 * i, &len);
        struct member member;

        if (whole_begins(data, len)) {
            results[i] = model_store(slot, data + 1, len - 1) ? 'a' : 'm';
            continue;
        }
        if (!member_decode(&member, data, len)) {
            abort();
        }
        results[i] = model_store(slot, member.id, member.id_len) ? 'a' : 'm';
    }
}

static void model_results(char *results, const struct redis_command *command, int32_t slot,
                          size_t count)
{
    struct sending_record *record = model_record(command, slot);
    char text[WORD_SIZE];
    uint64_t sequence;

    model_word_arg(text, command, SCRIPT_SEND_ARGV_SEQUENCE);
    sequence = strtoull(text, NULL, 10);
    if (record != NULL && model_was_sent(results, record, sequence, count)) {
        return;
    }
    model_store_all(results, command, slot, count);
    if (record != NULL) {
        record->last = sequence + count - 1;
        record->count = count;
        memcpy(record->results, results, count);
    }
}

static redisReply *model_send(const struct redis_command *command)
{
    char stamp[TOPIC_STAMP_MAX];
    size_t count = fake_argv_count(command, SCRIPT_SEND_ARGV_MESSAGES) / 2;
    int32_t slot = model_slot(command);
    char *results = memory_new(count + 1);
    redisReply *reply;

    topic_stamp(stamp, &sending.topic);
    if (!sending.exists || slot >= sending.topic.slots || slot == sending.broken) {
        free(results);
        return fake_word("NO_TOPIC");
    }
    if (!fake_arg_is(command, fake_argv(command, SCRIPT_SEND_ARGV_DEF), stamp)) {
        free(results);
        return fake_word("STALE");
    }
    model_results(results, command, slot, count);
    sending.largest = count > sending.largest ? count : sending.largest;
    reply = fake_array(2);
    fake_put(reply, 0, fake_text("OK"));
    fake_put(reply, 1, fake_string(results, count));
    free(results);
    return reply;
}

static enum sending_fault model_next_fault(void)
{
    if (sending.faulty == 0) {
        return FAULT_NONE;
    }
    sending.faulty -= sending.faulty > 0 ? 1 : 0;
    return sending.fault;
}

static void answer_send(const struct redis_command *command, struct fake_answer *answer)
{
    sending.sends++;
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

static bool model_serve(const struct redis_command *command, struct fake_answer *answer)
{
    bool answered = true;

    if (command->script == NULL) {
        answered =
            !sending.hold_reads && (sending.reads_most == 0 || sending.reads < sending.reads_most);
        answer->reply = answered ? model_definition() : NULL;
    } else if (strcmp(command->script->name, "slot_read") == 0) {
        answer->reply = sending.garbled ? fake_array(1) : fake_slot_notes(0);
        if (sending.garbled) {
            fake_put(answer->reply, 0, fake_text("OK"));
        }
    } else if (sending.hold) {
        answered = false;
    } else {
        answer_send(command, answer);
    }
    return answered;
}

/* --- what each test begins and ends with --- */

int sending_set_up(void **state)
{
    smq_error err;

    sending.exists = sending.hold = sending.hold_reads = sending.garbled = false;
    sending.faulty = sending.sends = sending.reads = sending.reads_most = 0;
    sending.broken = -1;
    sending.count = sending.largest = 0;
    memset(sending.records, 0, sizeof(sending.records));
    sending.stored = memory_new(STORED_MAX * sizeof(*sending.stored));
    fake_serve(model_serve);
    fake_connects(SMQ_OK);
    sending_topic(4, "00000000000000aa");
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = "fake:1");
    assert_int_equal(smq_client_new(&sending.client, &options, &err), SMQ_OK);
    return 0;
}

static bool no_client_is_left(void *arg)
{
    (void) arg;
    return fake_clients() == 0;
}

/* A producer freed in a callback ends its client a moment later, on another thread. */
int sending_tear_down(void **state)
{
    smq_client_free(sending.client);
    assert_true(wait_until(no_client_is_left, NULL, WAIT_MS));
    free(sending.stored);
    return 0;
}

smq_producer *sending_producer(const smq_producer_options *options)
{
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (smq_producer_new(&producer, sending.client, options, &err) != SMQ_OK) {
        fail_msg("%s", err.text);
    }
    return producer;
}

smq_message sending_message(const char *body, const char *key)
{
    smq_message message = SMQ_MESSAGE(.body = smq_text(body), .key = smq_text(key));
    return message;
}

void sending_on_sent(const smq_receipt *receipt, void *user)
{
    struct sending_receipts *receipts = user;

    pthread_mutex_lock(&receipts->lock);
    receipts->total++;
    receipts->ok += receipt->status == SMQ_OK ? 1 : 0;
    receipts->merged += receipt->merged ? 1 : 0;
    receipts->other += receipt->status != SMQ_OK ? 1 : 0;
    receipts->last = receipt->status;
    pthread_mutex_unlock(&receipts->lock);
}

void sending_numbered(smq_producer *producer, int from, int to, const char *key,
                      struct sending_receipts *receipts)
{
    for (int i = from; i < to; i++) {
        char body[32];
        smq_error err = SMQ_ERROR_INIT;
        smq_message message;

        snprintf(body, sizeof(body), "%s-%d", key, i);
        message = sending_message(body, key);
        if (smq_send_async(producer, "orders", &message, sending_on_sent, receipts, &err) !=
            SMQ_OK) {
            fail_msg("%s", err.text);
        }
    }
}

void sending_flush(smq_producer *producer)
{
    smq_error err = SMQ_ERROR_INIT;

    if (smq_producer_flush(producer, WAIT_MS, &err) != SMQ_OK) {
        fail_msg("%s", err.text);
    }
}

/* Were key-0 ... key-(count - 1) stored in this order? */
void sending_assert_in_order(const char *key, int count)
{
    int next = 0;
    size_t len = strlen(key);

    for (size_t i = 0; i < sending.count; i++) {
        const char *body = sending.stored[i].body;

        if (strncmp(body, key, len) == 0 && body[len] == '-') {
            assert_int_equal(atoi(body + len + 1), next);
            next++;
        }
    }
    assert_int_equal(next, count);
}
