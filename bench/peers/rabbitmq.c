/* rabbitmq.c - RabbitMQ by librabbitmq: a classic queue, transient messages, publisher confirms,
 * prefetch 300, acknowledged by the hundred.
 *
 * Thread: main. */
#include "peers/peer.h"

#ifdef WITH_RABBITMQ

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>

#include "support/port.h"
#include "support/process.h"
#include "support/run.h"
#include "support/server.h"
#include "support/wait.h"

enum {
    CHANNEL = 1,
    UNCONFIRMED = 1000,
    PREFETCH = 300,
    ACKED = 100,
    FRAME_MAX = 131072,
    START_MS = 60000,
    STOP_MS = 30000
};

/* Not the one in sbin, which changes the user. */
#define PROGRAM "/usr/lib/rabbitmq/bin/rabbitmq-server"

static const amqp_bytes_t queue = {.len = 5, .bytes = (void *) "bench"};

static bool replied(amqp_connection_state_t connection, const char *what)
{
    amqp_rpc_reply_t reply = amqp_get_rpc_reply(connection);

    if (reply.reply_type != AMQP_RESPONSE_NORMAL) {
        fprintf(stderr, "bench: RabbitMQ refused %s\n", what);
    }
    return reply.reply_type == AMQP_RESPONSE_NORMAL;
}

static bool open_channel(amqp_connection_state_t connection, int port)
{
    amqp_socket_t *socket = amqp_tcp_socket_new(connection);

    if (socket == NULL || amqp_socket_open(socket, "127.0.0.1", port) != AMQP_STATUS_OK) {
        fprintf(stderr, "bench: RabbitMQ: no connection\n");
        return false;
    }
    amqp_rpc_reply_t login =
        amqp_login(connection, "/", 0, FRAME_MAX, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest");
    if (login.reply_type != AMQP_RESPONSE_NORMAL) {
        fprintf(stderr, "bench: RabbitMQ: no login\n");
        return false;
    }
    amqp_channel_open(connection, CHANNEL);
    if (!replied(connection, "a channel")) {
        return false;
    }
    amqp_queue_declare(connection, CHANNEL, queue, 0, 0, 0, 0, amqp_empty_table);
    return replied(connection, "a queue");
}

/* Waits for one confirm, which may be of many: how many are confirmed in all. */
static bool confirm(amqp_connection_state_t connection, uint64_t *confirmed)
{
    amqp_frame_t frame;

    if (amqp_simple_wait_frame(connection, &frame) != AMQP_STATUS_OK ||
        frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD) {
        fprintf(stderr, "bench: RabbitMQ did not confirm\n");
        return false;
    }
    const amqp_basic_ack_t *ack = frame.payload.method.decoded;
    *confirmed = ack->multiple ? ack->delivery_tag : *confirmed + 1;
    return true;
}

static bool send_all(void *arg, uint64_t count)
{
    amqp_connection_state_t connection = arg;
    char body[TALLY_BODY];
    amqp_bytes_t bytes = {.len = sizeof(body), .bytes = body};
    uint64_t confirmed = 0;

    amqp_confirm_select(connection, CHANNEL);
    if (!replied(connection, "confirms")) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        tally_body(body, sizeof(body), i);
        if (amqp_basic_publish(connection, CHANNEL, amqp_empty_bytes, queue, 0, 0, NULL, bytes) !=
            AMQP_STATUS_OK) {
            return false;
        }
        while (i + 1 - confirmed >= UNCONFIRMED) {
            if (!confirm(connection, &confirmed)) {
                return false;
            }
        }
    }
    while (confirmed < count) {
        if (!confirm(connection, &confirmed)) {
            return false;
        }
    }
    return true;
}

