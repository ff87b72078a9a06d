/* duel.c - see duel.h. */
#include "duel_round.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model_slot.h"

enum { ROUND_CALLS = 160 };

/* --- one round --- */

static void run_late(struct duel *duel)
{
    struct buf seen = {0};
    size_t index;
    struct call *call;

    if (duel->late_count > 0) {
        call = memory_new(sizeof(*call));
        index = chance(duel, duel->late_count);
        *call = duel->late[index];
        duel->late[index] = duel->late[--duel->late_count];
        execute(duel, call, &seen);
        free(call);
    }
    buf_fini(&seen);
}

/* Some of the dead, one perhaps twice, or one that is not there. */
static void choose_dead(struct duel *duel, struct call *call)
{
    const struct model_list *dead = &duel->model->dead;

    for (int32_t i = 0; i < call->limit; i++) {
        char *entry = call->answers[call->count++].entry;

        if (dead->count > 0 && !percent(duel, 5)) {
            model_dead_entry(entry, &dead->item[chance(duel, dead->count)]);
        } else {
            snprintf(entry, sizeof(call->answers[0].entry), "1d:nobody");
        }
    }
}

static void call_plainly(struct duel *duel, enum call_kind kind, uint64_t token)
{
    struct call *call = new_call(duel, kind, token);
    struct buf seen = {0};

    call->limit = 1 + (int32_t) chance(duel, 3);
    call->n = 2;
    if (kind == CALL_REQUEUE) {
        choose_dead(duel, call);
    }
    execute(duel, call, &seen);
    buf_fini(&seen);
    free(call);
}

/* A new definition; slots and callers learn of it one by one. */
static void alter(struct duel *duel)
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

static void pass_time(struct duel *duel)
{
    uint64_t x = chance(duel, 40);

    if (x == 0) {
        duel->model->now -= 3; /* clocks are set back */
    } else if (x < 5) {
        duel->model->now += duel->lease + (int64_t) chance(duel, 100);
    } else {
        duel->model->now += 1 + (int64_t) chance(duel, 10);
    }
}

/* The owner before goes on as if nothing had happened. */
static void zombie_calls(struct duel *duel)
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

static void look_after(struct duel *duel, const struct consumer *consumer)
{
    uint64_t x = chance(duel, 10);

    if (x < 2) {
        call_plainly(duel, CALL_INSPECT, 0);
    } else if (x < 4) {
        call_plainly(duel, CALL_REQUEUE, 0);
    } else if (x < 6) {
        set_paused(duel, !duel->model->paused && chance(duel, 2) == 0);
    } else if (x < 8) {
        alter(duel);
        if (percent(duel, 30)) {
            zombie_calls(duel);
        }
    } else if (!duel->model->shared) {
        call_plainly(duel, CALL_VACATE, consumer->token);
    }
}

static void step(struct duel *duel)
{
    bool shared = duel->model->shared;
    struct consumer *consumer = &duel->consumers[shared ? chance(duel, SHARERS) : 0];
    uint64_t x = chance(duel, 100);

    if (x < 30) {
        send_some(duel);
    } else if (x < 41) {
        pass_time(duel);
    } else if (x < 77) {
        if (consumer->ready) {
            consume(duel, consumer);
        }
    } else if (x < 81) {
        renew(duel, consumer);
    } else if (x < 85) {
        if (!shared) {
            take_over(duel);
        }
    } else if (x < 89) {
        run_late(duel);
    } else if (x < 92) {
        zombie_calls(duel);
    } else {
        look_after(duel, consumer);
    }
}

static bool is_empty(const struct duel *duel)
{
    return duel->model->waiting.count == 0 && duel->model->prepare.count == 0;
}

/* No more faults: everything must be handled. */
static void drain(struct duel *duel)
{
    struct consumer *consumer = &duel->consumers[0];

    duel->faults = false;
    set_paused(duel, false);
    while (duel->late_count > 0 && !duel->failed) {
        run_late(duel);
    }
    if (!consumer->ready && !duel->failed) {
        take_over(duel);
    }
    for (int i = 0; i < 400 && !duel->failed && !is_empty(duel); i++) {
        for (size_t j = 0; j < consumer->count; j++) {
            if (consumer->hand[j].op == 0) {
                consumer->hand[j].op = 'd';
            }
        }
        consume(duel, consumer);
        duel->model->now += duel->lease / 4;
    }
    if (!duel->failed && !is_empty(duel)) {
        fail_duel(duel, "the slot does not drain");
    }
    for (int i = 0; i < MODEL_MEMBERS && !duel->failed; i++) {
        if (duel->sent_step[i] > 0 && duel->model->handled_step[i] <= duel->sent_step[i]) {
            fail_duel(duel, "a message that was sent was never handled");
        }
    }
}

static void begin(struct duel *duel)
{
    bool shared = chance(duel, 4) == 0;
    char kind = duel->kinds[chance(duel, strlen(duel->kinds))];

    shared = shared && kind != 'f';
    model_init(duel->model, kind, shared, kind == 'f' || percent(duel, 55));
    duel->model->heard = chance(duel, 2) == 0;
    duel->model->now = 1700000000000 + (int64_t) chance(duel, 1000);
    duel->strict = chance(duel, 3) == 0;
    duel->faults = chance(duel, 5) != 0;
    duel->lease = 20 + (int64_t) chance(duel, 60);
    duel->max_bytes = chance(duel, 3) == 0 ? MODEL_FEW_BYTES : 1048576;
    duel->members = 4 + chance(duel, MODEL_MEMBERS - 3);
    for (size_t i = 0; i < SHARERS; i++) {
        duel->consumers[i].ready = shared;
    }
    buf_clear(duel->report);
    buf_printf(duel->report, "kind %c, %s, %s, %s, lease %" PRId64 "\n", kind,
               duel->model->keyed ? "keyed" : "inline", shared ? "shared" : "exclusive",
               duel->strict ? "strict" : "fast", duel->lease);
    duel->definition.version = 7 + (int) chance(duel, 3); /* 9 and 10 are near */
    alter(duel);
    duel->model->version = duel->definition.version;
    fixture_listen(duel->fixture, duel->model->heard);
    open_slot(duel);
}

static void play_round(struct duel *duel)
{
    begin(duel);
    if (!duel->model->shared) {
        take_over(duel);
    }
    for (int i = 0; i < ROUND_CALLS && !duel->failed; i++) {
        step(duel);
    }
    if (!duel->failed) {
        drain(duel);
    }
    if (!duel->failed) {
        compare_now(duel);
    }
    if (fixture_woken(duel->fixture) != duel->model->wakes && !duel->failed) {
        fail_duel(duel, "other wake-ups came than should");
    }
}

bool duel(struct fixture *fixture, const char *const scripts[], uint64_t seed, uint64_t calls,
          const char *kinds, struct buf *report)
{
    struct model *model = memory_new(sizeof(*model));
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    uint64_t done = 0;
    bool failed = false;

    while (done < calls && !failed) {
        struct duel *round = memory_new(sizeof(*round));

        round->fixture = fixture;
        round->scripts = scripts;
        round->kinds = kinds == NULL ? "mtpbfm" : kinds;
        round->report = report;
        round->model = model;
        round->random = random;
        play_round(round);
        random = round->random;
        done += model->step;
        failed = round->failed;
        free(round);
    }
    free(model);
    return !failed;
}
