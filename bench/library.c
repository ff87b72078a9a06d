#include "library.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS_MAX = 64, PATIENCE_MS = 60000, FLUSH_MS = 120000, STALL_S = 30, RECEIPTS = 256 };

smq_message library_message(char body[TALLY_BODY], uint64_t number)
{
    smq_message message = SMQ_MESSAGE_INIT;

    tally_body(body, TALLY_BODY, number);
    message.body = (smq_bytes){body, TALLY_BODY};
    return message;
}

/* === Sending ============================================================ */

static void count_failed(const smq_receipt *receipt, void *user)
{
    if (receipt->status != SMQ_OK) {
        atomic_fetch_add((atomic_ulong *) user, 1);
    }
}

static bool flush(smq_producer *producer, atomic_ulong *failed)
{
    smq_error err = SMQ_ERROR_INIT;

    if (!lab_good(smq_producer_flush(producer, FLUSH_MS, &err), &err)) {
        return false;
    }
    if (*failed > 0) {
        fprintf(stderr, "bench: %lu sends failed\n", (unsigned long) *failed);
    }
    return *failed == 0;
}

bool library_send_shaped(smq_producer *producer, const char *topic, uint64_t count,
                         library_shape_fn *shape, void *user)
{
    char body[TALLY_BODY];
    atomic_ulong failed = 0;
    smq_error err = SMQ_ERROR_INIT;

    for (uint64_t i = 0; i < count; i++) {
        smq_message message = library_message(body, i);
        if (shape != NULL) {
            shape(&message, i, user);
        }
        smq_status status = smq_send_async(producer, topic, &message, count_failed, &failed, &err);
        if (status != SMQ_OK) {
            (void) smq_producer_flush(producer, FLUSH_MS, NULL);
            return lab_good(status, &err);
        }
    }
    return flush(producer, &failed);
}

bool library_send_async(smq_producer *producer, const char *topic, uint64_t count)
{
    return library_send_shaped(producer, topic, count, NULL, NULL);
}

/* Take receipts, and count them in *got.  false: there are none in time, or a send failed. */
static bool take_receipts(smq_producer *producer, int64_t timeout_ms, uint64_t *got)
{
    smq_receipt receipts[RECEIPTS];
    smq_error err = SMQ_ERROR_INIT;
    size_t count = 0, failed = 0;
    bool good = lab_good(
        smq_producer_poll(producer, receipts, RECEIPTS, &count, NULL, timeout_ms, &err), &err);

    for (size_t i = 0; i < count; i++) {
        failed += receipts[i].status == SMQ_OK ? 0 : 1;
    }
    *got += count;
    return good && failed == 0 && (count > 0 || timeout_ms == 0);
}

bool library_send_polled(smq_producer *producer, const char *topic, uint64_t count)
{
    uint64_t got = 0;
    bool good = true;

    for (uint64_t i = 0; i < count && good;) {
        char body[TALLY_BODY];
        smq_message message = library_message(body, i);
        smq_error err = SMQ_ERROR_INIT;
        smq_status status = smq_send_async(producer, topic, &message, NULL, NULL, &err);

        if (status == SMQ_OK) {
            i++;
            good = i % RECEIPTS != 0 || take_receipts(producer, 0, &got);
        } else {
            good = status == SMQ_FULL ? take_receipts(producer, PATIENCE_MS, &got)
                                      : lab_good(status, &err);
        }
    }
    while (good && got < count) {
        good = take_receipts(producer, PATIENCE_MS, &got);
    }
    return good;
}

bool library_send_batches(smq_producer *producer, const char *topic, uint64_t count, int batch)
{
    smq_message *messages = calloc((size_t) batch, sizeof(*messages));
    char(*bodies)[TALLY_BODY] = calloc((size_t) batch, sizeof(*bodies));
    smq_error err = SMQ_ERROR_INIT;
    bool good = messages != NULL && bodies != NULL;

    for (uint64_t from = 0; from < count && good; from += (uint64_t) batch) {
        uint64_t some = count - from < (uint64_t) batch ? count - from : (uint64_t) batch;
        for (uint64_t i = 0; i < some; i++) {
            messages[i] = library_message(bodies[i], from + i);
        }
        good = lab_good(smq_send_batch(producer, topic, messages, some, NULL, &err), &err);
    }
    free(bodies);
    free(messages);
    return good;
}

struct sender {
    smq_producer *producer;
    const char *topic;
    uint64_t from, to;
    bool good;
    pthread_t thread;
};

static void *send_one_by_one(void *arg)
{
    struct sender *sender = arg;
    char body[TALLY_BODY];
    smq_error err = SMQ_ERROR_INIT;

    sender->good = true;
    for (uint64_t i = sender->from; i < sender->to && sender->good; i++) {
        smq_message message = library_message(body, i);
        sender->good =
            lab_good(smq_send(sender->producer, sender->topic, &message, NULL, &err), &err);
    }
    return NULL;
}

