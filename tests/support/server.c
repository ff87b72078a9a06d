/* server.c - running one server: start, signals, log. */
#include "support/server.h"

#include "support/process.h"
#include "support/wait.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { LOG_TAIL_BYTES = 4000 };

const char *server_address(const struct server *server)
{
    return server->address;
}

int server_port(const struct server *server)
{
    return server->port.number;
}

pid_t server_pid(const struct server *server)
{
    return server->pid;
}

void server_print_log(const struct server *server, FILE *out)
{
    char tail[LOG_TAIL_BYTES];
    int fd = open(server->log, O_RDONLY | O_CLOEXEC);

    fprintf(out, "--- %s %s, the end of its log:\n", server->name, server->address);
    if (fd >= 0) {
        off_t size = lseek(fd, 0, SEEK_END);
        ssize_t got =
            pread(fd, tail, sizeof(tail), size > LOG_TAIL_BYTES ? size - LOG_TAIL_BYTES : 0);
        fwrite(tail, 1, got > 0 ? (size_t) got : 0, out);
        close(fd);
    }
    fprintf(out, "---\n");
}

bool server_fail(const struct server *server, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s %s: ", server->name, server->address);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    server_print_log(server, stderr);
    return false;
}

bool server_launch(struct server *server)
{
    int log = open(server->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (log < 0) {
        perror(server->log);
        return false;
    }
    const struct process_options options = {
        .argv = server->argv,
        .folder = server->folder,
        .out = log,
        .err = log,
        .detached = server->detached,
    };
    server->pid = process_start(&options);
    close(log);
    return server->pid != 0;
}

static bool answers_or_ended(void *arg)
{
    struct server *server = arg;

    if (process_ended(server->pid, NULL)) {
        server->pid = 0;
        return true;
    }
    return server->answers(server);
}

bool server_await(struct server *server)
{
    if (!wait_until(answers_or_ended, server, SERVER_START_TIMEOUT_MS)) {
        return server_fail(server, "does not answer after %d s", SERVER_START_TIMEOUT_MS / 1000);
    }
    return server->pid != 0 || server_fail(server, "ended instead of serving");
}

void server_wipe(const struct server *server)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/data", server->folder);
    folder_remove(path);
}

bool server_restart(struct server *server)
{
    return server_launch(server) && server_await(server);
}

void server_kill(struct server *server)
{
    if (server->pid != 0) {
        process_kill(server->pid);
        server->pid = 0;
    }
}

void server_tell_stop(const struct server *server)
{
    if (server->pid != 0) {
        kill(server->pid, SIGTERM);
    }
}

void server_stop(struct server *server)
{
    if (server->pid != 0) {
        process_stop(server->pid, SERVER_STOP_TIMEOUT_MS);
        server->pid = 0;
    }
}

void server_pause(struct server *server)
{
    if (server->pid != 0) {
        (void) process_pause(server->pid);
    }
}

void server_resume(struct server *server)
{
    if (server->pid != 0) {
        (void) process_resume(server->pid);
    }
}
