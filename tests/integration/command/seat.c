/* seat.c - somebody at a terminal on which slotmq top draws. */
#include "seat.h"

#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

const struct winsize seat_wide = {.ws_row = 30, .ws_col = 150};

void seat_start(struct seat *seat, struct winsize size, const char *topic, const char *interval)
{
    const char *program = getenv("SLOTMQ_COMMAND");
    const char *redis = servers_redis(command_servers());

    memset(seat, 0, sizeof(*seat));
    seat->pid = forkpty(&seat->fd, NULL, NULL, &size);
    assert_true(seat->pid >= 0);
    if (seat->pid == 0) {
        setenv("TERM", "xterm", 1);
        setenv("SLOTMQ_REDIS", redis, 1);
        unsetenv("COLUMNS");
        if (program) { /* without a topic about all */
            execl(program, program, "top", "--interval", interval, topic, (char *) NULL);
        }
        _exit(127);
    }
}

void seat_await(struct seat *seat, const char *text)
{
    struct pollfd ready = {.fd = seat->fd, .events = POLLIN};

    while (!text || !strstr(seat->shown, text)) {
        assert_true(poll(&ready, 1, TIMEOUT_MS) == 1);
        ssize_t got =
            read(seat->fd, seat->shown + seat->size, sizeof(seat->shown) - 1 - seat->size);
        if (got <= 0) {
            break; /* EIO: nobody has the other side any more */
        }
        seat->size += (size_t) got;
        assert_true(seat->size < sizeof(seat->shown) - 1);
    }
    if (text && !strstr(seat->shown, text)) {
        fail_msg("not shown: %s", text);
    }
}

void seat_type(const struct seat *seat, const char *keys)
{
    assert_int_equal(write(seat->fd, keys, strlen(keys)), strlen(keys));
}

void seat_end(struct seat *seat, int code)
{
    int status = -1;

    seat_await(seat, NULL);
    assert_int_equal(waitpid(seat->pid, &status, 0), seat->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
    assert_non_null(strstr(seat->shown, "\033[?1049l"));
    close(seat->fd);
}
