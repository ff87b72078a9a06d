/* denied_callers.c - who calls in a walk: senders, owners and an editor. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "denied_round.h"
#include "model_slot.h"
#include "support/testing.h"

static int member_of(const char *name)
{
    for (int i = 0; i < MODEL_MEMBERS; i++) {
        if (strcmp(model_members[i], name) == 0) {
            return i;
        }
    }
    fail_msg("no message is called %s", name);
    return -1;
}

static int member_of_entry(const char *entry)
{
    return member_of(strchr(entry, ':') + 1);
}

static struct fate *fate_of(struct walk *walk, int member)
{
    return &walk->fates[model_plain(member)];
}

/* The body of a member, which is always the same; see model_text(). */
static int text_of(int member)
{
    return member < MODEL_PLAIN ? member + 1 : MODEL_PLAIN + MODEL_WHOLE - 1 - member;
}

/* --- what consumers get --- */

static struct held *find_held(struct walker *walker, const char *entry)
{
    for (size_t i = 0; i < walker->count; i++) {
        if (strcmp(walker->in_flight[i].entry, entry) == 0) {
            return &walker->in_flight[i];
        }
    }
    return NULL;
}

/* A push that came in between is known: of a reply its message is not new. */
static void begin(struct walk *walk, struct walker *walker, const char *entry, int attempts,
                  const char *text, uint64_t known)
{
    struct held *held = &walker->in_flight[walker->count];
    int member = member_of_entry(entry);
    char expected[MODEL_NAME] = "";

    snprintf(walker->position, sizeof(walker->position), "%s", entry);
    walker->position_attempts = attempts;
    if (find_held(walker, entry) != NULL) {
        if (walk->topic->shared || strtoull(strchr(entry, 'c') + 1, NULL, 10) > known) {
            walk_fail(walk, "delivered again while it was in flight", entry);
        }
        return;
    }
    assert_true(walker->count++ < IN_FLIGHT_MAX);
    *held = (struct held){.member = model_plain(member),
                          .claim = strtoull(strchr(entry, 'c') + 1, NULL, 10),
                          .retried = attempts > 1,
                          .until = walk->now + LEASE_MS};
    snprintf(held->entry, sizeof(held->entry), "%s", entry);
    held->sends = walk->fates[held->member].sends;
    if (!model_is_whole(member)) {
        model_text(expected, text_of(member));
    }
    if (text != NULL && strcmp(text, expected[0] != '\0' ? expected : "''") != 0) {
        walk_fail(walk, "another body", text);
    }
}

static void hear_push(struct walk *walk, const char *text)
{
    struct walker *walker = &walk->walkers[0];
    char stored[32], token[32], entry[MODEL_NAME];
    long long at, lease;
    int entry_len, header_len;
    const char *body = strchr(text, '\n') + 1;

    if (sscanf(text, "%24s %lld %lld %d %d", token, &at, &lease, &entry_len, &header_len) != 5) {
        walk_fail(walk, "what was pushed cannot be read", text);
        return;
    }
    snprintf(entry, sizeof(entry), "%.*s", entry_len, body);
    snprintf(stored, sizeof(stored), "%08x%016" PRIx64, 1U, walker->token);
    if (!walker->ready || strcmp(token, stored) != 0 || at < walker->called ||
        strtoull(strchr(entry, 'c') + 1, NULL, 10) != walker->last + 1 ||
        walker->position[0] != '\0') {
        return;
    }
    begin(walk, walker, entry, 0, NULL, 0);
    walker->position[0] = '\0';
    walker->last++;
    walker->pushed = at;
}

