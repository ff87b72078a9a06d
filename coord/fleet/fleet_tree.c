/* fleet_tree.c - the nodes of a fleet in ZooKeeper: decoding them, and showing members, shares and
 * moves.
 *
 * Pure. */
#include "coord/fleet/fleet_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const char fleet_tree_denied[] = "access is denied: give all members, and this program, the same "
                                 "zookeeper_auth";
const char fleet_tree_damaged[] = "it is damaged, or of a later version";

/* --- memory --- */

void fleet_tree_fini(struct fleet_tree *tree)
{
    for (size_t i = 0; i < tree->member_count; i++) {
        free(tree->members[i].name);
        member_info_fini(&tree->members[i].info);
    }
    for (size_t i = 0; i < tree->topic_count; i++) {
        free(tree->topics[i].name);
        assignment_fini(&tree->topics[i].assignment);
    }
    free(tree->members);
    free(tree->topics);
    *tree = (struct fleet_tree){.path = tree->path, .epoch = -1};
}

static int fleet_tree_compare_members(const void *left, const void *right)
{
    const struct fleet_tree_member *a = left;
    const struct fleet_tree_member *b = right;

    return strcmp(a->name, b->name);
}

static int fleet_tree_compare_topics(const void *left, const void *right)
{
    const struct fleet_tree_topic *a = left;
    const struct fleet_tree_topic *b = right;

    return strcmp(a->name, b->name);
}

void fleet_tree_sort(struct fleet_tree *tree)
{
    if (tree->member_count > 1) {
        qsort(tree->members, tree->member_count, sizeof(*tree->members),
              fleet_tree_compare_members);
    }
    if (tree->topic_count > 1) {
        qsort(tree->topics, tree->topic_count, sizeof(*tree->topics), fleet_tree_compare_topics);
    }
}

void fleet_tree_drop_gone(struct fleet_tree *tree)
{
    size_t members = 0;
    size_t topics = 0;

    for (size_t i = 0; i < tree->member_count; i++) {
        if (tree->members[i].exists) {
            tree->members[members++] = tree->members[i];
        } else {
            free(tree->members[i].name);
        }
    }
    for (size_t i = 0; i < tree->topic_count; i++) {
        if (tree->topics[i].exists) {
            tree->topics[topics++] = tree->topics[i];
        } else {
            free(tree->topics[i].name);
            assignment_fini(&tree->topics[i].assignment);
        }
    }
    tree->member_count = members;
    tree->topic_count = topics;
}

/* Does a member ask for a topic of this name, or may it? */
static bool fleet_tree_is_asked(const struct fleet_tree *tree, const char *topic)
{
    for (size_t i = 0; i < tree->member_count; i++) {
        const struct fleet_tree_member *member = &tree->members[i];

        if (member->unread != NULL || member_info_asks(&member->info, topic)) {
            return true;
        }
    }
    return false;
}

void fleet_tree_drop_asked(struct fleet_tree *tree, bool (*keep)(const char *topic, void *user),
                           void *user)
{
    size_t topics = 0;

    for (size_t i = 0; i < tree->topic_count; i++) {
        struct fleet_tree_topic *topic = &tree->topics[i];

        if (topic->unread == fleet_tree_denied || fleet_tree_is_asked(tree, topic->name) ||
            keep(topic->name, user)) {
            free(topic->name);
            assignment_fini(&topic->assignment);
        } else {
            tree->topics[topics++] = *topic;
        }
    }
    tree->topic_count = topics;
}

void fleet_tree_find_hidden(struct fleet_tree *tree)
{
    for (size_t i = 0; i < tree->member_count; i++) {
        struct fleet_tree_member *member = &tree->members[i];

        for (size_t t = 0; member->unread == fleet_tree_denied && t < tree->topic_count; t++) {
            const struct assignment *assignment = &tree->topics[t].assignment;
            const int64_t assigned = assignment_newest(assignment, member->name);

            member->incarnation = assigned > member->incarnation ? assigned : member->incarnation;
        }
    }
}

/* --- decoding --- */

bool fleet_tree_read_assigner(struct fleet_tree *tree, const char *data, size_t len)
{
    char *text = memory_copy(data, len);
    const bool good = sscanf(text, "member %255s", tree->assigner) == 1;

    free(text);
    return good;
}

bool fleet_tree_read_member(struct fleet_tree_member *member, const char *data, size_t len)
{
    const bool good = member_text_parse(&member->info, data, len);

    member->unread = good ? NULL : fleet_tree_damaged;
    return good;
}

bool fleet_tree_read_topic(struct fleet_tree_topic *topic, const char *data, size_t len)
{
    char *text = memory_copy(data, len);
    int slots = 0;
    const bool good = sscanf(text, "nonce %255s slots %d", topic->nonce, &slots) == 2 &&
                      slots >= 1 && slots <= MEMBER_SLOTS_MAX;

    free(text);
    topic->slots = good ? slots : 0;
    topic->unread = good ? topic->unread : fleet_tree_damaged;
    return good;
}

