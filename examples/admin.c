/* admin.c - changes options of a topic, shows what it holds, and sends back the dead letters whose
 * reason was a time-out, a hundred a second.
 *
 * usage: admin REDIS TOPIC [OPTION=VALUE...] */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <slotmq/slotmq.h>

/* All of them change, or none does. */
static smq_status alter(smq_client *client, const char *topic, char **settings, smq_error *err)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.name = topic);
    char fields[256] = "";
    smq_status status = SMQ_OK;

    for (size_t i = 0, len = 0; settings[i] != NULL && status == SMQ_OK; i++) {
        char *value = strchr(settings[i], '=');

        if (value != NULL) {
            *value++ = '\0';
        }
        status = smq_option_parse(&options, SMQ_OPTION_SET_TOPIC, settings[i], value, err);
        len += (size_t) snprintf(fields + len, sizeof(fields) - len, "%s%s", i > 0 ? "," : "",
                                 settings[i]);
        if (len >= sizeof(fields)) {
            len = sizeof(fields) - 1;
        }
    }
    return status != SMQ_OK || fields[0] == '\0' ? status
                                                 : smq_topic_alter(client, &options, fields, err);
}

static smq_status show_topic(smq_client *client, const char *topic, smq_error *err)
{
    smq_topic_info *info;
    smq_status status = smq_topic_get(client, topic, &info, err);

    if (status == SMQ_OK) {
        printf("%s: %d slots, %d retries, back-off %s%s\n", info->name, (int) info->options->slots,
               (int) info->options->max_retries, info->options->backoff,
               info->paused ? ", paused" : "");
        smq_topic_info_free(info);
    }
    return status;
}

static bool show_slot(const smq_slot_info *slot, void *user)
{
    (void) user;
    if (slot->stats.waiting > 0) {
        printf("slot %d of %s: %" PRIu64 " waiting\n", (int) slot->slot,
               slot->owner[0] != '\0' ? slot->owner : "nobody", slot->stats.waiting);
    }
    return true;
}

static bool show_message(const smq_message_info *message, void *user)
{
    (void) user;
    printf("%.*s: attempt %d%s%s\n", (int) message->id.len, (const char *) message->id.data,
           (int) message->attempt, message->reason[0] != '\0' ? ": " : "", message->reason);
    return true;
}

static smq_status look(smq_client *client, const char *topic, smq_error *err)
{
    smq_filter first = SMQ_FILTER(.limit = 5); /* of what waits */
    smq_status status = show_topic(client, topic, err);

    if (status == SMQ_OK) {
        status = smq_topic_slots(client, topic, show_slot, NULL, err);
    }
    return status == SMQ_OK ? smq_message_each(client, topic, &first, show_message, NULL, err)
                            : status;
}

static bool show_progress(uint64_t changed, uint64_t total, void *user)
{
    (void) user;
    fprintf(stderr, "%" PRIu64 " of about %" PRIu64 "\n", changed, total);
    return true;
}

static smq_status requeue(smq_client *client, const char *topic, smq_error *err)
{
    smq_filter timed_out = SMQ_FILTER(.states = SMQ_STATE_DEAD, .reason = "timed out");
    uint64_t count = 0;

    smq_status status = smq_message_each(client, topic, &timed_out, show_message, NULL, err);
    if (status != SMQ_OK) {
        return status;
    }
    timed_out.rate_per_s = 100;
    status = smq_dead_requeue(client, topic, &timed_out, &count, show_progress, NULL, err);
    printf("requeued %" PRIu64 "\n", count);
    return status;
}

int main(int argc, char **argv)
{
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (argc < 3) {
        fprintf(stderr, "usage: admin REDIS TOPIC [OPTION=VALUE...]\n");
        return 64;
    }
    if (smq_client_new(&client, &SMQ_CLIENT_OPTIONS(.redis = argv[1]), &err) != SMQ_OK ||
        alter(client, argv[2], argv + 3, &err) != SMQ_OK || look(client, argv[2], &err) != SMQ_OK ||
        requeue(client, argv[2], &err) != SMQ_OK) {
        fprintf(stderr, "admin: %s (%s)\n", err.text, smq_status_name(err.status));
    }
    smq_client_free(client);
    return err.status == SMQ_OK ? 0 : 1;
}
