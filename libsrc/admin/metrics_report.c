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

/* The rows of a survey. */
struct topics {
    smq_survey_topic *all; /* their names are owned */
    size_t count;
    bool named;    /* a topic of which nothing can be read is a failure */
    smq_error err; /* of the first such topic */
};

static bool metrics_report_visit(const smq_survey_topic *topic, void *user)
{
    struct topics *topics = user;
    smq_survey_topic *kept;

    if (topics->named && topic->status != SMQ_OK) {
        (void) status_set(&topics->err, topic->status, "%s", topic->why);
        return false;
    }
    topics->all = memory_grow(topics->all, topics->count + 1, sizeof(*topics->all));
    kept = &topics->all[topics->count++];
    *kept = *topic;
    kept->topic = memory_string(topic->topic);
    return true;
}

static smq_status metrics_report_survey(struct topics *topics, struct core *core,
                                        const char *wanted, smq_error *err)
{
    const smq_survey_options options = SMQ_SURVEY_OPTIONS_INIT;
    smq_status status = admin_survey(core, wanted, &options, metrics_report_visit, topics, err);

    if (status != SMQ_OK || topics->err.status == SMQ_OK) {
        return status;
    }
    return status_copy(err, &topics->err);
}

static void metrics_report_free(struct topics *topics)
{
    for (size_t i = 0; i < topics->count; i++) {
        free((char *) topics->all[i].topic);
    }
    free(topics->all);
}

/* --- the text --- */

smq_status metrics_report_text(char **out, struct core *core, const char *wanted, smq_error *err)
{
    struct topics topics = {.named = wanted != NULL && strcmp(wanted, "*") != 0};
    struct buf text = {.len = 0};
    struct metrics_topic *full;
    size_t full_count;
    smq_metrics metrics;
    smq_status status = SMQ_OK;

    if (wanted != NULL) {
        status = metrics_report_survey(&topics, core, wanted, err);
    }
    if (status == SMQ_OK) {
        metrics_report(&metrics, core);
        metrics_text_process(&text, &metrics);
        topic_numbers_read(&full, &full_count, &core->topic_numbers);
        metrics_text_by_topic(&text, full, full_count);
        free(full);
        metrics_text_topics(&text, topics.all, topics.count);
        *out = text.data;
    }
    metrics_report_free(&topics);
    return status;
}
