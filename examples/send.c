/* send.c - creates a topic if it does not exist, sends one message and waits for it, then sends
 * many without waiting.
 *
 * usage: send REDIS */
#include <stdatomic.h>
#include <stdio.h>

#include <slotmq/slotmq.h>

enum { MESSAGES = 10000, CUSTOMERS = 1000 };

static atomic_ulong failed;

/* Thread: smq:call. */
static void sent(const smq_receipt *receipt, void *user)
{
    (void) user;
    if (receipt->status != SMQ_OK) {
        atomic_fetch_add(&failed, 1);
    }
}

static smq_status create_topic(smq_client *client, smq_error *err)
{
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.name = "orders", .type = SMQ_TYPE_FIXED_TIME);

    return smq_topic_create(client, &topic, NULL, err); /* an existing topic is no error */
}

static smq_status send_one(smq_producer *producer, smq_error *err)
{
    smq_message message = SMQ_MESSAGE(.body = smq_text("{\"order\": 4711, \"total\": 20}"),
                                      .key = smq_text("customer-7"));
    smq_receipt receipt;

    smq_status status = smq_send(producer, "orders", &message, &receipt, err);
    if (status == SMQ_OK) {
        printf("slot %d, %s\n", (int) receipt.slot, receipt.merged ? "merged" : "added");
    }
    return status;
}

static smq_status send_many(smq_producer *producer, smq_error *err)
{
    char key[32];
    char body[64];

    for (int i = 0; i < MESSAGES; i++) {
        snprintf(key, sizeof(key), "customer-%d", i % CUSTOMERS);
        snprintf(body, sizeof(body), "{\"order\": %d}", i);
        smq_message message = SMQ_MESSAGE(.body = smq_text(body), .key = smq_text(key),
                                          .delay_ms = 1000); /* copied by the call */
        smq_status status = smq_send_async(producer, "orders", &message, sent, NULL, err);
        if (status != SMQ_OK) {
            return status;
        }
    }
    return smq_producer_flush(producer, 10000, err);
}

int main(int argc, char **argv)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = argc > 1 ? argv[1] : "127.0.0.1:6379");
    smq_producer_options sending =
        SMQ_PRODUCER_OPTIONS(.full_timeout_ms =
                                 10000); /* wait when the program is faster than Redis */
    smq_client *client = NULL;
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (smq_client_new(&client, &options, &err) != SMQ_OK || create_topic(client, &err) != SMQ_OK ||
        smq_producer_new(&producer, client, &sending, &err) != SMQ_OK ||
        send_one(producer, &err) != SMQ_OK || send_many(producer, &err) != SMQ_OK) {
        fprintf(stderr, "send: %s%s\n", err.text,
                smq_status_class(err.status) == SMQ_CLASS_UNKNOWN ? " (sending again does no harm)"
                                                                  : "");
    }
    smq_producer_free(producer); /* calls sent() for each send without a receipt */
    smq_client_free(client);
    printf("failed: %lu\n", atomic_load(&failed));
    return err.status == SMQ_OK && atomic_load(&failed) == 0 ? 0 : 1;
}
