/* definition.c - see definition.h. */
#include "cli/topic/definition.h"

#include <stdlib.h>
#include <string.h>

/* Of options, and of the longest text, which is a list of groups. */
enum { PLACES = 64, TEXT_SIZE = 4096 };

/* The order of these names is that of the enums in slotmq/topic.h. */
static const char *const type_names[] = {"range_merge", "priority", "fixed_time", "fifo"};
static const char *const layout_names[] = {"inline", "keyed"};
const char *definition_type_name(smq_topic_type type)
{
    return type >= SMQ_TYPE_RANGE_MERGE && type <= SMQ_TYPE_FIFO
               ? type_names[type - SMQ_TYPE_RANGE_MERGE]
               : "unknown";
}

const char *definition_layout_name(smq_layout layout)
{
    return layout_names[layout == SMQ_LAYOUT_KEYED];
}

int64_t definition_amount(int64_t amount)
{
    return amount == SMQ_NONE ? 0 : amount;
}

/* === Its options ======================================================== */

static bool definition_place(const smq_option_info *info, void *user)
{
    const smq_option_info **at = user;

    if (info->set == SMQ_OPTION_SET_TOPIC && info->place < PLACES) {
        at[info->place] = info;
    }
    return true;
}

static bool definition_is_amount(const smq_option_info *info)
{
    return strcmp(info->type, "integer") == 0 || strcmp(info->type, "duration") == 0 ||
           strcmp(info->type, "size") == 0;
}

/* A range_merge topic may lack a delay, and may have one of 0. */
static bool definition_is_none(const struct definition_option *option,
                               const smq_topic_options *topic)
{
    return topic->type == SMQ_TYPE_RANGE_MERGE && strcmp(option->text, "none") == 0 &&
           strcmp(option->info->default_value, "none") == 0 &&
           strncmp(option->info->range, "0 ", 2) == 0;
}

void definition_each(const smq_topic_options *topic, definition_fn *visit, void *user)
{
    const smq_option_info *at[PLACES] = {NULL};
    char text[TEXT_SIZE];

    smq_option_each(definition_place, at);
    for (size_t place = 1; place < PLACES && at[place]; place++) {
        struct definition_option option = {.info = at[place], .text = text};

        if (smq_option_get(topic, SMQ_OPTION_SET_TOPIC, at[place]->name, text, sizeof(text),
                           NULL) != SMQ_OK) {
            text[0] = '\0';
        }
        option.is_amount = definition_is_amount(at[place]);
        option.is_none = option.is_amount && definition_is_none(&option, topic);
        option.amount = option.is_amount ? strtoll(text, NULL, 10) : 0;
        visit(&option, user);
    }
}
