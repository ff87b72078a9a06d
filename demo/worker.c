/* worker.c - one worker process of the demo: three workers, one client, one history.
 *
 * Thread: main, and the library's own for handlers and events. */
#include "worker.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <slotmq/slotmq.h>

#include "rules.h"
#include "support/history.h"

enum { THREADS = 2 };

static struct history *history;
static smq_consumer *workers[RULES_TOPICS];
static atomic_bool slow; /* handlers take a second */

static void on_signal(int number)
{
    (void) number;
    for (int i = 0; i < RULES_TOPICS; i++) {
        smq_consumer_stop(workers[i]);
    }
}

/* SIGUSR1 makes the handlers slow, SIGCONT makes them fast again. */
static void on_pace(int number)
{
    atomic_store(&slow, number == SIGUSR1);
}

/* Thread: smq:call. */
static void on_event(const smq_event *event, void *user)
{
    (void) user;
    if (event->kind == SMQ_EVENT_FENCED) {
        history_fenced(history);
    } else if (event->kind == SMQ_EVENT_SLOT_GAINED) {
        history_gained(history, event->topic, event->slot, event->token);
    } else if (event->kind == SMQ_EVENT_DAMAGED || event->kind == SMQ_EVENT_REPAIRED) {
        history_damage(history, event->topic, event->slot, event->kind == SMQ_EVENT_REPAIRED);
    }
}

/* What a real handler would do takes time; so does this one. */
static void work(void)
{
    static const struct timespec usual = {.tv_nsec = 200000}, long_one = {.tv_sec = 1};

    nanosleep(atomic_load(&slow) ? &long_one : &usual, NULL);
}

/* Thread: smq:work-N. */
static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *message = smq_delivery_info(delivery);
    uint64_t run = history_start(history, message);
    smq_error err;

    (void) user;
    work();
    if (rules_always_fails(message->body.data, message->body.len)) {
        history_end(history, run, "retry");
        (void) smq_retry(delivery, SMQ_BACKOFF, "can never be handled", &err);
        return SMQ_ANSWERED;
    }
    if (message->attempt == 1 && rules_fails_first(message->body.data, message->body.len)) {
        history_end(history, run, "retry");
        return SMQ_RETRY;
    }
    history_end(history, run, "done");
    return SMQ_DONE;
}

static smq_status start(smq_consumer **out, smq_client *client, const char *topic, smq_error *err)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;

    options.topic = topic;
    options.handler = handle;
    options.threads = THREADS;
    options.drain_timeout_ms = 5000;
    smq_status status = smq_consumer_new(out, client, &options, err);
    return status == SMQ_OK ? smq_consumer_start(*out, err) : status;
}

static void catch_signals(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = on_pace;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGCONT, &action, NULL);
}

int worker_main(const char *redis, const char *zookeeper, const char *name, const char *path)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;
    smq_status status;

    history = history_open(path);
    if (history == NULL) {
        perror(path);
        return 1;
    }
    options.redis = redis;
    options.zookeeper = zookeeper;
    options.name = name;
    options.session_timeout_ms = WORKER_SESSION_MS;
    options.event = on_event;
    options.event_level = SMQ_LEVEL_DEBUG; /* each slot */
    status = smq_client_new(&client, &options, &err);
    for (int i = 0; i < RULES_TOPICS && status == SMQ_OK; i++) {
        status = start(&workers[i], client, rules_topics[i], &err);
    }
    if (status == SMQ_OK) {
        catch_signals();
    }
    for (int i = 0; i < RULES_TOPICS && status == SMQ_OK; i++) {
        status = smq_consumer_wait(workers[i], SMQ_FOREVER, &err);
    }
    if (status != SMQ_OK) {
        fprintf(stderr, "%s: %s\n", name, err.text);
    }
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < RULES_TOPICS; i++) {
        smq_consumer_free(workers[i]);
    }
    smq_client_free(client);
    history_close(history);
    return status == SMQ_OK ? 0 : 1;
}
