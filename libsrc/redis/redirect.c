/* redirect.c - reply -> next step.
 *
 * The classes are those of the server's own sources (7.0): which errors are raised before a
 * script's first write, and which can come after it.
 *
 * Pure. */
#include "redis/redirect.h"

#include <string.h>

/* Errors that begin with these words were raised before anything was executed. */
static const struct {
    const char *word;
    enum step_kind kind;
    smq_status status;
    bool refresh;
} errors[] = {
    {"NOSCRIPT", STEP_LOAD, SMQ_OK, false},      {"TRYAGAIN", STEP_WAIT, SMQ_OK, false},
    {"CLUSTERDOWN", STEP_WAIT, SMQ_OK, true},    {"LOADING", STEP_WAIT, SMQ_OK, false},
    {"MASTERDOWN", STEP_WAIT, SMQ_OK, true},     {"READONLY", STEP_WAIT, SMQ_OK, true},
    {"BUSY", STEP_WAIT, SMQ_OK, false},          {"NOREPLICAS", STEP_WAIT, SMQ_OK, false},
    {"OOM", STEP_REFUSED, SMQ_FULL, false},      {"MISCONF", STEP_REFUSED, SMQ_UNAVAILABLE, false},
    {"NOAUTH", STEP_REFUSED, SMQ_DENIED, false}, {"WRONGPASS", STEP_REFUSED, SMQ_DENIED, false},
    {"NOPERM", STEP_REFUSED, SMQ_DENIED, false},
};

static const char max_clients[] = "ERR max number of clients reached";

static bool begins(const redisReply *reply, const char *word)
{
    size_t len = strlen(word);

    return (size_t) reply->len >= len && memcmp(reply->str, word, len) == 0 &&
           ((size_t) reply->len == len || reply->str[len] == ' ');
}

/* Did a script raise it, after it had begun?  Redis ends such a text with where in the script. */
static bool from_script(const redisReply *reply)
{
    static const char mark[] = "script: ";

    return memmem(reply->str, (size_t) reply->len, mark, sizeof(mark) - 1) != NULL;
}

/* "MOVED 3999 127.0.0.1:6381", "ASK 3999 :6381". */
static bool parse_target(struct server_address *to, const redisReply *reply)
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
    return number < 16384 &&
           server_address_parse(to, address + 1, (size_t) (end - address - 1), true);
}

static struct step next_of_error(const redisReply *reply)
{
    struct step step = {.kind = STEP_REFUSED, .status = SMQ_INTERNAL};

    if (from_script(reply)) {
        /* OOM and the like from inside a script come only before its first write, but so deep in
         * the text that nothing is won by telling them apart. */
        step.kind = STEP_PARTLY;
        return step;
    }
    if (begins(reply, "MOVED") || begins(reply, "ASK")) {
        bool moved = reply->str[0] == 'M';
        if (parse_target(&step.to, reply)) {
            step.kind = moved ? STEP_MOVED : STEP_ASK;
            step.status = SMQ_OK;
            step.refresh = moved;
        }
        return step;
    }
    if (begins(reply, max_clients)) {
        step.kind = STEP_WAIT;
        step.status = SMQ_OK;
        return step;
    }
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (begins(reply, errors[i].word)) {
            step.kind = errors[i].kind;
            step.status = errors[i].status;
            step.refresh = errors[i].refresh;
            return step;
        }
    }
    return step;
}

struct step redirect_next(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        return next_of_error(reply);
    }
    return (struct step){.kind = STEP_DONE};
}
