/* trace.h - what coordination tells the owner of slots, and what the owner answers, in the log of a
 * worker: "coord NANOSECONDS WHAT TOPIC SLOT TOKEN SESSION".
 *
 * The program is linked so (--wrap) that the calls between libsrc/core and coord/ go through
 * trace.c.  WHAT, and when a line is written, are those of coord/model/README.md; SESSION counts
 * the sessions of this process with ZooKeeper. */
#ifndef CHAOS_TRACE_H
#define CHAOS_TRACE_H

#include "coord/coord.h"

/* The functions that the library calls instead, and those that it would. */
smq_status __wrap_coord_zookeeper_new(struct coord **out, const struct coord_options *options,
                                      smq_error *err);
void __wrap_coord_answer(struct coord *coord, enum coord_answer answer, const char *topic,
                         int32_t slot, struct token token);
smq_status __real_coord_zookeeper_new(struct coord **out, const struct coord_options *options,
                                      smq_error *err);
void __real_coord_answer(struct coord *coord, enum coord_answer answer, const char *topic,
                         int32_t slot, struct token token);

#endif
