/* load.c - see load.h. */
#include "load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* HOT_EACH: of the messages of the first topic; no divisor of KEYS, so that all keys come. */
enum { EXCLUSIVE = LOAD_TOPICS - 1, HOT_EACH = 7 };
enum { KEYS = 48, PRIORITIES = 20, DELAY_MS = 200, DUE_SPREAD_MS = 400 };

const char *const load_topics[] = {"jobs", "fifo", "priority", "merge", "shared", "ticks"};

static const char *const load_kinds[LOAD_KINDS] = {"done",   "once", "dead",
                                                   "reject", "slow", "busy"};
static const char *const load_hot = "hot";

/* Of a hundred messages; the others are done at once. */
static enum load_kind load_choose_kind(uint64_t turn)
{
    switch (turn % 100) {
    case 17:
    case 51:
        return LOAD_FAIL_FIRST;
    case 62: /* of the topic with strict takeover */
        return turn % 200 == 62 ? LOAD_SLOW : LOAD_DONE;
    case 83:
        return turn % 400 == 83 ? LOAD_FAIL : LOAD_SLOW;
    case 37:
        return turn % 200 == 37 ? LOAD_REJECT : LOAD_DONE;
    default:
        return LOAD_DONE;
    }
}

static void load_name(struct load_message *out, const char *key, const char *sender,
                      uint64_t number, enum load_kind kind)
{
    snprintf(out->key, sizeof(out->key), "%s", key);
    snprintf(out->body, sizeof(out->body), "%s:%s:%" PRIu64 ":%s", key, sender, number,
             load_kinds[kind]);
}

/* Message `turn` of those of its topic. */
static void load_time(struct load_message *out, uint64_t number, uint64_t turn, int64_t now_ms)
{
    switch (out->topic) {
    case 0: /* half of them are due at once, while others wait */
    case LOAD_SHARED:
        if (turn % 4 < 2) {
            out->due_at_ms = now_ms + (int64_t) (number % DUE_SPREAD_MS);
        }
        break;
    case LOAD_PRIORITY:
        out->priority = (int64_t) (turn % PRIORITIES);
        break;
    case 3:
        out->delay_ms = DELAY_MS;
        break;
    default:
        break;
    }
}

/* Every fifth message is of the shared topic, and the others are of each other one in turn. */
void load_make(struct load_message *out, const char *sender, uint64_t number, int64_t now_ms)
{
    const bool shared = number % LOAD_TOPICS == LOAD_SHARED;
    uint64_t turn = number / LOAD_TOPICS * (shared ? 1 : EXCLUSIVE);
    char key[LOAD_KEY_MAX];

    memset(out, 0, sizeof(*out));
    turn += shared ? 0 : number % LOAD_TOPICS;
    out->topic = shared ? LOAD_SHARED : (int) (turn % EXCLUSIVE);
    uint64_t own = shared ? turn : turn / EXCLUSIVE;
    snprintf(key, sizeof(key), "k%" PRIu64, (shared ? turn : turn * 7 / EXCLUSIVE) % KEYS);
    load_name(out, out->topic == 0 && own % HOT_EACH == HOT_EACH - 1 ? load_hot : key, sender,
              number, load_choose_kind(turn));
    /* of layout keyed; the library makes the ids of every other message of two of the topics */
    if (out->topic == 1 || ((out->topic == 0 || shared) && own % 2 == 0)) {
        snprintf(out->id, sizeof(out->id), "%s-%" PRIu64, sender, number);
    }
    load_time(out, number, own, now_ms);
}

void load_make_hot(struct load_message *out, const char *sender, uint64_t number)
{
    memset(out, 0, sizeof(*out));
    load_name(out, load_hot, sender, number, LOAD_BUSY);
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
