/* job.cpp - the main job in C++11: create a topic, send a message, consume it, answer it done.
 *
 * usage: job REDIS */
#include <cstdio>

#include <slotmq/slotmq.h>

static smq_verdict handle(smq_delivery *delivery, void *out)
{
    const smq_bytes body = smq_delivery_info(delivery)->body;

    return std::fwrite(body.data, body.len, 1, static_cast<std::FILE *>(out)) == 1 ? SMQ_DONE
                                                                                    : SMQ_RETRY;
}

static smq_status send_and_consume(smq_client *client, smq_error *err)
{
    smq_topic_options topic = SMQ_TOPIC_OPTIONS_INIT;
    smq_message message = SMQ_MESSAGE_INIT;
    smq_consumer_options work = SMQ_CONSUMER_OPTIONS_INIT;
    smq_producer *producer = NULL;
    smq_consumer *worker = NULL;
    smq_status status;

    topic.name = "jobs";
    message.body = smq_text("two books\n");
    work.topic = "jobs";
    work.handler = handle;
    work.user = stdout;
    work.max_messages = 1;
    (void) ((status = smq_topic_create(client, &topic, NULL, err)) ||
            (status = smq_producer_new(&producer, client, NULL, err)) ||
            (status = smq_send(producer, "jobs", &message, NULL, err)) ||
            (status = smq_consumer_new(&worker, client, &work, err)) ||
            (status = smq_consumer_start(worker, err)) ||
            (status = smq_consumer_wait(worker, SMQ_FOREVER, err)));
    smq_consumer_free(worker);
    smq_producer_free(producer);
    return status;
}

/* What was answered is done: nothing is left in the topic. */
static smq_status is_empty(smq_client *client, smq_error *err)
{
    smq_stats stats = SMQ_STATS_INIT;
    const smq_status status = smq_topic_stats(client, "jobs", &stats, err);

    std::printf("waiting %d, claimed %d, done %d\n", static_cast<int>(stats.waiting),
                static_cast<int>(stats.claimed), static_cast<int>(stats.done));
    return status;
}

int main(int argc, char **argv)
{
    smq_client_options at = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;

    at.redis = argc > 1 ? argv[1] : NULL;
    if (smq_client_new(&client, &at, &err) != SMQ_OK ||
        send_and_consume(client, &err) != SMQ_OK || is_empty(client, &err) != SMQ_OK) {
        std::fprintf(stderr, "%s\n", err.text);
    }
    smq_client_free(client);
    return err.status == SMQ_OK ? 0 : 1;
}
