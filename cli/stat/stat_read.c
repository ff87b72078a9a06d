/* stat_read.c - see stat_read.h. */
#include "cli/stat/stat_read.h"

#include <stdlib.h>
#include <string.h>

#include "cli/text/say.h"

struct stat_reading {
    struct stat_topics *topics;
    struct stat_topic next; /* the slots of the topic that is shown next */
    enum stat_slots wanted;
};

static smq_bytes stat_read_copy_bytes(const smq_bytes *bytes)
{
    char *copy = NULL;

    if (bytes->data) {
        copy = say_alloc(bytes->len + 1, 1);
        memcpy(copy, bytes->data, bytes->len);
    }
    return (smq_bytes){copy, bytes->len};
}

static bool stat_read_has_own_key(const smq_slot_info *slot)
{
    return slot->key.data && (slot->key.len != slot->id.len ||
                              memcmp(slot->key.data, slot->id.data, slot->id.len) != 0);
}

static void stat_read_add_fault(struct stat_topic *topic, const smq_slot_info *slot)
{
    if (topic->fault_count < STAT_FAULTS_MAX) {
        topic->faults[topic->fault_count] = say_copy(slot->why);
    }
    topic->fault_count++;
    topic->fault_code = exit_code_both(topic->fault_code, exit_code_left_out(slot->status));
}

static void stat_read_add_slot(struct stat_topic *topic, const smq_slot_info *slot)
{
    topic->slots = say_grow(topic->slots, topic->slot_count, sizeof(*topic->slots));
    topic->slots[topic->slot_count++] = (struct stat_slot){
        .number = slot->slot,
        .owner = say_copy(slot->owner),
        .token = say_copy(slot->token),
        .stats = slot->stats,
        .claim = {.by = say_copy(slot->claimed_by),
                  .at_ms = slot->claimed_at_ms,
                  .attempt = slot->attempt,
                  .id = stat_read_copy_bytes(&slot->id)},
    };
    if (stat_read_has_own_key(slot)) {
        topic->slots[topic->slot_count - 1].claim.key = stat_read_copy_bytes(&slot->key);
    }
}

static bool stat_read_on_slot(const smq_slot_info *slot, void *user)
{
    struct stat_reading *reading = user;

    if (slot->status != SMQ_OK) {
        stat_read_add_fault(&reading->next, slot);
    }
    if (reading->wanted == STAT_SLOTS_ALL || slot->stats.claimed > 0) {
        stat_read_add_slot(&reading->next, slot);
    }
    return true;
}

static bool stat_read_on_topic(const smq_survey_topic *row, void *user)
{
    struct stat_reading *reading = user;
    struct stat_topics *topics = reading->topics;

    topics->all = say_grow(topics->all, topics->count, sizeof(*topics->all));
    struct stat_topic *topic = &topics->all[topics->count++];
    *topic = reading->next;
    reading->next = (struct stat_topic){.fault_code = EXIT_DONE};
    topic->row = *row;
    topic->row.topic = say_copy(row->topic);
    topic->row.why = say_copy(row->why);
    topic->row.options = NULL;
    topic->defined = row->options != NULL;
    topic->type = topic->defined ? row->options->type : SMQ_TYPE_RANGE_MERGE;
    topic->layout = topic->defined ? row->options->layout : SMQ_LAYOUT_INLINE;
    topic->err = (smq_error){.status = row->status};
    snprintf(topic->err.text, sizeof(topic->err.text), "%s", row->why);
    topics->unlisted += row->unlisted ? 1 : 0;
    return true;
}

smq_status stat_read(struct stat_topics *out, smq_client *client, const char *names,
                     enum stat_slots wanted, smq_error *err)
{
    const smq_survey_options options = SMQ_SURVEY_OPTIONS(.slot = stat_read_on_slot);
    struct stat_reading reading = {
        .topics = out, .next = {.fault_code = EXIT_DONE}, .wanted = wanted};

    *out = (struct stat_topics){.count = 0};
    return smq_survey(client, names, &options, stat_read_on_topic, &reading, err);
}

bool stat_read_is_unowned(const smq_survey_topic *row)
{
    return row->has_owners && row->owners == 0 && row->slots_unowned > 0;
}

static void stat_read_free_topic(struct stat_topic *topic)
{
    for (size_t i = 0; i < topic->slot_count; i++) {
        free(topic->slots[i].owner);
        free(topic->slots[i].token);
        free(topic->slots[i].claim.by);
        free((void *) topic->slots[i].claim.key.data);
        free((void *) topic->slots[i].claim.id.data);
    }
    for (size_t i = 0; i < STAT_FAULTS_MAX; i++) {
        free(topic->faults[i]);
    }
    free(topic->slots);
    free((char *) topic->row.topic);
    free((char *) topic->row.why);
}

void stat_read_free(struct stat_topics *topics)
{
    for (size_t i = 0; i < topics->count; i++) {
        stat_read_free_topic(&topics->all[i]);
    }
    free(topics->all);
    *topics = (struct stat_topics){.count = 0};
}

/* Prints why slots of the topic are left out, and gives the exit code for that. */
static enum exit_code stat_read_say_faults(const struct stat_topic *topic)
{
    for (size_t i = 0; i < topic->fault_count && i < STAT_FAULTS_MAX; i++) {
        say("%s; it is not counted", topic->faults[i]);
    }
    if (topic->fault_count > STAT_FAULTS_MAX) {
        say("... and %zu more slots of topic %s", topic->fault_count - STAT_FAULTS_MAX,
            topic->row.topic);
    }
    return topic->fault_code;
}

enum exit_code stat_read_say_left_out(smq_client *client, struct stat_topics *topics, bool named)
{
    enum exit_code code = EXIT_DONE;

    for (size_t i = 0; i < topics->count; i++) {
        struct stat_topic *topic = &topics->all[i];
        smq_error *err = &topic->err;

        if (err->status == SMQ_OK) {
            code = exit_code_both(code, stat_read_say_faults(topic));
        } else if (!named && !topic->defined) {
            (void) say_error(EXIT_DONE, "%s", err->text);
            code = exit_code_both(code, exit_code_left_out(err->status));
        } else {
            (void) topic_say_failure(client, topic->row.topic, err);
            code = exit_code_both(code, exit_code_left_out(err->status));
        }
    }
    return code;
}

char *stat_read_names(smq_client *client, const struct command *command, smq_error *err)
{
    char *names = NULL;

    for (size_t i = 0; i < command->word_count; i++) {
        char *one = topic_names_of(client, command->words[i], err);
        char *both = NULL;

        if (!one) {
            (void) topic_explain(client, command->words[i], err);
            free(names);
            return NULL;
        }
        if (asprintf(&both, "%s%s%s", names ? names : "", names ? "," : "", one) < 0) {
            say_no_memory();
        }
        free(one);
        free(names);
        names = both;
    }
    return names;
}
