/* main.c - the demo: a real Redis Cluster, a real ZooKeeper if it is not left out, a fleet of
 * workers to which everything happens that happens to fleets, and a verdict at the end, computed
 * from what the handlers wrote down.
 *
 * Thread: main; feed.c has one of its own. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slotmq/ops.h>
#include <slotmq/slotmq.h>

#include "damage.h"
#include "feed.h"
#include "fleet.h"
#include "rules.h"
#include "screen.h"
#include "support/history.h"
#include "support/servers.h"
#include "support/wait.h"
#include "worker.h"

enum {
    WORKERS = 4,
    MESSAGES = 105000,
    PER_SECOND = 3600,
    STEP_MS = 25000, /* no step of the story may take longer */
    FENCED_MS = 8000,
    DRAIN_MS = 40000,
    PAUSE_MS = 2500,                     /* between the steps, to see the fleet at work */
    CLAIMED = 20,                        /* messages of each topic, most of which are not begun */
    BOUND_MS = WORKER_SESSION_MS * 2 / 3 /* a confirmation is good for this long */
};

/* Everything that the demo owns; every part may be missing while it starts and stops. */
struct demo {
    bool redis_alone; /* the fleet has no ZooKeeper */
    struct servers *servers;
    smq_client *client;
    struct feed *feed;
    struct history *changes;
    struct fleet fleet;
    struct screen screen;
    smq_stats stats[RULES_TOPICS];
    char changes_path[FLEET_PATH_MAX], feed_path[FLEET_PATH_MAX];
    const char *damage; /* what is awaited of the damaged slot */
    int32_t damaged;    /* the slot of the first topic that lost its keys */
    int subject;        /* the worker that the present step is about */
    long fenced_before;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void) number;
    interrupted = 1;
}

/* --- starting ------------------------------------------------------------------------------ */

static bool create_topics(smq_client *client)
{
    static const smq_topic_type types[RULES_TOPICS] = {SMQ_TYPE_RANGE_MERGE, SMQ_TYPE_PRIORITY,
                                                       SMQ_TYPE_FIXED_TIME};
    smq_error err;

    for (int i = 0; i < RULES_TOPICS; i++) {
        smq_topic_options options =
            SMQ_TOPIC_OPTIONS(.name = rules_topics[i], .type = types[i], .slots = FLEET_SLOTS,
                              .backoff = "fixed:200",
                              .delay_ms = types[i] == SMQ_TYPE_RANGE_MERGE ? 200 : 0);
        if (smq_topic_create(client, &options, NULL, &err) != SMQ_OK) {
            fprintf(stderr, "demo: %s\n", err.text);
            return false;
        }
    }
    return true;
}

static bool start_servers(struct demo *demo)
{
    struct servers_options options = {
        .redis = REDIS_CLUSTER, .masters = 3, .zookeeper = !demo->redis_alone};

    screen_say(&demo->screen, "starting a Redis Cluster of 3 masters%s",
               demo->redis_alone ? ", in which the fleet agrees" : " and a ZooKeeper");
    demo->servers = servers_start(&options);
    return demo->servers != NULL;
}

static bool start(struct demo *demo, const char *program)
{
    smq_error err;

    if (!start_servers(demo)) {
        return false;
    }
    const char *folder = servers_folder(demo->servers);
    snprintf(demo->changes_path, sizeof(demo->changes_path), "%s/changes.log", folder);
    snprintf(demo->feed_path, sizeof(demo->feed_path), "%s/feed.log", folder);
    demo->changes = history_open(demo->changes_path);
    demo->fleet = (struct fleet){.program = program,
                                 .redis = servers_redis(demo->servers),
                                 .zookeeper = servers_zookeeper(demo->servers),
                                 .folder = folder,
                                 .changes = demo->changes};
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = servers_redis(demo->servers));
    if (demo->changes == NULL || smq_client_new(&demo->client, &options, &err) != SMQ_OK) {
        fprintf(stderr, "demo: %s\n", demo->changes == NULL ? "no history" : err.text);
        return false;
    }
    if (!create_topics(demo->client)) {
        return false;
    }
    screen_say(&demo->screen, "three topics of %d slots; starting %d workers", FLEET_SLOTS,
               WORKERS);
    for (int i = 0; i < WORKERS; i++) {
        if (!fleet_start(&demo->fleet, false)) {
            return false;
        }
    }
    demo->feed = feed_start(demo->client, demo->feed_path, PER_SECOND);
    return demo->feed != NULL;
}

