/* model_slot.c - see model_slot.h. */
#include "model_slot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

const char *const model_counters[MODEL_COUNTERS] = {
    [MODEL_SENT] = "sent",
    [MODEL_MERGED] = "merged",
    [MODEL_DONE] = "done",
    [MODEL_RETRIED] = "retried",
    [MODEL_REJECTED] = "rejected",
    [MODEL_EXPIRED] = "expired",
    [MODEL_RELEASED] = "released",
    [MODEL_LEASE_LOST] = "lease_lost",
    [MODEL_DEAD_REJECTED] = "dead_rejected",
    [MODEL_DEAD_FAILED] = "dead_failed",
    [MODEL_DEAD_CRASHED] = "dead_crashed",
    [MODEL_DEAD_TIMED_OUT] = "dead_timed_out",
    [MODEL_DEAD_EXPIRED] = "dead_expired",
    [MODEL_DEAD_BODILESS] = "dead_bodiless",
    [MODEL_DUPLICATES] = "duplicates",
};

void model_add_counters(struct args *args)
{
    for (int i = 0; i < MODEL_COUNTERS; i++) {
        args_add(args, model_counters[i]);
    }
}

bool model_by_priority(const struct model *model)
{
    return model->kind == 'p' || model->kind == 'b';
}

bool model_timed(const struct model *model)
{
    return model->kind == 'm' || model->kind == 't';
}

/* --- lists --- */

struct model_message list_take(struct model_list *list, size_t index)
{
    struct model_message taken = list->item[index];

    memmove(&list->item[index], &list->item[index + 1],
            (list->count - index - 1) * sizeof(list->item[0]));
    list->count--;
    return taken;
}

void list_put(struct model_list *list, const struct model_message *message)
{
    if (list->count == MODEL_MAX) {
        abort();
    }
    list->item[list->count++] = *message;
}

struct model_message *list_find(struct model_list *list, int member)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->item[i].member == member) {
            return &list->item[i];
        }
    }
    return NULL;
}

int attempts_number(struct model_attempts attempts)
{
    return attempts.retries * 2 + (attempts.suspect ? 1 : 0);
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

void model_entry(char out[MODEL_NAME], const struct model_message *message)
{
    if (message->scheduled) {
        snprintf(out, MODEL_NAME, "%" PRId64 "s:%s", message->before,
                 model_members[message->member]);
        return;
    }
    snprintf(out, MODEL_NAME, "%" PRId64 "%c%" PRIu64 ":%s", message->before,
             message->resting ? 'r' : 'c', message->claim, model_members[message->member]);
}

void model_dead_entry(char out[MODEL_NAME], const struct model_message *message)
{
    snprintf(out, MODEL_NAME, "%" PRId64 "d:%s", message->before, model_members[message->member]);
}

/* As a sorted set orders: the whole number, the attempts, then the bytes. */
static int compare_scores(const struct model_message *a, const struct model_message *b)
{
    int order = compare_numbers(a->at, b->at);

    return order != 0 ? order : attempts_number(a->attempts) - attempts_number(b->attempts);
}

static int compare_waiting(const void *left, const void *right)
{
    const struct model_message *a = left, *b = right;
    int order = compare_scores(a, b);

    return order != 0 ? order : strcmp(model_members[a->member], model_members[b->member]);
}

static int compare_prepare(const void *left, const void *right)
{
    const struct model_message *a = left, *b = right;
    char a_entry[MODEL_NAME], b_entry[MODEL_NAME];
    int order = (int) a->resting - (int) b->resting;

    order = order != 0 ? order : (int) a->scheduled - (int) b->scheduled;
    order = order != 0 ? order : compare_scores(a, b);
    if (order != 0) {
        return order;
    }
    model_entry(a_entry, a);
    model_entry(b_entry, b);
    return strcmp(a_entry, b_entry);
}

static int compare_dead(const void *left, const void *right)
{
    const struct model_message *a = left, *b = right;
    char a_entry[MODEL_NAME], b_entry[MODEL_NAME];
    int order = compare_scores(a, b);

    if (order != 0) {
        return order;
    }
    model_dead_entry(a_entry, a);
    model_dead_entry(b_entry, b);
    return strcmp(a_entry, b_entry);
}

int64_t model_score(const struct model_message *message)
{
    int64_t rest = message->resting ? INT64_C(1) << 44 : 0;

    return message->at + rest + (message->scheduled ? INT64_C(1) << 43 : 0);
}

int model_find_scheduled(const struct model *model, int member)
{
    for (size_t i = 0; i < model->prepare.count; i++) {
        if (model->prepare.item[i].scheduled && model->prepare.item[i].member == member) {
            return (int) i;
        }
    }
    return -1;
}

size_t model_count_scheduled(const struct model *model)
{
    size_t count = 0;

    for (size_t i = 0; i < model->prepare.count; i++) {
        count += model->prepare.item[i].scheduled ? 1 : 0;
    }
    return count;
}

static void list_sort(struct model_list *list, int (*order)(const void *, const void *))
{
    qsort(list->item, list->count, sizeof(list->item[0]), order);
}

void sort_waiting(struct model_list *list)
{
    list_sort(list, compare_waiting);
}

void sort_prepare(struct model_list *list)
{
    list_sort(list, compare_prepare);
}

void sort_dead(struct model_list *list)
{
    list_sort(list, compare_dead);
}

struct in_flight model_in_flight(const struct model *model)
{
    struct in_flight in_flight = {.first_end = INT64_MAX, .first_rest = INT64_MAX};

    for (size_t i = 0; i < model->prepare.count; i++) {
        const struct model_message *message = &model->prepare.item[i];
        int64_t *first = message->resting ? &in_flight.first_rest : &in_flight.first_end;

        *first = message->at < *first ? message->at : *first;
        in_flight.count += message->resting ? 0 : 1;
        in_flight.suspect = in_flight.suspect || (!message->resting && message->attempts.suspect);
    }
    return in_flight;
}

void model_keep_leases(struct model *model)
{
    int64_t by = model->leased > model->now ? model->leased - model->now : 0;

    for (size_t i = 0; by > 0 && i < model->prepare.count; i++) {
        model->prepare.item[i].at -= model->prepare.item[i].resting ? 0 : by;
    }
    model->claimed_until -= model->claimed_until >= 0 ? by : 0;
    model->former -= model->former >= 0 ? by : 0;
    model->leased = model->now;
}

int model_find_claim(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->prepare.count; i++) {
        char entry[MODEL_NAME];

        model_entry(entry, &model->prepare.item[i]);
        if (!model->prepare.item[i].resting && strcmp(entry, name) == 0) {
            return (int) i;
        }
    }
    return -1;
}

