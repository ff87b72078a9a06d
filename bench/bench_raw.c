/* bench_raw.c - the limit: hand-written loops by batch size, and Redis Streams.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "meter.h"
#include "peers/streams.h"
#include "raw.h"

enum { SLOTS = 64, BATCHES = 4 };

static const int batches[BATCHES] = {1, 10, 100, 500};

/* Small batches get fewer messages: they take longer. */
static uint64_t messages_for(const struct lab *lab, int batch)
{
    return batch < 10 ? lab_count(lab, 200000, 40000) : lab_count(lab, 500000, 100000);
}

typedef bool send_fn(struct raw *raw, uint64_t count, int batch);

static bool measure_send(struct lab *lab, struct raw *raw, send_fn *send, const char *what,
                         int batch)
{
    uint64_t count = messages_for(lab, batch), waiting = 0;
    struct meter cost;
    char name[48];

    meter_start_here(&cost);
    if (!send(raw, count, batch)) {
        return false;
    }
    meter_stop_here(&cost);
    if (!raw_waiting(raw, &waiting)) {
        return false;
    }
    snprintf(name, sizeof(name), "raw-%s-%d", what, batch);
    report_tally(lab_report(lab), name,
                 (struct tally_counts){count, waiting, count - waiting, 0, 0}, cost.seconds);
    report_value(lab_report(lab), name, "messages/s", (double) count / cost.seconds);
    return true;
}

static bool measure_drain(struct lab *lab, struct raw *raw, int batch)
{
    uint64_t count = messages_for(lab, batch);
    struct tally *tally = tally_new(count, SLOTS);
    struct meter cost;
    char name[48];

    meter_start_here(&cost);
    bool good = raw_drain(raw, tally, batch);
    meter_stop_here(&cost);
    if (good) {
        snprintf(name, sizeof(name), "raw-consume-%d", batch);
        report_tally(lab_report(lab), name, tally_counts(tally), cost.seconds);
        report_value(lab_report(lab), name, "messages/s", (double) count / cost.seconds);
    }
    tally_free(tally);
    return good;
}

static bool measure_scripts(struct lab *lab, smq_client *client, int batch)
{
    char topic[LAB_NAME_SIZE];
    struct raw *raw = NULL;
    bool good = lab_empty(lab) && lab_topic(lab, client, topic, SLOTS) &&
                (raw = raw_open(lab, topic, SLOTS)) != NULL &&
                measure_send(lab, raw, raw_send, "send", batch) && raw_own(raw) &&
                measure_drain(lab, raw, batch) && measure_send(lab, raw, raw_zadd, "zadd", batch);

    raw_close(raw);
    return good;
}

static bool measure_streams(struct lab *lab, int batch)
{
    uint64_t count = messages_for(lab, batch);
    struct tally *tally = tally_new(count, SLOTS);
    struct streams *streams = lab_empty(lab) ? streams_open(lab, SLOTS) : NULL;
    struct meter sent, drained;
    char name[48];

    meter_start_here(&sent);
    bool good = streams != NULL && streams_send(streams, count);
    meter_stop_here(&sent);
    meter_start_here(&drained);
    good = good && streams_drain(streams, tally, batch);
    meter_stop_here(&drained);
    if (good) {
        snprintf(name, sizeof(name), "streams-read-%d", batch);
        report_tally(lab_report(lab), name, tally_counts(tally), drained.seconds);
        report_value(lab_report(lab), "streams-add", "messages/s", (double) count / sent.seconds);
        report_value(lab_report(lab), name, "messages/s", (double) count / drained.seconds);
    }
    streams_close(streams);
    tally_free(tally);
    return good;
}

bool bench_raw(struct lab *lab)
{
    smq_client *client = lab_servers(lab, 1, false) ? lab_client(lab) : NULL;
    bool good = client != NULL;

    for (int run = 0; run < lab_runs(lab) && good; run++) {
        report_run(lab_report(lab));
        for (int i = 0; i < BATCHES && good; i++) {
            good = measure_scripts(lab, client, batches[i]);
        }
        good = good && measure_streams(lab, 100);
    }
    smq_client_free(client);
    return good;
}
