/* redirect.h - what a reply means for its command: the only file that reads the texts of errors.
 *
 * Pure. */
#ifndef REDIS_REDIRECT_H
#define REDIS_REDIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "redis/servers.h"

enum step_kind {
    STEP_DONE,    /* executed */
    STEP_MOVED,   /* not executed: another node owns the hash slot */
    STEP_ASK,     /* not executed: send it to another node, this time only */
    STEP_LOAD,    /* not executed: the node does not know the script */
    STEP_WAIT,    /* not executed: repeat after a pause */
    STEP_REFUSED, /* not executed: the caller decides */
    STEP_PARTLY,  /* a script raised an error: it may be partly executed */
    STEP_UNKNOWN  /* executed or not: the server does not know */
};

struct step {
    enum step_kind kind;
    smq_status status;        /* REFUSED: FULL, TOO_BIG, DENIED, UNAVAILABLE, INTERNAL; PARTLY:
                                 INTERNAL, DENIED, INVALID (a key of another type); UNKNOWN: UNKNOWN */
    bool refresh;             /* the slot map is out of date */
    bool login;               /* WAIT: the connection must authenticate again */
    bool refuses;             /* the server refuses writes, of whatever command */
    int32_t hash_slot;        /* MOVED, ASK */
    struct server_address to; /* MOVED, ASK; an empty host is that of the node that replied */
};

/* The next step after a reply.  `script`: it is the reply of a script, whose errors can come after
 * its first write. */
struct step redirect_next(const redisReply *reply, bool script);

/* Does the server close the connection after this reply, and execute nothing that was sent after
 * its command? */
bool redirect_ends_connection(const redisReply *reply);

/* Does the reply to a script, or to its loading, mean that the server runs no scripts of
 * clients? */
bool redirect_without_scripts(const redisReply *reply);

/* Does the reply to a command mean that the server does not have it, or not for this user? */
bool redirect_refuses_command(const redisReply *reply);

enum { REDIRECT_COMMANDS_MAX = 64 };

/* Which command of the script with this text was denied?  Redis 7.0 names only the line; later
 * versions and Valkey name the command.  Writes the commands of that line, "zadd" or "hget or
 * zrange"; false: the error is another one, or the line has no command. */
bool redirect_denied_commands(char out[REDIRECT_COMMANDS_MAX], const redisReply *reply,
                              const char *script);

enum redirect_denial {
    REDIRECT_ALLOWED,       /* the error is another one */
    REDIRECT_DENIED,        /* the user may not run the command */
    REDIRECT_DENIED_CHANNEL /* the user may run it, but not with this channel */
};

/* What an error denies that a script got from pcall(). */
enum redirect_denial redirect_denial(const redisReply *error);

#endif
