#include "relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "meter.h"
#include "support/process.h"

enum { READ_SIZE = 65536, EVENTS = 64, STOP_MS = 5000, BACKLOG = 256 };

/* === The process ======================================================== */

/* It stays until the process ends.  Invariant: while `open`, both descriptors are. */
struct link {
    int fds[2]; /* of the client, of the server */
    bool open;
};

/* One direction of a link.  Invariant: what came last ends with `matched` bytes of relay_word. */
struct side {
    struct link *link;
    int from; /* an index of fds */
    size_t matched;
};

/* Bytes that have not arrived; as all take the same time, they arrive in the order of the list. */
struct chunk {
    STAILQ_ENTRY(chunk) next;
    int64_t due_ns;
    struct side *side;
    size_t len;
    char data[];
};

static STAILQ_HEAD(chunks, chunk) chunks = STAILQ_HEAD_INITIALIZER(chunks);
static int listener, events, server_port;
static int64_t one_way_ns;
static atomic_uint_fast64_t *received; /* NULL: nothing is counted */

/* With this begins what a node sends to a subscriber of a shard channel.  Its first byte does not
 * come again in it. */
static const char relay_word[] = "$8\r\nsmessage\r\n";

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void *make(size_t size)
{
    void *made = calloc(1, size);

    if (made == NULL) {
        abort();
    }
    return made;
}

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port)};

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static void watch(int fd, void *user)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = user};

    if (epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) != 0) {
        fail("bench: relay: epoll_ctl");
    }
}

