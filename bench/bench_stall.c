/* bench_stall.c - steady flow through a Redis that is slow, because a process that spins has half
 * of its core; and through one that stops for 100 ms each second.  Beside it Redis Streams.
 *
 * Thread: main, and one that stops Redis. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "awake.h"
#include "benches.h"
#include "samples.h"
#include "steady.h"
#include "support/servers.h"

enum { NAME_SIZE = 64, FIRST_GUESS = 60000 };

static double seconds_of(const struct steady *steady)
{
    return (double) lab_count(steady->lab, 5, 2);
}

static void tell(const struct steady *steady, const char *name, const char *word, const char *unit,
                 double value)
{
    char figure[NAME_SIZE];

    snprintf(figure, sizeof(figure), "%.40s-%s", name, word);
    report_value(lab_report(steady->lab), figure, unit, value);
}

/* === A process on the core of Redis ===================================== */

static const double rates[] = {5000, 10000, 15000, 20000, 25000, 30000, 40000, 50000};

#define LATE_MS 10.0 /* p50 of a rate that is too high */

static bool beside_spinning(const struct steady *steady, double rate, struct trial *out)
{
    struct trial streams = {.rate = rate, .seconds = seconds_of(steady)};
    char word[STEADY_WORD_SIZE], name[NAME_SIZE];

    *out = (struct trial){.rate = rate, .seconds = seconds_of(steady)};
    snprintf(name, sizeof(name), "busy-streams-%s", steady_word(word, rate));
    if (!steady_try(steady, STREAMS, NULL, &streams, name)) {
        return false;
    }
    tell(steady, name, "p50", "ms", streams.result.p50_ms);
    snprintf(name, sizeof(name), "busy-%s", word);
    if (!steady_try(steady, LIBRARY, steady_form, out, name)) {
        return false;
    }
    tell(steady, name, "p50", "ms", out->result.p50_ms);
    tell(steady, name, "p99", "ms", out->result.p99_ms);
    tell(steady, name, "scripts", "a message", out->scripts);
    tell(steady, name, "batch", "messages a send", out->found.batch);
    tell(steady, name, "redis-cpu", "us/message", out->redis_us);
    return true;
}

/* Up to the rate at which p50 is too late. */
static bool measure_busy(struct steady *steady)
{
    double only = lab_options(steady->lab)->rate, most = 0, batch = 0;
    struct awake beside;
    struct trial trial;
    bool good = true, late = false;

    awake_compete(&beside, 0);
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]) && good && !late; i++) {
        good = beside_spinning(steady, only > 0 ? only : rates[i], &trial);
        late = only > 0 || trial.result.p50_ms >= LATE_MS;
        most = late ? most : trial.rate;
        batch = late ? batch : trial.found.batch;
    }
    awake_stop(&beside);
    if (good && only <= 0) {
        tell(steady, "busy", "most", "messages/s", most);
        tell(steady, "busy", "most-batch", "messages a send", batch);
    }
    return good;
}

bool bench_busy(struct lab *lab)
{
    return steady_repeat(lab, lab_runs(lab, LAB_LONG), 0, measure_busy);
}

/* === Standstills ======================================================== */

enum { EVERY_NS = 1000000000, STOPPED_NS = 100000000, BIN_NS = 5000000, STOPS_MAX = 64 };
enum { LOOKED_AT_NS = 850000000 }; /* what comes later may be late because of the next standstill */
enum { STOPS = 30, STOPS_QUICK = 3 }; /* that are looked at, of each rate and way */
enum { BESIDE_S = 3 };                /* seconds of the flow whose standstills are not looked at */

/* Invariant: `resumed_ns` has `count` times. */
struct stops {
    struct server *server;
    pthread_t thread;
    atomic_bool over;
    int64_t resumed_ns[STOPS_MAX];
    int count;
};

