/* bench_steady.c - messages that come one by one, at fixed rates and at parts of the most that goes
 * through: how late they are handled, for what they waited, and what they cost Redis.  First the
 * default topic, without keys and with a key each, then layout inline; beside them Redis Streams,
 * and the two smallest scripts that could work.
 *
 * Thread: main. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "announce.h"
#include "awake.h"
#include "benches.h"
#include "library.h"
#include "relay.h"
#include "scene.h"
#include "stalls.h"
#include "steady.h"

enum {
    THOUSAND = 1000,
    PROBES = 6,
    PROBES_QUICK = 3,
    RATES = 5,
    FAR_RATES = 2,
    FORMS = 11,
    BESIDE = 5
};
enum { FIRST_GUESS = 60000 }; /* of the most */
enum { NAME_SIZE = 64 };
enum { ONE_WAY_US = 500 }; /* a round trip of 1 ms */

#define CLOSE_ENOUGH 1.06 /* between a rate that goes through and one that does not */
#define STEP         1.5  /* as long as only one of the two is known */
#define GROWS        0.01 /* seconds later with each second: the backlog grows */
#define BEHIND_S     2.0  /* of messages: it has grown enough to be sure */

/* While processors stand still all that is due becomes late, and at half load as much again while
 * that is caught up.  So beyond half a percent of the time p99 says how late the machine was. */
#define STOOD_STILL 0.5
enum { ATTEMPTS = 4, ATTEMPTS_QUICK = 2 }; /* at a rate, until processors stood still for less */

static const double rates[RATES] = {1000, 10000, 30000, 50000, 100000};

/* The first BESIDE are measured beside each other, the others by themselves. */
static const struct form forms[FORMS] = {
    {"steady", SMQ_LAYOUT_KEYED, .threads = 1},
    {"steady-keys", SMQ_LAYOUT_KEYED, .threads = 1, .keys = true},
    {"steady-inline", SMQ_LAYOUT_INLINE, .threads = 1},
    {"steady-retries", SMQ_LAYOUT_KEYED, .threads = 1, .retries = true},
    {"steady-busy", SMQ_LAYOUT_KEYED, .threads = MISHAPS_THREADS, .busy = true},
    {"steady-8-threads", SMQ_LAYOUT_KEYED, .threads = 8},
    {"steady-1ms", SMQ_LAYOUT_KEYED, .threads = 1, .handler_ms = 1},
    {"steady-8-threads-1ms", SMQ_LAYOUT_KEYED, .threads = 8, .handler_ms = 1},
    {"steady-inline-8-threads", SMQ_LAYOUT_INLINE, .threads = 8},
    {"steady-inline-1ms", SMQ_LAYOUT_INLINE, .threads = 1, .handler_ms = 1},
    {"steady-inline-8-threads-1ms", SMQ_LAYOUT_INLINE, .threads = 8, .handler_ms = 1},
};

const struct form *const steady_form = &forms[0];

/* === One trial ========================================================== */

bool steady_send(const struct steady *steady, enum way way, const struct form *form,
                 struct flow *flow, struct meter *cost, struct way_found *found)
{
    switch (way) {
    case STREAMS:
        return way_streams(steady->lab, steady->address, flow, cost);
    case TWO_SCRIPTS:
        return way_two_scripts(steady->lab, steady->address, flow, cost);
    case LIBRARY:
        break;
    }
    return way_library(steady->lab, steady->client, form, flow, cost, found);
}

bool steady_try(const struct steady *steady, enum way way, const struct form *form,
                struct trial *trial, const char *name)
{
    struct flow flow;
    struct meter cost;
    struct stalls stalls;

    flow_init(&flow, trial->rate, trial->seconds);
    flow.give_up_s = trial->give_up_s;
    stalls_start(&stalls);
    bool good = steady_send(steady, way, form, &flow, &cost, &trial->found);
    trial->stood_still = stalls_stop(&stalls);
    if (good) {
        double handled = (double) flow.sent;
        trial->result = flow_result(&flow);
        trial->redis_us = cost.redis_cpu_s * 1e6 / handled;
        trial->client_us = cost.client_cpu_s * 1e6 / handled;
        trial->scripts = (double) cost.calls / handled;
        report_tally(lab_report(steady->lab), name, trial->result.counts, cost.seconds);
    }
    flow_fini(&flow);
    return good;
}

