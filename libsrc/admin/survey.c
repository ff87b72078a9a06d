/* survey.c - many topics in one pass, with pauses in which Redis works for others.
 *
 * Thread: the caller's. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin/admin.h"
#include "admin/fanout.h"
#include "admin/slot_stats.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"

/* What is read at once: definitions; topics; with pauses also slots, so that no master is busy for
 * long. */
enum { SURVEY_AT_ONCE = 256, SURVEY_SLOTS = 256 };

struct survey_topic {
    char name[TOPIC_NAME_MAX + 1];
    struct topic topic; /* if err is OK, or DAMAGED */
    bool list_read, unlisted;
    smq_error err; /* why its slots are not read, or OK */
};

/* Invariant: no name is in it twice. */
struct survey {
    struct core *core;
    struct survey_topic *all;
    size_t count;
    const smq_survey_options *options;
    smq_survey_fn *visit;
    void *user;
    struct slot_walk_masters masters;
};

/* --- which topics --- */

static struct survey_topic *survey_add(struct survey *survey, const char *name)
{
    struct survey_topic *topic;

    survey->all = memory_grow(survey->all, survey->count + 1, sizeof(*survey->all));
    topic = &survey->all[survey->count++];
    memset(topic, 0, sizeof(*topic));
    memcpy(topic->name, name, strlen(name) + 1);
    return topic;
}

static bool survey_on_info(const smq_topic_info *info, void *user)
{
    struct survey *survey = user;
    struct survey_topic *topic;
    const smq_error *why;

    if (survey->options->wants != NULL && !survey->options->wants(info->name, survey->user)) {
        return true;
    }
    topic = survey_add(survey, info->name);
    topic->list_read = true;
    topic->unlisted = info->unlisted;
    if (info->unreadable != NULL) {
        (void) status_set(&topic->err, info->unreadable_status, "%s", info->unreadable);
        return true;
    }
    topic->topic = *admin_topic_of(info, &why);
    topic->err = *why;
    return true;
}