/* --- the life of a message --- */

const char *const model_died = "its process died or hung";

int model_references(const struct model *model, int member)
{
    int references = 0;

    for (size_t i = 0; i < model->waiting.count; i++) {
        references += model->waiting.item[i].member == member ? 1 : 0;
    }
    for (size_t i = 0; i < model->prepare.count; i++) {
        references += model->prepare.item[i].member == member ? 1 : 0;
    }
    return references;
}

bool model_is_in_window(const struct model *model, int member, int64_t dedup)
{
    return dedup > 0 && model->done_at[member] > 0 && model->done_at[member] > model->now - dedup;
}

bool model_has_expired(const struct model *model, int member, int64_t place)
{
    int64_t expiry = model_body_of(model, member, place).expiry;

    return model->keyed && expiry >= 0 && expiry <= model->now;
}

int32_t model_limit(const struct model *model, int member, int32_t max_retries)
{
    int32_t limit = model_body_of(model, member, 0).limit;

    return model->keyed && limit >= 0 ? limit : max_retries;
}

struct model_attempts model_join(struct model_attempts a, struct model_attempts b)
{
    struct model_attempts joined = {.retries = a.retries > b.retries ? a.retries : b.retries,
                                    .suspect = a.suspect || b.suspect};

    return joined;
}

int64_t model_give_back(struct model *model, const struct model_message *message,
                        struct model_attempts attempts)
{
    struct model_message *waiting = list_find(&model->waiting, message->member);
    struct model_message back = {
        .member = message->member, .at = message->before, .attempts = attempts};
    bool earlier_wins = model->kind == 'm' || model->kind == 'f';

    if (waiting == NULL) {
        list_put(&model->waiting, &back);
        return back.at;
    }
    model->counters[MODEL_MERGED]++;
    model->joined++;
    waiting->attempts = model_join(waiting->attempts, attempts);
    if (earlier_wins && message->before < waiting->at) {
        waiting->at = message->before;
    }
    return waiting->at;
}

void model_handled(struct model *model, const struct model_message *message)
{
    uint64_t *step = &model->handled_step[message->member];

    *step = message->claimed_step > *step ? message->claimed_step : *step;
}

void model_forget(struct model *model, int member, struct model_attempts attempts)
{
    if (attempts.retries > 0) {
        model->tries[member].count = 0;
    }
}

