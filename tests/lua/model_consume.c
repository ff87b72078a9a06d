/* model_consume.c - what a consume does to a slot. */
#include "model_claim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- settle --- */

static void rest(struct model *model, const struct model_message *message,
                 struct model_attempts attempts, int64_t delay)
{
    struct model_message resting = *message;

    resting.resting = true;
    resting.at = model->now + delay;
    resting.attempts = attempts;
    list_put(&model->prepare, &resting);
}

static void retry(struct model *model, const struct model_message *message,
                  struct model_attempts attempts, const struct call_answer *answer)
{
    model->counters[MODEL_RETRIED]++;
    attempts.retries++;
    model_try(model, message, 't', answer->reason);
    if (answer->delay > 0 || model->kind == 'f') {
        rest(model, message, attempts, answer->delay);
    } else {
        (void) model_give_back(model, message, attempts);
    }
}

static void release(struct model *model, const struct model_message *message,
                    const struct call_answer *answer)
{
    model->counters[MODEL_RELEASED]++;
    if (answer->delay > 0) {
        rest(model, message, message->attempts, answer->delay);
    } else {
        (void) model_give_back(model, message, message->attempts);
    }
}

/* And what has left the window is forgotten. */
static void remember_done(struct model *model, const struct call *call, int member)
{
    if (!model->keyed || call->dedup == 0) {
        return;
    }
    model->done_at[model_plain(member)] = model->now;
    for (int i = 0; i < MODEL_MEMBERS; i++) {
        if (!model_is_in_window(model, i, call->dedup)) {
            model->done_at[i] = 0;
        }
    }
}

static void settle(struct model *model, struct buf *results, const struct call_answer *answer,
                   const struct call *call)
{
    int32_t max_retries = call->max_retries;
    int index = model_find_claim(model, answer->entry);
    struct model_message message;
    struct model_attempts attempts;

    buf_printf(results, "%c", index < 0 ? '0' : '1');
    if (index < 0) {
        return;
    }
    message = list_take(&model->prepare, (size_t) index);
    attempts = message.attempts;
    attempts.suspect = false;
    if (answer->op == 'd' || answer->op == 'D') {
        model->counters[MODEL_DONE]++;
        model_handled(model, &message);
        model_forget(model, message.member, attempts);
        remember_done(model, call, message.member);
    } else if (answer->op == 'b') {
        release(model, &message, answer);
    } else if (answer->op == 'h') {
        model_lose(model, &message, max_retries, MODEL_DEAD_TIMED_OUT, "its handler took too long");
    } else if (answer->op == 'x' ||
               attempts.retries >= model_limit(model, message.member, max_retries)) {
        model->counters[MODEL_REJECTED]++;
        model_bury(model, &message, attempts,
                   answer->op == 'x' ? MODEL_DEAD_REJECTED : MODEL_DEAD_FAILED, answer->reason);
    } else {
        retry(model, &message, attempts, answer);
    }
}

/* --- bring back --- */

/* Of few bytes the scripts read sixteen at once and no more. */
static int sweep_limit(const struct model *model, const struct call *call)
{
    return call->max_bytes <= MODEL_SOME_BYTES ? 16 : model->keyed ? 200 : MODEL_MAX;
}

/* Does the caller not know the newest claim? */
static bool is_lost(const struct model *model, const struct call *call)
{
    return !model->shared && call->last < model->claims;
}

/* Of the newest claim, and not renewed by its owner since. */
static bool is_newest(const struct model *model, const struct model_message *message)
{
    return !message->resting && message->claim == model->claims && message->claim > model->base &&
           message->at == model->claimed_until;
}

/* A push to which Redis gave a number that the owner knows, because it had lost claims. */
static bool is_strange(const struct model *model, const struct call *call)
{
    return model->pushed_at >= 0 && model->pushed_at != call->pushed && call->last >= model->claims;
}

