/* pipeline.c - a handler that sends: each order becomes an invoice.  The invoice is stored before
 * the order is answered, so none is lost; its id comes from the order, so an order that is
 * delivered twice makes one invoice as long as that waits.
 *
 * usage: pipeline REDIS */
#include <stdatomic.h>
#include <stdio.h>

#include <slotmq/slotmq.h>

enum { ORDERS = 3 };

static smq_consumer *invoices; /* stopped by its own handler after the last invoice */
static atomic_int written;

/* Thread: smq:work-N, one of the worker of orders. */
static smq_verdict handle_order(smq_delivery *delivery, void *producer)
{
    const smq_message_info *order = smq_delivery_info(delivery);
    smq_message invoice = SMQ_MESSAGE(.id = order->id, .key = order->key, .body = order->body);
    smq_error err;

    if (smq_send(producer, "invoices", &invoice, NULL, &err) == SMQ_OK) {
        return SMQ_DONE;
    }
    smq_retry(delivery, SMQ_BACKOFF, err.text, NULL);
    return SMQ_ANSWERED;
}

/* Thread: smq:work-N, one of the worker of invoices. */
static smq_verdict handle_invoice(smq_delivery *delivery, void *user)
{
    const smq_message_info *invoice = smq_delivery_info(delivery);

    (void) user;
    printf("invoice for %.*s: %.*s\n", (int) invoice->id.len, (const char *) invoice->id.data,
           (int) invoice->body.len, (const char *) invoice->body.data);
    if (atomic_fetch_add(&written, 1) + 1 == ORDERS) {
        smq_consumer_stop(invoices);
    }
    return SMQ_DONE;
}

static smq_status create_topics(smq_client *client, smq_error *err)
{
    smq_topic_options orders = SMQ_TOPIC_OPTIONS(.name = "sales", .slots = 4);
    smq_topic_options invoice = SMQ_TOPIC_OPTIONS(.name = "invoices", .slots = 4);
    smq_status status = smq_topic_create(client, &orders, NULL, err);

    return status == SMQ_OK ? smq_topic_create(client, &invoice, NULL, err) : status;
}

static smq_status send_orders(smq_producer *producer, smq_error *err)
{
    smq_status status = SMQ_OK;

    for (int i = 1; i <= ORDERS && status == SMQ_OK; i++) {
        char id[32];

        snprintf(id, sizeof(id), "order-%d", i);
        smq_message order = SMQ_MESSAGE(.id = smq_text(id), .body = smq_text("two books"));
        status = smq_send(producer, "sales", &order, NULL, err);
    }
    return status;
}

int main(int argc, char **argv)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = argc > 1 ? argv[1] : "127.0.0.1:6379");
    smq_consumer_options bill =
        SMQ_CONSUMER_OPTIONS(.topic = "invoices", .handler = handle_invoice);
    smq_consumer_options sell =
        SMQ_CONSUMER_OPTIONS(.topic = "sales", .handler = handle_order, .max_messages = ORDERS);
    smq_client *client = NULL;
    smq_producer *producer = NULL;
    smq_consumer *sales = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (smq_client_new(&client, &options, &err) == SMQ_OK &&
        create_topics(client, &err) == SMQ_OK &&
        smq_producer_new(&producer, client, NULL, &err) == SMQ_OK &&
        send_orders(producer, &err) == SMQ_OK) {
        sell.user = producer;
        if (smq_consumer_new(&invoices, client, &bill, &err) == SMQ_OK &&
            smq_consumer_new(&sales, client, &sell, &err) == SMQ_OK &&
            smq_consumer_start(invoices, &err) == SMQ_OK &&
            smq_consumer_start(sales, &err) == SMQ_OK &&
            smq_consumer_wait(sales, SMQ_FOREVER, &err) == SMQ_OK) {
            smq_consumer_wait(invoices, SMQ_FOREVER, &err);
        }
    }
    if (err.status != SMQ_OK) {
        fprintf(stderr, "pipeline: %s\n", err.text);
    }
    smq_consumer_free(sales);
    smq_consumer_free(invoices);
    smq_producer_free(producer);
    smq_client_free(client);
    return err.status == SMQ_OK ? 0 : 1;
}
