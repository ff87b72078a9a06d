/* bench_rebalance.c - a fleet of 16 begins to own the 1,024 slots of a new topic, then a member
 * joins it, leaves it, or dies: how long until every slot has an owner again, and how long had a
 * slot that moved none?  In ZooKeeper, and then in a tree in Redis.
 *
 * Thread: main. */
#include "benches.h"
#include "fleet.h"
#include "meter.h"

enum { SLOTS = 1024, MEMBERS = 16, SESSION_MS = 4000 };

/* The names of the figures of a kind of fleet. */
static const struct kind {
    bool in_redis;
    const char *start, *join, *leave, *kill, *kill_after, *pause_p50, *pause_p99;
} kinds[] = {
    {false, "rebalance-start", "rebalance-join", "rebalance-leave", "rebalance-kill",
     "rebalance-kill-after-session", "rebalance-pause-p50", "rebalance-pause-p99"},
    {true, "rebalance-redis-start", "rebalance-redis-join", "rebalance-redis-leave",
     "rebalance-redis-kill", "rebalance-redis-kill-after-session", "rebalance-redis-pause-p50",
     "rebalance-redis-pause-p99"},
};

struct change {
    const struct kind *kind;
    struct report *report;
    struct fleet *fleet;
    struct samples pauses;
};

static bool start(struct change *change)
{
    int64_t start_ns = meter_now_ns();
    bool good = true;

    for (int i = 0; i < MEMBERS && good; i++) {
        good = fleet_start_member(change->fleet, i);
    }
    if (!good || !fleet_await_shares(change->fleet, MEMBERS)) {
        return false;
    }
    report_value(change->report, change->kind->start, "s",
                 (double) (meter_now_ns() - start_ns) / 1e9);
    return true;
}

static bool join(struct change *change)
{
    if (!fleet_start_member(change->fleet, MEMBERS) ||
        !fleet_await_shares(change->fleet, MEMBERS + 1)) {
        return false;
    }
    report_value(
        change->report, change->kind->join, "s",
        fleet_coverage_s(change->fleet, fleet_joined_ns(change->fleet, MEMBERS), &change->pauses));
    return true;
}

static bool leave(struct change *change)
{
    int64_t start_ns = meter_now_ns();

    fleet_tell_leave(change->fleet, MEMBERS);
    if (!fleet_await_shares(change->fleet, MEMBERS) || !fleet_await_end(change->fleet, MEMBERS)) {
        return false;
    }
    report_value(change->report, change->kind->leave, "s",
                 fleet_coverage_s(change->fleet, start_ns, &change->pauses));
    return true;
}

/* Most of it is the time-out of its session. */
static bool death(struct change *change)
{
    int64_t start_ns = meter_now_ns();
    double seconds;

    fleet_kill_member(change->fleet, 0);
    if (!fleet_await_shares(change->fleet, MEMBERS - 1)) {
        return false;
    }
    seconds = fleet_coverage_s(change->fleet, start_ns, NULL);
    report_value(change->report, change->kind->kill, "s", seconds);
    report_value(change->report, change->kind->kill_after, "s", seconds - SESSION_MS / 1000.0);
    return true;
}

static bool measure_kind(struct lab *lab, const struct kind *kind)
{
    const struct fleet_options options = {.slots = SLOTS,
                                          .members = MEMBERS + 1,
                                          .session_ms = SESSION_MS,
                                          .in_redis = kind->in_redis};
    struct change change = {.kind = kind, .report = lab_report(lab)};
    bool good;

    change.fleet = lab_empty(lab) ? fleet_open(lab, &options) : NULL;
    good = change.fleet != NULL && start(&change) && join(&change) && leave(&change) &&
           death(&change) && fleet_settle(change.fleet, "during the changes");
    if (good) {
        report_value(change.report, kind->pause_p50, "ms", samples_quantile(&change.pauses, 0.5));
        report_value(change.report, kind->pause_p99, "ms", samples_quantile(&change.pauses, 0.99));
    }
    fleet_close(change.fleet);
    samples_fini(&change.pauses);
    return good;
}

static bool measure(struct lab *lab)
{
    return measure_kind(lab, &kinds[0]) && measure_kind(lab, &kinds[1]);
}

bool bench_rebalance(struct lab *lab)
{
    return lab_servers(lab, 1, true) && lab_repeat(lab, LAB_LONG, measure);
}