/* It waits again, unless the owner may have it.  false: that is not known. */
static bool disown(struct model *model, const struct call *call)
{
    sort_prepare(&model->prepare);
    for (size_t i = 0; i < model->prepare.count;) {
        struct model_message message = model->prepare.item[i];

        if (message.resting || message.claim != model->claims ||
            message.at != model->claimed_until) {
            i++;
            continue;
        }
        if (message.claim >= call->oldest) {
            return false;
        }
        (void) list_take(&model->prepare, i);
        model->counters[MODEL_LEASE_LOST]++;
        (void) model_give_back(model, &message, message.attempts);
    }
    return true;
}

/* A claim of its owner whose message it does not have: it has answered it. */
static bool is_forgotten(const struct model *model, const struct call *call,
                         const struct model_message *message)
{
    return !model->shared && !message->resting && message->claim > model->base &&
           message->claim < call->oldest;
}

/* First the claims whose leases have ended, then the rests.  If the first claim is forgotten, all
 * that are come back, too.  true: there may be more. */
static bool bring_back(struct model *model, const struct call *call)
{
    static struct model_list old;
    bool forgets, moved;
    int met[3] = {0, 0, 0}; /* claims, rests, what is scheduled */
    int limit = sweep_limit(model, call);

    sort_prepare(&model->prepare);
    old = model->prepare;
    forgets = old.count > 0 && is_forgotten(model, call, &old.item[0]);
    model->prepare.count = 0;
    for (size_t i = 0; i < old.count; i++) {
        struct model_message *message = &old.item[i];
        bool own = !model->shared && message->claim > model->base;
        bool stays = message->resting && model->kind == 'f';

        bool read = message->at <= model->now || (forgets && !message->resting);

        if (stays || !read || met[message->resting + message->scheduled]++ >= limit ||
            (message->at > model->now && !is_forgotten(model, call, message))) {
            list_put(&model->prepare, message);
        } else if (message->resting) {
            (void) model_give_back(model, message, message->attempts);
        } else if (is_forgotten(model, call, message)) {
            model->counters[MODEL_LEASE_LOST]++;
            (void) model_give_back(model, message, message->attempts);
        } else if (own) {
            if (!is_lost(model, call) || !is_newest(model, message)) {
                message->at = model->now + call->lease;
            }
            list_put(&model->prepare, message);
        } else {
            model_lose(model, message, call->max_retries, MODEL_DEAD_CRASHED, model_died);
        }
    }
    moved = met[0] + met[1] + met[2] > 0;
    sort_prepare(&model->prepare);
    return met[0] >= limit || met[1] >= limit || met[2] >= limit ||
           (moved && model->prepare.count > 0 &&
            is_forgotten(model, call, &model->prepare.item[0]));
}

/* --- claim --- */

static void deliver(const struct model *model, struct buf *delivered,
                    const struct model_message *message)
{
    const struct model_body body = model_body_of(model, message->member, message->before);
    char entry[MODEL_NAME], text[MODEL_NAME];

    model_entry(entry, message);
    buf_printf(delivered, " %s %d", entry, attempts_number(message->attempts));
    if (model_is_whole(message->member)) {
        buf_printf(delivered, " '' ''");
    } else if (model->keyed) {
        model_text(text, body.text);
        buf_printf(delivered, " ");
        add_header(delivered, &body, model_references(model, message->member));
        buf_printf(delivered, " %s", text[0] == '\0' ? "''" : text);
    }
}

static size_t size_of(const struct model *model, int member)
{
    size_t size = strlen(model_members[member]);
    char text[MODEL_NAME];

    if (model->keyed && !model_is_whole(member)) {
        model_text(text, model->bodies[member].text);
        size += strlen(text);
    }
    return size;
}

bool claim_fits(struct claim *claim, const struct model_message *message)
{
    int64_t place = message->resting ? message->before : message->at;

    if (model_has_expired(claim->model, message->member, place) && !claim->call->expired_to_dead) {
        return true;
    }
    claim->bytes += size_of(claim->model, message->member);
    if (claim->met > 0 && claim->bytes > (size_t) claim->call->max_bytes) {
        return false;
    }
    claim->met++;
    return true;
}

