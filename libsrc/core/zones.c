/* zones.c - reads the files of time zones.
 *
 * Thread: any. */
#include "core/zones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"

#define ZONES_FOLDER "/usr/share/zoneinfo/"

enum { FILE_MOST = 65536, KEEP_MS = 60000 };

/* false: it could name a file in another folder. */
static bool zones_name_is_safe(const char *name)
{
    const size_t len = strlen(name);

    if (len == 0 || len > ZONE_NAME_MAX || name[len - 1] == '/') {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        const bool begins = i == 0 || name[i - 1] == '/';

        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/", name[i]) ==
                NULL ||
            (begins && (name[i] == '/' || name[i] == '-'))) {
            return false;
        }
    }
    return true;
}

static smq_status zones_load(struct zone *out, const char *name, smq_error *err)
{
    unsigned char *data = NULL;
    char path[sizeof(ZONES_FOLDER) + ZONE_NAME_MAX];
    struct stat about;
    bool is_read = false;
    FILE *file;

    *out = (struct zone){0};
    if (!zones_name_is_safe(name)) {
        return status_set(err, SMQ_INVALID,
                          "zone \"%.100s\": a zone has a name such as Europe/Berlin or UTC", name);
    }
    (void) snprintf(path, sizeof(path), "%s%s", ZONES_FOLDER, name);
    file = fopen(path, "rbe");
    if (file != NULL) {
        data = memory_new(FILE_MOST);
        is_read = fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) &&
                  zone_parse(out, data, fread(data, 1, FILE_MOST, file));
        (void) fclose(file);
        free(data);
    }
    if (!is_read) {
        return status_set(err, SMQ_INVALID,
                          "zone \"%s\": this machine has no such zone in " ZONES_FOLDER
                          "; its name may be wrong, or the package tzdata is missing or old",
                          name);
    }
    return SMQ_OK;
}

/* The entry of that name, or one that is used for it from now on. */
static struct zones_entry *zones_entry_of(struct zones *zones, const char *name)
{
    struct zones_entry *entry;

    for (size_t i = 0; i < ZONES_KEPT; i++) {
        if (strcmp(zones->kept[i].name, name) == 0) {
            return &zones->kept[i];
        }
    }
    entry = &zones->kept[zones->next++ % ZONES_KEPT];
    zone_fini(&entry->zone);
    *entry = (struct zones_entry){.until_ms = 0};
    return entry;
}

const struct zone *zones_get(struct zones *zones, const char *name, smq_error *err)
{
    static const struct zone utc;
    const int64_t now_ms = clock_now_ms();
    struct zones_entry *entry;
    struct zone zone;

    if (name == NULL || strcmp(name, "UTC") == 0) {
        return &utc;
    }
    entry = zones_entry_of(zones, name);
    if (now_ms < entry->until_ms) {
        return &entry->zone;
    }
    if (zones_load(&zone, name, err) != SMQ_OK) {
        return NULL;
    }
    zone_fini(&entry->zone);
    entry->zone = zone;
    entry->until_ms = now_ms + KEEP_MS;
    (void) snprintf(entry->name, sizeof(entry->name), "%s", name);
    return &entry->zone;
}

void zones_fini(struct zones *zones)
{
    for (size_t i = 0; i < ZONES_KEPT; i++) {
        zone_fini(&zones->kept[i].zone);
    }
}
