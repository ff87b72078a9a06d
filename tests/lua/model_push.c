/* model_push.c - sends that claim for an owner that sleeps. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model_slot.h"

/* What the owner has is not touched by the push, and is in order. */
static bool push_fits_prepare(const struct model *model, int member)
{
    for (size_t i = 0; i < model->prepare.count; i++) {
        const struct model_message *message = &model->prepare.item[i];

        if (message->resting != message->scheduled || message->at <= model->now ||
            ((model->keyed || message->scheduled) && message->member == member &&
             !model_is_whole(member))) {
            return false;
        }
    }
    return !model_in_flight(model).suspect;
}

/* Nothing waits that is claimed before it, and nothing that it merges with. */
static bool push_comes_first(const struct model *model, const struct call *call)
{
    size_t waiting = model->waiting.count;

    if (waiting > 0 && (!model_timed(model) ||
                        (call->max_waiting > 0 && (int64_t) waiting >= call->max_waiting))) {
        return false;
    }
    for (size_t i = 0; i < waiting; i++) {
        const struct model_message *message = &model->waiting.item[i];

        if (message->member == call->sends[0].member || message->at <= model->now) {
            return false;
        }
    }
    return true;
}

static bool push_is_due(const struct model *model, const struct call *call)
{
    int64_t when = call->sends[0].when;

    return (!model_timed(model) && call->sends[0].time[0] == '\0') ||
           (model_timed(model) && when <= (call->sends[0].relative ? 0 : model->now));
}

static bool push_may(const struct model *model, const struct call *call)
{
    return call->count == 1 && model->push_lease > 0 && model->heard && !model->paused &&
           call->version == model->version && model->now < model->parked &&
           model->now >= model->leased && push_is_due(model, call) &&
           push_comes_first(model, call) &&
           !(model->keyed && model_is_in_window(model, call->sends[0].member, call->dedup)) &&
           push_fits_prepare(model, call->sends[0].member);
}

static void push_publish(struct model *model, const struct model_message *message, int64_t lease)
{
    const struct model_body *body = &model->bodies[message->member];
    struct buf header = {0};
    char entry[MODEL_NAME], text[MODEL_NAME] = "";

    model_entry(entry, message);
    buf_add(&header, "", 0);
    if (model->keyed && !model_is_whole(message->member)) {
        add_header(&header, body, 1);
        model_text(text, body->text);
    }
    snprintf(model->published, sizeof(model->published),
             "%08x%016" PRIx64 " %" PRId64 " %" PRId64 " %zu %zu\n%s%s%s", 1U, model->token,
             model->now, lease, strlen(entry), header.len, entry, header.data, text);
    buf_fini(&header);
}

bool model_push(struct model *model, const struct call *call)
{
    struct model_message message = {.member = call->sends[0].member, .pushed = true};
    int64_t lease = model->push_lease;

    if (!push_may(model, call)) {
        return false;
    }
    if (model->keyed && !call->whole) {
        model->bodies[message.member] = (struct model_body){
            .text = call->sends[0].text,
            .first = model->now,
            .limit = call->sends[0].limit,
            .headers = call->sends[0].headers,
            .joined = model_joins(call, 0),
            .expiry = call->sends[0].ttl < 0 ? -1 : model->now + call->sends[0].ttl};
    }
    message.before = model_place(model, call->sends[0].relative, call->sends[0].when);
    message.at = model->claimed_until = model->now + lease;
    model->leased = model->leased < 0 ? -1 : model->now;
    message.claim = ++model->claims;
    message.claimed_step = model->step;
    list_put(&model->prepare, &message);
    model->counters[MODEL_SENT]++;
    model_unpark(model);
    model->pushed_at = model->now;
    model->wakes++;
    push_publish(model, &message, lease);
    return true;
}
