/* lockstep_callers.c - who calls in a round: senders, owners and sharers, as the library would,
 * over a network that loses, delays and doubles calls. */
#include "lockstep_round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "support/testing.h"

/* --- what the network does to a call --- */

enum fate { FATE_SEEN, FATE_LOST, FATE_LATE, FATE_TWICE };

static enum fate draw_fate(struct round *round)
{
    uint64_t x = round_chance(round, 100);

    if (!round->faults || x < 68) {
        return FATE_SEEN;
    }
    if (x < 80) {
        return FATE_LOST;
    }
    return x < 90 && round->late_count < LATE_MAX ? FATE_LATE : FATE_TWICE;
}

/* true: the caller sees the reply. */
static bool deliver(struct round *round, const struct call *call, enum fate fate, struct buf *seen)
{
    struct buf other = {0};

    if (fate == FATE_LATE) {
        round->late[round->late_count++] = *call;
        return false;
    }
    round_execute(round, call, seen);
    if (fate == FATE_TWICE) {
        round_execute(round, call, round_chance(round, 2) == 0 ? seen : &other);
    }
    buf_fini(&other);
    return fate != FATE_LOST;
}

void round_send_through(struct round *round, const struct call *call, struct buf *seen)
{
    (void) deliver(round, call, draw_fate(round), seen);
}

void round_run_late(struct round *round)
{
    struct buf seen = {0};
    size_t index;
    struct call *call;

    if (round->late_count > 0) {
        call = memory_new(sizeof(*call));
        index = round_chance(round, round->late_count);
        *call = round->late[index];
        round->late[index] = round->late[--round->late_count];
        round_execute(round, call, &seen);
        free(call);
    }
    buf_fini(&seen);
}

/* --- calls --- */

/* Mostly that of the topic as it is now; or of before an alteration, or of another topic. */
static void choose_definition(struct round *round, struct call *call)
{
    call->version = round->definition.version;
    call->other_topic = round_percent(round, 2);
    if (round_percent(round, 3) && call->version > 1) {
        call->version--;
    }
}

struct call *round_new_call(struct round *round, enum call_kind kind, uint64_t token)
{
    struct call *call = memory_new(sizeof(*call));

    call->kind = kind;
    call->token = token;
    choose_definition(round, call);
    call->lease = round->lease;
    call->strict = round->strict;
    call->max_bytes = round->max_bytes;
    call->max_retries = round->definition.max_retries;
    call->max_waiting = round->definition.max_waiting;
    call->debounce = round->definition.debounce;
    call->dedup = round->definition.dedup;
    call->field_from = round->definition.field_from;
    call->skip_failed = round->definition.skip_failed;
    call->expired_to_dead = round->definition.expired_to_dead;
    return call;
}

/* --- senders --- */

static int64_t choose_when(struct round *round, bool relative)
{
    static const int64_t priorities[] = {-8191, -1, 0, 0, 1, 5, 8191};
    int64_t when = (int64_t) round_chance(round, 12);

    switch (round->model->kind) {
    case 'f':
        return 0;
    case 'p':
    case 'b':
        return priorities[round_chance(round, 7)];
    default:
        break;
    }
    if (!relative) {
        return when + round->model->now - 4;
    }
    return round_chance(round, 2) == 0 ? 0 : when;
}

/* Of kinds p and b some are scheduled, or their time has passed. */
void round_choose_time(char time[32], struct round *round)
{
    time[0] = '\0';
    if ((round->model->kind == 'p' || round->model->kind == 'b') && round_percent(round, 30)) {
        int64_t delay = (int64_t) round_chance(round, round_percent(round, 20) ? 200 : 12);

        if (round_percent(round, 50)) {
            snprintf(time, 32, "@+%d", (int) delay);
        } else {
            snprintf(time, 32, "@%lld", (long long) (round->model->now + delay - 3));
        }
    }
}

int round_choose_member(struct round *round)
{
    if (round->whole && round_percent(round, 60)) {
        return MODEL_PLAIN + (int) round_chance(round, 2UL * MODEL_WHOLE);
    }
    return (int) round_chance(round, round->whole ? round->members : MODEL_PLAIN);
}

/* The library sends messages whole that are due at once, where no ids are remembered. */
static void choose_form(struct round *round, struct call *call)
{
    call->whole = call->kind == CALL_SEND && round->whole && call->debounce == 0 &&
                  call->dedup == 0 && round_percent(round, 65);
}

