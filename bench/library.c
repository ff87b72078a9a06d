#include "library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 64, PATIENCE_MS = 60000, FLUSH_MS = 120000, DRAIN_MS = 600000 };

smq_message library_message(char body[TALLY_BODY], uint64_t number)
{
    smq_message message = SMQ_MESSAGE_INIT;

    tally_body(body, TALLY_BODY, number);
    message.body = body;
    message.body_len = TALLY_BODY;
    message.delay_ms = SMQ_NONE;
    return message;
}

/* === Sending ============================================================ */

void library_count_failed(const smq_receipt *receipt, void *user)
{
    if (receipt->status != SMQ_OK) {
        atomic_fetch_add((atomic_ulong *) user, 1);
    }
}

bool library_flush(smq_producer *producer, atomic_ulong *failed)
{
    smq_error err = {.text = ""};

    if (!lab_good(smq_producer_flush(producer, FLUSH_MS, &err), &err)) {
        return false;
    }
    if (*failed > 0) {
        fprintf(stderr, "bench: %lu sends failed\n", (unsigned long) *failed);
    }
    return *failed == 0;
}

bool library_send_async(smq_producer *producer, const char *topic, uint64_t count)
{
    char body[TALLY_BODY];
    atomic_ulong failed = 0;
    smq_error err = {.text = ""};

    for (uint64_t i = 0; i < count; i++) {
        smq_message message = library_message(body, i);
        smq_status status =
            smq_send_async(producer, topic, &message, library_count_failed, &failed, &err);
        if (status != SMQ_OK) {
            (void) smq_producer_flush(producer, FLUSH_MS, NULL);
            return lab_good(status, &err);
        }
    }
    return library_flush(producer, &failed);
}

bool library_send_batches(smq_producer *producer, const char *topic, uint64_t count, int batch)
{
    smq_message *messages = calloc((size_t) batch, sizeof(*messages));
    char(*bodies)[TALLY_BODY] = calloc((size_t) batch, sizeof(*bodies));
    smq_error err = {.text = ""};
    bool good = messages != NULL && bodies != NULL;

    for (uint64_t from = 0; from < count && good; from += (uint64_t) batch) {
        uint64_t some = count - from < (uint64_t) batch ? count - from : (uint64_t) batch;
        for (uint64_t i = 0; i < some; i++) {
            messages[i] = library_message(bodies[i], from + i);
        }
        good = lab_good(smq_send_batch(NULL, producer, topic, messages, some, &err), &err);
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
    smq_error err = {.text = ""};

    sender->good = true;
    for (uint64_t i = sender->from; i < sender->to && sender->good; i++) {
        smq_message message = library_message(body, i);
        sender->good =
            lab_good(smq_send(NULL, sender->producer, sender->topic, &message, &err), &err);
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

smq_producer *library_producer(smq_client *client)
{
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *producer = NULL;
    smq_error err = {.text = ""};

    options.full_timeout_ms = options.send_timeout_ms = PATIENCE_MS;
    lab_good(smq_producer_new(&producer, client, &options, &err), &err);
    return producer;
}

bool library_store(struct lab *lab, smq_client *client, const char *topic, uint64_t count,
                   struct meter *cost)
{
    smq_producer *producer = library_producer(client);
    bool good = producer != NULL && meter_start(cost, lab) &&
                library_send_async(producer, topic, count) && meter_stop(cost, lab);

    smq_producer_free(producer);
    return good;
}

/* === Consuming ========================================================== */

struct drain {
    struct tally *tally;
    uint64_t messages;
    smq_worker *worker;
};

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *info = smq_delivery_info(delivery);
    struct drain *drain = user;

    if (tally_tick(drain->tally, info->slot, info->body, info->body_len) == drain->messages) {
        smq_worker_stop(drain->worker);
    }
    return SMQ_DONE;
}

static bool work(struct drain *drain, smq_client *client, const struct library_drain *how)
{
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_error err = {.text = ""};

    options.topic = how->topic;
    options.handler = handle;
    options.user = drain;
    options.threads = how->threads > 0 ? how->threads : 1;
    options.batch_size = how->batch;
    bool good = lab_good(smq_worker_new(&drain->worker, client, &options, &err), &err) &&
                lab_good(smq_worker_start(drain->worker, &err), &err) &&
                lab_good(smq_worker_wait(drain->worker, DRAIN_MS, &err), &err);
    smq_worker_free(drain->worker);
    return good;
}

bool library_drain(struct lab *lab, smq_client *client, const struct library_drain *how,
                   struct tally *tally, struct meter *cost)
{
    struct drain drain = {.tally = tally, .messages = how->messages};

    return meter_start(cost, lab) && work(&drain, client, how) && meter_stop(cost, lab);
}
