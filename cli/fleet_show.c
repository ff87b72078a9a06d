/* fleet_show.c - fleet show: members, leader, who owns what, what moves. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fleet.h"
#include "fleet_table.h"
#include "look_flags.h"
#include "output.h"
#include "say.h"
#include "topic.h"

struct show_options {
    struct look look; /* first */
    const char *root;
    const char *topic;
    bool slots;
};

static const struct flag show_flags[] = {
    LOOK_FLAG(NULL),
    {.name = "root",
     .type = FLAG_TEXT,
     .offset = offsetof(struct show_options, root),
     .operand = "PATH",
     .help = "of the fleet, in place of what follows the addresses of --zookeeper"},
    {.name = "topic",
     .type = FLAG_TEXT,
     .offset = offsetof(struct show_options, topic),
     .operand = "NAME",
     .help = "this topic with its groups only, or one group of it"},
    {.name = "slots",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct show_options, slots),
     .help = "which slots each member owns"},
};

/* One look at the fleet, in both forms. */
struct show {
    const struct show_options *flags;
    bool json;
    bool missing; /* the root is */
    uint64_t topics;
    bool picked; /* the topic that is visited now is to be shown */
    json_t *document, *members, *all, *shares, *moves;
    struct fleet_tables tables;
};

static const char *const show_waits[] = {[SMQ_WAIT_ACKNOWLEDGE] = "acknowledge",
                                         [SMQ_WAIT_DRAIN] = "drain",
                                         [SMQ_WAIT_LEADER] = "leader"};

static void show_set_number(json_t *object, const char *name, uint64_t number)
{
    output_set(object, name, json_integer((json_int_t) number));
}

static json_t *show_append(json_t *array)
{
    json_t *object = json_object();

    if (json_array_append_new(array, object) != 0) {
        say_no_memory();
    }
    return object;
}

static json_t *show_array(json_t *object, const char *name)
{
    json_t *array = json_array();

    output_set(object, name, array);
    return array;
}

/* === What is visited ==================================================== */

static bool show_fleet(const smq_fleet_info *fleet, void *user)
{
    struct show *show = user;

    show->missing = fleet->identity[0] == '\0';
    output_set(show->document, "root", json_string(fleet->root));
    output_set(show->document, "identity", json_string(fleet->identity));
    show_set_number(show->document, "generation", fleet->generation);
    output_set(show->document, "leader", json_string(fleet->leader));
    output_set(show->document, "leader_since_at_ms", json_integer(fleet->leader_since_at_ms));
    output_set(show->document, "epoch", json_integer(fleet->epoch));
    show_set_number(show->document, "unreadable", fleet->unreadable);
    fleet_tables_add_fleet(&show->tables, fleet);
    return !show->missing;
}

static bool show_member(const smq_fleet_member *member, void *user)
{
    struct show *show = user;
    json_t *object = show_append(show->members);

    output_set(object, "name", json_string(member->name));
    output_set(object, "host", json_string(member->host));
    output_set(object, "pid", json_integer(member->pid));
    output_set(object, "state", json_string(fleet_state_name(member->state)));
    output_set(object, "why", json_string(member->why));
    output_set(object, "incarnation", json_integer(member->incarnation));
    output_set(object, "since_at_ms", json_integer(member->since_at_ms));
    output_set(object, "weight", json_integer(member->weight));
    output_set(object, "topics", json_integer(member->topics));
    show_set_number(object, "slots", member->slots);
    show_set_number(object, "giving_up", member->giving_up);
    show_set_number(object, "standing_by", member->standing_by);
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
    json_t *object = show_append(show->all);
    show->topics++;
    output_set(object, "topic", json_string(topic->name));
    output_set(object, "slots", json_integer(topic->slots));
    show_set_number(object, "unowned", topic->unowned);
    show_set_number(object, "moving", topic->moving);
    output_set(object, "members", json_integer(topic->members));
    output_set(object, "epoch", json_integer(topic->epoch));
    output_set(object, "since_at_ms", json_integer(topic->since_at_ms));
    output_set(object, "why", json_string(topic->why));
    show->shares = show_array(object, "shares");
    show->moves = show_array(object, "moves");
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
    json_t *object = show_append(show->shares);
    output_set(object, "member", json_string(share->member));
    output_set(object, "weight", json_integer(share->weight));
    output_set(object, "leaving", json_boolean(share->leaving));
    output_set(object, "drain_timeout_ms", json_integer(share->drain_timeout_ms));
    show_set_number(object, "slots", share->slots);
    if (show->flags->slots) {
        output_set(object, "ranges", json_string(share->ranges));
    }
    output_set(object, "stands_by", json_string(share->stands_by));
    fleet_tables_add_share(&show->tables, share);
    return true;
}

static bool show_move(const smq_fleet_move *move, void *user)
{
    struct show *show = user;

    if (!show->picked) {
        return true;
    }
    json_t *object = show_append(show->moves);
    output_set(object, "from", json_string(move->from));
    output_set(object, "waits_for", json_string(show_waits[move->wait]));
    show_set_number(object, "slots", move->slots);
    if (show->flags->slots) {
        output_set(object, "ranges", json_string(move->ranges));
    }
    output_set(object, "why", json_string(move->why));
    output_set(object, "since_at_ms", json_integer(move->since_at_ms));
    fleet_tables_add_move(&show->tables, move);
    return true;
}

/* === What is printed ==================================================== */

static void show_begin(struct show *show)
{
    show->document = json_object();
    show->members = show_array(show->document, "members");
    show->all = show_array(show->document, "topics");
    fleet_tables_init(&show->tables, show->flags->slots);
}

static void show_end(struct show *show, bool print)
{
    if (print && show->json) {
        output_json(json_incref(show->document));
    } else if (print) {
        fleet_tables_print(&show->tables);
    }
    json_decref(show->document);
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
                         "there is no fleet at %s: no consumer has joined it, or ZooKeeper lost it",
                         show->flags->root ? show->flags->root : command->global.client.zookeeper);
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
    .summary = "members of a fleet, its leader, and which slots move",
    .text =
        "This shows what the nodes at the root in ZooKeeper say: the members; the leader, which "
        "assigns slots; of each topic the slots that have no owner, and those that are to move "
        "to another member; what each member owns, or why it stands by; and what a moving slot "
        "waits for.",
    .flags = show_flags,
    .flag_count = sizeof(show_flags) / sizeof(show_flags[0]),
    .options_size = sizeof(struct show_options),
    .looks = true,
    .run = show_run,
};
