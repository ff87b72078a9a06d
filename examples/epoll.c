/* epoll.c - a program with a loop of its own: it waits for messages and for signals at once, by
 * epoll(7), until SIGTERM or SIGINT.
 *
 * usage: epoll REDIS ZOOKEEPER */
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
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

static void watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void loop(smq_consumer *consumer, int epoll, int signals, smq_error *err)
{
    smq_status status = SMQ_OK;

    watch(epoll, smq_consumer_fd(consumer));
    watch(epoll, signals);
    while (status == SMQ_OK) {
        struct epoll_event event;

        if (epoll_wait(epoll, &event, 1, -1) < 1) {
            continue; /* interrupted */
        }
        if (event.data.fd == signals) {
            smq_consumer_stop(consumer);
            epoll_ctl(epoll, EPOLL_CTL_DEL, signals, NULL); /* and continue until CLOSED */
        } else {
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
    int signals, epoll;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signals = signalfd(-1, &set, SFD_CLOEXEC);
    epoll = epoll_create1(EPOLL_CLOEXEC);

    if (signals >= 0 && epoll >= 0 && smq_client_new(&client, &options, &err) == SMQ_OK &&
        smq_consumer_new(&consumer, client, &consume, &err) == SMQ_OK) {
        loop(consumer, epoll, signals, &err);
    }
    if (err.status != SMQ_CLOSED) {
        fprintf(stderr, "epoll: %s\n", err.text);
    }
    smq_consumer_free(consumer);
    smq_client_free(client);
    close(epoll);
    close(signals);
    return err.status == SMQ_CLOSED ? 0 : 1;
}
