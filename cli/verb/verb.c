/* verb.c - finding a verb by its words, and the flags that all verbs share. */
#include "cli/verb/verb.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/text/say.h"

#define GLOBAL(member) offsetof(struct global_options, member)

const struct flag global_flags[] = {
    {.name = "redis",
     .letter = 'r',
     .type = FLAG_OPTION,
     .offset = GLOBAL(client),
     .set = SMQ_OPTION_SET_CLIENT,
     .option = "redis",
     .operand = "REDIS",
     .help = "host:port,... or redis://user:password@host:port,... (TLS: rediss://); default "
             "$SLOTMQ_REDIS"},
    {.name = "zookeeper",
     .letter = 'z',
     .type = FLAG_OPTION,
     .offset = GLOBAL(client),
     .set = SMQ_OPTION_SET_CLIENT,
     .option = "zookeeper",
     .operand = "ZOOKEEPER",
     .help = "host:port,.../root of the fleet; default $SLOTMQ_ZOOKEEPER"},
    {.name = "option",
     .letter = 'X',
     .type = FLAG_PAIR,
     .offset = GLOBAL(client),
     .set = SMQ_OPTION_SET_CLIENT,
     .operand = "KEY=VALUE",
     .help = "an option of the client, as in request_timeout_ms=10s; docs/CONFIGURATION.md"},
    TEXT_FLAG("config", GLOBAL(config), "FILE",
              "read flags from FILE; default $XDG_CONFIG_HOME/slotmq/config or "
              "~/.config/slotmq/config"),
    TEXT_FLAG("context", GLOBAL(context), "NAME",
              "servers and options of the section [context NAME] of that file; default "
              "$SLOTMQ_CONTEXT"),
    SWITCH_FLAG("json", GLOBAL(json), "results as JSON"),
    {.name = "quiet",
     .letter = 'q',
     .type = FLAG_SWITCH,
     .offset = GLOBAL(quiet),
     .help = "nothing but errors on standard error"},
    {.name = "verbose",
     .letter = 'v',
     .type = FLAG_COUNT,
     .offset = GLOBAL(verbose),
     .help = "events on standard error; twice: every retry; three times: every message"},
    {.name = "help",
     .letter = 'h',
     .type = FLAG_SWITCH,
     .offset = GLOBAL(help),
     .help = "help on the verb"},
    SWITCH_FLAG("version", GLOBAL(version), "the version of the library in use"),
};
const size_t global_flag_count = sizeof(global_flags) / sizeof(global_flags[0]);

/* Length of the first word of a verb's name. */
static size_t verb_first_word(const struct verb *verb)
{
    return strcspn(verb->name, " ");
}

static bool verb_has_first_word(const struct verb *verb, const char *word)
{
    return strlen(word) == verb_first_word(verb) && strncmp(verb->name, word, strlen(word)) == 0;
}

const struct verb *verb_find(const struct verb *const *all, size_t *used, bool *group,
                             char *const *words, size_t count)
{
    *group = false;
    for (size_t i = 0; all[i] && count > 0; i++) {
        const char *second = all[i]->name + verb_first_word(all[i]);
        if (!verb_has_first_word(all[i], words[0])) {
            continue;
        }
        if (*second == '\0') {
            *used = 1;
            return all[i];
        }
        *group = true;
        if (count > 1 && strcmp(second + 1, words[1]) == 0) {
            *used = 2;
            return all[i];
        }
    }
    return NULL;
}

/* The second words of a group, as "create, list, show or delete". */
static void verb_group_text(const struct verb *const *all, char *text, size_t size,
                            const char *group)
{
    size_t used = 0;

    for (size_t i = 0; all[i]; i++) {
        if (!verb_has_first_word(all[i], group)) {
            continue;
        }
        const bool last = !all[i + 1] || !verb_has_first_word(all[i + 1], group);
        used += (size_t) snprintf(text + used, size - used, "%s%s",
                                  used == 0 ? "" : (last ? " or " : ", "),
                                  all[i]->name + verb_first_word(all[i]) + 1);
    }
}

static enum exit_code verb_say_unknown_in_group(const struct verb *const *all, char *const *words,
                                                size_t count)
{
    char text[128] = "";

    verb_group_text(all, text, sizeof(text), words[0]);
    if (count < 2) {
        return say_error(EXIT_USAGE, "%s needs a second word: %s", words[0], text);
    }
    struct nearest nearest = nearest_to(words[1]);
    for (size_t i = 0; all[i]; i++) {
        if (verb_has_first_word(all[i], words[0])) {
            nearest_offer(&nearest, all[i]->name + verb_first_word(all[i]) + 1);
        }
    }
    if (nearest.best) {
        return say_error(EXIT_USAGE, "unknown verb \"%s %s\"; did you mean \"%s %s\"?", words[0],
                         words[1], words[0], nearest.best);
    }
    return say_error(EXIT_USAGE, "unknown verb \"%s %s\"; after %s comes %s", words[0], words[1],
                     words[0], text);
}

enum exit_code verb_say_unknown(const struct verb *const *all, char *const *words, size_t count)
{
    size_t used = 0;
    bool group = false;

    (void) verb_find(all, &used, &group, words, count);
    if (group) {
        return verb_say_unknown_in_group(all, words, count);
    }
    struct nearest nearest = nearest_to(words[0]);
    char first[32] = "";
    for (size_t i = 0; all[i]; i++) {
        char name[32];
        const size_t before = nearest.distance;
        snprintf(name, sizeof(name), "%.*s", (int) verb_first_word(all[i]), all[i]->name);
        nearest_offer(&nearest, name);
        if (nearest.distance < before) {
            memcpy(first, name, sizeof(first));
        }
    }
    if (first[0] != '\0') {
        return say_error(EXIT_USAGE, "unknown verb \"%s\"; did you mean \"%s\"?", words[0], first);
    }
    return say_error(EXIT_USAGE, "unknown verb \"%s\"; see slotmq --help", words[0]);
}
