/* address.c - where a port listens, and by which names it may be called. */
#include "cli/http/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A host and a port that stand in a text; neither ends with NUL. */
struct address_parts {
    const char *host, *port; /* the host without its brackets; port NULL: there is none */
    size_t host_size, port_size;
    bool bracketed;
};

static bool address_split(struct address_parts *out, const char *text)
{
    const char *end = NULL;

    *out = (struct address_parts){.bracketed = text[0] == '['};
    out->host = text + (out->bracketed ? 1 : 0);
    end = out->bracketed ? strchr(out->host, ']') : text + strcspn(text, ":");
    if (!end) {
        return false;
    }
    out->host_size = (size_t) (end - out->host);
    end += out->bracketed ? 1 : 0;
    if (*end == ':') {
        out->port = end + 1;
        out->port_size = strlen(out->port);
        return out->port_size >= 1 && out->port_size <= 5 &&
               strspn(out->port, "0123456789") == out->port_size;
    }
    return *end == '\0';
}

static bool address_copy(char *out, size_t size, const char *text, size_t length)
{
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

static bool address_is_loopback(const struct sockaddr_storage *at)
{
    if (at->ss_family == AF_INET6) {
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *) at)->sin6_addr);
    }
    return (ntohl(((const struct sockaddr_in *) at)->sin_addr.s_addr) >> 24) == 127;
}

bool address_parse(struct address *out, const char *text)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct address_parts parts;
    struct addrinfo *found = NULL;
    char host[64], port[8];

    if (!address_split(&parts, text) || !parts.port ||
        !address_copy(host, sizeof(host), parts.host, parts.host_size) ||
        !address_copy(port, sizeof(port), parts.port, parts.port_size) || atoi(port) > 65535) {
        return false;
    }
    if (!parts.bracketed && strcasecmp(host, "localhost") == 0) {
        memcpy(host, "127.0.0.1", sizeof("127.0.0.1"));
    }
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        return false;
    }
    const bool right = (found->ai_family == AF_INET6) == parts.bracketed;
    *out = (struct address){.size = found->ai_addrlen};
    memcpy(&out->at, found->ai_addr, found->ai_addrlen);
    out->loopback = address_is_loopback(&out->at);
    freeaddrinfo(found);
    return right;
}

void address_text(char out[ADDRESS_ROOM], const struct address *address)
{
    char host[INET6_ADDRSTRLEN] = "";

    if (address->at.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *) &address->at;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
        snprintf(out, ADDRESS_ROOM, "[%s]:%u", host, ntohs(in->sin6_port));
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *) &address->at;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        snprintf(out, ADDRESS_ROOM, "%s:%u", host, ntohs(in->sin_port));
    }
}

static bool address_is_listed(const char *host, const char *names)
{
    const size_t length = strlen(host);

    while (names && *names != '\0') {
        const size_t size = strcspn(names, ",");
        if (size == length && strncasecmp(names, host, length) == 0) {
            return true;
        }
        names += size + (names[size] == ',' ? 1 : 0);
    }
    return false;
}

bool address_is_host(const char *host, const char *names)
{
    struct address_parts parts;
    struct in6_addr ignored;
    char name[256];

    if (!host || !address_split(&parts, host) ||
        !address_copy(name, sizeof(name), parts.host, parts.host_size)) {
        return false;
    }
    if (parts.bracketed) {
        return inet_pton(AF_INET6, name, &ignored) == 1;
    }
    return inet_pton(AF_INET, name, &ignored) == 1 || strcasecmp(name, "localhost") == 0 ||
           address_is_listed(name, names);
}

bool address_is_origin(const char *origin, const char *host)
{
    const char *begins = strstr(origin, "://");

    return begins && strcasecmp(begins + strlen("://"), host) == 0;
}
