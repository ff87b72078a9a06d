/* topic_alter.c - changing options of a definition, by the names of their fields.
 *
 * Pure. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/topic_fields.h"

/* `value` may be NULL: no groups. */
static smq_status topic_alter_groups(struct topic *topic, const char *value, smq_error *err)
{
    char groups[GROUP_LIST_MAX];
    smq_status status;

    if (topic->groups[0] == '\0') {
        return status_set(err, SMQ_INVALID,
                          "topic %s was created without groups: it cannot get any; create another "
                          "topic, with groups",
                          topic->name);
    }
    status = group_list_parse(groups, topic->name, value, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = group_list_check_new(groups, topic->groups, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (groups[0] == '\0') {
        return status_set(
            err, SMQ_INVALID,
            "topic %s was created with groups: name one at least, or delete the topic",
            topic->name);
    }
    memcpy(topic->groups, groups, sizeof(groups));
    return SMQ_OK;
}

/* Copy one field of the caller's options. */
static smq_status topic_alter_field(smq_topic_options *options, const smq_topic_options *given,
                                    const char *name, smq_error *err)
{
    const struct option *option = option_parse_find(SMQ_OPTION_SET_TOPIC, name, err);

    if (option == NULL) {
        return SMQ_INVALID;
    }
    if (option->info.fixed) {
        return status_set(err, SMQ_INVALID,
                          "%s is fixed for the life of a topic: it cannot be altered", name);
    }
    memcpy((char *) options + option->offset, (const char *) given + option->offset, option->size);
    return SMQ_OK;
}

/* May the topic get a format before that of whole messages?  Not while new ones can come. */
static smq_status topic_alter_check_back(const struct topic *topic, const struct topic *altered,
                                         smq_error *err)
{
    if (altered->format >= TOPIC_FORMAT_WHOLE || topic_field_from(topic) == 0) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_INVALID,
                      "format becomes %d only by slotmq topic upgrade %s --back, which looks for "
                      "messages that versions before 0.3.0 would misread",
                      altered->format, topic->name);
}

smq_status topic_alter(struct topic *topic, const smq_topic_options *options, const char *fields,
                       smq_error *err)
{
    struct topic altered = *topic;
    char backoff[BACKOFF_TEXT_MAX], name[64];
    smq_topic_options wanted;
    smq_status status = SMQ_OK;
    size_t len;

    if (fields == NULL || *fields == '\0') {
        return status_set(err, SMQ_INVALID,
                          "name the fields that change, as in \"max_retries,ttl_ms\"");
    }
    topic_to_options(&wanted, backoff, topic);
    for (const char *at = fields; status == SMQ_OK; at += len + 1) {
        len = strcspn(at, ",");
        snprintf(name, sizeof(name), "%.*s", (int) len, at);
        status = strcmp(name, "groups") == 0 ? topic_alter_groups(&altered, options->groups, err)
                                             : topic_alter_field(&wanted, options, name, err);
        if (at[len] == '\0') {
            break;
        }
    }
    if (status == SMQ_OK) {
        status = topic_fill(&altered, &wanted, err);
    }
    if (status == SMQ_OK) {
        status = topic_alter_check_back(topic, &altered, err);
    }
    if (status == SMQ_OK) {
        *topic = altered;
    }
    return status;
}
