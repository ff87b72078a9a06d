/* model_send.c - what a send does to a slot. */
#include "model_slot.h"

#include <stdlib.h>
#include <string.h>

static const int64_t two32 = INT64_C(1) << 32;

int64_t model_place(struct model *model, bool relative, int64_t when)
{
    switch (model->kind) {
    case 'f':
        return (int64_t) ++model->seq;
    case 'p':
        return when * two32 + two32 - 1 - (int64_t) model->seq++;
    case 'b':
        return when;
    default:
        break;
    }
    if (relative) {
        return model->now + when;
    }
    return when > model->now ? when : model->now;
}

bool model_has_priority(int64_t place, int64_t priority)
{
    int64_t has = place >= 0 ? place / two32 : -((-place - 1) / two32) - 1;

    return has == priority;
}

/* When a message is due, by the text behind its priority; 0: now. */
static int64_t scheduled_time(const struct model *model, const char *time)
{
    int64_t at = 0;

    if (time[0] == '@') {
        at =
            time[1] == '+' ? model->now + strtoll(time + 2, NULL, 10) : strtoll(time + 1, NULL, 10);
    }
    return at > model->now ? at : 0;
}

/* Takes what waits of a member, and is scheduled, as one message that waits; false: nothing. */
static bool take_stored(struct model_message *out, struct model *model, int member)
{
    struct model_message *waiting = list_find(&model->waiting, member);
    int index = model_find_scheduled(model, member);
    struct model_message scheduled;

    if (waiting != NULL) {
        *out = list_take(&model->waiting, (size_t) (waiting - model->waiting.item));
    }
    if (index < 0) {
        return waiting != NULL;
    }
    scheduled = list_take(&model->prepare, (size_t) index);
    if (waiting == NULL) {
        *out = (struct model_message){
            .member = member, .at = scheduled.before, .attempts = scheduled.attempts};
    } else {
        out->attempts = model_join(out->attempts, scheduled.attempts);
        model->counters[MODEL_MERGED]++;
        model->joined++;
    }
    return true;
}

int64_t model_put_priority(struct model *model, int64_t when, const char *time,
                           const struct model_message *added)
{
    int64_t due = scheduled_time(model, time);
    struct model_message *waiting = list_find(&model->waiting, added->member);
    struct model_message message = *added;

    if (waiting != NULL && model_find_scheduled(model, added->member) < 0 && due == 0 &&
        model->kind == 'p' && model_has_priority(waiting->at, when)) {
        return INT64_MAX;
    }
    if (!take_stored(&message, model, added->member) || model->kind != 'p' ||
        !model_has_priority(message.at, when)) {
        message.at = model_place(model, false, when);
    }
    if (due == 0) {
        list_put(&model->waiting, &message);
        return 0;
    }
    message.before = message.at;
    message.at = due;
    message.resting = message.scheduled = true;
    list_put(&model->prepare, &message);
    return message.attempts.suspect ? 0 : due;
}

static bool keeps_place(const struct model *model, const struct call *call)
{
    return model->kind == 'f' || (model->kind == 'm' && call->debounce == 0);
}

bool model_joins(const struct call *call, size_t index)
{
    char text[MODEL_NAME];

    model_text(text, call->sends[index].text);
    return (int64_t) strlen(text) < call->field_from;
}

/* The last send of what waits gives it all but the time of the first.  What has two fields keeps
 * them. */
static void keep_body(struct model *model, const struct call *call, size_t index, bool waits)
{
    struct model_body *body = &model->bodies[call->sends[index].member];

    body->joined = model_joins(call, index) &&
                   (body->joined || model_references(model, call->sends[index].member) == 0);
    body->first = waits ? body->first : model->now;
    body->text = call->sends[index].text;
    body->limit = call->sends[index].limit;
    body->headers = call->sends[index].headers;
    body->expiry = call->sends[index].ttl < 0 ? -1 : model->now + call->sends[index].ttl;
}

/* Does it wait, or is it scheduled? */
static bool is_stored(const struct model *model, int member)
{
    for (size_t i = 0; i < model->waiting.count; i++) {
        if (model->waiting.item[i].member == member) {
            return true;
        }
    }
    return model_find_scheduled(model, member) >= 0;
}

/* When something is due by it; INT64_MAX: its place is as it was.  What waits behind a suspect may
 * be claimed when that leaves its place. */
static int64_t put(struct model *model, const struct call *call, size_t index,
                   struct model_message *waiting)
{
    struct model_message message = {.member = call->sends[index].member};
    int64_t latest;

    if (!call->whole) {
        keep_body(model, call, index, is_stored(model, message.member));
    }
    if (model_by_priority(model)) {
        return model_put_priority(model, call->sends[index].when, call->sends[index].time,
                                  &message);
    }
    if (waiting != NULL && keeps_place(model, call)) {
        return INT64_MAX;
    }
    message.at = model_place(model, call->sends[index].relative, call->sends[index].when);
    if (waiting == NULL) {
        list_put(&model->waiting, &message);
        return model_timed(model) ? message.at : 0;
    }
    latest = model->bodies[message.member].first + call->debounce;
    waiting->at = call->debounce > 0 && latest < message.at ? latest : message.at;
    return waiting->attempts.suspect ? 0 : waiting->at;
}

/* Of what does not wait: is it in flight, does it rest, or was it done within the window? */
static bool is_duplicate(const struct model *model, const struct call *call, int member)
{
    return model->keyed && call->dedup > 0 &&
           (model_references(model, member) > 0 || model_is_in_window(model, member, call->dedup));
}

/* Adds, merges or refuses each message.  Answers when the first is due. */
static int64_t send_all(struct model *model, char *results, const struct call *call)
{
    int64_t due = INT64_MAX;

    for (size_t i = 0; i < call->count; i++) {
        struct model_message *waiting = list_find(&model->waiting, call->sends[i].member);
        bool stored = is_stored(model, call->sends[i].member);
        int64_t its_due;

        if (!stored && is_duplicate(model, call, call->sends[i].member)) {
            model->counters[MODEL_DUPLICATES]++;
            results[i] = 'd';
            continue;
        }
        if (!stored && call->max_waiting > 0 &&
            (int64_t) (model->waiting.count + model_count_scheduled(model)) >= call->max_waiting) {
            results[i] = 'f';
            continue;
        }
        model->counters[stored ? MODEL_MERGED : MODEL_SENT]++;
        results[i] = stored ? 'm' : 'a';
        its_due = put(model, call, i, waiting);
        due = its_due < due ? its_due : due;
    }
    return due;
}

void model_send_all(struct model *model, char *results, const struct call *call)
{
    if (model_push(model, call)) {
        results[0] = 'a';
        return;
    }
    model_keep_version(model, call);
    model_wake(model, send_all(model, results, call));
}

void model_send(struct model *model, struct buf *reply, const struct call *call)
{
    char results[CALL_ITEMS_MAX + 1] = "";

    model->published[0] = '\0';
    if (model_refused(model, reply, call, false) || model_sent_before(model, reply, call)) {
        return;
    }
    model_send_all(model, results, call);
    model_remember(model, call, results);
    buf_printf(reply, "OK %s", results);
}
