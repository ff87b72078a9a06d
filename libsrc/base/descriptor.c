/* descriptor.c - the standard descriptors of a process that was started without them.
 *
 * Thread: any. */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

static atomic_bool descriptors_left;

void descriptors_leave(bool leave)
{
    atomic_store(&descriptors_left, leave);
}

static bool descriptor_is_closed(int descriptor)
{
    return fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
}

/* open() returns the lowest closed descriptor; another thread may be faster. */
void descriptors_reserve(void)
{
    if (atomic_load(&descriptors_left)) {
        return;
    }
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (descriptor_is_closed(descriptor)) {
            int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
            int opened = open("/dev/null", mode | O_CLOEXEC);

            if (opened > STDERR_FILENO) {
                (void) close(opened);
            }
        }
    }
}
