/* topic.c - public entry points: topics.
 *
 * Thread: any. */
#include <slotmq/options.h>
#include <slotmq/topic.h>

#include "client/client.h"
#include "client/options.h"
#include "queue/admin.h"

SMQ_API smq_status smq_topic_create(smq_client *client, const smq_topic_options *options,
                                    smq_error *err)
{
    smq_topic_options known;
    smq_status status = client_check(client, err);

    if (status == SMQ_OK) {
        status = options_take(&known, sizeof(known), options, "SMQ_TOPIC_OPTIONS_INIT", err);
    }
    return status == SMQ_OK ? admin_topic_create(client->hub, &known, err) : status;
}

SMQ_API smq_status smq_topic_delete(smq_client *client, const char *topic, bool force,
                                    smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_topic_delete(client->hub, topic, force, err) : status;
}

SMQ_API smq_status smq_topic_rebind(smq_client *client, const char *topic, bool force,
                                    smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_topic_rebind(client->hub, topic, force, err) : status;
}

SMQ_API smq_status smq_topic_each(smq_client *client, const char *topic, smq_topic_fn *visit,
                                  void *user, smq_error *err)
{
    smq_status status = client_check_visit(client, visit != NULL, err);

    return status == SMQ_OK ? admin_topic_each(client->hub, topic, visit, user, err) : status;
}

SMQ_API smq_status smq_topic_alter(smq_client *client, const char *topic, const char *option,
                                   const char *value, smq_error *err)
{
    smq_topic_options parsed = SMQ_TOPIC_OPTIONS_INIT;
    smq_status status = client_check(client, err);

    if (status == SMQ_OK) { /* only for its error: the nearest name, or the range */
        status = smq_option_parse(&parsed, SMQ_OPTIONS_TOPIC, option, value, err);
    }
    return status == SMQ_OK ? admin_topic_alter(client->hub, topic, option, value, err) : status;
}

SMQ_API smq_status smq_topic_pause(smq_client *client, const char *topic, smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_topic_pause(client->hub, topic, true, err) : status;
}

SMQ_API smq_status smq_topic_resume(smq_client *client, const char *topic, smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_topic_pause(client->hub, topic, false, err) : status;
}
