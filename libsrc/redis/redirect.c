/* redirect.c - from a reply to the next step of its command.
 *
 * The classes follow the sources of the server (7.0): which errors are raised before a script's
 * first write, and which can come after it.
 *
 * Pure. */
#include "redis/redirect.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Errors that begin with these words are raised before anything is executed, except UNBLOCKED. */
static const struct {
    const char *words;
    enum step_kind kind;
    smq_status status;
    bool refresh, login, refuses;
} errors[] = {
    {"NOSCRIPT", STEP_LOAD, SMQ_OK, false, false, false},
    {"TRYAGAIN", STEP_WAIT, SMQ_OK, false, false, false},
    {"CLUSTERDOWN", STEP_WAIT, SMQ_OK, true, false, true},
    {"LOADING", STEP_WAIT, SMQ_OK, false, false, true},
    {"MASTERDOWN", STEP_WAIT, SMQ_OK, true, false, true},
    {"READONLY", STEP_WAIT, SMQ_OK, true, false, true},
    {"BUSY", STEP_WAIT, SMQ_OK, false, false, true},
    {"NOREPLICAS", STEP_WAIT, SMQ_OK, false, false, true},
    {"ERR max number of clients", STEP_WAIT, SMQ_OK, false, false, false},
    {"OOM", STEP_REFUSED, SMQ_FULL, false, false, false},
    {"ERR Protocol error: invalid bulk length", STEP_REFUSED, SMQ_TOO_BIG, false, false, false},
    {"MISCONF", STEP_REFUSED, SMQ_UNAVAILABLE, false, false, true},
    {"NOAUTH", STEP_WAIT, SMQ_OK, false, true, false},
    {"WRONGPASS", STEP_REFUSED, SMQ_DENIED, false, false, false},
    {"NOPERM", STEP_REFUSED, SMQ_DENIED, false, false, false},
    {"DENIED", STEP_REFUSED, SMQ_DENIED, false, false, false}, /* protected mode */
    {"WRONGTYPE", STEP_REFUSED, SMQ_INVALID, false, false, false},
    {"CROSSSLOT", STEP_REFUSED, SMQ_INTERNAL, false, false, false},
    {"ERR unknown command", STEP_REFUSED, SMQ_INTERNAL, false, false, false},
    {"ERR wrong number of arguments", STEP_REFUSED, SMQ_INTERNAL, false, false, false},
    {"UNBLOCKED", STEP_UNKNOWN, SMQ_UNKNOWN, true, false, false},
};

static bool redirect_begins(const redisReply *reply, const char *word)
{
    size_t len = strlen(word);

    return (size_t) reply->len >= len && memcmp(reply->str, word, len) == 0 &&
           ((size_t) reply->len == len || reply->str[len] == ' ');
}

static bool redirect_contains(const redisReply *reply, const char *text)
{
    return memmem(reply->str, (size_t) reply->len, text, strlen(text)) != NULL;
}

/* Did a script raise this error after it had begun?  Redis then ends the text with the place in the
 * script.  OOM and the like are raised inside a script only before its first write, but their words
 * are too deep in the text to be worth recognising. */
static bool redirect_from_script(const redisReply *reply)
{
    return redirect_contains(reply, "script: ");
}

/* Was a command of the script denied?  Redis 7.0 says so in the first words, later versions and
 * Valkey in the others. */
static bool redirect_denied_in_script(const redisReply *reply)
{
    return redirect_begins(reply, "ERR The user executing the script can't") ||
           redirect_begins(reply, "ERR ACL failure in script:");
}

/* "MOVED 3999 127.0.0.1:6381", "ASK 3999 :6381". */
static bool redirect_parse_target(struct step *step, const redisReply *reply)
{
    const char *end = reply->str + reply->len;
    const char *slot = memchr(reply->str, ' ', (size_t) reply->len);
    const char *address = slot == NULL ? NULL : memchr(slot + 1, ' ', (size_t) (end - slot - 1));
    int number = 0;

    if (address == NULL || address == slot + 1 || address - slot > 6) {
        return false;
    }
    for (const char *at = slot + 1; at < address; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        number = number * 10 + (*at - '0');
    }
    step->hash_slot = number;
    return number < 16384 &&
           server_address_parse(&step->to, address + 1, (size_t) (end - address - 1), true) &&
           strcmp(step->to.host, "?") != 0;
}