static void expire(struct claim *claim, const struct model_message *message)
{
    claim->expired++;
    claim->model->counters[MODEL_EXPIRED]++;
    if (claim->call->expired_to_dead) {
        model_bury(claim->model, message, message->attempts, MODEL_DEAD_EXPIRED, "expired");
    } else {
        model_handled(claim->model, message);
        model_forget(claim->model, message->member, message->attempts);
        claim->model->dropped++;
    }
}

void claim_take(struct claim *claim, struct model_message message)
{
    struct model *model = claim->model;

    if (!message.resting) {
        message.before = message.at;
        message.claimed_step = model->step;
    }
    if (model_has_expired(model, message.member, message.before)) {
        expire(claim, &message);
        return;
    }
    model->claims += claim->taken == 0 ? 1 : 0;
    model->claimed_until = model->now + claim->call->lease;
    claim->taken++;
    message.resting = message.pushed = false;
    message.at = model->now + claim->call->lease;
    message.claim = model->claims;
    message.claimed_step = model->step;
    list_put(&model->prepare, &message);
    deliver(model, claim->delivered, &message);
}

/* A suspect is claimed alone. */
static bool may_join(const struct model *model, const struct model_message *message)
{
    struct in_flight in_flight = model_in_flight(model);

    return !in_flight.suspect && !(message->attempts.suspect && in_flight.count > 0);
}

/* Which of the waiting ones comes next; -1: none waits. */
static int next_waiting(struct model *model)
{
    sort_waiting(&model->waiting);
    return model_by_priority(model)    ? (int) model->waiting.count - 1
           : model->waiting.count == 0 ? -1
                                       : 0;
}

/* Those up to a time or place whose keys are not passed over. */
static void claim_others(struct claim *claim, int64_t up_to)
{
    struct model *model = claim->model;
    size_t passed = 0;

    claim->stopped = STOP_END;
    sort_waiting(&model->waiting);
    while (passed < model->waiting.count) {
        size_t index = model_by_priority(model) ? model->waiting.count - 1 - passed : passed;
        const struct model_message *next = &model->waiting.item[index];

        if (next->at > up_to) {
            return;
        }
        bool passes = ((claim->call->passes | claim->formers) >> model_key(next->member) & 1) != 0;
        if (passes ? model_in_flight(model).suspect : !may_join(model, next)) {
            claim->stopped = STOP_SUSPECT;
            return;
        }
        if (passes) {
            passed++;
            continue;
        }
        if (claim->taken == claim->call->n || !claim_fits(claim, next)) {
            claim->stopped = STOP_FULL;
            return;
        }
        claim_take(claim, list_take(&model->waiting, index));
    }
}

/* Those up to a time or place, itself included. */
static void claim_waiting(struct claim *claim, int64_t up_to)
{
    struct model *model = claim->model;

    if (claim->call->passes != 0 || claim->formers != 0) {
        claim_others(claim, up_to);
        return;
    }
    while (claim->taken < claim->call->n) {
        int index = next_waiting(model);
        const struct model_message *next = index < 0 ? NULL : &model->waiting.item[index];

        if (next == NULL || next->at > up_to || !may_join(model, next) ||
            !claim_fits(claim, next)) {
            return;
        }
        claim_take(claim, list_take(&model->waiting, (size_t) index));
    }
}

/* The rest of what was sent first behind a place; -1: none. */
static int first_rest(const struct model *model, int64_t behind)
{
    int found = -1;

    for (size_t i = 0; i < model->prepare.count; i++) {
        const struct model_message *message = &model->prepare.item[i];

        if (message->resting && message->before > behind &&
            (found < 0 || message->before < model->prepare.item[found].before)) {
            found = (int) i;
        }
    }
    return found;
}

/* Does the former owner have a message of its key? */
static bool is_kept(const struct claim *claim, const struct model_message *message)
{
    return (claim->formers >> model_key(message->member) & 1) != 0;
}

