/* bench_fleet.c - large fleets: how long until all slots are covered after the start of all
 * processes, a join, a death, a restart of ZooKeeper and a rolling restart of all processes, how
 * many slots change their owner each time, and what ZooKeeper has to write.
 *
 * After each change the tokens in Redis and the assignment in ZooKeeper must say what the members
 * say.
 *
 * Thread: main. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benches.h"
#include "fleet.h"
#include "meter.h"
#include "others.h"
#include "support/servers.h"
#include "zookeeper.h"

/* A run takes minutes. */
enum { SESSION_MS = 10000, RUNS = 3 };

/* A fleet starts on a machine with less load than this; so often it is looked for that. */
enum { LOAD_MOST = 3, LOAD_LOOKS = 60 };

/* A fleet to be measured; `at_once`: how many members a rolling restart ends together. */
struct size {
    int members, slots, at_once;
};

/* A change of a fleet while it is measured. */
struct change {
    struct lab *lab;
    struct fleet *fleet;
    const struct size *size;
    int64_t start_ns;
    struct owners_counts counts;
    struct zookeeper_facts zookeeper;
    double load; /* the largest so far */
};

static void tell(struct change *change, const char *what, const char *unit, double value)
{
    char figure[48];

    snprintf(figure, sizeof(figure), "fleet-%d-%s", change->size->members, what);
    report_value(lab_report(change->lab), figure, unit, value);
}

static void see_load(struct change *change)
{
    double load = 0;

    if (getloadavg(&load, 1) == 1 && load > change->load) {
        change->load = load;
    }
}

static bool begin(struct change *change)
{
    change->counts = fleet_counts(change->fleet);
    change->start_ns = meter_now_ns();
    return zookeeper_look(&change->zookeeper, change->lab);
}

static void tell_of(struct change *change, const char *what, const char *name, const char *unit,
                    double value)
{
    char figure[40];

    snprintf(figure, sizeof(figure), "%s-%s", what, name);
    tell(change, figure, unit, value);
}

/* The change is complete: report the moves and the writes, and check that all agree. */
static bool end(struct change *change, const char *what)
{
    struct zookeeper_facts now;
    struct owners_counts counts = fleet_counts(change->fleet);

    see_load(change);
    if (!zookeeper_look(&now, change->lab) || !fleet_is_agreed(change->fleet)) {
        return false;
    }
    tell_of(change, what, "moves", "slots", (double) (counts.gains - change->counts.gains));
    tell_of(change, what, "writes", "writes", (double) (now.zxid - change->zookeeper.zxid));
    return true;
}

/* The same after every slot has its owner again, with the time. */
static bool end_covered(struct change *change, const char *what)
{
    tell(change, what, "s", fleet_coverage_s(change->fleet, change->start_ns, NULL));
    return end(change, what);
}

/* --- the changes --- */

static bool cover(struct change *change)
{
    bool good = begin(change);

    for (int i = 0; i < change->size->members && good; i++) {
        good = fleet_start_member(change->fleet, i);
    }
    if (!good || !fleet_await_shares(change->fleet, change->size->members) ||
        !end_covered(change, "cover")) {
        return false;
    }
    struct zookeeper_facts facts;
    good = zookeeper_look(&facts, change->lab);
    tell(change, "watches", "watches", (double) facts.watches);
    tell(change, "zookeeper-data", "bytes", (double) facts.data_bytes);
    return good;
}

static bool join(struct change *change)
{
    return begin(change) && fleet_start_member(change->fleet, change->size->members) &&
           fleet_await_shares(change->fleet, change->size->members + 1) &&
           end_covered(change, "join");
}

/* The member that joined last, so that those that stay have their first numbers. */
static bool death(struct change *change)
{
    if (!begin(change)) {
        return false;
    }
    fleet_kill_member(change->fleet, change->size->members);
    return fleet_await_shares(change->fleet, change->size->members) && end_covered(change, "kill");
}