static double seconds_of_a_rate(const struct steady *steady)
{
    return (double) lab_count(steady->lab, lab_options(steady->lab)->rate > 0 ? 10 : 5, 2);
}

/* The last attempt counts. */
static bool try_until_quiet(const struct steady *steady, enum way way, const struct form *form,
                            struct trial *trial, const char *name)
{
    int attempts = (int) lab_count(steady->lab, ATTEMPTS, ATTEMPTS_QUICK);
    bool good = steady_try(steady, way, form, trial, name);

    while (good && trial->stood_still > STOOD_STILL && --attempts > 0) {
        fprintf(stderr, "%s: again, because processors stood still for %.1f %% of the time\n", name,
                trial->stood_still);
        steady->stillness->repeated++;
        good = steady_try(steady, way, form, trial, name);
    }
    steady->stillness->percent += trial->stood_still;
    steady->stillness->trials++;
    return good;
}

static void report_trial(struct report *report, const struct trial *trial, const char *name)
{
    const struct {
        const char *word, *unit;
        double value;
    } figures[] = {
        {"p50", "ms", trial->result.p50_ms},
        {"client-cpu", "us/message", trial->client_us},
        {"redis-cpu", "us/message", trial->redis_us},
        {"p99", "ms", trial->result.p99_ms},
    };
    char figure[NAME_SIZE];

    for (int i = 0; i < 4; i++) {
        snprintf(figure, sizeof(figure), "%.48s-%s", name, figures[i].word);
        if (i == 3 && trial->stood_still > STOOD_STILL) {
            report_uncounted(report, figure, figures[i].unit, "processors stood still");
        } else {
            report_value(report, figure, figures[i].unit, figures[i].value);
        }
    }
}

/* What the library does with a message: for what it waits, and how many scripts it costs. */
static void report_waits(struct report *report, const struct trial *trial, const char *name)
{
    static const char *const words[WAITS] = {
        [WAIT_SENDER] = "sender", [WAIT_SEND] = "send",       [WAIT_WAKE] = "wake",
        [WAIT_SLOT] = "slot",     [WAIT_PACE] = "pace",       [WAIT_ROOM] = "room",
        [WAIT_CLAIM] = "claim",   [WAIT_HANDLER] = "handler", [WAIT_REQUEST] = "request"};
    char figure[NAME_SIZE];

    for (int i = 0; i < WAITS; i++) {
        snprintf(figure, sizeof(figure), "%.40s-wait-%s", name, words[i]);
        report_value(report, figure, "ms", trial->found.waits_ms[i]);
    }
    snprintf(figure, sizeof(figure), "%.48s-scripts", name);
    report_value(report, figure, "a message", trial->scripts);
    snprintf(figure, sizeof(figure), "%.48s-batch", name);
    report_value(report, figure, "messages a send", trial->found.batch);
}

/* Has the earliest message come earlier than any can?  Then what was measured is another way. */
static bool came_too_early(const struct steady *steady, const struct trial *trial, const char *name)
{
    bool early = trial->result.counts.handled > 0 && trial->result.least_ms < steady->least_ms;

    if (early) {
        report_void(lab_report(steady->lab),
                    "%s: a message was handled %.3f ms after it was due, but a round trip takes "
                    "%.3f ms: it did not take the way that is measured",
                    name, trial->result.least_ms, steady->least_ms);
    }
    return early;
}

static bool measure_rate(const struct steady *steady, enum way way, const struct form *form,
                         double rate, const char *name, double *redis_us)
{
    struct trial trial = {.rate = rate, .seconds = seconds_of_a_rate(steady)};

    if (!try_until_quiet(steady, way, form, &trial, name) || came_too_early(steady, &trial, name)) {
        return false;
    }
    report_trial(lab_report(steady->lab), &trial, name);
    if (way == LIBRARY) {
        report_waits(lab_report(steady->lab), &trial, name);
    }
    *redis_us = trial.redis_us;
    return true;
}

/* === The most =========================================================== */

/* Is nothing left behind at this rate?  Its end is early when that is clear. */
static bool goes_through(const struct steady *steady, const struct form *form, double rate,
                         bool *out)
{
    struct trial trial = {
        .rate = rate, .seconds = (double) lab_count(steady->lab, 10, 3), .give_up_s = BEHIND_S};
    char name[NAME_SIZE];

    snprintf(name, sizeof(name), "%.28s-%.0f/s", form->name, rate);
    bool good = steady_try(steady, LIBRARY, form, &trial, name);
    *out = good && !trial.result.gave_up && trial.result.growth <= GROWS;
    if (good) {
        fprintf(stderr, "%s: %s, %.4f s later with each second\n", name,
                *out ? "goes through" : "too much", trial.result.growth);
    }
    return good;
}

