/* command.c - from argv to a verb's function. */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"
#include "cli/verb/completion.h"
#include "cli/verb/config.h"
#include "cli/verb/connect.h"
#include "cli/verb/help.h"
#include "cli/verb/secrets.h"
#include "cli/verbs.h"

static enum exit_code command_check_words(const struct command *command)
{
    const struct verb *verb = command->verb;

    if (command->word_count < verb->min_words) {
        return say_error(EXIT_USAGE, "%s needs %s; see slotmq %s --help", verb->name,
                         verb->operands, verb->name);
    }
    if (command->word_count > verb->max_words) {
        return say_error(EXIT_USAGE, "%s does not take \"%s\"; see slotmq %s --help", verb->name,
                         command->words[verb->max_words], verb->name);
    }
    if (verb->takes_program && command->tail && !command->tail[0]) {
        return say_error(EXIT_USAGE, "no program follows --");
    }
    return EXIT_DONE;
}

/* What follows "--" is words like all others, except where a program is expected. */
static void command_settle_tail(struct words *words, const struct verb *verb)
{
    if (!verb->takes_program && words->tail) {
        for (char **word = words->tail; *word; word++) {
            words->word[words->count++] = *word;
        }
        words->tail = NULL;
    }
}

static void command_print_version(void)
{
    printf("slotmq %s\n", smq_version());
}

static enum exit_code command_act(const struct command *command)
{
    const struct verb *verb = command->verb;

    if (verb->connected) {
        return connect_run(command, verb->connected);
    }
    return verb->about_topic ? topic_run(command, verb->about_topic) : verb->run(command);
}

/* One reading of a command line: flags of the file come first, then the environment, then those
 * that were typed. */
struct reading {
    struct global_options global;
    struct flags_given given;
    struct config config;
};

/* All words and flags are read. */
static enum exit_code command_call_verb(const struct verb *verb, const struct reading *reading,
                                        const void *options, struct words *words)
{
    command_settle_tail(words, verb);
    const struct command command = {
        .verb = verb,
        .verbs = verbs,
        .global = reading->global,
        .config = &reading->config,
        .options = options,
        .words = words->word,
        .word_count = words->count,
        .tail = words->tail,
    };
    enum exit_code code = command_check_words(&command);
    if (code == EXIT_DONE && verb->check) {
        code = verb->check(&command);
    }
    return code == EXIT_DONE ? command_act(&command) : code;
}

/* Fills the options from all places where they are given. */
static enum exit_code command_fill(struct reading *reading, const struct verb *verb, void *options)
{
    const char *redis = getenv("SLOTMQ_REDIS");
    const char *zookeeper = getenv("SLOTMQ_ZOOKEEPER");
    const struct config_wish wish = {
        .context = flags_given_find(&reading->given, "context"),
        .servers = flags_given_find(&reading->given, "redis") != NULL,
    };
    enum exit_code code =
        config_read(&reading->config, flags_given_find(&reading->given, "config"), verbs);

    if (code == EXIT_DONE) {
        code = config_choose(&reading->config, &wish);
    }
    if (code == EXIT_DONE) {
        code = config_apply(&reading->config, &reading->global, verb, options);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    if (redis && !reading->config.current) {
        reading->global.client.redis = redis;
    }
    if (zookeeper && !reading->config.current) {
        reading->global.client.zookeeper = zookeeper;
    }
    return flags_given_apply(&reading->given);
}

static enum exit_code command_fill_and_call(struct reading *reading, const struct verb *verb,
                                            void *options, struct words *words)
{
    if (flags_given_find(&reading->given, "help")) {
        help_on_verb(stdout, verb);
        return EXIT_DONE;
    }
    if (flags_given_find(&reading->given, "version")) {
        command_print_version();
        return EXIT_DONE;
    }
    const enum exit_code code = command_fill(reading, verb, options);
    return code == EXIT_DONE ? command_call_verb(verb, reading, options, words) : code;
}

/* Writes what is not yet written.  A result that is lost is a failure of its own, whatever it was;
 * only the signal that ended the verb goes before it. */
static enum exit_code command_finish(enum exit_code code)
{
    const enum exit_code written = output_finish();

