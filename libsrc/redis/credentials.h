/* credentials.h - what the connections of a client authenticate with: the user and the password of
 * the servers' URI, a file with the password, or a callback of the application.
 *
 * The file is read before each AUTH and every CREDENTIALS_FILE_MS; when its content has changed
 * every connection authenticates again.  The callback is asked before each AUTH, by a thread
 * "smq:auth" of its own; connections that wait at the same time share one answer.  A connection
 * authenticates again when three quarters of the time have passed for which the answer is valid.
 *
 * Thread: smq:io, but credentials_check() and credentials_set(). */
#ifndef REDIS_CREDENTIALS_H
#define REDIS_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <uv.h>

#include <slotmq/client.h>

#include "base/episode.h"
#include "base/event.h"
#include "base/loop.h"
#include "redis/redis.h"
#include "redis/servers.h"

enum { CREDENTIALS_FILE_MS = 500, CREDENTIALS_AGAIN_MS = 1000 };

/* What the callback gives. */
struct smq_credentials {
    char *user, *password; /* own; NULL: not given */
    int64_t valid_ms;      /* 0: without an end */
};

/* A user and a password, valid during the call that shows them; "": none. */
struct credentials_pair {
    const char *user, *password;
};

/* One connection that authenticates.  Invariant: it is in the list of its credentials from
 * credentials_join() to credentials_leave(); `asking` from credentials_ask() until `answered`. */
struct credentials_login {
    /* NULL: there are none now, and why */
    void (*answered)(struct credentials_login *login, const struct credentials_pair *pair,
                     const char *why);
    void (*renew)(struct credentials_login *login); /* authenticate again */
    struct credentials *all;                        /* private, as all below; NULL: not joined */
    bool asking, due;                               /* due: it gets the answer that came just now */
    uint64_t version;                               /* of the file, when it was last answered */
    int64_t renew_ms;    /* when `renew` is called, by clock_now_ms(); 0: never */
    int64_t accepted_ms; /* what `renew_ms` becomes when the server accepts the answer */
    TAILQ_ENTRY(credentials_login) link;
};
TAILQ_HEAD(credentials_logins, credentials_login);

struct credentials_question;

/* Invariants: `question` is not NULL while the callback runs; `password` is that of the URI, or
 * the last one that the file had. */
struct credentials {
    struct loop *loop;
    struct events *events;
    struct redis_credentials source;
    char *user, *password; /* "": none */
    uint64_t version;      /* how often the file has changed */
    struct credentials_logins logins;
    struct credentials_question *question;
    uv_timer_t timer;
    struct episode refusals;
    bool accepted; /* a server has accepted the client */
};

/* Is there one password at most, and can the file be read?  Fails: INVALID.  Thread: any. */
smq_status credentials_check(const struct server_list *servers,
                             const struct redis_credentials *source, smq_error *err);

/* Moves the password out of `servers`.  The caller initializes `timer` before it calls
 * credentials_start(), and closes it. */
void credentials_init(struct credentials *credentials, struct loop *loop, struct events *events,
                      struct server_list *servers, const struct redis_credentials *source);
void credentials_start(struct credentials *credentials);

/* Nothing is called back any more. */
void credentials_stop(struct credentials *credentials);
void credentials_fini(struct credentials *credentials);

void credentials_join(struct credentials *credentials, struct credentials_login *login);
void credentials_leave(struct credentials_login *login); /* also one that did not join */

/* Ask for what to authenticate with; `answered` follows once, perhaps before this returns. */
void credentials_ask(struct credentials_login *login);

/* A server has accepted what was answered last, or needs no authentication. */
void credentials_accepted(struct credentials_login *login);

/* A server has refused it; `text` is one line with the server's name.  An ERROR event says so,
 * once an episode.  Returns what the connection ends with: DENIED if the client was never
 * accepted, else UNAVAILABLE, because it may be a rotation that has not come to its end. */
smq_status credentials_refused(struct credentials *credentials, const char *text);

/* As smq_credentials_set().  Thread: any. */
smq_status credentials_set(struct smq_credentials *out, const char *user, const char *password,
                           int64_t valid_ms, smq_error *err);

#endif