/* To within CLOSE_ENOUGH. */
bool steady_find_most(const struct steady *steady, const struct form *form, double guess,
                      double *out)
{
    int probes = (int) lab_count(steady->lab, PROBES, PROBES_QUICK);
    double through = 0, too_much = 0, rate = guess;
    bool yes;

    for (int i = 0;
         i < probes && !(through > 0 && too_much > 0 && too_much / through <= CLOSE_ENOUGH); i++) {
        if (!goes_through(steady, form, rate, &yes)) {
            return false;
        }
        through = yes ? rate : through;
        too_much = yes ? too_much : rate;
        rate = too_much <= 0  ? through * STEP
               : through <= 0 ? too_much / STEP
                              : sqrt(through * too_much);
    }
    *out = through;
    return true;
}

/* === A form of use ====================================================== */

const char *steady_word(char out[STEADY_WORD_SIZE], double rate)
{
    long number = lround(rate);

    if (number % THOUSAND == 0) {
        snprintf(out, STEADY_WORD_SIZE, "%ldk", number / THOUSAND);
    } else {
        snprintf(out, STEADY_WORD_SIZE, "%ld", number);
    }
    return out;
}

static bool at_part_of_most(const struct steady *steady, const struct form *form, double most,
                            int percent)
{
    char name[NAME_SIZE];
    double redis_us;

    snprintf(name, sizeof(name), "%.30s-%d%%", form->name, percent);
    return measure_rate(steady, LIBRARY, form, most * percent / 100, name, &redis_us);
}

static bool near_most(const struct steady *steady, const struct form *form, double guess,
                      double *most)
{
    char name[NAME_SIZE];

    if (!steady_find_most(steady, form, guess, most)) {
        return false;
    }
    if (*most <= 0) {
        report_note(lab_report(steady->lab), "%s: no rate was found that goes through", form->name);
        return true;
    }
    snprintf(name, sizeof(name), "%.32s-most", form->name);
    report_value(lab_report(steady->lab), name, "messages/s", *most);
    return at_part_of_most(steady, form, *most, 50) && at_part_of_most(steady, form, *most, 80);
}

static double first_guess(const struct steady *steady)
{
    return steady->most > 0 ? steady->most : FIRST_GUESS;
}

/* What goes through, and the fixed rates below that. */
static bool measure_form(const struct steady *steady, const struct form *form)
{
    double guess =
        form->handler_ms > 0 ? 900.0 / form->handler_ms * form->threads : first_guess(steady);
    double most, redis_us;
    char name[NAME_SIZE], word[STEADY_WORD_SIZE];

    if (!near_most(steady, form, guess, &most)) {
        return false;
    }
    for (int i = 0; i < RATES && rates[i] <= most; i++) {
        snprintf(name, sizeof(name), "%.30s-%s", form->name, steady_word(word, rates[i]));
        if (!measure_rate(steady, LIBRARY, form, rates[i], name, &redis_us)) {
            return false;
        }
    }
    return true;
}

/* === Side by side ======================================================= */

static void compare(const struct steady *steady, const char *prefix, const char *who,
                    const char *word, double redis_us, double streams_us)
{
    char figure[NAME_SIZE];

    snprintf(figure, sizeof(figure), "%s%s-%s-redis-cpu/streams", prefix, who, word);
    report_ratio(lab_report(steady->lab), figure, redis_us, streams_us);
}

/* The two scripts, which do not batch, are measured up to the rate that they can follow. */
static bool side_by_side(const struct steady *steady, const char *prefix, double rate)
{
    enum { LAST_OF_TWO_SCRIPTS = 10000 };
    char word[STEADY_WORD_SIZE], name[NAME_SIZE];
    double streams_us, two_us, library_us;

    steady_word(word, rate);
    snprintf(name, sizeof(name), "%sstreams-%s", prefix, word);
    if (!measure_rate(steady, STREAMS, NULL, rate, name, &streams_us)) {
        return false;
    }
    if (rate <= LAST_OF_TWO_SCRIPTS) {
        snprintf(name, sizeof(name), "%stwo-scripts-%s", prefix, word);
        if (!measure_rate(steady, TWO_SCRIPTS, NULL, rate, name, &two_us)) {
            return false;
        }
        compare(steady, prefix, "two-scripts", word, two_us, streams_us);
    }
    for (int i = 0; i < BESIDE; i++) {
        snprintf(name, sizeof(name), "%s%.16s-%s", prefix, forms[i].name, word);
        if (!measure_rate(steady, LIBRARY, &forms[i], rate, name, &library_us)) {
            return false;
        }
        compare(steady, prefix, forms[i].name, word, library_us, streams_us);
    }
    return true;
}

