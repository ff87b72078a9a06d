/* bench_rebalance.c - a member joins a fleet of 16 that owns 1,024 slots, leaves it, or dies: how
 * long until every slot has an owner again, and how long had a slot that moved none?
 *
 * Thread: main. */
#include "benches.h"
#include "fleet.h"
#include "meter.h"

enum { SLOTS = 1024, MEMBERS = 16, SESSION_MS = 4000 };

static bool start(struct fleet *fleet)
{
    bool good = true;

    for (int i = 0; i < MEMBERS && good; i++) {
        good = fleet_start_member(fleet, i);
    }
    return good && fleet_await_shares(fleet, MEMBERS);
}

static bool join(struct lab *lab, struct fleet *fleet, struct samples *pauses)
{
    if (!fleet_start_member(fleet, MEMBERS) || !fleet_await_shares(fleet, MEMBERS + 1)) {
        return false;
    }
    report_value(lab_report(lab), "rebalance-join", "s",
                 fleet_coverage_s(fleet, fleet_joined_ns(fleet, MEMBERS), pauses));
    return true;
}

static bool leave(struct lab *lab, struct fleet *fleet, struct samples *pauses)
{
    int64_t start_ns = meter_now_ns();

    fleet_tell_leave(fleet, MEMBERS);
    if (!fleet_await_shares(fleet, MEMBERS) || !fleet_await_end(fleet, MEMBERS)) {
        return false;
    }
    report_value(lab_report(lab), "rebalance-leave", "s",
                 fleet_coverage_s(fleet, start_ns, pauses));
    return true;
}

/* Most of it is the time-out of its ZooKeeper session. */
static bool death(struct lab *lab, struct fleet *fleet)
{
    int64_t start_ns = meter_now_ns();

    fleet_kill_member(fleet, 0);
    if (!fleet_await_shares(fleet, MEMBERS - 1)) {
        return false;
    }
    double seconds = fleet_coverage_s(fleet, start_ns, NULL);
    report_value(lab_report(lab), "rebalance-kill", "s", seconds);
    report_value(lab_report(lab), "rebalance-kill-after-session", "s",
                 seconds - SESSION_MS / 1000.0);
    return true;
}

static bool measure(struct lab *lab)
{
    const struct fleet_options options = {
        .slots = SLOTS, .members = MEMBERS + 1, .session_ms = SESSION_MS};
    struct fleet *fleet = lab_empty(lab) ? fleet_open(lab, &options) : NULL;
    struct samples pauses = {.count = 0};
    bool good = fleet != NULL && start(fleet) && join(lab, fleet, &pauses) &&
                leave(lab, fleet, &pauses) && death(lab, fleet) &&
                fleet_settle(fleet, "during the changes");

    if (good) {
        report_value(lab_report(lab), "rebalance-pause-p50", "ms", samples_quantile(&pauses, 0.5));
        report_value(lab_report(lab), "rebalance-pause-p99", "ms", samples_quantile(&pauses, 0.99));
    }
    fleet_close(fleet);
    samples_fini(&pauses);
    return good;
}

bool bench_rebalance(struct lab *lab)
{
    return lab_servers(lab, 1, true) && lab_repeat(lab, LAB_LONG, measure);
}