/* Kind f, letting others pass: what has rested, then what waits. */
static void claim_passing(struct claim *claim)
{
    struct model *model = claim->model;
    int64_t behind = -1;

    for (int index = first_rest(model, behind); index >= 0; index = first_rest(model, behind)) {
        const struct model_message *rested = &model->prepare.item[index];

        behind = rested->before;
        if (!is_kept(claim, rested) && rested->at <= model->now && claim->taken < claim->call->n &&
            may_join(model, rested) && claim_fits(claim, rested)) {
            claim_take(claim, list_take(&model->prepare, (size_t) index));
        }
    }
    claim_waiting(claim, INT64_MAX);
}

/* The claims of the former owner that last, after a strict takeover. */
static void find_formers(struct claim *claim)
{
    struct model *model = claim->model;

    if (model->shared || !claim->call->strict || model->former < 0) {
        return;
    }
    for (size_t i = 0; i < model->prepare.count; i++) {
        const struct model_message *message = &model->prepare.item[i];

        if (!message->resting && message->claim <= model->base) {
            claim->formers |= 1U << model_key(message->member);
        }
    }
    if (claim->formers == 0) {
        model->former = -1;
    }
}

static void claim(struct claim *claim)
{
    struct model *model = claim->model;

    if (claim->call->n == 0 || model->paused || model_in_flight(model).suspect) {
        return;
    }
    if (model->kind != 'f') {
        claim_waiting(claim, model_timed(model) ? model->now : INT64_MAX);
    } else if (model->passing) {
        claim_passing(claim);
    } else {
        claim_by_key(claim);
    }
}

/* In the order in which they were claimed. */
static int compare_places(const void *a, const void *b)
{
    const struct model_message *one = *(struct model_message *const *) a,
                               *other = *(struct model_message *const *) b;

    if (one->before != other->before) {
        return one->before < other->before ? -1 : 1;
    }
    return one < other ? -1 : 1; /* their bytes are in this order */
}

/* As a sorted set orders those of one lease. */
static int compare_to_position(const struct model_message *message, const struct call *call)
{
    int order = attempts_number(message->attempts) - call->position_attempts;
    char entry[MODEL_NAME];

    model_entry(entry, message);
    return order != 0 ? order : strcmp(entry, call->position);
}

/* Does it come behind what the caller knows of this claim? */
static bool is_behind(const struct model *model, const struct model_message *message,
                      const struct call *call)
{
    int64_t place = strtoll(call->position, NULL, 10);

    if (call->position[0] == '\0') {
        return true;
    }
    if (model->kind == 'f') {
        return message->before > place;
    }
    if (model_by_priority(model)) {
        return message->before < place ||
               (message->before == place && compare_to_position(message, call) < 0);
    }
    return compare_to_position(message, call) > 0;
}

/* The newest claim, in its order. */
static size_t find_newest(struct model *model, struct model_message *found[])
{
    size_t count = 0;

    sort_prepare(&model->prepare);
    for (size_t i = 0; i < model->prepare.count; i++) {
        if (is_newest(model, &model->prepare.item[i])) {
            found[count++] = &model->prepare.item[i];
        }
    }
    if (model->kind == 'f' || model_by_priority(model)) {
        qsort(found, count, sizeof(found[0]), compare_places);
    }
    return count;
}

/* true: there are more than one reply may have. */
static bool hand_over(struct model *model, struct buf *delivered, const struct call *call)
{
    struct model_message *found[MODEL_MAX];
    size_t count = find_newest(model, found), bytes = 0;
    bool first = true;

    for (size_t i = 0; i < count; i++) {
        found[i]->at = model->now + call->lease;
        model->claimed_until = model->now + call->lease;
    }
    for (size_t i = 0; i < count; i++) {
        struct model_message *message = found[model_by_priority(model) ? count - 1 - i : i];
        size_t size = size_of(model, message->member);

        if (!is_behind(model, message, call)) {
            continue;
        }
        if (!first && bytes + size > (size_t) call->max_bytes) {
            return true;
        }
        deliver(model, delivered, message);
        bytes += size;
        first = false;
    }
    return false;
}

/* --- when the next claim can succeed; INT64_MAX: never by itself --- */

bool claim_may_pass(const struct claim *claim)
{
    return claim->call->passes != 0 || claim->formers != 0;
}

