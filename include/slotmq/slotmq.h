/* slotmq.h - sharded message queues in Redis Cluster, one owner per slot.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause
 *
 *   smq_client ----+-- smq_producer   sends messages
 *    connections,  +-- smq_consumer   calls the handler of the application on its own threads, or
 *    fleet member  |                  is polled by the application, or by an event loop
 *                  +-- smq_topic_..., smq_message_..., smq_dead_...   administration
 *
 * What only operators and their tools need is in slotmq/ops.h.
 *
 * The states of a message, the answers to its delivery, and what other queues call them:
 *
 *   send -> WAITING -> CLAIMED -- done     gone               (ack)
 *              ^          |------ retry    RESTING -> WAITING (nack, fail)
 *              |          |------ reject   DEAD               (bury, term)
 *              +----------+------ release  as if never claimed (give back)
 *
 * These rules hold for all functions; the comments on functions state the exceptions.
 *
 *  1. A function that can fail returns smq_status: SMQ_OK (0) or a negative code.  Its last
 *     parameter, an smq_error that may be NULL, then receives one line of text.
 *  2. Arguments come in one order:
 *       the object (_new() functions take the address of the new handle before it),
 *       inputs,
 *       outputs (an array, its capacity, its count); they may be NULL where a comment allows it,
 *       the time to wait, or the callback and its user pointer,
 *       the smq_error.
 *     A failure leaves outputs unchanged, unless a comment says otherwise.
 *  3. The caller owns what it gets through a pointer to a pointer, and frees it with the matching
 *     _free(); it ends a delivery by answering it.  Pointers that a function returns or shows to
 *     a visitor are borrowed; a comment says how long they are valid.  _free(NULL) and _stop(NULL)
 *     do nothing.
 *  4. Fill a struct that has a struct_size by its macro: in C SMQ_MESSAGE(.body = ..., .key = ...),
 *     in C++ SMQ_MESSAGE_INIT and then field by field.  Never fill it by position, because later
 *     versions add fields.  Zero and NULL mean the default; where "none" is not the default, it is
 *     SMQ_NONE.  Everything passed in is copied before the call returns.
 *     Structs only grow, at their end.  So a program works with a library that is newer than its
 *     headers: what its structs lack is 0, or is not filled.  A struct that is larger than the
 *     library knows, because its header is newer, is refused with SMQ_INVALID.
 *  5. Bodies, keys and ids are smq_bytes: smq_text("a C string"), or a pointer and a length.  A
 *     NULL pointer means that there is none.
 *  6. Names that end in _ms are milliseconds: ..._at_ms since 1970 by the clock of the Redis node
 *     that holds the slot, all others durations.
 *  7. Handles may be used from any thread.  "Blocks" says how long a function may wait; a function
 *     whose comment does not have that word never waits for a server.
 *  8. Callbacks run on smq:call (one thread per client), handlers on smq:work-N.  Both may call all
 *     functions and block in them, but for those that would wait for the same callback or handler;
 *     these return SMQ_WRONG_THREAD.  No C++ exception may leave a callback, handler or hook.
 *  9. The library reads no environment, and no files but those of time zones, for schedules.  It
 *     prints nothing, installs no signal handler, and blocks all signals in its threads.  After
 *     fork() the child may only call _free() functions; every other call returns SMQ_FORKED.
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
#include <slotmq/hooks.h>

#include <slotmq/admin.h>
#include <slotmq/health.h>
#include <slotmq/metrics.h>
#include <slotmq/schedule.h>

#include <slotmq/options.h>

#endif /* SLOTMQ_SLOTMQ_H */