bool fleet_tree_read_assignment(struct fleet_tree_topic *topic, const char *data, size_t len)
{
    if (len == 0) {
        return true; /* nothing was assigned yet */
    }
    if (topic->slots == 0) {
        return false;
    }
    if (!assignment_decode(&topic->assignment, data, len) ||
        topic->assignment.slot_count != topic->slots) {
        assignment_fini(&topic->assignment);
        topic->unread = fleet_tree_damaged;
        return false;
    }
    return true;
}

/* --- members and their topics --- */

static const struct member_topic *fleet_tree_asks(const struct fleet_tree_member *member,
                                                  const struct fleet_tree_topic *topic)
{
    return member_info_topic(&member->info, topic->name, topic->nonce);
}

static const struct fleet_tree_member *fleet_tree_find(const struct fleet_tree *tree,
                                                       int64_t incarnation)
{
    for (size_t i = 0; i < tree->member_count; i++) {
        if (tree->members[i].incarnation == incarnation) {
            return &tree->members[i];
        }
    }
    return NULL;
}

/* The slots whose entry is `entry`. */
static uint64_t fleet_tree_collect(struct member_slots *out, const struct assignment *assignment,
                                   unsigned entry)
{
    uint64_t count = 0;

    for (int32_t i = 0; entry != 0 && i < assignment->slot_count; i++) {
        if (assignment->slots[i] == entry) {
            member_slots_add(out, i);
            count++;
        }
    }
    return count;
}

static uint64_t fleet_tree_count(const struct assignment *assignment, unsigned entry)
{
    uint64_t count = 0;

    for (int32_t i = 0; entry != 0 && i < assignment->slot_count; i++) {
        count += assignment->slots[i] == entry ? 1 : 0;
    }
    return count;
}

static bool fleet_tree_is_leaving(const struct member_info *info)
{
    for (size_t i = 0; i < info->topic_count; i++) {
        if (!info->topics[i].leaving) {
            return false;
        }
    }
    return info->topic_count > 0;
}

static smq_member_state fleet_tree_state(const struct fleet_tree_member *member)
{
    if (member->unread != NULL) {
        return SMQ_MEMBER_UNREADABLE;
    }
    if (fleet_tree_is_leaving(&member->info)) {
        return SMQ_MEMBER_LEAVING;
    }
    return member_info_is_reachable(&member->info) ? SMQ_MEMBER_ACTIVE : SMQ_MEMBER_UNREACHABLE;
}

static void fleet_tree_add_topic(smq_fleet_member *shown, const struct fleet_tree_member *member,
                                 const struct fleet_tree_topic *topic)
{
    const unsigned number = assignment_find(&topic->assignment, member->incarnation);
    const struct member_topic *asks = fleet_tree_asks(member, topic);
    const uint64_t slots = fleet_tree_count(&topic->assignment, number);

    shown->slots += slots;
    shown->giving_up +=
        number != 0 ? fleet_tree_count(&topic->assignment, number | ASSIGNMENT_REVOKING) : 0;
    if (asks != NULL) {
        shown->topics++;
        shown->weight += asks->weight;
        shown->standing_by += slots == 0 && !asks->leaving && topic->unread == NULL ? 1 : 0;
    }
}

static bool fleet_tree_show_member(const struct fleet_tree *tree, size_t index,
                                   const smq_fleet_visitor *visitor)
{
    const struct fleet_tree_member *member = &tree->members[index];
    smq_fleet_member shown = {.struct_size = sizeof(shown),
                              .name = member->name,
                              .host = member->info.host,
                              .pid = member->info.pid,
                              .state = fleet_tree_state(member),
                              .why = member->unread != NULL ? member->unread : "",
                              .incarnation = member->incarnation,
                              .since_at_ms = member->since_ms};

    for (size_t i = 0; i < tree->topic_count; i++) {
        fleet_tree_add_topic(&shown, member, &tree->topics[i]);
    }
    return visitor->member(&shown, visitor->user);
}

/* --- why a member stands by --- */

struct fleet_tree_demand {
    int32_t members;  /* members that ask for the topic and do not leave it */
    uint64_t unowned; /* slots without an owner */
    uint64_t moving;
};

static struct fleet_tree_demand fleet_tree_demand(const struct fleet_tree *tree,
                                                  const struct fleet_tree_topic *topic)
{
    struct fleet_tree_demand demand = {.unowned = (uint64_t) topic->slots};

    for (size_t i = 0; i < tree->member_count; i++) {
        const struct member_topic *asks = fleet_tree_asks(&tree->members[i], topic);

        demand.members += asks != NULL && !asks->leaving ? 1 : 0;
    }
    for (int32_t i = 0; i < topic->assignment.slot_count; i++) {
        demand.unowned -= topic->assignment.slots[i] != 0 ? 1 : 0;
        demand.moving += (topic->assignment.slots[i] & ASSIGNMENT_REVOKING) != 0 ? 1 : 0;
    }
    return demand;
}