bool library_send_blocking(smq_producer *producer, const char *topic, uint64_t count, int threads)
{
    struct sender senders[THREADS_MAX];
    uint64_t each = count / (uint64_t) threads;
    int started = 0;
    bool good = true;

    for (int i = 0; i < threads && i < THREADS_MAX; i++) {
        senders[i] = (struct sender){.producer = producer,
                                     .topic = topic,
                                     .from = each * (uint64_t) i,
                                     .to = i == threads - 1 ? count : each * (uint64_t) (i + 1)};
        if (pthread_create(&senders[i].thread, NULL, send_one_by_one, &senders[i]) != 0) {
            perror("bench: pthread_create");
            break;
        }
        started++;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(senders[i].thread, NULL);
        good = good && senders[i].good;
    }
    return good && started == threads;
}

static smq_producer *new_producer(smq_client *client, bool polled)
{
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    smq_producer_options options =
        SMQ_PRODUCER_OPTIONS(.send_timeout_ms = PATIENCE_MS,
                             .full_timeout_ms = polled ? 0 : PATIENCE_MS, .poll_receipts = polled);
    lab_good(smq_producer_new(&producer, client, &options, &err), &err);
    return producer;
}

smq_producer *library_producer(smq_client *client)
{
    return new_producer(client, false);
}

smq_producer *library_polled_producer(smq_client *client)
{
    return new_producer(client, true);
}

bool library_store_shaped(struct lab *lab, smq_client *client, const char *topic, uint64_t count,
                          library_shape_fn *shape, void *user, struct meter *cost)
{
    smq_producer *producer = library_producer(client);
    bool good = producer != NULL && meter_start(cost, lab) &&
                library_send_shaped(producer, topic, count, shape, user) && meter_stop(cost, lab);

    smq_producer_free(producer);
    return good;
}

bool library_store(struct lab *lab, smq_client *client, const char *topic, uint64_t count,
                   struct meter *cost)
{
    return library_store_shaped(lab, client, topic, count, NULL, NULL, cost);
}

void library_give_id(smq_message *message, uint64_t number, void *user)
{
    (void) number;
    (void) user;
    message->id = (smq_bytes){message->body.data, TALLY_DIGITS};
}

/* === Mishaps ============================================================ */

void library_give_key(smq_message *message, uint64_t number, void *key)
{
    struct library_key *out = key;

    snprintf(out->key, sizeof(out->key), "key%d", (int) (number % MISHAPS_KEYS));
    message->key = smq_text(out->key);
}

bool library_fails(const smq_message_info *info)
{
    return info->attempt == 1 && tally_number(info->body.data, info->body.len) % MISHAPS_EACH == 0;
}

bool library_is_busy(const smq_message_info *info)
{
    return tally_number(info->body.data, info->body.len) % MISHAPS_KEYS < MISHAPS_BUSY;
}

void library_sleep_if_busy(const smq_message_info *info)
{
    const struct timespec time = {.tv_nsec = 1000000};

    if (library_is_busy(info)) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    }
}

/* === Consuming ========================================================== */

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *info = smq_delivery_info(delivery);
    struct library_consumer *consumer = user;

    if (consumer->seen != NULL) {
        consumer->seen(info, consumer->user);
    }
    smq_verdict verdict =
        consumer->answer != NULL ? consumer->answer(info, consumer->user) : SMQ_DONE;
    if (verdict != SMQ_DONE) {
        return verdict;
    }
    if (consumer->tally != NULL && tally_tick(consumer->tally, info->slot, info->body.data,
                                              info->body.len) == consumer->messages) {
        sem_post(&consumer->all);
    }
    return SMQ_DONE;
}

bool library_consumer_start(struct library_consumer *consumer, smq_client *client,
                            const char *topic, int batch)
{
    smq_error err = SMQ_ERROR_INIT;

    sem_init(&consumer->all, 0, 0);
    consumer->worker = NULL;
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = handle, .user = consumer,
                             .threads = consumer->threads > 0 ? consumer->threads : 1,
                             .batch_size = batch);
    return lab_good(smq_consumer_new(&consumer->worker, client, &options, &err), &err) &&
           lab_good(smq_consumer_start(consumer->worker, &err), &err);
}

void library_consumer_await(struct library_consumer *consumer)
{
    uint64_t handled, before;

    do {
        before = tally_counts(consumer->tally).handled;
        if (library_await(&consumer->all, STALL_S)) {
            return;
        }
        handled = tally_counts(consumer->tally).handled;
    } while (handled > before);
}

void library_consumer_stop(struct library_consumer *consumer)
{
    smq_consumer_free(consumer->worker);
    consumer->worker = NULL;
    sem_destroy(&consumer->all);
}

bool library_drain(struct lab *lab, smq_client *client, const char *topic, int batch,
                   uint64_t messages, struct tally *tally, struct meter *cost)
{
    struct library_consumer consumer = {.tally = tally, .messages = messages};

    if (!meter_start(cost, lab)) {
        return false;
    }
    bool good = library_consumer_start(&consumer, client, topic, batch);
    if (good) {
        library_consumer_await(&consumer);
    }
    library_consumer_stop(&consumer);
    return good && meter_stop(cost, lab);
}

bool library_await(sem_t *semaphore, int seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    return sem_timedwait(semaphore, &until) == 0;
}