/* The member of a send, and when it is due if it is whole.  Some send what once was whole. */
static void fill_member(struct round *round, struct call *call, size_t index)
{
    bool timed = round->model->kind == 'm' || round->model->kind == 't';
    uint64_t some = MODEL_WHOLE - (timed ? 0 : MODEL_TIMED);

    if (call->whole) {
        call->sends[index].member = MODEL_PLAIN + (int) round_chance(round, some);
        call->sends[index].time[0] = '\0';
        if (timed) {
            call->sends[index].when = call->sends[index].relative ? 0 : round->model->now - 1;
        }
    } else if (round->whole && round_percent(round, 20)) {
        call->sends[index].member =
            MODEL_PLAIN + MODEL_WHOLE + (int) round_chance(round, MODEL_WHOLE);
    }
}

void round_fill_sends(struct round *round, struct call *call)
{
    bool timed = round->model->kind == 'm' || round->model->kind == 't';

    choose_form(round, call);
    call->count = round->calm && round_percent(round, 80) ? 1 : 1 + round_chance(round, 3);
    for (size_t i = 0; i < call->count; i++) {
        bool relative = round->model->kind == 'm' || (timed && round_chance(round, 2) == 0);

        call->sends[i].member = (int) round_chance(round, round->members);
        call->sends[i].relative = relative;
        call->sends[i].when = choose_when(round, relative);
        round_choose_time(call->sends[i].time, round);
        if (timed && round->calm && round_percent(round, 60)) {
            call->sends[i].when = relative ? 0 : round->model->now;
        }
        call->sends[i].text = ++round->texts;
        call->sends[i].limit = round_percent(round, 70) ? -1 : (int32_t) round_chance(round, 4);
        call->sends[i].headers = round->texts % 5 == 0 ? 1 + round->texts % 3 : 0;
        call->sends[i].ttl = round_percent(round, 75) ? -1 : 1 + (int64_t) round_chance(round, 60);
        fill_member(round, call, i);
    }
}

/* Without ids a send is not repeated. */
static void give_ids(struct round *round, struct call *call)
{
    call->producer = (int) round_chance(round, MODEL_PRODUCERS + 1);
    if (call->producer > 0) {
        call->sequence = round->sequence + 1;
        round->sequence += call->count;
    }
}

/* Some have run out of time. */
static void drop_some(struct round *round, struct call *call)
{
    size_t from = round_chance(round, call->count);

    memmove(&call->sends[0], &call->sends[from], (call->count - from) * sizeof(call->sends[0]));
    call->sequence += from;
    call->count -= from;
    call->count -= round_chance(round, call->count);
}

void round_send_some(struct round *round)
{
    struct call *call = round_new_call(round, CALL_SEND, 0);
    struct buf seen = {0};

    round_fill_sends(round, call);
    give_ids(round, call);
    if (!deliver(round, call, draw_fate(round), &seen) && call->producer > 0 &&
        round_percent(round, 80)) {
        if (round_percent(round, 30)) {
            drop_some(round, call);
        }
        round_execute(round, call, &seen);
    }
    if (round->pushing && round_percent(round, 60)) {
        round_deliver_pushes(round);
    }
    buf_fini(&seen);
    free(call);
}

/* --- consumers --- */

static void decide(struct round *round, struct held *held)
{
    static const char *const reasons[] = {"", "why", "because"};
    uint64_t x = round_chance(round, round->calm ? 60 : 100);

    held->op = "dtxbh"[x < 55 ? 0 : x < 75 ? 1 : x < 80 ? 2 : x < 94 ? 3 : 4];
    held->delay = round_chance(round, 2) == 0 ? 0 : (int64_t) round_chance(round, 20);
    held->reason = reasons[round_chance(round, 3)];
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
            const struct held *held = &consumer->in_flight[i];

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
        if (strcmp(consumer->in_flight[i].entry, entry) == 0) {
            return &consumer->in_flight[i];
        }
    }
    return NULL;
}

static void drop_held(struct consumer *consumer, struct held *held)
{
    *held = consumer->in_flight[--consumer->count];
}

/* An owner's answer may find its claim gone only if an earlier try got through. */
static void see_results(struct round *round, struct consumer *consumer, const struct call *call,
                        const char *results, bool doubled)
{
    for (size_t i = 0; i < call->count; i++) {
        struct held *held = find_held(consumer, call->answers[i].entry);

        if (held == NULL) {
            round_fail(round, "an answer to nothing");
            return;
        }
        if (results[i] != '1' && !held->sent && !doubled && !round->model->shared) {
            round_fail(round, "an owner lost a claim for no reason");
        }
        drop_held(consumer, held);
    }
}

static uint64_t claim_of(const char *entry)
{
    return strtoull(strchr(entry, 'c') + 1, NULL, 10);
}

/* The message comes with a reply, or as a push.  One that came as a push while the call was in
 * progress, `known` to its owner, is not begun again.  If a failover had lost that push, the call
 * may have given its number to another message, which is begun. */
