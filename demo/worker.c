/* worker.c - one worker process of the demo: three workers, one client, one history.
 *
 * Thread: main, and the library's own for handlers and events. */
#include "worker.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include <slotmq/slotmq.h>

#include "rules.h"
#include "support/consumers.h"
#include "support/history.h"

enum { THREADS = 2 };

static struct history *history;
static atomic_bool slow; /* handlers take a second */

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

static void catch_pace(void)
{
    struct sigaction action = {.sa_handler = on_pace, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGCONT, &action, NULL);
}

int worker_main(const char *redis, const char *zookeeper, const char *name, const char *path)
{
    smq_client_options client =
        SMQ_CLIENT_OPTIONS(.redis = redis, .zookeeper = zookeeper[0] != '\0' ? zookeeper : NULL,
                           .name = name, .session_timeout_ms = WORKER_SESSION_MS, .event = on_event,
                           .event_level = SMQ_LEVEL_DEBUG); /* each slot */
    smq_consumer_options consumers[RULES_TOPICS];
    smq_error err = SMQ_ERROR_INIT;

    history = history_open(path);
    if (history == NULL) {
        perror(path);
        return 1;
    }
    for (int i = 0; i < RULES_TOPICS; i++) {
        consumers[i] = SMQ_CONSUMER_OPTIONS(.topic = rules_topics[i], .handler = handle,
                                            .threads = THREADS, .drain_timeout_ms = 5000);
    }
    catch_pace();
    smq_status status = consumers_run(&client, consumers, RULES_TOPICS, &err);
    if (status != SMQ_OK) {
        fprintf(stderr, "%s: %s\n", name, err.text);
    }
    history_close(history);
    return status == SMQ_OK ? 0 : 1;
}
