/* program_stderr.c - standard error of a program that handles a message. */
#include "cli/consume/program_stderr.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* As many processes that were left behind are listened to at once. */
enum { FOLLOWED_MAX = 64 };

/* Programs share our standard error: what one thread passes on must not make the others wait for
 * longer than it is full. */
static pthread_mutex_t stderr_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stderr_followed;

/* Not one of the descriptors that a program gets, which may be closed here. */
static int stderr_move(int fd)
{
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    close(fd);
    return moved;
}

void program_stderr_open(struct program_stderr *stream)
{
    int ends[2];

    *stream = (struct program_stderr){.in = -1, .out = -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    stream->in = stderr_move(ends[0]);
    stream->out = stderr_move(ends[1]);
    if (stream->in < 0 || stream->out < 0 || fcntl(stream->in, F_SETFL, O_NONBLOCK) != 0) {
        program_stderr_started(stream);
        program_stderr_close(stream);
    }
}

void program_stderr_started(struct program_stderr *stream)
{
    if (stream->out >= 0) {
        close(stream->out);
        stream->out = -1;
    }
}

struct pollfd program_stderr_wait(const struct program_stderr *stream)
{
    if (stream->from < stream->to) {
        return (struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT};
    }
    return (struct pollfd){.fd = stream->in, .events = POLLIN};
}

/* Writes what is held; if standard error is gone, it is gone.  false: it is full. */
static bool stderr_write(struct program_stderr *stream)
{
    struct pollfd full = {.fd = STDERR_FILENO, .events = POLLOUT};
    ssize_t written = 0;

    pthread_mutex_lock(&stderr_lock);
    if (poll(&full, 1, 0) != 0) {
        written = write(STDERR_FILENO, stream->held + stream->from, stream->to - stream->from);
        written = written < 0 && errno != EAGAIN && errno != EINTR
                      ? (ssize_t) (stream->to - stream->from)
                      : written;
    }
    pthread_mutex_unlock(&stderr_lock);
    stream->from += written > 0 ? (size_t) written : 0;
    return stream->from == stream->to;
}

bool program_stderr_pass(struct program_stderr *stream)
{
    if (stream->from < stream->to) {
        return stderr_write(stream);
    }
    if (stream->in < 0) {
        return false;
    }
    const ssize_t size = read(stream->in, stream->held, sizeof(stream->held));
    if (size > 0) {
        stream->from = 0;
        stream->to = (size_t) size;
        last_line_add(&stream->line, stream->held, (size_t) size);
        return stderr_write(stream);
    }
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(stream->in);
        stream->in = -1;
    }
    return size < 0 && errno == EINTR;
}

/* Passes on what a process writes that its program has left behind, until it ends.  Thread: its
 * own. */
static void *stderr_follow(void *user)
{
    int *in = user;
    struct program_stderr stream = {.in = *in, .out = -1};

    free(in);
    while (stream.in >= 0) {
        struct pollfd next = program_stderr_wait(&stream);

        (void) poll(&next, 1, -1);
        while (program_stderr_pass(&stream)) {
        }
    }
    atomic_fetch_sub(&stderr_followed, 1);
    return NULL;
}

void program_stderr_close(struct program_stderr *stream)
{
    int *in = NULL;
    pthread_t thread;

    if (stream->in < 0) {
        return;
    }
    if (atomic_fetch_add(&stderr_followed, 1) < FOLLOWED_MAX &&
        (in = malloc(sizeof(*in))) != NULL) {
        *in = stream->in;
        if (pthread_create(&thread, NULL, stderr_follow, in) == 0) {
            (void) pthread_detach(thread);
            stream->in = -1;
            return;
        }
    }
    free(in);
    atomic_fetch_sub(&stderr_followed, 1);
    close(stream->in);
    stream->in = -1;
}
