/* bench_lanes.c - handlers that take 1 ms, on 8 threads: how fast is one slot with 1,000 keys, and
 * how fast are 64 slots with the same keys?
 *
 * Thread: main; handlers run on the threads of the consumer. */
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

enum { THREADS = 8, KEYS = 1000, KEY_SIZE = 16, HANDLER_NS = 1000000 };

/* Invariant: `key` is that of the message that is made now. */
struct lanes {
    char key[KEY_SIZE];
    atomic_int_fast64_t first_ns, last_ns; /* begins of handlers */
};

static void give_key(smq_message *message, uint64_t number, void *user)
{
    struct lanes *lanes = user;

    snprintf(lanes->key, KEY_SIZE, "key%d", (int) (number % KEYS));
    message->key = smq_text(lanes->key);
}

static void handle(const smq_message_info *info, void *user)
{
    const struct timespec time = {.tv_nsec = HANDLER_NS};
    struct lanes *lanes = user;
    int_fast64_t now_ns = meter_now_ns(), none = 0;

    (void) info;
    atomic_compare_exchange_strong(&lanes->first_ns, &none, now_ns);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    lanes->last_ns = meter_now_ns();
}

static bool drain(smq_client *client, const char *topic, struct lanes *lanes, struct tally *tally)
{
    struct library_consumer consumer = {.threads = THREADS,
                                        .tally = tally,
                                        .messages = tally_counts(tally).sent,
                                        .seen = handle,
                                        .user = lanes};

    bool good = library_consumer_start(&consumer, client, topic, 0);
    if (good) {
        library_consumer_await(&consumer);
    }
    library_consumer_stop(&consumer);
    return good;
}

/* From the begin of the first handler to the end of the last. */
static bool with_slots(struct lab *lab, smq_client *client, int slots, double *rate)
{
    uint64_t count = lab_count(lab, 10000, 2000);
    struct tally *tally = tally_new(count, slots);
    struct lanes lanes = {.key = ""};
    char topic[LAB_NAME_SIZE], figure[32];
    struct meter sent;
    bool good = lab_empty(lab) && lab_topic(lab, client, topic, slots) &&
                library_store_shaped(lab, client, topic, count, give_key, &lanes, &sent) &&
                drain(client, topic, &lanes, tally);

    if (good) {
        struct tally_counts counts = tally_counts(tally);
        double seconds = (double) (lanes.last_ns - lanes.first_ns) / 1e9;
        snprintf(figure, sizeof(figure), "lanes-%d-slot%s", slots, slots > 1 ? "s" : "");
        report_tally(lab_report(lab), figure, counts, seconds);
        *rate = (double) counts.handled / seconds;
        report_value(lab_report(lab), figure, "messages/s", *rate);
    }
    tally_free(tally);
    return good;
}

static bool measure(struct lab *lab, smq_client *client)
{
    double one, many;

    if (!with_slots(lab, client, 1, &one) || !with_slots(lab, client, SCENE_SLOTS, &many)) {
        return false;
    }
    report_ratio(lab_report(lab), "lanes-1/64", one, many);
    return true;
}

bool bench_lanes(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure);
}
