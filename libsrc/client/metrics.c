/* metrics.c - public entry points: metrics of this process, surveys of topics.
 *
 * Thread: any. */
#include <slotmq/metrics.h>
#include <slotmq/ops.h>

#include "admin/admin.h"
#include "admin/metrics_report.h"
#include "base/memory.h"
#include "base/status.h"
#include "client/client.h"
#include "client/options.h"
#include "model/metric.h"
#include "model/metrics_text.h"
#include "model/overdue.h"
#include "model/statistic.h"

SMQ_API smq_status smq_client_metrics(smq_client *client, smq_metrics *out, smq_error *err)
{
    smq_metrics metrics;
    smq_status status = client_check(client, err);

    if (status != SMQ_OK) {
        return status;
    }
    metrics_report(&metrics, client->core);
    return options_copy_out(out, &metrics, sizeof(metrics), "SMQ_METRICS_INIT", err);
}

SMQ_API smq_status smq_metrics_text(smq_client *client, const char *topics, char **out,
                                    smq_error *err)
{
    smq_status status = client_check(client, err);

    if (status == SMQ_OK && out == NULL) {
        return status_set(err, SMQ_INVALID, "there is no place for the text: out is NULL");
    }
    return status == SMQ_OK ? metrics_report_text(out, client->core, topics, err) : status;
}

SMQ_API void smq_stat_each(smq_number_fn *visit, void *user)
{
    for (size_t i = 0;
         visit != NULL && i < statistic_count && visit(&statistic_table[i].info, user); i++) {
    }
}

SMQ_API smq_overdue smq_overdue_of(const smq_stats *stats, bool owner_gone, int64_t max_work_ms,
                                   int64_t *age_ms)
{
    return overdue_of(age_ms, stats, owner_gone, max_work_ms);
}

SMQ_API void smq_metric_each(smq_number_fn *visit, void *user)
{
    for (size_t i = 0; visit != NULL && i < metric_count && visit(&metric_table[i], user); i++) {
    }
}

SMQ_API smq_status smq_survey(smq_client *client, const char *topics,
                              const smq_survey_options *options, smq_survey_fn *visit, void *user,
                              smq_error *err)
{
    smq_survey_options full = SMQ_SURVEY_OPTIONS_INIT;
    smq_status status = client_check_visit(client, visit != NULL, err);

    if (status == SMQ_OK && options != NULL) {
        status =
            options_check_and_copy(&full, sizeof(full), options, "SMQ_SURVEY_OPTIONS_INIT", err);
    }
    if (status != SMQ_OK) {
        return status;
    }
    if (full.calls_per_s < 0) {
        return status_set(err, SMQ_INVALID, "calls_per_s is negative; 0 means without pauses");
    }
    return admin_survey(client->core, topics, &full, visit, user, err);
}

SMQ_API void smq_survey_text(const smq_survey_topic *topics, size_t count, char **out)
{
    struct buf text = {.len = 0};

    metrics_text_topics(&text, topics, count);
    *out = text.data != NULL ? text.data : memory_string("");
}
