/* descriptors.c - see descriptors.h.
 *
 * One call of the kernel does it all.  Kernels before 5.9 lack it, those before 5.11 cannot mark
 * descriptors with it, and sandboxes refuse calls that they do not know; so without it each
 * descriptor that /proc names is taken, or each up to the limit. */
#include "cli/consume/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The limit of a process that has none of its own: the default of fs.nr_open. */
enum { DESCRIPTORS_MAX = 1 << 20 };

typedef void descriptors_fn(int descriptor);

static void descriptors_close_one(int descriptor)
{
    (void) close(descriptor);
}

static void descriptors_mark_one(int descriptor)
{
    (void) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

/* The number that is the name of an entry of /proc/self/fd; -1: it is "." or "..". */
static int descriptors_number(const char *name)
{
    int number = 0;

    for (; *name >= '0' && *name <= '9'; name++) {
        number = 10 * number + (*name - '0');
    }
    return *name == '\0' ? number : -1;
}

/* readdir() may allocate, which is not allowed here. */
static bool descriptors_walk(int first, descriptors_fn *each)
{
    _Alignas(struct dirent64) char entries[4096];
    const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long size = 0;

    if (folder < 0) {
        return false;
    }
    while ((size = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < size;) {
            const struct dirent64 *entry = (const void *) (entries + at);
            const int descriptor = descriptors_number(entry->d_name);
            if (descriptor >= first && descriptor != folder) {
                each(descriptor);
            }
            at += entry->d_reclen;
        }
    }
    (void) close(folder);
    return size == 0;
}

static void descriptors_each(int first, descriptors_fn *each)
{
    struct rlimit limit = {.rlim_cur = DESCRIPTORS_MAX};

    if (descriptors_walk(first, each)) {
        return;
    }
    (void) getrlimit(RLIMIT_NOFILE, &limit);
    for (int i = first; i < DESCRIPTORS_MAX && (rlim_t) i < limit.rlim_cur; i++) {
        each(i);
    }
}

void descriptors_close(int first)
{
    if (close_range((unsigned) first, ~0U, 0) != 0) {
        descriptors_each(first, descriptors_close_one);
    }
}

void descriptors_close_on_exec(int first)
{
    if (close_range((unsigned) first, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
        descriptors_each(first, descriptors_mark_one);
    }
}
