/* send.c - one message from the command line or of a file, or one a line from standard input. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/message/message_line.h"
#include "cli/message/nth_field.h"
#include "cli/message/source.h"
#include "cli/message/tally.h"
#include "cli/message/when_flags.h"
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/signals.h"
#include "cli/verb/connect.h"
#include "cli/verb/headers.h"
#include "cli/verb/progress.h"

struct send_options {
    const char *key, *id, *file, *body_file, *delimiter;
    bool restore;
    struct flag_value key_field, id_field, skip;
    struct when when;
    struct headers headers;
    smq_producer_options producer;
};

#define SEND(member) offsetof(struct send_options, member)

static const struct flag send_flags[] = {
    TEXT_FLAG("key", SEND(key), "KEY",
              "messages of one key are handled one at a time; default: the body"),
    NUMBER_FLAG("key-field", SEND(key_field),
                "the N-th white-space separated field of the body is the key"),
    TEXT_FLAG("id", SEND(id), "ID",
              "layout keyed: what a later send merges with; default: a new one"),
    NUMBER_FLAG("id-field", SEND(id_field),
                "layout keyed: the N-th white-space separated field of the body is the id"),
    WHEN_FLAGS(struct send_options),
    WHEN_OWN(struct send_options, "ttl", "ttl_ms", "TIME", "layout keyed: time to live"),
    WHEN_OWN(struct send_options, "retries", "max_retries", "N",
             "layout keyed: retries before the message is dead"),
    {.name = "header",
     .letter = 'H',
     .type = FLAG_HEADER,
     .offset = SEND(headers),
     .operand = "NAME=VALUE",
     .help = "layout keyed: a header of the message; may be given several times"},
    {.name = "replicas",
     .type = FLAG_OPTION,
     .offset = SEND(producer),
     .operand = "N",
     .set = SMQ_OPTION_SET_PRODUCER,
     .option = "replicas"},
    TEXT_FLAG("file", SEND(file), "FILE", "a message for each line of FILE; - is standard input"),
    TEXT_FLAG("delimiter", SEND(delimiter), "BYTE",
              "what ends a line, as a character or as \\0, \\t or \\x1e; default a newline"),
    NUMBER_FLAG("skip", SEND(skip), "leave out the first N lines, which were sent before"),
    TEXT_FLAG("body-file", SEND(body_file), "FILE",
              "the whole of FILE is one body; - is standard input"),
    SWITCH_FLAG("restore", SEND(restore),
                "with --json: times and attempts as they were, not as those of new messages"),
};

/* One run of the verb.  Lines are counted from 1; the body of the command line has number 0. */
struct sender {
    const struct command *command;
    const struct send_options *flags;
    smq_producer *producer;
    const char *topic;
    struct topic_facts topic_facts;
    struct message_rules rules; /* of lines that are JSON */
    struct source source;
    struct progress progress;
    char id[SMQ_ID_SIZE]; /* that the library made for the only body, or "" */
    struct tally tally;
};

/* === The message ======================================================== */

static void send_init(void *options)
{
    struct send_options *flags = options;

    when_init(&flags->when);
    flags->producer = (smq_producer_options) SMQ_PRODUCER_OPTIONS_INIT;
}

/* The flag of layout keyed that is given; NULL: none. */
static const char *send_keyed_flag(const struct send_options *flags)
{
    if (flags->id) {
        return "--id";
    }
    if (flags->id_field.given) {
        return "--id-field";
    }
    if (flags->when.own.ttl_ms != 0) {
        return "--ttl";
    }
    if (flags->headers.count > 0) {
        return "--header";
    }
    return flags->when.own.max_retries != 0 ? "--retries" : NULL;
}

/* Is there one message, and not one for each line? */
static bool send_is_single(const struct command *command)
{
    const struct send_options *flags = command->options;

    return command->word_count > 1 || flags->body_file;
}

