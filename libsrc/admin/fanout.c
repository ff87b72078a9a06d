/* fanout.c - many store calls at once for one blocking caller.
 *
 * Thread: as fanout.h says. */
#include "admin/fanout.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/waiter.h"

enum { CALLS_WIDTH = 256, CALLS_TRIES = 3 };

struct calls;

/* One of the calls in flight. */
struct calls_lane {
    struct calls *calls;
    struct store_call call;
    int32_t index;
    int tries; /* of this index whose reply was lost */
};

/* Invariant: `busy` lanes are in flight; the waiter ends with the last of them. */
struct calls {
    struct loop_task task;
    const struct calls_job *job;
    struct waiter waiter;
    struct calls_lane *lanes;
    int32_t lane_count, busy;
    int32_t next; /* the first index that was not sent yet */
    bool failed;
    smq_error err;
};

static bool is_lost(const struct store_result *result)
{
    return result->outcome == STORE_UNKNOWN || result->outcome == STORE_PARTLY;
}

static void lane_send(struct calls_lane *lane)
{
    const struct calls_job *job = lane->calls->job;

    job->send(&lane->call, lane->index, job->user);
}

/* The next index for this lane, or one busy lane less. */
static void lane_next(struct calls_lane *lane)
{
    struct calls *calls = lane->calls;

    if (!calls->failed && calls->next < calls->job->count) {
        lane->index = calls->next++;
        lane->tries = 0;
        lane_send(lane);
        return;
    }
    if (--calls->busy == 0) {
        waiter_done(&calls->waiter);
    }
}

static void on_done(struct store_call *call, const struct store_result *result)
{
    struct calls_lane *lane = call->user;
    struct calls *calls = lane->calls;
    smq_error err = {.status = SMQ_OK};

    if (is_lost(result) && ++lane->tries < CALLS_TRIES) {
        lane_send(lane);
        return;
    }
    switch (calls->job->done(result, lane->index, calls->job->user, &err)) {
    case CALLS_AGAIN:
        lane->tries = 0;
        lane_send(lane);
        return;
    case CALLS_STOP:
        calls->err = calls->failed ? calls->err : err;
        calls->failed = true;
        break;
    case CALLS_DONE:
        break;
    }
    lane_next(lane);
}

static void on_task(struct loop_task *task)
{
    struct calls *calls = (struct calls *) ((char *) task - offsetof(struct calls, task));

    calls->busy = calls->lane_count;
    for (int32_t i = 0; i < calls->lane_count; i++) {
        lane_next(&calls->lanes[i]);
    }
}

smq_status calls_run(struct core *core, const struct calls_job *job, smq_error *err)
{
    struct calls calls = {.task.run = on_task, .job = job};

    if (job->count == 0) {
        return SMQ_OK;
    }
    calls.lane_count = job->count < CALLS_WIDTH ? job->count : CALLS_WIDTH;
    calls.lanes = memory_new((size_t) calls.lane_count * sizeof(*calls.lanes));
    waiter_init(&calls.waiter, 1);
    for (int32_t i = 0; i < calls.lane_count; i++) {
        calls.lanes[i].calls = &calls;
        store_call_init(&calls.lanes[i].call, on_done, &calls.lanes[i]);
    }
    loop_post(core->io, &calls.task);
    (void) waiter_wait(&calls.waiter, SMQ_FOREVER);
    waiter_fini(&calls.waiter);
    for (int32_t i = 0; i < calls.lane_count; i++) {
        store_call_fini(&calls.lanes[i].call);
    }
    free(calls.lanes);
    return calls.failed ? status_copy(err, &calls.err) : SMQ_OK;
}

/* --- definitions --- */

/* Those that are read at once. */
struct calls_reading {
    struct loop_task task;
    struct core *core;
    struct calls_definition *all;
    size_t count;
    struct waiter waiter;
};

static void on_definition(const struct topic *topic, smq_status status, const char *text,
                          void *user)
{
    struct calls_definition *definition = user;

    if (topic != NULL) {
        definition->topic = *topic;
    }
    (void) status_set(&definition->err, status, "%s", text);
    waiter_done(definition->waiter);
}

static void on_read(struct loop_task *task)
{
    struct calls_reading *reading =
        (struct calls_reading *) ((char *) task - offsetof(struct calls_reading, task));
    /* the last answer ends the wait for `reading`, and may come during the call */
    struct definitions *definitions = reading->core->definitions;
    struct calls_definition *all = reading->all;
    const size_t count = reading->count;

    for (size_t i = 0; i < count; i++) {
        definitions_read(definitions, all[i].name, on_definition, &all[i]);
    }
}

void calls_definitions(struct calls_definition *all, size_t count, struct core *core)
{
    struct calls_reading reading = {.task.run = on_read, .core = core, .all = all, .count = count};

    if (count == 0) {
        return;
    }
    waiter_init(&reading.waiter, count);
    for (size_t i = 0; i < count; i++) {
        all[i].waiter = &reading.waiter;
    }
    loop_post(core->io, &reading.task);
    (void) waiter_wait(&reading.waiter, SMQ_FOREVER);
    waiter_fini(&reading.waiter);
}

smq_status calls_definition(struct topic *out, struct core *core, const char *topic, smq_error *err)
{
    struct calls_definition definition = {.name = topic};

    calls_definitions(&definition, 1, core);
    if (definition.err.status == SMQ_OK || definition.err.status == SMQ_DAMAGED) {
        *out = definition.topic;
    }
    return definition.err.status == SMQ_OK ? SMQ_OK : status_copy(err, &definition.err);
}
