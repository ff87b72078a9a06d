/* topic.c - public entry points: topics.
 *
 * Thread: any. */
#include <slotmq/ops.h>
#include <slotmq/topic.h>

#include "admin/admin.h"
#include "client/client.h"
#include "client/options.h"

/* Check the caller's report, which may be NULL. */
static smq_status topic_check_report(smq_topic_report *out, smq_client *client, smq_error *err)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_status status = client_check(client, err);

    return status == SMQ_OK && out != NULL
               ? options_copy_out(out, &report, sizeof(report), "SMQ_TOPIC_REPORT_INIT", err)
               : status;
}

static smq_status topic_copy_out_report(smq_topic_report *out, const smq_topic_report *report,
                                        smq_status status, smq_error *err)
{
    return status == SMQ_OK && out != NULL
               ? options_copy_out(out, report, sizeof(*report), "SMQ_TOPIC_REPORT_INIT", err)
               : status;
}

SMQ_API smq_status smq_topic_create(smq_client *client, const smq_topic_options *options,
                                    smq_topic_report *out, smq_error *err)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_topic_options known;
    smq_status status = topic_check_report(out, client, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = options_check_and_copy(&known, sizeof(known), options, "SMQ_TOPIC_OPTIONS_INIT", err);
    if (status == SMQ_OK) {
        status = admin_topic_create(&report, client->core, &known, err);
    }
    return topic_copy_out_report(out, &report, status, err);
}

SMQ_API smq_status smq_topic_repair(smq_client *client, const char *topic, smq_topic_report *out,
                                    smq_error *err)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_status status = topic_check_report(out, client, err);

    if (status == SMQ_OK) {
        status = admin_topic_repair(&report, client->core, topic, err);
    }
    return topic_copy_out_report(out, &report, status, err);
}

SMQ_API smq_status smq_topic_delete(smq_client *client, const char *topic, bool force,
                                    smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_topic_delete(client->core, topic, force, err) : status;
}

SMQ_API smq_status smq_topic_rebind(smq_client *client, const char *topic, bool force,
                                    smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_topic_rebind(client->core, topic, force, err) : status;
}

SMQ_API smq_status smq_topic_find_older(smq_client *client, const char *topic, smq_topic_older *out,
                                        smq_error *err)
{
    smq_topic_older older = SMQ_TOPIC_OLDER_INIT;
    smq_status status = client_check_visit(client, true, err);

    if (status == SMQ_OK) { /* before anything is asked: is the caller's struct one? */
        status = options_copy_out(out, &older, sizeof(older), "SMQ_TOPIC_OLDER_INIT", err);
    }
    if (status == SMQ_OK) {
        status = admin_topic_older(&older, client->core, topic, err);
    }
    return status == SMQ_OK
               ? options_copy_out(out, &older, sizeof(older), "SMQ_TOPIC_OLDER_INIT", err)
               : status;
}

SMQ_API smq_status smq_topic_get(smq_client *client, const char *topic, smq_topic_info **out,
                                 smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_topic_get(out, client->core, topic, err) : status;
}

SMQ_API void smq_topic_info_free(smq_topic_info *info)
{
    admin_topic_info_free(info);
}

SMQ_API smq_status smq_topic_each(smq_client *client, smq_topic_fn *visit, void *user,
                                  smq_error *err)
{
    smq_status status = client_check_visit(client, visit != NULL, err);

    return status == SMQ_OK ? admin_topic_each(client->core, false, visit, user, err) : status;
}

SMQ_API smq_status smq_topic_search(smq_client *client, smq_topic_fn *visit, void *user,
                                    smq_error *err)
{
    smq_status status = client_check_visit(client, visit != NULL, err);

    return status == SMQ_OK ? admin_topic_each(client->core, true, visit, user, err) : status;
}

SMQ_API smq_status smq_topic_alter(smq_client *client, const smq_topic_options *options,
                                   const char *fields, smq_error *err)
{
    smq_topic_options known;
    smq_status status = client_check(client, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = options_check_and_copy(&known, sizeof(known), options, "SMQ_TOPIC_OPTIONS_INIT", err);
    return status == SMQ_OK ? admin_topic_alter(client->core, &known, fields, err) : status;
}

SMQ_API smq_status smq_topic_pause(smq_client *client, const char *topic, smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_topic_pause(client->core, topic, true, err) : status;
}

SMQ_API smq_status smq_topic_resume(smq_client *client, const char *topic, smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_topic_pause(client->core, topic, false, err) : status;
}
