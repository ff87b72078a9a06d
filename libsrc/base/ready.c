/* ready.c - a descriptor that is readable while there is something for the application to get. */
#include "base/ready.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/status.h"

smq_status ready_open(struct ready *ready, smq_error *err)
{
    *ready = (struct ready){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    return ready->fd >= 0 ? SMQ_OK
                          : status_set(err, SMQ_NO_MEMORY,
                                       "cannot make a descriptor to wait for: %s", strerror(errno));
}

void ready_set(struct ready *ready, bool readable)
{
    eventfd_t count;

    if (ready->fd < 0 || ready->readable == readable) {
        return;
    }
    ready->readable = readable;
    if (readable) {
        (void) eventfd_write(ready->fd, 1);
    } else {
        (void) eventfd_read(ready->fd, &count);
    }
}

void ready_close(struct ready *ready)
{
    if (ready->fd >= 0) {
        (void) close(ready->fd);
        *ready = READY_NONE;
    }
}
