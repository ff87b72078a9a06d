/* port.h - what the tree of a fleet sends and hears: functions of the layer above, which knows
 * Redis.
 *
 * The tree is one script, of which each call is an exchange of words: bytes of any kind.  Changes
 * are published on channels, whose messages may be lost.
 *
 * Below: nothing of this folder.  Thread: as each function says. */
#ifndef COORD_PORT_H
#define COORD_PORT_H

#include <stddef.h>
#include <stdint.h>

enum { COORD_PORT_TEXT_MAX = 256, COORD_PORT_SERVER_MAX = 264 };

struct coord_word {
    const char *data;
    size_t len;
};

enum coord_port_outcome {
    COORD_PORT_DONE,
    COORD_PORT_AWAY,  /* no answer, or no use of it: whether the call was done is unknown */
    COORD_PORT_DENIED /* a right is missing: the call was not done */
};

/* One call of the script.  Its maker keeps the arguments until `done` or `drop` is called. */
struct coord_exchange {
    const struct coord_word *args;
    size_t arg_count;
    int64_t timeout_ms;
    /* Exactly one of both is called, once.  done: the port has set what follows, which is valid
     * during the call.  drop: the port was closed first.  Thread: any. */
    void (*done)(struct coord_exchange *exchange);
    void (*drop)(struct coord_exchange *exchange);
    enum coord_port_outcome outcome;
    const char *text;         /* of AWAY and DENIED: one line about what failed */
    struct coord_word *words; /* of DONE: the reply, without its first element */
    size_t word_count;
};

/* What comes on a channel; `data` NULL: it is subscribed (again), and messages may have been missed
 * before.  Thread: any. */
typedef void coord_heard_fn(void *user, const char *channel, const char *data, size_t len);

struct coord_port {
    /* Begin; `heard` is called for channels that are subscribed. */
    void (*open)(void *user, coord_heard_fn *heard, void *heard_user);
    void (*call)(void *user, struct coord_exchange *exchange);
    void (*subscribe)(void *user, const char *channel);
    void (*unsubscribe)(void *user, const char *channel);
    /* Write "host:port" of the server that has done the last call; "": none was done.  `out` has
     * COORD_PORT_SERVER_MAX bytes.  Thread: any. */
    void (*where)(void *user, char *out);
    /* End all subscriptions and exchanges: when it has returned, only `drop` is called. */
    void (*close)(void *user);
    void *user;
};

#endif
