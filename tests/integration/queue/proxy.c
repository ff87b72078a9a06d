/* proxy.c - stands between a client and one Redis server.
 *
 * Thread: as proxy.h says; links belong to the proxy's thread, `state` is shared. */
#include "proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINKS_MAX = 64, CHUNK = 65536 };

/* Invariant: fds are -1 when the link is free.  `kept` is what the client has not got. */
struct link {
    int client, server;
    bool subscribes;
    char *kept;
    size_t kept_len;
};

enum proxy_wish { PROXY_PASS, PROXY_HOLD, PROXY_CUT };

struct proxy {
    int listener, port, wake;
    char address[32];
    pthread_t thread;
    struct link links[LINKS_MAX];
    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        enum proxy_wish wish;
        bool stop, kept, obeyed;
    } state;
};

static void link_close(struct link *link)
{
    close(link->client);
    close(link->server);
    free(link->kept);
    *link = (struct link){.client = -1, .server = -1};
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

        if (n <= 0) {
            return false;
        }
        data += n;
        len -= (size_t) n;
    }
    return true;
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void link_accept(struct proxy *proxy)
{
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);

    for (int i = 0; client >= 0 && i < LINKS_MAX; i++) {
        if (proxy->links[i].client < 0) {
            int server = connect_to(proxy->port);

            if (server < 0) {
                break;
            }
            proxy->links[i] = (struct link){.client = client, .server = server};
            return;
        }
    }
    if (client >= 0) {
        close(client);
    }
}

static bool is_subscription(const char *data, size_t len)
{
    return memmem(data, len, "SSUBSCRIBE", 10) != NULL;
}

static bool pass_request(struct link *link, char *buffer)
{
    ssize_t n = recv(link->client, buffer, CHUNK, 0);

    if (n <= 0) {
        return false;
    }
    link->subscribes = link->subscribes || is_subscription(buffer, (size_t) n);
    return write_all(link->server, buffer, (size_t) n);
}

static void keep(struct proxy *proxy, struct link *link, const char *data, size_t len)
{
    link->kept = realloc(link->kept, link->kept_len + len);
    memcpy(link->kept + link->kept_len, data, len);
    link->kept_len += len;
    pthread_mutex_lock(&proxy->state.lock);
    proxy->state.kept = true;
    pthread_mutex_unlock(&proxy->state.lock);
}

static bool pass_reply(struct proxy *proxy, struct link *link, char *buffer, enum proxy_wish wish)
{
    ssize_t n = recv(link->server, buffer, CHUNK, 0);

    if (n <= 0) {
        return false;
    }
    if (wish == PROXY_HOLD && !link->subscribes) {
        keep(proxy, link, buffer, (size_t) n);
        return true;
    }
    return write_all(link->client, buffer, (size_t) n);
}

static void obey(struct proxy *proxy, enum proxy_wish wish)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        struct link *link = &proxy->links[i];

        if (link->client < 0 || link->subscribes || wish == PROXY_HOLD) {
            continue;
        }
        if (wish == PROXY_CUT ||
            (link->kept_len > 0 && !write_all(link->client, link->kept, link->kept_len))) {
            link_close(link);
            continue;
        }
        free(link->kept);
        link->kept = NULL;
        link->kept_len = 0;
    }
}

/* What the test wishes now; a new wish is obeyed first.  false: stop. */
static bool take_wish(struct proxy *proxy, enum proxy_wish *out)
{
    bool stop, obeyed;

    pthread_mutex_lock(&proxy->state.lock);
    *out = proxy->state.wish;
    stop = proxy->state.stop;
    obeyed = proxy->state.obeyed;
    pthread_mutex_unlock(&proxy->state.lock);
    if (!obeyed) {
        obey(proxy, *out);
        pthread_mutex_lock(&proxy->state.lock);
        if (*out == PROXY_CUT) {
            *out = proxy->state.wish = PROXY_PASS;
        }
        proxy->state.obeyed = true;
        proxy->state.kept = false;
        pthread_cond_broadcast(&proxy->state.changed);
        pthread_mutex_unlock(&proxy->state.lock);
    }
    return !stop;
}

