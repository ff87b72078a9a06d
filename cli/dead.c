/* dead.c - dead list, dead requeue. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "command.h"
#include "message.h"
#include "output.h"
#include "say.h"
#include "topic.h"

/* === list =============================================================== */

/* The JSON document is printed while it is read: a topic may hold very many dead letters. */
struct listing {
    smq_topic_type type;
    struct libscols_table *table; /* NULL: JSON */
    uint64_t count;
};

static void add_letter_json(const struct listing *listing, const smq_message_info *message)
{
    size_t size = 0;
    char *text = output_json_text(&size, message_dead_json(message, listing->type));

    fputs(listing->count == 0 ? "{\"dead\":[" : ",", stdout);
    fwrite(text, 1, size, stdout);
    free(text);
}

static void time_text(char *text, size_t size, int64_t at_ms)
{
    const time_t seconds = (time_t) (at_ms / 1000);
    struct tm parts;

    if (!gmtime_r(&seconds, &parts) || strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        snprintf(text, size, "%" PRId64, at_ms);
    }
}

static void add_letter_row(const struct listing *listing, const smq_message_info *message)
{
    char slot[16];
    char attempt[16];
    char dead_at[40];
    char *body = say_alloc(message->body_len + 1, 1);

    snprintf(slot, sizeof(slot), "%" PRId32, message->slot);
    snprintf(attempt, sizeof(attempt), "%" PRId32, message->attempt);
    time_text(dead_at, sizeof(dead_at), message->dead_at_ms);
    output_printable(body, message->body, message->body_len);
    const char *const cells[] = {slot, dead_at, attempt, message->reason ? message->reason : "",
                                 body};
    output_row(listing->table, cells, 5);
    free(body);
}

static bool add_letter(const smq_message_info *message, void *user)
{
    struct listing *listing = user;

    if (listing->table) {
        add_letter_row(listing, message);
    } else {
        add_letter_json(listing, message);
    }
    listing->count++;
    return !ferror(stdout);
}

static enum exit_code list_letters(smq_client *client, const struct command *command,
                                   smq_topic_type type)
{
    static const char *const titles[] = {">SLOT", "DEAD_AT", ">ATTEMPTS", "REASON", "~BODY"};
    struct listing listing = {.type = type};
    smq_filter filter = SMQ_FILTER_INIT;
    smq_error err;

    filter.states = SMQ_DEAD;
    if (!command->global.json) {
        listing.table = output_table(titles, 5);
    }
    if (smq_message_each(client, command->words[0], &filter, add_letter, &listing, &err) !=
        SMQ_OK) {
        output_table_free(listing.table);
        return say_failure(&err);
    }
    if (listing.table) {
        output_table_print(listing.table);
    } else {
        fputs(listing.count == 0 ? "{\"dead\":[]}\n" : "]}\n", stdout);
    }
    return EXIT_DONE;
}

static enum exit_code list_run(const struct command *command)
{
    struct topic_facts topic = {0};
    smq_client *client = NULL;
    enum exit_code code = command_connect(&client, command);

    if (code == EXIT_DONE) {
        code = topic_look_up(&topic, client, command->words[0]);
    }
    if (code == EXIT_DONE) {
        code = list_letters(client, command, topic.type);
    }
    smq_client_free(client);
    return code;
}

const struct verb dead_list_verb = {
    .name = "dead list",
    .operands = "NAME",
    .summary = "the dead letters of a topic, slot by slot, the oldest first",
    .min_words = 1,
    .max_words = 1,
    .run = list_run,
};

/* === requeue ============================================================ */

struct requeue_options {
    bool all;
};

static const struct flag requeue_flags[] = {
    {.name = "all",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct requeue_options, all),
     .help = "every dead letter; required"},
};

static enum exit_code requeue_run(const struct command *command)
{
    const struct requeue_options *flags = command->options;
    smq_client *client = NULL;
    uint64_t count = 0;
    smq_error err;

    if (!flags->all) {
        return say_error(EXIT_USAGE, "dead requeue needs --all");
    }
    enum exit_code code = command_connect(&client, command);
    if (code != EXIT_DONE) {
        return code;
    }
    if (smq_dead_requeue(&count, client, command->words[0], NULL, NULL, NULL, &err) != SMQ_OK) {
        code = count == 0 ? say_failure(&err)
                          : say_error(EXIT_NOT_DONE, "%s; requeued %" PRIu64 " before that",
                                      err.text, count);
    } else if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "requeued", json_integer((json_int_t) count));
        output_json(document);
    } else if (!command->global.quiet) {
        say("requeued %" PRIu64, count);
    }
    smq_client_free(client);
    return code;
}

const struct verb dead_requeue_verb = {
    .name = "dead requeue",
    .operands = "NAME --all",
    .summary = "send dead letters back with all retries and their own time or priority",
    .flags = requeue_flags,
    .flag_count = sizeof(requeue_flags) / sizeof(requeue_flags[0]),
    .options_size = sizeof(struct requeue_options),
    .min_words = 1,
    .max_words = 1,
    .run = requeue_run,
};