static const char *fleet_tree_stands_by(const struct fleet_tree *tree,
                                        const struct fleet_tree_topic *topic,
                                        const struct fleet_tree_member *member,
                                        const struct fleet_tree_demand *demand)
{
    if (topic->unread != NULL) {
        return "the nodes of the topic cannot be read";
    }
    if (!member_info_is_reachable(&member->info)) {
        return "it cannot reach Redis";
    }
    if (tree->assigner[0] == '\0') {
        return "no member assigns slots";
    }
    if (demand->moving > 0) {
        return "slots are moving, and it may wait for some of them";
    }
    if (demand->unowned > 0) {
        return "the assigner has not granted slots yet";
    }
    return demand->members > topic->slots ? "more members ask for the topic than it has slots"
                                          : "the other members have all slots by their weight";
}

/* --- topics --- */

static bool fleet_tree_show_share(const struct fleet_tree *tree,
                                  const struct fleet_tree_topic *topic,
                                  const struct fleet_tree_member *member,
                                  const struct fleet_tree_demand *demand,
                                  const smq_fleet_visitor *visitor)
{
    const struct member_topic *asks = fleet_tree_asks(member, topic);
    struct member_slots slots = {0};
    struct buf ranges = {0};
    smq_fleet_share shown = {
        .struct_size = sizeof(shown), .topic = topic->name, .member = member->name};
    bool more = true;

    shown.slots = fleet_tree_collect(&slots, &topic->assignment,
                                     assignment_find(&topic->assignment, member->incarnation));
    if (asks != NULL || shown.slots > 0) {
        member_slots_format(&ranges, &slots);
        shown.ranges = shown.slots > 0 ? ranges.data : "";
        shown.weight = asks != NULL ? asks->weight : 0;
        shown.leaving = asks != NULL && asks->leaving;
        shown.format = member->info.format;
        shown.drain_timeout_ms = asks != NULL ? asks->drain_timeout_ms : 0;
        shown.stands_by = shown.slots == 0 && !shown.leaving
                              ? fleet_tree_stands_by(tree, topic, member, demand)
                              : "";
        more = visitor->share(&shown, visitor->user);
    }
    buf_fini(&ranges);
    member_slots_fini(&slots);
    return more;
}

/* What a slot waits for that `member` is to release; NULL: the node of the member is gone. */
static smq_fleet_wait fleet_tree_wait(const struct fleet_tree_topic *topic,
                                      const struct fleet_tree_member *member, int32_t slot)
{
    const struct member_topic *asks = member != NULL ? fleet_tree_asks(member, topic) : NULL;

    if (member != NULL && member->unread == NULL && asks == NULL) {
        return SMQ_WAIT_ASSIGNER; /* it has left the topic */
    }
    if (asks != NULL && asks->applied >= topic->mzxid) {
        return member_slots_has(&asks->held, slot) ? SMQ_WAIT_DRAIN : SMQ_WAIT_ASSIGNER;
    }
    return member == NULL ? SMQ_WAIT_ASSIGNER : SMQ_WAIT_ACKNOWLEDGE;
}

static void fleet_tree_describe_wait(struct buf *out, smq_fleet_wait wait, const char *from,
                                     const struct member_topic *asks,
                                     const struct fleet_tree_demand *demand)
{
    const int64_t drain_ms = asks != NULL ? asks->drain_timeout_ms : 0;

    switch (wait) {
    case SMQ_WAIT_ACKNOWLEDGE:
        buf_printf(out, "member %s has not acknowledged yet that it must release them", from);
        break;
    case SMQ_WAIT_DRAIN:
        buf_printf(out,
                   "messages are in flight at member %s, for %" PRId64
                   " ms of its drain_timeout at most",
                   from, drain_ms);
        break;
    case SMQ_WAIT_ASSIGNER:
        buf_printf(out, "%s",
                   demand->members > 0
                       ? "the assigner has not granted them to another member yet"
                       : "no member consumes the topic: the first one that does gets them");
        break;
    }
}