/* Is each line a JSON object? */
static bool send_is_json(const struct command *command)
{
    return command->global.json && !send_is_single(command);
}

/* An option that the topic does not have is refused, whatever its value. */
static enum exit_code send_check_options(const struct command *command,
                                         const struct topic_facts *topic)
{
    const struct send_options *flags = command->options;
    const char *name = command->words[0];
    const char *keyed = send_keyed_flag(flags);
    struct when when = flags->when;

    if (keyed && topic->layout != SMQ_LAYOUT_KEYED) {
        return say_error(EXIT_USAGE, "topic %s has layout inline: it has no %s", name, keyed);
    }
    if (when.own.delay_ms == SMQ_NONE) {
        when.own.delay_ms = 0; /* topics of every type take what is due at once */
    }
    return when_check(&when, name, topic);
}

static smq_message send_make_message(const struct send_options *flags, const char *body,
                                     size_t size)
{
    smq_message message = SMQ_MESSAGE_INIT;

    message.body = (smq_bytes){size > 0 ? body : NULL, size};
    if (flags->key) {
        message.key = smq_text(flags->key);
    }
    if (flags->id) {
        message.id = smq_text(flags->id);
    }
    if (flags->headers.count > 0) {
        message.headers = flags->headers.header;
        message.header_count = flags->headers.count;
    }
    when_apply(&message, &flags->when);
    return message;
}

/* === Sending ============================================================ */

/* The field of a line that --key-field or --id-field names; false: there is none, and the line is
 * refused. */
static bool send_take_field(const void **start, size_t *size, struct sender *sender, uint64_t line,
                            const struct flag_value *number, const char *what, const char *body,
                            size_t body_size)
{
    char text[96];

    if (!number->given) {
        return true;
    }
    const struct nth_field field = nth_field(body, body_size, (size_t) number->value);
    if (field.size == 0) {
        snprintf(text, sizeof(text), "there is no such field to be the %s; see --%s-field", what,
                 what);
        tally_failed(&sender->tally, line, EXIT_DATA, text);
        return false;
    }
    *start = field.start;
    *size = field.size;
    return true;
}

static bool send_check_body(struct sender *sender, uint64_t line, size_t size)
{
    if (size > 0 || sender->topic_facts.layout == SMQ_LAYOUT_KEYED) {
        return true;
    }
    tally_failed(&sender->tally, line, EXIT_DATA,
                 "an empty body cannot be sent in layout inline; give at least one byte");
    return false;
}

/* The message of a body, checked as far as the library does not; false: refused. */
static bool send_prepare(smq_message *out, struct sender *sender, uint64_t line, const char *body,
                         size_t size)
{
    const struct send_options *flags = sender->flags;

    *out = send_make_message(flags, body, size);
    return send_check_body(sender, line, size) &&
           send_take_field(&out->key.data, &out->key.len, sender, line, &flags->key_field, "key",
                           body, size) &&
           send_take_field(&out->id.data, &out->id.len, sender, line, &flags->id_field, "id", body,
                           size);
}

/* The only body; waits for its receipt. */
static void send_body(struct sender *sender, const char *body, size_t size)
{
    smq_receipt receipt = {.status = SMQ_OK};
    smq_message message;
    smq_error err;

    if (!send_prepare(&message, sender, 0, body, size)) {
        return;
    }
    if (smq_send(sender->producer, sender->topic, &message, &receipt, &err) != SMQ_OK) {
        tally_failed(&sender->tally, 0, exit_code_of(err.status), err.text);
        return;
    }
    tally_count(&sender->tally, &receipt);
    memcpy(sender->id, receipt.id, sizeof(sender->id));
}

/* Does not wait for the receipt. */
static void send_text_line(struct sender *sender, uint64_t line, const char *body, size_t size)
{
    smq_message message;

    if (send_prepare(&message, sender, line, body, size)) {
        tally_send(&sender->tally, line, sender->producer, sender->topic, &message);
    }
}

