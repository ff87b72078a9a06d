/* announce.h - which port a Redis node tells its clients, so that they go through a relay.
 *
 * Thread: main.  Failures are printed on standard error. */
#ifndef BENCH_ANNOUNCE_H
#define BENCH_ANNOUNCE_H

#include <stdbool.h>

#include "lab.h"

/* Let the only master tell its clients the port of this address in place of its own, and wait until
 * it does: a client that learns the other one goes past the relay.  Its own address ends that. */
bool announce(struct lab *lab, const char *address);

/* The port of "127.0.0.1:7000"; 0: it has none. */
int announce_port_of(const char *address);

#endif
