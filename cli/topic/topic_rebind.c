/* topic_rebind.c - topic rebind: a topic is given to another coordination. */
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"
#include "cli/verb/verb.h"

struct rebind_options {
    bool force;
};

static const struct flag rebind_flags[] = {
    SWITCH_FLAG("force", offsetof(struct rebind_options, force),
                "do not look for consumers: they are known to be dead"),
};

static enum exit_code topic_rebind_connected(smq_client *client, const struct command *command)
{
    const struct rebind_options *flags = command->options;
    const char *name = command->words[0];
    smq_error err;

    if (smq_topic_rebind(client, name, flags->force, &err) != SMQ_OK) {
        return topic_say_failure(client, name, &err);
    }
    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "rebound", json_string(name));
        output_json(document);
    } else if (!command->global.quiet) {
        say("topic %s is rebound", name);
    }
    return EXIT_DONE;
}

const struct verb topic_rebind_verb = {
    .name = "topic rebind",
    .operands = "NAME",
    .summary = "bind a topic to another fleet",
    .text =
        "A topic is bound to the fleet of its first consumer: to a root in Redis, or in ZooKeeper. "
        "This command binds it to the root that --zookeeper names, or to one in Redis when there "
        "is none. It refuses while a consumer of the topic lives: one that listens to a slot, has "
        "claimed a message, or has the lease of a process of version 0.2.",
    VERB_FLAGS(rebind_flags, struct rebind_options),
    .min_words = 1,
    .max_words = 1,
    .connected = topic_rebind_connected,
};
