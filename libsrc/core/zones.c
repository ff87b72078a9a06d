/* zones.c - reads the files of time zones.
 *
 * Thread: any. */
#include "core/zones.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"

#define ZONES_FOLDER "/usr/share/zoneinfo/"

enum { FILE_MOST = 65536 };

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

smq_status zones_load(struct zone *out, const char *name, smq_error *err)
{
    unsigned char data[FILE_MOST];
    char path[sizeof(ZONES_FOLDER) + ZONE_NAME_MAX];
    struct stat about;
    bool is_read = false;
    FILE *file;

    *out = (struct zone){0};
    if (strcmp(name, "UTC") == 0) {
        return SMQ_OK;
    }
    if (!zones_name_is_safe(name)) {
        return status_set(err, SMQ_INVALID,
                          "zone \"%.100s\": a zone has a name such as Europe/Berlin or UTC", name);
    }
    (void) snprintf(path, sizeof(path), "%s%s", ZONES_FOLDER, name);
    file = fopen(path, "rbe");
    if (file != NULL) {
        is_read = fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) &&
                  zone_parse(out, data, fread(data, 1, sizeof(data), file));
        (void) fclose(file);
    }
    if (!is_read) {
        return status_set(err, SMQ_INVALID,
                          "zone \"%s\": this machine has no such zone in " ZONES_FOLDER
                          "; its name may be wrong, or the package tzdata is missing or old",
                          name);
    }
    return SMQ_OK;
}
