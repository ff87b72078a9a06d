/* terminal.h - a terminal at which the command runs, and a user who types.
 *
 * What goes wrong fails the test that runs.
 *
 * Thread: main. */
#ifndef COMMAND_TERMINAL_H
#define COMMAND_TERMINAL_H

#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/types.h>

/* The command with a terminal as its standard input, output and error. */
struct terminal {
    pid_t pid;
    int fd;
    char shown[65536];
    size_t size;
};

/* A terminal that is wide enough for every table. */
extern const struct winsize terminal_wide;

/* Start the command with these words, of which NULL is the last. */
void terminal_run(struct terminal *terminal, struct winsize size, const char *const words[]);

/* Start slotmq top; `topic` NULL: of all topics. */
void terminal_start(struct terminal *terminal, struct winsize size, const char *topic,
                    const char *interval);

/* Read what it shows until `text` is there; NULL: until it ends. */
void terminal_await(struct terminal *terminal, const char *text);

/* Type it. */
void terminal_type(const struct terminal *terminal, const char *keys);

/* It ends with this exit code. */
void terminal_exits(struct terminal *terminal, int code);

/* The same of slotmq top; and the terminal is as it was. */
void terminal_end(struct terminal *terminal, int code);

#endif
