/* metrics.c - public entry points: metrics of this process.
 *
 * Thread: any. */
#include <slotmq/metrics.h>
#include <slotmq/ops.h>

#include "admin/metrics_report.h"
#include "base/status.h"
#include "client/client.h"
#include "client/options.h"
#include "model/metric.h"
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

SMQ_API void smq_metric_each(smq_number_fn *visit, void *user)
{
    for (size_t i = 0; visit != NULL && i < metric_count && visit(&metric_table[i], user); i++) {
    }
}
