/* events.h - server-sent events: what has changed, for all who listen.
 *
 * Thread: any. */
#ifndef SERVE_EVENTS_H
#define SERVE_EVENTS_H

#include <jansson.h>

#include "cli/http/port.h"

struct events;

struct events *events_new(void);

/* Tells all listeners; `name` is static.  Takes the document. */
void events_publish(struct events *events, const char *name, json_t *document);

/* Answers the request by a stream of the events from now on, or those after the one that its header
 * Last-Event-ID names.  Thread: that of the port. */
void events_listen(struct events *events, struct port_request *request);

/* All streams end, and no new one begins. */
void events_end(struct events *events);

/* Thread: main, after the port has ended. */
void events_free(struct events *events);

#endif
