#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "meter.h"

enum { READ_SIZE = 65536, FIRST_SIZE = 65536, WAIT_MOST = 128 };

/* Invariant: out[0 .. len) is rendered and not written. */
struct wire {
    redisContext *redis; /* its socket and its parser */
    char *out;
    size_t len, size;
    char in[READ_SIZE];
};

struct wire *wire_open(const char *address)
{
    struct wire *wire = calloc(1, sizeof(*wire));
    char host[64] = "";
    int port = 0;

    if (wire == NULL) {
        abort();
    }
    if (sscanf(address, "%63[^:]:%d", host, &port) == 2) {
        wire->redis = redisConnect(host, port);
    }
    if (wire->redis == NULL || wire->redis->err != 0) {
        fprintf(stderr, "bench: %s: %s\n", address,
                wire->redis != NULL ? wire->redis->errstr : "no address");
        wire_close(wire);
        return NULL;
    }
    return wire;
}

void wire_close(struct wire *wire)
{
    if (wire != NULL) {
        redisFree(wire->redis);
        free(wire->out);
        free(wire);
    }
}

/* Room for `len` more bytes. */
static char *room(struct wire *wire, size_t len)
{
    if (wire->size - wire->len < len) {
        wire->size = wire->size > 0 ? wire->size : FIRST_SIZE;
        while (wire->size - wire->len < len) {
            wire->size *= 2;
        }
        wire->out = realloc(wire->out, wire->size);
        if (wire->out == NULL) {
            abort();
        }
    }
    return wire->out + wire->len;
}

/* "*12\r\n", "$12\r\n" */
static void head(struct wire *wire, char kind, size_t number)
{
    char digits[24];
    size_t len = sizeof(digits);

    digits[--len] = '\n';
    digits[--len] = '\r';
    do {
        digits[--len] = (char) ('0' + number % 10);
        number /= 10;
    } while (number > 0);
    digits[--len] = kind;
    memcpy(room(wire, sizeof(digits)), digits + len, sizeof(digits) - len);
    wire->len += sizeof(digits) - len;
}

void wire_command(struct wire *wire, size_t words)
{
    head(wire, '*', words);
}

void wire_bytes(struct wire *wire, const void *data, size_t len)
{
    head(wire, '$', len);
    char *end = room(wire, len + 2);
    memcpy(end, data, len);
    end[len] = '\r';
    end[len + 1] = '\n';
    wire->len += len + 2;
}

void wire_text(struct wire *wire, const char *text)
{
    wire_bytes(wire, text, strlen(text));
}

void wire_number(struct wire *wire, int64_t number)
{
    char text[24] = "";

    snprintf(text, sizeof(text), "%lld", (long long) number);
    wire_text(wire, text);
}

bool wire_flush(struct wire *wire)
{
    size_t written = 0;

    while (written < wire->len) {
        ssize_t some = write(wire->redis->fd, wire->out + written, wire->len - written);
        if (some > 0) {
            written += (size_t) some;
        } else if (errno != EINTR) {
            fprintf(stderr, "bench: writing to Redis: %s\n", strerror(errno));
            return false;
        }
    }
    wire->len = 0;
    return true;
}

static bool feed(struct wire *wire, int flags)
{
    ssize_t some = recv(wire->redis->fd, wire->in, sizeof(wire->in), flags);

    if (some < 0 && (errno == EINTR || errno == EAGAIN)) {
        return true;
    }
    if (some <= 0) {
        fprintf(stderr, "bench: reading from Redis: %s\n",
                some == 0 ? "end of file" : strerror(errno));
        return false;
    }
    return redisReaderFeed(wire->redis->reader, wire->in, (size_t) some) == REDIS_OK;
}

bool wire_take(struct wire *wire)
{
    return feed(wire, MSG_DONTWAIT);
}

bool wire_next(struct wire *wire, redisReply **out)
{
    void *reply = NULL;

    *out = NULL;
    if (redisReaderGetReply(wire->redis->reader, &reply) != REDIS_OK) {
        fprintf(stderr, "bench: Redis: %s\n", wire->redis->reader->errstr);
        return false;
    }
    redisReply *answer = reply;
    if (answer != NULL && answer->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "bench: Redis: %s\n", answer->str);
        freeReplyObject(answer);
        return false;
    }
    *out = answer;
    return true;
}

redisReply *wire_reply(struct wire *wire)
{
    redisReply *reply = NULL;

    while (wire_next(wire, &reply) && reply == NULL) {
        if (!wire_flush(wire) || !feed(wire, 0)) {
            return NULL;
        }
    }
    return reply;
}

bool wire_wait(struct wire *const *wires, int count, int64_t until_ns, bool *ready)
{
    struct pollfd polled[WAIT_MOST];
    int64_t left_ns = until_ns - meter_now_ns();
    bool good = true;

    left_ns = left_ns > 0 ? left_ns : 0;
    struct timespec left = {.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000};
    for (int i = 0; i < count; i++) {
        polled[i] = (struct pollfd){.fd = wires[i]->redis->fd, .events = POLLIN};
    }
    int some = ppoll(polled, (nfds_t) count, &left, NULL);
    for (int i = 0; i < count; i++) {
        ready[i] = some > 0 && polled[i].revents != 0;
        good = good && (!ready[i] || wire_take(wires[i]));
    }
    return good;
}

redisReply *wire_ask(struct wire *wire, const char *format, ...)
{
    char *command = NULL;
    va_list args;

    va_start(args, format);
    int len = redisvFormatCommand(&command, format, args);
    va_end(args);
    if (len < 0) {
        return NULL;
    }
    memcpy(room(wire, (size_t) len), command, (size_t) len);
    wire->len += (size_t) len;
    redisFreeCommand(command);
    return wire_reply(wire);
}

bool wire_is_ok(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
           reply->element[0]->str != NULL && strcmp(reply->element[0]->str, "OK") == 0;
}
