/* reminders.c - messages that are due at a time: one comes, one is moved to an earlier time, and
 * one is cancelled.
 *
 * usage: reminders REDIS */
#include <stdio.h>

#include <slotmq/slotmq.h>

enum { HOUR_MS = 3600000 };

static smq_status remind(smq_producer *producer, const char *id, const char *text, int64_t delay_ms,
                         smq_error *err)
{
    smq_message reminder =
        SMQ_MESSAGE(.id = smq_text(id), .body = smq_text(text), .delay_ms = delay_ms);

    return smq_send(producer, "reminders", &reminder, NULL, err);
}

/* A reminder that was delivered in the meantime cannot be moved or cancelled: NO_MESSAGE. */
static smq_status plan(smq_client *client, smq_producer *producer, smq_error *err)
{
    smq_message_ref dentist = SMQ_MESSAGE_REF(.id = smq_text("dentist"));
    smq_message_ref gym = SMQ_MESSAGE_REF(.id = smq_text("gym"));
    smq_message sooner = SMQ_MESSAGE(.delay_ms = 4000);
    smq_status status = remind(producer, "call", "call back", 2000, err);

    if (status == SMQ_OK) {
        status = remind(producer, "dentist", "see the dentist", HOUR_MS, err);
    }
    if (status == SMQ_OK) {
        status = smq_message_reschedule(client, "reminders", &dentist, &sooner, err);
    }
    if (status == SMQ_OK) {
        status = remind(producer, "gym", "go to the gym", 300, err);
    }
    return status == SMQ_OK ? smq_message_remove(client, "reminders", &gym, err) : status;
}

/* Thread: smq:work-0. */
static smq_verdict handle(smq_delivery *delivery, void *user)
{
    smq_bytes text = smq_delivery_info(delivery)->body;

    (void) user;
    printf("%.*s\n", (int) text.len, (const char *) text.data);
    return SMQ_DONE;
}

int main(int argc, char **argv)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = argc > 1 ? argv[1] : "127.0.0.1:6379");
    /* a topic with a name alone has messages with times and ids */
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.name = "reminders");
    smq_consumer_options work =
        SMQ_CONSUMER_OPTIONS(.topic = "reminders", .handler = handle, .max_messages = 2);
    smq_client *client = NULL;
    smq_producer *producer = NULL;
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (smq_client_new(&client, &options, &err) != SMQ_OK ||
        smq_topic_create(client, &topic, NULL, &err) != SMQ_OK ||
        smq_producer_new(&producer, client, NULL, &err) != SMQ_OK ||
        plan(client, producer, &err) != SMQ_OK ||
        smq_consumer_new(&worker, client, &work, &err) != SMQ_OK ||
        smq_consumer_start(worker, &err) != SMQ_OK ||
        smq_consumer_wait(worker, SMQ_FOREVER, &err) != SMQ_OK) {
        fprintf(stderr, "reminders: %s\n", err.text);
    }
    smq_consumer_free(worker);
    smq_producer_free(producer);
    smq_client_free(client);
    return err.status == SMQ_OK ? 0 : 1;
}