/* A redirect that cannot be followed is no redirect, but still means that nothing was executed. */
static struct step redirect_next_of_redirect(const redisReply *reply, enum step_kind kind)
{
    struct step step = {.kind = kind, .refresh = kind == STEP_MOVED};

    if (!redirect_parse_target(&step, reply)) {
        step = (struct step){.kind = STEP_WAIT, .refresh = true};
    }
    return step;
}

static struct step redirect_next_of_error(const redisReply *reply, bool script)
{
    if (redirect_from_script(reply)) {
        bool denied = redirect_denied_in_script(reply);
        bool foreign = redirect_begins(reply, "WRONGTYPE");
        return (struct step){.kind = STEP_PARTLY,
                             .status = denied    ? SMQ_DENIED
                                       : foreign ? SMQ_INVALID
                                                 : SMQ_INTERNAL};
    }
    if (redirect_begins(reply, "MOVED")) {
        return redirect_next_of_redirect(reply, STEP_MOVED);
    }
    if (redirect_begins(reply, "ASK")) {
        return redirect_next_of_redirect(reply, STEP_ASK);
    }
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (redirect_begins(reply, errors[i].words)) {
            return (struct step){.kind = errors[i].kind,
                                 .status = errors[i].status,
                                 .refresh = errors[i].refresh,
                                 .login = errors[i].login,
                                 .refuses = errors[i].refuses};
        }
    }
    /* an unknown error: a script may have returned it after its writes */
    return (struct step){.kind = script ? STEP_PARTLY : STEP_REFUSED, .status = SMQ_INTERNAL};
}

bool redirect_refuses_command(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR &&
           (redirect_begins(reply, "NOPERM") || redirect_begins(reply, "ERR unknown command") ||
            redirect_contains(reply, "not allowed"));
}

bool redirect_ends_connection(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && redirect_begins(reply, "ERR Protocol error:");
}

bool redirect_without_scripts(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && !redirect_from_script(reply) &&
           (redirect_begins(reply, "ERR unknown command") ||
            redirect_begins(reply, "ERR Could not find scripting"));
}

/* The line of the script that the error names; NULL: it names none that the script has. */
static const char *redirect_line(const redisReply *reply, const char *script)
{
    static const char where[] = "@user_script:";
    const char *at = memmem(reply->str, (size_t) reply->len, where, strlen(where));
    long number = at != NULL ? strtol(at + strlen(where), NULL, 10) : 0;

    if (number < 1) {
        return NULL;
    }
    for (; number > 1 && script != NULL; number--) {
        script = strchr(script, '\n');
        script = script != NULL ? script + 1 : NULL;
    }
    return script;
}

bool redirect_denied_commands(char out[REDIRECT_COMMANDS_MAX], const redisReply *reply,
                              const char *script)
{
    static const char denied[] = "ERR The user executing the script can't run this",
                      call[] = "call('";
    const char *line = redirect_begins(reply, denied) ? redirect_line(reply, script) : NULL;
    const char *end = NULL;
    size_t len = 0;

    out[0] = '\0';
    if (line == NULL) {
        return false;
    }
    end = line + strcspn(line, "\n");
    for (line = strstr(line, call); line != NULL && line < end; line = strstr(line, call)) {
        int room = REDIRECT_COMMANDS_MAX - (int) len;
        int written;

        line += strlen(call);
        written = snprintf(out + len, (size_t) room, "%s%.*s", len > 0 ? " or " : "",
                           (int) strcspn(line, "'\n"), line);
        if (written >= room) {
            out[len] = '\0';
            break;
        }
        len += (size_t) written;
    }
    for (char *at = out; *at != '\0'; at++) {
        *at = (char) tolower((unsigned char) *at);
    }
    return len > 0;
}

enum redirect_denial redirect_denial(const redisReply *error)
{
    if (!redirect_denied_in_script(error) && !redirect_begins(error, "NOPERM")) {
        return REDIRECT_ALLOWED;
    }
    return redirect_contains(error, "can't publish to the channel") ||
                   redirect_contains(error, "permissions to access a channel")
               ? REDIRECT_DENIED_CHANNEL
               : REDIRECT_DENIED;
}

struct step redirect_next(const redisReply *reply, bool script)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        return redirect_next_of_error(reply, script);
    }
    return (struct step){.kind = STEP_DONE};
}
