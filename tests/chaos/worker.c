/* worker.c - a process that consumes in a chaos run, and writes down what its handlers do.
 *
 * usage: chaos-worker REDIS ZOOKEEPER NAME PUSH_SLOTS continue|stop LOG CLOCK; ZOOKEEPER is "-" for
 * a fleet that has Redis alone.
 * SIGTERM ends it gracefully.
 *
 * Thread: main, and the library's own for handlers and events. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <slotmq/slotmq.h>

#include "load.h"
#include "log.h"
#include "support/consumers.h"
#include "trace.h"
#include "wall.h"

enum { THREADS = 2, DRAIN_MS = 5000, QUICK_US = 300, BUSY_MS = 3, SLOW_MS = 400 };
enum { FEW = 4, MOST_IN_FLIGHT = 6 };

static atomic_uint_least64_t worker_runs;
static int32_t worker_push_slots; /* of each topic */
static smq_coordination_loss worker_zk_loss;

/* Thread: smq:call. */
static void worker_on_event(const smq_event *event, void *user)
{
    const bool slot = event->kind == SMQ_EVENT_SLOT_GAINED || event->kind == SMQ_EVENT_SLOT_LOST;

    (void) user;
    if (event->level > SMQ_LEVEL_INFO && !slot) {
        return;
    }
    log_line("event", "%s %s %d %s %s %d %s", event->id, event->topic != NULL ? event->topic : "-",
             (int) event->slot,
             event->token != NULL && event->token[0] != '\0' ? event->token : "-",
             smq_status_name(event->status), (int) event->level, event->text);
}

/* What a real handler would do takes time; so does this one. */
static void worker_work(enum load_kind kind)
{
    const struct timespec quick = {.tv_nsec = QUICK_US * 1000L},
                          busy = {.tv_nsec = BUSY_MS * 1000000L},
                          slow = {.tv_nsec = SLOW_MS * 1000000L};

    nanosleep(kind == LOAD_SLOW ? &slow : kind == LOAD_BUSY ? &busy : &quick, NULL);
}

static smq_verdict worker_answer(enum load_kind kind, int32_t attempt, const char **word)
{
    if (kind == LOAD_FAIL || (kind == LOAD_FAIL_FIRST && attempt == 1)) {
        *word = "retry";
        return SMQ_RETRY;
    }
    *word = kind == LOAD_REJECT ? "reject" : "done";
    return kind == LOAD_REJECT ? SMQ_REJECT : SMQ_DONE;
}

/* Thread: smq:work-N. */
static smq_verdict worker_handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *message = smq_delivery_info(delivery);
    uint64_t run = atomic_fetch_add(&worker_runs, 1) + 1;
    char body[LOAD_BODY_MAX];
    const char *word;

    (void) user;
    wall_report();
    snprintf(body, sizeof(body), "%.*s", (int) message->body.len,
             (const char *) message->body.data);
    log_line("begin",
             "%" PRIu64 " %s %d %s %" PRIu64 " %d %d %" PRId64 " %" PRId64 " %" PRId64 " %s", run,
             message->topic, (int) message->slot, message->token[0] != '\0' ? message->token : "-",
             trace_claim(delivery), (int) message->attempt, (int) message->retries_left,
             message->priority, message->due_at_ms, wall_true_ms(), body);
    enum load_kind kind = load_kind_of(body);
    worker_work(kind);
    smq_verdict verdict = worker_answer(kind, message->attempt, &word);
    log_line("end", "%" PRIu64 " %s", run, word);
    return verdict;
}

/* The same for the message of a tick, whose id says what it is. */
static smq_verdict worker_tick(smq_delivery *delivery, void *user)
{
    const smq_message_info *message = smq_delivery_info(delivery);

    (void) user;
    wall_report();
    log_line("tick", "%d %d %" PRId64 " %.*s", (int) message->slot, (int) message->attempt,
             message->sent_at_ms, (int) message->id.len, (const char *) message->id.data);
    return SMQ_DONE;
}

/* Of priorities it takes few, so that claims leave messages waiting. */
static smq_consumer_options worker_options(int index)
{
    bool few = index == LOAD_PRIORITY;

    return SMQ_CONSUMER_OPTIONS(.topic = load_topics[index], .handler = worker_handle,
                                .threads = THREADS, .drain_timeout_ms = DRAIN_MS,
                                .push_slots = worker_push_slots, .batch_size = few ? FEW : 0,
                                .max_in_flight = few ? MOST_IN_FLIGHT : 0);
}

int main(int argc, char **argv)
{
    smq_consumer_options consumers[LOAD_TOPICS + 1];
    smq_error err = SMQ_ERROR_INIT;

    if (argc != 8) {
        fprintf(stderr, "usage: chaos-worker REDIS ZOOKEEPER NAME PUSH_SLOTS "
                        "continue|stop LOG CLOCK\n");
        return 2;
    }
    log_open(argv[6], argv[3]);
    wall_open(argv[7]);
    worker_zk_loss =
        strcmp(argv[5], "stop") == 0 ? SMQ_COORDINATION_LOSS_STOP : SMQ_COORDINATION_LOSS_CONTINUE;
    worker_push_slots = (int32_t) strtol(argv[4], NULL, 10);
    worker_push_slots = worker_push_slots > 0 ? worker_push_slots : SMQ_NONE;
    smq_client_options client =
        SMQ_CLIENT_OPTIONS(.redis = argv[1], .zookeeper = argv[2], .name = argv[3],
                           .session_timeout_ms = LOAD_SESSION_MS,
                           .on_coordination_loss = worker_zk_loss, .event = worker_on_event,
                           .event_level = SMQ_LEVEL_DEBUG);
    if (strcmp(argv[2], "-") == 0) {
        client.zookeeper = NULL;
        client.coordination = SMQ_COORDINATION_REDIS;
    }
    for (int i = 0; i <= LOAD_TOPICS; i++) {
        consumers[i] = worker_options(i);
    }
    consumers[LOAD_TICKS].handler = worker_tick;
    smq_status status = consumers_run(&client, consumers, LOAD_TOPICS + 1, &err);
    log_line("exit", "%s %s", smq_status_name(status), status == SMQ_OK ? "-" : err.text);
    return status == SMQ_OK ? 0 : 1;
}
