/* bench_peers.c - the same messages through other queues, in the same run.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "peers/peer.h"
#include "scene.h"

static const struct peer *const peers[] = {&peer_streams, &peer_node, &peer_bullmq};
enum { PEERS = sizeof(peers) / sizeof(peers[0]) };

static void tell(struct lab *lab, const char *name, const struct peer_result *result)
{
    double count = (double) result->counts.sent;
    char figure[48];

    report_tally(lab_report(lab), name, result->counts, result->drained_s);
    snprintf(figure, sizeof(figure), "send-%s", name);
    report_value(lab_report(lab), figure, "messages/s", count / result->sent_s);
    snprintf(figure, sizeof(figure), "drain-%s", name);
    report_value(lab_report(lab), figure, "messages/s", count / result->drained_s);
}

static bool measure_library(struct lab *lab, smq_client *client, uint64_t count,
                            struct peer_result *out)
{
    struct tally *tally = tally_new(count, SCENE_SLOTS);
    struct scene scene;
    struct meter sent, drained;
    bool good = scene_open(&scene, lab, client, SCENE_SLOTS) &&
                library_store(lab, client, scene.topic, count, &sent) &&
                scene_drain(&scene, count, tally, &drained);

    scene_close(&scene);
    if (good) {
        *out = (struct peer_result){sent.seconds, drained.seconds, tally_counts(tally)};
        tell(lab, "slotmq", out);
    }
    tally_free(tally);
    return good;
}

static bool measure_peer(struct lab *lab, const struct peer *peer, uint64_t count,
                         const struct peer_result *library, struct peer_result *result)
{
    char figure[48];

    if (!lab_empty(lab) || !peer->measure(lab, count, result)) {
        return false;
    }
    tell(lab, peer->name, result);
    snprintf(figure, sizeof(figure), "send/%s", peer->name);
    report_ratio(lab_report(lab), figure, result->sent_s, library->sent_s);
    snprintf(figure, sizeof(figure), "drain/%s", peer->name);
    report_ratio(lab_report(lab), figure, result->drained_s, library->drained_s);
    return true;
}

/* Both in Node.js. */
static void compare_in_node(struct lab *lab, const struct peer_result results[PEERS])
{
    const struct peer_result *node = &results[1], *bullmq = &results[2];

    if (node->drained_s > 0 && bullmq->drained_s > 0) {
        report_ratio(lab_report(lab), "drain-node/bullmq", bullmq->drained_s, node->drained_s);
    }
}

static bool measure(struct lab *lab, smq_client *client)
{
    uint64_t count = lab_count(lab, 200000, 50000);
    struct peer_result library, results[PEERS] = {{.sent_s = 0}};

    if (!measure_library(lab, client, count, &library)) {
        return false;
    }
    for (int i = 0; i < PEERS; i++) {
        if (peers[i]->missing(lab) == NULL &&
            !measure_peer(lab, peers[i], count, &library, &results[i])) {
            return false;
        }
    }
    compare_in_node(lab, results);
    return true;
}

bool bench_peers(struct lab *lab)
{
    for (int i = 0; i < PEERS; i++) {
        const char *missing = peers[i]->missing(lab);
        report_note(lab_report(lab), missing != NULL ? "%s is left out: %s" : "%s: %s",
                    peers[i]->name, missing != NULL ? missing : peers[i]->how);
    }
    return scene_runs(lab, LAB_LONG, measure);
}
