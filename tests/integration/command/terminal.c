/* terminal.c - a terminal at which the command runs, and a user who types. */
#include "terminal.h"

#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

const struct winsize terminal_wide = {.ws_row = 30, .ws_col = 150};

void terminal_run(struct terminal *terminal, struct winsize size, const char *const words[])
{
    const char *program = getenv("SLOTMQ_COMMAND");
    const char *redis = servers_redis(command_servers());
    const char *argv[8] = {program};
    size_t count = 1;

    for (; words[count - 1] != NULL; count++) {
        assert_in_range(count, 1, sizeof(argv) / sizeof(argv[0]) - 2);
        argv[count] = words[count - 1];
    }

    memset(terminal, 0, sizeof(*terminal));
    terminal->pid = forkpty(&terminal->fd, NULL, NULL, &size);
    assert_true(terminal->pid >= 0);
    if (terminal->pid == 0) {
        setenv("TERM", "xterm", 1);
        setenv("SLOTMQ_REDIS", redis, 1);
        unsetenv("COLUMNS");
        if (program) {
            execv(program, (char *const *) argv);
        }
        _exit(127);
    }
}

void terminal_start(struct terminal *terminal, struct winsize size, const char *topic,
                    const char *interval)
{
    const char *const words[] = {"top", "--interval", interval, topic, NULL};

    terminal_run(terminal, size, words); /* without a topic about all */
}

void terminal_await(struct terminal *terminal, const char *text)
{
    struct pollfd ready = {.fd = terminal->fd, .events = POLLIN};

    while (!text || !strstr(terminal->shown, text)) {
        assert_true(poll(&ready, 1, TIMEOUT_MS) == 1);
        ssize_t got = read(terminal->fd, terminal->shown + terminal->size,
                           sizeof(terminal->shown) - 1 - terminal->size);
        if (got <= 0) {
            break; /* EIO: no process has the other side any more */
        }
        terminal->size += (size_t) got;
        assert_true(terminal->size < sizeof(terminal->shown) - 1);
    }
    if (text && !strstr(terminal->shown, text)) {
        fail_msg("not shown: %s", text);
    }
}

void terminal_type(const struct terminal *terminal, const char *keys)
{
    assert_int_equal(write(terminal->fd, keys, strlen(keys)), strlen(keys));
}

void terminal_exits(struct terminal *terminal, int code)
{
    int status = -1;

    terminal_await(terminal, NULL);
    assert_int_equal(waitpid(terminal->pid, &status, 0), terminal->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
    close(terminal->fd);
}

void terminal_end(struct terminal *terminal, int code)
{
    terminal_exits(terminal, code);
    assert_non_null(strstr(terminal->shown, "\033[?1049l"));
}
