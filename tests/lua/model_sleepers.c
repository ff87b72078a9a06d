/* model_sleepers.c - who sleeps in a slot of a shared topic, and who is woken. */
#include <stdlib.h>
#include <string.h>

#include "model_slot.h"

enum { CALL_MS = 300, LOOK_MS = 400, SECOND_MS = 500, SOON_MS = 1000, LATE_MS = 1000, NOBODY = -1 };

void sleepers_clear(struct model *model)
{
    model->sleepers = (struct model_sleepers){.due = INT64_C(1) << 53, .woken = NOBODY};
}

static bool is_told(const struct model *model, const struct model_sleeper *sleeper, int64_t by)
{
    return sleeper->told > model->now && sleeper->told <= by;
}

static int told_by(const struct model *model, int64_t by)
{
    int count = 0;

    for (int i = 0; i < model->sleepers.count; i++) {
        count += is_told(model, &model->sleepers.item[i], by) ? 1 : 0;
    }
    return count;
}

static void take_out(struct model *model, int index)
{
    struct model_sleepers *sleepers = &model->sleepers;

    sleepers->count--;
    memmove(&sleepers->item[index], &sleepers->item[index + 1],
            (size_t) (sleepers->count - index) * sizeof(sleepers->item[0]));
}

/* What is published to a sleeper is heard, or the sleeper is not there any more. */
static bool ring(struct model *model, int index)
{
    if (!model->heard) {
        take_out(model, index);
        return false;
    }
    model->wakes++;
    return true;
}

/* Have that many look by then: the first ones that were not told so, or the last ones. */
static void tell(struct model *model, int64_t by, int many, bool first)
{
    many -= told_by(model, by);
    for (int at = first ? 0 : model->sleepers.count - 1;
         many > 0 && at >= 0 && at < model->sleepers.count;) {
        bool there = true;

        if (!is_told(model, &model->sleepers.item[at], by)) {
            there = ring(model, at);
            many -= there ? 1 : 0;
        }
        if (there) {
            model->sleepers.item[at].told =
                is_told(model, &model->sleepers.item[at], by) ? model->sleepers.item[at].told : by;
        }
        at += first ? (there ? 1 : 0) : -1;
    }
}

/* The first that will not look within a second, or the one that will do so last. */
static int whom_to_wake(const struct model *model)
{
    int latest = 0;

    for (int i = 0; i < model->sleepers.count; i++) {
        if (!is_told(model, &model->sleepers.item[i], model->now + SOON_MS)) {
            return i;
        }
        if (model->sleepers.item[i].told > model->sleepers.item[latest].told) {
            latest = i;
        }
    }
    return latest;
}

static void wake_one(struct model *model)
{
    struct model_sleepers *sleepers = &model->sleepers;

    if (sleepers->woken_at > 0 && llabs(model->now - sleepers->woken_at) < CALL_MS) {
        tell(model, model->now + LOOK_MS, 1, false);
        return;
    }
    while (sleepers->count > 0) {
        int index = whom_to_wake(model), caller = sleepers->item[index].caller;

        if (ring(model, index)) {
            take_out(model, index);
            sleepers->woken = caller;
            sleepers->woken_at = model->now;
            tell(model, model->now + LOOK_MS, 1, false);
            return;
        }
    }
}

static void due_by(struct model *model, int64_t due)
{
    model->sleepers.due = due;
    tell(model, due, 1, true);
    tell(model, due + SECOND_MS, 2, false);
}

/* Where nobody sleeps nothing is kept. */
static void keep(struct model *model)
{
    if (model->sleepers.count == 0) {
        sleepers_clear(model);
    }
}

void sleepers_wake(struct model *model, int64_t due)
{
    if (due <= model->now || model->sleepers.due < model->now - LATE_MS) {
        wake_one(model);
    } else if (due < model->sleepers.due) {
        due_by(model, due);
    }
    keep(model);
}

static void awake(struct model *model, int caller)
{
    for (int i = model->sleepers.count - 1; i >= 0; i--) {
        if (model->sleepers.item[i].caller == caller) {
            take_out(model, i);
        }
    }
}

/* When the caller of the call that parks shall look; -1: not by itself. */
static int64_t told_in_the_reply(const struct model *model, int64_t next)
{
    if (next == INT64_MAX) {
        return -1;
    } else if (told_by(model, next) == 0) {
        return next;
    }
    return told_by(model, next + SECOND_MS) < 2 ? next + SECOND_MS : -1;
}

int sleepers_called(struct model *model, const struct call *call, bool taken, int64_t *next,
                    int *again)
{
    struct model_sleepers *sleepers = &model->sleepers;
    int64_t due = *next;
    int asleep = -1;

    model->parked = -1;
    if (call->n > 0 || *again == 1) {
        awake(model, call->caller);
    }
    sleepers->due = INT64_C(1) << 53;
    if (*again == 1 && sleepers->woken == call->caller) {
        sleepers->woken = NOBODY;
        sleepers->woken_at = 0;
    }
    if (*again == 1) {
        wake_one(model);
    } else if (call->passes == 0 || call->n == 0) {
        sleepers->woken = NOBODY;
        sleepers->woken_at = 0;
    }
    if (call->n > 0 && !taken && *again == 0) {
        int64_t told = told_in_the_reply(model, due);

        sleepers->item[sleepers->count++] =
            (struct model_sleeper){.caller = call->caller, .told = told};
        *next = told >= 0 ? told : INT64_MAX;
        *again = told > due ? 3 : 0;
        asleep = sleepers->count;
    }
    if (due > model->now && due < INT64_MAX) {
        due_by(model, due);
    }
    keep(model);
    return asleep;
}
