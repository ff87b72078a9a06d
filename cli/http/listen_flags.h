/* listen_flags.h - the flags of a verb that opens a port, and what they mean. */
#ifndef SERVE_LISTEN_FLAGS_H
#define SERVE_LISTEN_FLAGS_H

#include "cli/http/address.h"
#include "cli/http/guard.h"
#include "cli/verb/flags.h"

/* A member of the options of such a verb. */
struct listen {
    const char *address, *token_file, *hosts;
    bool insecure;
};

#define LISTEN_FLAGS(struct_, usual)                                                               \
    TEXT_FLAG("listen", offsetof(struct_, listen.address), "ADDRESS:PORT", (usual)),               \
        TEXT_FLAG("token-file", offsetof(struct_, listen.token_file), "FILE",                      \
                  "its first line is the token; or the variable SLOTMQ_SERVE_TOKEN"),              \
        {.name = "insecure-listen",                                                                \
         .type = FLAG_SWITCH,                                                                      \
         .offset = offsetof(struct_, listen.insecure),                                             \
         .help = "reading needs no token, also on an address that is not loopback"},               \
        TEXT_FLAG("host", offsetof(struct_, listen.hosts), "NAME,...",                             \
                  "names by which the port is reached; addresses and localhost need none")

/* Reads them.  `guard` borrows from `listen` and from `token`, which is to be freed.  On any other
 * result than EXIT_DONE the error has been printed. */
enum exit_code listen_read(struct address *out, struct guard *guard, char **token,
                           const struct listen *listen);

#endif
