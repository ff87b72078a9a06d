/* proxy.c - a proxy between clients and one server.
 *
 * Thread: as proxy.h says; links belong to the proxy's thread, `state` is shared. */
#include "support/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { LINKS_MAX = 64, CHUNK = 65536 };

/* Bytes in flight. */
struct chunk {
    STAILQ_ENTRY(chunk) link;
    int64_t due_ms; /* when they arrive */
    size_t len;
    char data[];
};

STAILQ_HEAD(chunks, chunk);

/* Invariant: fds are -1 when the link is free. */
struct link {
    int client, server;
    bool closing; /* its client has closed it, which the server does not know yet */
    bool subscribes;
    bool deaf;     /* what its server says is lost */
    bool answered; /* it was given a reply since its last request */
    atomic_int round_trips;
    struct chunks requests, replies;
};

enum proxy_wish { PROXY_PASS, PROXY_HOLD, PROXY_SILENCE, PROXY_CUT, PROXY_DEAFEN };

struct proxy {
    int listener, port, wake;
    char address[32];
    pthread_t thread;
    struct link links[LINKS_MAX];
    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        enum proxy_wish wish;
        int64_t delay_ms;
        bool stop, kept, obeyed;
        char silence_from[64]; /* "": no text is waited for */
    } state;
};

static void chunks_clear(struct chunks *chunks)
{
    struct chunk *chunk;

    while ((chunk = STAILQ_FIRST(chunks)) != NULL) {
        STAILQ_REMOVE_HEAD(chunks, link);
        free(chunk);
    }
}

static void link_close(struct link *link)
{
    close(link->client);
    close(link->server);
    chunks_clear(&link->requests);
    chunks_clear(&link->replies);
    link->client = link->server = -1;
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
            proxy->links[i].client = client;
            proxy->links[i].server = server;
            proxy->links[i].subscribes = proxy->links[i].answered = false;
            proxy->links[i].closing = proxy->links[i].deaf = false;
            atomic_store(&proxy->links[i].round_trips, 0);
            return;
        }
    }
    if (client >= 0) {
        close(client);
    }
}

static bool is_subscription(const char *data, size_t len)
{
    static const char command[] = "$10\r\nSSUBSCRIBE\r\n"; /* not the word inside a script */

    return memmem(data, len, command, sizeof(command) - 1) != NULL;
}

/* Read what has come from `fd`, and put it into `chunks` for its way of `delay_ms`. */
static struct chunk *take_chunk(int fd, struct chunks *chunks, int64_t delay_ms)
{
    static _Thread_local char buffer[CHUNK];
    ssize_t n = recv(fd, buffer, CHUNK, 0);
    struct chunk *chunk;

    if (n <= 0) {
        return NULL;
    }
    chunk = malloc(sizeof(*chunk) + (size_t) n);
    chunk->due_ms = clock_now_ms() + delay_ms;
    chunk->len = (size_t) n;
    memcpy(chunk->data, buffer, chunk->len);
    STAILQ_INSERT_TAIL(chunks, chunk, link);
    return chunk;
}

/* Hand over what has arrived.  false: the other side is gone. */
static bool give_chunks(int fd, struct chunks *chunks)
{
    int64_t now = clock_now_ms();
    struct chunk *chunk;
    bool good = true;

    while (good && (chunk = STAILQ_FIRST(chunks)) != NULL && chunk->due_ms <= now) {
        STAILQ_REMOVE_HEAD(chunks, link);
        good = write_all(fd, chunk->data, chunk->len);
        free(chunk);
    }
    return good;
}

static bool link_holds(const struct link *link, enum proxy_wish wish)
{
    return wish == PROXY_SILENCE || (wish == PROXY_HOLD && !link->subscribes);
}

/* This request may be the one from which on everything is kept back: also itself. */
static void proxy_look_at(struct proxy *proxy, const struct chunk *request)
{
    pthread_mutex_lock(&proxy->state.lock);
    const char *text = proxy->state.silence_from;
    if (text[0] != '\0' && memmem(request->data, request->len, text, strlen(text)) != NULL) {
        proxy->state.wish = PROXY_SILENCE;
        proxy->state.kept = true;
        proxy->state.silence_from[0] = '\0';
    }
    pthread_mutex_unlock(&proxy->state.lock);
}

/* What is read now has come after the last change of the delay, or soon before it. */
static int64_t delay_now(struct proxy *proxy)
{
    int64_t delay_ms;

    pthread_mutex_lock(&proxy->state.lock);
    delay_ms = proxy->state.delay_ms;
    pthread_mutex_unlock(&proxy->state.lock);
    return delay_ms;
}

static void proxy_note_kept(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->state.lock);
    proxy->state.kept = true;
    pthread_mutex_unlock(&proxy->state.lock);
}

static bool link_read(struct proxy *proxy, struct link *link, const struct pollfd polled[2],
                      enum proxy_wish wish)
{
    struct chunk *chunk;