static void see_message(struct round *round, struct consumer *consumer, const char *entry,
                        int attempts, uint64_t known)
{
    struct held held = {.reason = "", .retried = attempts > 1};

    if (!round->model->shared && claim_of(entry) <= known) {
        if (strcmp(entry, consumer->got) == 0) {
            return;
        }
        if (!consumer->got_undone) {
            round_fail(round, "a message came with a number that its owner knows");
            return;
        }
    }
    snprintf(consumer->position, sizeof(consumer->position), "%s", entry);
    consumer->position_attempts = attempts;
    if (find_held(consumer, entry) != NULL) {
        round_fail(round, "a message was delivered again while it was in flight");
        return;
    }
    assert_true(consumer->count < IN_FLIGHT_MAX);
    snprintf(held.entry, sizeof(held.entry), "%s", entry);
    consumer->in_flight[consumer->count++] = held;
}

/* Behind the last one may stand how many had expired. */
static void see_messages(struct round *round, struct consumer *consumer, char *words,
                         uint64_t known)
{
    char *save = NULL;
    const char *entry = strtok_r(words, " ", &save);

    while (entry != NULL && !round->failed) {
        const char *attempts = strtok_r(NULL, " ", &save);

        if (attempts == NULL) {
            return;
        }
        see_message(round, consumer, entry, atoi(attempts), known);
        entry = strtok_r(NULL, " ", &save);
        if (round->model->keyed) {
            (void) strtok_r(NULL, " ", &save); /* the header was `entry` */
            entry = strtok_r(NULL, " ", &save);
        }
    }
}

/* OK, now, next, claims, results, again, (entry, attempts [, header, body])... */
static void see_consumed(struct round *round, struct consumer *consumer, const struct call *call,
                         struct buf *seen, bool doubled)
{
    char *save = NULL;
    char *words[6];
    static char nothing[] = "";
    uint64_t known = consumer->last, claims;

    for (size_t i = 0; i < 6; i++) {
        words[i] = strtok_r(i == 0 ? seen->data : NULL, " ", &save);
        if (words[i] == NULL) {
            return; /* FENCED or STALE */
        }
    }
    see_results(round, consumer, call, words[4], doubled);
    consumer->called = strtoll(words[1], NULL, 10);
    claims = strtoull(words[3], NULL, 10);
    consumer->last = claims < known && !round->model->shared ? known : claims;
    consumer->position[0] = '\0';
    if (round->model->first_tick >= 0 && strcmp(words[5], "2") != 0) {
        (void) strtok_r(NULL, " ", &save); /* when the first schedule is due */
    }
    see_messages(round, consumer, save != NULL ? save : nothing, known);
    if (claims != call->last || round->model->shared) {
        consumer->position[0] = '\0';
    }
}

/* Of the messages that the consumer has, the number of the oldest claim. */
static uint64_t oldest_claim(const struct consumer *consumer)
{
    uint64_t oldest = consumer->last + 1;

    for (size_t i = 0; i < consumer->count; i++) {
        uint64_t claim = claim_of(consumer->in_flight[i].entry);

        oldest = claim < oldest ? claim : oldest;
    }
    return oldest;
}

/* --- pushes --- */

void round_hear_push(struct round *round)
{
    const char *expected = round->model->published;
    struct pushed *push = &round->pushes[round->push_count % PUSHES_MAX];
    struct buf heard = {0};

    buf_add(&heard, "", 0);
    round->woken += fixture_hear(round->fixture, &heard);
    buf_printf(round->report, "    pushed: %s\n", heard.data);
    if (heard.len < strlen(expected) ||
        strcmp(heard.data + heard.len - strlen(expected), expected) != 0) {
        round_fail(round, "something else was pushed");
        buf_printf(round->report, "--- the model:\n%s\n", expected);
    }
    if (round->push_count < PUSHES_MAX) {
        const struct model_list *prepare = &round->model->prepare;

        *push = (struct pushed){
            .token = round->model->token, .claim = round->model->claims, .at = round->model->now};
        model_entry(push->entry, &prepare->item[prepare->count - 1]);
        round->push_count++;
    }
    buf_fini(&heard);
}

/* It is begun if it is the next claim of this owner, and not from before a call of it. */
static void receive(struct round *round, struct consumer *consumer, const struct pushed *push)
{
    if (!consumer->ready || consumer->token != push->token || push->claim != consumer->last + 1 ||
        consumer->position[0] != '\0' || push->at < consumer->called) {
        return;
    }
    see_message(round, consumer, push->entry, 0, consumer->last);
    consumer->position[0] = '\0';
    consumer->last = push->claim;
    consumer->pushed = push->at;
    memcpy(consumer->got, push->entry, sizeof(consumer->got));
    consumer->got_undone = push->undone;
    find_held(consumer, push->entry)->sent = push->undone;
}

