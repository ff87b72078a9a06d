#include "flow.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "meter.h"
#include "samples.h"

enum { LEAD_NS = 100000000, LOOK_NS = 1000000, STALL_S = 30, LOOK_EACH = 64 };

void flow_init(struct flow *flow, double rate, double seconds)
{
    *flow = (struct flow){.rate = rate, .messages = (uint64_t) (rate * seconds)};
    flow->late_ns = calloc(flow->messages + 1, sizeof(*flow->late_ns));
    if (flow->late_ns == NULL) {
        abort();
    }
    flow->tally = tally_new(flow->messages, FLOW_SLOTS);
}

void flow_fini(struct flow *flow)
{
    tally_free(flow->tally);
    free(flow->late_ns);
    *flow = (struct flow){.rate = 0};
}

/* === Sending ============================================================ */

int64_t flow_due_ns(const struct flow *flow, uint64_t number)
{
    return flow->start_ns + (int64_t) ((double) number * 1e9 / flow->rate);
}

bool flow_sleep(void *user, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};

    (void) user;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return true;
}

/* The backlog is what was due by now and is not handled. */
static bool gives_up(const struct flow *flow, uint64_t number)
{
    if (flow->give_up_s <= 0 || number % LOOK_EACH != 0) {
        return false;
    }
    double due = (double) (meter_now_ns() - flow->start_ns) * flow->rate / 1e9;
    return due - (double) flow->handled > flow->give_up_s * flow->rate;
}

static bool send_all(struct flow *flow, const struct flow_way *way, void *user)
{
    for (uint64_t i = 0; i < flow->messages && !gives_up(flow, i); i++) {
        int64_t due = flow_due_ns(flow, i);
        if (due > meter_now_ns() && !way->wait(user, due)) {
            return false;
        }
        if (!way->send(user, i)) {
            return false;
        }
        flow->sent = i + 1;
    }
    return way->end(user);
}

/* Only this thread asks for timers that are exact. */
bool flow_send(struct flow *flow, const struct flow_way *way, void *user)
{
    prctl(PR_SET_TIMERSLACK, 1L);
    flow->start_ns = meter_now_ns() + LEAD_NS;
    bool good = send_all(flow, way, user);
    prctl(PR_SET_TIMERSLACK, 0L); /* as before */
    return good;
}

/* === Handling =========================================================== */

void flow_seen(struct flow *flow, int slot, const char *body, size_t len)
{
    uint64_t number = tally_number(body, len);

    if (number < flow->messages && flow->late_ns[number] == 0) {
        flow->late_ns[number] = meter_now_ns() - flow_due_ns(flow, number) - flow->later_ns;
    }
    tally_tick_number(flow->tally, slot, number);
    atomic_fetch_add_explicit(&flow->handled, 1, memory_order_relaxed);
}

static bool is_done(const struct flow *flow)
{
    return tally_counts(flow->tally).handled >= flow->sent;
}

void flow_await(const struct flow *flow)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    uint64_t before = 0;
    int64_t since_ns = meter_now_ns();

    while (!is_done(flow) && meter_now_ns() - since_ns < STALL_S * INT64_C(1000000000)) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &look, NULL);
        if (flow->handled != before) {
            before = flow->handled;
            since_ns = meter_now_ns();
        }
    }
}

/* === The result ========================================================= */

/* The slope of lateness over the time when messages were due, by least squares. */
static double growth(const struct flow *flow, uint64_t first)
{
    double count = (double) (flow->sent - first), sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;

    for (uint64_t i = first; i < flow->sent; i++) {
        double x = (double) (i - first) / flow->rate, y = (double) flow->late_ns[i] / 1e9;
        sum_x += x;
        sum_y += y;
        sum_xx += x * x;
        sum_xy += x * y;
    }
    double spread = count * sum_xx - sum_x * sum_x;
    return spread > 0 ? (count * sum_xy - sum_x * sum_y) / spread : 0;
}

/* Of those that were handled. */
static double least_ms(const struct flow *flow)
{
    int64_t least_ns = 0;

    for (uint64_t i = 0; i < flow->sent; i++) {
        int64_t late_ns = flow->late_ns[i];
        least_ns = late_ns > 0 && (least_ns == 0 || late_ns < least_ns) ? late_ns : least_ns;
    }
    return (double) least_ns / 1e6;
}

struct flow_result flow_result(const struct flow *flow)
{
    uint64_t first = (uint64_t) (FLOW_WARM_S * flow->rate);
    struct flow_result result = {.counts = tally_counts(flow->tally),
                                 .gave_up = flow->sent < flow->messages};
    struct samples late = {.count = 0};

    first = first < flow->sent ? first : 0;
    for (uint64_t i = first; i < flow->sent; i++) {
        samples_add(&late, (double) flow->late_ns[i] / 1e6);
    }
    result.counts.sent = flow->sent;
    result.counts.lost = flow->sent - result.counts.handled;
    result.growth = growth(flow, first);
    result.least_ms = least_ms(flow);
    result.p50_ms = samples_quantile(&late, 0.5);
    result.p99_ms = samples_quantile(&late, 0.99);
    samples_fini(&late);
    return result;
}
