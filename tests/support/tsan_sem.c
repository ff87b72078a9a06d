/* tsan_sem.c - tells ThreadSanitizer that sem_clockwait() synchronizes as sem_wait() does; the
 * versions of it that are in use do not know this function.  A part of the library in builds with
 * -Db_sanitize=thread only.
 *
 * Thread: any. */
#include <dlfcn.h>
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <semaphore.h>

typedef int sem_clockwait_fn(sem_t *sem, clockid_t clock, const struct timespec *until);

static sem_clockwait_fn *real;
static pthread_once_t found = PTHREAD_ONCE_INIT;

static void find(void)
{
    *(void **) &real = dlsym(RTLD_NEXT, "sem_clockwait");
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): its own are reserved */
int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict until)
{
    int failed;

    pthread_once(&found, find);
    failed = real(sem, clock, until);
    if (failed == 0) {
        __tsan_acquire(sem);
    }
    return failed;
}
