/* groups.c - deleting a topic, or one of its groups.
 *
 * Thread: the caller's. */
#include <stdio.h>

#include "admin/admin.h"
#include "admin/topic_change.h"
#include "base/status.h"

static smq_status groups_drop(bool *again, struct core *core, const struct topic *topic,
                              const char *name, bool force, smq_error *err)
{
    if (topic_parts(topic) == 1) {
        return status_set(err, SMQ_INVALID,
                          "%s is the last group of topic %s: delete the topic, or add another "
                          "group first",
                          name, topic->name);
    }
    return alter_drop_group(again, core, topic, name, force, err);
}

static smq_status groups_delete_once(bool *again, struct core *core, const char *topic,
                                     const char *name, bool force, smq_error *err)
{
    struct topic stored;
    smq_status status = fanout_definition(&stored, core, topic, err);

    *again = false;
    if (status != SMQ_OK && status != SMQ_NO_TOPIC) {
        return status;
    }
    if (status == SMQ_OK && topic_has_part(&stored, name)) {
        return groups_drop(again, core, &stored, name, force, err);
    }
    return delete_topic(core, name, force, err); /* an interrupted alteration has left it */
}

smq_status admin_topic_delete(struct core *core, const char *topic, bool force, smq_error *err)
{
    char whole[TOPIC_NAME_MAX + 1];
    bool again = true;
    smq_error own;
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK || group_in(topic) == NULL) {
        return status == SMQ_OK ? delete_topic(core, topic, force, err) : status;
    }
    (void) snprintf(whole, sizeof(whole), "%.*s", (int) group_topic_len(topic), topic);
    for (int i = 0; i < TOPIC_CHANGE_TRIES && again; i++) {
        status = groups_delete_once(&again, core, whole, topic, force, &own);
    }
    return status == SMQ_OK ? SMQ_OK : status_copy(err, &own);
}
