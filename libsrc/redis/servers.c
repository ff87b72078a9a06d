/* servers.c - addresses of servers.
 *
 * Pure. */
#include "redis/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/memory.h"
#include "base/status.h"

#define DEFAULT_PORT "6379"

static const char scheme[] = "redis://", tls_scheme[] = "rediss://", unix_scheme[] = "unix://";

static int server_parse_port(const char *text, size_t len)
{
    int port = 0;

    if (len == 0 || len > 5) {
        return 0;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return 0;
        }
        port = port * 10 + (text[i] - '0');
    }
    return port <= 65535 ? port : 0;
}

static bool server_host_is_good(const char *host, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char) host[i];
        if (c <= ' ' || c >= 127 || strchr("/@,[]{}\"'", c) != NULL) {
            return false;
        }
    }
    return len < SERVER_HOST_MAX;
}

bool server_address_parse(struct server_address *out, const char *text, size_t len, bool empty_host)
{
    const char *colon = len > 0 ? memrchr(text, ':', len) : NULL;

    if (colon == NULL) {
        return false;
    }
    size_t host_len = (size_t) (colon - text);
    int port = server_parse_port(colon + 1, len - host_len - 1);
    if (host_len >= 2 && text[0] == '[' && text[host_len - 1] == ']') {
        text++;
        host_len -= 2;
    }
    if (port == 0 || (host_len == 0 && !empty_host) || !server_host_is_good(text, host_len)) {
        return false;
    }
    memcpy(out->host, text, host_len);
    out->host[host_len] = '\0';
    out->port = port;
    return true;
}

bool server_address_is_unix(const struct server_address *address)
{
    return address->host[0] == '/';
}

void server_address_format(char out[SERVER_TEXT_MAX], const struct server_address *address)
{
    if (server_address_is_unix(address)) {
        (void) snprintf(out, SERVER_TEXT_MAX, "%s", address->host);
        return;
    }
    bool ipv6 = strchr(address->host, ':') != NULL;

    (void) snprintf(out, SERVER_TEXT_MAX, ipv6 ? "[%s]:%d" : "%s:%d", address->host, address->port);
}

static int server_hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);

    return at == NULL ? -1 : (int) (at - digits);
}

/* Percent-decode text[0..len) into `out`. */
static bool server_decode_secret(char out[SERVER_SECRET_MAX], const char *text, size_t len)
{
    size_t used = 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 2 < len ? server_hex_digit(text[i + 1]) : -1;
            int low = high >= 0 ? server_hex_digit(text[i + 2]) : -1;
            if (low < 0 || high * 16 + low == 0) {
                return false;
            }
            c = (char) (high * 16 + low);
            i += 2;
        }
        if (used + 1 >= SERVER_SECRET_MAX) {
            return false;
        }
        out[used++] = c;
    }
    out[used] = '\0';
    return true;
}

/* "user:password", ":password" or "user" before the '@'. */
static bool server_parse_credentials(struct server_list *out, const char *text, size_t len)
{
    const char *colon = memchr(text, ':', len);

    if (colon == NULL) {
        return len > 0 && server_decode_secret(out->user, text, len);
    }
    size_t user_len = (size_t) (colon - text);
    return server_decode_secret(out->user, text, user_len) &&
           server_decode_secret(out->password, colon + 1, len - user_len - 1) &&
           out->password[0] != '\0';
}

/* text[0..len) is no address.  If it may contain credentials the text of the error shows nothing of
 * it. */
static smq_status server_bad_server(const char *text, size_t len, smq_error *err)
{
    if (strchr(text, '@') != NULL) {
        return status_set(err, SMQ_INVALID,
                          "the Redis servers cannot be read: with a user and a password write "
                          "redis://user:password@host:port,host:port");
    }
    if (len == 0) {
        return status_set(err, SMQ_INVALID,
                          "there is no Redis server before a comma: write host:port,host:port");
    }
    return status_set(err, SMQ_INVALID, "\"%.*s\" is no Redis server: write host:port", (int) len,
                      text);
}

/* Why the text, which is of another form than "host:port,...", cannot be used; NULL: it is of this
 * form. */
static const char *server_other_kind(const char *text)
{
    const size_t name = strcspn(text, ":/");

    if (text[0] == '/') {
        return NULL;
    }
    if (strncmp(text, "unix:", 5) == 0 || strncmp(text, "redis+unix:", 11) == 0 ||
        strncmp(text, "redis-socket:", 13) == 0) {
        return "a Unix socket of Redis is given as /path or unix://user:password@/path";
    }
    if (strncmp(text, "redis-sentinel:", 15) == 0 || strncmp(text, "sentinel:", 9) == 0) {
        return "Redis Sentinel is not supported: use Redis Cluster, or give host:port of a name "
               "that always leads to the master";
    }
    if (strncmp(text, "rediss:", 7) == 0) {
        return "servers that speak TLS are given as rediss://host:port,...";
    }
    return strncmp(text + name, "://", 3) == 0
               ? "of the forms SCHEME://... only redis://host:port,... and, for TLS, "
                 "rediss://host:port,... can be used for Redis"
               : NULL;
}

