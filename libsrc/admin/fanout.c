/* fanout.c - many calls to Redis at once for one blocking caller.
 *
 * Thread: as fanout.h says. */
#include "admin/fanout.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "base/waiter.h"

enum { FANOUT_WIDTH = 256, FANOUT_TRIES = 3 };

/* One of the calls in flight. */
struct fanout_call {
    struct fanout *fanout;
    struct store_call call;
    int32_t index;
    int tries; /* calls of this index whose reply was lost */
};

/* Invariant: `busy` calls are in flight; the waiter ends with the last of them. */
struct fanout {
    struct loop_task task;
    fanout_skip_fn *skip; /* NULL: none */
    fanout_send_fn *send;
    fanout_done_fn *done;
    void *user;
    struct waiter waiter;
    struct fanout_call *calls;
    int32_t count;       /* number of all calls */
    int32_t width, busy; /* calls that may be in flight; calls that are */
    int32_t next;        /* the first index that was not sent yet */
    bool repeats;        /* calls whose reply was lost */
    bool failed;
    smq_error err;
};

static bool fanout_is_lost(const struct store_result *result)
{
    return result->outcome == STORE_UNKNOWN || result->outcome == STORE_PARTLY;
}

static void fanout_call_send(struct fanout_call *call)
{
    call->fanout->send(&call->call, call->index, call->fanout->user);
}

/* Send the next index, or count one busy call less. */
static void fanout_call_next(struct fanout_call *call)
{
    struct fanout *fanout = call->fanout;

    while (!fanout->failed && fanout->next < fanout->count) {
        call->index = fanout->next++;
        call->tries = 0;
        if (fanout->skip != NULL && fanout->skip(call->index, fanout->user)) {
            continue;
        }
        fanout_call_send(call);
        return;
    }
    if (--fanout->busy == 0) {
        waiter_done(&fanout->waiter);
    }
}

static void fanout_on_done(struct store_call *store_call, const struct store_result *result)
{
    struct fanout_call *call = store_call->user;
    struct fanout *fanout = call->fanout;
    smq_error err = {.status = SMQ_OK};

    if (fanout->repeats && fanout_is_lost(result) && ++call->tries < FANOUT_TRIES) {
        fanout_call_send(call);
        return;
    }
    switch (fanout->done(result, call->index, fanout->user, &err)) {
    case FANOUT_AGAIN:
        call->tries = 0;
        fanout_call_send(call);
        return;
    case FANOUT_STOP:
        fanout->err = fanout->failed ? fanout->err : err;
        fanout->failed = true;
        break;
    case FANOUT_DONE:
        break;
    }
    fanout_call_next(call);
}

static void fanout_on_task(struct loop_task *task)
{
    struct fanout *fanout = OWNER_OF(task, struct fanout, task);
    /* if all calls are skipped the last one ends the wait for `fanout` */
    const int32_t width = fanout->width;

    fanout->busy = width;
    for (int32_t i = 0; i < width; i++) {
        fanout_call_next(&fanout->calls[i]);
    }
}

static struct fanout *fanout_begin_some(struct core *core, int32_t count, fanout_skip_fn *skip,
                                        fanout_send_fn *send, fanout_done_fn *done, void *user,
                                        enum fanout_lost lost)
{
    struct fanout *fanout = memory_new(sizeof(*fanout));

    *fanout = (struct fanout){.task.run = fanout_on_task,
                              .skip = skip,
                              .send = send,
                              .done = done,
                              .user = user,
                              .count = count,
                              .width = count < FANOUT_WIDTH ? count : FANOUT_WIDTH,
                              .repeats = lost == FANOUT_REPEAT};
    if (count == 0) {
        return fanout;
    }
    fanout->calls = memory_new((size_t) fanout->width * sizeof(*fanout->calls));
    waiter_init(&fanout->waiter, 1);
    for (int32_t i = 0; i < fanout->width; i++) {
        fanout->calls[i].fanout = fanout;
        store_call_init(&fanout->calls[i].call, fanout_on_done, &fanout->calls[i]);
    }
    loop_post(core->io, &fanout->task);
    return fanout;
}

struct fanout *fanout_begin(struct core *core, int32_t count, fanout_send_fn *send,
                            fanout_done_fn *done, void *user, enum fanout_lost lost)
{
    return fanout_begin_some(core, count, NULL, send, done, user, lost);
}

