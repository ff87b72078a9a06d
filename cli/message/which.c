/* which.c - see which.h. */
#include "cli/message/which.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message/message.h"
#include "cli/text/say.h"

/* So many keys are listed. */
enum { KEYS_MAX = 5 };

const char *which_id(const struct command *command, const struct which *which)
{
    return command->word_count > 1 ? command->words[1] : which->id;
}

enum exit_code which_check(const struct command *command, const struct which *which, bool needed)
{
    const char *id = which_id(command, which);

    if (command->word_count > 1 && which->id) {
        return say_error(EXIT_USAGE, "the id is given twice, as \"%s\" and by --id; give one", id);
    }
    if (needed && !id) {
        return say_error(EXIT_USAGE, "%s needs the id of a message; see slotmq %s --help",
                         command->verb->name, command->verb->name);
    }
    if (which->key && !id) {
        return say_error(EXIT_USAGE, "--key goes with an id; give both");
    }
    return EXIT_DONE;
}

smq_message_ref which_named(const struct topic_facts *topic, const char *id, const char *key)
{
    smq_message_ref message = SMQ_MESSAGE_REF_INIT;

    if (topic->layout == SMQ_LAYOUT_KEYED) {
        message.id = smq_text(id);
    } else {
        message.body = smq_text(id);
    }
    if (key) {
        message.key = smq_text(key);
    }
    return message;
}

bool which_has_id(const struct topic_facts *topic, const smq_message_info *message, const char *id)
{
    const smq_bytes *own = topic->layout == SMQ_LAYOUT_KEYED ? &message->id : &message->body;

    return own->len == strlen(id) && memcmp(own->data, id, own->len) == 0;
}

/* === All slots ========================================================== */

struct which_search {
    const struct topic_facts *topic;
    const char *id;
    bool keyless;         /* one was sent without a key: no other has its place */
    char *keys[KEYS_MAX]; /* owned: of the first ones */
    uint64_t count;
};

static bool which_visit(const smq_message_info *message, void *user)
{
    struct which_search *search = user;

    if (!which_has_id(search->topic, message, search->id)) {
        return true;
    }
    search->keyless = !message_has_own_key(message);
    if (!search->keyless && search->count < KEYS_MAX) {
        char *key = say_alloc(message->key.len + 1, 1);
        memcpy(key, message->key.data, message->key.len);
        search->keys[search->count] = key;
    }
    search->count++;
    return !search->keyless;
}

static enum exit_code which_say_several(const struct which_search *search, const char *topic)
{
    char text[768] = "";
    char more[48] = "";
    size_t used = 0;

    for (uint64_t i = 0; i < search->count && i < KEYS_MAX; i++) {
        used += (size_t) snprintf(text + used, sizeof(text) - used, "%s--key %.100s",
                                  i == 0 ? "" : " or ", search->keys[i]);
    }
    if (search->count > KEYS_MAX) {
        snprintf(more, sizeof(more), ", or one of %" PRIu64 " more", search->count - KEYS_MAX);
    }
    return say_error(EXIT_NOT_DONE,
                     "topic %s has %" PRIu64 " messages of the id \"%.100s\"; give %s%s", topic,
                     search->count, search->id, text, more);
}

static enum exit_code which_judge(const struct which_search *search, const char *topic,
                                  unsigned states)
{
    if (search->count == 0) {
        return say_error(EXIT_NOT_DONE, "topic %s has no %s of the id \"%.200s\"", topic,
                         states == SMQ_STATE_DEAD ? "dead letter" : "message", search->id);
    }
    return search->keyless || search->count == 1 ? EXIT_DONE : which_say_several(search, topic);
}

enum exit_code which_find_key(char **key, smq_client *client, const struct command *command,
                              const struct topic_facts *topic, const char *id, unsigned states)
{
    struct which_search search = {.topic = topic, .id = id};
    smq_filter filter = SMQ_FILTER_INIT;
    smq_error err;

    filter.states = states;
    filter.contains = id;
    const smq_status status =
        smq_message_each(client, command->words[0], &filter, which_visit, &search, &err);
    const enum exit_code code = status == SMQ_OK || search.keyless
                                    ? which_judge(&search, command->words[0], states)
                                    : say_failure(&err);
    *key = NULL;
    if (code == EXIT_DONE && !search.keyless) {
        *key = search.keys[0];
        search.keys[0] = NULL;
    }
    for (size_t i = 0; i < KEYS_MAX; i++) {
        free(search.keys[i]);
    }
    return code;
}
