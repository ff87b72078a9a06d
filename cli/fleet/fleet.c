/* fleet.c - what the verbs about a fleet share; fleet raise-fence: after ZooKeeper lost its data.
 */
#include "cli/fleet/fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/verb/confirm.h"
#include "cli/verb/connect.h"

const char *fleet_place(const struct command *command)
{
    const smq_client_options *client = &command->global.client;

    return client->zookeeper ? client->zookeeper : client->root ? client->root : "/slotmq";
}

enum exit_code fleet_run(const struct command *command, const char *root, verb_connected_fn *run)
{
    const char *zookeeper = command->global.client.zookeeper;
    struct command moved = *command;

    if (!root) {
        return connect_run(command, run);
    }
    if (!zookeeper) {
        moved.global.client.root = root;
        return connect_run(&moved, run);
    }
    const size_t hosts = strcspn(zookeeper, "/");
    const size_t size = hosts + strlen(root) + 2;
    char *there = say_alloc(size, 1);
    snprintf(there, size, "%.*s%s%s", (int) hosts, zookeeper, root[0] == '/' ? "" : "/", root);
    moved.global.client.zookeeper = there;
    const enum exit_code code = connect_run(&moved, run);
    free(there);
    return code;
}

/* === raise-fence ======================================================== */

struct fence_options {
    bool yes;
};

static const struct flag fence_flags[] = {
    SWITCH_FLAG("yes", offsetof(struct fence_options, yes),
                "do not ask; needed without a terminal"),
};

static void fleet_fence_say(const struct command *command, const smq_fence *fence)
{
    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "generation", json_integer(fence->generation));
        output_set(document, "topics", json_integer((json_int_t) fence->topics));
        output_set(document, "rebound", json_integer((json_int_t) fence->rebound));
        output_json(document);
    } else if (!command->global.quiet) {
        say("the fence generation is %" PRIu32 " now, for %" PRIu64 " topics; %" PRIu64
            " of them were bound to this root anew",
            fence->generation, fence->topics, fence->rebound);
    }
}

static enum exit_code fleet_fence_check(const struct command *command)
{
    const struct fence_options *flags = command->options;

    return confirm(command, flags->yes,
                   "Raise the fence generation at %s, and bind the topics of its root to it?",
                   fleet_place(command));
}

static enum exit_code fleet_fence_connected(smq_client *client, const struct command *command)
{
    smq_fence fence = SMQ_FENCE_INIT;
    smq_error err;

    if (smq_fleet_raise_fence(client, &fence, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    fleet_fence_say(command, &fence);
    return EXIT_DONE;
}

const struct verb fleet_raise_fence_verb = {
    .name = "fleet raise-fence",
    .operands = "",
    .summary = "raise a fleet's tokens above all that were granted before",
    .text = "This is for the time after ZooKeeper lost its data, or an older copy of it was "
            "restored. The root is made again if it is missing. Its fence generation is raised "
            "above the tokens in Redis of all topics that are bound to it, and topics that are "
            "bound to it under another identity are bound to the one that it has now. Living "
            "consumers continue by themselves.",
    VERB_FLAGS(fence_flags, struct fence_options),
    .check = fleet_fence_check,
    .connected = fleet_fence_connected,
};
