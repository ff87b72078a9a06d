/* worker.c - handles messages on four threads until SIGTERM or SIGINT, then finishes those that
 * have begun and releases the others.  Any number of these processes share the slots of the topic.
 *
 * usage: worker REDIS ZOOKEEPER */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <slotmq/slotmq.h>

static smq_consumer *worker;

static void on_signal(int number)
{
    (void) number;
    smq_consumer_stop(worker); /* async-signal-safe */
}

enum shipped { SHIPPED, OVERLOADED, NONSENSE, FAILED };

/* What the work is: here, to print the order. */
static enum shipped ship(const char *order, size_t len)
{
    if (len == 0 || order[0] != '{') {
        return NONSENSE;
    }
    if (printf("%.*s\n", (int) len, order) < 0) {
        return FAILED;
    }
    return fflush(stdout) == 0 ? SHIPPED : OVERLOADED;
}

/* Thread: smq:work-N.  The customer is the key, so each customer's orders are handled one at a
 * time. */
static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *order = smq_delivery_info(delivery);

    (void) user;
    switch (ship(order->body.data, order->body.len)) {
    case SHIPPED:
        return SMQ_DONE;
    case OVERLOADED: /* not the message's fault, so it uses no retry */
        smq_release(delivery, 30000, NULL);
        return SMQ_ANSWERED;
    case NONSENSE: /* a retry would not help */
        smq_reject(delivery, "not an order", NULL);
        return SMQ_ANSWERED;
    case FAILED:
        break;
    }
    return SMQ_RETRY;
}

/* Thread: smq:call. */
static void on_event(const smq_event *event, void *user)
{
    (void) user;
    fprintf(stderr, "%s: %s\n", event->id, event->text);
}

static void stop_on_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

int main(int argc, char **argv)
{
    /* Processes share the slots, through Redis or, if it is given, through ZooKeeper. */
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = argc > 1 ? argv[1] : "127.0.0.1:6379",
                           .zookeeper = argc > 2 ? argv[2] : NULL, .event = on_event);
    /* The drain time-out is below what the service manager allows. */
    smq_consumer_options work = SMQ_CONSUMER_OPTIONS(.topic = "orders", .handler = handle,
                                                     .threads = 4, .drain_timeout_ms = 25000);
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (smq_client_new(&client, &options, &err) == SMQ_OK &&
        smq_consumer_new(&worker, client, &work, &err) == SMQ_OK) {
        stop_on_signals();
        if (smq_consumer_start(worker, &err) == SMQ_OK) {
            smq_consumer_wait(worker, SMQ_FOREVER, &err);
        }
    }
    if (err.status != SMQ_OK) {
        fprintf(stderr, "worker: %s\n", err.text);
    }
    signal(SIGTERM, SIG_DFL); /* the handler must not see a worker that is gone */
    signal(SIGINT, SIG_DFL);
    smq_consumer_free(worker);
    smq_client_free(client);
    return err.status == SMQ_OK ? 0 : 1;
}
