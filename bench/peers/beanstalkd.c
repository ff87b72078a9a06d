/* beanstalkd.c - beanstalkd by hand: one connection, up to 100 commands in flight.
 *
 * Thread: main. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "peers/peer.h"
#include "support/port.h"
#include "support/process.h"
#include "support/wait.h"

enum { IN_FLIGHT = 100, BUFFER = 65536, START_MS = 10000, STOP_MS = 10000 };

/* Invariant: in[from .. to) is read and not taken; out[0 .. len) is rendered and not written. */
struct tube {
    int fd;
    size_t from, to, len;
    char in[BUFFER], out[BUFFER];
};

static bool connect_to(struct tube *tube, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t) port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = PEER_STALL_S};
    int on = 1;

    *tube = (struct tube){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    setsockopt(tube->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(tube->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return connect(tube->fd, (const struct sockaddr *) &address, sizeof(address)) == 0;
}

static bool flush(struct tube *tube)
{
    size_t written = 0;

    while (written < tube->len) {
        ssize_t some = write(tube->fd, tube->out + written, tube->len - written);
        if (some <= 0) {
            fprintf(stderr, "bench: beanstalkd: %s\n", strerror(errno));
            return false;
        }
        written += (size_t) some;
    }
    tube->len = 0;
    return true;
}

/* More input behind what is there; flushes first. */
static bool feed(struct tube *tube)
{
    memmove(tube->in, tube->in + tube->from, tube->to - tube->from);
    tube->to -= tube->from;
    tube->from = 0;
    if (!flush(tube)) {
        return false;
    }
    ssize_t some = read(tube->fd, tube->in + tube->to, sizeof(tube->in) - tube->to);
    if (some <= 0) {
        fprintf(stderr, "bench: beanstalkd: %s\n", some == 0 ? "end of file" : strerror(errno));
        return false;
    }
    tube->to += (size_t) some;
    return true;
}

/* The next `len` bytes (0: the next line with its end); NULL: no connection. */
static const char *take(struct tube *tube, size_t len)
{
    size_t wanted = len;

    for (;;) {
        const char *start = tube->in + tube->from;
        size_t there = tube->to - tube->from;
        const char *end = len == 0 ? memchr(start, '\n', there) : NULL;
        wanted = end != NULL ? (size_t) (end + 1 - start) : len;
        if (wanted > 0 && there >= wanted) {
            tube->from += wanted;
            return start;
        }
        if (!feed(tube)) {
            return NULL;
        }
    }
}

static void render(struct tube *tube, const char *text, size_t len)
{
    memcpy(tube->out + tube->len, text, len);
    tube->len += len;
}

static void put(struct tube *tube, uint64_t number)
{
    char body[TALLY_BODY], head[40];

    snprintf(head, sizeof(head), "put 100 0 60 %d\r\n", TALLY_BODY);
    tally_body(body, sizeof(body), number);
    render(tube, head, strlen(head));
    render(tube, body, sizeof(body));
    render(tube, "\r\n", 2);
}

static bool send_all(void *arg, uint64_t count)
{
    struct tube *tube = arg;
    uint64_t sent = 0;

    for (uint64_t answered = 0; answered < count; answered++) {
        for (; sent < count && sent - answered < IN_FLIGHT; sent++) {
            put(tube, sent);
        }
        const char *line = take(tube, 0);
        if (line == NULL || strncmp(line, "INSERTED", 8) != 0) {
            fprintf(stderr, "bench: beanstalkd did not take a message\n");
            return false;
        }
    }
    return true;
}

/* "RESERVED ID LEN", then the body: deletes it and reserves another one. */
static bool take_one(struct tube *tube, struct tally *tally, bool another)
{
    unsigned long long id = 0, len = 0;
    char line[64] = "", command[48] = "";
    const char *head = take(tube, 0);

    if (head != NULL) {
        memcpy(line, head, strcspn(head, "\r") < sizeof(line) - 1 ? strcspn(head, "\r") : 0);
    }
    const char *body = sscanf(line, "RESERVED %llu %llu", &id, &len) == 2 && len < BUFFER / 2
                           ? take(tube, (size_t) len + 2)
                           : NULL;
    if (body == NULL) {
        fprintf(stderr, "bench: beanstalkd gave no message: %s\n", line);
        return false;
    }
    tally_tick(tally, 0, body, (size_t) len);
    snprintf(command, sizeof(command), "delete %llu\r\n", id);
    render(tube, command, strlen(command));
    if (another) {
        render(tube, "reserve\r\n", 9);
    }
    return true;
}

/* Replies come in the order of the commands: first those of 100 times reserve, then of delete and
 * reserve in turn. */
static bool drain(void *arg, struct tally *tally, uint64_t count)
{
    struct tube *tube = arg;
    uint64_t reserved = count < IN_FLIGHT ? count : IN_FLIGHT;

    for (uint64_t i = 0; i < reserved; i++) {
        render(tube, "reserve\r\n", 9);
    }
    for (uint64_t taken = 0; taken < count; taken++) {
        if (taken >= IN_FLIGHT && take(tube, 0) == NULL) { /* DELETED */
            return false;
        }
        bool another = reserved < count;
        if (!take_one(tube, tally, another)) {
            return false;
        }
        reserved += another ? 1 : 0;
    }
    for (uint64_t i = 0; i < (count < IN_FLIGHT ? count : IN_FLIGHT); i++) {
        if (take(tube, 0) == NULL) {
            return false;
        }
    }
    return true;
}

static bool answers(void *arg)
{
    const struct port *port = arg;

    return port_answers(port->number);
}

static bool with_server(int port, uint64_t count, struct peer_result *out)
{
    struct tube *tube = calloc(1, sizeof(*tube));

    if (tube == NULL) {
        abort();
    }
    bool good = connect_to(tube, port) && peer_time(tube, send_all, drain, count, out);
    close(tube->fd);
    free(tube);
    return good;
}

static const char *missing(const struct lab *lab)
{
    (void) lab;
    return peer_has_program("beanstalkd") ? NULL : "there is no such program";
}

static bool measure(struct lab *lab, uint64_t count, struct peer_result *out)
{
    struct port port;
    char number[12];
    const char *const argv[] = {"beanstalkd", "-l", "127.0.0.1", "-p", number, NULL};
    struct process_options options = {.argv = argv, .err = STDERR_FILENO};

    if (!port_reserve(&port, false)) {
        return false;
    }
    snprintf(number, sizeof(number), "%d", port.number);
    pid_t pid = lab_start_server(lab, &options);
    bool good =
        pid > 0 && wait_until(answers, &port, START_MS) && with_server(port.number, count, out);
    if (pid > 0) {
        process_stop(pid, STOP_MS);
    }
    port_release(&port);
    return good;
}

const struct peer peer_beanstalkd = {.name = "beanstalkd",
                                     .how = "one connection, 100 commands in flight",
                                     .missing = missing,
                                     .measure = measure};
