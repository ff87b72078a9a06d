/* fleet_json.c - what the nodes of a fleet say, as slotmq fleet show --json shows it.  Pure. */
#include "cli/fleet/fleet_json.h"

#include "cli/fleet/fleet_table.h"
#include "cli/text/output.h"

static const char *const fleet_json_waits[] = {[SMQ_WAIT_ACKNOWLEDGE] = "acknowledge",
                                               [SMQ_WAIT_DRAIN] = "drain",
                                               [SMQ_WAIT_ASSIGNER] = "assigner"};

static void fleet_json_number(json_t *object, const char *name, uint64_t number)
{
    output_set(object, name, json_integer((json_int_t) number));
}

static json_t *fleet_json_append(json_t *array)
{
    json_t *object = json_object();

    output_append(array, object);
    return object;
}

static json_t *fleet_json_array(json_t *object, const char *name)
{
    json_t *array = json_array();

    output_set(object, name, array);
    return array;
}

void fleet_json_begin(struct fleet_json *json, bool slots)
{
    *json = (struct fleet_json){.document = json_object(), .slots = slots};
    json->members = fleet_json_array(json->document, "members");
    json->topics = fleet_json_array(json->document, "topics");
}

void fleet_json_add_fleet(struct fleet_json *json, const smq_fleet_info *fleet)
{
    output_set(json->document, "root", output_text(fleet->root));
    output_set(json->document, "identity", output_text(fleet->identity));
    fleet_json_number(json->document, "generation", fleet->generation);
    output_set(json->document, "assigner", output_text(fleet->assigner));
    output_set(json->document, "assigner_since_at_ms", json_integer(fleet->assigner_since_at_ms));
    output_set(json->document, "epoch", json_integer(fleet->epoch));
    fleet_json_number(json->document, "unreadable", fleet->unreadable);
    output_set(json->document, "kind", json_string(fleet->reign != 0 ? "redis" : "zookeeper"));
    output_set(json->document, "reign", json_integer(fleet->reign));
    output_set(json->document, "grace_ms", json_integer(fleet->grace_ms));
    output_set(json->document, "server", output_text(fleet->server));
}

void fleet_json_add_member(struct fleet_json *json, const smq_fleet_member *member)
{
    json_t *object = fleet_json_append(json->members);

    output_set(object, "name", output_text(member->name));
    output_set(object, "host", output_text(member->host));
    output_set(object, "pid", json_integer(member->pid));
    output_set(object, "state", json_string(fleet_state_name(member->state)));
    output_set(object, "why", output_text(member->why));
    output_set(object, "incarnation", json_integer(member->incarnation));
    output_set(object, "since_at_ms", json_integer(member->since_at_ms));
    output_set(object, "weight", json_integer(member->weight));
    output_set(object, "topics", json_integer(member->topics));
    fleet_json_number(object, "slots", member->slots);
    fleet_json_number(object, "giving_up", member->giving_up);
    fleet_json_number(object, "standing_by", member->standing_by);
}

void fleet_json_add_topic(struct fleet_json *json, const smq_fleet_topic *topic)
{
    json_t *object = fleet_json_append(json->topics);

    output_set(object, "topic", output_text(topic->name));
    output_set(object, "slots", json_integer(topic->slots));
    fleet_json_number(object, "unowned", topic->unowned);
    fleet_json_number(object, "moving", topic->moving);
    output_set(object, "members", json_integer(topic->members));
    output_set(object, "epoch", json_integer(topic->epoch));
    output_set(object, "since_at_ms", json_integer(topic->since_at_ms));
    output_set(object, "why", output_text(topic->why));
    json->shares = fleet_json_array(object, "shares");
    json->moves = fleet_json_array(object, "moves");
}

void fleet_json_add_share(struct fleet_json *json, const smq_fleet_share *share)
{
    json_t *object = fleet_json_append(json->shares);

    output_set(object, "member", output_text(share->member));
    output_set(object, "weight", json_integer(share->weight));
    output_set(object, "leaving", json_boolean(share->leaving));
    output_set(object, "drain_timeout_ms", json_integer(share->drain_timeout_ms));
    fleet_json_number(object, "slots", share->slots);
    if (json->slots) {
        output_set(object, "ranges", output_text(share->ranges));
    }
    output_set(object, "stands_by", output_text(share->stands_by));
}

void fleet_json_add_move(struct fleet_json *json, const smq_fleet_move *move)
{
    json_t *object = fleet_json_append(json->moves);

    output_set(object, "from", output_text(move->from));
    output_set(object, "waits_for", json_string(fleet_json_waits[move->wait]));
    fleet_json_number(object, "slots", move->slots);
    if (json->slots) {
        output_set(object, "ranges", output_text(move->ranges));
    }
    output_set(object, "why", output_text(move->why));
    output_set(object, "since_at_ms", json_integer(move->since_at_ms));
}
