#include "peers/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool peer_has_program(const char *name)
{
    const char *path = getenv("PATH");
    char file[512];

    while (path != NULL && *path != '\0') {
        size_t len = strcspn(path, ":");
        snprintf(file, sizeof(file), "%.*s/%s", (int) len, path, name);
        if (access(file, X_OK) == 0) {
            return true;
        }
        path += len + (path[len] == ':' ? 1 : 0);
    }
    return false;
}