static void send_json_line(struct sender *sender, uint64_t line, const char *text, size_t size)
{
    char error[MEMBERS_ERROR];
    struct message_line read;

    if (!message_line_read(&read, error, text, size, &sender->rules, moment_wall_ms())) {
        tally_failed(&sender->tally, line, EXIT_DATA, error);
    } else if (!send_check_body(sender, line, read.message.body.len)) {
        ; /* it was counted */
    } else if (sender->rules.restore) {
        tally_restore(&sender->tally, line, sender->producer, sender->topic, &read.copy);
    } else {
        tally_send(&sender->tally, line, sender->producer, sender->topic, &read.message);
    }
    message_line_fini(&read);
}

/* The most bytes that a line may have. */
static size_t send_line_most(const struct sender *sender)
{
    return sender->rules.topic ? message_line_most(sender->topic_facts.max_body)
                               : (size_t) sender->topic_facts.max_body;
}

/* The input has no more lines: why, if that is a failure. */
static void send_end_of_lines(struct sender *sender, enum source_result why, uint64_t line)
{
    const int error = errno;
    char text[256];

    if (why == SOURCE_INTERRUPTED) {
        tally_failed(&sender->tally, line, EXIT_INTERRUPTED, "interrupted before it was sent");
    } else if (why == SOURCE_TOO_LONG) {
        snprintf(text, sizeof(text), "it is longer than %" PRId64 " bytes, %s of topic %s",
                 (int64_t) send_line_most(sender),
                 sender->rules.topic ? "too long for the max_body" : "which is the max_body",
                 sender->topic);
        tally_failed(&sender->tally, line, EXIT_DATA, text);
    } else if (why == SOURCE_FAILED) {
        const enum exit_code code = line > 1 ? EXIT_IO : EXIT_NO_INPUT;
        snprintf(text, sizeof(text), "cannot read %s: %s", sender->source.name, strerror(error));
        tally_failed(&sender->tally, line, error == ENOMEM ? EXIT_TEMPORARY : code, text);
    }
}

/* Said once: what most people who send such a file do not want. */
static void send_say_carriage_return(const struct sender *sender, uint64_t line)
{
    if (!sender->command->global.quiet) {
        say("line %" PRIu64 " of %s ends in CR LF, and so may others: the CR is a part of the "
            "body; tr -d '\\r' removes it",
            line, sender->source.name);
    }
}

/* The whole file is one message. */
static void send_file(struct sender *sender)
{
    const char *body = NULL;
    size_t size = 0;

    sender->source.delimiter = SOURCE_WHOLE;
    const enum source_result result =
        source_line(&sender->source, send_line_most(sender), &body, &size);
    if (result == SOURCE_LINE || result == SOURCE_END) {
        send_body(sender, body, size);
    } else {
        send_end_of_lines(sender, result, 0);
    }
}

static void send_line(struct sender *sender, uint64_t number, const char *line, size_t size)
{
    if (sender->rules.topic) {
        send_json_line(sender, number, line, size);
    } else {
        send_text_line(sender, number, line, size);
    }
}

/* Each line is a message; stops at the first that fails. */
static void send_lines(struct sender *sender)
{
    struct source *source = &sender->source;
    enum source_result result = SOURCE_LINE;
    const char *line = NULL;
    size_t size = 0;
    uint64_t number = 0;
    const uint64_t skip = (uint64_t) sender->flags->skip.value;
    const bool is_text = !sender->rules.topic && source->delimiter == '\n';
    bool warned = false;

    signals_catch();
    if (isatty(source->fd) && !sender->command->global.quiet) {
        say("reading messages from the terminal, one a line; Ctrl-D ends");
    }
    while (result == SOURCE_LINE && !tally_has_failed(&sender->tally)) {
        const size_t most = number < skip ? SIZE_MAX : send_line_most(sender);
        result = signals_came() ? SOURCE_INTERRUPTED : source_line(source, most, &line, &size);
        number++;
        if (result != SOURCE_LINE) {
            send_end_of_lines(sender, result, number);
            break;
        }
        if (!warned && is_text && size > 0 && line[size - 1] == '\r') {
            send_say_carriage_return(sender, number);
            warned = true;
        }
        if (number > skip) {
            send_line(sender, number, line, size);
        }
        progress_show(&sender->progress, source->taken, source->size, number);
    }
}

