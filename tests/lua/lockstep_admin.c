/* lockstep_admin.c - who looks after the topic in a round: looks, edits, pauses, alters; and owners
 * that were cut off. */
#include "lockstep_round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model_slot.h"

/* --- edits --- */

static void choose_name(struct round *round, char name[MODEL_NAME], char state)
{
    const struct model_list *list = state == 'w'   ? &round->model->waiting
                                    : state == 'd' ? &round->model->dead
                                                   : &round->model->prepare;
    const struct model_message *message;

    if (list->count == 0 || round_percent(round, 5)) {
        snprintf(name, MODEL_NAME, "%s", state == 'w' ? "nobody" : "1d:nobody");
        return;
    }
    message = &list->item[round_chance(round, list->count)];
    if (state == 'w') {
        snprintf(name, MODEL_NAME, "%s", model_members[message->member]);
    } else if (state != 'd') {
        model_entry(name, message); /* of a claimed one, or another state, too: it is refused */
    } else {
        model_dead_entry(name, message);
    }
}

/* Some of one of the states, one perhaps twice, or one that is not there. */
static void choose_some(struct round *round, struct call *call, const char *states)
{
    char state = states[round_chance(round, strlen(states))];

    call->state = state;
    call->count = 1 + round_chance(round, 3);
    for (size_t i = 0; i < call->count; i++) {
        choose_name(round, call->answers[i].entry, state);
    }
}

static void edit(struct round *round)
{
    static const enum call_kind kinds[] = {CALL_REQUEUE, CALL_REQUEUE, CALL_REMOVE,
                                           CALL_RESCHEDULE};
    enum call_kind kind = kinds[round_chance(round, 4)];
    struct call *call = round_new_call(round, kind, 0);
    struct buf seen = {0};

    if (kind == CALL_RESCHEDULE) {
        round_fill_sends(round, call);
        if (round->whole) {
            call->sends[0].member = round_choose_member(round);
        }
    } else {
        choose_some(round, call, kind == CALL_REQUEUE ? "d" : "wrsd");
    }
    if (kind != CALL_RESCHEDULE || round->model->kind != 'f') {
        round_send_through(round, call, &seen);
    }
    buf_fini(&seen);
    free(call);
}

/* --- the topic --- */

void round_new_definition(struct round *round)
{
    static const int32_t retries[] = {0, 1, 2, 16, 63};
    struct definition *definition = &round->definition;
    bool debounced = round->model->kind == 'm' && round->model->keyed;

    definition->version++;
    definition->max_retries = retries[round_chance(round, 5)];
    definition->max_waiting = round_percent(round, 70) ? 0 : 1 + (int64_t) round_chance(round, 4);
    definition->debounce = debounced && round_percent(round, round->whole ? 20 : 60)
                               ? 1 + (int64_t) round_chance(round, 40)
                               : 0;
    definition->dedup = round->model->keyed && round_percent(round, round->whole ? 20 : 35)
                            ? 1 + (int64_t) round_chance(round, 200)
                            : 0;
    definition->field_from = round_percent(round, 40) ? 0 : 1 + (int64_t) round_chance(round, 6);
    definition->skip_failed = round->model->kind == 'f' && round_percent(round, 40);
    definition->expired_to_dead = round_percent(round, 50);
    buf_printf(round->report, "definition %d: retries %d\n", definition->version,
               definition->max_retries);
}

/* Slots and callers learn of it one by one, with or without the call that tells the slot. */
static void alter(struct round *round)
{
    struct buf seen = {0};
    struct call *call;

    round_new_definition(round);
    call = round_new_call(round, CALL_ALTER, 0);
    if (round_percent(round, 50)) {
        round_send_through(round, call, &seen);
    } else {
        round_former_owner_calls(round);
    }
    buf_fini(&seen);
    free(call);
}

static void set_paused(struct round *round, bool paused)
{
    struct call *call = round_new_call(round, CALL_PAUSE, 0);
    struct buf seen = {0};

    call->paused = paused;
    call->pauses = ++round->pauses;
    round_send_through(round, call, &seen);
    buf_fini(&seen);
    free(call);
}

