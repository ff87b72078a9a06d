/* servers.h - addresses of servers, as users and servers write them.
 *
 * Pure. */
#ifndef REDIS_SERVERS_H
#define REDIS_SERVERS_H

#include <stdbool.h>
#include <stddef.h>

#include <slotmq/core.h>

enum { SERVER_HOST_MAX = 256, SERVER_TEXT_MAX = SERVER_HOST_MAX + 8, SERVER_SECRET_MAX = 512 };

/* `host` has no brackets.  If it begins with '/' it is the path of a unix socket, and `port` is 0.
 */
struct server_address {
    char host[SERVER_HOST_MAX];
    int port; /* 1 .. 65535 */
};

/* "host:port,host:port", "/path", "unix://user:password@/path" or
 * "redis://user:password@host:port,.../0", split; with rediss:// the servers are spoken to by TLS.
 * A port may be left out: 6379. */
struct server_list {
    struct server_address *addresses;
    size_t count;
    bool tls;
    char user[SERVER_SECRET_MAX], password[SERVER_SECRET_MAX]; /* "": none; percent-decoded */
};

/* Fails: INVALID; the text never shows user or password. */
smq_status server_list_parse(struct server_list *out, const char *text, smq_error *err);
void server_list_fini(struct server_list *list);
bool server_list_contains(const struct server_list *list, const struct server_address *address);

bool server_address_is_unix(const struct server_address *address);
bool server_address_equal(const struct server_address *a, const struct server_address *b);

/* "host:port", split at the last colon; brackets around an IPv6 address are taken off.  An empty
 * host is good only if `empty_host`. */
bool server_address_parse(struct server_address *out, const char *text, size_t len,
                          bool empty_host);

/* "host:port", with brackets around an IPv6 address, or "/path". */
void server_address_format(char out[SERVER_TEXT_MAX], const struct server_address *address);

#endif
