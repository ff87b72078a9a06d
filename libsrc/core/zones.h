/* zones.h - the time zones that this machine knows.
 *
 * Thread: any.  Blocks while it reads a small file. */
#ifndef CORE_ZONES_H
#define CORE_ZONES_H

#include <slotmq/core.h>

#include "model/zone.h"

/* Read a zone by its name, as "Europe/Berlin"; "UTC" needs no file.  The files are those in
 * /usr/share/zoneinfo, whatever the environment says.  Fails: INVALID (this machine
 * has no such zone), and then *out is UTC.  Free with zone_fini(). */
smq_status zones_load(struct zone *out, const char *name, smq_error *err);

#endif
