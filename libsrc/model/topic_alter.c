/* topic_alter.c - changing one option of a definition, by its name.
 *
 * Pure. */
#include <string.h>

#include "base/status.h"
#include "model/topic_fields.h"

static bool topic_is_fixed(const char *option)
{
    for (int i = 0; i < TOPIC_FIELDS; i++) {
        if (strcmp(topic_fields[i].name, option) == 0) {
            return topic_fields[i].fixed;
        }
    }
    return false;
}

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

smq_status topic_alter(struct topic *topic, const char *option, const char *value, smq_error *err)
{
    struct topic altered = *topic;
    char backoff[BACKOFF_TEXT_MAX];
    smq_topic_options options;
    smq_status status;

    if (option == NULL || value == NULL) {
        return status_set(err, SMQ_INVALID, "give the name of an option and its new value");
    }
    if (strcmp(option, "groups") == 0) {
        return topic_alter_groups(topic, value, err);
    }
    if (topic_is_fixed(option)) {
        return status_set(err, SMQ_INVALID,
                          "%s is fixed for the life of a topic: it cannot be altered", option);
    }
    topic_to_options(&options, backoff, topic);
    status = option_parse(&options, SMQ_OPTION_SET_TOPIC, option, value, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = topic_fill(&altered, &options, err);
    if (status == SMQ_OK) {
        *topic = altered;
    }
    return status;
}