/* Show the slots of member number `number` that wait for `wait` as one move. */
static bool fleet_tree_show_move(const struct fleet_tree *tree,
                                 const struct fleet_tree_topic *topic, unsigned number,
                                 const struct fleet_tree_demand *demand, smq_fleet_wait wait,
                                 const smq_fleet_visitor *visitor)
{
    const struct assignment_member *from = &topic->assignment.members[number - 1];
    const struct fleet_tree_member *member = fleet_tree_find(tree, from->incarnation);
    struct member_slots slots = {0};
    struct buf ranges = {0};
    struct buf why = {0};
    smq_fleet_move shown = {.struct_size = sizeof(shown),
                            .topic = topic->name,
                            .from = from->id,
                            .wait = wait,
                            .since_at_ms = topic->written_ms};
    bool more = true;

    for (int32_t i = 0; i < topic->assignment.slot_count; i++) {
        if (topic->assignment.slots[i] == (number | ASSIGNMENT_REVOKING) &&
            fleet_tree_wait(topic, member, i) == wait) {
            member_slots_add(&slots, i);
            shown.slots++;
        }
    }
    if (shown.slots > 0) {
        member_slots_format(&ranges, &slots);
        fleet_tree_describe_wait(&why, wait, from->id,
                                 member != NULL ? fleet_tree_asks(member, topic) : NULL, demand);
        shown.ranges = ranges.data;
        shown.why = why.data;
        more = visitor->move(&shown, visitor->user);
    }
    buf_fini(&why);
    buf_fini(&ranges);
    member_slots_fini(&slots);
    return more;
}

static bool fleet_tree_show_moves(const struct fleet_tree *tree,
                                  const struct fleet_tree_topic *topic,
                                  const struct fleet_tree_demand *demand,
                                  const smq_fleet_visitor *visitor)
{
    bool more = true;

    for (size_t number = 1; number <= topic->assignment.member_count && more; number++) {
        if (fleet_tree_count(&topic->assignment, (unsigned) number | ASSIGNMENT_REVOKING) == 0) {
            continue;
        }
        for (int wait = SMQ_WAIT_ACKNOWLEDGE; wait <= SMQ_WAIT_ASSIGNER && more; wait++) {
            more = fleet_tree_show_move(tree, topic, (unsigned) number, demand,
                                        (smq_fleet_wait) wait, visitor);
        }
    }
    return more;
}

static bool fleet_tree_show_topic(const struct fleet_tree *tree,
                                  const struct fleet_tree_topic *topic,
                                  const smq_fleet_visitor *visitor)
{
    const struct fleet_tree_demand demand = fleet_tree_demand(tree, topic);
    const smq_fleet_topic shown = {.struct_size = sizeof(shown),
                                   .name = topic->name,
                                   .slots = topic->slots,
                                   .unowned = demand.unowned,
                                   .moving = demand.moving,
                                   .members = demand.members,
                                   .epoch = topic->mzxid,
                                   .since_at_ms = topic->written_ms,
                                   .why = topic->unread != NULL ? topic->unread : ""};
    bool more = visitor->topic == NULL || visitor->topic(&shown, visitor->user);

    for (size_t i = 0; visitor->share != NULL && i < tree->member_count && more; i++) {
        more = fleet_tree_show_share(tree, topic, &tree->members[i], &demand, visitor);
    }
    return more && (visitor->move == NULL || fleet_tree_show_moves(tree, topic, &demand, visitor));
}

/* --- the whole fleet --- */

static uint64_t fleet_tree_unreadable(const struct fleet_tree *tree)
{
    uint64_t count = 0;

    for (size_t i = 0; i < tree->member_count; i++) {
        count += tree->members[i].unread != NULL ? 1 : 0;
    }
    for (size_t i = 0; i < tree->topic_count; i++) {
        count += tree->topics[i].unread != NULL ? 1 : 0;
    }
    return count;
}

static bool fleet_tree_show_fleet(const struct fleet_tree *tree, const smq_fleet_visitor *visitor)
{
    const smq_fleet_info shown = {.struct_size = sizeof(shown),
                                  .root = tree->path,
                                  .identity = tree->root.identity,
                                  .generation = tree->root.generation,
                                  .assigner = tree->assigner,
                                  .assigner_since_at_ms = tree->assigner_since_ms,
                                  .epoch = tree->epoch,
                                  .members = tree->member_count,
                                  .topics = tree->topic_count,
                                  .unreadable = fleet_tree_unreadable(tree),
                                  .zxid = tree->zxid,
                                  .reign = tree->reign,
                                  .grace_ms = tree->grace_ms,
                                  .server = tree->server};

    return visitor->fleet == NULL || visitor->fleet(&shown, visitor->user);
}

void fleet_tree_visit(const struct fleet_tree *tree, const smq_fleet_visitor *visitor)
{
    bool more = fleet_tree_show_fleet(tree, visitor);

    for (size_t i = 0; visitor->member != NULL && i < tree->member_count && more; i++) {
        more = fleet_tree_show_member(tree, i, visitor);
    }
    for (size_t i = 0; i < tree->topic_count && more; i++) {
        more = fleet_tree_show_topic(tree, &tree->topics[i], visitor);
    }
}
