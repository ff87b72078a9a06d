/* batch.c - one handler call for up to 500 messages of a slot: they are written to a file, and
 * synced once.  Each line begins with the slot and its fencing token, so that a reader of the file
 * can tell the lines of a replaced owner: a larger token of the same slot comes before them.
 *
 * usage: batch REDIS ZOOKEEPER FILE */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <slotmq/slotmq.h>

static smq_consumer *worker;

static void on_signal(int number)
{
    (void) number;
    smq_consumer_stop(worker); /* async-signal-safe */
}

static void write_order(FILE *file, const smq_message_info *order)
{
    fprintf(file, "%d %s %.*s\n", (int) order->slot, order->token, (int) order->body.len,
            (const char *) order->body.data);
}

/* Thread: smq:work-0.  The return value answers all deliveries that no call has answered. */
static smq_verdict handle(smq_delivery *const *deliveries, size_t count, void *user)
{
    FILE *file = user;

    for (size_t i = 0; i < count; i++) {
        const smq_message_info *order = smq_delivery_info(deliveries[i]);

        if (order->body.len == 0 || *(const char *) order->body.data != '{') {
            smq_reject(deliveries[i], "not an order", NULL); /* this one only */
        } else {
            write_order(file, order);
        }
    }
    return fflush(file) == 0 && fsync(fileno(file)) == 0 ? SMQ_DONE : SMQ_RETRY;
}

/* Thread: smq:work-0. */
static void on_dead(const smq_message_info *order, void *user)
{
    (void) user;
    fprintf(stderr, "dead: %.*s: %s\n", (int) order->body.len, (const char *) order->body.data,
            order->reason);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;
    FILE *file = argc == 4 ? fopen(argv[3], "a") : NULL;

    if (file == NULL) {
        fprintf(stderr, "usage: batch REDIS ZOOKEEPER FILE\n");
        return 64;
    }
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = argv[1], .zookeeper = argv[2][0] != '\0' ? argv[2] : NULL);
    smq_consumer_options work =
        SMQ_CONSUMER_OPTIONS(.topic = "orders", .batch = handle, .dead = on_dead, .user = file,
                             .batch_size = 500, .threads = 1 /* one file */);

    if (smq_client_new(&client, &options, &err) == SMQ_OK &&
        smq_consumer_new(&worker, client, &work, &err) == SMQ_OK) {
        sigaction(SIGTERM, &action, NULL);
        if (smq_consumer_start(worker, &err) == SMQ_OK) {
            smq_consumer_wait(worker, SMQ_FOREVER, &err);
        }
        signal(SIGTERM, SIG_DFL); /* the handler must not see a worker that is gone */
    }
    if (err.status != SMQ_OK) {
        fprintf(stderr, "batch: %s\n", err.text);
    }
    smq_consumer_free(worker);
    smq_client_free(client);
    fclose(file);
    return err.status == SMQ_OK ? 0 : 1;
}
