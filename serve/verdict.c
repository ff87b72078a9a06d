/* verdict.c - see verdict.h.
 *
 * Thread: verdict_run() and what it calls run on serve:check; the rest as verdict.h says. */
#include "serve/verdict.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_checks.h"
#include "cli/http/thread.h"
#include "cli/text/moment.h"
#include "cli/text/say.h"
#include "cli/verb/look_flags.h"

enum {
    VERDICT_WITHIN_MS = 7000,
    VERDICT_PAUSE_MS = 30000,
    VERDICT_REFUSED_PAUSE_MS = 2000,
    VERDICT_SHARE = 200,
    VERDICT_REFUSED_SHARE = 4, /* most of the time was spent on a server that does not answer */
    VERDICT_NONE = -1,
    VERDICT_WHY_MAX = 904, /* those of a finding (cli/doctor/doctor_report.h) */
    VERDICT_ROOT_MAX = 300,
    VERDICT_TEXT_MAX = 2048 + 3 * 2 * VERDICT_ROOT_MAX
};

#define VERDICT_TEXT                                                                               \
    "# HELP slotmq_serve_check_status Exit code of slotmq check: 0 ok, 1 warning, 2 critical, 3 "  \
    "unknown.\n"                                                                                   \
    "# TYPE slotmq_serve_check_status gauge\n"                                                     \
    "slotmq_serve_check_status %d\n"

/* The numbers of a fleet, each with its help. */
static const struct {
    const char *name, *help;
} verdict_numbers[] = {
    {"slotmq_serve_fleet_members", "Members of the fleet that the check has found."},
    {"slotmq_serve_fleet_reign",
     "Which life of its master the tree of a fleet in Redis has; 0 in ZooKeeper."},
    {"slotmq_serve_fleet_grace_seconds",
     "How long a fleet in Redis still waits for members that Redis may have forgotten."},
};
enum { VERDICT_NUMBERS = sizeof(verdict_numbers) / sizeof(verdict_numbers[0]) };

/* What the last check found of the fleet. */
struct verdict_fleet {
    bool known;
    bool in_redis;
    char root[VERDICT_ROOT_MAX];
    int64_t number[VERDICT_NUMBERS]; /* in the order of verdict_numbers, without parts of seconds */
};

struct verdict {
    /* immutable after verdict_begin() */
    const struct command *command;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t ends;
    /* guarded by lock */
    bool ending;
    int code;                  /* VERDICT_NONE: no check has ended */
    char why[VERDICT_WHY_MAX]; /* a server that refuses writes, and its words; "": none does */
    struct verdict_fleet fleet;
};

static bool verdict_is_refusing(const struct doctor_facts *facts, const char *address)
{
    for (size_t i = 0; i < facts->server_count; i++) {
        if (strcmp(facts->server[i].address, address) == 0) {
            return doctor_refuses_writes(&facts->server[i]);
        }
    }
    return false;
}

/* The first of its findings about a server that refuses writes is the reason. */
static void verdict_find_refusal(char why[VERDICT_WHY_MAX], const struct doctor_report *report,
                                 const struct doctor_facts *facts)
{
    why[0] = '\0';
    for (size_t i = 0; i < report->count && why[0] == '\0'; i++) {
        const struct doctor_finding *finding = &report->finding[i];
        if (finding->severity == DOCTOR_ERROR && verdict_is_refusing(facts, finding->subject)) {
            snprintf(why, VERDICT_WHY_MAX, "%s: %s", finding->subject, finding->text);
        }
    }
}

/* The part of a reign that grows, which a metric can hold. */
static int64_t verdict_reign(const smq_fleet_info *fleet)
{
    return (int64_t) ((uint64_t) fleet->reign >> 32);
}

static void verdict_take_fleet(struct verdict_fleet *out, const struct doctor_facts *facts)
{
    *out = (struct verdict_fleet){.known = facts->described.tried &&
                                           facts->described.status == SMQ_OK &&
                                           facts->fleet.root != NULL,
                                  .in_redis = facts->in_redis};
    if (out->known) {
        const int64_t numbers[VERDICT_NUMBERS] = {(int64_t) facts->fleet.members,
                                                  verdict_reign(&facts->fleet),
                                                  (facts->fleet.grace_ms + 999) / 1000};

        memcpy(out->number, numbers, sizeof(numbers));
        snprintf(out->root, sizeof(out->root), "%s", facts->fleet.root);
    }
}

static int verdict_check(char why[VERDICT_WHY_MAX], struct verdict_fleet *fleet,
                         const struct verdict *verdict)
{
    const struct look look = {.timeout = {.given = true, .value = VERDICT_WITHIN_MS}};
    struct command command = *verdict->command;
    struct doctor_facts facts = {.probe = true};
    struct doctor_report report = {.count = 0};
    int code = EXIT_UNKNOWN;

    command.verb = &check_verb;
    command.options = &look;
    if (doctor_examine(&report, &facts, &command) == EXIT_DONE) {
        code = doctor_probe_code(report.worst);
    }
    verdict_find_refusal(why, &report, &facts);
    verdict_take_fleet(fleet, &facts);
    doctor_report_fini(&report);
    doctor_facts_fini(&facts);
    return code;
}

