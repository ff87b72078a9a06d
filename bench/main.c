/* main.c - measures the library against hand-written loops and against its peers, on servers of its
 * own.
 *
 *   slotmq-bench [NAME...] [--quick] [--json] [--runs N] [--rate N] [--format N] [--tls]
 *                [--keep FOLDER [--resume]] [--list]
 *
 * --rate: only benchmarks of open loops know it; such figures are not kept.
 * --runs: of each benchmark, 1 .. 32.
 * --format: of the default topic, 5, which is measured, or 4; such figures are not kept.
 * steady brings those that have the other goals of the default topic: drain, memory; not with
 * --rate.
 * --tls: send, drain and latency also measure the library over TLS, beside plaintext.
 * --keep: the figures of each benchmark that came to its end are kept there as NAME.json; --resume:
 * those that are there are not measured again.
 *
 * Thread: main. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benches.h"
#include "guard.h"
#include "lab.h"
#include "member.h"
#include "meter.h"
#include "relay.h"

static const struct bench benches[] = {
    {"raw", "hand-written loops by batch size, and Redis Streams", bench_raw, false},
    {"send", "send: asynchronous, in batches, blocking; the default topic and layout inline",
     bench_send, false},
    {"groups", "send to a topic with 1, 2 and 4 groups, against one without", bench_groups, false},
    {"ids", "requests of one message, with send ids and without", bench_ids, false},
    {"drain", "consume a backlog with an empty handler: the default topic and layout inline",
     bench_drain, true},
    {"peers", "the same messages through other queues", bench_peers, false},
    {"latency", "time to pick up a message when idle, against BLPOP", bench_latency, false},
    {"steady",
     "messages that come one by one, at 1k to 100k per second and at 50 and 80 % of the most, "
     "or at --rate N; with drain and memory",
     bench_steady, true},
    {"steady-far", "the same at 1k and 10k per second with a round trip of 1 ms", bench_steady_far,
     false},
    {"steady-replica", "the same where the master has a replica", bench_steady_replica, false},
    {"steady-forms", "steady flow with 8 threads and with handlers of 1 ms, in both layouts",
     bench_steady_forms, false},
    {"busy", "steady flow while a process that spins has half of the core of Redis, or at --rate N",
     bench_busy, false},
    {"stall", "Redis stops for 100 ms each second, at 50 and 80 % of the most, or at --rate N",
     bench_stall, false},
    {"shared",
     "a shared topic with 1 to 250 idle consumers: scripts and wakes of a message, its lateness",
     bench_shared, false},
    {"lanes", "handlers of 1 ms on 8 threads: one slot with 1,000 keys, against 64 slots",
     bench_lanes, false},
    {"hot", "20,000 messages of one key in front of 20 other keys: when the last of these begins",
     bench_hot, false},
    {"delayed", "lateness of a million messages due in 10 s, and in one second", bench_delayed,
     false},
    {"redis-cost",
     "cost of a message for Redis, the default topic and layout inline: CPU, commands, traffic",
     bench_redis_cost, false},
    {"memory", "memory of a waiting message: the default topic; layout inline, against ZADD",
     bench_memory, true},
    {"idle", "commands and CPU of a process that owns 1,024 empty slots", bench_idle, false},
    {"depth", "drain with 10,000 to 10 million waiting messages", bench_depth, false},
    {"slots", "drain 1, 64, 1,024 and 4,096 slots", bench_slots, false},
    {"nodes", "Redis CPU per message with 1, 2 and 3 masters", bench_nodes, false},
    {"keyed", "send and drain bodies of 1 KiB in both layouts, and with headers", bench_keyed,
     false},
    {"formats", "instructions of a message in format 5, against format 4, in twenty forms of use",
     bench_formats, false},
    {"rebalance", "start, join, leave and death in fleets of 16 with 1,024 slots", bench_rebalance,
     false},
    {"fleet", "250 processes with 4,096 slots, and 16 with 65,536: start, join, death, restarts",
     bench_fleet, false},
    {"tree", "fleets in Redis alone: 250 processes idle; failovers of each master, and deaths",
     bench_tree, false},
};

enum { COUNT = sizeof(benches) / sizeof(benches[0]), USAGE = 64 };

struct arguments {
    struct lab_options lab;
    bool chosen[COUNT];
    bool list, resume;
};

static int bench_named(const char *name)
{
    for (int i = 0; i < COUNT; i++) {
        if (strcmp(benches[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* All, if none is named; and what steady brings. */
