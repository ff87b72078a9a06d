/* port.h - free ports of 127.0.0.1 that no other test program is about to use.
 *
 * Ports are taken from below the range of outgoing connections, so a server that is down for a
 * while finds its port still free when it is started again.
 *
 * Thread: any. */
#ifndef SUPPORT_PORT_H
#define SUPPORT_PORT_H

#include <stdbool.h>

enum { PORT_BUS_OFFSET = 10000 }; /* from a Redis Cluster node's port to that of its bus */

/* Invariant: while `lock` is open no other port_reserve() of this machine gives `number`. */
struct port {
    int number;
    int lock;
};

/* Reserve a port on which no process listens; `with_bus`: nor on number + PORT_BUS_OFFSET.  False
 * when none is left, which is printed on stderr. */
bool port_reserve(struct port *port, bool with_bus);
void port_release(struct port *port);

/* Does a process accept connections on 127.0.0.1:number? */
bool port_answers(int number);

#endif
