/* process.c - reads about this process and others in /proc.
 *
 * Thread: any. */
#include "coord/member/process.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char process_unknown[] = "-";

static void process_read_boot(char out[MEMBER_WORD_MAX + 1])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file == NULL || fscanf(file, "%255s", out) != 1) {
        memcpy(out, process_unknown, sizeof(process_unknown));
    }
    if (file != NULL) {
        (void) fclose(file);
    }
}

/* When a process began, in clock ticks since the boot: the 22nd word of its stat, whose second word
 * is its name in brackets.  0: unknown. */
static int64_t process_started(int64_t pid)
{
    char path[64];
    char text[1024] = "";
    const char *at = NULL;
    int64_t started = 0;
    FILE *file = NULL;

    (void) snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void) fclose(file);
    at = strrchr(text, ')');
    if (at == NULL ||
        sscanf(at + 1,
               " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%" SCNd64,
               &started) != 1) {
        return 0;
    }
    return started;
}

void process_describe(struct member_info *info)
{
    ssize_t len =
        readlink("/proc/self/ns/pid", info->pid_namespace, sizeof(info->pid_namespace) - 1);

    if (len > 0) {
        info->pid_namespace[len] = '\0';
    } else {
        memcpy(info->pid_namespace, process_unknown, sizeof(process_unknown));
    }
    if (gethostname(info->host, sizeof(info->host) - 1) != 0 || *info->host == '\0') {
        memcpy(info->host, process_unknown, sizeof(process_unknown));
    }
    process_read_boot(info->boot);
    info->pid = getpid();
    info->started = process_started(info->pid);
}

static bool process_same_word(const char *mine, const char *other)
{
    return strcmp(mine, process_unknown) != 0 && strcmp(mine, other) == 0;
}

bool process_is_dead(const struct member_info *mine, const struct member_info *other)
{
    int64_t started = 0;

    if (!process_same_word(mine->boot, other->boot) ||
        !process_same_word(mine->host, other->host) ||
        !process_same_word(mine->pid_namespace, other->pid_namespace) || other->pid <= 1 ||
        other->pid != (pid_t) other->pid) {
        return false;
    }
    if (kill((pid_t) other->pid, 0) != 0 && errno == ESRCH) {
        return true;
    }
    started = process_started(other->pid);
    return started != 0 && other->started != 0 && started != other->started;
}
