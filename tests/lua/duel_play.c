/* duel_play.c - who calls in a duel: senders, owners and sharers, as the library would, over a
 * network that loses, delays and doubles calls. */
#include "duel_round.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

/* --- what the network does to a call --- */

enum fate { FATE_SEEN, FATE_LOST, FATE_LATE, FATE_TWICE };

static enum fate draw_fate(struct duel *duel)
{
    uint64_t x = chance(duel, 100);

    if (!duel->faults || x < 68) {
        return FATE_SEEN;
    }
    if (x < 80) {
        return FATE_LOST;
    }
    return x < 90 && duel->late_count < LATE_MAX ? FATE_LATE : FATE_TWICE;
}

/* true: the caller sees the reply. */
static bool deliver(struct duel *duel, const struct call *call, enum fate fate, struct buf *seen)
{
    struct buf other = {0};

    if (fate == FATE_LATE) {
        duel->late[duel->late_count++] = *call;
        return false;
    }
    execute(duel, call, seen);
    if (fate == FATE_TWICE) {
        execute(duel, call, chance(duel, 2) == 0 ? seen : &other);
    }
    buf_fini(&other);
    return fate != FATE_LOST;
}

void send_through(struct duel *duel, const struct call *call, struct buf *seen)
{
    (void) deliver(duel, call, draw_fate(duel), seen);
}

void run_late(struct duel *duel)
{
    struct buf seen = {0};
    size_t index;
    struct call *call;

    if (duel->late_count > 0) {
        call = memory_new(sizeof(*call));
        index = chance(duel, duel->late_count);
        *call = duel->late[index];
        duel->late[index] = duel->late[--duel->late_count];
        execute(duel, call, &seen);
        free(call);
    }
    buf_fini(&seen);
}

/* --- calls --- */

/* Mostly that of the topic as it is now; or of before an alteration, or of another topic. */
static void choose_definition(struct duel *duel, struct call *call)
{
    call->version = duel->definition.version;
    call->other_topic = percent(duel, 2);
    if (percent(duel, 3) && call->version > 1) {
        call->version--;
    }
}

struct call *new_call(struct duel *duel, enum call_kind kind, uint64_t token)
{
    struct call *call = memory_new(sizeof(*call));

    call->kind = kind;
    call->token = token;
    choose_definition(duel, call);
    call->lease = duel->lease;
    call->strict = duel->strict;
    call->max_bytes = duel->max_bytes;
    call->max_retries = duel->definition.max_retries;
    call->max_waiting = duel->definition.max_waiting;
    call->debounce = duel->definition.debounce;
    call->skip_failed = duel->definition.skip_failed;
    call->expired_to_dead = duel->definition.expired_to_dead;
    return call;
}

/* --- senders --- */

static int64_t choose_when(struct duel *duel, bool relative)
{
    static const int64_t priorities[] = {-8191, -1, 0, 0, 1, 5, 8191};
    int64_t when = (int64_t) chance(duel, 12);

    switch (duel->model->kind) {
    case 'f':
        return 0;
    case 'p':
    case 'b':
        return priorities[chance(duel, 7)];
    default:
        break;
    }
    if (!relative) {
        return when + duel->model->now - 4;
    }
    return chance(duel, 2) == 0 ? 0 : when;
}

void fill_sends(struct duel *duel, struct call *call)
{
    bool timed = duel->model->kind == 'm' || duel->model->kind == 't';

    call->count = 1 + chance(duel, 3);
    for (size_t i = 0; i < call->count; i++) {
        bool relative = duel->model->kind == 'm' || (timed && chance(duel, 2) == 0);

        call->sends[i].member = (int) chance(duel, duel->members);
        call->sends[i].relative = relative;
        call->sends[i].when = choose_when(duel, relative);
        call->sends[i].text = ++duel->texts;
        call->sends[i].limit = percent(duel, 70) ? -1 : (int32_t) chance(duel, 4);
        call->sends[i].ttl = percent(duel, 75) ? -1 : 1 + (int64_t) chance(duel, 60);
    }
}

