/* client.h - what the public entry points share.
 *
 * Thread: any. */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include <slotmq/client.h>
#include <slotmq/options.h>

#include "core/core.h"

/* A handle: one reference to the core. */
struct smq_client {
    struct core *core;
};

/* Every public function on a client calls this first.  Fails: INVALID (NULL), FORKED. */
smq_status client_check(const smq_client *client, smq_error *err);

/* As client_check(), for a call that takes a visitor. */
smq_status client_check_visit(const smq_client *client, bool visitor, smq_error *err);

/* Check the time-out of a call that waits.  Fails: INVALID. */
smq_status client_check_timeout(int64_t timeout_ms, smq_error *err);

/* As client_check(), then options_complete(). */
smq_status client_complete(void *out, smq_option_set set, const smq_client *client,
                           const void *options, smq_error *err);

#endif
