/* rights.h - the rights that scripts did without, because the user of Redis lacks them.
 *
 * Thread: smq:io. */
#ifndef REDIS_RIGHTS_H
#define REDIS_RIGHTS_H

#include <sys/queue.h>

#include "redis/context.h"

/* A right that is missing, and that an event has reported. */
struct rights_reported {
    SLIST_ENTRY(rights_reported) link;
    char right[];
};

struct rights {
    struct context *context;
    SLIST_HEAD(, rights_reported) reported;
};

void rights_init(struct rights *rights, struct context *context);
void rights_fini(struct rights *rights);

/* As redis_report_lack(); `server` is the name of the one that ran the script. */
void rights_report(struct rights *rights, const char *server, const struct redis_lack *lack);

#endif
