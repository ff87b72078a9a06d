#include "zookeeper.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/server.h"
#include "support/wait.h"

enum { ANSWER_SIZE = 8192, PATIENCE_MS = 30000 };

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

struct question {
    const struct lab *lab;
    const char *word;
    char answer[ANSWER_SIZE];
};

static bool is_answered(void *arg)
{
    struct question *question = arg;

    return zookeeper_server_ask(lab_zookeeper_server(question->lab), question->word,
                                question->answer, sizeof(question->answer));
}

/* A machine with much other work may take longer than one question waits. */
static bool ask(struct question *question, const char *word)
{
    question->word = word;
    if (!wait_until(is_answered, question, PATIENCE_MS)) {
        fprintf(stderr, "bench: ZooKeeper does not answer the word %s\n", word);
        return false;
    }
    return true;
}

bool zookeeper_look(struct zookeeper_facts *out, const struct lab *lab)
{
    struct question question = {.lab = lab};
    const char *answer = question.answer;

    return ask(&question, "srvr") && take(&out->zxid, answer, "Zxid: ") &&
           take(&out->connections, answer, "Connections: ") && ask(&question, "mntr") &&
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