static void sleep_until(int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void *stop_and_go(void *user)
{
    struct stops *stops = user;

    for (int64_t at_ns = meter_now_ns() + EVERY_NS; stops->count < STOPS_MAX; at_ns += EVERY_NS) {
        sleep_until(at_ns);
        if (stops->over) {
            break;
        }
        server_pause(stops->server);
        sleep_until(at_ns + STOPPED_NS);
        server_resume(stops->server);
        stops->resumed_ns[stops->count++] = meter_now_ns();
    }
    return NULL;
}

/* The median lateness of the messages that were due in a bin; -1: there are none. */
static double median_of(const struct flow *flow, int64_t from_ns)
{
    double first = (double) (from_ns - flow->start_ns) * flow->rate / 1e9;
    uint64_t end = (uint64_t) (first + flow->rate * BIN_NS / 1e9);
    struct samples late = {.count = 0};
    double median = -1;

    for (uint64_t i = (uint64_t) first; i < end && i < flow->sent; i++) {
        samples_add(&late, (double) flow->late_ns[i] / 1e6);
    }
    if (late.count > 0) {
        median = samples_quantile(&late, 0.5);
    }
    samples_fini(&late);
    return median;
}

/* How long after it was resumed were messages later than usual for the last time?  In ms; nearly
 * until the next standstill at most: then they were late all the time. */
static double back_ms(const struct flow *flow, int64_t resumed_ns, double usual_ms)
{
    const double much_ms = usual_ms * 2 > usual_ms + 1 ? usual_ms * 2 : usual_ms + 1;
    double back = 0;

    for (int64_t at_ns = 0; at_ns < LOOKED_AT_NS; at_ns += BIN_NS) {
        if (median_of(flow, resumed_ns + at_ns) > much_ms) {
            back = (double) (at_ns + BIN_NS) / 1e6;
        }
    }
    return back;
}

/* The median of all standstills that were within the flow, after it had become steady; *count: how
 * many these are. */
static double median_back_ms(const struct stops *stops, const struct flow *flow, double usual_ms,
                             size_t *count)
{
    int64_t steady_ns = flow->start_ns + (int64_t) (FLOW_WARM_S * 1e9);
    int64_t end_ns = flow_due_ns(flow, flow->sent);
    struct samples backs = {.count = 0};

    for (int i = 0; i < stops->count; i++) {
        if (stops->resumed_ns[i] - STOPPED_NS >= steady_ns &&
            stops->resumed_ns[i] + EVERY_NS - STOPPED_NS <= end_ns) {
            samples_add(&backs, back_ms(flow, stops->resumed_ns[i], usual_ms));
        }
    }
    *count = backs.count;
    double median = samples_quantile(&backs, 0.5);
    samples_fini(&backs);
    return median;
}

/* Say when p50 was back.  *out: the median, in ms. */
static void tell_back(const struct steady *steady, const char *name, const struct stops *stops,
                      const struct flow *flow, double usual_ms, double *out)
{
    uint64_t least = lab_count(steady->lab, STOPS, STOPS_QUICK);
    size_t count;

    *out = median_back_ms(stops, flow, usual_ms, &count);
    tell(steady, name, "p50", "ms", usual_ms);
    tell(steady, name, "back", "ms", *out);
    tell(steady, name, "standstills", "standstills", (double) count);
    if (count < least) {
        report_void(lab_report(steady->lab), "%s: only %zu standstills, and not %d, were seen",
                    name, count, (int) least);
    }
}

/* One rate of one way, without standstills and with them. */
static bool with_stops(const struct steady *steady, enum way way, double rate, const char *name,
                       double *out_ms)
{
    struct trial usual = {.rate = rate, .seconds = seconds_of(steady)};
    struct stops stops = {.server = lab_node(steady->lab, 0)};
    struct way_found found;
    struct meter cost;
    struct flow flow;

    if (!steady_try(steady, way, steady_form, &usual, name)) {
        return false;
    }
    flow_init(&flow, rate, (double) (lab_count(steady->lab, STOPS, STOPS_QUICK) + BESIDE_S));
    bool good = pthread_create(&stops.thread, NULL, stop_and_go, &stops) == 0;
    if (good) {
        good = steady_send(steady, way, steady_form, &flow, &cost, &found);
        stops.over = true;
        pthread_join(stops.thread, NULL);
    }
    if (good) {
        report_tally(lab_report(steady->lab), name, flow_result(&flow).counts, cost.seconds);
        tell_back(steady, name, &stops, &flow, usual.result.p50_ms, out_ms);
    }
    flow_fini(&flow);
    return good;
}

static bool at_percent(const struct steady *steady, double most, int percent)
{
    char name[NAME_SIZE];
    double streams_ms, library_ms;

    snprintf(name, sizeof(name), "stall-streams-%d%%", percent);
    if (!with_stops(steady, STREAMS, most * percent / 100, name, &streams_ms)) {
        return false;
    }
    snprintf(name, sizeof(name), "stall-%d%%", percent);
    if (!with_stops(steady, LIBRARY, most * percent / 100, name, &library_ms)) {
        return false;
    }
    snprintf(name, sizeof(name), "stall-%d%%-back/streams", percent);
    report_ratio(lab_report(steady->lab), name, library_ms,
                 streams_ms > 0 ? streams_ms : BIN_NS / 1e6);
    return true;
}

/* --rate: the highest rate, which is not searched for then. */
static bool measure_stall(struct steady *steady)
{
    double most = lab_options(steady->lab)->rate;

    if (most <= 0 && !steady_find_most(steady, steady_form,
                                       steady->most > 0 ? steady->most : FIRST_GUESS, &most)) {
        return false;
    }
    steady->most = most;
    if (most <= 0) {
        report_note(lab_report(steady->lab), "no rate was found that goes through");
        return true;
    }
    tell(steady, "stall", "most", "messages/s", most);
    return at_percent(steady, most, 50) && at_percent(steady, most, 80);
}

bool bench_stall(struct lab *lab)
{
    return steady_repeat(lab, lab_runs(lab, LAB_ONCE), 0, measure_stall);
}