void walk_hear(struct walk *walk)
{
    struct buf heard = {0};
    const char *at;

    buf_add(&heard, "", 0);
    (void) fixture_hear(walk->fixture, &heard);
    for (at = heard.data; at != NULL && strchr(at, '\n') != NULL && !walk->failed;) {
        const char *end = strchr(at, '\n');

        while (end > at && (end - at) < 60 && strncmp(at, "'' ", 3) == 0) {
            at += 3;
        }
        buf_printf(walk->report, "    pushed: %s\n", at);
        hear_push(walk, at);
        at = strchr(end, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    buf_fini(&heard);
}

static void see_answers(struct walk *walk, struct walker *walker, const struct call *call,
                        const char *results)
{
    for (size_t i = 0; i < call->count; i++) {
        struct held *held = find_held(walker, call->answers[i].entry);
        struct fate *fate;

        assert_non_null(held);
        fate = &walk->fates[held->member];
        if (walk->now >= held->until && walk->topic->shared) {
            fate->repeats++;
        } else if (results[i] != '1' && !call->repeated) {
            walk_fail(walk, "an owner lost a claim for no reason", held->entry);
        }
        if (held->op == 'd') { /* shared: a repeat does not know it of what may have lapsed */
            fate->done += results[i] == '1' || walk->now < held->until || !walk->topic->shared;
            fate->owed = fate->owed && held->sends < fate->sends;
        }
        *held = walker->in_flight[--walker->count];
    }
}

/* Behind the messages may stand how many had expired, and what could not be published. */
static void see_messages(struct walk *walk, struct walker *walker, char *words, uint64_t known)
{
    char *save = NULL;
    const char *entry = strtok_r(words, " ", &save);

    while (entry != NULL && strcmp(entry, "SPUBLISH") != 0 && !walk->failed) {
        const char *attempts = strtok_r(NULL, " ", &save), *text = NULL;

        if (attempts == NULL || strcmp(attempts, "SPUBLISH") == 0) {
            return;
        }
        if (walk->model->keyed) {
            (void) strtok_r(NULL, " ", &save);
            text = strtok_r(NULL, " ", &save);
        }
        begin(walk, walker, entry, atoi(attempts), text, known);
        entry = strtok_r(NULL, " ", &save);
    }
}

/* OK, now, next, claims, results, again, messages. */
static void see_consumed(struct walk *walk, struct walker *walker, const struct call *call,
                         struct buf *seen)
{
    static char nothing[] = "";
    uint64_t known = walker->last, claims;
    char *words[6], *save = NULL;

    for (size_t i = 0; i < 6; i++) {
        words[i] = strtok_r(i == 0 ? seen->data : NULL, " ", &save);
        if (words[i] == NULL) {
            walk_fail(walk, "a call was refused", words[0]);
            return;
        }
    }
    see_answers(walk, walker, call, strcmp(words[4], "''") == 0 ? "" : words[4]);
    walker->called = walk->now;
    claims = strtoull(words[3], NULL, 10);
    walker->last = claims > known || walk->topic->shared ? claims : known;
    walker->position[0] = '\0';
    see_messages(walk, walker, save != NULL ? save : nothing, known > call->last ? known : 0);
    if (claims != call->last || walk->topic->shared) {
        walker->position[0] = '\0';
    }
}

/* --- the callers --- */

static void see_sent(struct walk *walk, const struct call *call, bool done, const char *seen)
{
    for (size_t i = 0; i < call->count; i++) {
        struct fate *fate = fate_of(walk, call->sends[i].member);
        char result = (char) (done ? seen[3 + i] : '?');

        fate->expires = fate->expires || call->sends[i].ttl >= 0;
        fate->copies += result == 'a' || result == '?' ? 1 : 0;
        if (result == 'a' || result == 'm') {
            fate->sends++;
            fate->owed = true;
            fate->by_hand = false;
        }
    }
}

static int64_t choose_when(struct walk *walk)
{
    switch (walk->topic->kind) {
    case 'f':
        return 0;
    case 'p':
    case 'b':
        return (int64_t) walk_chance(walk, 5) - 2;
    default:
        return walk_percent(walk, 70) ? 0 : (int64_t) walk_chance(walk, 30);
    }
}

/* Of kinds p and b some are scheduled. */
static void choose_time(char time[32], struct walk *walk)
{
    bool priority = walk->topic->kind == 'p' || walk->topic->kind == 'b';

    snprintf(time, 32, "%s", priority && walk_percent(walk, 30) ? "@+9" : "");
}

/* Those that are whole are due at once, and kinds without times have none that expire. */
static void fill_whole(struct walk *walk, struct call *call, bool timed)
{
    uint64_t some = MODEL_WHOLE - (timed ? 0 : MODEL_TIMED);

    for (size_t i = 0; i < call->count; i++) {
        call->sends[i].member = MODEL_PLAIN + (int) walk_chance(walk, some);
        call->sends[i].when = timed ? 0 : choose_when(walk);
        call->sends[i].time[0] = '\0';
        if (call->sends[i].member >= MODEL_PLAIN + MODEL_WHOLE - MODEL_TIMED) {
            fate_of(walk, call->sends[i].member)->expires = true;
        }
    }
}

/* Some have the id of one that is whole. */
static int choose_member(struct walk *walk)
{
    if (walk->model->keyed && walk_percent(walk, 20)) {
        return MODEL_PLAIN + MODEL_WHOLE + (int) walk_chance(walk, MODEL_WHOLE);
    }
    return (int) walk_chance(walk, MODEL_PLAIN);
}

void walk_send(struct walk *walk)
{
    bool timed = walk->topic->kind == 'm' || walk->topic->kind == 't';
    struct call *call = walk_new_call(walk, CALL_SEND, 0);
    bool one_time = walk_percent(walk, 50), ids = walk_percent(walk, 50);
    int64_t when = choose_when(walk);
    struct buf seen = {0};
    bool done;

    call->count = walk_percent(walk, 60) ? 1 : 1 + walk_chance(walk, 3);
    call->producer = ids ? 1 + (int) walk_chance(walk, 2) : 0;
    call->sequence = ids ? walk->sequence += 10 : 0;
    for (size_t i = 0; i < call->count; i++) {
        call->sends[i].member = choose_member(walk);
        call->sends[i].relative = timed;
        call->sends[i].when = one_time ? when : choose_when(walk);
        choose_time(call->sends[i].time, walk);
        call->sends[i].text = text_of(call->sends[i].member);
        call->sends[i].limit = -1;
        call->sends[i].ttl = walk_percent(walk, 90) ? -1 : 1 + (int64_t) walk_chance(walk, 60);
    }
    call->whole =
        walk->model->keyed && call->debounce == 0 && call->dedup == 0 && walk_percent(walk, 40);
    if (call->whole) {
        fill_whole(walk, call, timed);
    }
    done = walk_call(walk, WALK_SENDER, call, &seen);
    see_sent(walk, call, done, seen.data);
    walk_hear(walk);
    buf_fini(&seen);
    free(call);
}

static void decide(struct walk *walk, struct held *held)
{
    uint64_t x = walk->calm ? 0 : walk_chance(walk, 100);

    held->op = "dtxbh"[x < 55 ? 0 : x < 75 ? 1 : x < 82 ? 2 : x < 94 ? 3 : 4];
    held->delay = walk_percent(walk, 50) ? 0 : (int64_t) walk_chance(walk, 20);
}

static char op_of(const struct held *held)
{
    return (char) (held->op == 'd' && held->retried ? 'D' : held->op);
}

static void fill_answers(struct call *call, const struct walker *walker)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < walker->count && call->count < CALL_ITEMS_MAX; i++) {
            const struct held *held = &walker->in_flight[i];

            if (held->op != 0 && (op_of(held) == 'd') == (pass == 0)) {
                struct call_answer *answer = &call->answers[call->count++];

                answer->op = op_of(held);
                answer->reason = held->op == 't' || held->op == 'x' ? "why" : "";
                answer->delay = held->delay;
                memcpy(answer->entry, held->entry, sizeof(held->entry));
            }
        }
    }
}