void round_resume(struct round *round)
{
    while (round->model->paused && !round->failed) {
        set_paused(round, false);
    }
}

/* --- looks, and who was cut off --- */

/* What is looked for: some may be whole. */
static void choose_look(struct round *round, struct call *call)
{
    int member = round_choose_member(round);

    call->state = 'p';
    if (call->kind == CALL_FIND && round->whole && round_percent(round, 50)) {
        call->kind = CALL_PAGE;
    }
    call->sends[0].member = call->kind == CALL_RANK ? member : model_plain(member);
    if (call->kind == CALL_PAGE) {
        call->state = "wcrd"[round_chance(round, 4)];
    } else if (round->whole) {
        call->state = (member < MODEL_PLAIN ? "pppd" : "wwvp")[round_chance(round, 4)];
    }
}

static void call_plainly(struct round *round, enum call_kind kind, uint64_t token)
{
    struct call *call = round_new_call(round, kind, token);
    struct buf seen = {0};

    call->limit = 1 + (int32_t) round_chance(round, 3);
    call->n = 2;
    choose_look(round, call);
    round_execute(round, call, &seen);
    buf_fini(&seen);
    free(call);
}

void round_former_owner_calls(struct round *round)
{
    static const enum call_kind kinds[] = {CALL_CONSUME, CALL_RENEW, CALL_TAKEOVER, CALL_VACATE};
    struct consumer *zombie = &round->consumers[1];

    if (round->model->shared || zombie->token == 0) {
        return;
    }
    if (round_percent(round, 50)) {
        round_consume(round, zombie);
    } else {
        call_plainly(round, kinds[round_chance(round, 4)], zombie->token);
    }
}

void round_look_after(struct round *round)
{
    static const enum call_kind looks[] = {CALL_INSPECT, CALL_RANK, CALL_FIND, CALL_FIND};
    uint64_t x = round_chance(round, 10);

    if (x < 2) {
        call_plainly(round, looks[round_chance(round, 4)], 0);
    } else if (x < 5) {
        edit(round);
    } else if (x < 7) {
        set_paused(round, !round->model->paused && round_chance(round, 2) == 0);
    } else if (x < 9) {
        alter(round);
    } else if (!round->model->shared) {
        call_plainly(round, CALL_VACATE, round->consumers[0].token);
    }
}

/* --- the end of the topic --- */

/* true: its definition is gone. */
static bool seal(struct round *round, bool force)
{
    const struct model *model = round->model;
    size_t left = model->waiting.count + model->prepare.count + model->dead.count;
    struct args args = {0};
    struct buf seen = {0}, expected = {0};
    char def[24];

    snprintf(def, sizeof(def), "n.%d", round->definition.version);
    args_add(&args, def);
    args_add(&args, force ? "1" : "0");
    args_add(&args, "1");
    round_run_script(round, "slot_seal", &args, &seen);
    buf_printf(&expected, "OK");
    if (!force && left > 0) {
        buf_clear(&expected);
        buf_printf(&expected, "NOT_EMPTY %zu", left);
    }
    if (strcmp(seen.data, expected.data) != 0) {
        round_fail(round, "the slot is not sealed as it should");
    }
    buf_fini(&seen);
    buf_fini(&expected);
    return force || left == 0;
}

static void clear(struct round *round)
{
    struct buf seen = {0};

    do {
        struct args args = {0};

        args_add(&args, "1");
        args_add_int(&args, 1 + (int64_t) round_chance(round, 4));
        model_add_counters(&args);
        round_run_script(round, "slot_clear", &args, &seen);
    } while (strcmp(seen.data, "OK 1") == 0);
    model_clear(round->model);
    buf_fini(&seen);
}

void round_delete_topic(struct round *round)
{
    if (!seal(round, false)) {
        (void) seal(round, true);
    }
    model_seal(round->model);
    while (round->late_count > 0 && !round->failed) {
        round_run_late(round);
    }
    round_send_some(round);
    round_consume(round, &round->consumers[0]);
    round_former_owner_calls(round);
    edit(round);
    clear(round);
}
