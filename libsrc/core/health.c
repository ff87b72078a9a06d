/* health.c - see health.h.
 *
 * Thread: smq:io. */
#include "core/health.h"

#include <stdarg.h>
#include <stdio.h>

void health_init(struct health *health)
{
    *health = (struct health){.known = SMQ_HEALTH_INIT, .rank = HEALTH_GOOD};
    health->known.oldest_claim_ms = SMQ_NONE;
}

void health_find(struct health *health, enum health_rank rank, smq_status status,
                 const char *format, ...)
{
    va_list args;

    if (rank >= health->rank) {
        return;
    }
    health->rank = rank;
    health->known.status = status;
    va_start(args, format);
    (void) vsnprintf(health->known.wrong, sizeof(health->known.wrong), format, args);
    va_end(args);
}

void health_note_waiting(struct health *health, const char *format, ...)
{
    va_list args;

    health->known.slots_waiting++;
    if (health->known.waiting[0] != '\0') {
        return;
    }
    va_start(args, format);
    (void) vsnprintf(health->known.waiting, sizeof(health->known.waiting), format, args);
    va_end(args);
}

void health_note_slotless(struct health *health, bool standby, const char *format, ...)
{
    const bool first = health->known.consumers_slotless == health->known.consumers_standby &&
                       (!standby || health->known.slotless[0] == '\0');
    va_list args;

    health->known.consumers_slotless++;
    health->known.consumers_standby += standby ? 1 : 0;
    if (!first) {
        return;
    }
    va_start(args, format);
    (void) vsnprintf(health->known.slotless, sizeof(health->known.slotless), format, args);
    va_end(args);
}

void health_sources_add(struct health_sources *sources, struct health_source *source)
{
    LIST_INSERT_HEAD(sources, source, link);
}

void health_sources_remove(struct health_source *source)
{
    LIST_REMOVE(source, link);
}

void health_sources_report(const struct health_sources *sources, struct health *health)
{
    const struct health_source *source;

    LIST_FOREACH(source, sources, link)
    {
        source->report(health, source->user);
    }
}