void send_some(struct duel *duel)
{
    struct call *call = new_call(duel, CALL_SEND, 0);
    struct buf seen = {0};

    fill_sends(duel, call);
    if (!deliver(duel, call, draw_fate(duel), &seen) && percent(duel, 80)) {
        call->repeated = true; /* the first try is unknown */
        execute(duel, call, &seen);
    }
    buf_fini(&seen);
    free(call);
}

/* --- consumers --- */

static void decide(struct duel *duel, struct held *held)
{
    static const char *const reasons[] = {"", "why", "because"};
    uint64_t x = chance(duel, 100);

    held->op = "dtxbh"[x < 55 ? 0 : x < 75 ? 1 : x < 80 ? 2 : x < 94 ? 3 : 4];
    held->delay = chance(duel, 2) == 0 ? 0 : (int64_t) chance(duel, 20);
    held->reason = reasons[chance(duel, 3)];
}

static char op_of(const struct held *held)
{
    return (char) (held->op == 'd' && held->retried ? 'D' : held->op);
}

/* The answers that are decided, those done without a retry first. */
static void fill_answers(struct call *call, const struct consumer *consumer)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < consumer->count && call->count < CALL_ITEMS_MAX; i++) {
            const struct held *held = &consumer->hand[i];

            if (held->op != 0 && (op_of(held) == 'd') == (pass == 0)) {
                struct call_answer *answer = &call->answers[call->count++];

                call->repeated = call->repeated || held->sent;

                answer->op = op_of(held);
                answer->reason = held->reason;
                answer->delay = held->delay;
                memcpy(answer->entry, held->entry, sizeof(held->entry));
            }
        }
    }
}

static struct held *find_held(struct consumer *consumer, const char *entry)
{
    for (size_t i = 0; i < consumer->count; i++) {
        if (strcmp(consumer->hand[i].entry, entry) == 0) {
            return &consumer->hand[i];
        }
    }
    return NULL;
}

static void drop_held(struct consumer *consumer, struct held *held)
{
    *held = consumer->hand[--consumer->count];
}

/* An owner's answer may find its claim gone only if an earlier try got through. */
static void see_results(struct duel *duel, struct consumer *consumer, const struct call *call,
                        const char *results, bool doubled)
{
    for (size_t i = 0; i < call->count; i++) {
        struct held *held = find_held(consumer, call->answers[i].entry);

        if (held == NULL) {
            fail_duel(duel, "an answer to nothing");
            return;
        }
        if (results[i] != '1' && !held->sent && !doubled && !duel->model->shared) {
            fail_duel(duel, "an owner lost a claim for no reason");
        }
        drop_held(consumer, held);
    }
}

static void see_message(struct duel *duel, struct consumer *consumer, const char *entry,
                        int attempts)
{
    snprintf(consumer->position, sizeof(consumer->position), "%s", entry);
    consumer->position_attempts = attempts;
    struct held held = {.reason = "", .retried = attempts > 1};

    if (find_held(consumer, entry) != NULL) {
        fail_duel(duel, "a message was delivered again while it was in hand");
        return;
    }
    assert_true(consumer->count < HAND_MAX);
    snprintf(held.entry, sizeof(held.entry), "%s", entry);
    consumer->hand[consumer->count++] = held;
}

/* Behind the last one may stand how many had expired. */
static void see_messages(struct duel *duel, struct consumer *consumer, char *words)
{
    char *save = NULL;
    const char *entry = strtok_r(words, " ", &save);

    while (entry != NULL && !duel->failed) {
        const char *attempts = strtok_r(NULL, " ", &save);

        if (attempts == NULL) {
            return;
        }
        see_message(duel, consumer, entry, atoi(attempts));
        entry = strtok_r(NULL, " ", &save);
        if (duel->model->keyed) {
            (void) strtok_r(NULL, " ", &save); /* the header was `entry` */
            entry = strtok_r(NULL, " ", &save);
        }
    }
}

