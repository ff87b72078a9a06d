#include "others.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LINE_SIZE = 1024, LOAD_LOOKS = 40, LOAD_APART_NS = 50 * 1000 * 1000 };

static double seconds_of(const struct timeval *time)
{
    return (double) time->tv_sec + (double) time->tv_usec / 1e6;
}

static double used_by(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

static bool read_line(char line[LINE_SIZE], const char *path)
{
    FILE *file = fopen(path, "re");
    bool good = file != NULL && fgets(line, LINE_SIZE, file) != NULL;

    if (file != NULL) {
        fclose(file);
    }
    return good;
}

/* Ticks of the whole machine: user, nice, system, (idle, iowait,) irq, softirq, steal. */
static double machine_ticks(void)
{
    char line[LINE_SIZE], *at = line;
    double ticks = 0;

    if (!read_line(line, "/proc/stat") || strncmp(line, "cpu ", 4) != 0) {
        return 0;
    }
    at += 4;
    for (int i = 0; i < 8; i++) {
        double value = strtod(at, &at);
        ticks += i != 3 && i != 4 ? value : 0;
    }
    return ticks;
}

/* Ticks of a process if it is a child of ours: behind its name in parentheses stand state, parent
 * (4th field of the file), and much later utime and stime (14th and 15th). */
static double child_ticks(const char *pid)
{
    char path[300], line[LINE_SIZE];
    double ticks = 0;

    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    char *at = read_line(line, path) ? strrchr(line, ')') : NULL;
    if (at == NULL) {
        return 0;
    }
    for (int field = 3; (at = strchr(at, ' ')) != NULL && field <= 15; field++) {
        at++;
        if (field == 4 && strtol(at, NULL, 10) != (long) getpid()) {
            return 0;
        }
        ticks += field >= 14 ? strtod(at, NULL) : 0;
    }
    return ticks;
}

static double children_ticks(void)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    double ticks = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        ticks += isdigit((unsigned char) entry->d_name[0]) ? child_ticks(entry->d_name) : 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return ticks;
}

void others_start(struct others *others)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    others->seconds = (double) now.tv_sec + (double) now.tv_nsec / 1e9;
    others->cpu_s = (machine_ticks() - children_ticks()) / (double) sysconf(_SC_CLK_TCK) -
                    used_by(RUSAGE_SELF) - used_by(RUSAGE_CHILDREN);
}

double others_stop(const struct others *others)
{
    struct others now;

    others_start(&now);
    double percent = 100 * (now.cpu_s - others->cpu_s) / (now.seconds - others->seconds);
    return percent > 0 ? percent : 0;
}

/* The fourth field of the file is RUNNING/ALL; this thread runs, too. */
static double running_now(void)
{
    char line[LINE_SIZE];
    long running = 0;

    if (!read_line(line, "/proc/loadavg") || sscanf(line, "%*s %*s %*s %ld/", &running) != 1) {
        return -1;
    }
    return (double) running - 1;
}

double others_load(void)
{
    const struct timespec apart = {.tv_nsec = LOAD_APART_NS};
    double sum = 0;

    for (int i = 0; i < LOAD_LOOKS; i++) {
        double running = running_now();

        if (running < 0) {
            return -1;
        }
        sum += running;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &apart, NULL);
    }
    return sum / LOAD_LOOKS;
}