static bool could_join(const struct in_flight *in_flight, const struct model_message *message)
{
    return !in_flight->suspect && !(message->attempts.suspect && in_flight->count > 0);
}

/* After a claim that has passed over keys: of those that are not due the first. */
static int64_t others_due(struct model *model, const struct in_flight *in_flight, int stopped)
{
    if (stopped == STOP_FULL) {
        return model->now;
    }
    sort_waiting(&model->waiting);
    for (size_t i = 0; stopped == STOP_END && model_timed(model) && i < model->waiting.count; i++) {
        if (model->waiting.item[i].at > model->now) {
            return in_flight->suspect ? INT64_MAX : model->waiting.item[i].at;
        }
    }
    return INT64_MAX;
}

/* Of those that wait the first. */
static int64_t waiting_due(const struct claim *claim, const struct in_flight *in_flight)
{
    struct model *model = claim->model;
    int index = next_waiting(model);

    if (model->stopped != 0) {
        return others_due(model, in_flight, model->stopped);
    }
    if (index < 0 || in_flight->suspect ||
        (!could_join(in_flight, &model->waiting.item[index]) && !claim_may_pass(claim))) {
        return INT64_MAX;
    }
    return model_timed(model) ? model->waiting.item[index].at : model->now;
}

/* Kind f, letting others pass: a suspect, or what the former owner keeps, is looked at again when
 * its rest has ended. */
static int64_t passing_due(const struct claim *claim, const struct in_flight *in_flight)
{
    struct model *model = claim->model;
    int64_t due = waiting_due(claim, in_flight);

    for (size_t i = 0; i < model->prepare.count; i++) {
        const struct model_message *message = &model->prepare.item[i];

        if (message->resting && !in_flight->suspect &&
            (message->at > model->now ||
             (could_join(in_flight, message) && !is_kept(claim, message)))) {
            due = earlier(due, message->at);
        }
    }
    return due;
}

/* `in_flight` is of before a lost reply was delivered again. */
static int64_t next_claim(struct claim *claim, const struct in_flight *in_flight)
{
    struct model *model = claim->model;

    if (model->kind != 'f') {
        return earlier(earlier(in_flight->first_end, in_flight->first_rest),
                       waiting_due(claim, in_flight));
    }
    return earlier(in_flight->first_end, model->passing ? passing_due(claim, in_flight)
                                                        : claim_due_by_key(claim, in_flight));
}

static void park(const struct claim *claim, int64_t next)
{
    struct model *model = claim->model;
    const struct call *call = claim->call;
    bool open = call->open && claim->formers == 0;
    int64_t until = next == INT64_MAX ? INT64_C(1) << 53 : next;

    if (model->paused) {
        model_park(model, 0, 0);
        return;
    }
    model_park(model, until, open ? call->lease : 0);
}

/* --- the call --- */

static void reply_consumed(const struct claim *claim, struct buf *reply, int64_t next,
                           uint64_t claims, const struct buf *results, int again)
{
    const struct model *model = claim->model;

    buf_printf(reply, "OK %" PRId64, model->now);
    add_time(reply, model->paused ? INT64_MAX : next);
    buf_printf(reply, " %" PRIu64 " %s %d", claims, results->len > 0 ? results->data : "''",
               model->paused ? 2 : again);
    if (model->first_tick >= 0 && !model->paused) {
        buf_printf(reply, " %" PRId64, model->first_tick);
    }
    buf_printf(reply, "%s", claim->delivered->data);
    if (claim->expired > 0) {
        buf_printf(reply, " %d", claim->expired);
    }
}

/* Beside inline and whole messages nothing is stored.  So an owner's answers are not looked up
 * unless it is unsure itself: when some are gone, each may be one of them.  An ordinary call looks
 * up no answers of whole messages. */
