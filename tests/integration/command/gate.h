/* gate.h - handlers that end when the test lets them.
 *
 * What goes wrong fails the test that runs.
 *
 * Thread: main. */
#ifndef COMMAND_GATE_H
#define COMMAND_GATE_H

/* `program`, a line of sh, waits while the gate is closed; from then on it ends at once. */
struct gate {
    char program[600];
    int fd; /* holds the lock for which the program waits */
};

void gate_close(struct gate *gate);
void gate_open(struct gate *gate);

#endif
