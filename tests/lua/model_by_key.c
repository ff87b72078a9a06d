/* model_by_key.c - kind f by key: a failed message holds the later ones of its key. */
#include "model_claim.h"

/* What rests, or failed before and is claimed, holds what was sent later with its key. */
static void find_bars(struct claim *claim)
{
    const struct model_list *prepare = &claim->model->prepare;

    for (int i = 0; i < MODEL_MEMBERS; i++) {
        claim->bars[i] = INT64_MAX;
    }
    for (size_t i = 0; i < prepare->count; i++) {
        const struct model_message *message = &prepare->item[i];
        int64_t *bar = &claim->bars[model_key(message->member)];

        if ((message->resting || attempts_number(message->attempts) > 0) &&
            message->before < *bar) {
            *bar = message->before;
        }
    }
    for (int i = 0; i < MODEL_MEMBERS; i++) {
        if ((claim->formers >> i & 1) != 0) {
            claim->bars[i] = -1;
        }
    }
}

static bool passes_key(const struct claim *claim, const struct model_message *message)
{
    return claim->call->n > 0 && (claim->call->passes >> model_key(message->member) & 1) != 0;
}

static bool is_head(const struct claim *claim, const struct model_message *message)
{
    return message->resting && claim->bars[model_key(message->member)] == message->before &&
           !passes_key(claim, message);
}

/* The first message behind a place that waits, or has rested; NULL: none. */
static struct model_message *next_in_order(const struct claim *claim, int64_t behind)
{
    struct model *model = claim->model;
    struct model_message *found = NULL;

    for (size_t i = 0; i < model->waiting.count; i++) {
        struct model_message *message = &model->waiting.item[i];

        if (message->at > behind && (found == NULL || message->at < found->at)) {
            found = message;
        }
    }
    for (size_t i = 0; i < model->prepare.count; i++) {
        struct model_message *message = &model->prepare.item[i];
        int64_t first = found == NULL ? INT64_MAX : found->resting ? found->before : found->at;

        if (is_head(claim, message) && message->at <= model->now && message->before > behind &&
            message->before < first) {
            found = message;
        }
    }
    return found;
}

/* Claims it; false: it does not fit. */
static bool claim_one(struct claim *claim, struct model_message *message)
{
    struct model *model = claim->model;
    bool resting = message->resting, failed = attempts_number(message->attempts) > 0;
    int64_t place = resting ? message->before : message->at;
    int key = model_key(message->member), taken = claim->taken;
    struct model_list *list = resting ? &model->prepare : &model->waiting;

    if (claim->taken == claim->call->n || !claim_fits(claim, message)) {
        return false;
    }
    claim_take(claim, list_take(list, (size_t) (message - list->item)));
    if (!resting && failed && claim->taken > taken) {
        claim->bars[key] = place;
    }
    claim->frees = claim->frees || (resting && (claim->taken == taken || !failed));
    return true;
}

/* Claims what no message of its key holds; or, with what is `in_flight`, only looks whether there
 * is such a message.  `reached` is where it stops. */
static enum stop walk_by_key(struct claim *claim, const struct in_flight *in_flight)
{
    struct model_message *next;
    int64_t behind = -1;

    while ((next = next_in_order(claim, behind)) != NULL) {
        struct in_flight now = in_flight != NULL ? *in_flight : model_in_flight(claim->model);

        claim->reached = behind = next->resting ? next->before : next->at;
        if (!next->resting && claim->bars[model_key(next->member)] < behind) {
            continue;
        }
        if (!now.suspect && !next->resting && passes_key(claim, next)) {
            continue;
        }
        if (now.suspect || (next->attempts.suspect && now.count > 0)) {
            return STOP_SUSPECT;
        }
        if (in_flight != NULL || !claim_one(claim, next)) {
            return STOP_FULL;
        }
    }
    claim->reached = INT64_MAX;
    return STOP_END;
}

void claim_by_key(struct claim *claim)
{
    find_bars(claim);
    claim->stopped = walk_by_key(claim, NULL);
    claim->stopped = claim->frees ? STOP_FULL : claim->stopped;
}

int64_t claim_due_by_key(struct claim *claim, const struct in_flight *in_flight)
{
    const struct model *model = claim->model;
    int64_t due = INT64_MAX;

    if (in_flight->suspect) {
        return due;
    }
    if (claim->stopped == STOP_NONE) {
        find_bars(claim);
        claim->stopped = walk_by_key(claim, in_flight);
    }
    if (claim->stopped == STOP_FULL ||
        (claim->stopped == STOP_SUSPECT && claim->call->n == 0 && claim_may_pass(claim))) {
        return model->now;
    }
    for (size_t i = 0; i < model->prepare.count; i++) {
        const struct model_message *message = &model->prepare.item[i];

        if (is_head(claim, message) && message->before < claim->reached &&
            message->at > model->now && message->at < due) {
            due = message->at;
        }
    }
    return due;
}
