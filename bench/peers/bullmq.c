/* bullmq.c - BullMQ on the same Redis, and the package for Node.js; their parts in JavaScript are
 * bullmq/drain.js and node.js.
 *
 * Thread: main. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peers/peer.h"
#include "support/run.h"

enum { TIMEOUT_MS = 600000 };

/* Where `./dev bench` has put it: beside this program. */
static void script_path(char out[PATH_MAX], const struct lab *lab, const char *name)
{
    const char *program = lab_options(lab)->program;
    const char *slash = strrchr(program, '/');
    int len = slash != NULL ? (int) (slash - program) : 1;

    snprintf(out, PATH_MAX, "%.*s/bullmq/%s", len, slash != NULL ? program : ".", name);
}

static const char *missing(const struct lab *lab)
{
    char path[PATH_MAX];

    script_path(path, lab, "node_modules/bullmq/package.json");
    if (!peer_has_program("node")) {
        return "there is no program node";
    }
    return access(path, R_OK) == 0 ? NULL : "npm has not fetched it, which ./dev bench lets it do";
}

static bool run_script(const char *path, struct lab *lab, uint64_t count, struct peer_result *out)
{
    char port[12], messages[24];
    const char *const argv[] = {"node", path, port, messages, NULL};
    const char *colon = strchr(lab_redis(lab), ':');
    unsigned long long handled = 0, duplicated = 0, out_of_order = 0;
    struct run run;

    snprintf(port, sizeof(port), "%ld", colon != NULL ? strtol(colon + 1, NULL, 10) : 0);
    snprintf(messages, sizeof(messages), "%llu", (unsigned long long) count);
    bool good = run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS) &&
                run.exit_code == 0 &&
                sscanf(run.out, "%lf %lf %llu %llu %llu", &out->sent_s, &out->drained_s, &handled,
                       &duplicated, &out_of_order) == 5;
    if (!good) {
        fprintf(stderr, "bench: %s: %s%s\n", path, run.err != NULL ? run.err : "",
                run.out != NULL ? run.out : "");
    }
    out->counts = (struct tally_counts){count, handled, count - handled, duplicated, out_of_order};
    run_fini(&run);
    return good;
}

static bool measure(struct lab *lab, uint64_t count, struct peer_result *out)
{
    char path[PATH_MAX];

    script_path(path, lab, "drain.js");
    return run_script(path, lab, count, out);
}

static const char *missing_node(const struct lab *lab)
{
    (void) lab;
    if (!peer_has_program("node")) {
        return "there is no program node";
    }
    return access(NODE_ADDON, R_OK) == 0 ? NULL : "its addon is not built: ninja node-addon";
}

static bool measure_node(struct lab *lab, uint64_t count, struct peer_result *out)
{
    (void) setenv("SLOTMQ_ADDON", NODE_ADDON, 1);
    return run_script(NODE_SCRIPT, lab, count, out);
}

const struct peer peer_node = {.name = "node",
                               .how = "the package for Node.js, as bullmq",
                               .missing = missing_node,
                               .measure = measure_node};

const struct peer peer_bullmq = {.name = "bullmq",
                                 .how = "addBulk of 1,000; one worker, concurrency 100",
                                 .missing = missing,
                                 .measure = measure};
