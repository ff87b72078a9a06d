/* consumers.h - what the processes of a fleet do that tests, the demo and benchmarks start: consume
 * some topics until SIGTERM, then leave.
 *
 * Thread: main, once in a process. */
#ifndef SUPPORT_CONSUMERS_H
#define SUPPORT_CONSUMERS_H

#include <stddef.h>

#include <slotmq/slotmq.h>

enum { CONSUMERS_MAX = 8 };

/* Consume with a client of its own.  After SIGTERM the consumers stop, the handlers end, and this
 * returns SMQ_OK; further ones are ignored.  Any other status: a consumer could not start, or was
 * stopped by the library. */
smq_status consumers_run(const smq_client_options *client, const smq_consumer_options *consumers,
                         size_t count, smq_error *err);

#endif
