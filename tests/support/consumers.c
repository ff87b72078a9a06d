/* consumers.c - see consumers.h. */
#include "support/consumers.h"

#include <assert.h>
#include <signal.h>

static smq_consumer *volatile running[CONSUMERS_MAX];
static volatile sig_atomic_t stopping;

static void stop_all(void)
{
    for (size_t i = 0; i < CONSUMERS_MAX; i++) {
        smq_consumer_stop(running[i]);
    }
}

static void on_signal(int number)
{
    (void) number;
    stopping = 1;
    stop_all();
}

static void catch_term(void (*handler)(int number))
{
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
}

static smq_status start(size_t index, smq_client *client, const smq_consumer_options *options,
                        smq_error *err)
{
    smq_consumer *consumer = NULL;
    smq_status status = smq_consumer_new(&consumer, client, options, err);

    running[index] = consumer;
    return status == SMQ_OK ? smq_consumer_start(consumer, err) : status;
}

static smq_status consume(smq_client *client, const smq_consumer_options *consumers, size_t count,
                          smq_error *err)
{
    smq_status status = SMQ_OK;

    for (size_t i = 0; i < count && status == SMQ_OK && !stopping; i++) {
        status = start(i, client, &consumers[i], err);
    }
    if (stopping) {
        stop_all(); /* the signal may have come before the last of them was there */
    }
    for (size_t i = 0; i < count && status == SMQ_OK && running[i] != NULL; i++) {
        status = smq_consumer_wait(running[i], SMQ_FOREVER, err);
    }
    return status;
}

smq_status consumers_run(const smq_client_options *client, const smq_consumer_options *consumers,
                         size_t count, smq_error *err)
{
    smq_client *opened = NULL;

    assert(count <= CONSUMERS_MAX);
    catch_term(on_signal);
    smq_status status = smq_client_new(&opened, client, err);
    if (status == SMQ_OK) {
        status = consume(opened, consumers, count, err);
    }
    catch_term(SIG_IGN);
    for (size_t i = 0; i < count; i++) {
        smq_consumer_free(running[i]);
    }
    smq_client_free(opened);
    return status;
}
