/* groups.c - deleting a topic, or one of its groups.
 *
 * Thread: the caller's. */
#include <stdio.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/topic_change.h"
#include "base/buf.h"
#include "base/status.h"

/* Write all groups of the topic but this one. */
static void groups_without(struct buf *out, const struct topic *topic, const char *name)
{
    char part[TOPIC_NAME_MAX + 1];

    for (int i = 0; i < topic_parts(topic); i++) {
        topic_part_name(part, topic, i);
        if (strcmp(part, name) != 0) {
            buf_printf(out, "%s%s", out->len > 0 ? "," : "", group_in(part));
        }
    }
}

static smq_status groups_drop(struct core *core, const struct topic *topic, const char *name,
                              bool force, smq_error *err)
{
    struct buf left = {0};
    smq_status status;

    if (topic_parts(topic) == 1) {
        return status_set(err, SMQ_INVALID,
                          "%s is the last group of topic %s: delete the topic, or add another "
                          "group first",
                          name, topic->name);
    }
    groups_without(&left, topic, name);
    status = alter_topic(core, topic->name, "groups", left.data, force, err);
    buf_fini(&left);
    return status;
}

smq_status admin_topic_delete(struct core *core, const char *topic, bool force, smq_error *err)
{
    char whole[TOPIC_NAME_MAX + 1];
    struct topic stored;
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK || group_in(topic) == NULL) {
        return status == SMQ_OK ? delete_topic(core, topic, force, err) : status;
    }
    (void) snprintf(whole, sizeof(whole), "%.*s", (int) group_topic_len(topic), topic);
    status = fanout_definition(&stored, core, whole, err);
    if (status != SMQ_OK && status != SMQ_NO_TOPIC) {
        return status;
    }
    if (status == SMQ_OK && topic_has_part(&stored, topic)) {
        return groups_drop(core, &stored, topic, force, err);
    }
    return delete_topic(core, topic, force, err); /* an interrupted alteration has left it */
}
