/* fleet_show.c - fleet show: members, leader, who owns what, what moves. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fleet.h"
#include "output.h"
#include "say.h"
#include "verb.h"

struct show_options {
    const char *root;
    const char *topic;
    bool slots;
};

static const struct flag show_flags[] = {
    {.name = "root",
     .type = FLAG_TEXT,
     .offset = offsetof(struct show_options, root),
     .operand = "PATH",
     .help = "of the fleet, in place of what follows the addresses of --zookeeper"},
    {.name = "topic",
     .type = FLAG_TEXT,
     .offset = offsetof(struct show_options, topic),
     .operand = "NAME",
     .help = "this topic only; of a group: TOPIC.GROUP"},
    {.name = "slots",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct show_options, slots),
     .help = "which slots each member owns"},
};

/* One look at the fleet, in both forms.  Of the form that is not wanted nothing is kept. */
struct show {
    const struct show_options *flags;
    bool json;
    bool missing; /* the root is */
    uint64_t topics;
    bool picked; /* the topic that is visited now is to be shown */
    json_t *document, *members, *all, *shares, *moves;
    struct libscols_table *fleet_table, *member_table, *topic_table, *share_table, *move_table;
};

static const char *const show_states[] = {[SMQ_MEMBER_ACTIVE] = "active",
                                          [SMQ_MEMBER_UNREACHABLE] = "unreachable",
                                          [SMQ_MEMBER_LEAVING] = "leaving",
                                          [SMQ_MEMBER_UNREADABLE] = "unreadable"};
static const char *const show_waits[] = {[SMQ_WAIT_ACKNOWLEDGE] = "acknowledge",
                                         [SMQ_WAIT_DRAIN] = "drain",
                                         [SMQ_WAIT_LEADER] = "leader"};

/* Room for a number or a time. */
enum { SHOW_CELL = 32 };

static const char *show_number(char cell[SHOW_CELL], uint64_t number)
{
    snprintf(cell, SHOW_CELL, "%" PRIu64, number);
    return cell;
}

static const char *show_time(char cell[SHOW_CELL], int64_t at_ms)
{
    if (at_ms == 0) {
        return "-";
    }
    output_time(cell, SHOW_CELL, at_ms);
    return cell;
}

static const char *show_text(const char *text)
{
    return text[0] != '\0' ? text : "-";
}

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
    char number[SHOW_CELL];

    show->missing = fleet->identity[0] == '\0';
    output_set(show->document, "root", json_string(fleet->root));
    output_set(show->document, "identity", json_string(fleet->identity));
    show_set_number(show->document, "generation", fleet->generation);
    output_set(show->document, "leader", json_string(fleet->leader));
    output_set(show->document, "leader_since_at_ms", json_integer(fleet->leader_since_at_ms));
    output_set(show->document, "epoch", json_integer(fleet->epoch));
    show_set_number(show->document, "unreadable", fleet->unreadable);
    output_pair(show->fleet_table, "root", fleet->root);
    output_pair(show->fleet_table, "leader", show_text(fleet->leader));
    output_pair(show->fleet_table, "leader since", show_time(number, fleet->leader_since_at_ms));
    snprintf(number, sizeof(number), "%" PRId32, fleet->epoch);
    output_pair(show->fleet_table, "epoch", fleet->epoch == SMQ_NONE ? "-" : number);
    output_pair(show->fleet_table, "fence generation", show_number(number, fleet->generation));
    return !show->missing;
}

static bool show_member(const smq_fleet_member *member, void *user)
{
    struct show *show = user;
    json_t *object = show_append(show->members);
    char pid[SHOW_CELL], weight[SHOW_CELL], since[SHOW_CELL], slots[SHOW_CELL],
        giving_up[SHOW_CELL], topics[SHOW_CELL];
    const char *const row[] = {member->name,
                               show_text(member->host),
                               show_number(pid, (uint64_t) member->pid),
                               show_number(weight, (uint64_t) member->weight),
                               show_states[member->state],
                               show_time(since, member->since_at_ms),
                               show_number(slots, member->slots),
                               show_number(giving_up, member->giving_up),
                               show_number(topics, (uint64_t) member->topics)};

    output_set(object, "name", json_string(member->name));
    output_set(object, "host", json_string(member->host));
    output_set(object, "pid", json_integer(member->pid));
    output_set(object, "state", json_string(show_states[member->state]));
    output_set(object, "why", json_string(member->why));
    output_set(object, "incarnation", json_integer(member->incarnation));
    output_set(object, "since_at_ms", json_integer(member->since_at_ms));
    output_set(object, "weight", json_integer(member->weight));
    output_set(object, "topics", json_integer(member->topics));
    show_set_number(object, "slots", member->slots);
    show_set_number(object, "giving_up", member->giving_up);
    show_set_number(object, "standing_by", member->standing_by);
    output_row(show->member_table, row, sizeof(row) / sizeof(row[0]));
    if (member->why[0] != '\0') {
        say("the node of member %s cannot be read: %s", member->name, member->why);
    }
    return true;
}

