/* address.h - where a port listens, and by which names it may be called.
 *
 * Pure. */
#ifndef SERVE_ADDRESS_H
#define SERVE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct address {
    struct sockaddr_storage at;
    socklen_t size;
    bool loopback;
};

/* Reads "127.0.0.1:9095", "[::1]:9095" or "localhost:9095".  Other names are no addresses: which
 * one they mean may change.  false: it is none. */
bool address_parse(struct address *out, const char *text);

/* Room for the text of an address: "[::1]:9095". */
enum { ADDRESS_ROOM = 64 };
void address_text(char out[ADDRESS_ROOM], const struct address *address);

/* May this be the value of Host?  It may be an IP address, localhost or one of `names`, which has
 * commas between them and may be NULL, each with a port or without.  A page that another server has
 * sent, and whose name was made to lead here, comes with that name. */
bool address_is_host(const char *host, const char *names);

/* Is `origin`, as "http://127.0.0.1:9095", that of this Host?  The scheme is that of a proxy. */
bool address_is_origin(const char *origin, const char *host);

#endif