/* --- the story ----------------------------------------------------------------------------- */

static bool look(struct demo *demo)
{
    smq_error err;
    bool good = fleet_look(&demo->fleet, demo->client, &err);

    for (int i = 0; i < RULES_TOPICS && good; i++) {
        smq_stats stats = SMQ_STATS_INIT;
        good = smq_topic_stats(demo->client, rules_topics[i], &stats, &err) == SMQ_OK;
        demo->stats[i] = stats;
    }
    if (!good) {
        screen_say(&demo->screen, "cannot read the topics: %s", err.text);
        return false;
    }
    screen_draw(&demo->screen, &demo->fleet, demo->stats,
                demo->feed != NULL ? feed_sent(demo->feed) : 0);
    return true;
}

typedef bool step_condition(struct demo *demo);

struct step {
    struct demo *demo;
    step_condition *condition;
};

static bool step_over(void *arg)
{
    struct step *step = arg;

    return interrupted != 0 || (look(step->demo) && step->condition(step->demo));
}

/* Wait until the condition holds; false when it did not in time, or after an interrupt. */
static bool await(struct demo *demo, step_condition *condition, const char *what, int64_t ms)
{
    struct step step = {.demo = demo, .condition = condition};
    bool happened = wait_until(step_over, &step, ms);

    if (interrupted != 0) {
        return false;
    }
    if (!happened) {
        screen_say(&demo->screen, "it did not happen in time: %s", what);
    }
    return happened;
}

static bool all_owned(struct demo *demo)
{
    return fleet_slots(&demo->fleet, -1) == FLEET_SLOTS * RULES_TOPICS;
}

static bool never(struct demo *demo)
{
    (void) demo;
    return false;
}

static bool subject_has_share(struct demo *demo)
{
    return fleet_slots(&demo->fleet, demo->subject) >=
               FLEET_SLOTS * RULES_TOPICS / (WORKERS + 1) - RULES_TOPICS &&
           all_owned(demo);
}

static bool subject_has_none(struct demo *demo)
{
    return fleet_slots(&demo->fleet, demo->subject) == 0 && all_owned(demo);
}

static bool subject_has_claimed(struct demo *demo)
{
    const struct fleet_worker *worker = &demo->fleet.workers[demo->subject];
    bool claimed = true;

    for (int i = 0; i < RULES_TOPICS; i++) {
        claimed = claimed && worker->claimed[i] >= CLAIMED;
    }
    return claimed;
}

