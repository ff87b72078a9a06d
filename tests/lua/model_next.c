/* model_next.c - whether the time that a consume names as the next is right: calls at other times,
 * made to copies of the slot, show it. */
#include <string.h>

#include "model_slot.h"

enum { CALLS_MAX = 64 }; /* that follow each other at one time */

static void copy_list(struct model_list *to, const struct model_list *from)
{
    to->count = from->count;
    memcpy(to->item, from->item, from->count * sizeof(from->item[0]));
}

/* Lists have room for far more messages than they hold. */
static void copy_model(struct model *to, const struct model *from)
{
    size_t lists = offsetof(struct model, waiting), behind = offsetof(struct model, passes);

    memcpy(to, from, lists);
    copy_list(&to->waiting, &from->waiting);
    copy_list(&to->prepare, &from->prepare);
    copy_list(&to->dead, &from->dead);
    memcpy((char *) to + behind, (const char *) from + behind, sizeof(*from) - behind);
}

/* The same caller calls again: it knows what it got, and has room for everything.  true: it claims
 * something. */
static bool claims(struct model *model, const struct call *call)
{
    static struct call again;
    uint64_t before = model->claims;
    struct buf reply = {0};

    again = *call;
    again.count = 0;
    again.n = MODEL_MAX;
    again.max_bytes = INT32_MAX;
    again.last = model->claims;
    again.position[0] = '\0';
    model->ordinary = false;
    model_call(model, &reply, &again);
    buf_fini(&reply);
    return model->claims > before;
}

static bool claims_at(const struct model *model, const struct call *call, int64_t now)
{
    static struct model copy;

    copy_model(&copy, model);
    copy.now = now;
    return claims(&copy, call);
}

/* Could something that has a time be claimed before the next call comes? */
static bool is_late(const struct model *model, const struct call *call)
{
    const struct model_list *lists[] = {&model->waiting, &model->prepare};

    if (model->due > model->now && claims_at(model, call, model->now)) {
        return true;
    }
    for (int i = model_timed(model) ? 0 : 1; i < 2; i++) {
        for (size_t j = 0; j < lists[i]->count; j++) {
            int64_t at = lists[i]->item[j].at;

            if (at > model->now && at < model->due && claims_at(model, call, at)) {
                return true;
            }
        }
    }
    return false;
}

/* Do calls from the next on claim nothing, and always name a time that has come already? */
static bool spins(const struct model *model, const struct call *call)
{
    static struct model copy;

    if (model->due == INT64_MAX) {
        return false;
    }
    copy_model(&copy, model);
    copy.now = model->due;
    for (int i = 0; i < CALLS_MAX; i++) {
        if (claims(&copy, call) || copy.due > copy.now) {
            return false;
        }
    }
    return true;
}

/* Does none of those that sleep in a shared slot look when something is due? */
static bool is_overslept(const struct model *model)
{
    const struct model_sleepers *sleepers = &model->sleepers;

    for (int i = 0; i < sleepers->count; i++) {
        int64_t told = sleepers->item[i].told;

        if (told > model->now && told <= model->due) {
            return false;
        }
    }
    return sleepers->count > 0 && model->due > model->now && model->due < INT64_MAX;
}

const char *model_wrong_next(const struct model *model, const struct call *call)
{
    if (model->due < 0 || model->paused) {
        return NULL;
    }
    return is_late(model, call)  ? "something may be claimed before the next call comes"
           : spins(model, call)  ? "calls come again and again, and claim nothing"
           : is_overslept(model) ? "all sleep when something is due"
                                 : NULL;
}
