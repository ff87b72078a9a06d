#include "member.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slotmq/slotmq.h>

#include "meter.h"
#include "support/consumers.h"
#include "tally.h"

static int number, file;

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
    char at_ns[24];

    (void) user;
    snprintf(at_ns, sizeof(at_ns), "%lld", (long long) meter_now_ns());
    note('H', info->slot, (int64_t) tally_number(info->body.data, info->body.len), at_ns);
    return SMQ_DONE;
}

int member_main(char **arguments)
{
    const bool in_redis = strcmp(arguments[2], MEMBER_IN_REDIS) == 0;
    char name[32];
    smq_client_options client =
        SMQ_CLIENT_OPTIONS(.redis = arguments[1], .zookeeper = in_redis ? NULL : arguments[2],
                           .coordination =
                               in_redis ? SMQ_COORDINATION_REDIS : SMQ_COORDINATION_AUTO,
                           .name = name, .session_timeout_ms = atoi(arguments[5]),
                           .event = on_event, .event_level = SMQ_LEVEL_DEBUG); /* each slot */
    smq_consumer_options consumer =
        SMQ_CONSUMER_OPTIONS(.topic = arguments[3], .handler = handle, .threads = 1);
    smq_error err = SMQ_ERROR_INIT;

    number = atoi(arguments[4]);
    file = open(arguments[6], O_WRONLY | O_APPEND | O_CLOEXEC);
    snprintf(name, sizeof(name), MEMBER_NAME, number);
    note('S', 0, meter_now_ns(), "");
    smq_status status = consumers_run(&client, &consumer, 1, &err);
    if (status != SMQ_OK) {
        fprintf(stderr, "bench: member %d: %s\n", number, err.text);
    }
    return status == SMQ_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