static long fenced_lines(const struct demo *demo)
{
    char line[2048];
    long count = 0;
    FILE *file = fopen(demo->fleet.workers[demo->subject].history, "re");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        count += line[0] == 'F' ? 1 : 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static bool subject_was_fenced(struct demo *demo)
{
    return fenced_lines(demo) > demo->fenced_before;
}

static bool subject_ended(struct demo *demo)
{
    return fleet_ended(&demo->fleet, demo->subject) && subject_has_none(demo);
}

static bool all_sent(struct demo *demo)
{
    return feed_sent(demo->feed) >= MESSAGES;
}

static bool all_empty(struct demo *demo)
{
    uint64_t left = 0;

    for (int i = 0; i < RULES_TOPICS; i++) {
        left += demo->stats[i].waiting + demo->stats[i].claimed + demo->stats[i].resting;
    }
    return left == 0;
}

/* Let the fleet work for a while. */
static bool work_for(struct demo *demo, int64_t ms)
{
    struct step step = {.demo = demo, .condition = never};

    (void) wait_until(step_over, &step, ms);
    return interrupted == 0;
}

static bool rest(struct demo *demo)
{
    return work_for(demo, PAUSE_MS);
}

static bool join(struct demo *demo)
{
    screen_say(&demo->screen, "a fifth worker joins");
    demo->subject = demo->fleet.count;
    return fleet_start(&demo->fleet, true) &&
           await(demo, subject_has_share, "the fifth worker has its share", STEP_MS);
}

static bool kill_one(struct demo *demo)
{
    demo->subject = 0;
    screen_say(&demo->screen, "SIGKILL to %s", demo->fleet.workers[0].name);
    fleet_kill(&demo->fleet, 0);
    return await(demo, subject_has_none, "the others take over", STEP_MS);
}

/* The worker is stopped with messages that it has claimed and not begun.  It is woken when all its
 * slots have had other owners for longer than it may begin these messages. */
static bool pause_one(struct demo *demo)
{
    demo->subject = 1;
    screen_say(&demo->screen, "SIGUSR1 to %s: its handlers become slow",
               demo->fleet.workers[1].name);
    fleet_slow_down(&demo->fleet, 1);
    if (!await(demo, subject_has_claimed, "messages are claimed and not begun", STEP_MS)) {
        return false;
    }
    screen_say(&demo->screen, "SIGSTOP to %s, past its session", demo->fleet.workers[1].name);
    demo->fenced_before = fenced_lines(demo);
    fleet_pause(&demo->fleet, 1);
    if (!await(demo, subject_has_none, "the others take over", STEP_MS) ||
        !work_for(demo, BOUND_MS + 2 * VERDICT_SLACK_MS)) {
        return false;
    }
    screen_say(&demo->screen, "SIGCONT: it wakes as a zombie");
    fleet_resume(&demo->fleet, 1);
    (void) await(demo, subject_was_fenced, "the zombie is fenced", FENCED_MS);
    return interrupted == 0; /* the verdict will see it */
}

static bool leave(struct demo *demo)
{
    demo->subject = 2;
    screen_say(&demo->screen, "SIGTERM to %s: a graceful leave", demo->fleet.workers[2].name);
    fleet_leave(&demo->fleet, 2);
    return await(demo, subject_ended, "its slots have other owners", STEP_MS) &&
           demo->fleet.workers[2].clean;
}

static bool story(struct demo *demo)
{
    return await(demo, all_owned, "every slot has an owner", STEP_MS) && rest(demo) && join(demo) &&
           rest(demo) && kill_one(demo) && rest(demo) && pause_one(demo) && rest(demo) &&
           leave(demo) && await(demo, all_sent, "everything is sent", STEP_MS);
}

/* Has a worker reported the damaged slot in its history? */
static bool damage_reported(struct demo *demo)
{
    bool reported = false;

    for (int i = 0; i < demo->fleet.count && !reported; i++) {
        reported = damage_is_reported(demo->fleet.workers[i].history, rules_topics[0],
                                      demo->damaged, demo->damage);
    }
    return reported;
}

/* Everything is handled: a slot that holds nothing loses its keys, and is repaired. */
static bool lose_a_slot(struct demo *demo)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    demo->damaged = damage_choose(demo->client, rules_topics[0]);
    if (demo->damaged < 0 || !damage_do(demo->servers, rules_topics[0], demo->damaged)) {
        return false;
    }
    screen_say(&demo->screen, "slot %" PRId32 " of %s has lost its keys", demo->damaged,
               rules_topics[0]);
    demo->damage = "damaged";
    if (!await(demo, damage_reported, "a worker names it", STEP_MS)) {
        return false;
    }
    if (smq_topic_repair(demo->client, rules_topics[0], &report, &err) != SMQ_OK) {
        screen_say(&demo->screen, "it cannot be repaired: %s", err.text);
        return false;
    }
    screen_say(&demo->screen, "repaired: %s", report.text);
    demo->damage = "repaired";
    return report.slots_reopened == 1 &&
           await(demo, damage_reported, "a worker consumes it again", STEP_MS);
}

/* --- the end ------------------------------------------------------------------------------- */

static bool note_dead(const smq_message_info *message, void *user)
{
    history_dead(user, message);
    return true;
}

/* Dead letters must be exactly the messages that always fail; write them into the history. */
static bool collect_dead(struct demo *demo)
{
    smq_error err;

    smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_DEAD);
    for (int i = 0; i < RULES_TOPICS; i++) {
        if (smq_message_each(demo->client, rules_topics[i], &filter, note_dead, demo->changes,
                             &err) != SMQ_OK) {
            fprintf(stderr, "demo: %s\n", err.text);
            return false;
        }
    }
    return true;
}

