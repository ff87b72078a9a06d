#include "zookeeper.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/server.h"

enum { ANSWER_SIZE = 8192 };

/* The number behind `name`; false: it is not there. */
static bool take(int64_t *out, const char *answer, const char *name)
{
    const char *at = strstr(answer, name);

    if (at == NULL) {
        fprintf(stderr, "bench: ZooKeeper does not say \"%s\"\n", name);
        return false;
    }
    *out = strtoll(at + strlen(name), NULL, 0);
    return true;
}

bool zookeeper_look(struct zookeeper_facts *out, const struct lab *lab)
{
    const struct server *server = lab_zookeeper_server(lab);
    char answer[ANSWER_SIZE];

    return zookeeper_server_ask(server, "srvr", answer, sizeof(answer)) &&
           take(&out->zxid, answer, "Zxid: ") && take(&out->connections, answer, "Connections: ") &&
           zookeeper_server_ask(server, "mntr", answer, sizeof(answer)) &&
           take(&out->watches, answer, "zk_watch_count\t") &&
           take(&out->data_bytes, answer, "zk_approximate_data_size\t");
}

int64_t zookeeper_snapshot_bytes(const struct lab *lab)
{
    char folder[PATH_MAX + 32], path[PATH_MAX + 300];
    const struct dirent *entry;
    struct stat status;
    int64_t bytes = 0;

    snprintf(folder, sizeof(folder), "%s/data/version-2", lab_zookeeper_server(lab)->folder);
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        perror(folder);
        return 0;
    }
    while ((entry = readdir(listing)) != NULL) {
        if (strncmp(entry->d_name, "snapshot.", strlen("snapshot.")) != 0) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%.255s", folder, entry->d_name);
        bytes += stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (int64_t) status.st_size : 0;
    }
    closedir(listing);
    return bytes;
}