static uint64_t oldest_claim(const struct walker *walker)
{
    uint64_t oldest = walker->last + 1;

    for (size_t i = 0; i < walker->count; i++) {
        oldest = walker->in_flight[i].claim < oldest ? walker->in_flight[i].claim : oldest;
    }
    return oldest;
}

static struct call *new_consume(struct walk *walk, struct walker *walker)
{
    static const int32_t sizes[] = {0, 1, 2, 5, 40};
    struct call *call = walk_new_call(walk, CALL_CONSUME, walker->token);

    for (size_t i = 0; i < walker->count; i++) {
        if (walker->in_flight[i].op == 0 && walk_percent(walk, walk->calm ? 100 : 60)) {
            decide(walk, &walker->in_flight[i]);
        }
    }
    call->n = walk->calm ? 40 : sizes[walk_chance(walk, 5)];
    call->max_bytes = walk->calm || walk_percent(walk, 80) ? 1048576 : MODEL_FEW_BYTES;
    call->caller = (int) (walker - walk->walkers);
    call->last = walker->last;
    memcpy(call->position, walker->position, sizeof(call->position));
    call->position_attempts = walker->position_attempts;
    call->open = !walk->calm && !walk->topic->shared && walk_percent(walk, 70);
    call->rested = walk_percent(walk, 70);
    for (int i = 0; i < MODEL_MEMBERS && !walk->calm && walk_percent(walk, 15); i++) {
        call->passes |= 1U << model_key((int) walk_chance(walk, MODEL_MEMBERS));
    }
    fill_answers(call, walker);
    return call;
}

