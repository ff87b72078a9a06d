/* batch_handler.c - a handler of batches in C that does nothing, for redis_list.py.
 *
 * usage: batch-handler REDIS COUNT
 *
 * Handles COUNT messages of the topic "benched", in batches of up to 1,000 by two threads, as the
 * handler in Python does.  Prints messages a second, and microseconds of the processor for each. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <slotmq/slotmq.h>

enum { THREADS = 2, BATCH = 1000 };

/* Threads: smq:work-0, smq:work-1. */
static smq_verdict handle(smq_delivery *const *deliveries, size_t count, void *user)
{
    (void) deliveries, (void) count, (void) user;
    return SMQ_DONE;
}

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    smq_client *client = NULL;
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;
    long count = argc == 3 ? atol(argv[2]) : 0;

    if (count <= 0) {
        fprintf(stderr, "usage: batch-handler REDIS COUNT\n");
        return 64;
    }
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = argv[1]);
    smq_consumer_options work =
        SMQ_CONSUMER_OPTIONS(.topic = "benched", .batch = handle, .batch_size = BATCH,
                             .threads = THREADS, .max_messages = count);

    if (smq_client_new(&client, &options, &err) == SMQ_OK) {
        double began = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);

        if (smq_consumer_new(&worker, client, &work, &err) == SMQ_OK &&
            smq_consumer_start(worker, &err) == SMQ_OK) {
            smq_consumer_wait(worker, SMQ_FOREVER, &err);
        }
        printf("%f %f\n", (double) count / (seconds(CLOCK_MONOTONIC) - began),
               (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double) count * 1e6);
    }
    if (err.status != SMQ_OK) {
        fprintf(stderr, "batch-handler: %s\n", err.text);
    }
    smq_consumer_free(worker);
    smq_client_free(client);
    return err.status == SMQ_OK ? 0 : 1;
}
