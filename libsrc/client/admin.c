/* admin.c - public entry points: inspecting topics, inspecting and editing messages.
 *
 * Thread: any. */
#include <slotmq/admin.h>

#include "admin/admin.h"
#include "base/status.h"
#include "client/client.h"
#include "client/options.h"

SMQ_API smq_status smq_topic_stats(smq_client *client, const char *topic, smq_stats *out,
                                   smq_error *err)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_status status = client_check(client, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = options_copy_out(out, &stats, sizeof(stats), "SMQ_STATS_INIT", err);
    if (status != SMQ_OK) {
        return status;
    }
    status = admin_stats(&stats, client->core, topic, err);
    return status == SMQ_OK ? options_copy_out(out, &stats, sizeof(stats), "SMQ_STATS_INIT", err)
                            : status;
}

SMQ_API smq_status smq_topic_slots(smq_client *client, const char *topic, smq_slot_fn *visit,
                                   void *user, smq_error *err)
{
    smq_status status = client_check_visit(client, visit != NULL, err);

    return status == SMQ_OK ? admin_slots(client->core, topic, visit, user, err) : status;
}

static smq_status admin_check_and_copy_ref(smq_message_ref *out, const smq_client *client,
                                           const smq_message_ref *which, smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK
               ? options_check_and_copy(out, sizeof(*out), which, "SMQ_MESSAGE_REF_INIT", err)
               : status;
}

/* `which` is the place of the message that the filter names. */
static smq_status admin_check_and_copy_filter(smq_filter *out, smq_message_ref *which,
                                              const smq_client *client, const smq_filter *filter,
                                              smq_error *err)
{
    static const smq_filter defaults = SMQ_FILTER_INIT;
    smq_status status = options_check_and_copy(
        out, sizeof(*out), filter != NULL ? filter : &defaults, "SMQ_FILTER_INIT", err);

    if (status == SMQ_OK && out->which != NULL) {
        status = admin_check_and_copy_ref(which, client, out->which, err);
        out->which = which;
    }
    return status;
}

/* The checks before an edit of many messages. */
static smq_status admin_begin_edit(smq_filter *out, smq_message_ref *which, uint64_t *count,
                                   const smq_client *client, const smq_filter *filter,
                                   smq_error *err)
{
    smq_status status = client_check(client, err);

    if (count != NULL) {
        *count = 0;
    }
    return status == SMQ_OK ? admin_check_and_copy_filter(out, which, client, filter, err) : status;
}

SMQ_API smq_status smq_message_each(smq_client *client, const char *topic, const smq_filter *filter,
                                    smq_message_fn *visit, void *user, smq_error *err)
{
    smq_message_ref which;
    smq_filter known;
    smq_status status = client_check_visit(client, visit != NULL, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = admin_check_and_copy_filter(&known, &which, client, filter, err);
    return status == SMQ_OK ? admin_message_each(client->core, topic, &known, visit, user, err)
                            : status;
}

SMQ_API smq_status smq_message_get(smq_client *client, const char *topic,
                                   const smq_message_ref *which, smq_message_info **out,
                                   smq_error *err)
{
    smq_message_ref known;
    smq_status status = admin_check_and_copy_ref(&known, client, which, err);

    return status == SMQ_OK ? admin_message_get(out, client->core, topic, &known, err) : status;
}

SMQ_API void smq_message_info_free(smq_message_info *info)
{
    admin_message_info_free(info);
}

SMQ_API smq_status smq_message_rank(smq_client *client, const char *topic,
                                    const smq_message_ref *which, uint64_t *out, smq_error *err)
{
    smq_message_ref known;
    smq_status status = admin_check_and_copy_ref(&known, client, which, err);

    if (status == SMQ_OK && out == NULL) {
        return status_set(err, SMQ_INVALID, "there is no place for the rank: out is NULL");
    }
    return status == SMQ_OK ? admin_message_rank(out, client->core, topic, &known, err) : status;
}

SMQ_API smq_status smq_message_remove(smq_client *client, const char *topic,
                                      const smq_message_ref *which, smq_error *err)
{
    smq_message_ref known;
    smq_status status = admin_check_and_copy_ref(&known, client, which, err);

    return status == SMQ_OK ? admin_message_remove(client->core, topic, &known, err) : status;
}

SMQ_API smq_status smq_message_reschedule(smq_client *client, const char *topic,
                                          const smq_message_ref *which, const smq_message *place,
                                          smq_error *err)
{
    smq_message_ref known;
    smq_message to;
    smq_status status = admin_check_and_copy_ref(&known, client, which, err);

    if (status == SMQ_OK) {
        status = options_check_and_copy(&to, sizeof(to), place, "SMQ_MESSAGE_INIT", err);
    }
    return status == SMQ_OK ? admin_message_reschedule(client->core, topic, &known, &to, err)
                            : status;
}

SMQ_API smq_status smq_dead_requeue(smq_client *client, const char *topic, const smq_filter *filter,
                                    uint64_t *count, smq_progress_fn *progress, void *user,
                                    smq_error *err)
{
    smq_message_ref which;
    smq_filter known;
    smq_status status = admin_begin_edit(&known, &which, count, client, filter, err);

    return status == SMQ_OK
               ? admin_dead_requeue(count, client->core, topic, &known, progress, user, err)
               : status;
}

SMQ_API smq_status smq_topic_purge(smq_client *client, const char *topic, const smq_filter *filter,
                                   uint64_t *count, smq_progress_fn *progress, void *user,
                                   smq_error *err)
{
    smq_message_ref which;
    smq_filter known;
    smq_status status = admin_begin_edit(&known, &which, count, client, filter, err);

    return status == SMQ_OK
               ? admin_topic_purge(count, client->core, topic, &known, progress, user, err)
               : status;
}
