/* model.c - see model.h. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inttypes.h>

/* Some look like entries, patterns or formats. */
const char *const model_members[MODEL_MEMBERS] = {"a",  "b",  "b:1",  "c",    "20c1:d", "%s",
                                                  "-5", "1r", "zz:z", "e:%d", "inf",    "r"};
const char *const model_counters[MODEL_COUNTERS] = {
    "sent", "merged", "done", "retried", "rejected", "expired", "released", "lease_lost"};

static const char died[] = "its process died or hung";
static const int64_t two32 = INT64_C(1) << 32;

static bool by_priority(const struct model *model)
{
    return model->kind == 'p' || model->kind == 'b';
}

/* --- lists --- */

static struct model_message list_take(struct model_list *list, size_t index)
{
    struct model_message taken = list->item[index];

    memmove(&list->item[index], &list->item[index + 1],
            (list->count - index - 1) * sizeof(list->item[0]));
    list->count--;
    return taken;
}

static void list_put(struct model_list *list, const struct model_message *message)
{
    if (list->count == MODEL_MAX) {
        abort();
    }
    list->item[list->count++] = *message;
}

static struct model_message *list_find(struct model_list *list, int member)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->item[i].member == member) {
            return &list->item[i];
        }
    }
    return NULL;
}

static int attempts_number(struct model_attempts attempts)
{
    return attempts.retries * 2 + (attempts.suspect ? 1 : 0);
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

void model_entry(char out[64], const struct model_message *message)
{
    snprintf(out, 64, "%" PRId64 "%c%" PRIu64 ":%s", message->before, message->resting ? 'r' : 'c',
             message->claim, model_members[message->member]);
}

static void dead_entry(char out[64], const struct model_message *message)
{
    snprintf(out, 64, "%" PRId64 "d:%s", message->before, model_members[message->member]);
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
    char a_entry[64], b_entry[64];
    int order = (int) a->resting - (int) b->resting;

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
    char a_entry[64], b_entry[64];
    int order = compare_scores(a, b);

    if (order != 0) {
        return order;
    }
    dead_entry(a_entry, a);
    dead_entry(b_entry, b);
    return strcmp(a_entry, b_entry);
}

static void list_sort(struct model_list *list, int (*order)(const void *, const void *))
{
    qsort(list->item, list->count, sizeof(list->item[0]), order);
}

/* --- the life of a message --- */

static struct model_attempts join_attempts(struct model_attempts a, struct model_attempts b)
{
    struct model_attempts joined = {.retries = a.retries > b.retries ? a.retries : b.retries,
                                    .suspect = a.suspect || b.suspect};

    return joined;
}

/* Back to the waiting ones; answers where it stands then. */
static int64_t give_back(struct model *model, const struct model_message *message,
                         struct model_attempts attempts)
{
    struct model_message *waiting = list_find(&model->waiting, message->member);
    struct model_message back = {
        .member = message->member, .at = message->before, .attempts = attempts};

    if (waiting == NULL) {
        list_put(&model->waiting, &back);
        return back.at;
    }
    model->counters[MODEL_MERGED]++;
    model->joined++;
    waiting->attempts = join_attempts(waiting->attempts, attempts);
    if (model->kind == 'm' && message->before < waiting->at) {
        waiting->at = message->before;
    }
    return waiting->at;
}

static void handled(struct model *model, const struct model_message *message)
{
    uint64_t *step = &model->handled_step[message->member];

    *step = message->claimed_step > *step ? message->claimed_step : *step;
}

static void bury(struct model *model, const struct model_message *message,
                 struct model_attempts attempts, const char *reason)
{
    struct model_message corpse = *message;

    handled(model, message);
    corpse.at = model->now;
    corpse.attempts = attempts;
    corpse.reason = reason;
    for (size_t i = 0; i < model->dead.count; i++) {
        const struct model_message *other = &model->dead.item[i];

        if (other->member == message->member && other->before == message->before) {
            (void) list_take(&model->dead, i);
            model->counters[MODEL_MERGED]++;
            model->joined++;
            break;
        }
    }
    list_put(&model->dead, &corpse);
    model->buried++;
}

static void lose(struct model *model, const struct model_message *message, int max_retries)
{
    struct model_attempts attempts = {.retries = message->attempts.retries, .suspect = true};

    model->counters[MODEL_LEASE_LOST]++;
    if (!message->attempts.suspect) {
        (void) give_back(model, message, attempts);
    } else if (attempts.retries < max_retries) {
        attempts.retries++;
        (void) give_back(model, message, attempts);
    } else {
        bury(model, message, attempts, died);
    }
}

static void wake(struct model *model, int64_t due)
{
    if (model->parked >= 0 && due < model->parked && model->heard) {
        model->parked = -1;
        model->wakes++;
    }
}

/* --- replies --- */

static void add_time(struct buf *reply, int64_t time)
{
    if (time == INT64_MAX) {
        buf_printf(reply, " ''");
    } else {
        buf_printf(reply, " %" PRId64, time);
    }
}

static void add_token(struct buf *reply, const struct model *model)
{
    if (model->shared) {
        buf_printf(reply, "shared");
    } else {
        buf_printf(reply, "%08x%016" PRIx64, model->token == 0 ? 0U : 1U, model->token);
    }
}

static bool refused(struct model *model, struct buf *reply, const struct call *call,
                    bool needs_token)
{
    if (call->definition != 1) {
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

/* --- send --- */

static int64_t place_of(struct model *model, bool relative, int64_t when)
{
    if (model->kind == 'p') {
        return when * two32 + two32 - 1 - (int64_t) model->seq++;
    }
    if (model->kind == 'b') {
        return when;
    }
    if (relative) {
        return model->now + when;
    }
    return when > model->now ? when : model->now;
}

static bool keeps_place(const struct model *model, const struct model_message *waiting,
                        int64_t when)
{
    int64_t priority = waiting->at >= 0 ? waiting->at / two32 : -((-waiting->at - 1) / two32) - 1;

    return model->kind == 'm' || (model->kind == 'p' && priority == when);
}

static void model_send(struct model *model, struct buf *reply, const struct call *call)
{
    int64_t due = INT64_MAX;

    if (refused(model, reply, call, false)) {
        return;
    }
    buf_printf(reply, "OK ");
    for (size_t i = 0; i < call->count; i++) {
        struct model_message *waiting = list_find(&model->waiting, call->sends[i].member);
        struct model_message message = {.member = call->sends[i].member};

        model->counters[waiting == NULL ? MODEL_SENT : MODEL_MERGED]++;
        buf_printf(reply, "%c", waiting == NULL ? 'a' : 'm');
        if (waiting != NULL && keeps_place(model, waiting, call->sends[i].when)) {
            continue;
        }
        message.at = place_of(model, call->sends[i].relative, call->sends[i].when);
        if (waiting == NULL) {
            list_put(&model->waiting, &message);
        } else {
            waiting->at = message.at;
        }
        due = message.at < due ? message.at : due;
    }
    wake(model, by_priority(model) && due < INT64_MAX ? 0 : due);
}

/* --- consume --- */

/* The claimed message of that name; -1: none. */
static int find_claim(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->prepare.count; i++) {
        char entry[64];

        model_entry(entry, &model->prepare.item[i]);
        if (!model->prepare.item[i].resting && strcmp(entry, name) == 0) {
            return (int) i;
        }
    }
    return -1;
}

static void rest(struct model *model, const struct model_message *message,
                 struct model_attempts attempts, int64_t delay)
{
    struct model_message resting = *message;

    if (delay == 0) {
        (void) give_back(model, message, attempts);
        return;
    }
    resting.resting = true;
    resting.at = model->now + delay;
    resting.attempts = attempts;
    list_put(&model->prepare, &resting);
}

static void settle(struct model *model, struct buf *results, const struct call_answer *answer,
                   int max_retries)
{
    int index = find_claim(model, answer->entry);
    struct model_message message;
    struct model_attempts attempts;

    buf_printf(results, "%c", index < 0 ? '0' : '1');
    if (index < 0) {
        return;
    }
    message = list_take(&model->prepare, (size_t) index);
    attempts = message.attempts;
    if (answer->op == 'b') {
        model->counters[MODEL_RELEASED]++;
        rest(model, &message, attempts, answer->delay);
        return;
    }
    attempts.suspect = false;
    if (answer->op == 'd') {
        model->counters[MODEL_DONE]++;
        handled(model, &message);
    } else if (answer->op == 'x' || attempts.retries >= max_retries) {
        model->counters[MODEL_REJECTED]++;
        bury(model, &message, attempts, "why");
    } else {
        model->counters[MODEL_RETRIED]++;
        attempts.retries++;
        rest(model, &message, attempts, answer->delay);
    }
}

/* First the claims whose leases are over, then the rests. */
static void bring_back(struct model *model, const struct call *call)
{
    static struct model_list old;

    list_sort(&model->prepare, compare_prepare);
    old = model->prepare;
    model->prepare.count = 0;
    for (size_t i = 0; i < old.count; i++) {
        struct model_message *message = &old.item[i];
        bool own = !model->shared && message->claim > model->base;

        if (message->at > model->now) {
            list_put(&model->prepare, message);
        } else if (message->resting) {
            (void) give_back(model, message, message->attempts);
        } else if (own) {
            message->at = model->now + call->lease;
            list_put(&model->prepare, message);
        } else {
            lose(model, message, call->max_retries);
        }
    }
}

static void deliver(struct buf *delivered, const struct model_message *message)
{
    char entry[64];

    model_entry(entry, message);
    buf_printf(delivered, " %s %d", entry, attempts_number(message->attempts));
}

/* What is in hand now. */
struct hand {
    size_t count;
    bool suspect;
    int64_t first_end, first_rest; /* INT64_MAX: none */
};

static struct hand look(const struct model *model)
{
    struct hand hand = {.first_end = INT64_MAX, .first_rest = INT64_MAX};

    for (size_t i = 0; i < model->prepare.count; i++) {
        const struct model_message *message = &model->prepare.item[i];
        int64_t *first = message->resting ? &hand.first_rest : &hand.first_end;

        *first = message->at < *first ? message->at : *first;
        hand.count += message->resting ? 0 : 1;
        hand.suspect = hand.suspect || (!message->resting && message->attempts.suspect);
    }
    return hand;
}

/* Which of the waiting ones comes next; -1: none can be claimed now. */
static int next_waiting(struct model *model)
{
    int index = by_priority(model) ? (int) model->waiting.count - 1 : 0;
    struct hand hand = look(model);

    list_sort(&model->waiting, compare_waiting);
    if (model->waiting.count == 0 || hand.suspect) {
        return -1;
    }
    if (!by_priority(model) && model->waiting.item[index].at > model->now) {
        return -1;
    }
    return model->waiting.item[index].attempts.suspect && hand.count > 0 ? -1 : index;
}

static int claim(struct model *model, struct buf *delivered, const struct call *call)
{
    int taken = 0;

    while (taken < call->n) {
        int index = next_waiting(model);
        struct model_message message;

        if (index < 0) {
            break;
        }
        message = list_take(&model->waiting, (size_t) index);
        model->claims += taken == 0 ? 1 : 0;
        message.before = message.at;
        message.at = model->now + call->lease;
        message.claim = model->claims;
        message.claimed_step = model->step;
        deliver(delivered, &message);
        list_put(&model->prepare, &message);
        taken++;
    }
    return taken;
}

static void claim_again(struct model *model, struct buf *delivered, const struct call *call)
{
    list_sort(&model->prepare, compare_prepare);
    for (size_t i = 0; i < model->prepare.count; i++) {
        struct model_message *message = &model->prepare.item[i];

        if (!message->resting && message->claim > call->last && message->claim > model->base) {
            message->at = model->now + call->lease;
            deliver(delivered, message);
        }
    }
}

/* INT64_MAX: never by itself.  `hand` is of before a lost reply was delivered again. */
static int64_t next_claim(struct model *model, const struct hand *hand)
{
    int64_t next = hand->first_end < hand->first_rest ? hand->first_end : hand->first_rest;
    int index = by_priority(model) ? (int) model->waiting.count - 1 : 0;

    list_sort(&model->waiting, compare_waiting);
    if (model->waiting.count > 0 && !hand->suspect &&
        !(model->waiting.item[index].attempts.suspect && hand->count > 0)) {
        int64_t due = by_priority(model) ? model->now : model->waiting.item[index].at;

        next = due < next ? due : next;
    }
    return next;
}

static void park(struct model *model, int64_t next)
{
    int64_t until = next == INT64_MAX ? INT64_C(1) << 53 : next;

    if (!model->shared || until > model->parked) {
        model->parked = until;
    }
}

static void model_consume(struct model *model, struct buf *reply, const struct call *call)
{
    struct buf results = {0}, delivered = {0};
    struct hand hand;
    bool lost = !model->shared && call->last < model->claims;
    int64_t next;
    int taken = 0;
    bool again;

    if (refused(model, reply, call, true)) {
        return;
    }
    buf_add(&results, "", 0);
    buf_add(&delivered, "", 0);
    for (size_t i = 0; i < call->count; i++) {
        settle(model, &results, &call->answers[i], call->max_retries);
    }
    bring_back(model, call);
    hand = look(model);
    if (lost) {
        claim_again(model, &delivered, call);
    } else {
        taken = claim(model, &delivered, call);
        hand = look(model);
    }
    next = next_claim(model, &hand);
    again = lost || next <= model->now;
    if (call->n > 0 && taken == 0 && !again) {
        park(model, next);
    } else if (model->shared) {
        wake(model, next);
    } else if (taken > 0) {
        model->parked = -1;
    }
    buf_printf(reply, "OK %" PRId64, model->now);
    add_time(reply, next);
    buf_printf(reply, " %" PRIu64 " %s %d%s", model->claims, results.len > 0 ? results.data : "''",
               again ? 1 : 0, delivered.data);
    buf_fini(&results);
    buf_fini(&delivered);
}

/* --- the others --- */

static void model_renew(struct model *model, struct buf *reply, const struct call *call)
{
    if (refused(model, reply, call, true)) {
        return;
    }
    buf_printf(reply, "OK %" PRId64 " %s", model->now, call->count == 0 ? "''" : "");
    for (size_t i = 0; i < call->count; i++) {
        int index = find_claim(model, call->answers[i].entry);

        buf_printf(reply, "%c", index < 0 ? '0' : '1');
        if (index >= 0) {
            model->prepare.item[index].at = model->now + call->lease;
        }
    }
}

static void model_takeover(struct model *model, struct buf *reply, const struct call *call)
{
    int given = 0;
    bool more = false;

    if (refused(model, reply, call, false)) {
        return;
    }
    if (call->token < model->token) {
        buf_printf(reply, "FENCED ");
        add_token(reply, model);
        return;
    }
    if (call->token > model->token) {
        model->token = call->token;
        model->owner = call->token;
        model->base = model->claims;
    }
    list_sort(&model->prepare, compare_prepare);
    /* Once the owner has claimed, it has taken over completely. */
    while (!call->strict && model->claims == model->base && model->prepare.count > 0 &&
           !model->prepare.item[0].resting) {
        struct model_message message;

        if (given == call->limit) {
            more = true;
            break;
        }
        message = list_take(&model->prepare, 0);
        lose(model, &message, call->max_retries);
        given++;
    }
    buf_printf(reply, "OK %" PRIu64 " %d %d", model->base, given, more ? 1 : 0);
}

static void model_vacate(struct model *model, struct buf *reply, const struct call *call)
{
    if (!refused(model, reply, call, true)) {
        model->owner = 0;
        buf_printf(reply, "OK");
    }
}

static void model_requeue(struct model *model, struct buf *reply, const struct call *call)
{
    const struct model_attempts none = {0};
    int64_t due = INT64_MAX;
    int moved = 0;

    if (refused(model, reply, call, false)) {
        return;
    }
    list_sort(&model->dead, compare_dead);
    while (moved < call->limit && model->dead.count > 0) {
        struct model_message message = list_take(&model->dead, 0);
        int64_t at = give_back(model, &message, none);

        due = at < due ? at : due;
        moved++;
    }
    model->requeued += moved;
    wake(model, by_priority(model) && moved > 0 ? 0 : due);
    buf_printf(reply, "OK %d %zu", moved, model->dead.count);
}

static void model_inspect(struct model *model, struct buf *reply, const struct call *call)
{
    struct hand hand = look(model);
    int64_t oldest = INT64_MAX, next = hand.first_rest;
    size_t due = 0;

    if (refused(model, reply, call, false)) {
        return;
    }
    for (size_t i = 0; i < model->waiting.count; i++) {
        int64_t at = by_priority(model) ? model->now : model->waiting.item[i].at;

        due += at <= model->now ? 1 : 0;
        oldest = at < oldest ? at : oldest;
    }
    next = oldest < next ? oldest : next;
    buf_printf(reply, "OK %" PRId64 " %zu %zu %zu %zu %zu", model->now, model->waiting.count, due,
               hand.count, model->prepare.count - hand.count, model->dead.count);
    add_time(reply, by_priority(model) || due == 0 ? INT64_MAX : oldest);
    add_time(reply, next);
    if (model->owner == 0) {
        buf_printf(reply, " '' ");
    } else {
        buf_printf(reply, " owner-%" PRIu64 " ", model->owner);
    }
    add_token(reply, model);
    for (int i = 0; i < MODEL_COUNTERS; i++) {
        buf_printf(reply, " %" PRIu64, model->counters[i]);
    }
}

void model_call(struct model *model, struct buf *reply, const struct call *call)
{
    static void (*const functions[])(struct model *, struct buf *, const struct call *) = {
        [CALL_SEND] = model_send,       [CALL_CONSUME] = model_consume,
        [CALL_RENEW] = model_renew,     [CALL_TAKEOVER] = model_takeover,
        [CALL_VACATE] = model_vacate,   [CALL_INSPECT] = model_inspect,
        [CALL_REQUEUE] = model_requeue,
    };

    functions[call->kind](model, reply, call);
}

void model_init(struct model *model, char kind, bool shared, bool heard)
{
    memset(model, 0, sizeof(*model));
    model->kind = kind;
    model->shared = shared;
    model->heard = heard;
    model->parked = -1;
}

/* --- showing --- */

static void show_score(struct buf *out, int64_t at, struct model_attempts attempts)
{
    buf_printf(out, " %" PRId64, at);
    if (attempts_number(attempts) > 0) {
        buf_printf(out, "~%d%s", attempts.retries, attempts.suspect ? "s" : "");
    }
}

static void show_list(struct buf *out, const char *name, const struct model_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct model_message *message = &list->item[i];
        char entry[64];

        if (strcmp(name, "store") == 0) {
            buf_printf(out, "store %s", model_members[message->member]);
        } else if (strcmp(name, "prepare") == 0) {
            model_entry(entry, message);
            buf_printf(out, "prepare %s", entry);
        } else {
            dead_entry(entry, message);
            buf_printf(out, "why %s %s\ndead %s", entry, message->reason, entry);
        }
        show_score(out, message->at + (message->resting ? INT64_C(1) << 44 : 0), message->attempts);
        buf_printf(out, "\n");
    }
}

void model_show(struct buf *out, const struct model *model)
{
    buf_printf(out, "store '' %s\nprepare '' +inf\ndead '' +inf\nwhy '' ''\nslot '' ''\n",
               by_priority(model) ? "-inf" : "+inf");
    show_list(out, "store", &model->waiting);
    show_list(out, "prepare", &model->prepare);
    show_list(out, "dead", &model->dead);
    buf_printf(out, "slot base %" PRIu64 "\nslot claims %" PRIu64 "\n", model->base, model->claims);
    if (model->parked >= 0) {
        buf_printf(out, "slot parked %" PRId64 "\n", model->parked);
    }
    if (model->seq > 0) {
        buf_printf(out, "slot seq %" PRIu64 "\n", model->seq);
    }
    for (int i = 0; i < MODEL_COUNTERS; i++) {
        if (model->counters[i] > 0) {
            buf_printf(out, "slot %s %" PRIu64 "\n", model_counters[i], model->counters[i]);
        }
    }
}

const char *model_broken_law(const struct model *model)
{
    struct hand hand = look(model);
    int64_t live = (int64_t) (model->waiting.count + model->prepare.count + model->dead.count);
    int64_t gone = (int64_t) model->counters[MODEL_DONE];

    if ((int64_t) model->counters[MODEL_SENT] != live + gone + model->joined) {
        return "a message came from nowhere, or went there";
    }
    if (hand.suspect && hand.count > 1) {
        return "a suspect is in hand beside another message";
    }
    return NULL;
}
