/* metrics_report.c - the metrics of a client, collected from all parts that count.
 *
 * Thread: any but smq:io. */
#include "admin/metrics_report.h"

#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "base/memory.h"
#include "base/status.h"
#include "model/metrics_text.h"

void metrics_report(smq_metrics *out, const struct core *core)
{
    struct redis_counts redis = redis_counts(core->redis);

    *out = (smq_metrics) SMQ_METRICS_INIT;
    metrics_read(out, &core->metrics);
    out->redirects = redis.redirects;
    out->reconnects = redis.reconnects;
    out->redis_unreachable = redis.unreachable;
    out->events_dropped = events_dropped(core->events);
}

/* --- topics --- */

/* Invariant: no name is in it twice. */
struct topics {
    struct metrics_topic *all;
    size_t count;
};

static bool metrics_report_have(const struct topics *topics, const char *name)
{
    for (size_t i = 0; i < topics->count; i++) {
        if (strcmp(topics->all[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* `name` is that of an existing topic. */
static void metrics_report_add(struct topics *topics, const char *name)
{
    struct metrics_topic *topic;

    topics->all = memory_grow(topics->all, topics->count + 1, sizeof(*topics->all));
    topic = &topics->all[topics->count++];
    *topic = (struct metrics_topic){.stats = SMQ_STATS_INIT};
    memcpy(topic->name, name, strlen(name) + 1);
}

static bool metrics_report_visit(const smq_topic_info *topic, void *user)
{
    struct topics *topics = user;

    metrics_report_add(topics, topic->name);
    topics->all[topics->count - 1].slots = (uint64_t) topic->options->slots;
    topics->all[topics->count - 1].unreadable = topic->unreadable != NULL;
    topics->all[topics->count - 1].list = topic->unlisted ? METRICS_LIST_LACKS : METRICS_LIST_HAS;
    return true;
}

/* Add one name that the caller gave. */
static smq_status metrics_report_add_asked(struct topics *topics, const char *text, size_t len,
                                           smq_error *err)
{
    char *name = memory_copy(text, len);
    smq_status status = topic_check_name(name, err);

    if (status == SMQ_OK && !metrics_report_have(topics, name)) {
        metrics_report_add(topics, name);
    }
    free(name);
    return status;
}

/* Add the names between the commas. */
static smq_status metrics_report_parse(struct topics *topics, const char *text, smq_error *err)
{
    size_t len = strcspn(text, ",");
    smq_status status = metrics_report_add_asked(topics, text, len, err);

    while (status == SMQ_OK && text[len] == ',') {
        text += len + 1;
        len = strcspn(text, ",");
        status = metrics_report_add_asked(topics, text, len, err);
    }
    return status;
}

/* Count all slots as damaged or silent. */
static void metrics_report_fault(struct metrics_topic *topic, smq_status status)
{
    topic->stats = (smq_stats) SMQ_STATS_INIT;
    switch (status) {
    case SMQ_DAMAGED:
        topic->stats.slots_damaged = topic->slots;
        break;
    case SMQ_UNAVAILABLE:
    case SMQ_TIMED_OUT:
    case SMQ_UNKNOWN:
        topic->stats.slots_silent = topic->slots;
        break;
    default:
        topic->unreadable = true;
        break;
    }
}

/* Read the stats of all topics that have a definition; to be freed. */
static struct admin_stats *metrics_report_read(const struct topics *topics, struct core *core)
{
    struct admin_stats *stats = memory_new((topics->count + 1) * sizeof(*stats));
    size_t count = 0;

    for (size_t i = 0; i < topics->count; i++) {
        if (!topics->all[i].unreadable) {
            stats[count++].topic = topics->all[i].name;
        }
    }
    admin_stats_many(stats, count, core);
    return stats;
}

/* Add the stats of each topic; `all`: topics that were deleted during the call are left out. */
static smq_status metrics_report_add_stats(struct topics *topics, struct core *core, bool all,
                                           smq_error *err)
{
    struct admin_stats *stats = metrics_report_read(topics, core);
    smq_status status = SMQ_OK;
    size_t next = 0;
    size_t kept = 0;

    for (size_t i = 0; i < topics->count && status == SMQ_OK; i++) {
        struct metrics_topic topic = topics->all[i];
        const struct admin_stats *read = topic.unreadable ? NULL : &stats[next++];

        if (read != NULL && read->err.status != SMQ_OK && !all) {
            status = status_copy(err, &read->err);
        } else if (read != NULL && read->err.status == SMQ_OK) {
            topic.stats = read->stats;
            topic.owners = read->owners;
        } else if (read != NULL) {
            metrics_report_fault(&topic, read->err.status);
        }
        if (read == NULL || read->err.status != SMQ_NO_TOPIC) {
            topics->all[kept++] = topic;
        }
    }
    topics->count = kept;
    free(stats);
    return status;
}

static smq_status metrics_report_find(struct topics *topics, struct core *core, const char *wanted,
                                      smq_error *err)
{
    bool all = strcmp(wanted, "*") == 0;
    smq_status status = all ? admin_topic_each(core, false, metrics_report_visit, topics, err)
                            : metrics_report_parse(topics, wanted, err);

    return status == SMQ_OK ? metrics_report_add_stats(topics, core, all, err) : status;
}

/* --- the text --- */

smq_status metrics_report_text(char **out, struct core *core, const char *wanted, smq_error *err)
{
    struct topics topics = {.count = 0};
    struct buf text = {.len = 0};
    struct metrics_full *full;
    size_t full_count;
    smq_metrics metrics;
    smq_status status = SMQ_OK;

    if (wanted != NULL) {
        status = metrics_report_find(&topics, core, wanted, err);
    }
    if (status == SMQ_OK) {
        metrics_report(&metrics, core);
        metrics_text_process(&text, &metrics);
        full_counts_read(&full, &full_count, &core->full);
        metrics_text_full(&text, full, full_count);
        free(full);
        metrics_text_topics(&text, topics.all, topics.count);
        *out = text.data;
    }
    free(topics.all);
    return status;
}
