/* serve.h - what the paths of slotmq serve have to work with.
 *
 * Thread: any; nothing in the struct changes. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "cli/http/guard.h"
#include "cli/verb/verb.h"
#include "serve/events.h"
#include "serve/jobs.h"
#include "serve/pool.h"
#include "serve/readings.h"
#include "serve/verdict.h"

struct serve {
    const struct command *command;
    const char *only; /* --topic; NULL: all */
    struct guard guard;
    struct readings *readings;
    struct pool *pool;
    struct events *events;
    struct jobs *jobs;
    struct verdict *verdict;
};

/* Answers a request, by the table of paths.  Thread: that of the port.  `user` is a struct serve.
 */
void routes_handle(struct port_request *request, void *user);

/* What the paths answer.  These look at what is in memory. */
ask_fn show_self, show_topics, show_lag, show_metrics, show_health, show_ready;

/* These block, as the library does. */
ask_fn show_topic, show_work, show_messages, show_message, show_dead, show_schedules;
ask_fn show_fleet, show_servers, show_doctor;
ask_fn edit_remove, edit_pause, edit_resume, edit_alter, edit_requeue, edit_purge, edit_schedule;

/* These do not block. */
ask_fn edit_stop, edit_jobs, edit_job;

/* Were some slots left out of a visit of messages, and all others looked at? */
bool show_is_partial(const smq_error *err);

/* The reading of all topics as JSON; for the event, too. */
json_t *show_reading(struct readings *readings);

#endif
