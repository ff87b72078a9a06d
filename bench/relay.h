/* relay.h - a process between clients and one Redis node that makes the network slow: every byte
 * takes the same time in each direction.
 *
 * Thread: main. */
#ifndef BENCH_RELAY_H
#define BENCH_RELAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct relay {
    pid_t pid;
    char address[32]; /* "127.0.0.1:12345" */
};

/* Start one on a free port, on any core.  `program`: this program.  false: it did not start, and
 * the reason is on standard error. */
bool relay_start(struct relay *relay, const char *program, int port, int64_t one_way_us);
void relay_stop(struct relay *relay);

/* In that process: RELAY_OPTION PORT MICROSECONDS: an exit code.  It prints its own port. */
#define RELAY_OPTION "--relay"
enum { RELAY_ARGUMENTS = 3 };
int relay_main(char **arguments);

#endif
