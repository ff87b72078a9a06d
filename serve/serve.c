/* serve.c - a port that shows all topics, to people and programs.
 *
 * Thread: main; serve.h says where the paths are answered. */
#include "serve/serve.h"

#include <stdlib.h>

#include "cli/http/listen_flags.h"
#include "cli/text/say.h"
#include "cli/text/signals.h"
#include "cli/verb/connect.h"

#define SERVE_ADDRESS "127.0.0.1:9095"

struct serve_options {
    struct listen listen;
    bool show_bodies, write;
    const char *topics;
};

static const struct flag serve_flags[] = {
    LISTEN_FLAGS(struct serve_options, "where it listens; default " SERVE_ADDRESS),
    SWITCH_FLAG("show-bodies", offsetof(struct serve_options, show_bodies),
                "bodies, keys and headers are shown without the token, too"),
    SWITCH_FLAG("write", offsetof(struct serve_options, write),
                "who has the token may requeue, remove, purge, pause, resume and alter"),
    TEXT_FLAG("topic", offsetof(struct serve_options, topics), "NAME,...",
              "only these topics, with their groups; default all"),
};

static void serve_init(void *options)
{
    ((struct serve_options *) options)->listen.address = SERVE_ADDRESS;
}

/* Thread: serve:read. */
static void serve_on_round(void *user)
{
    struct serve *serve = user;

    events_publish(serve->events, "reading", show_reading(serve->readings));
}

static void serve_wait(void)
{
    while (!signals_came()) {
        (void) signals_await_input(-1, -1);
    }
}

/* Nothing new comes; what runs is stopped or waited for; then the port can end. */
static void serve_end(struct serve *serve, struct port *port)
{
    port_quiesce(port);
    readings_stop(serve->readings);
    jobs_end(serve->jobs);
    pool_end(serve->pool);
    verdict_end(serve->verdict);
    events_end(serve->events);
    port_end(port);
}

static enum exit_code serve_open(struct serve *serve, const struct address *address)
{
    struct port *port = NULL;
    char text[ADDRESS_ROOM];
    const enum exit_code code = port_begin(
        &port, &(struct port_options){.address = *address, .handle = routes_handle, .user = serve});

    if (code != EXIT_DONE) {
        readings_stop(serve->readings);
        jobs_end(serve->jobs);
        pool_end(serve->pool);
        verdict_end(serve->verdict);
        return code;
    }
    if (!serve->command->global.quiet) {
        port_text(text, port);
        say("slotmq: listening on http://%s", text);
    }
    serve_wait();
    serve_end(serve, port);
    return EXIT_DONE;
}

/* Servers that are away now may be there later; a mistake stays one. */
static enum exit_code serve_connect(smq_client **client, const struct command *command)
{
    smq_error err = SMQ_ERROR_INIT;

    if (connect_open(client, command, &err) == SMQ_OK) {
        return EXIT_DONE;
    }
    const enum exit_code code = say_failure(&err);
    return smq_status_class(err.status) == SMQ_CLASS_RETRY ? EXIT_DONE : code;
}

static enum exit_code serve_start(const struct command *command, const struct address *address,
                                  const struct guard *guard)
{
    const struct serve_options *flags = command->options;
    struct serve serve = {.command = command, .only = flags->topics, .guard = *guard};
    smq_client *client = NULL;
    enum exit_code code = serve_connect(&client, command);

    if (code != EXIT_DONE || signals_came()) {
        smq_client_free(client);
        return code;
    }
    serve.events = events_new();
    serve.pool = pool_begin();
    serve.jobs = jobs_new(serve.events, serve.pool);
    serve.readings = readings_begin(
        &(struct readings_options){
            .command = command, .only = flags->topics, .round = serve_on_round, .user = &serve},
        client);
    serve.verdict = verdict_begin(command);
    code = serve_open(&serve, address);
    verdict_free(serve.verdict);
    jobs_free(serve.jobs);
    pool_free(serve.pool);
    events_free(serve.events);
    readings_end(serve.readings);
    return code;
}

static enum exit_code serve_run(const struct command *command)
{
    const struct serve_options *flags = command->options;
    struct address address;
    struct guard guard;
    char *token = NULL;
    enum exit_code code = connect_check(command);

    if (code == EXIT_DONE) {
        code = listen_read(&address, &guard, &token, &flags->listen);
    }
    if (code == EXIT_DONE && flags->write && !token) {
        code = say_error(EXIT_USAGE, "--write needs a token: --token-file or SLOTMQ_SERVE_TOKEN");
    }
    if (code == EXIT_DONE) {
        guard.show_bodies = flags->show_bodies;
        guard.write = flags->write;
        signals_catch();
        code = serve_start(command, &address, &guard);
    }
    free(token);
    return code;
}

const struct verb serve_verb = {
    .name = "serve",
    .operands = "",
    .summary = "show all topics by HTTP: metrics, health, lag, JSON",
    .text =
        "Programs find all topics under /metrics (Prometheus), /lag?topic=NAME (KEDA), /healthz "
        "and /readyz, and all that other verbs show as JSON under /api/v1, which "
        "/api/v1/openapi.json describes. Topics are read again and again, with at "
        "most 4,000 calls of Redis a second; the last hour of them is kept in memory.\n\n"
        "On loopback reading needs no token. Bodies, keys and headers are shown to those who have "
        "the token, and changes are made only for them, and with --write. For TLS put a proxy "
        "before it.\n\n"
        "It ends with exit code 0 on SIGTERM, SIGINT or SIGHUP.",
    VERB_FLAGS(serve_flags, struct serve_options),
    .init = serve_init,
    .says_states = true,
    .run = serve_run,
};
