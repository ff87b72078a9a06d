/* status.h - filling an smq_error.  The table itself is SMQ_STATUS_MAP in slotmq/core.h.
 *
 * Thread: any. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <slotmq/core.h>

/* Put `status` and one formatted line (cut to fit, newlines made spaces) into `err`, which may be
 * NULL.  Returns `status`, so that a caller can write `return status_set(...)`. */
smq_status status_set(smq_error *err, smq_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copy `from` into `err`, which may be NULL.  Returns from->status. */
smq_status status_copy(smq_error *err, const smq_error *from);

#endif
