/* model.c - see model.h. */
#include "model_slot.h"

#include <inttypes.h>
#include <string.h>

/* What is noted stays as long as that claim exists and is the oldest. */
static void model_note(struct model *model, const struct call *call)
{
    int64_t since = model->now > call->age ? model->now - call->age : 0;
    bool kept = model_find_claim(model, model->noted) >= 0 && model->noted_since <= since;

    if (call->noted[0] != '\0' && !kept) {
        memcpy(model->noted, call->noted, sizeof(model->noted));
        model->noted_since = since;
    }
}

static void model_renew(struct model *model, struct buf *reply, const struct call *call)
{
    if (model_refused(model, reply, call, true)) {
        return;
    }
    model_keep_version(model, call);
    if (model->leased >= 0) {
        model_keep_leases(model);
    }
    buf_printf(reply, "OK %" PRId64 " %s", model->now, call->count == 0 ? "''" : "");
    for (size_t i = 0; i < call->count; i++) {
        int index = model_find_claim(model, call->answers[i].entry);

        buf_printf(reply, "%c", index < 0 ? '0' : '1');
        if (index >= 0) {
            model->prepare.item[index].at = model->now + call->lease;
        }
    }
    model_note(model, call);
}

static void model_takeover(struct model *model, struct buf *reply, const struct call *call)
{
    int given = 0;
    bool more = false;

    if (model_refused(model, reply, call, false)) {
        return;
    }
    if (call->token < model->token) {
        buf_printf(reply, "FENCED ");
        add_token(reply, model);
        return;
    }
    model_keep_version(model, call);
    if (call->token > model->token) {
        model->token = call->token;
        model->owner = call->token;
        model->bound = call->token;
        model->base = model->claims;
        if (model->push_lease > 0 || model->pushed_at >= 0) {
            model_unpark(model);
        }
    }
    model->strict = call->strict;
    if (call->strict && model->claims == model->base && model->leased > model->now) {
        model_keep_leases(model);
    }
    sort_prepare(&model->prepare);
    for (size_t i = 0; call->strict && model->claims == model->base && i < model->prepare.count;
         i++) {
        if (!model->prepare.item[i].resting) {
            model->former = model->prepare.item[i].at;
        }
    }
    /* Once the owner has claimed, it has taken over completely. */
    while (!call->strict && model->claims == model->base && model->prepare.count > 0 &&
           !model->prepare.item[0].resting) {
        struct model_message message;

        if (given == call->limit) {
            more = true;
            break;
        }
        message = list_take(&model->prepare, 0);
        model_lose(model, &message, call->max_retries, MODEL_DEAD_CRASHED, model_died);
        given++;
    }
    buf_printf(reply, "OK %" PRIu64 " %d %d", model->base, given, more ? 1 : 0);
}

static void model_vacate(struct model *model, struct buf *reply, const struct call *call)
{
    if (!model_refused(model, reply, call, true)) {
        model_keep_version(model, call);
        model->owner = 0;
        buf_printf(reply, "OK");
    }
}

/* Of what waits: since when the first that is due is so; where nothing has a time, since when the
 * first was sent, if that is stored. */
static int64_t oldest_due(struct model *model)
{
    const struct model_message *first;

    if (model->waiting.count == 0 || (!model_timed(model) && !model->keyed)) {
        return INT64_MAX;
    }
    sort_waiting(&model->waiting);
    first = &model->waiting.item[model_by_priority(model) ? model->waiting.count - 1 : 0];
    if (model_timed(model)) {
        return first->at <= model->now ? first->at : INT64_MAX;
    }
    return model_body_of(model, first->member, first->at).first;
}

/* Since when the message is due, as far as that is stored. */
static int64_t due_since(const struct model *model, const struct model_message *message)
{
    if (model_timed(model)) {
        return message->before;
    }
    return model->keyed ? model_body_of(model, message->member, message->before).first : INT64_MAX;
}