static bool show_topic(const smq_fleet_topic *topic, void *user)
{
    struct show *show = user;
    char slots[SHOW_CELL], unowned[SHOW_CELL], moving[SHOW_CELL], members[SHOW_CELL],
        since[SHOW_CELL];
    const char *const row[] = {topic->name,
                               show_number(slots, (uint64_t) topic->slots),
                               show_number(unowned, topic->unowned),
                               show_number(moving, topic->moving),
                               show_number(members, (uint64_t) topic->members),
                               show_time(since, topic->since_at_ms)};

    show->picked = !show->flags->topic || strcmp(show->flags->topic, topic->name) == 0;
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
    output_row(show->topic_table, row, sizeof(row) / sizeof(row[0]));
    if (topic->why[0] != '\0') {
        say("the nodes of topic %s cannot be read: %s", topic->name, topic->why);
    }
    return true;
}

static bool show_share(const smq_fleet_share *share, void *user)
{
    struct show *show = user;
    char weight[SHOW_CELL], slots[SHOW_CELL];

    if (!show->picked) {
        return true;
    }
    json_t *object = show_append(show->shares);
    const char *const note = share->leaving ? "it gives the topic up" : share->stands_by;
    const char *const row[] = {share->topic, share->member,
                               show_number(weight, (uint64_t) share->weight),
                               show_number(slots, share->slots),
                               show->flags->slots ? show_text(share->ranges) : show_text(note)};
    output_set(object, "member", json_string(share->member));
    output_set(object, "weight", json_integer(share->weight));
    output_set(object, "leaving", json_boolean(share->leaving));
    output_set(object, "drain_timeout_ms", json_integer(share->drain_timeout_ms));
    show_set_number(object, "slots", share->slots);
    if (show->flags->slots) {
        output_set(object, "ranges", json_string(share->ranges));
    }
    output_set(object, "stands_by", json_string(share->stands_by));
    output_row(show->share_table, row, sizeof(row) / sizeof(row[0]));
    return true;
}

static bool show_move(const smq_fleet_move *move, void *user)
{
    struct show *show = user;
    char slots[SHOW_CELL], since[SHOW_CELL];
    const char *const row[] = {move->topic,
                               show->flags->slots ? move->ranges : show_number(slots, move->slots),
                               show_time(since, move->since_at_ms), move->why};

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
    output_row(show->move_table, row, sizeof(row) / sizeof(row[0]));
    return true;
}

/* === What is printed ==================================================== */

static void show_begin(struct show *show)
{
    static const char *const members[] = {"=MEMBER", "HOST",   ">PID",       ">WEIGHT", "STATE",
                                          "SINCE",   ">SLOTS", ">GIVING_UP", ">TOPICS"};
    static const char *const topics[] = {"=TOPIC",  ">SLOTS",   ">UNOWNED",
                                         ">MOVING", ">MEMBERS", "SINCE"};
    static const char *const shares[] = {"=TOPIC", "=MEMBER", ">WEIGHT", ">SLOTS", "=NOTE"};
    static const char *const owned[] = {"=TOPIC", "=MEMBER", ">WEIGHT", ">SLOTS", "=WHICH"};
    static const char *const moves[] = {"=TOPIC", ">MOVING", "SINCE", "=WAITS FOR"};

    show->document = json_object();
    show->members = show_array(show->document, "members");
    show->all = show_array(show->document, "topics");
    show->fleet_table = output_pairs();
    show->member_table = output_table(members, sizeof(members) / sizeof(members[0]));
    show->topic_table = output_table(topics, sizeof(topics) / sizeof(topics[0]));
    show->share_table =
        output_table(show->flags->slots ? owned : shares, sizeof(shares) / sizeof(shares[0]));
    show->move_table = output_table(moves, sizeof(moves) / sizeof(moves[0]));
}

/* Prints and frees a table, below a blank line; an empty one is left out. */
static void show_print(struct libscols_table *table)
{
    if (output_table_is_empty(table)) {
        output_table_free(table);
        return;
    }
    putchar('\n');
    output_table_print_parts(table, 1, SIZE_MAX);
}

static void show_end(struct show *show, bool print)
{
    if (print && show->json) {
        output_json(json_incref(show->document));
    }
    json_decref(show->document);
    if (print && !show->json) {
        output_table_print(show->fleet_table);
        show_print(show->member_table);
        show_print(show->topic_table);
        show_print(show->share_table);
        show_print(show->move_table);
        return;
    }
    output_table_free(show->fleet_table);
    output_table_free(show->member_table);
    output_table_free(show->topic_table);
    output_table_free(show->share_table);
    output_table_free(show->move_table);
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
    .run = show_run,
};