/* Waits until the next check is due; false: it ends.  Call it with the lock. */
static bool verdict_pause(struct verdict *verdict, int64_t took_ms)
{
    const bool refused = verdict->why[0] != '\0';
    const int64_t share_ms = took_ms * (refused ? VERDICT_REFUSED_SHARE : VERDICT_SHARE);
    const int64_t least_ms = refused ? VERDICT_REFUSED_PAUSE_MS : VERDICT_PAUSE_MS;
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (share_ms > least_ms ? share_ms : least_ms) / 1000;
    while (!verdict->ending &&
           pthread_cond_timedwait(&verdict->ends, &verdict->lock, &until) == 0) {
    }
    return !verdict->ending;
}

static void *verdict_run(void *arg)
{
    struct verdict *verdict = arg;
    bool goes_on = true;

    while (goes_on) {
        const int64_t began_ms = moment_ms();
        char why[VERDICT_WHY_MAX];
        struct verdict_fleet fleet;
        const int code = verdict_check(why, &fleet, verdict);
        pthread_mutex_lock(&verdict->lock);
        verdict->code = code;
        memcpy(verdict->why, why, sizeof(why));
        verdict->fleet = fleet;
        goes_on = verdict_pause(verdict, moment_ms() - began_ms);
        pthread_mutex_unlock(&verdict->lock);
    }
    return NULL;
}

struct verdict *verdict_begin(const struct command *command)
{
    struct verdict *verdict = say_alloc(1, sizeof(*verdict));

    verdict->command = command;
    verdict->code = VERDICT_NONE;
    pthread_mutex_init(&verdict->lock, NULL);
    thread_condition(&verdict->ends);
    verdict->started = thread_begin(&verdict->thread, "serve:check", verdict_run, verdict);
    if (!verdict->started) {
        say("slotmq: no thread can be started for slotmq check, so /metrics lacks what it says");
    }
    return verdict;
}

void verdict_end(struct verdict *verdict)
{
    pthread_mutex_lock(&verdict->lock);
    verdict->ending = true;
    pthread_cond_signal(&verdict->ends);
    pthread_mutex_unlock(&verdict->lock);
    if (verdict->started) {
        (void) pthread_join(verdict->thread, NULL);
    }
}

void verdict_free(struct verdict *verdict)
{
    pthread_mutex_destroy(&verdict->lock);
    pthread_cond_destroy(&verdict->ends);
    free(verdict);
}

/* As the value of a label. */
static void verdict_quote(char out[2 * VERDICT_ROOT_MAX], const char *text)
{
    size_t used = 0;

    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            out[used++] = '\\';
        }
        out[used++] = (char) (*text == '\n' ? ' ' : *text);
    }
    out[used] = '\0';
}

/* Their types also while no number is known. */
static size_t verdict_print(char out[VERDICT_TEXT_MAX], int code, const struct verdict_fleet *fleet)
{
    char root[2 * VERDICT_ROOT_MAX];
    size_t used = (size_t) snprintf(out, VERDICT_TEXT_MAX, VERDICT_TEXT, code);

    verdict_quote(root, fleet->root);
    for (size_t i = 0; i < VERDICT_NUMBERS; i++) {
        const char *name = verdict_numbers[i].name;

        used += (size_t) snprintf(out + used, VERDICT_TEXT_MAX - used,
                                  "# HELP %s %s\n# TYPE %s gauge\n", name, verdict_numbers[i].help,
                                  name);
        if (fleet->known) {
            used += (size_t) snprintf(
                out + used, VERDICT_TEXT_MAX - used, "%s{kind=\"%s\",root=\"%s\"} %" PRId64 "\n",
                name, fleet->in_redis ? "redis" : "zookeeper", root, fleet->number[i]);
        }
    }
    return used;
}

void verdict_append(struct verdict *verdict, char **text, size_t *size)
{
    char own[VERDICT_TEXT_MAX];

    pthread_mutex_lock(&verdict->lock);
    const int code = verdict->code;
    const struct verdict_fleet fleet = verdict->fleet;
    pthread_mutex_unlock(&verdict->lock);
    if (code == VERDICT_NONE) {
        return;
    }
    const size_t added = verdict_print(own, code, &fleet);
    char *grown = realloc(*text, *size + added);
    if (!grown) {
        say_no_memory();
    }
    memcpy(grown + *size, own, added);
    *text = grown;
    *size += added;
}

bool verdict_refuses(struct verdict *verdict, char *why, size_t size)
{
    pthread_mutex_lock(&verdict->lock);
    snprintf(why, size, "%s", verdict->why);
    pthread_mutex_unlock(&verdict->lock);
    return why[0] != '\0';
}
