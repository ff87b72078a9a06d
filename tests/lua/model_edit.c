/* model_edit.c - what is found in a slot, and what becomes of it by hand. */
#include "model_slot.h"

#include <inttypes.h>
#include <string.h>

/* --- look --- */

static void add_score(struct buf *reply, const struct model_message *message)
{
    buf_printf(reply, " %.17g",
               (double) model_score(message) + attempts_number(message->attempts) / 128.0);
}

/* All that are due come before it, and what is scheduled before. */
static void rank_scheduled(struct model *model, struct buf *reply, int member)
{
    size_t before = model->waiting.count;
    int index;

    sort_prepare(&model->prepare);
    index = model_find_scheduled(model, member);
    if (index < 0) {
        buf_printf(reply, "NO_MESSAGE");
        return;
    }
    for (int i = 0; i < index; i++) {
        before += model->prepare.item[i].scheduled ? 1 : 0;
    }
    buf_printf(reply, "OK %zu s%.17g", before,
               (double) model_score(&model->prepare.item[index]) +
                   attempts_number(model->prepare.item[index].attempts) / 128.0);
}

void model_rank(struct model *model, struct buf *reply, const struct call *call)
{
    const struct model_message *waiting;
    ptrdiff_t rank;

    if (model_refused(model, reply, call, false)) {
        return;
    }
    sort_waiting(&model->waiting);
    waiting = list_find(&model->waiting, call->sends[0].member);
    if (waiting == NULL) {
        rank_scheduled(model, reply, call->sends[0].member);
        return;
    }
    rank = waiting - model->waiting.item;
    buf_printf(reply, "OK %td",
               model_by_priority(model) ? (ptrdiff_t) model->waiting.count - 1 - rank : rank);
    add_score(reply, waiting);
}

static void add_found(struct buf *reply, const struct model *model, char state, const char *name,
                      const struct model_message *message)
{
    const struct model_body *body = state == 'd' ? &message->body : &model->bodies[message->member];
    struct model_tries why = state == 'd' ? message->why : model_why(model, message);
    char text[32];

    buf_printf(reply, " %c %s", state, name);
    add_score(reply, message);
    buf_printf(reply, " ");
    add_tries(reply, &why);
    if (model->keyed) {
        model_text(text, body->text);
        buf_printf(reply, " ");
        add_header(reply, body, state == 'd' ? 1 : model_references(model, message->member));
        buf_printf(reply, " %s", text[0] == '\0' ? "''" : text);
    }
}

/* Whose the claims of the slot are, and what is noted of this one; NULL: it is not claimed. */
static void add_holder(struct buf *reply, const struct model *model,
                       const struct model_message *claimed)
{
    char entry[64] = "";

    if (claimed != NULL) {
        model_entry(entry, claimed);
    }
    add_token(reply, model);
    buf_printf(reply, " ");
    add_owner(reply, model);
    buf_printf(reply, " %" PRIu64, model->base);
    if (claimed != NULL && strcmp(entry, model->noted) == 0) {
        buf_printf(reply, " %" PRId64 " me %s", model->noted_since, model->noted);
    } else {
        buf_printf(reply, " ''");
    }
}

/* Waiting, else scheduled, claimed, resting, dead. */
void model_find(struct model *model, struct buf *reply, const struct call *call)
{
    int member = call->sends[0].member;
    const struct model_message *found;
    char entry[64];

    if (model_refused(model, reply, call, false)) {
        return;
    }
    buf_printf(reply, "OK %" PRId64 " ", model->now);
    sort_prepare(&model->prepare);
    sort_dead(&model->dead);
    found = list_find(&model->waiting, member) == NULL && model_find_scheduled(model, member) < 0
                ? list_find(&model->prepare, member)
                : NULL;
    add_holder(reply, model, found != NULL && !found->resting ? found : NULL);
    if ((found = list_find(&model->waiting, member)) != NULL) {
        add_found(reply, model, 'w', model_members[member], found);
    } else if (model_find_scheduled(model, member) >= 0) {
        found = &model->prepare.item[model_find_scheduled(model, member)];
        model_entry(entry, found);
        add_found(reply, model, 's', entry, found);
    } else if ((found = list_find(&model->prepare, member)) != NULL) {
        model_entry(entry, found);
        add_found(reply, model, found->resting ? 'r' : 'c', entry, found);
    } else if ((found = list_find(&model->dead, member)) != NULL) {
        model_dead_entry(entry, found);
        add_found(reply, model, 'd', entry, found);
    } else {
        buf_printf(reply, " -");
    }
}

/* --- edit --- */

/* With all its retries and no expiry; the body of a later send stays. */
static int64_t revive(struct model *model, const struct model_message *message)
{
    const struct model_attempts none = {0};

    if (model_references(model, message->member) == 0) {
        model->bodies[message->member] = message->body;
        model->bodies[message->member].expiry = -1;
    }
    return model_give_back(model, message, none);
}

static size_t dead_find(const struct model *model, const char *name)
{
    char entry[64];
    size_t index = 0;

    for (; index < model->dead.count; index++) {
        model_dead_entry(entry, &model->dead.item[index]);
        if (strcmp(entry, name) == 0) {
            break;
        }
    }
    return index;
}

