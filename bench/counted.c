#include "counted.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/run.h"

enum { DUMP_MS = 60000 };

/* Invariant: `taken` dumps were written so far: FOLDER/count.1 and so on.  The folder is removed
 * with TMPDIR (guard.h). */
struct counted {
    char folder[PATH_MAX - 32];
    char *path; /* PATH as it was */
    int taken;
};

/* In its folder the program has the name redis-server, and starts the next one of that name. */
static bool write_program(const struct counted *counted)
{
    char name[PATH_MAX];

    snprintf(name, sizeof(name), "%s/redis-server", counted->folder);
    FILE *file = fopen(name, "we");
    if (file == NULL) {
        perror(name);
        return false;
    }
    fprintf(file,
            "#!/bin/sh\n"
            "PATH=${PATH#*:}\n"
            "exec valgrind -q --tool=callgrind --callgrind-out-file='%s/count' "
            "--toggle-collect=evalShaCommand redis-server \"$@\"\n",
            counted->folder);
    return fclose(file) == 0 && chmod(name, 0700) == 0;
}

struct counted *counted_begin(void)
{
    struct counted *counted = calloc(1, sizeof(*counted));
    const char *path = getenv("PATH");
    char search[2 * PATH_MAX];

    if (counted == NULL ||
        (counted->path = strdup(path != NULL ? path : "/usr/bin:/bin")) == NULL) {
        abort();
    }
    snprintf(counted->folder, sizeof(counted->folder), "%s/counted-XXXXXX", getenv("TMPDIR"));
    if (mkdtemp(counted->folder) == NULL || !write_program(counted)) {
        perror(counted->folder);
        counted_free(counted);
        return NULL;
    }
    snprintf(search, sizeof(search), "%s:%s", counted->folder, counted->path);
    setenv("PATH", search, 1);
    return counted;
}

void counted_end(struct counted *counted)
{
    if (counted != NULL) {
        setenv("PATH", counted->path, 1);
    }
}

void counted_free(struct counted *counted)
{
    if (counted != NULL) {
        free(counted->path);
        free(counted);
    }
}

/* Callgrind writes what it has counted, and begins anew. */
static bool dump(pid_t server)
{
    char number[16];
    const char *const argv[] = {"callgrind_control", "--dump", number, NULL};
    const struct run_options options = {.argv = argv};
    struct run run;

    snprintf(number, sizeof(number), "%d", (int) server);
    bool good = run_command(&run, &options, DUMP_MS) && run.exit_code == 0;
    if (!good) {
        fprintf(stderr, "bench: callgrind_control cannot ask Redis for its count\n");
    }
    run_fini(&run);
    return good;
}

bool counted_take(struct counted *counted, pid_t server, uint64_t *out)
{
    char text[PATH_MAX];
    bool found = false;

    if (!dump(server)) {
        return false;
    }
    snprintf(text, sizeof(text), "%s/count.%d", counted->folder, ++counted->taken);
    FILE *file = fopen(text, "re");
    while (file != NULL && !found && fgets(text, sizeof(text), file) != NULL) {
        found = sscanf(text, "totals: %" SCNu64, out) == 1;
    }
    if (file != NULL) {
        fclose(file);
    }
    if (!found) {
        fprintf(stderr, "bench: callgrind has not written its count\n");
    }
    return found;
}
