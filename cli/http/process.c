/* process.c - a port of a process that consumes: its metrics and its health.
 *
 * Thread: process_handle() and what it calls run on that of the port, which may wait a second for
 * smq_client_health(); the rest on main. */
#include "cli/http/process.h"

#include <stdlib.h>
#include <string.h>

#include "cli/http/port.h"
#include "cli/text/say.h"

struct process {
    struct port *port;
    smq_client *client;
    struct guard guard;
    char *token; /* owned */
};

/* Does a thread hang, or has a consumer ended?  A restart helps against these. */
static struct answer *process_health(smq_client *client)
{
    smq_health health = SMQ_HEALTH_INIT;
    smq_error err = SMQ_ERROR_INIT;

    if (smq_client_health(client, &health, &err) != SMQ_OK) {
        return answer_line(503, "%s", say_text(&err));
    }
    return health.consumers == 0 ? answer_line(503, "no consumer runs: %s", health.wrong)
                                 : answer_line(200, "ok");
}

/* Does it consume?  A spare is ready, too: else a rolling update would wait for it for ever. */
static struct answer *process_ready(smq_client *client)
{
    smq_health health = SMQ_HEALTH_INIT;
    smq_error err = SMQ_ERROR_INIT;

    if (smq_client_health(client, &health, &err) != SMQ_OK) {
        return answer_line(503, "%s", say_text(&err));
    }
    if (health.consumers == 0) {
        return answer_line(503, "no consumer runs");
    }
    if (health.status != SMQ_OK) {
        return answer_line(503, "%s", health.wrong);
    }
    if (health.consumers_slotless > health.consumers_standby) {
        return answer_line(503, "%s", health.slotless);
    }
    return health.consumers_slotless > 0 ? answer_line(200, "ok: %s", health.slotless)
                                         : answer_line(200, "ok");
}

static struct answer *process_metrics(smq_client *client)
{
    smq_error err = SMQ_ERROR_INIT;
    char *text = NULL;

    if (smq_metrics_text(client, NULL, &text, &err) != SMQ_OK) {
        return answer_failure(&err);
    }
    char *copy = say_copy(text);
    smq_free(text);
    return answer_new(200, "text/plain; version=0.0.4; charset=utf-8", copy, strlen(copy));
}

static struct answer *process_answer(const struct process *process,
                                     const struct port_request *request)
{
    const char *path = port_request_path(request);
    const struct guard_facts facts = {
        .host = port_request_header(request, "Host"),
        .origin = port_request_header(request, "Origin"),
        .fetch_site = port_request_header(request, "Sec-Fetch-Site"),
        .authorization = port_request_header(request, "Authorization"),
    };
    struct guard_caller caller;
    const enum guard_verdict verdict = guard_check(&caller, &process->guard, &facts);

    if (verdict == GUARD_BAD_HOST || verdict == GUARD_BAD_SITE) {
        return answer_problem(403, SMQ_DENIED,
                              "Host must be an IP address, localhost, or a name of --host");
    }
    if (verdict == GUARD_BAD_TOKEN) {
        return answer_problem(401, SMQ_DENIED, "this is not the token");
    }
    if (port_request_method(request) != PORT_GET) {
        struct answer *answer = answer_problem(405, SMQ_INVALID, "nothing can be changed here");
        answer->allow = "GET, HEAD";
        return answer;
    }
    if (strcmp(path, "/healthz") == 0) {
        return process_health(process->client);
    }
    if (strcmp(path, "/readyz") == 0) {
        return process_ready(process->client);
    }
    if (strcmp(path, "/metrics") != 0) {
        return answer_problem(404, SMQ_INVALID, "there are /metrics, /healthz and /readyz");
    }
    return caller.read
               ? process_metrics(process->client)
               : answer_problem(401, SMQ_DENIED, "give the token: Authorization: Bearer TOKEN");
}

static void process_handle(struct port_request *request, void *user)
{
    port_answer(request, process_answer(user, request));
}

enum exit_code process_begin(struct process **out, const struct listen *listen, smq_client *client,
                             bool quiet)
{
    struct address address;
    char text[ADDRESS_ROOM];

    *out = NULL;
    if (!listen->address) {
        return EXIT_DONE;
    }
    struct process *process = say_alloc(1, sizeof(*process));
    process->client = client;
    enum exit_code code = listen_read(&address, &process->guard, &process->token, listen);
    if (code == EXIT_DONE) {
        code = port_begin(
            &process->port,
            &(struct port_options){.address = address, .handle = process_handle, .user = process});
    }
    if (code != EXIT_DONE) {
        free(process->token);
        free(process);
        return code;
    }
    if (!quiet) {
        port_text(text, process->port);
        say("slotmq: listening on http://%s", text);
    }
    *out = process;
    return EXIT_DONE;
}

void process_end(struct process *process)
{
    if (process) {
        port_quiesce(process->port);
        port_end(process->port);
        free(process->token);
        free(process);
    }
}
