/* gate.c - handlers that end when the test lets them. */
#include "gate.h"

#include "command.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

void gate_close(struct gate *gate)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/gate", servers_folder(command_servers()));
    snprintf(gate->program, sizeof(gate->program), "flock -s '%s' true", path);
    gate->fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(gate->fd >= 0);
    assert_int_equal(flock(gate->fd, LOCK_EX), 0);
}

void gate_open(struct gate *gate)
{
    assert_int_equal(close(gate->fd), 0);
}
