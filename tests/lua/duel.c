/* duel.c - see duel.h. */
#include "duel_round.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

enum { ROUND_CALLS = 160 };

/* --- one round --- */

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

static void step(struct duel *duel)
{
    bool shared = duel->model->shared;
    struct consumer *consumer = &duel->consumers[shared ? chance(duel, SHARERS) : 0];
    uint64_t x = chance(duel, 100);

    if (x < 30) {
        send_some(duel);
    } else if (x < 41) {
        pass_time(duel);
    } else if (x < 75) {
        if (consumer->ready) {
            consume(duel, consumer);
        }
    } else if (x < 79) {
        renew(duel, consumer);
    } else if (x < 83) {
        if (!shared) {
            take_over(duel);
        }
    } else if (x < 87) {
        run_late(duel);
    } else if (x < 90) {
        zombie_calls(duel);
    } else {
        look_after(duel);
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
    while (duel->late_count > 0 && !duel->failed) {
        run_late(duel);
    }
    resume(duel);
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
    new_definition(duel);
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
    if (!duel->failed && percent(duel, 15)) {
        delete_topic(duel);
    } else if (!duel->failed) {
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
