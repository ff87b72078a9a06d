/* trace.h - what the library tells nobody, in the log of a worker: what coordination says to the
 * owner of slots, and the owner to it, and which messages came by a push.
 *
 *   coord NANOSECONDS WHAT TOPIC SLOT TOKEN SESSION
 *   push NANOSECONDS accepted|foreign|wake TOPIC SLOT TOKEN CLAIM
 *
 * The program is linked so (--wrap) that these calls go through trace.c.  WHAT, and when a line is
 * written, are those of coord/model/README.md; SESSION counts the sessions of this process with
 * ZooKeeper.  A push is logged when the slot has judged it, which may be after its handler began.
 */
#ifndef CHAOS_TRACE_H
#define CHAOS_TRACE_H

#include "consume/run/delivery.h"
#include "consume/slot/push.h"
#include "coord/coord.h"

/* The number of the claim of a delivery that has not been answered. */
uint64_t trace_claim(const smq_delivery *delivery);

/* The functions that the library calls instead, and those that it would. */
smq_status __wrap_coord_fleet_new(struct coord **out, const struct coord_options *options,
                                  smq_error *err);
void __wrap_coord_answer(struct coord *coord, enum coord_answer answer, const char *topic,
                         int32_t slot, struct token token);
smq_status __real_coord_fleet_new(struct coord **out, const struct coord_options *options,
                                  smq_error *err);
void __real_coord_answer(struct coord *coord, enum coord_answer answer, const char *topic,
                         int32_t slot, struct token token);
bool __wrap_push_take(struct owned_slot *slot, const char *data, size_t len);
bool __real_push_take(struct owned_slot *slot, const char *data, size_t len);

#endif
