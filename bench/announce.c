#include "announce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/wait.h"
#include "wire.h"

enum { ANNOUNCE_MS = 10000 };

struct announced {
    struct lab *lab;
    int port;
};

/* Do clients that ask Redis where its slots are get this port? */
static bool announce_is_done(void *arg)
{
    const struct announced *announced = arg;
    redisReply *map = wire_ask(lab_wire(announced->lab, 0), "CLUSTER SLOTS");
    bool all = map != NULL && map->type == REDIS_REPLY_ARRAY && map->elements > 0;

    for (size_t i = 0; all && i < map->elements; i++) {
        const redisReply *range = map->element[i];
        all = range->elements > 2 && range->element[2]->elements > 1 &&
              range->element[2]->element[1]->integer == announced->port;
    }
    freeReplyObject(map);
    return all;
}

int announce_port_of(const char *address)
{
    const char *colon = strrchr(address, ':');

    return colon != NULL ? (int) strtol(colon + 1, NULL, 10) : 0;
}

/* A node that speaks TLS takes the first port for that of TLS unless it is given both. */
static bool announce_configure(struct lab *lab, int port)
{
    const char *tls = lab_redis_tls(lab);
    int tls_port = tls != NULL && port != 0 ? announce_port_of(tls) : 0;
    redisReply *reply = wire_ask(lab_wire(lab, 0),
                                 "CONFIG SET cluster-announce-port %d cluster-announce-tls-port %d",
                                 port, tls_port);
    bool good = reply != NULL;

    freeReplyObject(reply);
    return good;
}

bool announce(struct lab *lab, const char *address)
{
    struct announced announced = {.lab = lab, .port = announce_port_of(address)};
    bool own = announced.port == announce_port_of(lab_redis(lab));

    if (!announce_configure(lab, own ? 0 : announced.port)) {
        fprintf(stderr, "bench: Redis refuses to announce port %d\n", announced.port);
        return false;
    }
    if (!wait_until(announce_is_done, &announced, ANNOUNCE_MS)) {
        fprintf(stderr, "bench: Redis does not announce port %d after %d ms\n", announced.port,
                ANNOUNCE_MS);
        return false;
    }
    return true;
}
