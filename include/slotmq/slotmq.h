/* slotmq.h - sharded message queues in Redis Cluster, one owner per slot.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause
 *
 *   smq_client ----+-- smq_producer   you send
 *    connections,  +-- smq_worker     it calls your handler on its threads
 *    fleet member  +-- smq_consumer   you poll; has a descriptor to wait on
 *                  +-- smq_topic_..., smq_dead_...   admin
 *
 * The life of a message, and the word for each answer elsewhere:
 *
 *   send -> WAITING -> CLAIMED -- done     gone               (ack)
 *              ^          |------ retry    RESTING -> WAITING (nack, fail)
 *              |          |------ reject   DEAD               (bury, term)
 *              +----------+------ release  as if never claimed (give back)
 *
 * Rules that hold everywhere, so that the comments elsewhere state exceptions:
 *
 *  1. A call that can fail returns smq_status: SMQ_OK (0) or a negative code.
 *     Its last parameter, an optional smq_error, then gets one line of text.
 *  2. Arguments come in one order everywhere:
 *       the object (_new alone takes the address of the new handle before it),
 *       inputs,
 *       outputs (an array, its capacity, how many it got); NULL where a comment allows it,
 *       how long to wait, or the callback and its user pointer,
 *       the smq_error.
 *     A failure leaves outputs as they were, unless a comment says otherwise.
 *  3. What comes through a pointer-to-pointer is yours: give it back to its
 *     _free(); a delivery, by answering it.  A returned or visited pointer is
 *     borrowed; its comment says how long.  _free(NULL), _stop(NULL): nothing.
 *  4. Fill a struct that has a struct_size by its macro: in C
 *     SMQ_MESSAGE(.body = ..., .key = ...), in C++ SMQ_MESSAGE_INIT and then
 *     field by field; never by position, as structs grow.  Zero and NULL
 *     mean "default"; where "none" is not the default, it is SMQ_NONE.
 *     Everything passed in is copied before the call returns.
 *  5. Bodies, keys and ids are smq_bytes: smq_text("a C string"), or a pointer
 *     and a length.  Without a pointer there is none.
 *  6. Names ending in _ms are milliseconds: ..._at_ms since 1970 by the clock
 *     of the Redis node that holds the slot, all others durations.
 *  7. Handles may be used from any thread.  "Blocks" says for how long a call
 *     waits; a call without that word never waits for a server.
 *  8. Callbacks run on smq:call (one thread a client), handlers on smq:work-N.
 *     Both may call and block in anything here, except what would wait for
 *     themselves; that returns SMQ_WRONG_THREAD.  Never throw through them.
 *  9. The library reads no environment and no file, prints nothing, installs
 *     no signal handler, and blocks all signals in its threads.  After fork()
 *     the child may only _free(); every other call returns SMQ_FORKED.
 */
#ifndef SLOTMQ_SLOTMQ_H
#define SLOTMQ_SLOTMQ_H

#include <slotmq/core.h>

#include <slotmq/client.h>
#include <slotmq/topic.h>

#include <slotmq/message.h>
#include <slotmq/producer.h>

#include <slotmq/consumer.h>
#include <slotmq/delivery.h>
#include <slotmq/worker.h>

#include <slotmq/admin.h>
#include <slotmq/fleet.h>
#include <slotmq/metrics.h>

#include <slotmq/options.h>

#endif /* SLOTMQ_SLOTMQ_H */
