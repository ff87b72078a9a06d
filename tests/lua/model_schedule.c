/* model_schedule.c - the schedules of a slot. */
#include "model_slot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of the first one the messages are that whose name ends with the time 5, where a name has a time;
 * those of the others have no time behind their name. */
enum { DASH = 6, DASH_TIME = 5 };

void model_definition(struct buf *out, const struct model *model, const struct call_schedule *given)
{
    const char *member = model_members[given->member];
    const char *when = model_timed(model) ? "+0" : model->kind == 'f' ? "0" : "5";
    char text[MODEL_NAME], limit[12] = "";

    if (model->keyed && given->id == 0) {
        member = "-";
    }
    buf_printf(out, "1:s%zu:%s%zu:%s", strlen(member), member, strlen(when), when);
    if (!model->keyed) {
        buf_printf(out, "0:0:0:");
        return;
    }
    model_text(text, given->text);
    if (given->limit >= 0) {
        snprintf(limit, sizeof(limit), "%d", (int) given->limit);
    }
    buf_printf(out, "%zu:%s%zu:%s%zu:%s", strlen(text), text, strlen(limit), limit,
               strlen(given->ttl), given->ttl);
}

int64_t model_run_time(const struct model *model, int id)
{
    return model->keyed && id > 0 ? -1 : DASH_TIME;
}

static int64_t version_after(const struct model *model, int64_t version)
{
    return version + 1 > model->now ? version + 1 : model->now;
}

static void find_first(struct model *model)
{
    model->first_tick = INT64_C(1) << 53;
    for (int i = 0; i < MODEL_SCHEDULES; i++) {
        const int64_t due = model->schedules[i].listed;

        model->first_tick = due >= 0 && due < model->first_tick ? due : model->first_tick;
    }
}

void model_schedule_put(struct model *model, struct buf *reply, const struct call *call)
{
    const struct call_schedule *given = &call->schedules[0];
    struct model_schedule *its = &model->schedules[given->id];
    const int64_t before = model->first_tick, version = its->stored ? its->version : 0;

    if (model_refused(model, reply, call, false)) {
        return;
    }
    if (given->version != version) {
        buf_printf(reply, "MOVED");
        return;
    }
    model_keep_version(model, call);
    its->listed = given->what == '-' || given->paused ? -1 : given->due;
    find_first(model);
    if (given->what != '-') {
        const struct call_schedule definition = its->given;

        its->version = version_after(model, version);
        its->due = given->due;
        its->ticks = its->last = -1;
        its->paused = given->paused;
        its->given = given->what == '=' ? definition : *given;
    }
    its->stored = given->what != '-';
    buf_printf(reply, "OK %" PRId64, version_after(model, version));
    if (model->first_tick != before) {
        model_wake(model, model->first_tick);
    }
}

/* Is the call for what is stored, and has its time come? */
static bool moves(const struct model *model, const struct call_schedule *tick)
{
    const struct model_schedule *its = &model->schedules[tick->id];

    return its->version == tick->version && its->due == tick->due && !its->paused &&
           !model->paused && tick->due <= model->now;
}

static void fire(const struct model *model, struct call *send, const struct call_schedule *given,
                 const struct call *call)
{
    const size_t n = send->count++;
    const int64_t topics = call->schedule_ttl;

    send->sends[n].member = model->keyed && given->id == 0 ? DASH : given->member;
    send->sends[n].relative = model_timed(model);
    send->sends[n].when = model_timed(model) || model->kind == 'f' ? 0 : 5;
    send->sends[n].time[0] = '\0';
    send->sends[n].text = given->text;
    send->sends[n].limit = given->limit;
    send->sends[n].headers = 0;
    send->sends[n].ttl = given->ttl[0] == '\0' ? topics : given->ttl[0] == '-' ? -1 : 7;
}

static void move(struct model *model, const struct call_schedule *tick)
{
    struct model_schedule *its = &model->schedules[tick->id];

    its->version = version_after(model, its->version);
    its->listed = its->due = tick->next;
    if (tick->what == 'f') {
        its->ticks = its->ticks < 0 ? 1 : its->ticks + 1;
        its->last = tick->due;
    }
}

void model_tick(struct model *model, struct buf *reply, const struct call *call)
{
    char results[CALL_ITEMS_MAX + 1] = "", sent[CALL_ITEMS_MAX + 1] = "";
    size_t fired[MODEL_SCHEDULES] = {0};
    struct call send = *call;

    model->published[0] = '\0';
    if (model_refused(model, reply, call, false)) {
        return;
    }
    send.count = 0;
    send.producer = 0;
    for (size_t i = 0; i < call->count; i++) {
        const struct call_schedule *tick = &call->schedules[i];
        struct model_schedule *its = &model->schedules[tick->id];

        results[i] = 'o';
        if (!its->stored) {
            its->listed = -1;
        } else if (tick->what == 'r' || moves(model, tick)) {
            results[i] = tick->what == 'r' ? 'r' : 's';
            if (tick->what != 's') {
                fired[send.count] = i;
                fire(model, &send, &its->given, call);
            }
        }
    }
    if (send.count > 0) {
        model_send_all(model, sent, &send);
    }
    for (size_t i = 0; i < send.count; i++) {
        if (call->schedules[fired[i]].what == 'f' && sent[i] != 'f') {
            move(model, &call->schedules[fired[i]]);
        }
        results[fired[i]] = sent[i];
    }
    for (size_t i = 0; i < call->count; i++) {
        if (results[i] == 's') {
            move(model, &call->schedules[i]);
        }
    }
    find_first(model);
    buf_printf(reply, "OK %s %" PRId64, call->count > 0 ? results : "''", model->first_tick);
}

static void show_number(struct buf *out, int64_t number)
{
    if (number >= 0) {
        buf_printf(out, "%" PRId64, number);
    }
}

void model_state(struct buf *out, const struct model_schedule *its)
{
    show_number(out, its->due);
    buf_printf(out, ",%" PRId64 ",", its->ticks < 0 ? 0 : its->ticks);
    show_number(out, its->last);
    buf_printf(out, ",%d,note", its->paused ? 1 : 0);
}

void model_show_schedules(struct buf *out, const struct model *model)
{
    for (int i = 0; i < MODEL_SCHEDULES; i++) {
        const struct model_schedule *its = &model->schedules[i];

        if (its->listed >= 0) {
            buf_printf(out, "schedule s%d %" PRId64 "\n", i, its->listed);
        }
        if (its->stored) {
            buf_printf(out, "slot Xs%d %" PRId64 ",", i, its->version);
            model_state(out, its);
            buf_printf(out, "\nslot Ys%d ", i);
            model_definition(out, model, &its->given);
            buf_printf(out, "\n");
        }
    }
    if (model->first_tick >= 0) {
        buf_printf(out, "slot tick %" PRId64 "\n", model->first_tick);
    }
}