void walk_consume(struct walk *walk, struct walker *walker)
{
    struct call *call = walker->call != NULL ? walker->call : new_consume(walk, walker);
    struct buf seen = {0};

    call->version = walk->version;
    call->oldest = oldest_claim(walker);
    call->pushed = walker->pushed;
    walker->call = call;
    if (walk_call(walk, WALK_OWNER, call, &seen)) {
        see_consumed(walk, walker, call, &seen);
        walker->call = NULL;
        free(call);
    } else {
        call->repeated = true;
    }
    buf_fini(&seen);
}

void walk_renew(struct walk *walk, struct walker *walker)
{
    struct call *call = walk_new_call(walk, CALL_RENEW, walker->token);
    struct buf seen = {0};
    size_t first = walker->count > CALL_ITEMS_MAX ? walker->count - CALL_ITEMS_MAX : 0;

    for (size_t i = first; i < walker->count; i++) {
        memcpy(call->answers[call->count++].entry, walker->in_flight[i].entry, MODEL_NAME);
        memcpy(call->noted, walker->in_flight[i].entry, MODEL_NAME);
    }
    if (walk_call(walk, WALK_OWNER, call, &seen)) {
        for (size_t i = first; i < walker->count; i++) {
            bool renewed = strrchr(seen.data, ' ')[1 + i - first] == '1';

            walker->in_flight[i].until = renewed ? walk->now + LEASE_MS : 0;
        }
    }
    buf_fini(&seen);
    free(call);
}

void walk_end_owner(struct walk *walk, struct walker *owner)
{
    uint64_t token = ++walk->tokens;

    for (size_t i = 0; i < owner->count; i++) {
        struct fate *fate = &walk->fates[owner->in_flight[i].member];
        bool handled = owner->call != NULL && owner->in_flight[i].op == 'd';

        fate->repeats++;
        fate->owed = fate->owed && !(handled && owner->in_flight[i].sends == fate->sends);
    }
    free(owner->call);
    *owner = (struct walker){.token = token};
}

static void vacate(struct walk *walk, const struct walker *owner)
{
    struct call *call = walk_new_call(walk, CALL_VACATE, owner->token);
    struct buf seen = {0};

    (void) walk_call(walk, WALK_OWNER, call, &seen);
    buf_fini(&seen);
    free(call);
}

void walk_take_over(struct walk *walk)
{
    struct walker *owner = &walk->walkers[0];
    unsigned long long base = 0;
    struct buf seen = {0};
    struct call *call;
    int more = 1;

    if (owner->ready) {
        if (walk_percent(walk, 30)) {
            vacate(walk, owner);
        }
        walk_end_owner(walk, owner);
    }
    call = walk_new_call(walk, CALL_TAKEOVER, owner->token);
    while (!owner->ready && !walk->failed && walk_call(walk, WALK_OWNER, call, &seen)) {
        if (sscanf(seen.data, "OK %llu %*d %d", &base, &more) != 2) {
            walk_fail(walk, "a takeover was refused", seen.data);
        }
        owner->last = base;
        owner->ready = more == 0;
    }
    buf_fini(&seen);
    free(call);
}

