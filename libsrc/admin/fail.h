/* fail.h - the errors of blocking calls on topics and messages when the reply of a slot is not as
 * expected.
 *
 * Thread: any. */
#ifndef ADMIN_FAIL_H
#define ADMIN_FAIL_H

#include "admin/fanout.h"

/* Fill `err` for a reply that is not as expected; returns FANOUT_STOP. */
enum fanout_next admin_fail(smq_error *err, const struct topic *topic, int32_t slot,
                            const struct store_result *result);

#endif
