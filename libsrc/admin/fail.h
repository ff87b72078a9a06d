/* fail.h - what the blocking calls on topics and messages say when a slot does not answer as
 * it should.
 *
 * Thread: any. */
#ifndef ADMIN_FAIL_H
#define ADMIN_FAIL_H

#include "admin/fanout.h"

/* Fill `err` for an answer that is not what was asked for; FANOUT_STOP. */
enum fanout_next admin_fail(smq_error *err, const struct topic *topic, int32_t slot,
                            const struct store_result *result);

#endif
