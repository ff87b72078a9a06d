#include <slotmq/slotmq.h>
#include <stdio.h>

static smq_verdict handle(smq_delivery *delivery, void *out)
{
    smq_bytes body = smq_delivery_info(delivery)->body;
    return fwrite(body.data, body.len, 1, out) == 1 ? SMQ_DONE : SMQ_RETRY;
}

int main(int argc, char **argv)
{
    smq_client_options at =
        SMQ_CLIENT_OPTIONS(.redis = argv[1], .zookeeper = argc > 2 ? argv[2] : NULL);
    smq_consumer_options work =
        SMQ_CONSUMER_OPTIONS(.topic = "jobs", .handler = handle, .user = stdout, .max_messages = 1);
    smq_client *client = NULL;
    smq_producer *producer = NULL;
    smq_consumer *consumer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (smq_client_new(&client, &at, &err) || smq_producer_new(&producer, client, NULL, &err) ||
        smq_topic_create(client, &SMQ_TOPIC_OPTIONS(.name = "jobs"), NULL, &err) ||
        smq_send(producer, "jobs", &SMQ_MESSAGE(.body = smq_text("two books\n")), NULL, &err) ||
        smq_consumer_new(&consumer, client, &work, &err) || smq_consumer_start(consumer, &err) ||
        smq_consumer_wait(consumer, SMQ_FOREVER, &err)) {
        fprintf(stderr, "%s\n", err.text);
    }
    smq_consumer_free(consumer);
    smq_producer_free(producer);
    smq_client_free(client);
    return err.status == SMQ_OK ? 0 : 1;
}
