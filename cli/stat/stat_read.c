/* stat_read.c - what topics hold and have done, read from all of them at once.
 *
 * Thread: main; stat_read_topic() and what it calls run on several threads, each for a topic of its
 * own. */
#include "cli/stat/stat_read.h"

#include <stdlib.h>
#include <string.h>

#include <slotmq/ops.h>

#include "cli/stat/parallel.h"
#include "cli/text/say.h"

struct stat_reading {
    smq_client *client;
    struct stat_topic *topics;
    bool slots; /* each slot is wanted */
};

/* One topic of it. */
struct stat_visit {
    struct stat_topic *topic;
    bool slots;
};

struct stat_sum {
    smq_stats *sum;
    const smq_stats *slot;
};

static bool stat_read_add_number(const smq_number_info *number, void *user)
{
    const struct stat_sum *both = user;
    uint64_t sum, slot;

    memcpy(&sum, (const char *) both->sum + number->offset, sizeof(sum));
    memcpy(&slot, (const char *) both->slot + number->offset, sizeof(slot));
    if (number->unit == SMQ_UNIT_MESSAGES || number->unit == SMQ_UNIT_SLOTS) {
        sum += slot;
        memcpy((char *) both->sum + number->offset, &sum, sizeof(sum));
    }
    return true;
}

static void stat_read_add(smq_stats *sum, const smq_stats *slot)
{
    struct stat_sum both = {sum, slot};

    smq_stat_each(stat_read_add_number, &both);
    /* one lag that is not known makes that of the topic unknown */
    if (sum->oldest_due_age_ms == SMQ_AGE_UNKNOWN || slot->oldest_due_age_ms == SMQ_AGE_UNKNOWN) {
        sum->oldest_due_age_ms = SMQ_AGE_UNKNOWN;
    } else if (slot->oldest_due_age_ms > sum->oldest_due_age_ms) {
        sum->oldest_due_age_ms = slot->oldest_due_age_ms;
    }
}

static char *stat_read_copy(const char *text)
{
    char *copy = strdup(text ? text : "");

    if (!copy) {
        say_no_memory();
    }
    return copy;
}

static void stat_read_add_fault(struct stat_topic *topic, const smq_slot_info *slot)
{
    if (topic->fault_count < STAT_FAULTS_MAX) {
        topic->faults[topic->fault_count] = stat_read_copy(slot->why);
    }
    topic->fault_count++;
    topic->fault_code = exit_code_both(topic->fault_code, exit_code_left_out(slot->status));
}

static void stat_read_add_slot(struct stat_topic *topic, const smq_slot_info *slot)
{
    struct stat_slot *grown =
        realloc(topic->slots, (topic->slot_count + 1) * sizeof(*topic->slots));

    if (!grown) {
        say_no_memory();
    }
    topic->slots = grown;
    topic->slots[topic->slot_count++] = (struct stat_slot){
        .number = slot->slot,
        .owner = stat_read_copy(slot->owner),
        .token = stat_read_copy(slot->token),
        .stats = slot->stats,
    };
}

static void stat_read_add_owner(struct stat_topic *topic, const char *owner)
{
    for (size_t i = 0; i < topic->owner_count; i++) {
        if (strcmp(topic->owner[i], owner) == 0) {
            return;
        }
    }
    char **grown = realloc(topic->owner, (topic->owner_count + 1) * sizeof(*grown));
    if (!grown) {
        say_no_memory();
    }
    topic->owner = grown;
    topic->owner[topic->owner_count++] = stat_read_copy(owner);
}

bool stat_read_is_unowned(const struct stat_topic *topic)
{
    return topic->kind.known && !topic->kind.shared && topic->owner_count == 0 &&
           topic->unowned > 0;
}

static bool stat_read_slot(const smq_slot_info *slot, void *user)
{
    const struct stat_visit *visit = user;

    stat_read_add(&visit->topic->stats, &slot->stats);
    if (slot->status != SMQ_OK) {
        stat_read_add_fault(visit->topic, slot);
    } else if (slot->owner && slot->owner[0] != '\0') {
        stat_read_add_owner(visit->topic, slot->owner);
    } else {
        visit->topic->unowned++;
    }
    if (visit->slots) {
        stat_read_add_slot(visit->topic, slot);
    }
    return true;
}

static void stat_read_topic(size_t index, void *user)
{
    const struct stat_reading *reading = user;
    struct stat_topic *topic = &reading->topics[index];
    struct stat_visit visit = {.topic = topic, .slots = reading->slots};

    (void) smq_topic_slots(reading->client, topic->name, stat_read_slot, &visit, &topic->err);
}

struct stat_topic *stat_read(smq_client *client, const struct topic_names *names, bool slots)
{
    struct stat_reading reading = {.client = client, .slots = slots};

    reading.topics = say_alloc(names->count, sizeof(*reading.topics));
    for (size_t i = 0; i < names->count; i++) {
        reading.topics[i] = (struct stat_topic){.name = names->name[i],
                                                .kind = names->kind[i],
                                                .err = SMQ_ERROR_INIT,
                                                .stats = SMQ_STATS_INIT,
                                                .fault_code = EXIT_DONE};
    }
    parallel_run(names->count, stat_read_topic, &reading);
    return reading.topics;
}

void stat_read_free(struct stat_topic *topics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < topics[i].slot_count; j++) {
            free(topics[i].slots[j].owner);
            free(topics[i].slots[j].token);
        }
        for (size_t j = 0; j < STAT_FAULTS_MAX; j++) {
            free(topics[i].faults[j]);
        }
        for (size_t j = 0; j < topics[i].owner_count; j++) {
            free(topics[i].owner[j]);
        }
        free(topics[i].owner);
        free(topics[i].slots);
    }
    free(topics);
}

enum exit_code stat_read_say_faults(const struct stat_topic *topic)
{
    for (size_t i = 0; i < topic->fault_count && i < STAT_FAULTS_MAX; i++) {
        say("%s; it is not counted", topic->faults[i]);
    }
    if (topic->fault_count > STAT_FAULTS_MAX) {
        say("... and %zu more slots of topic %s", topic->fault_count - STAT_FAULTS_MAX,
            topic->name);
    }
    return topic->fault_code;
}