static bool restart_some(struct change *change, int first, int last)
{
    bool good = true;

    for (int i = first; i < last; i++) {
        fleet_tell_leave(change->fleet, i);
    }
    for (int i = first; i < last && good; i++) {
        good = fleet_await_end(change->fleet, i);
    }
    for (int i = first; i < last && good; i++) {
        good = fleet_start_member(change->fleet, i);
    }
    see_load(change);
    return good && fleet_await_shares(change->fleet, change->size->members);
}

static bool roll(struct change *change)
{
    bool good = begin(change);

    for (int i = 0; i < change->size->members && good; i += change->size->at_once) {
        int last = i + change->size->at_once;
        good = restart_some(change, i, last < change->size->members ? last : change->size->members);
    }
    return good && end_covered(change, "rolling");
}

struct returning {
    struct lab *lab;
    int64_t connections;
};

static bool all_are_connected(void *arg)
{
    const struct returning *returning = arg;
    struct zookeeper_facts facts;

    return zookeeper_look(&facts, returning->lab) && facts.connections >= returning->connections;
}

/* ZooKeeper ends and starts again with what it has stored: no session ends and no slot moves. */
static bool restart_zookeeper(struct change *change)
{
    /* all members, with the one that joined, and that of the question */
    struct returning returning = {.lab = change->lab, .connections = change->size->members + 2};

    if (!begin(change)) {
        return false;
    }
    server_stop(lab_zookeeper_server(change->lab));
    if (!lab_restart_zookeeper(change->lab)) {
        return false;
    }
    tell(change, "zookeeper-serves", "s", (double) (meter_now_ns() - change->start_ns) / 1e9);
    if (!fleet_await(change->fleet, all_are_connected, &returning,
                     "all members are connected to ZooKeeper again")) {
        return false;
    }
    tell(change, "zookeeper-connected", "s", (double) (meter_now_ns() - change->start_ns) / 1e9);
    tell(change, "zookeeper-snapshots", "bytes", (double) zookeeper_snapshot_bytes(change->lab));
    return end(change, "zookeeper-restart");
}

/* --- */

/* Wait until the fleet before has ended and nothing else runs. */
static bool await_quiet(struct change *change)
{
    double load = others_load();

    for (int i = 1; i < LOAD_LOOKS && load >= LOAD_MOST; i++) {
        load = others_load();
    }
    tell(change, "load-before", "processes", load);
    if (load >= LOAD_MOST) {
        fprintf(stderr, "bench: %.1f other processes run; a fleet is measured with fewer than %d\n",
                load, LOAD_MOST);
    }
    return load < LOAD_MOST;
}

static bool measure_size(struct lab *lab, const struct size *size)
{
    const struct fleet_options options = {
        .slots = size->slots, .members = size->members + 1, .session_ms = SESSION_MS};
    struct fleet *fleet = lab_empty(lab) ? fleet_open(lab, &options) : NULL;
    struct change change = {.lab = lab, .fleet = fleet, .size = size};
    char who[32];

    snprintf(who, sizeof(who), "fleet-%d", size->members);
    bool good = fleet != NULL && await_quiet(&change) && cover(&change) && join(&change) &&
                restart_zookeeper(&change) && death(&change) && roll(&change) &&
                fleet_settle(fleet, who);
    tell(&change, "load", "processes", change.load);
    fleet_close(fleet);
    return good;
}

static bool measure(struct lab *lab)
{
    static const struct size full[] = {{250, 4096, 10}, {16, 65536, 1}};
    static const struct size quick[] = {{40, 1024, 5}, {4, 16384, 1}};
    const struct size *sizes = lab_options(lab)->quick ? quick : full;

    return measure_size(lab, &sizes[0]) && measure_size(lab, &sizes[1]);
}

bool bench_fleet(struct lab *lab)
{
    bool good = lab_servers(lab, 1, true);

    for (int run = 0; run < (lab_options(lab)->quick ? 1 : RUNS) && good; run++) {
        report_run(lab_report(lab));
        good = measure(lab);
    }
    return good;
}
