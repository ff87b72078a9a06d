/* worker.c - public entry points: workers.
 *
 * Thread: any. */
#include "consume/worker/worker.h"

#include "base/status.h"
#include "client/client.h"
#include "client/options.h"

static smq_status worker_check(const smq_worker *worker, smq_error *err)
{
    if (worker == NULL) {
        return status_set(err, SMQ_INVALID, "the worker is NULL");
    }
    return worker_check_process(worker, err);
}

SMQ_API smq_status smq_worker_new(smq_worker **out, smq_client *client,
                                  const smq_worker_options *options, smq_error *err)
{
    smq_worker_options known;
    smq_status status;

    if (out == NULL) {
        return status_set(err, SMQ_INVALID, "there is no place for the new worker: out is NULL");
    }
    *out = NULL;
    status = client_complete(&known, SMQ_OPTION_SET_WORKER, client, options, err);
    return status == SMQ_OK ? worker_new(out, client->core, &known, NULL, err) : status;
}

SMQ_API smq_status smq_worker_start(smq_worker *worker, smq_error *err)
{
    smq_status status = worker_check(worker, err);

    return status == SMQ_OK ? worker_start(worker, err) : status;
}

SMQ_API void smq_worker_stop(smq_worker *worker)
{
    if (worker != NULL) {
        worker_stop(worker);
    }
}

SMQ_API smq_status smq_worker_wait(smq_worker *worker, int64_t timeout_ms, smq_error *err)
{
    smq_status status = worker_check(worker, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = client_check_timeout(timeout_ms, err);
    return status == SMQ_OK ? worker_wait(worker, timeout_ms, err) : status;
}

SMQ_API void smq_worker_free(smq_worker *worker)
{
    if (worker != NULL && worker_check_process(worker, NULL) == SMQ_OK) {
        worker_free(worker);
    }
}
