/* lockstep.c - see lockstep.h. */
#include "lockstep_round.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "support/testing.h"

enum { ROUND_CALLS = 160 };

/* --- one round --- */

static void set_clock_back(struct round *round)
{
    int64_t by = round->model->step % 3 == 0 ? 3 * round->lease : 3;

    round->model->now -= by;
    round->model->set_back += by;
}

static void pass_time(struct round *round)
{
    uint64_t x = round_chance(round, 40);

    if (x == 0) {
        set_clock_back(round);
    } else if (x == 5 && round->pushing) {
        round->model->now += 1000;
    } else if (x == 6 && round_percent(round, 30)) {
        round->model->now += 3600000; /* producers are forgotten */
    } else if (x < 5) {
        round->model->now += round->lease + (int64_t) round_chance(round, 100);
    } else {
        round->model->now += 1 + (int64_t) round_chance(round, 10);
    }
}

static void step(struct round *round)
{
    bool shared = round->model->shared;
    struct consumer *consumer = &round->consumers[shared ? round_chance(round, SHARERS) : 0];
    uint64_t x = round_chance(round, 100);

    round_deliver_pushes(round);
    if (round->pushing && !shared && round->faults && round_percent(round, 5)) {
        round_note_replica(round);
    }
    if (round->replica != NULL && round_percent(round, 10)) {
        round_fail_over(round);
    }
    if (round->faults && round_chance(round, 500) == 0) {
        round_lose_slot(round);
        consumer = &round->consumers[0];
    }
    if (round->scheduling && !shared && round_percent(round, 8)) {
        round_schedule(round);
        return;
    }
    if (x < 30 && !(round->calm && round->model->waiting.count > 0)) {
        round_send_some(round);
    } else if (x < 41) {
        pass_time(round);
    } else if (x < 75) {
        if (consumer->ready) {
            round_consume(round, consumer);
        }
    } else if (x < 79) {
        round_renew(round, consumer);
    } else if (x < 83) {
        if (!shared) {
            round_take_over(round);
        }
    } else if (x < 87) {
        round_run_late(round);
    } else if (x < 90) {
        round_former_owner_calls(round);
    } else {
        round_look_after(round);
    }
}

static bool is_empty(const struct round *round)
{
    return round->model->waiting.count == 0 && round->model->prepare.count == 0;
}

/* No more faults: everything must be handled. */
static void drain(struct round *round)
{
    struct consumer *consumer = &round->consumers[0];

    round->faults = false;
    round_drop_replica(round);
    while (round->late_count > 0 && !round->failed) {
        round_run_late(round);
    }
    round_resume(round);
    if (!consumer->ready && !round->failed) {
        round_take_over(round);
    }
    for (int i = 0; i < 400 && !round->failed && !is_empty(round); i++) {
        for (size_t j = 0; j < consumer->count; j++) {
            if (consumer->in_flight[j].op == 0) {
                consumer->in_flight[j].op = 'd';
            }
        }
        round_consume(round, consumer);
        round->model->now += round->lease / 4;
    }
    if (!round->failed && !is_empty(round)) {
        round_fail(round, "the slot does not drain");
    }
    for (int i = 0; i < MODEL_MEMBERS && !round->failed; i++) {
        if (round->sent_step[i] > 0 && round->model->handled_step[i] < round->sent_step[i]) {
            round_fail(round, "a message that was sent was never handled");
        }
    }
}

static void begin(struct round *round)
{
    bool shared = round_chance(round, 4) == 0;
    char letter = round->kinds[round_chance(round, strlen(round->kinds))];
    char kind = (char) tolower(letter);

    shared = shared && kind != 'f';
    round->whole = letter != kind;
    model_init(round->model, kind, shared, round->whole || kind == 'f' || round_percent(round, 55));
    round->calm = round->pushing && round_percent(round, 40);
    round->model->heard =
        round->pushing ? round_percent(round, round->calm ? 90 : 50) : round_chance(round, 2) == 0;
    round->model->now = MODEL_BEGIN + (int64_t) round_chance(round, 1000);
    round->strict = round_chance(round, 3) == 0;
    round->faults = round_chance(round, 5) != 0;
    round->lease = 20 + (int64_t) round_chance(round, 60);
    round->max_bytes = round_chance(round, 3) != 0 ? 1048576
                       : round->whole              ? MODEL_SOME_BYTES
                                                   : MODEL_FEW_BYTES;
    /* With those that are whole at most 12 ids: more are not forgotten at once. */
    round->members = round->whole ? 3 + round_chance(round, MODEL_WHOLE - 2)
                                  : 4 + round_chance(round, MODEL_PLAIN - 3);
    for (size_t i = 0; i < SHARERS; i++) {
        round->consumers[i].ready = shared;
    }
    buf_clear(round->report);
    buf_printf(round->report, "kind %c, %s, %s, %s, lease %" PRId64 "\n", kind,
               round->whole          ? "whole"
               : round->model->keyed ? "keyed"
                                     : "inline",
               shared ? "shared" : "exclusive", round->strict ? "strict" : "fast", round->lease);
    round->definition.version = 7 + (int) round_chance(round, 3); /* 9 and 10 are near */
    round_new_definition(round);
    round->model->version = round->definition.version;
    fixture_listen(round->fixture, round->model->heard);
    round_open_slot(round);
}

static void round_run(struct round *round)
{
    begin(round);
    if (!round->model->shared) {
        round_take_over(round);
    }
    for (int i = 0; i < ROUND_CALLS && !round->failed; i++) {
        step(round);
    }
    if (!round->failed && round_percent(round, 15)) {
        round_delete_topic(round);
    } else if (!round->failed) {
        drain(round);
    }
    if (!round->failed) {
        round_compare(round);
    }
    round->woken += fixture_woken(round->fixture);
    if (round->woken != round->model->wakes && !round->failed) {
        round_fail(round, "other wake-ups came than should");
    }
}

bool lockstep_run(struct fixture *fixture, const char *const scripts[], uint64_t seed,
                  uint64_t calls, const char *kinds, bool pushing, bool scheduling,
                  struct buf *report)
{
    struct model *model = memory_new(sizeof(*model));
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    uint64_t done = 0, ordinary = 0, any = 0;
    bool all = kinds == NULL || strcmp(kinds, LOCKSTEP_PLAIN) == 0;
    bool failed = false;

    fixture_store_compactly(fixture);
    while (done < calls && !failed) {
        struct round *round = memory_new(sizeof(*round));

        round->fixture = fixture;
        round->scripts = scripts;
        round->kinds = kinds == NULL ? LOCKSTEP_PLAIN "MTPBFM" : kinds;
        round->report = report;
        round->pushing = pushing;
        round->scheduling = scheduling;
        round->model = model;
        round->random = random;
        round_run(round);
        random = round->random;
        done += model->step;
        failed = round->failed;
        ordinary += round->ordinary;
        any += round->any;
        round_drop_replica(round);
        free(round);
    }
    free(model);
    /* of few calls the share varies more */
    const uint64_t most = ordinary + any > 5000 ? 10 : 20;
    if (!failed && all && ordinary + any > 500 &&
        (ordinary < any / most || any < ordinary / most)) {
        buf_printf(report, "consume has taken %" PRIu64 " calls, and %" PRIu64 " not\n", ordinary,
                   any);
        return false;
    }
    return !failed;
}
