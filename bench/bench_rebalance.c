/* bench_rebalance.c - a member joins a fleet of 16 that owns 1,024 slots, leaves it, or dies: how
 * long until every slot has an owner again, and how long had a slot that moved none?  A few
 * messages are handled all the time, none of which may be lost.
 *
 * Thread: main. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "benches.h"
#include "library.h"
#include "member.h"
#include "meter.h"
#include "samples.h"
#include "support/process.h"
#include "support/wait.h"

enum {
    SLOTS = 1024,
    MEMBERS = 16,
    MEMBERS_MAX = MEMBERS + 1,
    PATIENCE_MS = 60000,
    NOBODY = -1,
    RATE = 200, /* messages per second: enough to show a loss, too few to slow the fleet */
    MESSAGES_MAX = 100000
};

/* What the lines of the members say so far.  Invariant: messages 0 .. sent - 1 were sent, and
 * `tally` has those that were handled. */
struct fleet {
    struct lab *lab;
    smq_client *client;
    smq_producer *producer;
    struct tally *tally;
    uint64_t sent;
    int64_t begin_ns;
    char topic[LAB_NAME_SIZE], path[PATH_MAX];
    FILE *lines;
    pid_t pids[MEMBERS_MAX];
    int64_t joined_ns[MEMBERS_MAX];
    int owner[SLOTS];
    int64_t gained_ns[SLOTS], lost_ns[SLOTS];
    int wanted; /* this number of members share all slots alike, */
    int gone;   /* and this one has none; NOBODY */
};

/* --- reading --- */

static void take_line(struct fleet *fleet, const char *line)
{
    char kind;
    int member, slot;
    long long at_ns;

    if (sscanf(line, "%c %d %d %lld", &kind, &member, &slot, &at_ns) != 4 || member < 0 ||
        member >= MEMBERS_MAX || slot < 0 || slot >= SLOTS) {
        fprintf(stderr, "bench: a member wrote \"%s\"\n", line);
    } else if (kind == 'H') {
        tally_tick_number(fleet->tally, slot, (uint64_t) at_ns);
    } else if (kind == 'S') {
        fleet->joined_ns[member] = at_ns;
    } else if (kind == 'G') {
        fleet->owner[slot] = member;
        fleet->gained_ns[slot] = at_ns;
    } else {
        fleet->owner[slot] = fleet->owner[slot] == member ? NOBODY : fleet->owner[slot];
        fleet->lost_ns[slot] = at_ns;
    }
}

static bool is_shared_out(const struct fleet *fleet)
{
    int counts[MEMBERS_MAX] = {0}, shares = 0;

    for (int i = 0; i < SLOTS; i++) {
        if (fleet->owner[i] == NOBODY || fleet->owner[i] == fleet->gone) {
            return false;
        }
        counts[fleet->owner[i]]++;
    }
    for (int i = 0; i < MEMBERS_MAX; i++) {
        shares += counts[i] >= SLOTS / fleet->wanted ? 1 : 0;
    }
    return shares == fleet->wanted;
}

static void read_on(struct fleet *fleet)
{
    char line[128];

    clearerr(fleet->lines);
    while (fgets(line, sizeof(line), fleet->lines) != NULL) {
        take_line(fleet, line);
    }
}

/* What should be sent by now.  What is refused was not sent. */
static void send_on(struct fleet *fleet)
{
    int64_t ns = meter_now_ns() - fleet->begin_ns;
    char body[TALLY_BODY];

    while (fleet->sent < MESSAGES_MAX && (int64_t) fleet->sent * 1000000000 < ns * RATE) {
        smq_message message = library_message(body, fleet->sent);
        if (smq_send_async(fleet->producer, fleet->topic, &message, NULL, NULL, NULL) != SMQ_OK) {
            return;
        }
        fleet->sent++;
    }
}

static bool shares_out(void *arg)
{
    struct fleet *fleet = arg;

    send_on(fleet);
    read_on(fleet);
    return is_shared_out(fleet);
}

static bool all_handled(void *arg)
{
    struct fleet *fleet = arg;

    read_on(fleet);
    return tally_counts(fleet->tally).handled == fleet->sent;
}

static bool await_shares(struct fleet *fleet, int wanted, int gone)
{
    fleet->wanted = wanted;
    fleet->gone = gone;
    if (!wait_until(shares_out, fleet, PATIENCE_MS)) {
        fprintf(stderr, "bench: %d members do not share the slots within a minute\n", wanted);
        return false;
    }
    return true;
}

/* --- changing --- */

static bool member_start(struct fleet *fleet, int number)
{
    char digits[12];
    const char *const argv[] = {lab_options(fleet->lab)->program,
                                MEMBER_OPTION,
                                lab_redis(fleet->lab),
                                lab_zookeeper(fleet->lab),
                                fleet->topic,
                                digits,
                                fleet->path,
                                NULL};
    struct process_options options = {.argv = argv, .err = STDERR_FILENO};

    snprintf(digits, sizeof(digits), "%d", number);
    fleet->pids[number] = process_start(&options);
    return fleet->pids[number] > 0;
}

/* From `start_ns` until the last slot that has moved since has its owner; the pauses of those that
 * were given back before. */
