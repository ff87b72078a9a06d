/* seat.h - somebody at a terminal on which slotmq top draws.
 *
 * What goes wrong fails the test that runs.
 *
 * Thread: main. */
#ifndef COMMAND_SEAT_H
#define COMMAND_SEAT_H

#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/types.h>

/* The command with a terminal as its standard input, output and error. */
struct seat {
    pid_t pid;
    int fd;
    char shown[65536];
    size_t size;
};

/* A terminal that is wide enough for every table. */
extern const struct winsize seat_wide;

/* Start slotmq top; `topic` NULL: of all topics. */
void seat_start(struct seat *seat, struct winsize size, const char *topic, const char *interval);

/* Read what it shows until `text` is there; NULL: until it ends. */
void seat_await(struct seat *seat, const char *text);

/* Type it. */
void seat_type(const struct seat *seat, const char *keys);

/* It ends with this exit code, and the terminal is as it was. */
void seat_end(struct seat *seat, int code);

#endif