/* === The end ============================================================ */

/* Exactly one line on failure: which message, why, and what was done before. */
static enum exit_code send_report(struct sender *sender)
{
    struct tally *tally = &sender->tally;
    char counts[TALLY_COUNTS_SIZE];
    char more[TALLY_CONTINUE_SIZE];

    tally_counts(counts, tally, "sent");
    if (tally->code != EXIT_DONE) {
        char where[40] = "";
        if (tally->number > 0) {
            snprintf(where, sizeof(where), "line %" PRIu64 ": ", tally->number);
        }
        tally_continue(more, tally);
        return say_error(tally->code, "%s%s%s%s%s", where, tally->text,
                         tally->number > 0 ? "; " : "", tally->number > 0 ? counts : "", more);
    }
    if (sender->command->global.json) {
        json_t *document = json_object();
        output_set(document, "sent", json_integer((json_int_t) tally->sent));
        output_set(document, "merged", json_integer((json_int_t) tally->merged));
        output_set(document, "duplicates", json_integer((json_int_t) tally->duplicates));
        if (sender->id[0] != '\0') {
            output_set(document, "id", json_string(sender->id));
        }
        output_json(document);
    } else if (tally->duplicates > 0) {
        return tally_say_duplicates(tally, counts);
    } else if (!sender->command->global.quiet) {
        if (sender->id[0] != '\0') {
            say("id %s", sender->id);
        }
        say("%s", counts);
    }
    return tally_code(tally);
}

static enum exit_code send_all(struct sender *sender, smq_client *client)
{
    smq_producer_options options = sender->flags->producer;
    const char *body = sender->command->word_count > 1 ? sender->command->words[1] : NULL;
    smq_error err;

