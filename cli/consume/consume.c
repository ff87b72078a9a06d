/* consume.c - claim messages and print them, or run a program for each.
 *
 * Thread: main; the handlers are in consume_print.c and consume_exec.c, and what ends programs
 * after a crash is in consume_guard.c. */
#include "cli/consume/consume.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/signals.h"
#include "cli/topic/topic.h"
#include "cli/verb/connect.h"
#include "cli/verb/option.h"
#ifdef SLOTMQ_SERVE
#include "cli/http/process.h"
#endif

/* Poll interval for "is the topic empty?": initial and maximum. */
enum { POLL_FIRST_MS = 100, POLL_LAST_MS = 1000 };

/* How much longer than its programs the consumer may drain, so that the messages of programs that
 * were killed are given back. */
enum { DRAIN_GRACE_MS = 3000 };

enum { CONSUME_TOPICS_MAX = 100 };

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
    SWITCH_FLAG("exit-when-empty", CONSUME(exit_when_empty),
                "end when nothing is waiting, claimed or resting"),
    TEXT_FLAG(
        "delimiter", CONSUME(delimiter), "BYTE",
        "what ends a body on standard output, as a character or as \\0, \\t or \\x1e; default "
        "a newline"),
    {CONSUMER("batch", "batch_size", "N")},
    {CONSUMER("max-in-flight", "max_in_flight", "N")},
    {CONSUMER("push-slots", "push_slots", "N")},
    {CONSUMER("rate", "rate_per_s", "N")},
    {CONSUMER("handler-timeout", "handler_timeout_ms", "TIME"),
     .help = "how long a message may be handled; then the slot continues without it, and its "
             "program gets SIGTERM"},
    {CONSUMER("drain-timeout", "drain_timeout_ms", "TIME"),
     .help = "how long handlers may take to end after a signal, or when a slot moves"},
    SWITCH_FLAG("pass-credentials", CONSUME(pass_credentials),
                "let CMD have the variables that hold passwords, too"),
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

/* Holds no topic a message any more?  While Redis cannot be reached the answer is no, because that
 * does not end the consumers; what would end them is a failure of the command. */
static bool consume_all_are_empty(struct consume *consume)
{
    for (size_t i = 0; i < consume->command->word_count; i++) {
        smq_stats stats = SMQ_STATS_INIT;
        smq_error err;
        const smq_status status =
            smq_topic_stats(consume->client, consume->command->words[i], &stats, &err);
        const smq_class class = smq_status_class(status);

        if (class == SMQ_CLASS_USAGE || class == SMQ_CLASS_FATAL) {
            consume_fail(consume, exit_code_of(status), "%s", err.text);
        }
        if (status != SMQ_OK || stats.waiting + stats.claimed + stats.resting != 0) {
            return false;
        }
    }
    return true;
}