    return written == EXIT_DONE || code == EXIT_INTERRUPTED ? code : written;
}

static enum exit_code command_run_verb(const struct verb *verb, struct reading *reading, int argc,
                                       char **argv)
{
    void *options = say_alloc(1, verb->options_size);
    struct words words;
    const struct flag_set sets[] = {
        {.flags = verb->flags,
         .count = verb->flag_count,
         .values = options,
         .given = &reading->given},
        {.flags = global_flags,
         .count = global_flag_count,
         .values = &reading->global,
         .given = &reading->given},
    };

    if (verb->init) {
        verb->init(options);
    }
    enum exit_code code = flags_read(
        &words, sets, 2, &(struct flags_verb){.name = verb->name, .max_words = verb->max_words},
        argc, argv);
    if (code == EXIT_DONE) {
        code = command_fill_and_call(reading, verb, options, &words);
    }
    words_fini(&words);
    free(options);
    code = command_finish(code);
    return verb->is_probe && code > EXIT_UNKNOWN ? EXIT_UNKNOWN : code;
}

/* No verb was given: help, version, or an error. */
static enum exit_code command_run_without_verb(const struct reading *reading)
{
    if (flags_given_find(&reading->given, "help")) {
        help_overview(stdout, verbs, NULL);
        return EXIT_DONE;
    }
    if (flags_given_find(&reading->given, "version")) {
        command_print_version();
        return EXIT_DONE;
    }
    return say_error(EXIT_USAGE, "no verb given; see slotmq --help");
}

/* Reads global flags up to the next word and leaves that word and all after it in `words`. */
static enum exit_code command_read_global(struct words *words, struct reading *reading, int argc,
                                          char **argv)
{
    const struct flag_set set = {.flags = global_flags,
                                 .count = global_flag_count,
                                 .values = &reading->global,
                                 .given = &reading->given};

    return flags_read(words, &set, 1, NULL, argc, argv);
}

/* `words` begins with the first word of a name of two; flags may stand between them. */
static enum exit_code command_run_group(struct words *words, struct reading *reading)
{
    struct words rest;
    size_t used = 0;
    bool group = false;
    enum exit_code code = command_read_global(&rest, reading, (int) words->count, words->word);

    if (code != EXIT_DONE) {
        return code;
    }
    char *name[] = {words->word[0], rest.count > 0 ? rest.word[0] : NULL};
    const size_t count = rest.count > 0 ? 2 : 1;
    const struct verb *verb = verb_find(verbs, &used, &group, name, count);
    if (verb) {
        code = command_run_verb(verb, reading, (int) rest.count, rest.word);
    } else if (count == 1 && flags_given_find(&reading->given, "help")) {
        help_overview(stdout, verbs, name[0]);
        code = command_finish(EXIT_DONE);
    } else {
        code = verb_say_unknown(verbs, name, count);
    }
    words_fini(&rest);
    return code;
}

static enum exit_code command_run(int argc, char **argv)
{
    struct reading reading = {.global = {.client = SMQ_CLIENT_OPTIONS_INIT}};
    struct words words;
    size_t used = 0;
    bool group = false;
    enum exit_code code = command_read_global(&words, &reading, argc, argv);

    if (code == EXIT_DONE) {
        const struct verb *verb =
            verb_find(verbs, &used, &group, words.word, words.count > 0 ? 1 : 0);
        if (words.count == 0) {
            code = command_finish(command_run_without_verb(&reading));
        } else if (verb) {
            code = command_run_verb(verb, &reading, (int) words.count, words.word);
        } else if (group) {
            code = command_run_group(&words, &reading);
        } else {
            code = verb_say_unknown(verbs, words.word, words.count);
        }
        words_fini(&words);
    }
    flags_given_fini(&reading.given);
    config_fini(&reading.config);
    return code;
}

enum exit_code command_main(int argc, char **argv)
{
    char **words = secrets_take(argc, argv);
    const bool asked = argc > 1 && strcmp(words[1], COMPLETION_ASKED) == 0;
    const enum exit_code code =
        asked ? command_finish(completion_answer(verbs, words + 2, (size_t) argc - 2))
              : command_run(argc, words);

    secrets_free(words);
    return code;
}
