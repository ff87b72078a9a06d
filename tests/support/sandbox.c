/* sandbox.c - slotmq-sandbox: a throw-away Redis Cluster that stays until taken down, and ZooKeeper
 * if it is asked for.
 * `./dev sandbox` is its usual caller.
 *
 * All that is known of a sandbox is in the file FOLDER/sandbox: how it was asked for, its
 * addresses, and its processes, each with its start time.  The folder is usually below /tmp, where
 * every user can make one of that name first.  So it is trusted only if it is a folder of the
 * user's own that nobody else can write; addresses are printed only if they are nothing but
 * addresses, and a process is ended only if it started at the noted time and works in the folder.
 */
#include "support/server.h"
#include "support/servers.h"
#include "support/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    EXIT_NONE = 1,
    EXIT_USAGE = 64,
    MOST_PROCESSES = 64,
    ADDRESSES = 4096,
    KILL_TIMEOUT_MS = 60000
};

static const char USAGE[] =
    "usage: slotmq-sandbox up FOLDER [--masters N] [--replicas N] [--zookeeper]\n"
    "       slotmq-sandbox env|down FOLDER\n";

struct resident {
    int pid;
    unsigned long long started; /* clock ticks after the start of the machine */
};

/* Invariant: what FOLDER/sandbox says. */
struct sandbox {
    char folder[PATH_MAX]; /* as the kernel names it; "": there is none */
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

/* Does the process work in the sandbox's folder?  All servers do. */
static bool works_in(int pid, const char *folder)
{
    size_t len = strlen(folder);
    char path[64];
    char where[PATH_MAX + 16];

    snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
    ssize_t got = readlink(path, where, sizeof(where) - 1);
    if (got <= 0) {
        return false;
    }
    where[got] = '\0';
    return strncmp(where, folder, len) == 0 && where[len] == '/';
}

/* One of the sandbox's processes that is waited for. */
struct residence {
    const struct resident *resident;
    const char *folder;
};

static bool resident_gone(void *arg)
{
    const struct residence *residence = arg;
    const struct resident *resident = residence->resident;

    return resident->started == 0 || start_of(resident->pid) != resident->started ||
           !works_in(resident->pid, residence->folder);
}

/* What is looked at and what is signalled is the same process: a pidfd is never reused. */
static void resident_signal(struct residence *residence, int number)
{
    int fd = pidfd_open(residence->resident->pid, 0);

    if (fd < 0) {
        return;
    }
    if (!resident_gone(residence)) {
        (void) pidfd_send_signal(fd, number, NULL, 0);
    }
    close(fd);
}

static bool resident_end(struct residence *residence)
{
    if (wait_until(resident_gone, residence, SERVER_STOP_TIMEOUT_MS)) {
        return true;
    }
    resident_signal(residence, SIGKILL);
    return wait_until(resident_gone, residence, KILL_TIMEOUT_MS);
}

/* === The file =========================================================== */

enum found { FOUND_NONE, FOUND_OURS, FOUND_UNTRUSTED };

/* The folder, opened, if nobody but this user can have filled it.  What is wrong has been said. */
static enum found open_folder(int *fd, const char *folder)
{
    struct stat status;

    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0 && errno == ENOENT) {
        return FOUND_NONE;
    }
    if (*fd >= 0 && fstat(*fd, &status) == 0 && status.st_uid == geteuid() &&
        (status.st_mode & (S_IRWXG | S_IRWXO)) == 0) {
        return FOUND_OURS;
    }
    fprintf(stderr,
            "sandbox: %s is not a folder that only you can use; remove it, or set "
            "XDG_RUNTIME_DIR to a folder of your own\n",
            folder);
    if (*fd >= 0) {
        close(*fd);
    }
    return FOUND_UNTRUSTED;
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
    char path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof(path), "%s/sandbox", folder);
    file = fopen(path, "wex"); /* servers_start() has just made the folder */
    if (file == NULL) {
        perror(path);
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

/* "127.0.0.1:7000,127.0.0.1:7001": nothing that means more to a shell. */
static bool is_addresses(const char *text)
{
    return strspn(text, "0123456789.:,") == strlen(text);
}

static bool read_file(struct sandbox *sandbox, FILE *file)
{
    struct resident *next = sandbox->residents;

    if (fscanf(file, "%d %d %d %4095s %4095s", &sandbox->masters, &sandbox->replicas,
               &sandbox->with_zookeeper, sandbox->redis, sandbox->zookeeper) != 5 ||
        !is_addresses(sandbox->redis) ||
        (sandbox->with_zookeeper && !is_addresses(sandbox->zookeeper))) {
        return false;
    }
    while (sandbox->count < MOST_PROCESSES &&
           fscanf(file, "%d %llu", &next->pid, &next->started) == 2) {
        next++;
        sandbox->count++;
    }
    return true;
}

/* What FOLDER/sandbox says; UNTRUSTED has been said. */
static enum found load(struct sandbox *sandbox, const char *folder)
{
    int fd = -1;
    enum found found = open_folder(&fd, folder);

    memset(sandbox, 0, sizeof(*sandbox));
    if (found != FOUND_OURS) {
        return found;
    }
    int file_fd = openat(fd, "sandbox", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    FILE *file = file_fd >= 0 ? fdopen(file_fd, "r") : NULL;
    close(fd);
    if (file == NULL) {
        return FOUND_NONE;
    }
    if (!read_file(sandbox, file) || realpath(folder, sandbox->folder) == NULL) {
        fprintf(stderr, "sandbox: %s/sandbox cannot be read; end its servers, and remove %s\n",
                folder, folder);
        found = FOUND_UNTRUSTED;
    }
    fclose(file);
    return found;
}

static struct residence residence_of(const struct sandbox *sandbox, size_t number)
{
    return (struct residence){.resident = &sandbox->residents[number], .folder = sandbox->folder};
}

static bool is_alive(const struct sandbox *sandbox)
{
    for (size_t i = 0; i < sandbox->count; i++) {
        struct residence residence = residence_of(sandbox, i);

        if (resident_gone(&residence)) {
            return false;
        }
    }
    return sandbox->count > 0;
}

/* === Verbs ============================================================== */

static int take_down(const struct sandbox *sandbox)
{
    int failed = 0;

    for (size_t i = 0; i < sandbox->count; i++) {
        struct residence residence = residence_of(sandbox, i);

        resident_signal(&residence, SIGTERM);
    }
    for (size_t i = 0; i < sandbox->count; i++) {
        struct residence residence = residence_of(sandbox, i);

        if (!resident_end(&residence)) {
            fprintf(stderr, "sandbox: process %d does not end\n", sandbox->residents[i].pid);
            failed++;
        }
    }
    folder_remove(sandbox->folder);
    return failed > 0 ? EXIT_NONE : 0;
}

static int down(const char *folder)
{
    struct sandbox sandbox;

    switch (load(&sandbox, folder)) {
    case FOUND_OURS:
        return take_down(&sandbox);
    case FOUND_NONE:
        fprintf(stderr, "sandbox: nothing is up\n");
        return 0;
    case FOUND_UNTRUSTED:
        break;
    }
    return EXIT_NONE;
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
    enum found found = load(&present, folder);

    if (found == FOUND_UNTRUSTED) {
        return EXIT_NONE;
    }
    if (found == FOUND_OURS && is_alive(&present)) {
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
    if (found == FOUND_OURS) { /* some of it died: nothing to keep */
        (void) take_down(&present);
    }
    return start(wanted, folder) ? 0 : EXIT_NONE;
}

static int env(const char *folder)
{
    struct sandbox sandbox;

    enum found found = load(&sandbox, folder);

    if (found == FOUND_UNTRUSTED) {
        return EXIT_NONE;
    }
    if (found == FOUND_NONE || !is_alive(&sandbox)) {
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
        {"zookeeper", no_argument, NULL, 'z'},
        {NULL, 0, NULL, 0},
    };
    int letter = 0;

    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (letter == 'm') {
            wanted->masters = parse_count(optarg, 1, 16);
        } else if (letter == 'r') {
            wanted->replicas = parse_count(optarg, 0, 2);
        } else if (letter == 'z') {
            wanted->with_zookeeper = 1;
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
    struct sandbox wanted = {.masters = 3};

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
