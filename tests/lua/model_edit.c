/* model_edit.c - what is found in a slot, and what becomes of it by hand. */
#include "model_slot.h"

#include <inttypes.h>
#include <stdio.h>
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

/* Its place is, or was while it waited, that. */
static void add_row(struct buf *reply, const struct model *model, char state, const char *name,
                    const struct model_message *message)
{
    int64_t place = state == 'w' ? message->at : message->before;
    struct model_body body =
        state == 'd' ? message->body : model_body_of(model, message->member, place);
    struct model_tries why = state == 'd' ? message->why : model_why(model, message);
    bool alone = state == 'd' || model_is_whole(message->member);
    char text[MODEL_NAME];

    buf_printf(reply, " %s", name);
    add_score(reply, message);
    buf_printf(reply, " ");
    add_tries(reply, &why);
    if (model->keyed) {
        model_text(text, body.text);
        buf_printf(reply, " ");
        add_header(reply, &body, alone ? 1 : model_references(model, message->member));
        buf_printf(reply, " %s", text[0] == '\0' ? "''" : text);
    }
}

/* Whose the claims of the slot are, and what is noted of this one; NULL: it is not claimed. */
static void add_holder(struct buf *reply, const struct model *model,
                       const struct model_message *claimed)
{
    char entry[MODEL_NAME] = "";

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

/* Is it the message of that member, also if it is whole? */
static bool is_of(const struct model_message *message, int member)
{
    return message->member == member || model_plain(message->member) == member;
}

static const struct model_message *find_of(const struct model_list *list, size_t from, size_t to,
                                           int member)
{
    for (size_t i = from; i < to; i++) {
        if (is_of(&list->item[i], member)) {
            return &list->item[i];
        }
    }
    return NULL;
}

/* Those that wait and are whole are sought from a second before the time in the id on (w), then
 * before it (v). */
static const struct model_message *find_whole(struct model *model, int member, char where)
{
    size_t from = 0;

    sort_waiting(&model->waiting);
    while (model_timed(model) && member >= MODEL_PLAIN + MODEL_WHOLE &&
           from < model->waiting.count &&
           model->waiting.item[from].at < model_made_at(member) - 1000) {
        from++;
    }
    return where == 'w' ? find_of(&model->waiting, from, model->waiting.count, member)
                        : find_of(&model->waiting, 0, from, member);
}

/* Waiting, else scheduled, then from where it begins: waiting whole, claimed, resting, dead. */
static const struct model_message *find_one(struct model *model, const struct call *call,
                                            char *state)
{
    int member = call->sends[0].member;
    const struct model_message *found = list_find(&model->waiting, member);
    const char *where = strchr("wvpd", call->state);

    *state = 'w';
    if (found == NULL && model_find_scheduled(model, member) >= 0) {
        found = &model->prepare.item[model_find_scheduled(model, member)];
        *state = 's';
    }
    for (; found == NULL && *where != '\0'; where++) {
        if (*where == 'p') {
            found = find_of(&model->prepare, 0, model->prepare.count, member);
            *state = found != NULL && found->resting ? 'r' : 'c';
        } else if (*where == 'd') {
            found = find_of(&model->dead, 0, model->dead.count, member);
            *state = 'd';
        } else {
            found = find_whole(model, member, *where);
        }
    }
    return found;
}

static void name_of(char out[MODEL_NAME], const struct model_message *message, char state)
{
    if (state == 'w') {
        snprintf(out, MODEL_NAME, "%s", model_members[message->member]);
    } else if (state == 'd') {
        model_dead_entry(out, message);
    } else {
        model_entry(out, message);
    }
}

void model_find(struct model *model, struct buf *reply, const struct call *call)
{
    const struct model_message *found;
    char name[MODEL_NAME], state;

    if (model_refused(model, reply, call, false)) {
        return;
    }
    buf_printf(reply, "OK %" PRId64 " ", model->now);
    sort_prepare(&model->prepare);
    sort_dead(&model->dead);
    found = find_one(model, call, &state);
    add_holder(reply, model, found != NULL && state == 'c' ? found : NULL);
    if (found == NULL) {
        buf_printf(reply, " -");
        return;
    }
    name_of(name, found, state);
    buf_printf(reply, " %c", state);
    add_row(reply, model, state, name, found);
}

/* Those of a state, in the order in which they are read. */
static size_t page_of(struct model *model, const struct model_message *rows[], char state)
{
    const struct model_list *list = state == 'w'   ? &model->waiting
                                    : state == 'd' ? &model->dead
                                                   : &model->prepare;
    size_t count = 0;

    sort_waiting(&model->waiting);
    sort_prepare(&model->prepare);
    sort_dead(&model->dead);
    for (size_t i = 0; i < list->count; i++) {
        const struct model_message *row =
            &list->item[state == 'w' && model_by_priority(model) ? list->count - 1 - i : i];

        if (list != &model->prepare || state == (row->scheduled ? 's' : row->resting ? 'r' : 'c')) {
            rows[count++] = row;
        }
    }
    return count;
}

/* All of one state, read at once, that are the message of that member. */
void model_page(struct model *model, struct buf *reply, const struct call *call)
{
    const struct model_message *rows[MODEL_MAX], *noted = NULL;
    int member = call->sends[0].member;
    bool alone = call->state == 'w' && list_find(&model->waiting, member) != NULL;
    struct buf found = {0};
    size_t count;
    char name[MODEL_NAME];

    if (model_refused(model, reply, call, false)) {
        return;
    }
    count = page_of(model, rows, call->state);
    buf_add(&found, "", 0);
    for (size_t i = 0; i < count; i++) {
        if (alone ? rows[i]->member == member : is_of(rows[i], member)) {
            name_of(name, rows[i], call->state);
            noted = strcmp(name, model->noted) == 0 ? rows[i] : noted;
            add_row(&found, model, call->state, name, rows[i]);
        }
    }
    buf_printf(reply, "OK %" PRId64 " ", model->now);
    add_holder(reply, model, noted);
    buf_printf(reply, " 0");
    if (alone || count == 0) {
        buf_printf(reply, " '' ''");
    } else {
        add_score(reply, rows[count - 1]);
        name_of(name, rows[count - 1], call->state);
        buf_printf(reply, " %s", name);
    }
    buf_printf(reply, "%s", found.data);
    buf_fini(&found);
}

/* --- edit --- */

/* With all its retries and no expiry; the body of a later send stays. */
static int64_t revive(struct model *model, const struct model_message *message)
{
    const struct model_attempts none = {0};

    if (model_references(model, message->member) == 0) {
        model->bodies[message->member] = message->body;
        model->bodies[message->member].expiry = -1;
        model->bodies[message->member].joined = false;
    }
    return model_give_back(model, message, none);
}

static size_t dead_find(const struct model *model, const char *name)
{
    char entry[MODEL_NAME];
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
    char entry[MODEL_NAME];

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

/* One that is whole becomes one that is not: they are one message if both exist. */
static void divide(struct model *model, int member)
{
    const struct model_message *waiting = list_find(&model->waiting, member);
    int plain = model_plain(member);
    struct model_message message;

    if (waiting == NULL) {
        return;
    }
    message = list_take(&model->waiting, (size_t) (waiting - model->waiting.item));
    message.before = message.at;
    message.claimed_step = model->step;
    model_handled(model, &message);
    if (model_references(model, plain) == 0) {
        model->bodies[plain] = model_body_of(model, member, message.at);
    }
    if (message.attempts.retries > 0 && model->tries[member].count > 0) {
        model->tries[plain] = model->tries[member];
        model->tries[member].count = 0;
    }
    message.member = plain;
    (void) model_give_back(model, &message, message.attempts);
}

void model_reschedule(struct model *model, struct buf *reply, const struct call *call)
{
    int member = model_plain(call->sends[0].member);
    struct model_message *waiting;

    if (model_refused(model, reply, call, false)) {
        return;
    }
    model_keep_version(model, call);
    if (model_is_whole(call->sends[0].member)) {
        divide(model, call->sends[0].member);
    }
    waiting = list_find(&model->waiting, member);
    if (model_by_priority(model)) {
        struct model_message message = {.member = member};
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
