/* fake_node.c - see fake_node.h. */
#include "fake_node.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "base/memory.h"
#include "support/wait.h"

enum { PEERS_MAX = 64, ANSWERS_MAX = 256, LOG_MAX = 20000, WORDS_MAX = 256, WAIT_MS = 20000 };

struct peer {
    int fd;
    redisReader *reader;
};

/* Everything below `lock` is under it. */
struct fake_node {
    pthread_t thread;
    int wake[2];
    char address[32];
    int port;
    pthread_mutex_t lock;
    bool ending, stopping;
    int listener; /* -1 while stopped; closed by the thread, whose poll() holds it open */
    struct peer peers[PEERS_MAX];
    size_t peer_count, accepted;
    struct fake_step steps[ANSWERS_MAX], rules[ANSWERS_MAX];
    size_t step_count, rule_count;
    char *log[LOG_MAX];
    size_t log_count;
    char shown[WORDS_MAX];
};

static const struct fake_step defaults[] = {
    {.command = "INFO", .reply = "$32\r\n# Server\r\nredis_version:7.0.15\r\n\r\n"},
    {.command = "CLUSTER SLOTS", .reply = "-ERR This instance has cluster support disabled\r\n"},
    {.command = "SCRIPT LOAD", .reply = "+loaded\r\n"},
    {.command = "ASKING", .reply = "+OK\r\n"},
    {.command = "AUTH", .reply = "+OK\r\n"},
    {.command = "PING", .reply = "+PONG\r\n"},
    {.command = "", .reply = "-ERR unknown command\r\n"},
};

static void *check(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static bool begins(const char *words, const char *command)
{
    return strncmp(words, command, strlen(command)) == 0;
}

static void poke(struct fake_node *node)
{
    while (write(node->wake[1], "x", 1) < 0 && errno == EINTR) {
    }
}

/* --- serving (under the lock) --- */

static void peer_drop(struct fake_node *node, size_t index)
{
    close(node->peers[index].fd);
    redisReaderFree(node->peers[index].reader);
    node->peers[index] = node->peers[--node->peer_count];
}

static void peer_write(const struct peer *peer, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = send(peer->fd, bytes, len, MSG_NOSIGNAL);
        if (done < 0 && errno != EINTR) {
            return; /* gone: its end is seen when it is read */
        }
        bytes += done > 0 ? done : 0;
        len -= done > 0 ? (size_t) done : 0;
    }
}

/* SSUBSCRIBE and SUNSUBSCRIBE repeat their word and channel. */
static bool answer_subscribe(const struct peer *peer, const redisReply *words)
{
    char text[512];
    bool on = strcmp(words->element[0]->str, "SSUBSCRIBE") == 0;

    if (words->elements != 2 || (!on && strcmp(words->element[0]->str, "SUNSUBSCRIBE") != 0)) {
        return false;
    }
    int len = snprintf(text, sizeof(text), "*3\r\n$%d\r\n%s\r\n$%zu\r\n%s\r\n:%d\r\n", on ? 10 : 12,
                       on ? "ssubscribe" : "sunsubscribe", (size_t) words->element[1]->len,
                       words->element[1]->str, on);
    peer_write(peer, text, (size_t) len);
    return true;
}

static struct fake_step take_answer(struct fake_node *node, const char *words, bool *found)
{
    *found = true;
    for (size_t i = 0; i < node->step_count; i++) {
        if (begins(words, node->steps[i].command)) {
            struct fake_step step = node->steps[i];
            node->step_count--;
            memmove(&node->steps[i], &node->steps[i + 1],
                    (node->step_count - i) * sizeof(node->steps[0]));
            return step;
        }
    }
    for (size_t i = node->rule_count; i-- > 0;) {
        if (begins(words, node->rules[i].command)) {
            return node->rules[i];
        }
    }
    *found = false;
    for (size_t i = 0;; i++) {
        if (begins(words, defaults[i].command)) {
            return defaults[i];
        }
    }
}

/* The words of a command, cut to fit, as they are logged. */
static char *words_join(const redisReply *command)
{
    char text[WORDS_MAX] = "";
    size_t used = 0;

    for (size_t i = 0; i < command->elements && used + 1 < sizeof(text); i++) {
        int len = snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? " " : "",
                           command->element[i]->str);
        used += len > 0 ? (size_t) len : 0;
    }
    return memory_string(text);
}

