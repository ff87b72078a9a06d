/* bench_drain.c - a backlog is consumed with an empty handler: by the library, by a hand-written
 * loop of the same script, and by Redis Streams.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "meter.h"
#include "peers/streams.h"
#include "raw.h"

enum { SLOTS = 64, BATCH = 100 };

struct outcome {
    double rate, cpu; /* messages a second, client CPU seconds a message */
};

static struct outcome tell(struct lab *lab, const char *who, struct tally *tally,
                           const struct meter *cost)
{
    struct tally_counts counts = tally_counts(tally);
    double count = (double) counts.sent;
    char name[48];

    report_tally(lab_report(lab), who, counts, cost->seconds);
    snprintf(name, sizeof(name), "drain-%s", who);
    report_value(lab_report(lab), name, "messages/s", count / cost->seconds);
    snprintf(name, sizeof(name), "drain-%s-client-cpu", who);
    report_value(lab_report(lab), name, "us/message", cost->client_cpu_s * 1e6 / count);
    snprintf(name, sizeof(name), "drain-%s-redis-cpu", who);
    report_value(lab_report(lab), name, "us/message", cost->redis_cpu_s * 1e6 / count);
    return (struct outcome){count / cost->seconds, cost->client_cpu_s / count};
}

static bool drain_streams(struct lab *lab, struct tally *tally, struct meter *cost)
{
    struct streams *streams = lab_empty(lab) ? streams_open(lab, SLOTS) : NULL;
    bool good = streams != NULL && streams_send(streams, tally_counts(tally).sent) &&
                meter_start(cost, lab) && streams_drain(streams, tally, BATCH) &&
                meter_stop(cost, lab);

    streams_close(streams);
    return good;
}

/* A topic with the backlog in it. */
static struct raw *fill(struct lab *lab, smq_client *client, char topic[LAB_NAME_SIZE],
                        uint64_t count)
{
    struct raw *raw = NULL;

    if (lab_empty(lab) && lab_topic(lab, client, topic, SLOTS) &&
        (raw = raw_open(lab, topic, SLOTS)) != NULL && !raw_send(raw, count, BATCH)) {
        raw_close(raw);
        raw = NULL;
    }
    return raw;
}

static bool drain_raw(struct lab *lab, smq_client *client, struct tally *tally, struct meter *cost)
{
    char topic[LAB_NAME_SIZE];
    struct raw *raw = fill(lab, client, topic, tally_counts(tally).sent);
    bool good = raw != NULL && raw_own(raw) && meter_start(cost, lab) &&
                raw_drain(raw, tally, BATCH) && meter_stop(cost, lab);

    raw_close(raw);
    return good;
}

static bool drain_library(struct lab *lab, smq_client *client, struct tally *tally,
                          struct meter *cost)
{
    char topic[LAB_NAME_SIZE];
    struct library_drain how = {.topic = topic, .batch = BATCH};
    struct raw *raw = fill(lab, client, topic, tally_counts(tally).sent);

    how.messages = tally_counts(tally).sent;
    bool good = raw != NULL && library_drain(lab, client, &how, tally, cost);
    raw_close(raw);
    return good;
}

static bool measure(struct lab *lab, smq_client *client)
{
    uint64_t count = lab_count(lab, 1000000, 200000);
    struct tally *tally[3] = {tally_new(count, SLOTS), tally_new(count, SLOTS),
                              tally_new(count, SLOTS)};
    struct meter cost[3];
    bool good = drain_streams(lab, tally[0], &cost[0]) &&
                drain_raw(lab, client, tally[1], &cost[1]) &&
                drain_library(lab, client, tally[2], &cost[2]);

    if (good) {
        struct outcome streams = tell(lab, "streams", tally[0], &cost[0]);
        struct outcome raw = tell(lab, "raw", tally[1], &cost[1]);
        struct outcome library = tell(lab, "slotmq", tally[2], &cost[2]);
        report_ratio(lab_report(lab), "drain/raw", library.rate, raw.rate);
        report_ratio(lab_report(lab), "drain/streams", library.rate, streams.rate);
        report_ratio(lab_report(lab), "drain-cpu/raw", library.cpu, raw.cpu);
        report_ratio(lab_report(lab), "raw/streams", raw.rate, streams.rate);
    }
    for (int i = 0; i < 3; i++) {
        tally_free(tally[i]);
    }
    return good;
}

bool bench_drain(struct lab *lab)
{
    smq_client *client = lab_servers(lab, 1, false) ? lab_client(lab) : NULL;
    bool good = client != NULL;

    for (int run = 0; run < lab_runs(lab) && good; run++) {
        report_run(lab_report(lab));
        good = measure(lab, client);
    }
    smq_client_free(client);
    return good;
}
