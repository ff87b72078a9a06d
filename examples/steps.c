/* steps.c - a fifo topic with the steps of two orders.  The order is the key, so the steps of each
 * come in their order although one fails at first.  Each step has an id, so that a second send
 * merges.
 *
 * usage: steps REDIS */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <slotmq/slotmq.h>

enum { ORDERS = 2, STEPS = 3, ALL = ORDERS * STEPS };

static const char *const names[STEPS] = {"pick", "pack", "ship"};

static smq_consumer *worker;
static atomic_int ended;

static smq_status create_topic(smq_client *client, smq_error *err)
{
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.name = "steps", .type = SMQ_TYPE_FIFO, .slots = 4,
                                                .backoff = "fixed:200");

    return smq_topic_create(client, &topic, NULL, err);
}

/* One batch, in the order of the array. */
static smq_status send_steps(smq_producer *producer, smq_error *err)
{
    smq_message messages[ALL];
    smq_receipt receipts[ALL];
    char ids[ALL][32];
    int merged = 0;

    for (int i = 0; i < ALL; i++) {
        snprintf(ids[i], sizeof(ids[i]), "order-%d/%s", i / STEPS + 1, names[i % STEPS]);
        messages[i] = SMQ_MESSAGE(.key = {ids[i], strcspn(ids[i], "/")}, /* up to the slash */
                                  .id = smq_text(ids[i]), .body = smq_text(names[i % STEPS]),
                                  .ttl_ms = 3600000); /* of no use after an hour */
    }
    smq_status status = smq_send_batch(producer, "steps", messages, ALL, receipts, err);
    for (int i = 0; i < ALL; i++) {
        merged += receipts[i].merged ? 1 : 0;
    }
    printf("sent %d, merged %d\n", ALL - merged, merged);
    return status;
}

static bool is_step(const smq_message_info *step, const char *id)
{
    return step->id.len == strlen(id) && memcmp(step->id.data, id, step->id.len) == 0;
}

/* Thread: smq:work-N. */
static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *step = smq_delivery_info(delivery);

    (void) user;
    if (is_step(step, "order-1/pack") && step->attempt == 1) {
        smq_retry(delivery, SMQ_BACKOFF, "no box", NULL); /* the next steps of the order wait */
        return SMQ_ANSWERED;
    }
    if (atomic_fetch_add(&ended, 1) + 1 == ALL) {
        smq_consumer_stop(worker);
    }
    if (is_step(step, "order-2/ship") && step->attempt == 1) {
        smq_reject(delivery, "carrier timed out", NULL); /* admin.c sends it back */
        return SMQ_ANSWERED;
    }
    printf("%.*s\n", (int) step->id.len, (const char *) step->id.data);
    return SMQ_DONE;
}

static smq_status work_off(smq_client *client, smq_error *err)
{
    smq_consumer_options work = SMQ_CONSUMER_OPTIONS(.topic = "steps", .handler = handle);
    smq_status status = smq_consumer_new(&worker, client, &work, err);

    if (status == SMQ_OK) {
        status = smq_consumer_start(worker, err);
    }
    return status == SMQ_OK ? smq_consumer_wait(worker, SMQ_FOREVER, err) : status;
}

int main(int argc, char **argv)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = argc > 1 ? argv[1] : "127.0.0.1:6379");
    smq_client *client = NULL;
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (smq_client_new(&client, &options, &err) != SMQ_OK || create_topic(client, &err) != SMQ_OK ||
        smq_producer_new(&producer, client, NULL, &err) != SMQ_OK ||
        send_steps(producer, &err) != SMQ_OK || send_steps(producer, &err) != SMQ_OK ||
        work_off(client, &err) != SMQ_OK) {
        fprintf(stderr, "steps: %s\n", err.text);
    }
    smq_consumer_free(worker);
    smq_producer_free(producer);
    smq_client_free(client);
    return err.status == SMQ_OK ? 0 : 1;
}