static void accept_link(void)
{
    struct sockaddr_in server = loopback(server_port);
    struct link *link = make(sizeof(*link));
    const int yes = 1;

    *link = (struct link){.fds = {accept4(listener, NULL, NULL, SOCK_CLOEXEC),
                                  socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)},
                          .open = true};
    if (link->fds[0] < 0 || link->fds[1] < 0 ||
        connect(link->fds[1], (struct sockaddr *) &server, sizeof(server)) != 0) {
        fail("bench: relay: connect");
    }
    for (int i = 0; i < 2; i++) {
        struct side *side = make(sizeof(*side));
        *side = (struct side){.link = link, .from = i};
        setsockopt(link->fds[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        watch(link->fds[i], side);
    }
}

static void close_link(struct link *link)
{
    if (link->open) {
        link->open = false;
        close(link->fds[0]);
        close(link->fds[1]);
    }
}

static void count_received(struct side *side, const char *data, size_t len)
{
    if (received == NULL || side->from != 1) {
        return;
    }
    for (size_t i = 0; i < len; i++) {
        side->matched = data[i] == relay_word[side->matched] ? side->matched + 1
                        : data[i] == relay_word[0]           ? 1
                                                             : 0;
        if (side->matched == sizeof(relay_word) - 1) {
            side->matched = 0;
            atomic_fetch_add(received, 1);
        }
    }
}

static void take(struct side *side)
{
    static char buffer[READ_SIZE];
    struct link *link = side->link;

    if (!link->open) {
        return;
    }
    ssize_t some = recv(link->fds[side->from], buffer, sizeof(buffer), MSG_DONTWAIT);
    if (some < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (some <= 0) {
        close_link(link);
        return;
    }
    count_received(side, buffer, (size_t) some);
    struct chunk *chunk = make(sizeof(*chunk) + (size_t) some);
    chunk->due_ns = meter_now_ns() + one_way_ns;
    chunk->side = side;
    chunk->len = (size_t) some;
    memcpy(chunk->data, buffer, chunk->len);
    STAILQ_INSERT_TAIL(&chunks, chunk, next);
}

static void give(const struct chunk *chunk)
{
    struct link *link = chunk->side->link;
    size_t written = 0;

    while (link->open && written < chunk->len) {
        ssize_t some = send(link->fds[1 - chunk->side->from], chunk->data + written,
                            chunk->len - written, MSG_NOSIGNAL);
        if (some > 0) {
            written += (size_t) some;
        } else if (errno != EINTR) {
            close_link(link);
        }
    }
}

static void give_what_is_due(void)
{
    struct chunk *chunk;

    while ((chunk = STAILQ_FIRST(&chunks)) != NULL && chunk->due_ns <= meter_now_ns()) {
        STAILQ_REMOVE_HEAD(&chunks, next);
        give(chunk);
        free(chunk);
    }
}

/* Until something arrives, or has to be given. */
static void wait_for_more(void)
{
    const struct chunk *first = STAILQ_FIRST(&chunks);
    struct pollfd polled = {.fd = events, .events = POLLIN};
    int64_t left_ns = first != NULL ? first->due_ns - meter_now_ns() : 0;

    left_ns = left_ns > 0 ? left_ns : 0;
    struct timespec left = {.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000};
    ppoll(&polled, 1, first != NULL ? &left : NULL, NULL);
}

static void serve(void)
{
    struct epoll_event happened[EVENTS];

    for (;;) {
        wait_for_more();
        give_what_is_due();
        int count = epoll_wait(events, happened, EVENTS, 0);
        for (int i = 0; i < count; i++) {
            if (happened[i].data.ptr == NULL) {
                accept_link();
            } else {
                take(happened[i].data.ptr);
            }
        }
    }
}

static int listen_somewhere(void)
{
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof(address);

    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    events = epoll_create1(EPOLL_CLOEXEC);
    if (bind(listener, (struct sockaddr *) &address, len) != 0 || listen(listener, BACKLOG) != 0 ||
        getsockname(listener, (struct sockaddr *) &address, &len) != 0) {
        fail("bench: relay: listen");
    }
    watch(listener, NULL);
    return ntohs(address.sin_port);
}

static void take_any_core(void)
{
    cpu_set_t cores;

    memset(&cores, 0xff, sizeof(cores));
    sched_setaffinity(0, sizeof(cores), &cores);
    prctl(PR_SET_TIMERSLACK, 1L);
}

/* NULL: it failed. */
static atomic_uint_fast64_t *map_counter(int fd)
{
    void *mapped = mmap(NULL, sizeof(*received), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (mapped == MAP_FAILED) {
        perror("bench: relay: mmap");
        return NULL;
    }
    return mapped;
}

int relay_main(char **arguments)
{
    server_port = (int) strtol(arguments[1], NULL, 10);
    one_way_ns = strtoll(arguments[2], NULL, 10) * 1000;
    if (strcmp(arguments[3], "-") != 0) {
        int fd = open(arguments[3], O_RDWR | O_CLOEXEC);
        if (fd < 0 || (received = map_counter(fd)) == NULL) {
            fail(arguments[3]);
        }
        close(fd);
    }
    take_any_core();
    printf("%d\n", listen_somewhere());
    fflush(stdout);
    serve();
    return EXIT_SUCCESS;
}

/* === Its start and end ================================================== */

static bool read_port(int fd, int *out)
{
    FILE *file = fdopen(fd, "re");
    bool good = file != NULL && fscanf(file, "%d", out) == 1;

    if (file != NULL) {
        fclose(file);
    }
    return good;
}

/* A file with a counter of 0, and its mapping; it is removed with TMPDIR (guard.h). */
static bool make_counter(struct relay *relay, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/relay-XXXXXX", getenv("TMPDIR"));
    int fd = mkostemp(path, O_CLOEXEC);
    bool good = fd >= 0 && ftruncate(fd, sizeof(*relay->received)) == 0 &&
                (relay->received = map_counter(fd)) != NULL;

    if (fd >= 0) {
        close(fd);
    }
    if (!good) {
        perror(path);
    }
    return good;
}

bool relay_start(struct relay *relay, const struct relay_options *options)
{
    char server[12], delay[24], path[PATH_MAX] = "-";
    const char *const argv[] = {options->program, RELAY_OPTION, server, delay, path, NULL};
    int ends[2], own = 0;

    *relay = (struct relay){.pid = 0};
    snprintf(server, sizeof(server), "%d", options->port);
    snprintf(delay, sizeof(delay), "%lld", (long long) options->one_way_us);
    if (options->count && !make_counter(relay, path)) {
        return false;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        perror("bench: pipe");
        return false;
    }
    relay->pid = process_start(
        &(struct process_options){.argv = argv, .out = ends[1], .err = STDERR_FILENO});
    close(ends[1]);
    bool good = read_port(ends[0], &own) && relay->pid != 0;
    snprintf(relay->address, sizeof(relay->address), "127.0.0.1:%d", own);
    return good;
}

void relay_stop(struct relay *relay)
{
    if (relay->pid != 0) {
        process_stop(relay->pid, STOP_MS);
        relay->pid = 0;
    }
    if (relay->received != NULL) {
        munmap(relay->received, sizeof(*relay->received));
        relay->received = NULL;
    }
}