static bool survey_has(const struct survey *survey, const char *name)
{
    for (size_t i = 0; i < survey->count; i++) {
        if (strcmp(survey->all[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Add the names between the commas. */
static smq_status survey_parse(struct survey *survey, const char *text, smq_error *err)
{
    for (bool more = true; more;) {
        size_t len = strcspn(text, ",");
        char *name = memory_copy(text, len);
        smq_status status = topic_check_name(name, err);

        if (status == SMQ_OK && !survey_has(survey, name)) {
            (void) survey_add(survey, name);
        }
        free(name);
        if (status != SMQ_OK) {
            return status;
        }
        more = text[len] == ',';
        text += len + 1;
    }
    return SMQ_OK;
}

/* Read the definitions of topics that were named. */
static void survey_define(struct survey_topic *topics, size_t count, struct core *core)
{
    struct fanout_definition *read = memory_new(count * sizeof(*read));

    for (size_t i = 0; i < count; i++) {
        read[i].name = topics[i].name;
    }
    fanout_definitions(read, count, core);
    for (size_t i = 0; i < count; i++) {
        topics[i].topic = read[i].topic;
        topics[i].err = read[i].err;
        if (read[i].err.status == SMQ_OK) {
            (void) topic_check_holds(&topics[i].topic, &topics[i].err);
        }
    }
    free(read);
}

static smq_status survey_find(struct survey *survey, const char *topics, smq_error *err)
{
    smq_status status;

    if (topics == NULL || strcmp(topics, "*") == 0) {
        return admin_topic_each(survey->core, false, survey_on_info, survey, err);
    }
    status = survey_parse(survey, topics, err);
    for (size_t i = 0; i < survey->count && status == SMQ_OK; i += SURVEY_AT_ONCE) {
        size_t left = survey->count - i;

        survey_define(&survey->all[i], left < SURVEY_AT_ONCE ? left : SURVEY_AT_ONCE, survey->core);
    }
    return status;
}

/* --- their slots --- */

/* Count all slots as damaged or silent, if how many there are is known. */
static void survey_fault(smq_survey_topic *row, const struct survey_topic *topic)
{
    const uint64_t slots = (uint64_t) topic->topic.slots;

    switch (topic->err.status) {
    case SMQ_DAMAGED:
        row->stats.slots_damaged = slots;
        break;
    case SMQ_UNAVAILABLE:
    case SMQ_TIMED_OUT:
    case SMQ_UNKNOWN:
        row->stats.slots_silent = slots;
        break;
    default:
        break;
    }
}

/* Show one topic; `walk` NULL: its slots were not read.  false: the visitor ended the survey. */
static bool survey_show(const struct survey *survey, struct survey_topic *topic,
                        struct slot_walk *walk)
{
    smq_topic_options options;
    char backoff[BACKOFF_TEXT_MAX];
    smq_survey_topic row = {.struct_size = sizeof(row),
                            .topic = topic->name,
                            .list_read = topic->list_read,
                            .unlisted = topic->unlisted,
                            .stats = SMQ_STATS_INIT};

    if (walk != NULL) {
        (void) slot_stats_sum(&row, walk, survey->options->slot, survey->user, &topic->err);
    }
    if (topic->list_read && topic->err.status == SMQ_NO_TOPIC) {
        return true; /* it was deleted in the meantime */
    }
    if (topic->topic.slots > 0) {
        topic_to_options(&options, backoff, &topic->topic);
        row.options = &options;
        row.paused = topic->topic.paused;
    }
    row.status = topic->err.status;
    row.why = row.status == SMQ_OK ? "" : topic->err.text;
    survey_fault(&row, topic);
    return survey->visit(&row, survey->user);
}

/* How many topics from `first` on are read together.  While a master is away all are, because they
 * wait for it together. */
static size_t survey_part(const struct survey *survey, size_t first)
{
    bool paced = survey->options->calls_per_s > 0 && !slot_walk_masters_lack(&survey->masters);
    int64_t slots = 0;
    size_t count = 0;

    for (; first + count < survey->count && count < SURVEY_AT_ONCE; count++) {
        slots += survey->all[first + count].topic.slots;
        if (paced && count > 0 && slots > SURVEY_SLOTS) {
            break;
        }
    }
    return count;
}

/* Read these topics and show them.  *calls: of Redis.  false: the visitor ended the survey. */
static bool survey_read(struct survey *survey, struct survey_topic *topics, size_t count,
                        int64_t *calls)
{
    struct slot_walk *walks = memory_new(count * sizeof(*walks));
    int32_t found = 0, next = 0;
    bool more = true;

    *calls = (int64_t) count;
    for (size_t i = 0; i < count; i++) {
        if (topics[i].err.status == SMQ_OK) {
            slot_walk_init(&walks[found++], survey->core, &topics[i].topic);
            *calls += topics[i].topic.slots;
        }
    }
    slot_walk_read_first(walks, found, survey->core, &survey->masters);
    for (size_t i = 0; i < count && more; i++) {
        struct slot_walk *walk = topics[i].err.status == SMQ_OK ? &walks[next++] : NULL;

        more = survey_show(survey, &topics[i], walk);
    }
    for (int32_t i = 0; i < found; i++) {
        slot_walk_end(&walks[i]);
    }
    free(walks);
    return more;
}

/* --- pauses --- */

/* Wait until these calls were allowed.  The time that they took counts, so a machine that is slow
 * does not make a survey slower than Redis does. */
static void survey_pause(const struct survey *survey, int64_t calls, int64_t began_ms)
{
    int64_t ms;
    struct timespec pause;

    if (survey->options->calls_per_s <= 0) {
        return;
    }
    ms = calls * 1000 / survey->options->calls_per_s - (clock_now_ms() - began_ms);
    if (ms > 0) {
        pause = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
        (void) nanosleep(&pause, NULL);
    }
}

smq_status admin_survey(struct core *core, const char *topics, const smq_survey_options *options,
                        smq_survey_fn *visit, void *user, smq_error *err)
{
    struct survey survey = {.core = core, .options = options, .visit = visit, .user = user};
    smq_status status = survey_find(&survey, topics, err);
    bool more = status == SMQ_OK;

    for (size_t first = 0; first < survey.count && more;) {
        int64_t began_ms = clock_now_ms();
        size_t count = survey_part(&survey, first);
        int64_t calls;

        more = survey_read(&survey, &survey.all[first], count, &calls);
        first += count;
        if (more) {
            survey_pause(&survey, calls, began_ms);
        }
    }
    slot_walk_masters_fini(&survey.masters);
    free(survey.all);
    return status;
}
