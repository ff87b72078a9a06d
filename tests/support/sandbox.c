/* sandbox.c - slotmq-sandbox: a throw-away Redis Cluster and ZooKeeper that stay until taken down.
 * `./dev sandbox` is its usual caller.
 *
 * All that is known of a sandbox stands in the file FOLDER/sandbox: how it was asked for, its
 * addresses, and its processes, each with its start time, so that a pid which now belongs to
 * another process is left alone. */
#include "support/server.h"
#include "support/servers.h"
#include "support/wait.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_NONE = 1,
    EXIT_USAGE = 64,
    MOST_PROCESSES = 64,
    ADDRESSES = 4096,
    KILL_TIMEOUT_MS = 60000
};

static const char USAGE[] =
    "usage: slotmq-sandbox up FOLDER [--masters N] [--replicas N] [--no-zookeeper]\n"
    "       slotmq-sandbox env|down FOLDER\n";

struct resident {
    int pid;
    unsigned long long started; /* clock ticks after the start of the machine */
};

/* Invariant: what FOLDER/sandbox says. */
struct sandbox {
    int masters, replicas, with_zookeeper;
    char redis[ADDRESSES], zookeeper[ADDRESSES];
    struct resident residents[MOST_PROCESSES];
    size_t count;
};

/* === Processes that are not our children ================================ */

/* When the process started; 0 when it does not run (any more, but as a zombie). */
static unsigned long long start_of(int pid)
{
    char path[64];
    char line[1024] = "";
    char run_state = 'Z';
    unsigned long long started = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    const char *name_end = fgets(line, sizeof(line), file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    if (name_end == NULL || /* fields 3 and 22 of proc(5) */
        sscanf(name_end,
               ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &run_state, &started) != 2) {
        return 0;
    }
    return run_state == 'Z' || run_state == 'X' ? 0 : started;
}

static bool resident_gone(void *arg)
{
    const struct resident *resident = arg;

    return start_of(resident->pid) != resident->started;
}

static void resident_signal(struct resident *resident, int number)
{
    if (!resident_gone(resident)) {
        kill(resident->pid, number);
    }
}

static bool resident_end(struct resident *resident)
{
    if (wait_until(resident_gone, resident, SERVER_STOP_TIMEOUT_MS)) {
        return true;
    }
    resident_signal(resident, SIGKILL);
    return wait_until(resident_gone, resident, KILL_TIMEOUT_MS);
}

/* === The file =========================================================== */

static FILE *open_file(const char *folder, const char *mode)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/sandbox", folder);
    return fopen(path, mode);
}

static void add_resident(struct sandbox *sandbox, pid_t pid)
{
    if (pid > 0 && sandbox->count < MOST_PROCESSES) {
        sandbox->residents[sandbox->count++] =
            (struct resident){.pid = (int) pid, .started = start_of((int) pid)};
    }
}

static bool save(const struct sandbox *sandbox, const char *folder)
{
    FILE *file = open_file(folder, "we");

    if (file == NULL) {
        perror(folder);
        return false;
    }
    fprintf(file, "%d %d %d\n%s\n%s\n", sandbox->masters, sandbox->replicas,
            sandbox->with_zookeeper, sandbox->redis,
            sandbox->with_zookeeper ? sandbox->zookeeper : "-");
    for (size_t i = 0; i < sandbox->count; i++) {
        fprintf(file, "%d %llu\n", sandbox->residents[i].pid, sandbox->residents[i].started);
    }
    return fclose(file) == 0;
}

static bool load(struct sandbox *sandbox, const char *folder)
{
    FILE *file = open_file(folder, "re");

    memset(sandbox, 0, sizeof(*sandbox));
    if (file == NULL) {
        return false;
    }
    bool good = fscanf(file, "%d %d %d %4095s %4095s", &sandbox->masters, &sandbox->replicas,
                       &sandbox->with_zookeeper, sandbox->redis, sandbox->zookeeper) == 5;
    struct resident *next = sandbox->residents;
    while (good && sandbox->count < MOST_PROCESSES &&
           fscanf(file, "%d %llu", &next->pid, &next->started) == 2) {
        next++;
        sandbox->count++;
    }
    fclose(file);
    return good;
}

static bool is_alive(struct sandbox *sandbox)
{
    for (size_t i = 0; i < sandbox->count; i++) {
        if (resident_gone(&sandbox->residents[i])) {
            return false;
        }
    }
    return sandbox->count > 0;
}

/* === Verbs ============================================================== */

