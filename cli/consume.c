/* consume.c - claim messages and print them, or run a program for each.
 *
 * Thread: main; the handlers are in consume_print.c and consume_exec.c, and what ends programs
 * after a crash is in consume_guard.c. */
#include "consume.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "connect.h"
#include "option.h"
#include "output.h"
#include "say.h"
#include "signals.h"
#include "topic.h"
#ifdef SLOTMQ_SERVE
#include "serve/process.h"
#endif

/* Poll interval for "is the topic empty?": initial and maximum. */
enum { POLL_FIRST_MS = 100, POLL_LAST_MS = 1000 };

/* How much longer than its programs the consumer may drain, so that the messages of programs that
 * were killed are given back. */
enum { DRAIN_GRACE_MS = 3000 };

struct consume_options {
    smq_consumer_options consumer; /* its drain_timeout_ms is never 0 */
    bool exit_when_empty, pass_credentials;
    const char *delimiter;
#ifdef SLOTMQ_SERVE
    struct listen listen;
#endif
};

#define CONSUME(member) offsetof(struct consume_options, member)
#define CONSUMER(flag, field, what)                                                                \
    .name = (flag), .type = FLAG_OPTION, .offset = CONSUME(consumer),                              \
    .set = SMQ_OPTION_SET_CONSUMER, .option = (field), .operand = (what)

static const struct flag consume_flags[] = {
    {CONSUMER("threads", "threads", "N")},
    {CONSUMER("count", "max_messages", "N")},
    {.name = "exit-when-empty",
     .type = FLAG_SWITCH,
     .offset = CONSUME(exit_when_empty),
     .help = "end when nothing is waiting, claimed or resting"},
    {.name = "delimiter",
     .type = FLAG_TEXT,
     .offset = CONSUME(delimiter),
     .operand = "BYTE",
     .help = "what ends a body on standard output, as a character or as \\0, \\t or \\x1e; default "
             "a newline"},
    {CONSUMER("batch", "batch_size", "N")},
    {CONSUMER("max-in-flight", "max_in_flight", "N")},
    {CONSUMER("push-slots", "push_slots", "N")},
    {CONSUMER("rate", "rate_per_s", "N")},
    {CONSUMER("handler-timeout", "handler_timeout_ms", "TIME"),
     .help = "how long a message may be handled; then the slot continues without it, and its "
             "program gets SIGTERM"},
    {CONSUMER("drain-timeout", "drain_timeout_ms", "TIME"),
     .help = "how long handlers may take to end after a signal, or when a slot moves"},
    {.name = "pass-credentials",
     .type = FLAG_SWITCH,
     .offset = CONSUME(pass_credentials),
     .help = "let CMD have the variables that hold passwords, too"},
#ifdef SLOTMQ_SERVE
    LISTEN_FLAGS(struct consume_options,
                 "open a port with /metrics, /healthz and /readyz of this process"),
#endif
};

static void consume_init(void *options)
{
    struct consume_options *flags = options;

    *flags = (struct consume_options){.consumer = SMQ_CONSUMER_OPTIONS_INIT};
    option_apply_default(&flags->consumer, SMQ_OPTION_SET_CONSUMER, "drain_timeout_ms");
}

/* === Waiting for the end ================================================ */

struct poll {
    unsigned long long handled; /* as many handlers had returned at the last poll */
    int64_t interval_ms;        /* until the next one */
};

/* Is nothing left?  Redis is asked only when no handler has returned since the last poll.  While
 * it cannot be reached the answer is no, because that does not end the consumer; what would end it
 * is a failure of the command. */
static bool consume_is_empty(struct consume *consume, struct poll *poll)
{
    const unsigned long long handled = atomic_load(&consume->handled);
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    if (handled != poll->handled) {
        *poll = (struct poll){.handled = handled, .interval_ms = POLL_FIRST_MS};
        return false;
    }
    const smq_status status =
        smq_topic_stats(consume->client, consume->command->words[0], &stats, &err);
    if (status == SMQ_OK && stats.waiting + stats.claimed + stats.resting == 0) {
        return true;
    }
    const smq_class class = smq_status_class(status);
    if (class == SMQ_CLASS_USAGE || class == SMQ_CLASS_FATAL) {
        consume_fail(consume, exit_code_of(status), "%s", err.text);
    }
    const int64_t doubled = 2 * poll->interval_ms;
    poll->interval_ms = doubled < POLL_LAST_MS ? doubled : POLL_LAST_MS;
    return false;
}

