/* connect.c - the client of a verb, and what it says on standard error while it works. */
#include "cli/verb/connect.h"

#include <stdatomic.h>
#include <unistd.h>

#include "cli/text/say.h"
#include "cli/verb/look_flags.h"
#include "cli/verb/secrets.h"

/* Thread: smq:call. */
static void connect_print_event(const smq_event *event, void *user)
{
    (void) user;
    say("slotmq: %s: %s", event->id, event->text ? event->text : smq_status_text(event->status));
}

/* Before the first connection a failure is printed as the failure of the command, not as an event.
 */
static atomic_bool connect_done;

bool connect_says(struct connect_states *states, const smq_event *event)
{
    const bool back = event->kind == SMQ_EVENT_CONNECTED && states->lost > 0;
    const bool again = event->kind == SMQ_EVENT_FENCED && states->fenced;

    states->lost += event->kind == SMQ_EVENT_DISCONNECTED ? 1 : 0;
    states->lost -= back ? 1 : 0;
    states->fenced =
        event->kind == SMQ_EVENT_FENCED || (states->fenced && event->slots_gained == 0);
    return back || event->kind == SMQ_EVENT_RESUMED ||
           (event->kind == SMQ_EVENT_ASSIGNED && states->terminal) ||
           (event->level <= SMQ_LEVEL_WARN && !again);
}

/* Print what was lost, refused, late or given up, and the end of such a state; `user` are the
 * states.  Thread: smq:call. */
static void connect_print_state(const smq_event *event, void *user)
{
    if (atomic_load(&connect_done) && connect_says(user, event)) {
        connect_print_event(event, NULL);
    }
}

static smq_level connect_event_level(int64_t verbose)
{
    if (verbose == 1) {
        return SMQ_LEVEL_INFO;
    }
    return verbose == 2 ? SMQ_LEVEL_DEBUG : SMQ_LEVEL_TRACE;
}

enum exit_code connect_check(const struct command *command)
{
    const char *redis = command->global.client.redis;

    if (!redis || redis[0] == '\0') {
        return say_error(EXIT_USAGE,
                         "no Redis given: use -r host:port,... or the variable SLOTMQ_REDIS");
    }
    return secrets_check();
}

/* Of a session with a fleet in Redis; smq_client_new() takes no other. */
enum { SESSION_MIN_MS = 1000, SESSION_MAX_MS = 60000 };

static int64_t connect_session_ms(const smq_client_options *options, int64_t wanted_ms)
{
    if (options->zookeeper) {
        return wanted_ms;
    }
    if (wanted_ms < SESSION_MIN_MS) {
        return SESSION_MIN_MS;
    }
    return wanted_ms > SESSION_MAX_MS ? SESSION_MAX_MS : wanted_ms;
}

/* Makes the time-outs that were not given such that all that a verb may have to wait for, one after
 * the other, fits into this time: to connect, for two or three replies, and for the fleet.  For one
 * in Redis it waits a second at least. */
static void connect_limit(smq_client_options *options, int64_t timeout_ms)
{
    if (options->connect_timeout_ms == 0) {
        options->connect_timeout_ms = timeout_ms / 4;
    }
    if (options->request_timeout_ms == 0) {
        options->request_timeout_ms = timeout_ms / 5;
    }
    if (options->session_timeout_ms == 0) {
        options->session_timeout_ms = connect_session_ms(options, timeout_ms / 3);
    }
}

smq_status connect_open(smq_client **out, const struct command *command, smq_error *err)
{
    static struct connect_states states;
    const struct global_options *global = &command->global;
    smq_client_options options = global->client;
    smq_status status;

    if (options.zookeeper && options.zookeeper[0] == '\0') {
        options.zookeeper = NULL;
    }
    if (command->verb->looks) {
        const struct look *look = command->options;
        if (look->timeout.value > 0) {
            connect_limit(&options, look->timeout.value);
        }
    }
    secrets_add(&options);
    if (global->verbose > 0) {
        options.event_level = connect_event_level(global->verbose);
    }
    if (options.event_level != SMQ_LEVEL_DEFAULT) {
        options.event = connect_print_event;
    } else if (command->verb->says_states) {
        states.terminal = isatty(STDERR_FILENO);
        options.event = connect_print_state;
        options.event_user = &states;
        options.event_level = global->quiet ? SMQ_LEVEL_ERROR : SMQ_LEVEL_DEFAULT;
    }
    status = smq_client_new(out, &options, err);
    if (status == SMQ_OK) {
        atomic_store(&connect_done, true);
    }
    return status;
}

enum exit_code connect_client(smq_client **out, const struct command *command)
{
    smq_error err;
    enum exit_code code = connect_check(command);

    if (code != EXIT_DONE) {
        return code;
    }
    return connect_open(out, command, &err) == SMQ_OK ? EXIT_DONE : say_failure(&err);
}

enum exit_code connect_run(const struct command *command, verb_connected_fn *run)
{
    smq_client *client = NULL;
    enum exit_code code = connect_client(&client, command);

    if (code == EXIT_DONE) {
        code = run(client, command);
    }
    smq_client_free(client);
    return code;
}
