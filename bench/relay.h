/* relay.h - a process between clients and one Redis node that makes the network slow: every byte
 * takes the same time in each direction.  It can also count what the node publishes to them.
 *
 * Thread: main. */
#ifndef BENCH_RELAY_H
#define BENCH_RELAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Invariant: `received` is written by the process, and read by its owner. */
struct relay {
    pid_t pid;
    char address[32]; /* "127.0.0.1:12345" */
    /* Messages of shard channels that came to clients: each counts once for each that got it.
     * NULL: they are not counted. */
    atomic_uint_fast64_t *received;
};

struct relay_options {
    const char *program; /* this one */
    int port;            /* of the node */
    int64_t one_way_us;
    bool count;
};

/* Start one on a free port, on any core.  false: it did not start, and the reason is on standard
 * error. */
bool relay_start(struct relay *relay, const struct relay_options *options);
void relay_stop(struct relay *relay);

/* In that process: RELAY_OPTION PORT MICROSECONDS FILE: an exit code.  It prints its own port.
 * FILE holds what it counts; "-": nothing. */
#define RELAY_OPTION "--relay"
enum { RELAY_ARGUMENTS = 4 };
int relay_main(char **arguments);

#endif
