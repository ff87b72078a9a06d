/* lockstep_schedule.c - who puts schedules in a round, and makes their ticks. */
#include "lockstep_round.h"

#include <stdlib.h>

/* It never comes in a round. */
static const int64_t later = INT64_C(9000000000000);

static void choose_times(struct round *round, struct call_schedule *out)
{
    out->due = round_percent(round, 75) ? 5 : later;
    out->next = round_percent(round, 60) ? 5 : round_percent(round, 60) ? later : -1;
}

static void put(struct round *round)
{
    static const char *const ttls[] = {"", "-", "7"};
    struct call *call = round_new_call(round, CALL_SCHEDULE_PUT, 0);
    struct call_schedule *given = &call->schedules[0];
    const struct model_schedule *its;
    struct buf seen = {0};

    given->id = (int) round_chance(round, MODEL_SCHEDULES);
    its = &round->model->schedules[given->id];
    choose_times(round, given);
    given->version = round_percent(round, 10) ? 1 : its->stored ? its->version : 0;
    given->paused = round_percent(round, 20);
    given->what = its->stored && round_percent(round, 40) ? '=' : '+';
    if (round_percent(round, 15)) {
        given->what = '-';
    }
    given->member = (int) round_chance(round, round->members);
    given->text = (int) round_chance(round, 4);
    given->limit = round_percent(round, 50) ? -1 : 1;
    given->ttl = ttls[round_chance(round, 3)];
    round_send_through(round, call, &seen);
    buf_fini(&seen);
    free(call);
}

static void choose_tick(struct round *round, struct call_schedule *out, int id)
{
    const struct model_schedule *its = &round->model->schedules[id];

    choose_times(round, out);
    out->id = id;
    out->version = round_percent(round, 10) ? its->version - 1 : its->version;
    if (its->due >= 0 && !round_percent(round, 5)) {
        out->due = its->due;
    }
    out->what = "ffffsr"[round_chance(round, 6)];
    if (out->what == 'f' && model_run_time(round->model, id) < 0) {
        out->what = 's';
    }
    if (out->what == 'r') {
        out->due = model_run_time(round->model, id);
    }
}

void round_schedule(struct round *round)
{
    struct call *call;
    struct buf seen = {0};
    const int first = (int) round_chance(round, MODEL_SCHEDULES);

    if (round_percent(round, 35)) {
        put(round);
        return;
    }
    call = round_new_call(round, CALL_TICK, 0);
    call->schedule_ttl = round_percent(round, 50) ? -1 : 9;
    for (int i = 0; i < MODEL_SCHEDULES; i++) {
        if (round_percent(round, 50)) {
            choose_tick(round, &call->schedules[call->count++], (first + i) % MODEL_SCHEDULES);
        }
    }
    round_send_through(round, call, &seen);
    buf_fini(&seen);
    free(call);
}