static int down(const char *folder)
{
    struct sandbox sandbox;
    int failed = 0;

    if (!load(&sandbox, folder)) {
        fprintf(stderr, "sandbox: nothing is up\n");
        return 0;
    }
    for (size_t i = 0; i < sandbox.count; i++) {
        resident_signal(&sandbox.residents[i], SIGTERM);
    }
    for (size_t i = 0; i < sandbox.count; i++) {
        if (!resident_end(&sandbox.residents[i])) {
            fprintf(stderr, "sandbox: process %d does not die\n", sandbox.residents[i].pid);
            failed++;
        }
    }
    folder_remove(folder);
    return failed > 0;
}

/* Not interrupted: what is not yet in the file could not be taken down. */
static bool start(struct sandbox *sandbox, const char *folder)
{
    sigset_t interrupts;

    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigaddset(&interrupts, SIGTERM);
    sigaddset(&interrupts, SIGHUP);
    sigprocmask(SIG_BLOCK, &interrupts, NULL);
    struct servers *servers = servers_start(&(struct servers_options){
        .redis = REDIS_CLUSTER,
        .masters = sandbox->masters,
        .replicas = sandbox->replicas,
        .zookeeper = sandbox->with_zookeeper != 0,
        .folder = folder,
        .detached = true,
    });

    if (servers == NULL) {
        return false;
    }
    snprintf(sandbox->redis, sizeof(sandbox->redis), "%s", servers_redis(servers));
    for (size_t i = 0; i < servers_count(servers); i++) {
        add_resident(sandbox, server_pid(servers_node(servers, i)));
    }
    if (sandbox->with_zookeeper) {
        snprintf(sandbox->zookeeper, sizeof(sandbox->zookeeper), "%s", servers_zookeeper(servers));
        add_resident(sandbox, server_pid(servers_zookeeper_server(servers)));
    }
    bool saved = save(sandbox, folder);
    servers_free(servers);
    return saved;
}

static int up(struct sandbox *wanted, const char *folder)
{
    struct sandbox present;

    if (load(&present, folder) && is_alive(&present)) {
        if (present.masters == wanted->masters && present.replicas == wanted->replicas &&
            present.with_zookeeper == wanted->with_zookeeper) {
            fprintf(stderr, "sandbox: is up already\n");
            return 0;
        }
        fprintf(stderr,
                "sandbox: another one is up: %d masters, %d replicas each, %s ZooKeeper; "
                "take it down first\n",
                present.masters, present.replicas, present.with_zookeeper ? "with" : "without");
        return EXIT_NONE;
    }
    if (present.count > 0) { /* some of it died: nothing to keep */
        down(folder);
    }
    return start(wanted, folder) ? 0 : EXIT_NONE;
}

static int env(const char *folder)
{
    struct sandbox sandbox;

    if (!load(&sandbox, folder) || !is_alive(&sandbox)) {
        fprintf(stderr, "sandbox: not up\n");
        return EXIT_NONE;
    }
    printf("export SLOTMQ_REDIS=%s\n", sandbox.redis);
    if (sandbox.with_zookeeper) {
        printf("export SLOTMQ_ZOOKEEPER=%s\n", sandbox.zookeeper);
    } else {
        printf("unset SLOTMQ_ZOOKEEPER\n");
    }
    return 0;
}

/* A whole number from `low` to `high`, or -1. */
static int parse_count(const char *text, int low, int high)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);

    return end != text && *end == '\0' && low <= value && value <= high ? (int) value : -1;
}

static bool parse(struct sandbox *wanted, int argc, char **argv)
{
    static const struct option options[] = {
        {"masters", required_argument, NULL, 'm'},
        {"replicas", required_argument, NULL, 'r'},
        {"no-zookeeper", no_argument, NULL, 'z'},
        {NULL, 0, NULL, 0},
    };
    int letter = 0;

    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (letter == 'm') {
            wanted->masters = parse_count(optarg, 1, 16);
        } else if (letter == 'r') {
            wanted->replicas = parse_count(optarg, 0, 2);
        } else if (letter == 'z') {
            wanted->with_zookeeper = 0;
        } else {
            return false;
        }
    }
    if (wanted->masters < 0 || wanted->replicas < 0) {
        fprintf(stderr, "sandbox: --masters is 1 to 16, --replicas 0 to 2\n");
        return false;
    }
    return optind == argc - 2;
}

int main(int argc, char **argv)
{
    struct sandbox wanted = {.masters = 3, .with_zookeeper = 1};

    if (!parse(&wanted, argc, argv)) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }
    const char *verb = argv[optind];
    const char *folder = argv[optind + 1];
    if (strcmp(verb, "up") == 0) {
        return up(&wanted, folder);
    }
    if (strcmp(verb, "down") == 0) {
        return down(folder);
    }
    if (strcmp(verb, "env") == 0) {
        return env(folder);
    }
    fputs(USAGE, stderr);
    return EXIT_USAGE;
}
