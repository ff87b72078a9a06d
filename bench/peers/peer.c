#include "peers/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meter.h"

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

bool peer_time(void *connection, peer_send_fn *send, peer_drain_fn *drain, uint64_t count,
               struct peer_result *out)
{
    struct tally *tally = tally_new(count, 1);
    int64_t start_ns = meter_now_ns();
    bool good = send(connection, count);
    int64_t sent_ns = meter_now_ns();

    good = good && drain(connection, tally, count);
    *out = (struct peer_result){.sent_s = (double) (sent_ns - start_ns) / 1e9,
                                .drained_s = (double) (meter_now_ns() - sent_ns) / 1e9,
                                .counts = tally_counts(tally)};
    tally_free(tally);
    return good;
}
