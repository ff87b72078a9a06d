/* producer.h - sends: collected per slot, one request per slot on the wire, repeated until done.
 *
 * Thread: any; the inside lives on smq:io, receipts are given on smq:call. */
#ifndef QUEUE_PRODUCER_H
#define QUEUE_PRODUCER_H

#include <slotmq/producer.h>

#include "queue/hub.h"

/* The struct smq_producer of the public header. */
smq_status producer_new(smq_producer **out, struct hub *hub, const smq_producer_options *options,
                        smq_error *err);
void producer_free(smq_producer *producer);

#endif
