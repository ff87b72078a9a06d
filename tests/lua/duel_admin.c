/* duel_admin.c - who looks after the topic in a duel: looks, edits, pauses, alters; and owners that
 * were cut off. */
#include "duel_round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model_slot.h"

/* --- edits --- */

static void choose_name(struct duel *duel, char name[64], char state)
{
    const struct model_list *list = state == 'w'   ? &duel->model->waiting
                                    : state == 'r' ? &duel->model->prepare
                                                   : &duel->model->dead;
    const struct model_message *message;

    if (list->count == 0 || percent(duel, 5)) {
        snprintf(name, 64, "%s", state == 'w' ? "nobody" : "1d:nobody");
        return;
    }
    message = &list->item[chance(duel, list->count)];
    if (state == 'w') {
        snprintf(name, 64, "%s", model_members[message->member]);
    } else if (state == 'r') {
        model_entry(name, message); /* of a claimed one too: it is refused */
    } else {
        model_dead_entry(name, message);
    }
}

/* Some of one of the states, one perhaps twice, or one that is not there. */
static void choose_some(struct duel *duel, struct call *call, const char *states)
{
    char state = states[chance(duel, strlen(states))];

    call->state = state;
    call->count = 1 + chance(duel, 3);
    for (size_t i = 0; i < call->count; i++) {
        choose_name(duel, call->answers[i].entry, state);
    }
}

static void edit(struct duel *duel)
{
    static const enum call_kind kinds[] = {CALL_REQUEUE, CALL_REQUEUE, CALL_REMOVE,
                                           CALL_RESCHEDULE};
    enum call_kind kind = kinds[chance(duel, 4)];
    struct call *call = new_call(duel, kind, 0);
    struct buf seen = {0};

    if (kind == CALL_RESCHEDULE) {
        fill_sends(duel, call);
    } else {
        choose_some(duel, call, kind == CALL_REQUEUE ? "d" : "wrd");
    }
    if (kind != CALL_RESCHEDULE || duel->model->kind != 'f') {
        send_through(duel, call, &seen);
    }
    buf_fini(&seen);
    free(call);
}

/* --- the topic --- */

void new_definition(struct duel *duel)
{
    static const int32_t retries[] = {0, 1, 2, 16, 63};
    struct definition *definition = &duel->definition;
    bool debounced = duel->model->kind == 'm' && duel->model->keyed;

    definition->version++;
    definition->max_retries = retries[chance(duel, 5)];
    definition->max_waiting = percent(duel, 70) ? 0 : 1 + (int64_t) chance(duel, 4);
    definition->debounce = debounced && percent(duel, 60) ? 1 + (int64_t) chance(duel, 40) : 0;
    definition->skip_failed = duel->model->kind == 'f' && percent(duel, 40);
    definition->expired_to_dead = percent(duel, 50);
    buf_printf(duel->report, "definition %d: retries %d\n", definition->version,
               definition->max_retries);
}

/* Slots and callers learn of it one by one, with or without the call that tells the slot. */
static void alter(struct duel *duel)
{
    struct buf seen = {0};
    struct call *call;

    new_definition(duel);
    call = new_call(duel, CALL_ALTER, 0);
    if (percent(duel, 50)) {
        send_through(duel, call, &seen);
    } else {
        zombie_calls(duel);
    }
    buf_fini(&seen);
    free(call);
}

static void set_paused(struct duel *duel, bool paused)
{
    struct call *call = new_call(duel, CALL_PAUSE, 0);
    struct buf seen = {0};

    call->paused = paused;
    call->pauses = ++duel->pauses;
    send_through(duel, call, &seen);
    buf_fini(&seen);
    free(call);
}

void resume(struct duel *duel)
{
    while (duel->model->paused && !duel->failed) {
        set_paused(duel, false);
    }
}

/* --- looks, and who was cut off --- */

static void call_plainly(struct duel *duel, enum call_kind kind, uint64_t token)
{
    struct call *call = new_call(duel, kind, token);
    struct buf seen = {0};

    call->limit = 1 + (int32_t) chance(duel, 3);
    call->n = 2;
    call->sends[0].member = (int) chance(duel, MODEL_MEMBERS);
    execute(duel, call, &seen);
    buf_fini(&seen);
    free(call);
}

void zombie_calls(struct duel *duel)
{
    static const enum call_kind kinds[] = {CALL_CONSUME, CALL_RENEW, CALL_TAKEOVER, CALL_VACATE};
    struct consumer *zombie = &duel->consumers[1];

    if (duel->model->shared || zombie->token == 0) {
        return;
    }
    if (percent(duel, 50)) {
        consume(duel, zombie);
    } else {
        call_plainly(duel, kinds[chance(duel, 4)], zombie->token);
    }
}

void look_after(struct duel *duel)
{
    static const enum call_kind looks[] = {CALL_INSPECT, CALL_RANK, CALL_FIND, CALL_FIND};
    uint64_t x = chance(duel, 10);

    if (x < 2) {
        call_plainly(duel, looks[chance(duel, 4)], 0);
    } else if (x < 5) {
        edit(duel);
    } else if (x < 7) {
        set_paused(duel, !duel->model->paused && chance(duel, 2) == 0);
    } else if (x < 9) {
        alter(duel);
    } else if (!duel->model->shared) {
        call_plainly(duel, CALL_VACATE, duel->consumers[0].token);
    }
}

/* --- the end of the topic --- */

/* true: its definition is gone. */
static bool seal(struct duel *duel, bool force)
{
    const struct model *model = duel->model;
    size_t left = model->waiting.count + model->prepare.count + model->dead.count;
    struct args args = {0};
    struct buf seen = {0}, expected = {0};
    char def[24];

    snprintf(def, sizeof(def), "n.%d", duel->definition.version);
    args_add(&args, def);
    args_add(&args, force ? "1" : "0");
    args_add(&args, "1");
    run_script(duel, "slot_seal", &args, &seen);
    buf_printf(&expected, "OK");
    if (!force && left > 0) {
        buf_clear(&expected);
        buf_printf(&expected, "NOT_EMPTY %zu", left);
    }
    if (strcmp(seen.data, expected.data) != 0) {
        fail_duel(duel, "the slot is not sealed as it should");
    }
    buf_fini(&seen);
    buf_fini(&expected);
    return force || left == 0;
}

static void clear(struct duel *duel)
{
    struct buf seen = {0};

    do {
        struct args args = {0};

        args_add(&args, "1");
        args_add_int(&args, 1 + (int64_t) chance(duel, 4));
        run_script(duel, "slot_clear", &args, &seen);
    } while (strcmp(seen.data, "OK 1") == 0);
    model_clear(duel->model);
    buf_fini(&seen);
}

void delete_topic(struct duel *duel)
{
    if (!seal(duel, false)) {
        (void) seal(duel, true);
    }
    model_seal(duel->model);
    while (duel->late_count > 0 && !duel->failed) {
        run_late(duel);
    }
    send_some(duel);
    consume(duel, &duel->consumers[0]);
    zombie_calls(duel);
    edit(duel);
    clear(duel);
}