/* false: hung up. */
static bool serve(struct fake_node *node, size_t index, const redisReply *command)
{
    char *words = words_join(command);
    bool found = false;
    struct fake_step answer = take_answer(node, words, &found);

    if (node->log_count < LOG_MAX) {
        node->log[node->log_count++] = words;
    } else {
        abort();
    }
    if (!found && answer_subscribe(&node->peers[index], command)) {
        return true;
    }
    if (answer.reply != NULL) {
        peer_write(&node->peers[index], answer.reply,
                   answer.len > 0 ? answer.len : strlen(answer.reply));
    }
    if (answer.close) {
        peer_drop(node, index);
    }
    return !answer.close;
}

static void peer_read(struct fake_node *node, size_t index)
{
    char bytes[16384];
    ssize_t len = recv(node->peers[index].fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    void *command = NULL;

    if (len < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (len <= 0) {
        peer_drop(node, index);
        return;
    }
    redisReaderFeed(node->peers[index].reader, bytes, (size_t) len);
    while (redisReaderGetReply(node->peers[index].reader, &command) == REDIS_OK &&
           command != NULL) {
        bool stays = serve(node, index, command);
        freeReplyObject(command);
        if (!stays) {
            return;
        }
    }
}

static void take_connection(struct fake_node *node)
{
    int one = 1;
    int fd = accept4(node->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0) {
        return;
    }
    if (node->peer_count == PEERS_MAX) {
        abort();
    }
    (void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    node->peers[node->peer_count++] = (struct peer){.fd = fd, .reader = check(redisReaderCreate())};
    node->accepted++;
}

static void *run(void *arg)
{
    struct fake_node *node = arg;
    struct pollfd fds[PEERS_MAX + 2];

    pthread_mutex_lock(&node->lock);
    while (!node->ending) {
        size_t count = node->peer_count;
        char drain[64];

        if (node->stopping) {
            close(node->listener);
            node->listener = -1;
            node->stopping = false;
        }
        fds[0] = (struct pollfd){.fd = node->wake[0], .events = POLLIN};
        fds[1] = (struct pollfd){.fd = node->listener, .events = POLLIN};
        for (size_t i = 0; i < count; i++) {
            fds[2 + i] = (struct pollfd){.fd = node->peers[i].fd, .events = POLLIN};
        }
        pthread_mutex_unlock(&node->lock);
        (void) poll(fds, (nfds_t) count + 2, -1);
        pthread_mutex_lock(&node->lock);
        (void) !read(node->wake[0], drain, sizeof(drain));
        for (size_t i = count; i-- > 0;) {
            if (fds[2 + i].revents != 0 && i < node->peer_count &&
                node->peers[i].fd == fds[2 + i].fd) {
                peer_read(node, i);
            }
        }
        if (fds[1].revents != 0 && node->listener >= 0) {
            take_connection(node);
        }
    }
    pthread_mutex_unlock(&node->lock);
    return NULL;
}

/* --- the test's side --- */

static int listen_on(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t) port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(fd, (struct sockaddr *) &address, sizeof(address)) != 0 || listen(fd, 64) != 0) {
        perror("fake node: cannot listen");
        abort();
    }
    return fd;
}

struct fake_node *fake_node_new(void)
{
    struct fake_node *node = memory_new(sizeof(*node));
    struct sockaddr_in address = {0};
    socklen_t len = sizeof(address);

    pthread_mutex_init(&node->lock, NULL);
    node->listener = listen_on(0);
    if (pipe2(node->wake, O_CLOEXEC | O_NONBLOCK) != 0 ||
        getsockname(node->listener, (struct sockaddr *) &address, &len) != 0) {
        abort();
    }
    node->port = ntohs(address.sin_port);
    (void) snprintf(node->address, sizeof(node->address), "127.0.0.1:%d", node->port);
    if (pthread_create(&node->thread, NULL, run, node) != 0) {
        abort();
    }
    return node;
}

void fake_node_free(struct fake_node *node)
{
    pthread_mutex_lock(&node->lock);
    node->ending = true;
    pthread_mutex_unlock(&node->lock);
    poke(node);
    (void) pthread_join(node->thread, NULL);
    while (node->peer_count > 0) {
        peer_drop(node, node->peer_count - 1);
    }
    for (size_t i = 0; i < node->log_count; i++) {
        free(node->log[i]);
    }
    if (node->listener >= 0) {
        close(node->listener);
    }
    close(node->wake[0]);
    close(node->wake[1]);
    pthread_mutex_destroy(&node->lock);
    free(node);
}

const char *fake_node_address(const struct fake_node *node)
{
    return node->address;
}

int fake_node_port(const struct fake_node *node)
{
    return node->port;
}

static void add_answer(struct fake_node *node, struct fake_step *list, size_t *count,
                       const struct fake_step *step)
{
    pthread_mutex_lock(&node->lock);
    if (*count == ANSWERS_MAX) {
        abort();
    }
    list[(*count)++] = *step;
    pthread_mutex_unlock(&node->lock);
}

void fake_node_rule(struct fake_node *node, const char *command, const char *reply)
{
    add_answer(node, node->rules, &node->rule_count,
               &(struct fake_step){.command = command, .reply = reply});
}

void fake_node_step(struct fake_node *node, const struct fake_step *step)
{
    add_answer(node, node->steps, &node->step_count, step);
}

const char *fake_node_command(struct fake_node *node, const char *command, size_t index)
{
    const char *found = NULL;

    pthread_mutex_lock(&node->lock);
    for (size_t i = 0; i < node->log_count && found == NULL; i++) {
        if (begins(node->log[i], command) && index-- == 0) {
            (void) snprintf(node->shown, sizeof(node->shown), "%s", node->log[i]);
            found = node->shown;
        }
    }
    pthread_mutex_unlock(&node->lock);
    return found;
}

size_t fake_node_count(struct fake_node *node, const char *command)
{
    size_t count = 0;

    pthread_mutex_lock(&node->lock);
    for (size_t i = 0; i < node->log_count; i++) {
        count += begins(node->log[i], command) ? 1 : 0;
    }
    pthread_mutex_unlock(&node->lock);
    return count;
}

struct awaited {
    struct fake_node *node;
    const char *command;
    size_t count;
};

static bool has_come(void *arg)
{
    const struct awaited *awaited = arg;

    return fake_node_count(awaited->node, awaited->command) >= awaited->count;
}

bool fake_node_wait(struct fake_node *node, const char *command, size_t count)
{
    struct awaited awaited = {.node = node, .command = command, .count = count};

    return wait_until(has_come, &awaited, WAIT_MS);
}

static bool has_no_peers(void *arg)
{
    struct fake_node *node = arg;
    bool none = false;

    pthread_mutex_lock(&node->lock);
    none = node->peer_count == 0;
    pthread_mutex_unlock(&node->lock);
    return none;
}

bool fake_node_wait_left(struct fake_node *node)
{
    return wait_until(has_no_peers, node, WAIT_MS);
}

void fake_node_send(struct fake_node *node, const char *bytes)
{
    pthread_mutex_lock(&node->lock);
    for (size_t i = 0; i < node->peer_count; i++) {
        peer_write(&node->peers[i], bytes, strlen(bytes));
    }
    pthread_mutex_unlock(&node->lock);
}

void fake_node_hang_up(struct fake_node *node)
{
    pthread_mutex_lock(&node->lock);
    while (node->peer_count > 0) {
        peer_drop(node, node->peer_count - 1);
    }
    pthread_mutex_unlock(&node->lock);
    poke(node);
}

static bool has_stopped(void *arg)
{
    struct fake_node *node = arg;

    pthread_mutex_lock(&node->lock);
    bool stopped = node->listener < 0;
    pthread_mutex_unlock(&node->lock);
    return stopped;
}

void fake_node_stop(struct fake_node *node)
{
    pthread_mutex_lock(&node->lock);
    node->stopping = true;
    pthread_mutex_unlock(&node->lock);
    poke(node);
    if (!wait_until(has_stopped, node, WAIT_MS)) {
        abort();
    }
    fake_node_hang_up(node);
}

void fake_node_start(struct fake_node *node)
{
    pthread_mutex_lock(&node->lock);
    node->listener = listen_on(node->port);
    pthread_mutex_unlock(&node->lock);
    poke(node);
}

size_t fake_node_connections(struct fake_node *node)
{
    pthread_mutex_lock(&node->lock);
    size_t count = node->accepted;
    pthread_mutex_unlock(&node->lock);
    return count;
}
