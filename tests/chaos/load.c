/* load.c - see load.h. */
#include "load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 48, PRIORITIES = 20, DELAY_MS = 200, DUE_SPREAD_MS = 400 };

const char *const load_topics[LOAD_TOPICS] = {"jobs", "fifo", "priority", "merge"};

static const char *const load_kinds[LOAD_KINDS] = {"done", "once", "dead", "reject", "slow"};

/* Of a hundred messages; the others are done at once.  The topic of a message is its number modulo
 * LOAD_TOPICS. */
static enum load_kind load_choose_kind(uint64_t number)
{
    switch (number % 100) {
    case 17:
    case 51:
        return LOAD_FAIL_FIRST;
    case 62: /* of the topic with strict takeover */
        return number % 200 == 62 ? LOAD_SLOW : LOAD_DONE;
    case 83:
        return number % 400 == 83 ? LOAD_FAIL : LOAD_SLOW;
    case 37:
        return number % 200 == 37 ? LOAD_REJECT : LOAD_DONE;
    default:
        return LOAD_DONE;
    }
}

void load_make(struct load_message *out, const char *sender, uint64_t number, int64_t now_ms)
{
    enum load_kind kind = load_choose_kind(number);

    memset(out, 0, sizeof(*out));
    out->topic = (int) (number % LOAD_TOPICS);
    snprintf(out->key, sizeof(out->key), "k%" PRIu64, (number * 7 / LOAD_TOPICS) % KEYS);
    snprintf(out->body, sizeof(out->body), "%s:%s:%" PRIu64 ":%s", out->key, sender, number,
             load_kinds[kind]);
    /* of layout keyed; the library makes the ids of every other message of the first topic */
    if (out->topic == 1 || (out->topic == 0 && number / LOAD_TOPICS % 2 == 0)) {
        snprintf(out->id, sizeof(out->id), "%s-%" PRIu64, sender, number);
    }
    switch (out->topic) {
    case 0: /* half of them are due at once, while others wait */
        if (number / LOAD_TOPICS % 4 < 2) {
            out->due_at_ms = now_ms + (int64_t) (number % DUE_SPREAD_MS);
        }
        break;
    case LOAD_PRIORITY:
        out->priority = (int64_t) (number / LOAD_TOPICS % PRIORITIES);
        break;
    case 3:
        out->delay_ms = DELAY_MS;
        break;
    default:
        break;
    }
}

enum load_kind load_kind_of(const char *body)
{
    const char *last = strrchr(body, ':');

    for (int kind = 0; last != NULL && kind < LOAD_KINDS; kind++) {
        if (strcmp(last + 1, load_kinds[kind]) == 0) {
            return (enum load_kind) kind;
        }
    }
    return LOAD_DONE;
}
