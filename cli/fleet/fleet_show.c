/* fleet_show.c - fleet show: members, assigner, who owns what, what moves. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/fleet/fleet.h"
#include "cli/fleet/fleet_json.h"
#include "cli/fleet/fleet_table.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"
#include "cli/verb/look_flags.h"

struct show_options {
    struct look look; /* first */
    const char *root;
    const char *topic;
    bool slots;
};

static const struct flag show_flags[] = {
    LOOK_FLAG(NULL),
    TEXT_FLAG("root", offsetof(struct show_options, root), "PATH",
              "of the fleet, in place of what follows the addresses of --zookeeper"),
    TEXT_FLAG("topic", offsetof(struct show_options, topic), "NAME",
              "this topic with its groups only, or one group of it"),
    SWITCH_FLAG("slots", offsetof(struct show_options, slots), "which slots each member owns"),
};

/* One look at the fleet, in both forms. */
struct show {
    const struct show_options *flags;
    bool json;
    bool missing; /* the root is */
    uint64_t topics;
    bool picked; /* the topic that is visited now is to be shown */
    struct fleet_json json_parts;
    struct fleet_tables tables;
};

/* === What is visited ==================================================== */

static bool show_fleet(const smq_fleet_info *fleet, void *user)
{
    struct show *show = user;

    show->missing = fleet->identity[0] == '\0';
    fleet_json_add_fleet(&show->json_parts, fleet);
    fleet_tables_add_fleet(&show->tables, fleet);
    return !show->missing;
}

static bool show_member(const smq_fleet_member *member, void *user)
{
    struct show *show = user;

    fleet_json_add_member(&show->json_parts, member);
    fleet_tables_add_member(&show->tables, member);
    if (member->why[0] != '\0') {
        say("the node of member %s cannot be read: %s", member->name, member->why);
    }
    return true;
}

static bool show_topic(const smq_fleet_topic *topic, void *user)
{
    struct show *show = user;

    show->picked = !show->flags->topic || topic_is_of(topic->name, show->flags->topic);
    if (!show->picked) {
        return true;
    }
    show->topics++;
    fleet_json_add_topic(&show->json_parts, topic);
    fleet_tables_add_topic(&show->tables, topic);
    if (topic->why[0] != '\0') {
        say("the nodes of topic %s cannot be read: %s", topic->name, topic->why);
    }
    return true;
}

static bool show_share(const smq_fleet_share *share, void *user)
{
    struct show *show = user;

    if (!show->picked) {
        return true;
    }
    fleet_json_add_share(&show->json_parts, share);
    fleet_tables_add_share(&show->tables, share);
    return true;
}

static bool show_move(const smq_fleet_move *move, void *user)
{
    struct show *show = user;

    if (!show->picked) {
        return true;
    }
    fleet_json_add_move(&show->json_parts, move);
    fleet_tables_add_move(&show->tables, move);
    return true;
}

/* === What is printed ==================================================== */

static void show_begin(struct show *show)
{
    fleet_json_begin(&show->json_parts, show->flags->slots);
    fleet_tables_init(&show->tables, show->flags->slots);
}

static void show_end(struct show *show, bool print)
{
    if (print && show->json) {
        output_json(json_incref(show->json_parts.document));
    } else if (print) {
        fleet_tables_print(&show->tables);
    }
    json_decref(show->json_parts.document);
    fleet_tables_fini(&show->tables);
}

static enum exit_code show_look(smq_client *client, struct show *show,
                                const struct command *command)
{
    const smq_fleet_visitor visitor = {.struct_size = sizeof(visitor),
                                       .fleet = show_fleet,
                                       .member = show_member,
                                       .topic = show_topic,
                                       .share = show_share,
                                       .move = show_move,
                                       .user = show};
    smq_error err;

    if (smq_fleet_describe(client, &visitor, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    if (show->missing) {
        return say_error(EXIT_NOT_DONE,
                         "there is no fleet at %s: no consumer has joined it, or it was lost",
                         show->flags->root ? show->flags->root : fleet_place(command));
    }
    if (show->flags->topic && show->topics == 0) {
        if (smq_topic_get(client, show->flags->topic, NULL, &err) == SMQ_NO_TOPIC &&
            topic_explain(client, show->flags->topic, &err)) {
            return say_failure(&err);
        }
        return say_error(EXIT_NOT_DONE, "no member of the fleet asks for topic %s",
                         show->flags->topic);
    }
    return EXIT_DONE;
}

static enum exit_code show_connected(smq_client *client, const struct command *command)
{
    struct show show = {.flags = command->options, .json = command->global.json};

    show_begin(&show);
    const enum exit_code code = show_look(client, &show, command);
    show_end(&show, code == EXIT_DONE);
    return code;
}

static enum exit_code show_run(const struct command *command)
{
    const struct show_options *flags = command->options;

    return fleet_run(command, flags->root, show_connected);
}

const struct verb fleet_show_verb = {
    .name = "fleet show",
    .operands = "",
    .summary = "members of a fleet, its assigner, and which slots move",
    .text = "This shows what the nodes at the root in ZooKeeper say: the members; the assigner, "
            "which shares out slots; of each topic the slots that have no owner, and those that "
            "are to move to another member; what each member owns, or why it stands by; and what a "
            "moving slot waits for.",
    VERB_FLAGS(show_flags, struct show_options),
    .looks = true,
    .run = show_run,
};
