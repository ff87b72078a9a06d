/* redirect.c - reply -> next step.
 *
 * The classes are those of the server's own sources (7.0): which errors are raised before a
 * script's first write, and which can come after it.
 *
 * Pure. */
#include "redis/redirect.h"

#include <string.h>

/* Errors that begin with these words come before anything is executed, UNBLOCKED excepted. */
static const struct {
    const char *words;
    enum step_kind kind;
    smq_status status;
    bool refresh;
} errors[] = {
    {"NOSCRIPT", STEP_LOAD, SMQ_OK, false},
    {"TRYAGAIN", STEP_WAIT, SMQ_OK, false},
    {"CLUSTERDOWN", STEP_WAIT, SMQ_OK, true},
    {"LOADING", STEP_WAIT, SMQ_OK, false},
    {"MASTERDOWN", STEP_WAIT, SMQ_OK, true},
    {"READONLY", STEP_WAIT, SMQ_OK, true},
    {"BUSY", STEP_WAIT, SMQ_OK, false},
    {"NOREPLICAS", STEP_WAIT, SMQ_OK, false},
    {"ERR max number of clients", STEP_WAIT, SMQ_OK, false},
    {"OOM", STEP_REFUSED, SMQ_FULL, false},
    {"MISCONF", STEP_REFUSED, SMQ_UNAVAILABLE, false},
    {"NOAUTH", STEP_REFUSED, SMQ_DENIED, false},
    {"WRONGPASS", STEP_REFUSED, SMQ_DENIED, false},
    {"NOPERM", STEP_REFUSED, SMQ_DENIED, false},
    {"DENIED", STEP_REFUSED, SMQ_DENIED, false}, /* protected mode */
    {"WRONGTYPE", STEP_REFUSED, SMQ_INVALID, false},
    {"CROSSSLOT", STEP_REFUSED, SMQ_INTERNAL, false},
    {"ERR unknown command", STEP_REFUSED, SMQ_INTERNAL, false},
    {"ERR wrong number of arguments", STEP_REFUSED, SMQ_INTERNAL, false},
    {"UNBLOCKED", STEP_UNKNOWN, SMQ_UNKNOWN, true},
};

static bool begins(const redisReply *reply, const char *word)
{
    size_t len = strlen(word);

    return (size_t) reply->len >= len && memcmp(reply->str, word, len) == 0 &&
           ((size_t) reply->len == len || reply->str[len] == ' ');
}

static bool contains(const redisReply *reply, const char *text)
{
    return memmem(reply->str, (size_t) reply->len, text, strlen(text)) != NULL;
}

/* An error that a script raised after it had begun: Redis ends such a text with where in the
 * script. OOM and the like come from inside only before the first write, but so deep in the text
 * that nothing is won by telling them apart. */
static bool from_script(const redisReply *reply)
{
    return contains(reply, "script: ");
}

/* Redis 7.0 says so in the first words, later ones and Valkey in the others. */
static bool denied_in_script(const redisReply *reply)
{
    return begins(reply, "ERR The user executing the script can't") ||
           begins(reply, "ERR ACL failure in script:");
}

/* "MOVED 3999 127.0.0.1:6381", "ASK 3999 :6381". */
static bool parse_target(struct step *step, const redisReply *reply)
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

/* One that cannot be followed is no redirect, but it still says that nothing was executed. */
static struct step next_of_redirect(const redisReply *reply, enum step_kind kind)
{
    struct step step = {.kind = kind, .refresh = kind == STEP_MOVED};

    if (!parse_target(&step, reply)) {
        step = (struct step){.kind = STEP_WAIT, .refresh = true};
    }
    return step;
}

static struct step next_of_error(const redisReply *reply, bool script)
{
    if (from_script(reply)) {
        bool denied = denied_in_script(reply);
        bool foreign = begins(reply, "WRONGTYPE");
        return (struct step){.kind = STEP_PARTLY,
                             .status = denied    ? SMQ_DENIED
                                       : foreign ? SMQ_INVALID
                                                 : SMQ_INTERNAL};
    }
    if (begins(reply, "MOVED")) {
        return next_of_redirect(reply, STEP_MOVED);
    }
    if (begins(reply, "ASK")) {
        return next_of_redirect(reply, STEP_ASK);
    }
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (begins(reply, errors[i].words)) {
            return (struct step){
                .kind = errors[i].kind, .status = errors[i].status, .refresh = errors[i].refresh};
        }
    }
    /* one that nobody knows: a script may have returned it after its writes */
    return (struct step){.kind = script ? STEP_PARTLY : STEP_REFUSED, .status = SMQ_INTERNAL};
}

bool redirect_without_scripts(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && !from_script(reply) &&
           (begins(reply, "ERR unknown command") || begins(reply, "ERR Could not find scripting"));
}

struct step redirect_next(const redisReply *reply, bool script)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        return next_of_error(reply, script);
    }
    return (struct step){.kind = STEP_DONE};
}