static double coverage_s(const struct fleet *fleet, int64_t start_ns, struct samples *pauses)
{
    int64_t last_ns = start_ns;

    for (int i = 0; i < SLOTS; i++) {
        if (fleet->gained_ns[i] <= start_ns) {
            continue;
        }
        last_ns = fleet->gained_ns[i] > last_ns ? fleet->gained_ns[i] : last_ns;
        if (pauses != NULL && fleet->lost_ns[i] > start_ns) {
            int64_t pause_ns = fleet->gained_ns[i] - fleet->lost_ns[i];
            samples_add(pauses, pause_ns > 0 ? (double) pause_ns / 1e6 : 0);
        }
    }
    return (double) (last_ns - start_ns) / 1e9;
}

static bool join(struct fleet *fleet, struct samples *pauses)
{
    if (!member_start(fleet, MEMBERS) || !await_shares(fleet, MEMBERS + 1, NOBODY)) {
        return false;
    }
    report_value(lab_report(fleet->lab), "rebalance-join", "s",
                 coverage_s(fleet, fleet->joined_ns[MEMBERS], pauses));
    return true;
}

static bool leave(struct fleet *fleet, struct samples *pauses)
{
    int64_t start_ns = meter_now_ns();

    kill(fleet->pids[MEMBERS], SIGTERM);
    if (!await_shares(fleet, MEMBERS, MEMBERS) ||
        !process_wait(fleet->pids[MEMBERS], NULL, PATIENCE_MS)) {
        return false;
    }
    fleet->pids[MEMBERS] = 0;
    report_value(lab_report(fleet->lab), "rebalance-leave", "s",
                 coverage_s(fleet, start_ns, pauses));
    return true;
}

/* Most of it is the time-out of its ZooKeeper session. */
static bool death(struct fleet *fleet)
{
    int64_t start_ns = meter_now_ns();

    process_kill(fleet->pids[0]);
    fleet->pids[0] = 0;
    if (!await_shares(fleet, MEMBERS - 1, 0)) {
        return false;
    }
    double seconds = coverage_s(fleet, start_ns, NULL);
    report_value(lab_report(fleet->lab), "rebalance-kill", "s", seconds);
    report_value(lab_report(fleet->lab), "rebalance-kill-after-session", "s",
                 seconds - MEMBER_SESSION_MS / 1000.0);
    return true;
}

/* --- */

static bool lines_open(struct fleet *fleet)
{
    snprintf(fleet->path, sizeof(fleet->path), "%s/members", getenv("TMPDIR"));
    fleet->lines = fopen(fleet->path, "w+e");
    if (fleet->lines == NULL) {
        perror(fleet->path);
    }
    return fleet->lines != NULL;
}

static bool fleet_start(struct fleet *fleet)
{
    fleet->client = lab_client(fleet->lab);
    fleet->producer = fleet->client != NULL ? library_producer(fleet->client) : NULL;
    fleet->begin_ns = meter_now_ns();
    bool good = fleet->producer != NULL && lines_open(fleet) &&
                lab_topic(fleet->lab, fleet->client, fleet->topic, SLOTS);

    for (int i = 0; i < SLOTS; i++) {
        fleet->owner[i] = NOBODY;
    }
    for (int i = 0; i < MEMBERS && good; i++) {
        good = member_start(fleet, i);
    }
    return good && await_shares(fleet, MEMBERS, NOBODY);
}

/* What is not handled by now was lost. */
static bool settle(struct fleet *fleet)
{
    smq_error err = SMQ_ERROR_INIT;

    if (!lab_good(smq_producer_flush(fleet->producer, PATIENCE_MS, &err), &err)) {
        return false;
    }
    (void) wait_until(all_handled, fleet, PATIENCE_MS);
    struct tally_counts counts = tally_counts(fleet->tally);
    counts.sent = fleet->sent;
    counts.lost = counts.sent - counts.handled;
    report_tally(lab_report(fleet->lab), "during the changes", counts,
                 (double) (meter_now_ns() - fleet->begin_ns) / 1e9);
    return true;
}

static void fleet_stop(struct fleet *fleet)
{
    for (int i = 0; i < MEMBERS_MAX; i++) {
        if (fleet->pids[i] > 0) {
            kill(fleet->pids[i], SIGTERM);
        }
    }
    for (int i = 0; i < MEMBERS_MAX; i++) {
        if (fleet->pids[i] > 0) {
            process_stop(fleet->pids[i], PATIENCE_MS);
        }
    }
    if (fleet->lines != NULL) {
        fclose(fleet->lines);
    }
    smq_producer_free(fleet->producer);
    smq_client_free(fleet->client);
}

static bool measure(struct lab *lab)
{
    struct fleet *fleet = calloc(1, sizeof(*fleet));
    struct samples pauses = {.count = 0};

    if (fleet == NULL) {
        abort();
    }
    fleet->lab = lab;
    fleet->tally = tally_new(MESSAGES_MAX, SLOTS);
    bool good = lab_empty(lab) && fleet_start(fleet) && join(fleet, &pauses) &&
                leave(fleet, &pauses) && death(fleet) && settle(fleet);
    if (good) {
        report_value(lab_report(lab), "rebalance-pause-p50", "ms", samples_quantile(&pauses, 0.5));
        report_value(lab_report(lab), "rebalance-pause-p99", "ms", samples_quantile(&pauses, 0.99));
    }
    fleet_stop(fleet);
    samples_fini(&pauses);
    tally_free(fleet->tally);
    free(fleet);
    return good;
}

bool bench_rebalance(struct lab *lab)
{
    return lab_servers(lab, 1, true) && lab_repeat(lab, LAB_LONG, measure);
}
