/* alteration.c - see alteration.h.
 *
 * Other callers may alter the same topic at any moment, and may name a group that is taken back
 * here.  So it is sealed before the last look at the topic: the script `topic` stores no definition
 * with a new group that is not ready. */
#include "admin/alteration.h"

#include <string.h>

#include "admin/admin.h"
#include "base/status.h"

/* The group may be missing: Redis has lost it. */
static smq_status alteration_check_stable(struct core *core, const char *name, smq_error *err)
{
    struct topic_change group = {.core = core};
    smq_error own;
    smq_status status = topic_change_read_named(&group, name, &own);

    if (status != SMQ_OK && group.state != STORE_TOPIC_MISSING) {
        return status_copy(err, &own);
    }
    if (group.state != STORE_TOPIC_DELETING) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_TOPIC_DIFFERS,
                      "%s is being dropped by another caller: try again when that call has ended; "
                      "if it was interrupted, repeat it",
                      name);
}

smq_status alteration_check_kept(const struct alteration *alteration, smq_error *err)
{
    const struct topic_change *change = &alteration->change;
    char name[TOPIC_NAME_MAX + 1];
    smq_status status = SMQ_OK;

    for (int i = 0; i < group_list_count(change->stored.groups) && status == SMQ_OK; i++) {
        topic_part_name(name, &change->stored, i);
        if (topic_has_part(&change->topic, name)) {
            status = alteration_check_stable(change->core, name, err);
        }
    }
    return status;
}

/* Write the name of the stored group at `index`.  Is it dropped? */
static bool alteration_drops(char name[TOPIC_NAME_MAX + 1], const struct topic_change *change,
                             int index)
{
    topic_part_name(name, &change->stored, index);
    return !topic_has_part(&change->topic, name);
}

smq_status alteration_check_dropped(const struct alteration *alteration, smq_error *err)
{
    const struct topic_change *change = &alteration->change;
    char name[TOPIC_NAME_MAX + 1];
    smq_status status = SMQ_OK;

    for (int i = 0; i < topic_parts(&change->stored) && status == SMQ_OK; i++) {
        if (alteration_drops(name, change, i)) {
            status = delete_check_group(change->core, name, alteration->force, err);
        }
    }
    return status;
}

/* A new group has the schedules of the first one; of one that Redis has lost it has none.  A call
 * that was interrupted may have made the group, and copied some of them or none, and some may have
 * changed since: until the topic names a group, it gets them with each call. */
static smq_status alteration_copy_schedules(const struct topic_change *change, const char *group,
                                            smq_error *err)
{
    char first[TOPIC_NAME_MAX + 1];
    smq_error own;
    smq_status status;

    topic_part_name(first, &change->stored, 0);
    status = admin_schedules_copy(change->core, first, group, &own);
    return status == SMQ_OK || status == SMQ_DAMAGED || status == SMQ_NO_TOPIC
               ? SMQ_OK
               : status_copy(err, &own);
}

smq_status alteration_make_added(struct alteration *alteration, smq_error *err)
{
    const struct topic_change *change = &alteration->change;
    struct topic wanted = change->stored;
    struct topic part;
    smq_status status = SMQ_OK;

    memcpy(wanted.groups, change->topic.groups, sizeof(wanted.groups));
    for (int i = 0; i < topic_parts(&wanted) && status == SMQ_OK; i++) {
        smq_topic_report report = SMQ_TOPIC_REPORT_INIT;

        topic_part(&part, &wanted, i);
        if (!topic_has_part(&change->stored, part.name)) {
            status = create_one(&report, change->core, &part, err);
            alteration->made[i] = alteration->made[i] || (status == SMQ_OK && report.created);
            if (status == SMQ_OK) {
                status = alteration_copy_schedules(change, part.name, err);
            }
        }
    }
    return status;
}

smq_status alteration_seal_dropped(struct alteration *alteration, smq_error *err)
{
    const struct topic_change *change = &alteration->change;
    char name[TOPIC_NAME_MAX + 1];
    smq_status status = SMQ_OK;

    for (int i = 0; i < topic_parts(&change->stored) && status == SMQ_OK; i++) {
        if (alteration_drops(name, change, i)) {
            status = delete_seal_group(&alteration->sealed[i], change->core, name,
                                       alteration->force, err);
        }
    }
    return status;
}

smq_status alteration_clear_dropped(const struct alteration *alteration, smq_error *err)
{
    const struct topic_change *change = &alteration->change;
    char name[TOPIC_NAME_MAX + 1];
    smq_status status = SMQ_OK;

    for (int i = 0; i < topic_parts(&change->stored) && status == SMQ_OK; i++) {
        if (alteration_drops(name, change, i)) {
            status = delete_clear_group(change->core, name, err);
        }
    }
    return status;
}

/* --- taking back --- */

/* Does the topic name this group?  Returns false if that is not known.  A topic that is gone, or
 * being deleted, names none. */
static bool alteration_look(bool *named, smq_status *status, const struct topic_change *change,
                            const char *group)
{
    struct topic stored;

    *status = fanout_definition(&stored, change->core, change->stored.name, NULL);
    *named = *status == SMQ_OK && topic_has_part(&stored, group);
    return *status == SMQ_OK || *status == SMQ_NO_TOPIC;
}

/* Open a group that this call has sealed; or remove it, if another caller has dropped it.  The
 * deletion of a whole topic seals its groups anew, so it is not disturbed. */
static bool alteration_reopen(const struct topic_change *change, const char *name,
                              uint32_t deletion)
{
    smq_status status;
    bool named;

    if (!alteration_look(&named, &status, change, name)) {
        return false;
    }
    return status == SMQ_OK && !named
               ? delete_clear_group(change->core, name, NULL) == SMQ_OK
               : delete_unseal_group(change->core, name, deletion, NULL) == SMQ_OK;
}

/* Remove a group that this call has made, unless another caller has named it since. */
static bool alteration_unmake(const struct topic_change *change, const char *name)
{
    uint32_t deletion = 0;
    smq_status status;
    bool named;

    if (!alteration_look(&named, &status, change, name)) {
        return false;
    }
    if (named) {
        return true;
    }
    if (delete_seal_group(&deletion, change->core, name, false, NULL) != SMQ_OK ||
        !alteration_look(&named, &status, change, name)) {
        return false;
    }
    return named ? delete_unseal_group(change->core, name, deletion, NULL) == SMQ_OK
                 : delete_clear_group(change->core, name, NULL) == SMQ_OK;
}

bool alteration_take_back(const struct alteration *alteration)
{
    const struct topic_change *change = &alteration->change;
    char name[TOPIC_NAME_MAX + 1];
    bool all = true;

    for (int i = 0; i < group_list_count(alteration->from); i++) {
        if (alteration->sealed[i] > 0) {
            group_list_name(name, change->stored.name, alteration->from, i);
            all = alteration_reopen(change, name, alteration->sealed[i]) && all;
        }
    }
    for (int i = 0; i < group_list_count(alteration->to); i++) {
        if (alteration->made[i]) {
            group_list_name(name, change->stored.name, alteration->to, i);
            all = alteration_unmake(change, name) && all;
        }
    }
    return all;
}
