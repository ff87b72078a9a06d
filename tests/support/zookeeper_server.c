/* zookeeper_server.c - a standalone ZooKeeper server, run directly from the jars of Debian's
 * libzookeeper-java. */
#include "support/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { DEFAULT_TICK_MS = 200, LONGEST_SESSION_TICKS = 300, ANSWER_TIMEOUT_MS = 1000 };

#define JARS "/usr/share/java/"

/* zookeeper.jar names the jars it needs itself; slf4j-simple logs to stderr. */
static const char CLASS_PATH[] = JARS "zookeeper.jar:" JARS "slf4j-simple.jar";

static bool write_configuration(const struct server *server, int tick_ms)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/zoo.cfg", server->folder);
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        perror(path);
        return false;
    }
    fprintf(file, "clientPort=%d\nclientPortAddress=127.0.0.1\n", server->port.number);
    fprintf(file, "dataDir=%s/data\n", server->folder);
    fprintf(file, "tickTime=%d\nmaxSessionTimeout=%d\n", tick_ms, tick_ms * LONGEST_SESSION_TICKS);
    fprintf(file, "maxClientCnxns=0\nadmin.enableServer=false\n");
    fprintf(file, "4lw.commands.whitelist=srvr,ruok,mntr\n");
    fprintf(file, "forceSync=no\npreAllocSize=1024\n"); /* its data need not outlive the machine */
    return fclose(file) == 0;
}

static int connect_to(int port)
{
    const struct timeval timeout = {.tv_sec = ANSWER_TIMEOUT_MS / 1000};
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((in_port_t) port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    if (connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool zookeeper_server_ask(const struct server *server, const char *word, char *answer, size_t size)
{
    size_t len = 0;
    ssize_t got = 1;
    int fd = connect_to(server->port.number);

    answer[0] = '\0';
    if (fd < 0) {
        return false;
    }
    if (send(fd, word, strlen(word), MSG_NOSIGNAL) == (ssize_t) strlen(word)) {
        while (got > 0 && len < size - 1) {
            got = recv(fd, answer + len, size - 1 - len, 0);
            len += got > 0 ? (size_t) got : 0;
        }
    }
    close(fd);
    answer[len] = '\0';
    return len > 0;
}

/* "srvr" names the mode only once requests are served. */
static bool serves(const struct server *server)
{
    char answer[1024];

    return zookeeper_server_ask(server, "srvr", answer, sizeof(answer)) &&
           strstr(answer, "Mode:") != NULL;
}

bool zookeeper_server_prepare(struct server *server, const struct servers_options *options)
{
    const char *const argv[] = {
        "java",
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1", /* starts faster */
        "-XX:-UsePerfData",        /* no file in /tmp */
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-cp",
        CLASS_PATH,
        "org.apache.zookeeper.server.ZooKeeperServerMain",
        "zoo.cfg",
        NULL,
    };

    memcpy(server->argv, argv, sizeof(argv));
    server->name = "ZooKeeper";
    server->answers = serves;
    if (access(JARS "zookeeper.jar", R_OK) != 0) {
        fprintf(stderr, "ZooKeeper is missing: no " JARS "zookeeper.jar (./dev setup installs "
                        "it)\n");
        return false;
    }
    return write_configuration(server, options->tick_ms > 0 ? options->tick_ms : DEFAULT_TICK_MS);
}