    options.full_timeout_ms = SMQ_FOREVER; /* no send outlives send_timeout_ms */
    if (smq_producer_new(&sender->producer, client, &options, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    if (body) {
        send_body(sender, body, strlen(body));
    } else if (sender->flags->body_file) {
        send_file(sender);
    } else {
        sender->progress = progress_begin(sender->command, "sent");
        send_lines(sender);
    }
    tally_flush(&sender->tally, sender->producer);
    smq_producer_free(sender->producer);
    progress_end(&sender->progress);
    return send_report(sender);
}

/* Flags for which there must be lines, of text or of JSON. */
static enum exit_code send_check_lines(const struct command *command)
{
    const struct send_options *flags = command->options;
    const bool json = send_is_json(command);
    int delimiter = 0;

    if ((flags->delimiter || flags->skip.given) && send_is_single(command)) {
        return say_error(EXIT_USAGE, "--%s is for lines, and there is one message; leave it out",
                         flags->delimiter ? "delimiter" : "skip");
    }
    if (json && (flags->key_field.given || flags->id_field.given || flags->delimiter)) {
        return say_error(EXIT_USAGE,
                         "with --json each line is an object with its own key and id: leave out "
                         "--key-field, --id-field and --delimiter");
    }
    if (flags->restore && !json) {
        return say_error(EXIT_USAGE, "--restore is for lines of JSON; give --json, and no BODY");
    }
    if (flags->restore &&
        (flags->when.at.given || flags->when.priority.given || flags->when.own.delay_ms != 0 ||
         flags->when.own.ttl_ms != 0 || flags->when.own.max_retries != 0)) {
        return say_error(EXIT_USAGE, "--restore takes times, priority and retries from the lines: "
                                     "leave out --at, --delay, --priority, --ttl and --retries");
    }
    return output_delimiter(&delimiter, flags->delimiter);
}

/* Flags that do not go together, whatever the topic. */
static enum exit_code send_check_flags(const struct command *command)
{
    const struct send_options *flags = command->options;
    const bool single = send_is_single(command);

    if (flags->key && flags->key_field.given) {
        return say_error(EXIT_USAGE, "--key and --key-field both name the key; give one");
    }
    if (flags->id && flags->id_field.given) {
        return say_error(EXIT_USAGE, "--id and --id-field both name the id; give one");
    }
    if (flags->id && !single) {
        return say_error(EXIT_USAGE,
                         "--id names one message: give its BODY; lines have --id-field");
    }
    if (flags->when.own.delay_ms != 0 && flags->when.at.given) {
        return say_error(EXIT_USAGE, "--delay and --at both say when; give one");
    }
    if (flags->key && flags->key[0] == '\0') {
        return say_error(EXIT_DATA, "an empty key cannot be used; leave --key out for none");
    }
    if (flags->id && flags->id[0] == '\0') {
        return say_error(EXIT_DATA, "an empty id cannot be used; leave --id out for a new one");
    }
    if ((command->word_count > 1) + (flags->file != NULL) + (flags->body_file != NULL) > 1) {
        return say_error(EXIT_USAGE,
                         "BODY, --file and --body-file say what to send; give one of them");
    }
    return send_check_lines(command);
}

static enum exit_code send_connected(struct sender *sender, smq_client *client)
{
    enum exit_code code = topic_look_up(&sender->topic_facts, client, sender->topic);

    if (code != EXIT_DONE) {
        return code;
    }
    code = send_check_options(sender->command, &sender->topic_facts);
    if (code != EXIT_DONE) {
        return code;
    }
    if (send_is_json(sender->command)) {
        sender->rules = (struct message_rules){
            .topic = &sender->topic_facts,
            .restore = sender->flags->restore,
            .defaults = send_make_message(sender->flags, NULL, 0),
        };
    }
    return send_all(sender, client);
}

static enum exit_code send_run(const struct command *command)
{
    struct sender sender = {
        .command = command,
        .flags = command->options,
        .topic = command->words[0],
        .tally = TALLY_INIT,
    };
    smq_client *client = NULL;
    enum exit_code code = send_check_flags(command);

    if (code != EXIT_DONE) {
        return code;
    }
    code = source_open(&sender.source,
                       sender.flags->body_file ? sender.flags->body_file : sender.flags->file);
    if (code != EXIT_DONE) {
        return code;
    }
    (void) output_delimiter(&sender.source.delimiter, sender.flags->delimiter); /* was checked */
    code = connect_client(&client, command);
    if (code == EXIT_DONE) {
        code = send_connected(&sender, client);
    }
    smq_client_free(client);
    source_close(&sender.source);
    return code;
}

const struct verb send_verb = {
    .name = "send",
    .operands = "NAME [BODY]",
    .summary = "send a message, or one for each line of a file or of standard input",
    .text =
        "With --json each line is a message as peek, consume and dead list print it with "
        "--json: {\"body\":\"...\",\"key\":\"...\",\"id\":\"...\",\"due_at\":\"...\"}; "
        "slotmq(1) lists the members. They are new messages, or with --restore those that were "
        "printed.\n\n"
        "When it ends, it prints \"sent N merged M\" on standard error, or with --json "
        "{\"sent\":N,\"merged\":M,\"duplicates\":D} on standard output: N messages were added, "
        "and M were merged with one that was waiting. The first line that cannot be sent ends "
        "the command; the error names it and says what was sent.\n\n"
        "A topic with dedup_window_ms refuses ids that are in flight, rest or were done lately. "
        "The lines behind such a one are sent, the end has \"duplicate D\", too, and the exit code "
        "is 1.",
    VERB_FLAGS(send_flags, struct send_options),
    .init = send_init,
    .min_words = 1,
    .max_words = 2,
    .says_states = true,
    .run = send_run,
};