/* OK, now, next, claims, results, again, (entry, attempts [, header, body])... */
static void see_consumed(struct duel *duel, struct consumer *consumer, const struct call *call,
                         struct buf *seen, bool doubled)
{
    char *save = NULL;
    char *words[6];
    static char nothing[] = "";
    uint64_t last;

    for (size_t i = 0; i < 6; i++) {
        words[i] = strtok_r(i == 0 ? seen->data : NULL, " ", &save);
        if (words[i] == NULL) {
            return; /* FENCED or STALE */
        }
    }
    see_results(duel, consumer, call, words[4], doubled);
    last = consumer->last;
    consumer->last = strtoull(words[3], NULL, 10);
    consumer->position[0] = '\0';
    see_messages(duel, consumer, save != NULL ? save : nothing);
    if (consumer->last != last || duel->model->shared) {
        consumer->position[0] = '\0';
    }
}

void consume(struct duel *duel, struct consumer *consumer)
{
    static const int32_t sizes[] = {0, 1, 2, 5, 40};
    struct call *call = new_call(duel, CALL_CONSUME, consumer->token);
    enum fate fate = draw_fate(duel);
    struct buf seen = {0};

    for (size_t i = 0; i < consumer->count; i++) {
        if (consumer->hand[i].op == 0 && percent(duel, 60)) {
            decide(duel, &consumer->hand[i]);
        }
    }
    call->n = sizes[chance(duel, 5)];
    if (percent(duel, 30)) {
        call->max_bytes = MODEL_FEW_BYTES; /* so that a lost reply comes again in parts */
    }
    call->last = consumer->last;
    memcpy(call->position, consumer->position, sizeof(call->position));
    call->position_attempts = consumer->position_attempts;
    fill_answers(call, consumer);
    if (deliver(duel, call, fate, &seen)) {
        see_consumed(duel, consumer, call, &seen, fate == FATE_TWICE);
    } else {
        for (size_t i = 0; i < call->count; i++) {
            find_held(consumer, call->answers[i].entry)->sent = true;
        }
    }
    buf_fini(&seen);
    free(call);
}

void renew(struct duel *duel, const struct consumer *consumer)
{
    struct call *call = new_call(duel, CALL_RENEW, consumer->token);
    struct buf seen = {0};

    call->lease += (int64_t) chance(duel, 5);
    for (size_t i = 0; i < consumer->count && call->count < CALL_ITEMS_MAX; i++) {
        if (percent(duel, 70)) {
            memcpy(call->answers[call->count++].entry, consumer->hand[i].entry,
                   sizeof(consumer->hand[i].entry));
        }
    }
    (void) deliver(duel, call, draw_fate(duel), &seen);
    buf_fini(&seen);
    free(call);
}

void take_over(struct duel *duel)
{
    struct consumer *owner = &duel->consumers[0];
    struct call *call;
    struct buf seen = {0};

    duel->consumers[1] = *owner;
    memset(owner, 0, sizeof(*owner));
    owner->token = ++duel->tokens;
    call = new_call(duel, CALL_TAKEOVER, owner->token);
    call->limit = 1 + (int32_t) chance(duel, 4);
    while (!owner->ready && !duel->failed && !(duel->faults && percent(duel, 5))) {
        unsigned long long base = 0;
        int more = 1;

        choose_definition(duel, call);
        if (deliver(duel, call, draw_fate(duel), &seen)) {
            (void) sscanf(seen.data, "OK %llu %*d %d", &base, &more);
            owner->last = base;
            owner->ready = more == 0;
        }
    }
    if (duel->faults && percent(duel, 20) && duel->late_count < LATE_MAX) {
        duel->late[duel->late_count++] = *call;
    }
    buf_fini(&seen);
    free(call);
}