/* Is nothing left?  Redis is asked only when no handler has returned since the last poll. */
static bool consume_is_empty(struct consume *consume, struct poll *poll)
{
    const unsigned long long handled = atomic_load(&consume->handled);

    if (handled != poll->handled) {
        *poll = (struct poll){.handled = handled, .interval_ms = POLL_FIRST_MS};
        return false;
    }
    if (consume_all_are_empty(consume)) {
        return true;
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

/* Waits for one consumer to end, each of several for a part of the time.  TIMED_OUT: all run. */
static smq_status consume_wait_for_one(struct consume *consume, int64_t timeout_ms, smq_error *err)
{
    const size_t count = consume->command->word_count;
    smq_status status = SMQ_TIMED_OUT;

    if (count > 1 && timeout_ms == SMQ_FOREVER) {
        timeout_ms = POLL_LAST_MS;
    }
    for (size_t i = 0; i < count && status == SMQ_TIMED_OUT; i++) {
        status = smq_consumer_wait(consume->consumers[i],
                                   count > 1 ? timeout_ms / (int64_t) count + 1 : timeout_ms, err);
    }
    return status;
}

/* Waits for the end of all consumers, which stop.  Gives the first failure of one that has not
 * timed out, or else TIMED_OUT: handlers still run, or their answers could not be stored. */
static smq_status consume_wait_for_all(struct consume *consume, smq_error *err)
{
    smq_status result = SMQ_OK;

    for (size_t i = 0; i < consume->command->word_count; i++) {
        smq_error one = SMQ_ERROR_INIT;
        const smq_status status = smq_consumer_wait(consume->consumers[i], SMQ_FOREVER, &one);

        if (status != SMQ_OK && (result == SMQ_OK || result == SMQ_TIMED_OUT)) {
            result = status;
            *err = one;
        }
    }
    return result;
}

/* Waits until one of the consumers ends by itself, or all by a signal, by a failure or because
 * nothing is left. */
static smq_status consume_wait_for_end(struct consume *consume, smq_error *err)
{
    const struct consume_options *flags = consume->command->options;
    struct poll poll = {.interval_ms = POLL_FIRST_MS};

    while (!consume_is_ending(consume)) {
        const smq_status status = consume_wait_for_one(
            consume, flags->exit_when_empty ? poll.interval_ms : SMQ_FOREVER, err);
        if (status != SMQ_TIMED_OUT ||
            (flags->exit_when_empty && consume_is_empty(consume, &poll))) {
            consume_stop(consume);
            break;
        }
    }
    return consume_wait_for_all(consume, err);
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

static enum exit_code consume_await_consumers(struct consume *consume)
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

static smq_consumer_options consume_consumer_options(struct consume *consume, size_t topic)
{
    const struct consume_options *flags = consume->command->options;
    smq_consumer_options options = flags->consumer;

    options.topic = consume->command->words[topic];
    options.limit = consume->limit;
    options.handler = consume->command->tail ? consume_run : consume_print;
    options.user = consume;
    if (consume->command->tail) {
        options.drain_timeout_ms = consume->drain_ms + DRAIN_GRACE_MS;
    }
    return options;
}

/* Several topics share the threads of one: each of their consumers has as many, and all together
 * have no more messages. */
static enum exit_code consume_make_limit(struct consume *consume)
{
    const struct consume_options *flags = consume->command->options;
    smq_consumer_options options = flags->consumer;
    smq_error err;

    if (consume->command->word_count == 1) {
        return EXIT_DONE;
    }
    option_apply_default(&options, SMQ_OPTION_SET_CONSUMER, "threads");
    return smq_limit_new(&consume->limit, consume->client, options.threads, &err) == SMQ_OK
               ? EXIT_DONE
               : say_failure(&err);
}

/* Who forgets the -- before a program reads it as a topic. */
static enum exit_code consume_say_no_consumer(const struct consume *consume, size_t topic,
                                              smq_error *err)
{
    const struct command *command = consume->command;

    if (err->status == SMQ_NO_TOPIC && topic > 0 && !command->tail) {
        return say_error(exit_code_of(err->status), "%s; a program comes after --", err->text);
    }
    return topic_say_failure(consume->client, command->words[topic], err);
}

static enum exit_code consume_make_consumers(struct consume *consume)
{
    enum exit_code code = consume_make_limit(consume);
    smq_error err;

    for (size_t i = 0; i < consume->command->word_count && code == EXIT_DONE; i++) {
        const smq_consumer_options options = consume_consumer_options(consume, i);

        if (smq_consumer_new(&consume->consumers[i], consume->client, &options, &err) != SMQ_OK) {
            code = consume_say_no_consumer(consume, i, &err);
        }
    }
    return code;
}

static enum exit_code consume_start_consumers(struct consume *consume)
{
    smq_error err;

    for (size_t i = 0; i < consume->command->word_count; i++) {
        if (smq_consumer_start(consume->consumers[i], &err) != SMQ_OK) {
            return say_failure(&err);
        }
    }
    return EXIT_DONE;
}

static enum exit_code consume_start_and_await(struct consume *consume)
{
    const enum exit_code code = consume_start_consumers(consume);

    return code == EXIT_DONE ? consume_await_consumers(consume) : code;
}

static enum exit_code consume_run_consumers(struct consume *consume)
{
    const size_t count = consume->command->word_count;
    enum exit_code code;

    consume->consumers = say_alloc(count + 1, sizeof(smq_consumer *));
    code = consume_make_consumers(consume);
    if (code == EXIT_DONE) {
        signals_watch(consume->consumers);
    }
    if (code == EXIT_DONE && !signals_came()) {
        code = consume_start_and_await(consume);
    }
    signals_watch(NULL);
    for (size_t i = 0; i < count; i++) {
        smq_consumer_free(consume->consumers[i]);
    }
    smq_limit_free(consume->limit);
    free(consume->consumers);
    return code;
}

/* While the consumers run, others can ask how it is. */
static enum exit_code consume_run_with_port(struct consume *consume)
{
#ifdef SLOTMQ_SERVE
    const struct consume_options *flags = consume->command->options;
    struct process *process = NULL;
    enum exit_code code =
        process_begin(&process, &flags->listen, consume->client, consume->command->global.quiet);

    if (code == EXIT_DONE) {
        code = consume_run_consumers(consume);
    }
    process_end(process);
    return code;
#else
    return consume_run_consumers(consume);
#endif
}

static enum exit_code consume_check_flags(int *delimiter, const struct command *command)
{
    const struct consume_options *flags = command->options;

    if (flags->consumer.max_messages > 0 && command->word_count > 1) {
        return say_error(EXIT_USAGE, "--count is for one topic; name one, or leave it out");
    }
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
        code = consume_run_with_port(&consume);
    }
    smq_client_free(consume.client);
    consume_guard_end();
    return code;
}

const struct verb consume_verb = {
    .name = "consume",
    .operands = "NAME...",
    .summary = "print messages, or run a program for each",
    .text = "Several topics take turns, and have --threads messages in work together.\n\n"
            "Without CMD each body is printed as a line on standard output, or with --json as an "
            "object; a message is done when its line was written.\n\n"
            "With CMD, CMD is run for each "
            "message, with the body on its standard input and with SLOTMQ_TOPIC, SLOTMQ_SLOT, "
            "SLOTMQ_TOKEN, SLOTMQ_ATTEMPT, SLOTMQ_PRIORITY, SLOTMQ_KEY and SLOTMQ_ID in its "
            "environment. Variables of the environment that hold a password are left out. Exit "
            "code 0 means done, 65 rejects the message, and any other code or a "
            "signal retries it.\n\n"
            "On SIGTERM, SIGINT or SIGHUP it claims no more messages, "
            "finishes those that are being handled, and ends with exit code 0.",
    VERB_FLAGS(consume_flags, struct consume_options),
    .init = consume_init,
    .min_words = 1,
    .max_words = CONSUME_TOPICS_MAX,
    .takes_program = true,
    .says_states = true,
    .run = consume_verb_run,
};
