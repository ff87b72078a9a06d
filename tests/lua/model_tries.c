/* model_tries.c - why a message failed last, and how its last tries ended. */
#include "model_slot.h"

#include <inttypes.h>
#include <string.h>

/* A try in front of others, with its own text; but five. */
static void tries_put(struct model_tries *tries, char how, int64_t at, const char *text)
{
    int kept = tries->count < 5 ? tries->count : 4;

    memmove(&tries->item[1], &tries->item[0], (size_t) kept * sizeof(tries->item[0]));
    tries->item[0].how = how;
    tries->item[0].at = at;
    tries->item[0].text = text;
    tries->count = kept + 1;
}

/* How the tries of a message ended.  A suspect has lost its claim, at a time that is not stored
 * before it has used retries. */
static struct model_tries model_history(const struct model *model,
                                        const struct model_message *message)
{
    struct model_tries tries = {.reason = ""};

    if (message->attempts.retries > 0 && model->tries[message->member].count > 0) {
        tries = model->tries[message->member];
    }
    if (message->attempts.suspect &&
        (tries.count == 0 || strchr("lh", tries.item[0].how) == NULL)) {
        tries_put(&tries, 'l', -1, "");
    }
    return tries;
}

void model_try(struct model *model, const struct model_message *message, char how,
               const char *reason)
{
    struct model_tries tries = model_history(model, message);

    tries_put(&tries, how, model->now, reason);
    tries.reason = reason;
    tries.own = true;
    model->tries[message->member] = tries;
}

struct model_tries model_why(const struct model *model, const struct model_message *message)
{
    struct model_tries tries = model_history(model, message);

    if (message->attempts.suspect) {
        tries.reason = model_died;
        tries.own = false;
    }
    return tries;
}

struct model_tries model_last_words(const struct model *model, const struct model_message *message,
                                    enum model_counter cause, const char *reason)
{
    struct model_tries tries = model_history(model, message);
    const char how = (char) (cause == MODEL_DEAD_REJECTED    ? 'x'
                             : cause == MODEL_DEAD_FAILED    ? 't'
                             : cause == MODEL_DEAD_CRASHED   ? 'l'
                             : cause == MODEL_DEAD_TIMED_OUT ? 'h'
                                                             : '\0');

    if (how != '\0') {
        tries_put(&tries, how, model->now, reason);
    }
    tries.reason = reason;
    tries.own = how != '\0';
    return tries;
}

void add_tries(struct buf *out, const struct model_tries *tries)
{
    buf_printf(out, "%s", tries->reason[0] == '\0' && tries->count == 0 ? "''" : tries->reason);
    for (int i = 0; i < tries->count; i++) {
        buf_printf(out, "|%c", tries->item[i].how);
        if (tries->item[i].at >= 0) {
            buf_printf(out, "%" PRId64, tries->item[i].at);
        }
        if (i > 0 || !tries->own) {
            buf_printf(out, ":%s", tries->item[i].text);
        }
    }
}