static void choose(struct arguments *arguments, bool any)
{
    bool steady = arguments->chosen[bench_named("steady")] && arguments->lab.rate == 0;

    for (int i = 0; i < COUNT; i++) {
        arguments->chosen[i] = arguments->chosen[i] || !any || (steady && benches[i].with_steady);
    }
    if (arguments->lab.rate > 0 || arguments->lab.format == 4) {
        arguments->lab.folder = NULL;
    }
}

static bool parse(struct arguments *out, int argc, char **argv)
{
    bool any = false;

    *out = (struct arguments){.lab = {.program = argv[0], .format = 5}};
    for (int i = 1; i < argc; i++) {
        int named = bench_named(argv[i]);
        if (strcmp(argv[i], "--quick") == 0) {
            out->lab.quick = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            out->lab.json = true;
        } else if (strcmp(argv[i], "--tls") == 0) {
            out->lab.tls = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            out->list = true;
        } else if (strcmp(argv[i], "--resume") == 0) {
            out->resume = true;
        } else if (strcmp(argv[i], "--keep") == 0 && i + 1 < argc) {
            out->lab.folder = argv[++i];
        } else if (strcmp(argv[i], "--rate") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0) {
            out->lab.rate = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--format") == 0 && i + 1 < argc &&
                   (strcmp(argv[i + 1], "4") == 0 || strcmp(argv[i + 1], "5") == 0)) {
            out->lab.format = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0 &&
                   atoi(argv[i + 1]) <= REPORT_RUNS_MAX) {
            out->lab.runs = atoi(argv[++i]);
        } else if (named >= 0) {
            out->chosen[named] = any = true;
        } else {
            fprintf(stderr, "bench: \"%s\" is no benchmark and no option: --list names them\n",
                    argv[i]);
            return false;
        }
    }
    choose(out, any);
    return true;
}

static void list(void)
{
    for (int i = 0; i < COUNT; i++) {
        printf("%-12s %s\n", benches[i].name, benches[i].about);
    }
}

static bool run(struct lab *lab, const struct bench *bench)
{
    struct report *report = lab_report(lab);
    int64_t start_ns = meter_now_ns();

    report_begin(report, bench->name, bench->about);
    bool done = bench->run(lab);
    double seconds = (double) (meter_now_ns() - start_ns) / 1e9;
    bool good = report_end(report, done, seconds);

    fprintf(stderr, "bench: %s %s after %.0f s\n", bench->name, done ? "ended" : "was not finished",
            seconds);
    return good;
}

static bool is_wanted(const struct arguments *arguments, struct lab *lab, int index)
{
    const char *name = benches[index].name;

    if (!arguments->chosen[index]) {
        return false;
    }
    if (arguments->resume && report_kept(lab_report(lab), name)) {
        fprintf(stderr, "bench: %s is kept from before\n", name);
        return false;
    }
    return true;
}

static int run_all(void *arg)
{
    const struct arguments *arguments = arg;
    struct lab *lab = lab_new(&arguments->lab);
    int64_t start_ns = meter_now_ns();
    bool good = true;

    for (int i = 0; i < COUNT; i++) {
        if (is_wanted(arguments, lab, i)) {
            good = run(lab, &benches[i]) && good;
        }
    }
    lab_free(lab);
    fprintf(stderr, "bench: all in %.0f s\n", (double) (meter_now_ns() - start_ns) / 1e9);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct arguments arguments;

    if (argc == 1 + MEMBER_ARGUMENTS && strcmp(argv[1], MEMBER_OPTION) == 0) {
        return member_main(argv + 1);
    }
    if (argc == 1 + RELAY_ARGUMENTS && strcmp(argv[1], RELAY_OPTION) == 0) {
        return relay_main(argv + 1);
    }
    if (!parse(&arguments, argc, argv)) {
        return USAGE;
    }
    if (arguments.list) {
        list();
        return EXIT_SUCCESS;
    }
    return guard_run(run_all, &arguments);
}
