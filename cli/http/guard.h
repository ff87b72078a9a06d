/* guard.h - who may do what at a port.
 *
 * Pure. */
#ifndef SERVE_GUARD_H
#define SERVE_GUARD_H

#include <stdbool.h>

struct guard {
    bool open;         /* reading needs no token: the port is on loopback, or --insecure-listen */
    bool show_bodies;  /* --show-bodies */
    bool write;        /* --write */
    const char *token; /* NULL: there is none */
    const char *names; /* --host; NULL: none */
};

/* What a request says of where it comes from; NULL: nothing. */
struct guard_facts {
    const char *host, *origin, *fetch_site, *authorization;
};

enum guard_verdict {
    GUARD_KNOWN,     /* the caller may do what `caller` says */
    GUARD_BAD_HOST,  /* Host is missing, or a name that this port does not have */
    GUARD_BAD_SITE,  /* a page of another site sent it */
    GUARD_BAD_TOKEN, /* it has a token, and that is wrong */
};

struct guard_caller {
    bool read;     /* topics, numbers, names of servers and members */
    bool personal; /* bodies, keys, headers */
    bool write;
};

/* The time that it takes does not depend on how much of a token is right. */
enum guard_verdict guard_check(struct guard_caller *out, const struct guard *guard,
                               const struct guard_facts *facts);

#endif
