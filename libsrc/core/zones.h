/* zones.h - the time zones that this machine knows.
 *
 * Thread: any.  Blocks while it reads a small file. */
#ifndef CORE_ZONES_H
#define CORE_ZONES_H

#include <slotmq/core.h>

#include "model/zone.h"

/* Some zones that were read, each for a minute, so that a tick need not read a file.  One thread
 * has it; zeroed it is empty. */
enum { ZONES_KEPT = 16 };
struct zones {
    struct zones_entry {
        char name[ZONE_NAME_MAX + 1];
        struct zone zone;
        int64_t until_ms;
    } kept[ZONES_KEPT];
    size_t next;
};

/* A zone by its name, as "Europe/Berlin"; NULL and "UTC" need no file.  The files are those in
 * /usr/share/zoneinfo, whatever the environment says.  What is returned is valid up to the next
 * call.  NULL: INVALID, this machine has no such zone. */
const struct zone *zones_get(struct zones *zones, const char *name, smq_error *err);
void zones_fini(struct zones *zones);

#endif
