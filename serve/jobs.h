/* jobs.h - long edits: each runs on a thread of its own, says how far it is, and can be stopped.
 *
 * Thread: any. */
#ifndef SERVE_JOBS_H
#define SERVE_JOBS_H

#include <jansson.h>
#include <stdbool.h>

#include <slotmq/slotmq.h>

#include "serve/events.h"

struct jobs;
struct pool;

enum job_kind { JOB_REQUEUE, JOB_PURGE };

/* Events named "job" go to `events`, and when a job ends the pool shares no answer from before it.
 * Both must outlive it. */
struct jobs *jobs_new(struct events *events, struct pool *pool);

/* Begins to requeue or purge what the query, which was checked, selects.  `inline_layout`: an id is
 * a body.  The job as openapi.json shows it; NULL: too many run already. */
json_t *jobs_begin(struct jobs *jobs, smq_client *client, enum job_kind kind, const json_t *query,
                   bool inline_layout);

/* All of them, or one: NULL: there is none with this id. */
json_t *jobs_json(struct jobs *jobs);
json_t *jobs_find_json(struct jobs *jobs, const char *id);

/* Asks one to stop; as jobs_find_json(). */
json_t *jobs_stop(struct jobs *jobs, const char *id);

/* Stops all, and waits for their ends; none begins any more.  Thread: main. */
void jobs_end(struct jobs *jobs);
void jobs_free(struct jobs *jobs);

#endif