void model_bury(struct model *model, const struct model_message *message,
                struct model_attempts attempts, enum model_counter cause, const char *reason)
{
    struct model_message corpse = *message;

    model_handled(model, message);
    corpse.why = model_last_words(model, message, cause, reason);
    model_forget(model, message->member, attempts);
    model->counters[cause]++;
    corpse.at = model->now;
    corpse.attempts = attempts;
    corpse.resting = false;
    corpse.body = model_body_of(model, message->member, message->before);
    corpse.member = model_plain(message->member);
    for (size_t i = 0; i < model->dead.count; i++) {
        const struct model_message *other = &model->dead.item[i];

        if (other->member == corpse.member && other->before == message->before) {
            (void) list_take(&model->dead, i);
            model->counters[MODEL_MERGED]++;
            model->joined++;
            break;
        }
    }
    list_put(&model->dead, &corpse);
}

void model_lose(struct model *model, const struct model_message *message, int32_t max_retries,
                enum model_counter cause, const char *reason)
{
    struct model_attempts attempts = {.retries = message->attempts.retries, .suspect = true};

    model->counters[MODEL_LEASE_LOST]++;
    if (message->attempts.suspect &&
        attempts.retries >= model_limit(model, message->member, max_retries)) {
        model_bury(model, message, attempts, cause, reason);
        return;
    }
    if (message->attempts.retries > 0 || message->attempts.suspect) {
        model_try(model, message, cause == MODEL_DEAD_TIMED_OUT ? 'h' : 'l', "");
    }
    attempts.retries += message->attempts.suspect ? 1 : 0;
    (void) model_give_back(model, message, attempts);
}

void model_unpark(struct model *model)
{
    model->parked = model->pushed_at = model->push_again = -1;
    model->push_lease = 0;
    sleepers_clear(model);
}

void model_park(struct model *model, int64_t until, int64_t push_lease)
{
    model_unpark(model);
    model->parked = until;
    model->push_lease = push_lease;
}

void model_wake(struct model *model, int64_t due)
{
    int64_t asked = model->push_again >= 0 ? model->push_again : model->pushed_at;

    if (model->sleepers.count > 0) {
        sleepers_wake(model, due);
    } else if (model->pushed_at >= 0) {
        if (llabs(model->now - asked) >= 1000) {
            model->push_again = model->now;
            model->wakes += model->heard ? 1 : 0;
        }
    } else if (model->parked >= 0 && due < model->parked && model->heard) {
        model_unpark(model);
        model->wakes++;
    }
}

/* --- calls and replies --- */

bool model_refused(const struct model *model, struct buf *reply, const struct call *call,
                   bool needs_token)
{
    if (model->sealed) {
        buf_printf(reply, "NO_TOPIC");
        return true;
    }
    if (call->other_topic || call->version < model->version) {
        buf_printf(reply, "STALE");
        return true;
    }
    if (needs_token && !model->shared && (call->token != model->token || call->token == 0)) {
        buf_printf(reply, "FENCED ");
        add_token(reply, model);
        return true;
    }
    return false;
}

void model_keep_version(struct model *model, const struct call *call)
{
    model->version = call->version;
}

void add_time(struct buf *reply, int64_t time)
{
    if (time == INT64_MAX) {
        buf_printf(reply, " ''");
    } else {
        buf_printf(reply, " %" PRId64, time);
    }
}

void add_token(struct buf *reply, const struct model *model)
{
    if (model->shared) {
        buf_printf(reply, "shared");
    } else {
        buf_printf(reply, "%08x%016" PRIx64, model->token == 0 ? 0U : 1U, model->token);
    }
}

void add_owner(struct buf *reply, const struct model *model)
{
    if (model->owner == 0) {
        buf_printf(reply, "''");
    } else {
        buf_printf(reply, "owner-%" PRIu64, model->owner);
    }
}

void add_header(struct buf *out, const struct model_body *body, int references)
{
    bool plain = body->limit < 0 && body->headers == 0 && body->expiry < 0 && references == 1;

    buf_printf(out, "%" PRId64, body->first);
    if (plain) {
        return;
    }
    buf_printf(out, ",");
    if (body->limit >= 0) {
        buf_printf(out, "%d", body->limit);
    }
    if (body->headers > 0) {
        buf_printf(out, "/%d", body->headers);
    }
    buf_printf(out, ",");
    if (body->expiry >= 0) {
        buf_printf(out, "%" PRId64, body->expiry);
    }
    buf_printf(out, ",%d", references);
}
