/* debounce.c - a document that changes many times within half a second is indexed once.  Sends of
 * one document merge while the message waits, and the last body stays.
 *
 * usage: debounce REDIS */
#include <stdio.h>

#include <slotmq/slotmq.h>

enum { CHANGES = 5 };

/* Each change moves the time to half a second from now, but at most to five seconds after the
 * first. */
static smq_status create_topic(smq_client *client, smq_error *err)
{
    smq_topic_options topic =
        SMQ_TOPIC_OPTIONS(.name = "reindex", .type = SMQ_TYPE_RANGE_MERGE,
                          .layout = SMQ_LAYOUT_KEYED, .delay_ms = 500, .debounce_ms = 5000);

    return smq_topic_create(client, &topic, NULL, err);
}

static smq_status send_changes(smq_producer *producer, smq_error *err)
{
    smq_status status = SMQ_OK;
    int merged = 0;

    for (int i = 1; i <= CHANGES && status == SMQ_OK; i++) {
        char revision[32];
        smq_receipt receipt;

        snprintf(revision, sizeof(revision), "revision %d", i);
        smq_message change = SMQ_MESSAGE(.id = smq_text("document-7"), .body = smq_text(revision),
                                         .delay_ms = SMQ_TOPIC_DELAY);
        status = smq_send(producer, "reindex", &change, &receipt, err);
        merged += status == SMQ_OK && receipt.merged ? 1 : 0;
    }
    printf("sent %d, merged %d\n", CHANGES - merged, merged);
    return status;
}

/* Thread: smq:work-0. */
static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *change = smq_delivery_info(delivery);

    (void) user;
    printf("index %.*s at %.*s\n", (int) change->id.len, (const char *) change->id.data,
           (int) change->body.len, (const char *) change->body.data);
    return SMQ_DONE;
}

int main(int argc, char **argv)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = argc > 1 ? argv[1] : "127.0.0.1:6379");
    smq_consumer_options work =
        SMQ_CONSUMER_OPTIONS(.topic = "reindex", .handler = handle, .max_messages = 1);
    smq_client *client = NULL;
    smq_producer *producer = NULL;
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (smq_client_new(&client, &options, &err) != SMQ_OK || create_topic(client, &err) != SMQ_OK ||
        smq_producer_new(&producer, client, NULL, &err) != SMQ_OK ||
        send_changes(producer, &err) != SMQ_OK ||
        smq_consumer_new(&worker, client, &work, &err) != SMQ_OK ||
        smq_consumer_start(worker, &err) != SMQ_OK ||
        smq_consumer_wait(worker, SMQ_FOREVER, &err) != SMQ_OK) {
        fprintf(stderr, "debounce: %s\n", err.text);
    }
    smq_consumer_free(worker);
    smq_producer_free(producer);
    smq_client_free(client);
    return err.status == SMQ_OK ? 0 : 1;
}
