/* wall.c - see wall.h. */
#include "wall.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

typedef int wall_fn(clockid_t clock, struct timespec *out);

static const atomic_int_least64_t *wall_shift; /* of the file, in ns; NULL: not open yet */
static atomic_int_least64_t wall_reported_ms;

/* As the library of the system has it. */
static int wall_read(clockid_t clock, struct timespec *out)
{
    static _Atomic(wall_fn *) known;
    wall_fn *read = atomic_load(&known);

    if (read == NULL) {
        *(void **) &read = dlsym(RTLD_NEXT, "clock_gettime");
        atomic_store(&known, read);
    }
    return read(clock, out);
}

static int64_t wall_shift_ns(void)
{
    return wall_shift == NULL ? 0 : atomic_load(wall_shift);
}

static void wall_move(struct timespec *at, int64_t ns)
{
    int64_t sum = at->tv_nsec + ns % 1000000000;
    int64_t carry = sum < 0 ? -1 : sum / 1000000000;

    at->tv_sec += (time_t) (ns / 1000000000 + carry);
    at->tv_nsec = (long) (sum - carry * 1000000000);
}

static int64_t wall_ms(const struct timespec *at)
{
    return (int64_t) at->tv_sec * 1000 + at->tv_nsec / 1000000;
}

/* The parameters have the names of the system's headers, because clang-tidy compares them. */

__attribute__((visibility("default"))) int clock_gettime(clockid_t __clock_id,
                                                         struct timespec *__tp)
{
    int rc = wall_read(__clock_id, __tp);

    if (rc == 0 && (__clock_id == CLOCK_REALTIME || __clock_id == CLOCK_REALTIME_COARSE)) {
        wall_move(__tp, wall_shift_ns());
    }
    return rc;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *__tv, void *__tz)
{
    struct timespec now;

    (void) __tz;
    clock_gettime(CLOCK_REALTIME, &now);
    *__tv = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *__timer)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (__timer != NULL) {
        *__timer = now.tv_sec;
    }
    return now.tv_sec;
}

void wall_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const void *file =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*wall_shift), PROT_READ, MAP_SHARED, fd, 0);

    if (file == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    close(fd);
    wall_shift = file;
}

int64_t wall_true_ms(void)
{
    struct timespec now;

    wall_read(CLOCK_REALTIME, &now);
    return wall_ms(&now);
}

void wall_report(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    int64_t shift_ms = wall_ms(&now) - wall_true_ms();
    int64_t before_ms = atomic_load(&wall_reported_ms);
    if (llabs(shift_ms - before_ms) > 1000 &&
        atomic_compare_exchange_strong(&wall_reported_ms, &before_ms, shift_ms)) {
        log_line("clock", "%" PRId64, shift_ms);
    }
}
