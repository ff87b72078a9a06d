/* stat_fleet.c - see stat_fleet.h.
 *
 * The slots are read before the fleet, so that who has joined in between is a member. */
#include "cli/stat/stat_fleet.h"

#include <stdlib.h>
#include <string.h>

#include "cli/text/say.h"

/* The fleet at the root of the client. */
struct stat_fleet {
    char *root; /* owned */
    bool in_redis;
    struct topic_names members; /* sorted */
};

static bool stat_fleet_on_fleet(const smq_fleet_info *info, void *user)
{
    struct stat_fleet *fleet = user;

    fleet->root = say_copy(info->root);
    fleet->in_redis = info->reign != 0;
    return true;
}

static bool stat_fleet_on_member(const smq_fleet_member *member, void *user)
{
    topic_names_add(&((struct stat_fleet *) user)->members, member->name);
    return true;
}

static int stat_fleet_compare(const void *left, const void *right)
{
    return strcmp(*(char *const *) left, *(char *const *) right);
}

static smq_status stat_fleet_read(struct stat_fleet *out, smq_client *client, smq_error *err)
{
    const smq_fleet_visitor visitor =
        SMQ_FLEET_VISITOR(.fleet = stat_fleet_on_fleet, .member = stat_fleet_on_member,
                          .user = out);
    const smq_status status = smq_fleet_describe(client, &visitor, err);

    if (out->members.count > 0) {
        qsort(out->members.name, out->members.count, sizeof(char *), stat_fleet_compare);
    }
    return status;
}

static bool stat_fleet_is_gone(const struct stat_fleet *fleet, const struct stat_slot *slot)
{
    const struct topic_names *members = &fleet->members;

    return slot->owner[0] != '\0' &&
           (members->count == 0 || !bsearch(&slot->owner, members->name, members->count,
                                            sizeof(char *), stat_fleet_compare));
}

/* Does it count as one that has an owner?  As the survey counts. */
static bool stat_fleet_is_owned(const struct stat_slot *slot)
{
    return slot->owner[0] != '\0' &&
           (slot->stats.stalled == 0 || slot->stats.stalled < slot->stats.claimed);
}

static bool stat_fleet_has_gone(const struct stat_fleet *fleet, const struct stat_topic *topic)
{
    for (size_t i = 0; topic->row.has_owners && i < topic->slot_count; i++) {
        if (stat_fleet_is_gone(fleet, &topic->slots[i])) {
            return true;
        }
    }
    return false;
}

static void stat_fleet_mark_topic(const struct stat_fleet *fleet, struct stat_topic *topic)
{
    const char **owners = say_alloc(topic->slot_count, sizeof(*owners)); /* of owned slots, gone */
    size_t count = 0;

    for (size_t i = 0; i < topic->slot_count; i++) {
        struct stat_slot *slot = &topic->slots[i];

        slot->gone = stat_fleet_is_gone(fleet, slot);
        if (slot->gone && stat_fleet_is_owned(slot)) {
            owners[count++] = slot->owner;
        }
    }
    topic->row.slots_unowned += count;
    qsort(owners, count, sizeof(*owners), stat_fleet_compare);
    for (size_t i = 0; i < count; i++) {
        topic->row.owners -= i == 0 || strcmp(owners[i - 1], owners[i]) != 0 ? 1 : 0;
    }
    free(owners);
}

/* Is there an owner of messages, of which ZooKeeper may say that it is gone? */
static bool stat_fleet_matters(const struct stat_topics *topics)
{
    for (size_t i = 0; i < topics->count; i++) {
        const smq_survey_topic *row = &topics->all[i].row;

        if (row->has_owners && row->stats.claimed + row->stats.waiting > 0) {
            return true;
        }
    }
    return false;
}

smq_status stat_fleet_mark_gone(struct stat_topics *topics, smq_client *client, smq_error *err)
{
    struct stat_fleet fleet = {.root = NULL};
    smq_status status = SMQ_OK;

    if (!stat_fleet_matters(topics)) {
        return SMQ_OK;
    }
    status = stat_fleet_read(&fleet, client, err);
    for (size_t i = 0; status == SMQ_OK && i < topics->count; i++) {
        struct stat_topic *topic = &topics->all[i];
        smq_binding binding = SMQ_BINDING_INIT;

        if (stat_fleet_has_gone(&fleet, topic) &&
            smq_topic_binding(client, topic->row.topic, &binding, err) == SMQ_OK &&
            topic_is_bound_to(&binding, fleet.root, fleet.in_redis)) {
            stat_fleet_mark_topic(&fleet, topic);
        }
    }
    topic_names_fini(&fleet.members);
    free(fleet.root);
    return status == SMQ_INVALID ? SMQ_OK : status; /* the client has no ZooKeeper */
}

void stat_fleet_mark_or_say(struct stat_topics *topics, smq_client *client)
{
    smq_error err = SMQ_ERROR_INIT;

    if (stat_fleet_mark_gone(topics, client, &err) != SMQ_OK) {
        say("whether the owners live is not known: %s", err.text);
    }
}
