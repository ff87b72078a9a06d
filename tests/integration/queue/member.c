/* member.c - a process that consumes: the tests start it, stop it, pause it and kill it.
 *
 *   member REDIS ZOOKEEPER|- TOPIC HISTORY SESSION_MS THREADS WORK_US
 *
 * It writes what its handlers do to the file HISTORY, and dies by SIGKILL in the handler of a
 * message whose body begins with "poison".  SIGTERM ends it gracefully. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <slotmq/slotmq.h>

#include "support/history.h"

static smq_worker *worker;
static struct history *history;
static long work_us;

static void on_signal(int number)
{
    (void) number;
    smq_worker_stop(worker);
}

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    if (event->kind == SMQ_EVENT_FENCED) {
        history_fenced(history);
    } else if (event->kind == SMQ_EVENT_SLOT_GAINED) {
        history_gained(history, event->topic, event->slot, event->token);
    }
    fprintf(stderr, "member: %s: %s\n", event->id, event->text);
}

/* What a handler would wait for: a database, another service. */
static void work(void)
{
    struct timespec time = {.tv_sec = work_us / 1000000, .tv_nsec = work_us % 1000000 * 1000};

    if (work_us > 0) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    }
}

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *info = smq_delivery_info(delivery);
    uint64_t run = history_start(history, info);

    (void) user;
    if (info->body.len >= 6 && memcmp(info->body.data, "poison", 6) == 0) {
        raise(SIGKILL);
    }
    work();
    history_end(history, run, "done");
    return SMQ_DONE;
}

static void catch (void (*handler)(int number))
{
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
}

static int run(smq_client *client, const char *topic, int threads)
{
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_error err = SMQ_ERROR_INIT;
    smq_status status;

    options.topic = topic;
    options.handler = handle;
    options.threads = threads;
    status = smq_worker_new(&worker, client, &options, &err);
    if (status == SMQ_OK) {
        catch (on_signal);
        status = smq_worker_start(worker, &err);
    }
    if (status == SMQ_OK) {
        status = smq_worker_wait(worker, SMQ_FOREVER, &err);
    }
    catch (SIG_IGN);
    smq_worker_free(worker);
    if (status != SMQ_OK) {
        fprintf(stderr, "member: %s\n", err.text);
    }
    return status == SMQ_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;
    int rc = 1;

    if (argc != 8 || (history = history_open(argv[4])) == NULL) {
        fprintf(stderr,
                "usage: member REDIS ZOOKEEPER|- TOPIC HISTORY SESSION_MS THREADS WORK_US\n");
        return 64;
    }
    options.redis = argv[1];
    options.zookeeper = strcmp(argv[2], "-") != 0 ? argv[2] : NULL;
    options.session_timeout_ms = atoi(argv[5]);
    options.event = on_event;
    work_us = atol(argv[7]);
    if (smq_client_new(&client, &options, &err) == SMQ_OK) {
        rc = run(client, argv[3], atoi(argv[6]));
    } else {
        fprintf(stderr, "member: %s\n", err.text);
    }
    smq_client_free(client);
    history_close(history);
    return rc;
}