static bool drain(void *arg, struct tally *tally, uint64_t count)
{
    const struct timeval patience = {.tv_sec = PEER_STALL_S};
    amqp_connection_state_t connection = arg;

    amqp_basic_qos(connection, CHANNEL, 0, PREFETCH, 0);
    amqp_basic_consume(connection, CHANNEL, queue, amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    if (!replied(connection, "a consumer")) {
        return false;
    }
    for (uint64_t i = 1; i <= count; i++) {
        amqp_envelope_t envelope;
        amqp_maybe_release_buffers(connection);
        if (amqp_consume_message(connection, &envelope, &patience, 0).reply_type !=
            AMQP_RESPONSE_NORMAL) {
            fprintf(stderr, "bench: RabbitMQ gave no message\n");
            return false;
        }
        tally_tick(tally, 0, envelope.message.body.bytes, envelope.message.body.len);
        if (i % ACKED == 0 || i == count) {
            amqp_basic_ack(connection, CHANNEL, envelope.delivery_tag, 1);
        }
        amqp_destroy_envelope(&envelope);
    }
    return true;
}

static bool with_server(int port, uint64_t count, struct peer_result *out)
{
    amqp_connection_state_t connection = amqp_new_connection();
    bool good =
        open_channel(connection, port) && peer_time(connection, send_all, drain, count, out);

    amqp_destroy_connection(connection);
    return good;
}

/* === Its server ========================================================= */

/* Everything of its own: folder, ports, and the port mapper of Erlang, which outlives it. */
struct broker {
    struct port amqp, distribution, mapper;
    char folder[PATH_MAX - 64];
    char environment[8][PATH_MAX];
    const char *pointers[9];
    pid_t pid;
};

static void set_environment(struct broker *broker)
{
    const char *folder = broker->folder;
    char(*set)[PATH_MAX] = broker->environment;

    snprintf(set[0], PATH_MAX, "RABBITMQ_NODENAME=bench%d@localhost", broker->amqp.number);
    snprintf(set[1], PATH_MAX, "RABBITMQ_NODE_PORT=%d", broker->amqp.number);
    snprintf(set[2], PATH_MAX, "RABBITMQ_DIST_PORT=%d", broker->distribution.number);
    snprintf(set[3], PATH_MAX, "ERL_EPMD_PORT=%d", broker->mapper.number);
    snprintf(set[4], PATH_MAX, "RABBITMQ_MNESIA_BASE=%s/mnesia", folder);
    snprintf(set[5], PATH_MAX, "RABBITMQ_LOG_BASE=%s/log", folder);
    snprintf(set[6], PATH_MAX, "RABBITMQ_ENABLED_PLUGINS_FILE=%s/plugins", folder);
    snprintf(set[7], PATH_MAX, "HOME=%s", folder);
    for (int i = 0; i < 8; i++) {
        broker->pointers[i] = set[i];
    }
    broker->pointers[8] = NULL;
}

static bool answers(void *arg)
{
    const struct broker *broker = arg;

    return port_answers(broker->amqp.number);
}

static bool broker_start(struct broker *broker, struct lab *lab)
{
    const char *const argv[] = {PROGRAM, NULL};
    struct process_options options = {.argv = argv, .environment = broker->pointers};

    snprintf(broker->folder, sizeof(broker->folder), "%s/rabbitmq-XXXXXX", getenv("TMPDIR"));
    if (mkdtemp(broker->folder) == NULL || !port_reserve(&broker->amqp, false) ||
        !port_reserve(&broker->distribution, false) || !port_reserve(&broker->mapper, false)) {
        return false;
    }
    set_environment(broker);
    broker->pid = lab_start_server(lab, &options);
    if (broker->pid <= 0 || !wait_until(answers, broker, START_MS)) {
        fprintf(stderr, "bench: RabbitMQ does not start\n");
        return false;
    }
    return true;
}

static void broker_stop(struct broker *broker)
{
    const char *const argv[] = {"epmd", "-kill", NULL};
    struct run run;

    if (broker->pid > 0) {
        process_stop(broker->pid, STOP_MS);
        run_command(&run, &(struct run_options){.argv = argv, .environment = broker->pointers},
                    STOP_MS);
        run_fini(&run);
    }
    folder_remove(broker->folder);
    port_release(&broker->mapper);
    port_release(&broker->distribution);
    port_release(&broker->amqp);
}

static const char *missing(const struct lab *lab)
{
    (void) lab;
    return access(PROGRAM, X_OK) == 0 ? NULL : "there is no " PROGRAM " (Debian: rabbitmq-server)";
}

static bool measure(struct lab *lab, uint64_t count, struct peer_result *out)
{
    struct broker *broker = calloc(1, sizeof(*broker));

    if (broker == NULL) {
        abort();
    }
    broker->amqp.lock = broker->distribution.lock = broker->mapper.lock = -1;
    bool good = broker_start(broker, lab) && with_server(broker->amqp.number, count, out);
    broker_stop(broker);
    free(broker);
    return good;
}

#else

static const char *missing(const struct lab *lab)
{
    (void) lab;
    return "built without librabbitmq: install librabbitmq-dev, then meson setup --reconfigure "
           "build";
}

static bool measure(struct lab *lab, uint64_t count, struct peer_result *out)
{
    (void) lab;
    (void) count;
    (void) out;
    return false;
}

#endif

const struct peer peer_rabbitmq = {.name = "rabbitmq",
                                   .how = "classic queue, transient; confirms; acknowledged by 100",
                                   .missing = missing,
                                   .measure = measure};
