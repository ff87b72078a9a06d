/* pool.h - requests that need servers: a few threads answer them, one after the other.
 *
 * Requests for the same thing share one call, and the answer for a moment after it, so that many
 * readers cost the servers what one does.
 *
 * Thread: any; an ask runs on serve:ask-N. */
#ifndef SERVE_POOL_H
#define SERVE_POOL_H

#include <jansson.h>

#include "cli/http/answer.h"
#include "cli/http/guard.h"
#include "cli/http/port.h"

struct pool;

struct serve;

/* Answers one path. */
typedef struct answer *ask_fn(struct serve *serve, const json_t *query,
                              const struct guard_caller *caller);

/* What is asked for.  `query` is owned. */
struct ask {
    ask_fn *run;
    struct serve *serve;
    json_t *query;
    struct guard_caller caller;
    const char *path; /* static */
    int64_t share_ms; /* how long its answer is shared; 0: it is not, as of a change */
};

struct pool *pool_begin(void);

/* Answers the request once the ask has run, or at once: by an answer that is shared, or because too
 * much waits.  Takes the query.  After an ask that is not shared no answer from before it is. */
void pool_ask(struct pool *pool, struct port_request *request, const struct ask *ask);

/* What was asked before this call is shared no longer: something was changed. */
void pool_changed(struct pool *pool);

/* Answers what has not begun by a problem, and waits for the rest.  What is asked from then on is
 * refused. */
void pool_end(struct pool *pool);
void pool_free(struct pool *pool);

#endif