/* The path of a "redis://" text is the number of a database, which must be 0. */
static smq_status server_check_path(const char *path, smq_error *err)
{
    const size_t digits = strspn(path + 1, "0123456789");

    if (path[1] == '\0' || strcmp(path, "/0") == 0) {
        return SMQ_OK;
    }
    if (digits > 0 && digits <= 9 && path[1 + digits] == '\0') {
        return status_set(
            err, SMQ_INVALID,
            "database %s of Redis cannot be used, only 0, the one of a cluster: write "
            "redis://host:port/0",
            path + 1);
    }
    return status_set(err, SMQ_INVALID,
                      "only /0 may follow the Redis servers of redis://host:port,...");
}

/* Read the user and the password before the last '@', and advance *text behind it. */
static smq_status server_parse_user(struct server_list *out, const char **text, smq_error *err)
{
    const char *at = strrchr(*text, '@');

    if (at == NULL) {
        return SMQ_OK;
    }
    if (!server_parse_credentials(out, *text, (size_t) (at - *text))) {
        return status_set(err, SMQ_INVALID,
                          "the Redis credentials cannot be read: write "
                          "redis://user:password@host:port, with %%XX for other bytes");
    }
    *text = at + 1;
    return SMQ_OK;
}

static bool server_parse_path(struct server_address *out, const char *text, size_t len)
{
    const size_t max = sizeof(((struct sockaddr_un *) NULL)->sun_path);

    if (len < 2 || len >= max || len >= sizeof(out->host)) {
        return false;
    }
    memcpy(out->host, text, len);
    out->host[len] = '\0';
    out->port = 0;
    return true;
}

/* "host:port" as users write it: the port may be left out; or "/path". */
static bool server_parse_server(struct server_address *out, const char *text, size_t len)
{
    char with_port[SERVER_TEXT_MAX];

    if (len > 0 && text[0] == '/') {
        return server_parse_path(out, text, len);
    }
    const bool bracketed = len > 0 && text[0] == '[' && text[len - 1] == ']';

    if (len == 0 || (memchr(text, ':', len) != NULL && !bracketed)) {
        return server_address_parse(out, text, len, false);
    }
    const int written =
        snprintf(with_port, sizeof(with_port), "%.*s:" DEFAULT_PORT, (int) len, text);
    return written > 0 && (size_t) written < sizeof(with_port) &&
           server_address_parse(out, with_port, (size_t) written, false);
}

/* Read the addresses in text[0..len); a comma may follow the last one. */
static smq_status server_parse_addresses(struct server_list *out, const char *text, size_t len,
                                         smq_error *err)
{
    const char *end = text + len;

    do {
        const char *comma = memchr(text, ',', (size_t) (end - text));
        const size_t one = (size_t) ((comma != NULL ? comma : end) - text);

        out->addresses = memory_grow(out->addresses, out->count + 1, sizeof(*out->addresses));
        if (!server_parse_server(&out->addresses[out->count], text, one)) {
            return server_bad_server(text, one, err);
        }
        out->count++;
        text += one + (comma != NULL ? 1 : 0);
    } while (text < end);
    return SMQ_OK;
}

/* The scheme that the text begins with; NULL: none that can be used. */
static const char *server_find_scheme(const char *text)
{
    static const char *const schemes[] = {scheme, tls_scheme, unix_scheme};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0) {
            return schemes[i];
        }
    }
    return NULL;
}

smq_status server_list_parse(struct server_list *out, const char *text, smq_error *err)
{
    struct server_list list = {0};
    smq_status status = SMQ_OK;

    if (text == NULL || text[0] == '\0') {
        return status_set(err, SMQ_INVALID, "there are no Redis servers: give \"host:port,...\"");
    }
    const char *used = server_find_scheme(text);
    list.tls = used == tls_scheme;
    if (used == NULL && server_other_kind(text) != NULL) {
        return status_set(err, SMQ_INVALID, "%s", server_other_kind(text));
    }
    size_t len = strlen(text);
    if (used != NULL) {
        text += strlen(used);
        status = server_parse_user(&list, &text, err);
        len = used == unix_scheme ? strlen(text) : strcspn(text, "/");
        if (status == SMQ_OK && text[len] != '\0') {
            status = server_check_path(text + len, err);
        }
    }
    if (status == SMQ_OK && used == unix_scheme && text[0] != '/') {
        status = status_set(err, SMQ_INVALID, "no path follows unix://: write unix:///path");
    }
    if (status == SMQ_OK) {
        status = server_parse_addresses(&list, text, len, err);
    }
    if (status != SMQ_OK) {
        server_list_fini(&list);
        return status;
    }
    *out = list;
    return SMQ_OK;
}

bool server_address_equal(const struct server_address *a, const struct server_address *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

bool server_list_contains(const struct server_list *list, const struct server_address *address)
{
    for (size_t i = 0; i < list->count; i++) {
        if (server_address_equal(&list->addresses[i], address)) {
            return true;
        }
    }
    return false;
}

void server_list_fini(struct server_list *list)
{
    free(list->addresses);
    explicit_bzero(list, sizeof(*list));
}
