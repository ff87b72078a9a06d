/* trace.c - one trace by hooks, through a send, two tries that fail, the death of the message, its
 * requeue and its end.  It prints a line of JSON for each span, with the names of OpenTelemetry's
 * conventions for messaging.
 *
 * usage: trace REDIS */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include <slotmq/slotmq.h>

struct span {
    char trace[33], id[17], parent[17];
    int64_t begun_us;
};

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

/* A span below the one that the header of the message names; without it a trace of its own. */
static void *begin(const smq_message_info *message, void *user)
{
    const smq_header *parent = smq_header_get(message, "traceparent");
    struct span *span = calloc(1, sizeof(*span));
    uint64_t number[3];

    (void) user;
    if (span == NULL || getentropy(number, sizeof(number)) != 0) {
        abort();
    }
    snprintf(span->trace, sizeof(span->trace), "%016" PRIx64 "%016" PRIx64, number[0], number[1]);
    snprintf(span->id, sizeof(span->id), "%016" PRIx64, number[2]);
    span->begun_us = now_us();
    if (parent != NULL && parent->value.len == 55) { /* 00-TRACE-SPAN-FLAGS */
        sscanf(parent->value.data, "00-%32[0-9a-f]-%16[0-9a-f]", span->trace, span->parent);
    }
    return span;
}

/* `name` is what slotmq calls the operation, `status` what became of it. */
static void end(struct span *span, const smq_message_info *message, const char *kind,
                const char *name, const char *status)
{
    const char *quote = span->parent[0] != '\0' ? "\"" : "";

    printf("{\"name\":\"%s %s\",\"kind\":\"%s\",\"traceId\":\"%s\",\"spanId\":\"%s\","
           "\"parentSpanId\":\"%s\",\"links\":[%s%s%s],\"start_us\":%" PRId64 ",\"end_us\":%" PRId64
           ",\"attributes\":{\"messaging.system\":\"slotmq\",\"messaging.operation.name\":\"%s\","
           "\"messaging.destination.name\":\"%s\",\"messaging.message.id\":\"%.*s\","
           "\"slotmq.attempt\":\"%d\",\"slotmq.status\":\"%s\"}}\n",
           name, message->topic, kind, span->trace, span->id, span->parent, quote, span->parent,
           quote, span->begun_us, now_us(), name, message->topic, (int) message->id.len,
           (const char *) message->id.data, message->attempt, status);
    free(span);
}

static void *send_begin(const smq_message_info *message, smq_hook_headers *headers, void *user)
{
    struct span *span = begin(message, user);
    char parent[56];

    snprintf(parent, sizeof(parent), "00-%s-%s-01", span->trace, span->id);
    smq_hook_headers_add(headers, "traceparent", smq_text(parent), NULL);
    return span;
}

static void send_end(const smq_message_info *message, const smq_receipt *receipt, void *span,
                     void *user)
{
    (void) user;
    end(span, message, "PRODUCER", "send", smq_status_name(receipt->status));
}

static const char *const verdicts[] = {"none",  "done",  "reject",  "release",
                                       "later", "retry", "answered"};

static void process_end(const smq_message_info *message, smq_verdict verdict, void *span,
                        void *user)
{
    (void) user;
    end(span, message, "CONSUMER", "process", verdicts[verdict]);
}

static void settled(const smq_message_info *message, const smq_settlement *settlement, void *user)
{
    end(begin(message, user), message, "CLIENT", verdicts[settlement->verdict],
        settlement->dead ? "dead letter" : smq_status_name(settlement->status));
}

/* The first two tries fail, and with them the message is dead. */
static smq_verdict charge_card(smq_delivery *delivery, void *user)
{
    static int tries;

    (void) delivery, (void) user;
    return ++tries <= 2 ? SMQ_RETRY : SMQ_DONE;
}

/* What a person would do, once the reason is mended. */
static void requeue(const smq_message_info *message, void *user)
{
    smq_dead_requeue(user, message->topic, NULL, NULL, NULL, NULL, NULL);
}

static void must(smq_status status, const smq_error *err)
{
    if (status != SMQ_OK) {
        fprintf(stderr, "trace: %s\n", err->text);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const smq_hooks hooks =
        SMQ_HOOKS(.send_begin = send_begin, .send_end = send_end, .process_begin = begin,
                  .process_end = process_end, .settled = settled);
    const smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = argc > 1 ? argv[1] : "127.0.0.1:6379", .hooks = &hooks);
    const smq_topic_options topic =
        SMQ_TOPIC_OPTIONS(.name = "payments", .max_retries = 1, .backoff = "fixed:20", .slots = 1);
    smq_consumer_options consume = SMQ_CONSUMER_OPTIONS(.topic = "payments", .handler = charge_card,
                                                        .dead = requeue, .max_messages = 3);
    const smq_message message = SMQ_MESSAGE(.body = smq_text("7 EUR"));
    smq_client *client;
    smq_producer *producer;
    smq_consumer *consumer;
    smq_error err = SMQ_ERROR_INIT;

    must(smq_client_new(&client, &options, &err), &err);
    must(smq_topic_create(client, &topic, NULL, &err), &err);
    must(smq_producer_new(&producer, client, NULL, &err), &err);
    must(smq_send(producer, "payments", &message, NULL, &err), &err);
    consume.user = client;
    must(smq_consumer_new(&consumer, client, &consume, &err), &err);
    must(smq_consumer_start(consumer, &err), &err);
    must(smq_consumer_wait(consumer, SMQ_FOREVER, &err), &err);
    smq_consumer_free(consumer);
    smq_producer_free(producer);
    smq_client_free(client);
    return 0;
}