smq_status fanout_end(struct fanout *fanout, smq_error *err)
{
    smq_status status = SMQ_OK;

    if (fanout->count > 0) {
        (void) waiter_wait(&fanout->waiter, SMQ_FOREVER);
        waiter_fini(&fanout->waiter);
    }
    for (int32_t i = 0; i < fanout->width; i++) {
        store_call_fini(&fanout->calls[i].call);
    }
    if (fanout->failed) {
        status = status_copy(err, &fanout->err);
    }
    free(fanout->calls);
    free(fanout);
    return status;
}

smq_status fanout_many(struct core *core, int32_t count, fanout_send_fn *send, fanout_done_fn *done,
                       void *user, smq_error *err)
{
    return fanout_end(fanout_begin(core, count, send, done, user, FANOUT_REPEAT), err);
}

smq_status fanout_some(struct core *core, int32_t count, fanout_skip_fn *skip, fanout_send_fn *send,
                       fanout_done_fn *done, void *user, smq_error *err)
{
    return fanout_end(fanout_begin_some(core, count, skip, send, done, user, FANOUT_REPEAT), err);
}

/* --- a single call --- */

struct fanout_one {
    fanout_one_send_fn *send;
    fanout_one_done_fn *done;
    void *user;
};

static void fanout_one_send(struct store_call *call, int32_t index, void *user)
{
    const struct fanout_one *one = user;

    (void) index;
    one->send(call, one->user);
}

static enum fanout_next fanout_one_done(const struct store_result *result, int32_t index,
                                        void *user, smq_error *err)
{
    const struct fanout_one *one = user;

    (void) index;
    return one->done(result, one->user, err);
}

smq_status fanout_one(struct core *core, fanout_one_send_fn *send, fanout_one_done_fn *done,
                      void *user, smq_error *err)
{
    struct fanout_one one = {.send = send, .done = done, .user = user};

    return fanout_many(core, 1, fanout_one_send, fanout_one_done, &one, err);
}

/* --- definitions --- */

/* Definitions that are read at once. */
struct fanout_reading {
    struct loop_task task;
    struct core *core;
    struct fanout_definition *all;
    size_t count;
    struct waiter waiter;
};

static void fanout_on_definition(const struct topic *topic, smq_status status, const char *text,
                                 void *user)
{
    struct fanout_definition *definition = user;

    if (topic != NULL) {
        definition->topic = *topic;
    }
    (void) status_set(&definition->err, status, "%s", text);
    waiter_done(definition->waiter);
}

static void fanout_on_read(struct loop_task *task)
{
    struct fanout_reading *reading = OWNER_OF(task, struct fanout_reading, task);
    /* the last reply ends the wait for `reading`, perhaps during the call */
    struct definitions *definitions = reading->core->definitions;
    struct fanout_definition *all = reading->all;
    const size_t count = reading->count;

    for (size_t i = 0; i < count; i++) {
        definitions_read(definitions, all[i].name, fanout_on_definition, &all[i]);
    }
}

void fanout_definitions(struct fanout_definition *all, size_t count, struct core *core)
{
    struct fanout_reading reading = {
        .task.run = fanout_on_read, .core = core, .all = all, .count = count};

    if (count == 0) {
        return;
    }
    waiter_init(&reading.waiter, count);
    for (size_t i = 0; i < count; i++) {
        all[i].waiter = &reading.waiter;
    }
    loop_post(core->io, &reading.task);
    (void) waiter_wait(&reading.waiter, SMQ_FOREVER);
    for (size_t i = 0; i < count; i++) {
        all[i].waiter = NULL;
    }
    waiter_fini(&reading.waiter);
}

smq_status fanout_definition(struct topic *out, struct core *core, const char *topic,
                             smq_error *err)
{
    struct fanout_definition definition = {.name = topic};

    fanout_definitions(&definition, 1, core);
    if (definition.err.status == SMQ_OK || definition.err.status == SMQ_DAMAGED) {
        *out = definition.topic;
    }
    return definition.err.status == SMQ_OK ? SMQ_OK : status_copy(err, &definition.err);
}

smq_status fanout_topic(struct topic *out, struct core *core, const char *topic, smq_error *err)
{
    smq_status status = topic_check_name(topic, err);

    return status == SMQ_OK ? fanout_definition(out, core, topic, err) : status;
}

smq_status fanout_holder(struct topic *out, struct core *core, const char *topic, smq_error *err)
{
    smq_status status = fanout_topic(out, core, topic, err);

    return status == SMQ_OK ? topic_check_holds(out, err) : status;
}
