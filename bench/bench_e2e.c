/* bench_e2e.c - sent and consumed at once, at rates near what goes through.
 *
 * Thread: main. */
#include "benches.h"
#include "load.h"
#include "scene.h"

static uint64_t in_seconds(struct lab *lab, double rate)
{
    return (uint64_t) (rate * (double) lab_count(lab, 5, 2));
}

/* At half of what goes through a queue should be calm; at four fifths it still must not fall
 * behind. */
static bool measure(struct lab *lab, smq_client *client)
{
    double most = lab_options(lab)->rate;

    if (most > 0) {
        return load_at(lab, client, most, in_seconds(lab, most), "e2e");
    }
    return load_most(lab, client, lab_count(lab, 1000000, 200000), "e2e-most", &most) &&
           load_at(lab, client, 0.5 * most, in_seconds(lab, 0.5 * most), "e2e-50%") &&
           load_at(lab, client, 0.8 * most, in_seconds(lab, 0.8 * most), "e2e-80%");
}

bool bench_e2e(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure);
}