/* Has the consumer begun to stop?  Then only its end is left to wait for. */
static bool consume_is_ending(struct consume *consume)
{
    const struct consume_options *flags = consume->command->options;
    const unsigned long long handled = atomic_load(&consume->handled);

    return signals_came() || consume_has_failed(consume) ||
           (flags->consumer.max_messages > 0 &&
            handled >= (unsigned long long) flags->consumer.max_messages);
}

/* Waits until the consumer ends by itself, by a signal, by a failure or because nothing is left.
 * Gives what smq_consumer_wait() says at the end; TIMED_OUT: handlers still run, or their answers
 * could not be stored. */
static smq_status consume_wait_for_end(struct consume *consume, smq_error *err)
{
    const struct consume_options *flags = consume->command->options;
    struct poll poll = {.interval_ms = POLL_FIRST_MS};

    while (!consume_is_ending(consume)) {
        const smq_status status = smq_consumer_wait(
            consume->consumer, flags->exit_when_empty ? poll.interval_ms : SMQ_FOREVER, err);
        if (status != SMQ_TIMED_OUT) {
            return status;
        }
        if (flags->exit_when_empty && consume_is_empty(consume, &poll)) {
            smq_consumer_stop(consume->consumer);
            break;
        }
    }
    return smq_consumer_wait(consume->consumer, SMQ_FOREVER, err);
}

/* Programs can be killed; a handler that waits for the reader of our output cannot. */
static void consume_abandon(const struct consume *consume, enum exit_code code)
{
    if (consume->command->tail) {
        consume_kill_programs();
        return;
    }
    _exit(code);
}

/* Prints why the consumer ended, unless it ended well.  `late`: the time to drain has ended. */
static enum exit_code consume_report_end(struct consume *consume, bool late, const smq_error *err)
{
    if (consume_has_failed(consume)) {
        return say_error(consume->failure.code, "%s", consume->failure.text);
    }
    if (late) {
        return say_error(
            EXIT_TEMPORARY,
            "the drain time has ended; messages that were not done are delivered again");
    }
    return err->status == SMQ_OK ? EXIT_DONE : say_failure(err);
}

static enum exit_code consume_await_consumer(struct consume *consume)
{
    smq_error err = SMQ_ERROR_INIT;
    const smq_status status = consume_wait_for_end(consume, &err);
    const bool late = status == SMQ_TIMED_OUT || consume_programs_are_killed();

    if (status == SMQ_OK) {
        err.status = SMQ_OK; /* of a wait before the last one */
    }
    const enum exit_code code = consume_report_end(consume, late, &err);
    if (status == SMQ_TIMED_OUT) {
        consume_abandon(consume, code);
    }
    return code;
}

/* === The verb =========================================================== */

/* How long programs may run after the consumer begins to stop.  The longest time to drain leaves
 * them less than that, because the consumer has no more. */
static int64_t consume_drain_ms(const struct consume_options *flags)
{
    smq_consumer_options scratch = SMQ_CONSUMER_OPTIONS_INIT;
    const int64_t given_ms = flags->consumer.drain_timeout_ms;

    if (given_ms == SMQ_NONE) {
        return 0;
    }
    return option_takes(&scratch, SMQ_OPTION_SET_CONSUMER, "drain_timeout_ms",
                        given_ms + DRAIN_GRACE_MS)
               ? given_ms
               : given_ms - DRAIN_GRACE_MS;
}

static smq_consumer_options consume_consumer_options(struct consume *consume)
{
    const struct consume_options *flags = consume->command->options;
    smq_consumer_options options = flags->consumer;

    options.topic = consume->command->words[0];
    options.handler = consume->command->tail ? consume_run : consume_print;
    options.user = consume;
    if (consume->command->tail) {
        options.drain_timeout_ms = consume->drain_ms + DRAIN_GRACE_MS;
    }
    return options;
}

