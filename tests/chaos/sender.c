/* sender.c - a process that sends in a chaos run, and writes down each send and its outcome.
 *
 * usage: chaos-sender REDIS NAME RATE REPLICAS HOT_S LOG CLOCK.  It sends RATE messages per second
 * until SIGTERM, those of each fifth second at once, then waits for the receipts that are missing.
 * From second HOT_S on it also sends many messages of one key at once, again and again.
 *
 * Thread: main sends; smq:call receives the receipts. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <slotmq/slotmq.h>

#include "load.h"
#include "log.h"
#include "wall.h"

enum { HOT = 1500, HOT_EACH_S = 24 }; /* messages of the hot key at once, how often */
enum { SLICES_PER_S = 50, BURST_S = 5, FLUSH_MS = 60000, SEND_TIMEOUT_MS = 30000 };

/* One send under way; freed by its receipt. */
struct sending {
    const char *topic;
    char body[LOAD_BODY_MAX];
};

struct sender {
    smq_producer *producer;
    const char *name;
    uint64_t number;
    int hot_s; /* when the first messages of the hot key come */
};

static volatile sig_atomic_t sender_stopped;

static void sender_on_signal(int number)
{
    (void) number;
    sender_stopped = 1;
}

/* Thread: smq:call. */
static void sender_on_receipt(const smq_receipt *receipt, void *user)
{
    struct sending *sending = user;
    const char *outcome = receipt->status == SMQ_OK        ? "stored"
                          : receipt->status == SMQ_UNKNOWN ? "unknown"
                                                           : "refused";

    log_line("receipt", "%s %s %s %s", sending->topic, sending->body, outcome,
             smq_status_name(receipt->status));
    free(sending);
}

static void sender_send(struct sender *sender, const struct load_message *load)
{
    smq_error err;
    struct sending *sending = malloc(sizeof(*sending));

    if (sending == NULL) {
        abort();
    }
    sending->topic = load_topics[load->topic];
    memcpy(sending->body, load->body, sizeof(sending->body));
    smq_message message = SMQ_MESSAGE(.body = smq_text(load->body), .key = smq_text(load->key),
                                      .id = smq_text(load->id[0] != '\0' ? load->id : NULL),
                                      .priority = load->priority, .due_at_ms = load->due_at_ms,
                                      .delay_ms = load->delay_ms);
    log_line("send", "%s %s %s %" PRId64 " %" PRId64, sending->topic, load->body, load->key,
             load->priority, load->due_at_ms);
    smq_status status = smq_send_async(sender->producer, sending->topic, &message,
                                       sender_on_receipt, sending, &err);
    if (status != SMQ_OK) {
        log_line("receipt", "%s %s refused %s", sending->topic, sending->body,
                 smq_status_name(status));
        free(sending);
    }
}

static void sender_send_next(struct sender *sender)
{
    struct load_message load;

    wall_report();
    load_make(&load, sender->name, sender->number++, wall_true_ms());
    sender_send(sender, &load);
}

/* Many messages of one key, in front of what is sent then. */
static void sender_send_hot(struct sender *sender)
{
    struct load_message load;

    wall_report();
    for (int i = 0; i < HOT; i++) {
        load_make_hot(&load, sender->name, sender->number++);
        sender_send(sender, &load);
    }
}

/* How many messages a slice has.  In each fifth second all of them are in its last slice. */
static int sender_count(int slice, int per_second)
{
    if (slice / SLICES_PER_S % BURST_S != BURST_S - 1) {
        return per_second / SLICES_PER_S;
    }
    return slice % SLICES_PER_S == SLICES_PER_S - 1 ? per_second : 0;
}

/* Send a slice, then sleep until the next one is due. */
static void sender_run(struct sender *sender, int per_second)
{
    struct timespec next;

    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int slice = 0; !sender_stopped; slice++) {
        for (int i = sender_count(slice, per_second); i > 0; i--) {
            sender_send_next(sender);
        }
        if (slice % (HOT_EACH_S * SLICES_PER_S) == sender->hot_s * SLICES_PER_S) {
            sender_send_hot(sender);
        }
        next.tv_nsec += 1000000000L / SLICES_PER_S;
        next.tv_sec += next.tv_nsec / 1000000000L;
        next.tv_nsec %= 1000000000L;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}

int main(int argc, char **argv)
{
    struct sender sender = {0};
    struct sigaction action;
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (argc != 8) {
        fprintf(stderr, "usage: chaos-sender REDIS NAME RATE REPLICAS HOT_S LOG CLOCK\n");
        return 2;
    }
    memset(&action, 0, sizeof(action));
    action.sa_handler = sender_on_signal;
    sigaction(SIGTERM, &action, NULL);
    log_open(argv[6], argv[2]);
    wall_open(argv[7]);
    sender.name = argv[2];
    int replicas = (int) strtol(argv[4], NULL, 10);
    sender.hot_s = (int) strtol(argv[5], NULL, 10);
    log_line("level", "%d", replicas);
    smq_client_options client_options = SMQ_CLIENT_OPTIONS(.redis = argv[1]);
    smq_producer_options options =
        SMQ_PRODUCER_OPTIONS(.replicas = replicas, .send_timeout_ms = SEND_TIMEOUT_MS);
    smq_status status = smq_client_new(&client, &client_options, &err);
    if (status == SMQ_OK) {
        status = smq_producer_new(&sender.producer, client, &options, &err);
    }
    if (status == SMQ_OK) {
        sender_run(&sender, (int) strtol(argv[3], NULL, 10));
        status = smq_producer_flush(sender.producer, FLUSH_MS, &err);
    }
    smq_producer_free(sender.producer);
    smq_client_free(client);
    log_line("exit", "%s %s", smq_status_name(status), status == SMQ_OK ? "-" : err.text);
    return status == SMQ_OK ? 0 : 1;
}
