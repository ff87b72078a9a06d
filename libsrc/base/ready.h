/* ready.h - a descriptor that is readable while there is something for the application to get.
 *
 * A lock of its owner guards it. */
#ifndef BASE_READY_H
#define BASE_READY_H

#include <stdbool.h>

#include <slotmq/core.h>

struct ready {
    int fd; /* an eventfd; -1: none, and nothing is shown */
    bool readable;
};

#define READY_NONE ((struct ready){.fd = -1})

/* Make a descriptor that is not readable.  Fails: NO_MEMORY; then there is none. */
smq_status ready_open(struct ready *ready, smq_error *err);

/* A system call is made only when this changes. */
void ready_set(struct ready *ready, bool readable);

/* Afterwards there is none.  It may be called again. */
void ready_close(struct ready *ready);

#endif
