/* model_send.c - what a send does to a slot. */
#include "model_slot.h"

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

bool model_has_priority(const struct model_message *waiting, int64_t priority)
{
    int64_t has = waiting->at >= 0 ? waiting->at / two32 : -((-waiting->at - 1) / two32) - 1;

    return has == priority;
}

static bool keeps_place(const struct model *model, const struct model_message *waiting,
                        const struct call *call, int64_t when)
{
    return model->kind == 'f' || (model->kind == 'm' && call->debounce == 0) ||
           (model->kind == 'p' && model_has_priority(waiting, when));
}

/* The last send of what waits gives it all but the time of the first. */
static void keep_body(struct model *model, const struct call *call, size_t index, bool waits)
{
    struct model_body *body = &model->bodies[call->sends[index].member];

    body->first = waits ? body->first : model->now;
    body->text = call->sends[index].text;
    body->limit = call->sends[index].limit;
    body->headers = call->sends[index].headers;
    body->expiry = call->sends[index].ttl < 0 ? -1 : model->now + call->sends[index].ttl;
}

/* When something is due by it; INT64_MAX: its place is as it was.  What waits behind a suspect may
 * be claimed when that leaves its place. */
static int64_t put(struct model *model, const struct call *call, size_t index,
                   struct model_message *waiting)
{
    struct model_message message = {.member = call->sends[index].member};
    int64_t latest;

    keep_body(model, call, index, waiting != NULL);
    if (waiting != NULL && keeps_place(model, waiting, call, call->sends[index].when)) {
        return INT64_MAX;
    }
    message.at = model_place(model, call->sends[index].relative, call->sends[index].when);
    if (waiting == NULL) {
        list_put(&model->waiting, &message);
        return message.at;
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
        int64_t its_due;

        if (waiting == NULL && is_duplicate(model, call, call->sends[i].member)) {
            model->counters[MODEL_DUPLICATES]++;
            results[i] = 'd';
            continue;
        }
        if (waiting == NULL && call->max_waiting > 0 &&
            (int64_t) model->waiting.count >= call->max_waiting) {
            results[i] = 'f';
            continue;
        }
        model->counters[waiting == NULL ? MODEL_SENT : MODEL_MERGED]++;
        results[i] = waiting == NULL ? 'a' : 'm';
        its_due = put(model, call, i, waiting);
        due = its_due < due ? its_due : due;
    }
    return due;
}

void model_send(struct model *model, struct buf *reply, const struct call *call)
{
    char results[CALL_ITEMS_MAX + 1] = "";
    int64_t due;

    model->published[0] = '\0';
    if (model_refused(model, reply, call, false) || model_sent_before(model, reply, call)) {
        return;
    }
    if (model_push(model, call)) {
        model_remember(model, call, "a");
        buf_printf(reply, "OK a");
        return;
    }
    model_keep_version(model, call);
    due = send_all(model, results, call);
    model_remember(model, call, results);
    buf_printf(reply, "OK %s", results);
    model_wake(model, !model_timed(model) && due < INT64_MAX ? 0 : due);
}
