#include "member.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <slotmq/slotmq.h>

#include "meter.h"
#include "tally.h"

static smq_consumer *worker;
static int number, file;

static void on_signal(int signal_number)
{
    (void) signal_number;
    smq_consumer_stop(worker);
}

/* One write(2) a line: the members append to the same file. */
static void note(char kind, int32_t slot, int64_t value, const char *token)
{
    char line[96];
    int len = snprintf(line, sizeof(line), "%c %d %d %lld %s\n", kind, number, (int) slot,
                       (long long) value, token);

    if (write(file, line, (size_t) len) != len) {
        perror("bench: member");
    }
}

/* Thread: smq:call. */
static void on_event(const smq_event *event, void *user)
{
    (void) user;
    if (event->kind == SMQ_EVENT_SLOT_GAINED) {
        note('G', event->slot, meter_now_ns(), event->token);
    } else if (event->kind == SMQ_EVENT_SLOT_LOST) {
        note('L', event->slot, meter_now_ns(), "");
    }
}

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *info = smq_delivery_info(delivery);

    (void) user;
    note('H', info->slot, (int64_t) tally_number(info->body.data, info->body.len), "");
    return SMQ_DONE;
}

static void catch_term(void (*handler)(int signal_number))
{
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
}

static smq_status consume(smq_client *client, const char *topic, smq_error *err)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;

    options.topic = topic;
    options.handler = handle;
    options.threads = 1;
    smq_status status = smq_consumer_new(&worker, client, &options, err);
    if (status == SMQ_OK) {
        catch_term(on_signal);
        status = smq_consumer_start(worker, err);
    }
    if (status == SMQ_OK) {
        status = smq_consumer_wait(worker, SMQ_FOREVER, err);
    }
    catch_term(SIG_IGN);
    smq_consumer_free(worker);
    return status;
}

int member_main(char **arguments)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;
    char name[32];

    number = atoi(arguments[4]);
    file = open(arguments[6], O_WRONLY | O_APPEND | O_CLOEXEC);
    snprintf(name, sizeof(name), MEMBER_NAME, number);
    options.redis = arguments[1];
    options.zookeeper = arguments[2];
    options.name = name;
    options.session_timeout_ms = atoi(arguments[5]);
    options.event = on_event;
    options.event_level = SMQ_LEVEL_DEBUG; /* each slot */
    note('S', 0, meter_now_ns(), "");
    smq_status status = smq_client_new(&client, &options, &err);
    if (status == SMQ_OK) {
        status = consume(client, arguments[3], &err);
    }
    smq_client_free(client);
    if (status != SMQ_OK) {
        fprintf(stderr, "bench: member %d: %s\n", number, err.text);
    }
    return status == SMQ_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
