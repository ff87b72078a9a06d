/* flow_wire.h - a flow is sent by hand: each message by one command on one connection, all that are
 * due in one write; replies are read until the next one is due.
 *
 * Thread: main.  Failures are printed on standard error. */
#ifndef BENCH_FLOW_WIRE_H
#define BENCH_FLOW_WIRE_H

#include "flow.h"
#include "wire.h"

/* Invariant: `asked` - `answered` replies are still to come; `rendered` commands are not written.
 */
struct flow_wire {
    struct wire *wire;
    void (*render)(struct wire *wire, void *user, uint64_t number);
    void *user;
    uint64_t asked, answered, rendered;
};

/* Send all messages of the flow, and wait for the replies. */
bool flow_wire_send(struct flow_wire *sender, struct flow *flow);

/* One of FLOW_SLOTS for a message: by chance, but the same in each run. */
int flow_wire_slot(uint64_t number);

#endif
