#include <slotmq/slotmq.h>
#include <stdio.h>

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *order = smq_delivery_info(delivery);

    (void) user;
    printf("%.*s\n", (int) order->body_len, (const char *) order->body);
    return SMQ_DONE;
}

int main(int argc, char **argv)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_topic_options topic = SMQ_TOPIC_OPTIONS_INIT;
    smq_message message = SMQ_MESSAGE_INIT;
    smq_worker_options work = SMQ_WORKER_OPTIONS_INIT;
    smq_client *client = NULL;
    smq_producer *producer = NULL;
    smq_worker *worker = NULL;
    smq_error err = {.status = SMQ_OK};

    options.redis = argc > 1 ? argv[1] : "127.0.0.1:6379"; /* any node of the cluster */
    topic.name = work.topic = "orders";
    topic.type = SMQ_PRIORITY;
    message.body = "two books";
    message.body_len = SMQ_STRING;
    message.key = "customer 7"; /* whose orders are handled one at a time */
    message.key_len = SMQ_STRING;
    message.priority = 5;
    work.handler = handle;
    work.max_messages = 1; /* then stop */

    if (smq_client_new(&client, &options, &err) != SMQ_OK ||
        smq_topic_create(client, &topic, &err) != SMQ_OK ||
        smq_producer_new(&producer, client, NULL, &err) != SMQ_OK ||
        smq_send(NULL, producer, "orders", &message, &err) != SMQ_OK ||
        smq_worker_new(&worker, client, &work, &err) != SMQ_OK ||
        smq_worker_start(worker, &err) != SMQ_OK ||
        smq_worker_wait(worker, SMQ_FOREVER, &err) != SMQ_OK) {
        fprintf(stderr, "%s\n", err.text);
    }
    smq_worker_free(worker);
    smq_producer_free(producer);
    smq_client_free(client);
    return err.status == SMQ_OK ? 0 : 1;
}