void model_requeue(struct model *model, struct buf *reply, const struct call *call)
{
    int64_t due = INT64_MAX;
    int moved = 0;

    if (model_refused(model, reply, call, false)) {
        return;
    }
    model_keep_version(model, call);
    buf_printf(reply, "OK ");
    for (size_t i = 0; i < call->count; i++) {
        size_t index = dead_find(model, call->answers[i].entry);
        bool there = index < model->dead.count;

        buf_printf(reply, "%d", there);
        if (there) {
            struct model_message message = list_take(&model->dead, index);
            int64_t at = revive(model, &message);

            due = at < due ? at : due;
            moved++;
        }
    }
    if (moved > 0) {
        model_wake(model, model_timed(model) ? due : 0);
    }
}

static int find_rest(const struct model *model, char state, const char *name)
{
    char entry[64];

    for (size_t i = 0; i < model->prepare.count; i++) {
        model_entry(entry, &model->prepare.item[i]);
        if (model->prepare.item[i].resting && strcmp(entry, name) == 0 &&
            model->prepare.item[i].scheduled == (state == 's')) {
            return (int) i;
        }
    }
    return -1;
}

static int find_waiting(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->waiting.count; i++) {
        if (strcmp(model_members[model->waiting.item[i].member], name) == 0) {
            return (int) i;
        }
    }
    return -1;
}

/* What waits behind a suspect may be claimed when that is gone. */
static bool remove_one(struct model *model, char state, const char *name, bool *frees)
{
    struct model_list *list = state == 'w'   ? &model->waiting
                              : state == 'd' ? &model->dead
                                             : &model->prepare;
    int index = state == 'w'   ? find_waiting(model, name)
                : state == 'd' ? (int) dead_find(model, name)
                               : find_rest(model, state, name);
    struct model_message message;

    if (index < 0 || index == (int) list->count) {
        return false;
    }
    message = list_take(list, (size_t) index);
    if (state == 'w' || state == 's') {
        message.claimed_step = model->step;
    }
    *frees = *frees || (state == 'w' && message.attempts.suspect) ||
             (state == 'r' && model->kind == 'f');
    if (state != 'd') {
        model_forget(model, message.member, message.attempts);
    }
    model_handled(model, &message);
    model->dropped++;
    return true;
}

void model_remove(struct model *model, struct buf *reply, const struct call *call)
{
    bool frees = false;

    if (model_refused(model, reply, call, false)) {
        return;
    }
    model_keep_version(model, call);
    buf_printf(reply, "OK ");
    for (size_t i = 0; i < call->count; i++) {
        bool there = remove_one(model, call->state, call->answers[i].entry, &frees);

        buf_printf(reply, "%d", there);
    }
    if (frees) {
        model_wake(model, 0);
    }
}

void model_reschedule(struct model *model, struct buf *reply, const struct call *call)
{
    struct model_message *waiting;

    if (model_refused(model, reply, call, false)) {
        return;
    }
    model_keep_version(model, call);
    waiting = list_find(&model->waiting, call->sends[0].member);
    if (model_by_priority(model)) {
        struct model_message message = {.member = call->sends[0].member};
        bool stored = waiting != NULL || model_find_scheduled(model, message.member) >= 0;

        buf_printf(reply, "OK %d", stored);
        if (stored) {
            model_wake(model, model_put_priority(model, call->sends[0].when, call->sends[0].time,
                                                 &message));
        }
        return;
    }
    buf_printf(reply, "OK %d", waiting != NULL);
    if (waiting == NULL) {
        return;
    }
    waiting->at = model_place(model, call->sends[0].relative, call->sends[0].when);
    model_wake(model, model_timed(model) && !waiting->attempts.suspect ? waiting->at : 0);
}

/* --- the slot itself --- */

static void wake_all(struct model *model)
{
    model->wakes += model->heard ? 1 : 0;
}

/* While it was paused no send woke anybody: who was not reached now shall be by the next. */
void model_pause(struct model *model, struct buf *reply, const struct call *call)
{
    if (model_refused(model, reply, call, false)) {
        return;
    }
    model_keep_version(model, call);
    if (call->pauses < model->pauses) {
        buf_printf(reply, "CHANGED");
        return;
    }
    model->pauses = call->pauses;
    model->paused = call->paused;
    if (!call->paused &&
        (model->parked >= 0 || model->pushed_at >= 0 || model->sleepers.count > 0)) {
        model_park(model, model->heard ? -1 : INT64_C(1) << 53, 0);
    }
    wake_all(model);
    buf_printf(reply, "OK");
}

void model_alter(struct model *model, struct buf *reply, const struct call *call)
{
    if (model_refused(model, reply, call, false)) {
        return;
    }
    model_keep_version(model, call);
    model->text = call->version;
    if (call->dedup == 0) {
        memset(model->done_at, 0, sizeof(model->done_at));
    }
    wake_all(model);
    buf_printf(reply, "OK");
}
