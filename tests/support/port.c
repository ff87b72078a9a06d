#include "support/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Port and bus port both lie below 32768, where outgoing connections begin. */
enum { FIRST_PORT = 12000, PORTS = 10000, TRIES = 2 * PORTS };

/* Bind an abstract Unix socket named after the port: it vanishes with its process and leaves no
 * file. */
static int lock_port(int number)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int len =
        snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "slotmq-port-%d", number);
    socklen_t size = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + (size_t) len);

    if (fd >= 0 && bind(fd, (struct sockaddr *) &address, size) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static struct sockaddr_in loopback(int number)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons((in_port_t) number),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
}

static bool is_free(int number)
{
    struct sockaddr_in address = loopback(number);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* as servers do */
    bool free = bind(fd, (struct sockaddr *) &address, sizeof(address)) == 0 && listen(fd, 1) == 0;
    close(fd);
    return free;
}

bool port_reserve(struct port *port, bool with_bus)
{
    unsigned start = 0;

    if (getrandom(&start, sizeof(start), 0) != sizeof(start)) {
        start = (unsigned) getpid();
    }
    for (unsigned i = 0; i < TRIES; i++) {
        int number = FIRST_PORT + (int) ((start + i) % PORTS);
        int lock = lock_port(number);
        if (lock < 0) {
            continue;
        }
        if (is_free(number) && (!with_bus || is_free(number + PORT_BUS_OFFSET))) {
            port->number = number;
            port->lock = lock;
            return true;
        }
        close(lock);
    }
    fprintf(stderr, "no free port on 127.0.0.1 from %d to %d\n", FIRST_PORT,
            FIRST_PORT + PORTS - 1);
    return false;
}

void port_release(struct port *port)
{
    close(port->lock);
    port->lock = -1;
}

bool port_answers(int number)
{
    struct sockaddr_in address = loopback(number);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers = connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0;

    close(fd);
    return answers;
}
