/* coord_link_internal.c - see coord_link_internal.h.
 *
 * Thread: as each function says. */
#include "core/coord_link_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/confirmation.h"

void coord_link_unref(struct coord_link *link)
{
    if (atomic_fetch_sub(&link->references, 1) == 1) {
        membership_unref(link->membership);
        pthread_mutex_destroy(&link->opening);
        pthread_mutex_destroy(&link->state.lock);
        free(link);
    }
}

struct coord_link_topic *coord_link_topic_find(const struct coord_link *link, const char *name)
{
    struct coord_link_topic *topic;

    LIST_FOREACH(topic, &link->topics, link)
    {
        if (strcmp(topic->name, name) == 0) {
            return topic;
        }
    }
    return NULL;
}