/* === A round trip of 1 ms =============================================== */

/* A message goes to Redis, and from there to its handler: that takes a round trip at least. */
static bool from_afar(struct lab *lab, struct stillness *stillness, const double *some, int count)
{
    struct steady far = {
        .lab = lab, .stillness = stillness, .least_ms = 2 * ONE_WAY_US / (double) THOUSAND};
    struct relay relay;
    const struct relay_options options = {.program = lab_options(lab)->program,
                                          .port = announce_port_of(lab_redis(lab)),
                                          .one_way_us = ONE_WAY_US};
    bool good = relay_start(&relay, &options);

    if (good) {
        far.address = relay.address;
        good = announce(lab, relay.address) &&
               (far.client = lab_client_at(lab, relay.address)) != NULL;
        for (int i = 0; i < count && good; i++) {
            good = side_by_side(&far, "far-", some[i]);
        }
        smq_client_free(far.client);
        good = announce(lab, lab_redis(lab)) && good;
    }
    relay_stop(&relay);
    return good;
}

/* === The benchmarks ===================================================== */

/* That of the run, which ends here. */
static void report_stillness(struct report *report, struct stillness *stillness)
{
    double trials = stillness->trials > 0 ? stillness->trials : 1;

    report_value(report, "stood-still", "% of the time", stillness->percent / trials);
    report_value(report, "repeated", "trials", stillness->repeated);
    *stillness = (struct stillness){.trials = 0};
}

bool steady_repeat(struct lab *lab, int runs, int replicas, steady_fn *measure)
{
    struct stillness stillness = {.trials = 0};
    struct steady steady = {.lab = lab, .stillness = &stillness};
    struct awake awake;

    awake_start(&awake);
    bool good = lab_servers_with_replicas(lab, 1, replicas, false) &&
                (steady.client = lab_client(lab)) != NULL;
    steady.address = good ? lab_redis(lab) : NULL;
    for (int run = 0; run < runs && good; run++) {
        report_run(lab_report(lab));
        good = measure(&steady);
        report_stillness(lab_report(lab), &stillness);
    }
    smq_client_free(steady.client);
    awake_stop(&awake);
    return good;
}

/* The second run begins its search where the first one ended. */
static bool measure_near(struct steady *steady)
{
    double rate = lab_options(steady->lab)->rate;

    if (rate > 0) {
        return side_by_side(steady, "", rate) &&
               from_afar(steady->lab, steady->stillness, &rate, 1);
    }
    for (int i = 0; i < RATES; i++) {
        if (!side_by_side(steady, "", rates[i])) {
            return false;
        }
    }
    return near_most(steady, &forms[0], first_guess(steady), &steady->most);
}

bool bench_steady(struct lab *lab)
{
    return steady_repeat(lab, lab_runs(lab, LAB_LONG), 0, measure_near);
}

static bool measure_forms(struct steady *steady)
{
    double most;

    for (int i = 1; i < FORMS; i++) {
        if (!(i < BESIDE ? near_most(steady, &forms[i], first_guess(steady), &most)
                         : measure_form(steady, &forms[i]))) {
            return false;
        }
    }
    return true;
}

/* Once: it takes minutes. */
bool bench_steady_forms(struct lab *lab)
{
    return steady_repeat(lab, 1, 0, measure_forms);
}

static bool measure_far(struct steady *steady)
{
    return from_afar(steady->lab, steady->stillness, rates, FAR_RATES);
}

bool bench_steady_far(struct lab *lab)
{
    return steady_repeat(lab, lab_runs(lab, LAB_LONG), 0, measure_far);
}

static bool measure_replica(struct steady *steady)
{
    return side_by_side(steady, "replica-", rates[0]) && side_by_side(steady, "replica-", rates[1]);
}

/* A publication of a shard goes to its replicas, too. */
bool bench_steady_replica(struct lab *lab)
{
    return steady_repeat(lab, lab_runs(lab, LAB_LONG), 1, measure_replica);
}