static void serve(struct proxy *proxy, const struct pollfd *polled, enum proxy_wish wish)
{
    static _Thread_local char buffer[CHUNK];
    uint64_t count;

    if (polled[0].revents != 0) {
        (void) !read(proxy->wake, &count, sizeof(count));
    }
    for (int i = 0; i < LINKS_MAX; i++) {
        struct link *link = &proxy->links[i];
        bool good = true;

        if (link->client < 0) {
            continue;
        }
        if (polled[2 + 2 * i].revents != 0) {
            good = pass_request(link, buffer);
        }
        if (good && polled[3 + 2 * i].revents != 0) {
            good = pass_reply(proxy, link, buffer, wish);
        }
        if (!good) {
            link_close(link);
        }
    }
    if (polled[1].revents != 0) {
        link_accept(proxy);
    }
}

static void *proxy_main(void *arg)
{
    struct proxy *proxy = arg;
    struct pollfd polled[2 + 2 * LINKS_MAX];
    enum proxy_wish wish;

    while (take_wish(proxy, &wish)) {
        polled[0] = (struct pollfd){.fd = proxy->wake, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
        for (int i = 0; i < LINKS_MAX; i++) {
            polled[2 + 2 * i] = (struct pollfd){.fd = proxy->links[i].client, .events = POLLIN};
            polled[3 + 2 * i] = (struct pollfd){.fd = proxy->links[i].server, .events = POLLIN};
        }
        if (poll(polled, 2 + 2 * LINKS_MAX, -1) > 0) {
            serve(proxy, polled, wish);
        }
    }
    return NULL;
}

static int listen_somewhere(struct sockaddr_in *address)
{
    socklen_t len = sizeof(*address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *) address, sizeof(*address)) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *) address, &len) != 0) {
        perror("proxy");
        abort();
    }
    return fd;
}

struct proxy *proxy_start(int port)
{
    struct proxy *proxy = calloc(1, sizeof(*proxy));
    struct sockaddr_in address;

    proxy->listener = listen_somewhere(&address);
    proxy->port = port;
    proxy->wake = eventfd(0, EFD_CLOEXEC);
    proxy->state.obeyed = true;
    snprintf(proxy->address, sizeof(proxy->address), "127.0.0.1:%d", ntohs(address.sin_port));
    for (int i = 0; i < LINKS_MAX; i++) {
        proxy->links[i] = (struct link){.client = -1, .server = -1};
    }
    pthread_mutex_init(&proxy->state.lock, NULL);
    pthread_cond_init(&proxy->state.changed, NULL);
    pthread_create(&proxy->thread, NULL, proxy_main, proxy);
    return proxy;
}

static void wake(struct proxy *proxy)
{
    uint64_t one = 1;

    (void) !write(proxy->wake, &one, sizeof(one));
}

/* Returns when it is obeyed. */
static void wish_for(struct proxy *proxy, enum proxy_wish wish)
{
    pthread_mutex_lock(&proxy->state.lock);
    proxy->state.wish = wish;
    proxy->state.obeyed = false;
    wake(proxy);
    while (!proxy->state.obeyed) {
        pthread_cond_wait(&proxy->state.changed, &proxy->state.lock);
    }
    pthread_mutex_unlock(&proxy->state.lock);
}

void proxy_stop(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->state.lock);
    proxy->state.stop = true;
    wake(proxy);
    pthread_mutex_unlock(&proxy->state.lock);
    pthread_join(proxy->thread, NULL);
    for (int i = 0; i < LINKS_MAX; i++) {
        if (proxy->links[i].client >= 0) {
            link_close(&proxy->links[i]);
        }
    }
    close(proxy->listener);
    close(proxy->wake);
    pthread_mutex_destroy(&proxy->state.lock);
    pthread_cond_destroy(&proxy->state.changed);
    free(proxy);
}

const char *proxy_address(const struct proxy *proxy)
{
    return proxy->address;
}

void proxy_hold(struct proxy *proxy)
{
    wish_for(proxy, PROXY_HOLD);
}

void proxy_release(struct proxy *proxy)
{
    wish_for(proxy, PROXY_PASS);
}

void proxy_cut(struct proxy *proxy)
{
    wish_for(proxy, PROXY_CUT);
}

bool proxy_has_kept(struct proxy *proxy)
{
    bool kept;

    pthread_mutex_lock(&proxy->state.lock);
    kept = proxy->state.kept;
    pthread_mutex_unlock(&proxy->state.lock);
    return kept;
}