    if (polled[0].revents != 0) {
        chunk = take_chunk(link->client, &link->requests, delay_now(proxy));
        if (chunk == NULL) {
            link->closing = link_holds(link, wish);
            return link->closing;
        }
        proxy_look_at(proxy, chunk);
        link->subscribes = link->subscribes || is_subscription(chunk->data, chunk->len);
        atomic_fetch_add(&link->round_trips, link->answered ? 1 : 0);
        link->answered = false;
    }
    if (polled[1].revents != 0) {
        chunk = take_chunk(link->server, &link->replies, delay_now(proxy));
        if (chunk == NULL) {
            return false;
        }
        if (link->deaf) {
            STAILQ_REMOVE(&link->replies, chunk, chunk, link);
            free(chunk);
            return true;
        }
        if (link_holds(link, wish)) {
            proxy_note_kept(proxy);
        }
    }
    return true;
}

static bool link_give(struct proxy *proxy, struct link *link, enum proxy_wish wish)
{
    const struct chunk *reply = STAILQ_FIRST(&link->replies);

    if (wish == PROXY_SILENCE) {
        return true;
    }
    if (!give_chunks(link->server, &link->requests)) {
        return false;
    }
    if (link_holds(link, wish)) {
        if (reply != NULL) { /* it may have been read before the test wished so */
            proxy_note_kept(proxy);
        }
        return true;
    }
    if (link->closing || !give_chunks(link->client, &link->replies)) {
        return false;
    }
    link->answered = link->answered || reply != STAILQ_FIRST(&link->replies);
    return true;
}

static void links_give(struct proxy *proxy, enum proxy_wish wish)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        struct link *link = &proxy->links[i];

        if (link->client >= 0 && !link_give(proxy, link, wish)) {
            link_close(link);
        }
    }
}

/* How long until the next bytes arrive; -1: none are in flight. */
static int links_due(const struct proxy *proxy, enum proxy_wish wish)
{
    int64_t due = INT64_MAX;
    int64_t now = clock_now_ms();

    for (int i = 0; i < LINKS_MAX; i++) {
        const struct link *link = &proxy->links[i];
        const struct chunk *request = STAILQ_FIRST(&link->requests);
        const struct chunk *reply = link_holds(link, wish) ? NULL : STAILQ_FIRST(&link->replies);

        if (wish == PROXY_SILENCE) {
            continue;
        }
        due = request != NULL && request->due_ms < due ? request->due_ms : due;
        due = reply != NULL && reply->due_ms < due ? reply->due_ms : due;
    }
    return due == INT64_MAX ? -1 : due <= now ? 0 : (int) (due - now);
}

static void cut_links(struct proxy *proxy)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        if (proxy->links[i].client >= 0 && !proxy->links[i].subscribes) {
            link_close(&proxy->links[i]);
        }
    }
}

static void links_set_deaf(struct proxy *proxy, bool deaf)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        proxy->links[i].deaf = deaf && proxy->links[i].client >= 0 && proxy->links[i].subscribes;
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
        if (*out == PROXY_CUT) {
            cut_links(proxy);
        }
        links_set_deaf(proxy, *out == PROXY_DEAFEN);
        pthread_mutex_lock(&proxy->state.lock);
        if (*out == PROXY_CUT || *out == PROXY_DEAFEN) {
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
    uint64_t count;

    if (polled[0].revents != 0) {
        (void) !read(proxy->wake, &count, sizeof(count));
    }
    for (int i = 0; i < LINKS_MAX; i++) {
        struct link *link = &proxy->links[i];

        if (link->client >= 0 && !link_read(proxy, link, &polled[2 + 2 * i], wish)) {
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
        links_give(proxy, wish);
        polled[0] = (struct pollfd){.fd = proxy->wake, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
        for (int i = 0; i < LINKS_MAX; i++) {
            int client = proxy->links[i].closing ? -1 : proxy->links[i].client;

            polled[2 + 2 * i] = (struct pollfd){.fd = client, .events = POLLIN};
            polled[3 + 2 * i] = (struct pollfd){.fd = proxy->links[i].server, .events = POLLIN};
        }
        if (poll(polled, 2 + 2 * LINKS_MAX, links_due(proxy, wish)) > 0) {
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
        proxy->links[i].client = proxy->links[i].server = -1;
        STAILQ_INIT(&proxy->links[i].requests);
        STAILQ_INIT(&proxy->links[i].replies);
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

void proxy_delay(struct proxy *proxy, int64_t one_way_ms)
{
    pthread_mutex_lock(&proxy->state.lock);
    proxy->state.delay_ms = one_way_ms;
    wake(proxy);
    pthread_mutex_unlock(&proxy->state.lock);
}

void proxy_count(struct proxy *proxy)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        atomic_store(&proxy->links[i].round_trips, 0);
    }
}

int proxy_round_trips(struct proxy *proxy)
{
    int most = 0;

    for (int i = 0; i < LINKS_MAX; i++) {
        int trips = atomic_load(&proxy->links[i].round_trips);

        most = trips > most ? trips : most;
    }
    return most;
}

void proxy_hold(struct proxy *proxy)
{
    wish_for(proxy, PROXY_HOLD);
}

void proxy_silence(struct proxy *proxy)
{
    wish_for(proxy, PROXY_SILENCE);
}

void proxy_deafen(struct proxy *proxy)
{
    wish_for(proxy, PROXY_DEAFEN);
}

void proxy_silence_from(struct proxy *proxy, const char *text)
{
    pthread_mutex_lock(&proxy->state.lock);
    proxy->state.kept = false;
    snprintf(proxy->state.silence_from, sizeof(proxy->state.silence_from), "%s", text);
    pthread_mutex_unlock(&proxy->state.lock);
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