/* The claims whose leases have ended, and the oldest claim. */
static void inspect_claims(struct model *model, struct buf *reply, int64_t first_end)
{
    size_t stalled = 0;
    int noted;

    sort_prepare(&model->prepare);
    noted = model_find_claim(model, model->noted);
    for (size_t i = 0; i < model->prepare.count; i++) {
        const struct model_message *message = &model->prepare.item[i];

        stalled += !message->resting && message->at <= model->now ? 1 : 0;
    }
    buf_printf(reply, " %zu", stalled);
    add_time(reply, first_end);
    add_time(reply, stalled > 0 ? due_since(model, &model->prepare.item[0]) : INT64_MAX);
    if (noted < 0) {
        buf_printf(reply, " '' 0");
    } else {
        const struct model_message *message = &model->prepare.item[noted];

        buf_printf(reply, " %" PRId64 " me %.*s%s %d", model->noted_since,
                   (int) strcspn(model->noted, ":") + 1, model->noted,
                   model_members[model_plain(message->member)], attempts_number(message->attempts));
    }
}

static void model_inspect(struct model *model, struct buf *reply, const struct call *call)
{
    struct in_flight in_flight = model_in_flight(model);
    int64_t next = in_flight.first_rest;
    size_t due = 0, scheduled = model_count_scheduled(model);

    if (model_refused(model, reply, call, false)) {
        return;
    }
    for (size_t i = 0; i < model->waiting.count; i++) {
        int64_t at = model_timed(model) ? model->waiting.item[i].at : model->now;

        due += at <= model->now ? 1 : 0;
        next = at < next ? at : next;
    }
    buf_printf(reply, "OK %" PRId64 " %zu %zu %zu %zu %zu", model->now,
               model->waiting.count + scheduled, due, in_flight.count,
               model->prepare.count - in_flight.count - scheduled, model->dead.count);
    add_time(reply, oldest_due(model));
    add_time(reply, next);
    buf_printf(reply, " ");
    add_owner(reply, model);
    buf_printf(reply, " ");
    add_token(reply, model);
    buf_printf(reply, " %d %zu", model->paused ? 1 : 0, scheduled);
    inspect_claims(model, reply, in_flight.first_end);
    for (int i = 0; i < MODEL_COUNTERS; i++) {
        buf_printf(reply, " %" PRIu64, model->counters[i]);
    }
}

void model_call(struct model *model, struct buf *reply, const struct call *call)
{
    static void (*const functions[])(struct model *, struct buf *, const struct call *) = {
        [CALL_SEND] = model_send,
        [CALL_CONSUME] = model_consume,
        [CALL_RENEW] = model_renew,
        [CALL_TAKEOVER] = model_takeover,
        [CALL_VACATE] = model_vacate,
        [CALL_INSPECT] = model_inspect,
        [CALL_RANK] = model_rank,
        [CALL_FIND] = model_find,
        [CALL_PAGE] = model_page,
        [CALL_REQUEUE] = model_requeue,
        [CALL_REMOVE] = model_remove,
        [CALL_RESCHEDULE] = model_reschedule,
        [CALL_PAUSE] = model_pause,
        [CALL_ALTER] = model_alter,
        [CALL_SCHEDULE_PUT] = model_schedule_put,
        [CALL_TICK] = model_tick,
    };

    functions[call->kind](model, reply, call);
}

void model_seal(struct model *model)
{
    model->sealed = true;
}

void model_clear(struct model *model)
{
    model->waiting.count = 0;
    model->prepare.count = 0;
    model->dead.count = 0;
    model->seq = 0;
    model_unpark(model);
    model->paused = false;
    model->pauses = -1;
    model->text = 0;
    model->bound = 0;
    memset(model->counters, 0, sizeof(model->counters));
    memset(model->records, 0, sizeof(model->records));
    model->swept = false;
    memset(model->tries, 0, sizeof(model->tries));
    memset(model->done_at, 0, sizeof(model->done_at));
    for (int i = 0; i < MODEL_SCHEDULES; i++) {
        model->schedules[i].stored = false;
    }
    model->first_tick = -1;
}

void model_init(struct model *model, char kind, bool shared, bool keyed)
{
    memset(model, 0, sizeof(*model));
    model->kind = kind;
    model->shared = shared;
    model->keyed = keyed;
    model->version = 1;
    model->claimed_until = model->former = model->leased = model->first_tick = -1;
    for (int i = 0; i < MODEL_SCHEDULES; i++) {
        model->schedules[i].listed = -1;
    }
    model_unpark(model);
}