void round_deliver_pushes(struct round *round)
{
    for (size_t i = 0; i < round->push_count && !round->failed;) {
        uint64_t x = round_chance(round, 100);

        if (x < 80) {
            receive(round, &round->consumers[0], &round->pushes[i]);
            receive(round, &round->consumers[1], &round->pushes[i]);
        }
        if (x < 90) {
            round->pushes[i] = round->pushes[--round->push_count];
        } else {
            i++;
        }
    }
}

/* Redis has lost the answer to a message, as by a failover: it is claimed there, but its owner does
 * not have it. */
static void lose_answer(struct round *round, struct consumer *consumer)
{
    size_t index = consumer->count > 0 ? round_chance(round, consumer->count) : 0;

    if (index < consumer->count && consumer->in_flight[index].op != 0) {
        drop_held(consumer, &consumer->in_flight[index]);
    }
}

/* What was pushed overtakes a reply, also what was sent after the call. */
static void overtake(struct round *round)
{
    if (round->faults && round_percent(round, 20)) {
        round_send_some(round);
    }
    if (round_percent(round, 30)) {
        round_deliver_pushes(round);
    }
}

/* Owners name keys that wait for their own. */
static void choose_keys(struct round *round, struct call *call)
{
    for (int i = 0; i < MODEL_MEMBERS && round_percent(round, 40); i++) {
        call->passes |= round_percent(round, 40) ? 1U << model_key(i) : 0;
    }
}

void round_consume(struct round *round, struct consumer *consumer)
{
    static const int32_t sizes[] = {0, 1, 2, 5, 40};
    struct call *call = round_new_call(round, CALL_CONSUME, consumer->token);
    enum fate fate = draw_fate(round);
    struct buf seen = {0};

    for (size_t i = 0; i < consumer->count; i++) {
        if (consumer->in_flight[i].op == 0 && round_percent(round, 60)) {
            decide(round, &consumer->in_flight[i]);
        }
    }
    if (!round->model->shared && round->faults && round_percent(round, 3)) {
        lose_answer(round, consumer);
    }
    call->n = sizes[round_chance(round, 5)];
    if (round_percent(round, 30)) {
        call->max_bytes = round->whole
                              ? MODEL_SOME_BYTES
                              : MODEL_FEW_BYTES; /* so that a lost reply comes again in parts */
    }
    call->caller = (int) (consumer - round->consumers);
    call->last = consumer->last;
    memcpy(call->position, consumer->position, sizeof(call->position));
    call->position_attempts = consumer->position_attempts;
    call->oldest = oldest_claim(consumer);
    call->open = round->pushing && round_percent(round, 70);
    call->rested = round_percent(round, 40);
    call->pushed = consumer->pushed;
    choose_keys(round, call);
    fill_answers(call, consumer);
    if (deliver(round, call, fate, &seen)) {
        if (round->pushing) {
            overtake(round);
        }
        see_consumed(round, consumer, call, &seen, fate == FATE_TWICE);
    } else {
        for (size_t i = 0; i < call->count; i++) {
            find_held(consumer, call->answers[i].entry)->sent = true;
        }
    }
    buf_fini(&seen);
    free(call);
}

void round_renew(struct round *round, const struct consumer *consumer)
{
    struct call *call = round_new_call(round, CALL_RENEW, consumer->token);
    struct buf seen = {0};

    call->lease += (int64_t) round_chance(round, 5);
    if (consumer->count > 0) {
        memcpy(call->noted, consumer->in_flight[round->model->step % consumer->count].entry,
               sizeof(call->noted));
        call->age = (int64_t) (round->model->step % 31);
    }
    for (size_t i = 0; i < consumer->count && call->count < CALL_ITEMS_MAX; i++) {
        if (round_percent(round, 70)) {
            memcpy(call->answers[call->count++].entry, consumer->in_flight[i].entry,
                   sizeof(consumer->in_flight[i].entry));
        }
    }
    (void) deliver(round, call, draw_fate(round), &seen);
    buf_fini(&seen);
    free(call);
}

void round_take_over(struct round *round)
{
    struct consumer *owner = &round->consumers[0];
    struct call *call;
    struct buf seen = {0};

    round_drop_replica(round);
    round->consumers[1] = *owner;
    memset(owner, 0, sizeof(*owner));
    owner->token = ++round->tokens;
    call = round_new_call(round, CALL_TAKEOVER, owner->token);
    call->limit = 1 + (int32_t) round_chance(round, 4);
    while (!owner->ready && !round->failed && !(round->faults && round_percent(round, 5))) {
        unsigned long long base = 0;
        int more = 1;

        choose_definition(round, call);
        if (deliver(round, call, draw_fate(round), &seen)) {
            (void) sscanf(seen.data, "OK %llu %*d %d", &base, &more);
            owner->last = base;
            owner->ready = more == 0;
        }
    }
    if (round->faults && round_percent(round, 20) && round->late_count < LATE_MAX) {
        round->late[round->late_count++] = *call;
    }
    buf_fini(&seen);
    free(call);
}