static enum exit_code consume_run_consumer(struct consume *consume)
{
    const smq_consumer_options options = consume_consumer_options(consume);
    enum exit_code code = EXIT_DONE;
    smq_error err;

    if (smq_consumer_new(&consume->consumer, consume->client, &options, &err) != SMQ_OK) {
        return topic_say_failure(consume->client, options.topic, &err);
    }
    signals_watch(consume->consumer);
    if (!signals_came()) {
        code = smq_consumer_start(consume->consumer, &err) == SMQ_OK
                   ? consume_await_consumer(consume)
                   : say_failure(&err);
    }
    signals_watch(NULL);
    smq_consumer_free(consume->consumer);
    return code;
}

/* While the consumer runs, others can ask how it is. */
static enum exit_code consume_run_consumer_with_port(struct consume *consume)
{
#ifdef SLOTMQ_SERVE
    const struct consume_options *flags = consume->command->options;
    struct process *process = NULL;
    enum exit_code code =
        process_begin(&process, &flags->listen, consume->client, consume->command->global.quiet);

    if (code == EXIT_DONE) {
        code = consume_run_consumer(consume);
    }
    process_end(process);
    return code;
#else
    return consume_run_consumer(consume);
#endif
}

static enum exit_code consume_check_flags(int *delimiter, const struct command *command)
{
    const struct consume_options *flags = command->options;

    if (flags->delimiter && (command->tail || command->global.json)) {
        return say_error(EXIT_USAGE, "--delimiter is for bodies on standard output; leave it out "
                                     "with --json, and when a program is run");
    }
    if (!command->tail) {
        return output_delimiter(delimiter, flags->delimiter);
    }
    if (command->global.json) {
        return say_error(EXIT_USAGE, "--json is for messages on standard output; leave it out "
                                     "when a program is run");
    }
    return consume_check_program(command->tail[0]);
}

static enum exit_code consume_verb_run(const struct command *command)
{
    const struct consume_options *flags = command->options;
    struct consume consume = {
        .command = command,
        .pass_credentials = flags->pass_credentials,
        .drain_ms = consume_drain_ms(flags),
        .failure = {.lock = PTHREAD_MUTEX_INITIALIZER},
    };
    enum exit_code code = consume_check_flags(&consume.delimiter, command);

    if (code != EXIT_DONE) {
        return code;
    }
    signals_catch();
    if (command->tail) {
        code = consume_guard_start();
    }
    if (code == EXIT_DONE) {
        code = connect_client(&consume.client, command);
    }
    if (code == EXIT_DONE && !signals_came()) {
        code = consume_run_consumer_with_port(&consume);
    }
    smq_client_free(consume.client);
    consume_guard_end();
    return code;
}

const struct verb consume_verb = {
    .name = "consume",
    .operands = "NAME",
    .summary = "print messages, or run a program for each",
    .text = "Without CMD each body is printed as a line on standard output, or with --json as an "
            "object; a message is done when its line was written.\n\n"
            "With CMD, CMD is run for each "
            "message, with the body on its standard input and with SLOTMQ_TOPIC, SLOTMQ_SLOT, "
            "SLOTMQ_TOKEN, SLOTMQ_ATTEMPT, SLOTMQ_PRIORITY, SLOTMQ_KEY and SLOTMQ_ID in its "
            "environment. Variables of the environment that hold a password are left out. Exit "
            "code 0 means done, 65 rejects the message, and any other code or a "
            "signal retries it.\n\n"
            "On SIGTERM, SIGINT or SIGHUP it claims no more messages, "
            "finishes those that are being handled, and ends with exit code 0.",
    .flags = consume_flags,
    .flag_count = sizeof(consume_flags) / sizeof(consume_flags[0]),
    .options_size = sizeof(struct consume_options),
    .init = consume_init,
    .min_words = 1,
    .max_words = 1,
    .takes_program = true,
    .says_states = true,
    .run = consume_verb_run,
};