static void blur_results(const struct model *model, struct buf *results, const struct call *call)
{
    bool all = !model->keyed || (call->dedup == 0 && call_all_whole(call));
    size_t blurred = 0, gone = 0;

    if (model->shared || call->repeated || !(all || model->ordinary)) {
        return;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < call->count && call->answers[i].op == 'd'; i++) {
            bool may_be = all || call_is_whole(&call->answers[i]);

            blurred += pass == 0 && may_be;
            gone += pass == 0 && may_be && results->data[i] == '0';
            if (pass == 1 && may_be && gone > 0 && gone < blurred) {
                results->data[i] = 'u';
            }
        }
    }
}

/* An ordinary call returns what has rested before it settles answers, if its caller knows of that.
 */
static void return_rested(struct model *model, const struct call *call)
{
    for (size_t i = 0; model->ordinary && call->rested && i < model->prepare.count;) {
        const struct model_message *message = &model->prepare.item[i];

        if (message->resting && !message->scheduled && message->at <= model->now) {
            struct model_message rested = list_take(&model->prepare, i);

            (void) model_give_back(model, &rested, rested.attempts);
        } else {
            i++;
        }
    }
}

/* Behind the answers that the ordinary call has settled something is to be brought back,
 * or a suspect: the next call sees to it. */
static bool leaves_the_rest(struct model *model, const struct call *call)
{
    const struct model_message *first = &model->prepare.item[0];

    if (!model->ordinary || model->prepare.count == 0) {
        return false;
    }
    for (size_t i = 0; i < model->prepare.count; i++) {
        if (model->prepare.item[i].at <= model->now) {
            return true;
        }
    }
    sort_prepare(&model->prepare);
    return !first->resting && (first->attempts.suspect || is_forgotten(model, call, first));
}

void model_consume(struct model *model, struct buf *reply, const struct call *call)
{
    struct buf results = {0}, delivered = {0};
    struct claim claiming = {.model = model, .call = call, .delivered = &delivered};
    bool lost = is_lost(model, call), part = false;
    bool strange = !model->shared && is_strange(model, call), disputed = false;
    struct in_flight in_flight;
    bool leaves;
    int64_t next;
    int again, asleep = -1;

    model->due = -1;
    if (model_refused(model, reply, call, true)) {
        return;
    }
    model_keep_version(model, call);
    model->passing = call->skip_failed;
    model->passes = call->passes;
    buf_add(&results, "", 0);
    buf_add(&delivered, "", 0);
    return_rested(model, call);
    for (size_t i = 0; i < call->count; i++) {
        settle(model, &results, &call->answers[i], call);
    }
    blur_results(model, &results, call);
    if (model->shared || call->strict) {
        model_keep_leases(model);
    }
    disputed = strange && !disown(model, call);
    if (!model->shared && call->last > model->claims) {
        model->claims = call->last;
    }
    leaves = leaves_the_rest(model, call);
    again = leaves || bring_back(model, call) || lost ? 1 : 0;
    in_flight = model_in_flight(model);
    find_formers(&claiming);
    if (lost) {
        part = hand_over(model, &delivered, call);
    } else {
        if (!disputed && !leaves) {
            claim(&claiming);
        }
        in_flight = model_in_flight(model);
    }
    model->stopped = (int) claiming.stopped;
    next = leaves ? model->now : disputed ? model->now + 1000 : next_claim(&claiming, &in_flight);
    again = again || next <= model->now ? 1 : 0;
    model->due = disputed ? -1 : again ? model->now : next;
    if (model->shared && !model->paused) {
        asleep = sleepers_called(model, call, claiming.taken > 0, &next, &again);
    } else if (call->n > 0 && claiming.taken == 0 && (model->paused || (!again && !disputed))) {
        park(&claiming, next);
    } else if (!model->shared && (claiming.taken > 0 ||
                                  (model->pushed_at >= 0 && (lost || (strange && !disputed))))) {
        model_unpark(model);
    } else if (!(call->open && claiming.formers == 0 && call->n > 0)) {
        model->push_lease = 0;
    }
    reply_consumed(&claiming, reply, next,
                   asleep >= 0 ? (uint64_t) asleep : model->claims - (part ? 1 : 0), &results,
                   again);
    buf_fini(&results);
    buf_fini(&delivered);
}