static bool check(bool good, const char *what)
{
    printf("  %s  %s\n", good ? "yes" : "NO ", what);
    return good;
}

static bool judge(struct demo *demo, uint64_t failing)
{
    struct verdict verdict;
    char *paths[FLEET_MAX + 2] = {demo->changes_path, demo->feed_path};
    char error[512];
    size_t count = 2;
    bool moved = true;
    int zombie_fenced = 0;

    for (int i = 0; i < demo->fleet.count; i++) {
        paths[count++] = demo->fleet.workers[i].history;
    }
    if (!verdict_read(&verdict, paths, count, BOUND_MS, error, sizeof(error))) {
        fprintf(stderr, "demo: %s\n", error);
        return false;
    }
    printf("\n");
    verdict_print(&verdict, stdout);
    for (int i = 0; i < verdict.change_count; i++) {
        moved = moved && verdict.changes[i].slots > 0;
        zombie_fenced +=
            strcmp(verdict.changes[i].kind, "pause") == 0 ? verdict.changes[i].fenced : 0;
    }
    printf("\nverdict\n");
    bool good = check(verdict.lost == 0, "no message was lost");
    good &= check(verdict.overlaps == 0, "no key was handled twice at the same time");
    good &= check(verdict.unfenced == 0, "no former owner changed anything");
    good &= check(verdict.late == 0, "no former owner began a handler when it could know");
    good &= check(verdict.dead == failing && verdict.wrong_dead == 0,
                  "the dead letters are exactly the messages that always fail");
    good &= check(verdict.handled >= 100000, "at least 100,000 messages were handled");
    good &= check(moved && verdict.change_count >= 4, "every change of the fleet moved slots");
    good &= check(zombie_fenced > 0, "the woken zombie was fenced");
    return good;
}

static bool run(struct demo *demo, const char *program)
{
    if (!start(demo, program)) {
        return false;
    }
    bool in_time = story(demo);
    bool sent = interrupted == 0 && feed_stop(demo->feed);
    uint64_t failing = feed_failing(demo->feed);
    if (!sent) {
        return false;
    }
    screen_say(&demo->screen, "%" PRIu64 " messages sent; draining", feed_sent(demo->feed));
    bool drained = await(demo, all_empty, "everything is handled", DRAIN_MS);
    if (interrupted != 0) {
        return false;
    }
    bool repaired = lose_a_slot(demo);
    screen_say(&demo->screen, "stopping the fleet");
    bool clean = fleet_stop(&demo->fleet, true);
    bool good = collect_dead(demo) && judge(demo, failing);
    good &= check(repaired, "a slot that lost its keys was named and repaired");
    good &= check(in_time && drained && clean,
                  "each step happened in time, and the fleet ended cleanly");
    return good;
}

static void end(struct demo *demo)
{
    (void) fleet_stop(&demo->fleet, false);
    feed_free(demo->feed);
    smq_client_free(demo->client);
    history_close(demo->changes);
    servers_free(demo->servers);
}

static int usage(FILE *out, int status)
{
    fprintf(out,
            "usage: slotmq-demo [--redis-alone]\n"
            "Shows a fleet of workers on a Redis Cluster and a ZooKeeper that it starts itself;\n"
            "with --redis-alone it starts no ZooKeeper, and the fleet agrees in Redis.\n");
    return status;
}

int main(int argc, char **argv)
{
    static struct demo demo;
    char program[FLEET_PATH_MAX];

    if (argc == 6 && strcmp(argv[1], "--worker") == 0) {
        return worker_main(argv[2], argv[3], argv[4], argv[5]);
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        return usage(stdout, 0);
    }
    demo.redis_alone = argc == 2 && strcmp(argv[1], "--redis-alone") == 0;
    if (argc != (demo.redis_alone ? 2 : 1)) {
        return usage(stderr, 64);
    }
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (len < 0) {
        perror("/proc/self/exe");
        return 70;
    }
    program[len] = '\0';
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    screen_init(&demo.screen);
    bool good = run(&demo, program);
    end(&demo);
    if (interrupted != 0) {
        fprintf(stderr, "demo: interrupted; everything was stopped\n");
        return 130;
    }
    printf("\n%s\n", good ? "slotmq kept its promises." : "slotmq did NOT keep its promises.");
    return good ? 0 : 1;
}
