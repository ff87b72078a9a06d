/* poll.c - a program with a loop of its own: it waits for messages and for signals at once, by
 * poll(2), until SIGTERM or SIGINT.
 *
 * usage: poll REDIS ZOOKEEPER */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <slotmq/slotmq.h>

enum { AT_ONCE = 16 };

/* Print the orders, and answer them.  The customer is the key, so two orders of one poll are of
 * different customers. */
static void ship(smq_delivery **orders, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const smq_message_info *order = smq_delivery_info(orders[i]);
        int printed = printf("%.*s\n", (int) order->body.len, (const char *) order->body.data);

        if (printed > 0 && fflush(stdout) == 0) {
            smq_done(orders[i], NULL);
        } else {
            smq_retry(orders[i], SMQ_BACKOFF, "cannot print", NULL);
        }
    }
}

/* Poll without waiting.  CLOSED: the consumer was stopped, and all answers are stored. */
static smq_status take_orders(smq_consumer *consumer, smq_error *err)
{
    smq_delivery *orders[AT_ONCE];
    size_t count = 0;
    smq_status status = smq_consumer_poll(consumer, orders, AT_ONCE, &count, 0, err);

    ship(orders, count);
    return status;
}

static void loop(smq_consumer *consumer, int signals, smq_error *err)
{
    struct pollfd waits[] = {
        {.fd = smq_consumer_fd(consumer), .events = POLLIN},
        {.fd = signals, .events = POLLIN},
    };
    smq_status status = SMQ_OK;

    while (status == SMQ_OK) {
        if (poll(waits, 2, -1) < 0) {
            continue; /* interrupted */
        }
        if (waits[1].revents != 0) {
            smq_consumer_stop(consumer);
            waits[1].fd = -1; /* and continue until CLOSED */
        }
        if (waits[0].revents != 0) {
            status = take_orders(consumer, err);
        }
    }
}

int main(int argc, char **argv)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = argc > 1 ? argv[1] : "127.0.0.1:6379",
                                                    .zookeeper = argc > 2 ? argv[2] : NULL);
    smq_consumer_options consume = SMQ_CONSUMER_OPTIONS(.topic = "orders");
    smq_client *client = NULL;
    smq_consumer *consumer = NULL;
    smq_error err = SMQ_ERROR_INIT;
    sigset_t set;
    int signals;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signals = signalfd(-1, &set, SFD_CLOEXEC);

    if (signals >= 0 && smq_client_new(&client, &options, &err) == SMQ_OK &&
        smq_consumer_new(&consumer, client, &consume, &err) == SMQ_OK) {
        loop(consumer, signals, &err);
    }
    if (err.status != SMQ_CLOSED) {
        fprintf(stderr, "poll: %s\n", err.text);
    }
    smq_consumer_free(consumer);
    smq_client_free(client);
    if (signals >= 0) {
        close(signals);
    }
    return err.status == SMQ_CLOSED ? 0 : 1;
}