/* Something of a state, chosen at random; "": there is nothing. */
static void choose_entry(struct walk *walk, enum fixture_key key, char letter, char out[MODEL_NAME])
{
    redisReply *all = redisCommand(walk->fixture->redis, "ZRANGE %s 0 -1", fixture_keys[key]);
    struct buf text = {0};

    out[0] = '\0';
    for (size_t i = 0; i < all->elements; i++) {
        const redisReply *name = all->element[(i + walk_chance(walk, 8)) % all->elements];

        buf_clear(&text);
        text_format(&text, name->str, (size_t) name->len);
        if (name->len > 0 && (letter == 0 || strchr(text.data, letter) != NULL)) {
            snprintf(out, MODEL_NAME, "%s", text.data);
        }
    }
    buf_fini(&text);
    freeReplyObject(all);
}

static void requeue(struct walk *walk)
{
    struct call *call = walk_new_call(walk, CALL_REQUEUE, 0);
    struct buf seen = {0};

    call->count = 1;
    choose_entry(walk, KEY_DEAD, 'd', call->answers[0].entry);
    if (call->answers[0].entry[0] != '\0') {
        struct fate *fate = fate_of(walk, member_of_entry(call->answers[0].entry));

        (void) walk_call(walk, WALK_EDITOR, call, &seen);
        fate->copies++;
        fate->owed = true;
    }
    buf_fini(&seen);
    free(call);
}

static void reschedule(struct walk *walk)
{
    struct call *call = walk_new_call(walk, CALL_RESCHEDULE, 0);
    bool scheduled = walk_percent(walk, 50);
    struct buf seen = {0};
    char member[MODEL_NAME];

    if (walk_percent(walk, 20)) {
        walk_pass_time(walk, LEASE_MS + 7);
    }
    choose_entry(walk, scheduled ? KEY_PREPARE : KEY_STORE, scheduled ? 's' : 0, member);
    call->count = 1;
    if (member[0] != '\0') {
        call->sends[0].member = scheduled ? member_of_entry(member) : member_of(member);
        call->sends[0].relative = walk->topic->kind == 'm' || walk->topic->kind == 't';
        call->sends[0].when = choose_when(walk);
        choose_time(call->sends[0].time, walk);
        (void) walk_call(walk, WALK_EDITOR, call, &seen);
    }
    buf_fini(&seen);
    free(call);
}

/* What rests may be a claim already: then nothing is removed. */
static void remove_one(struct walk *walk)
{
    static const char states[] = "wrsd";
    static const enum fixture_key keys[] = {KEY_STORE, KEY_PREPARE, KEY_PREPARE, KEY_DEAD};
    struct call *call = walk_new_call(walk, CALL_REMOVE, 0);
    uint64_t x = walk_chance(walk, 4);
    struct buf seen = {0};
    char letter = '\0';

    call->count = 1;
    call->state = states[x];
    if (x == 1 || x == 2) {
        letter = states[x];
    }
    choose_entry(walk, keys[x], letter, call->answers[0].entry);
    if (call->answers[0].entry[0] != '\0') {
        const char *name = call->answers[0].entry;
        int member = x == 0 ? member_of(name) : member_of_entry(name);

        (void) walk_call(walk, WALK_EDITOR, call, &seen);
        fate_of(walk, member)->by_hand = true;
    }
    buf_fini(&seen);
    free(call);
}

void walk_edit(struct walk *walk)
{
    uint64_t x = walk_chance(walk, 10);

    if (x < 3) {
        requeue(walk);
    } else if (x < 7 && walk->topic->kind != 'f') {
        reschedule(walk);
    } else {
        remove_one(walk);
    }
}
