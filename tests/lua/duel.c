/* duel.c - see duel.h. */
#include "duel.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "call.h"
#include "clocked.h"

enum { HAND_MAX = 256, LATE_MAX = 8, SHARERS = 3, LINES_MAX = 4096, ROUND_CALLS = 160 };

/* Every reply is compared, and after every so many calls the whole state. */
enum { LOOK_EVERY = 4 };

/* A claimed message, as its consumer knows it. */
struct held {
    char entry[64];
    char op; /* the answer, once decided: a repeated call must give the same one; 0: in work */
    int64_t delay;
    bool sent; /* an answer went out whose outcome is not known */
};

/* A consuming process.  `last` is the highest claim number that it knows. */
struct consumer {
    bool ready;
    uint64_t token;
    uint64_t last;
    struct held hand[HAND_MAX];
    size_t count;
};

/* One round: one slot, from its opening until it is empty. */
struct duel {
    struct fixture *fixture;
    const char *const *scripts;
    struct buf *report;
    struct model *model;
    uint64_t random;
    bool strict, faults;
    int32_t max_retries;
    int64_t lease;
    uint64_t tokens;                    /* given out */
    struct consumer consumers[SHARERS]; /* exclusive: the owner, then the one before */
    struct call late[LATE_MAX];
    size_t late_count;
    uint64_t sent_step[MODEL_MEMBERS];
    bool failed;
};

static const char look_text[] =
    "local out = {} "
    "for i, name in ipairs({'store', 'prepare', 'dead'}) do "
    "  local all = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES') "
    "  for j = 1, #all, 2 do "
    "    out[#out + 1] = name out[#out + 1] = all[j] out[#out + 1] = all[j + 1] "
    "  end "
    "end "
    "for i, name in ipairs({'why', 'slot'}) do "
    "  local all = redis.call('HGETALL', KEYS[i + 3]) "
    "  for j = 1, #all, 2 do "
    "    out[#out + 1] = name out[#out + 1] = all[j] out[#out + 1] = all[j + 1] "
    "  end "
    "end "
    "return out";

#define LOOK "EVAL %s 5 x prepare{x} dead{x} why{x} slot{x}"

/* --- chance --- */

static uint64_t chance(struct duel *duel, uint64_t below)
{
    duel->random ^= duel->random << 13;
    duel->random ^= duel->random >> 7;
    duel->random ^= duel->random << 17;
    return (duel->random >> 11) % below;
}

static bool percent(struct duel *duel, uint64_t of)
{
    return chance(duel, 100) < of;
}

/* --- one call on both sides --- */

static void fail_duel(struct duel *duel, const char *what)
{
    buf_printf(duel->report, "step %" PRIu64 ": %s\n", duel->model->step, what);
    duel->failed = true;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The lines of `text`, sorted. */
static void sort_lines(struct buf *text)
{
    static char *lines[LINES_MAX];
    struct buf sorted = {0};
    char *save = NULL;
    size_t count = 0;

    for (char *line = strtok_r(text->data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        assert_true(count < LINES_MAX);
        lines[count++] = line;
    }
    qsort(lines, count, sizeof(lines[0]), compare_lines);
    for (size_t i = 0; i < count; i++) {
        buf_printf(&sorted, "%s\n", lines[i]);
    }
    buf_fini(text);
    *text = sorted;
}

static bool shown(const char *section, const char *name)
{
    static const char *const hidden[] = {"def", "token", "owner", "test.now"};

    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        if (strcmp(section, "slot") == 0 && strcmp(name, hidden[i]) == 0) {
            return false;
        }
    }
    return true;
}

static void show_state(struct buf *out, const redisReply *state)
{
    for (size_t i = 0; i + 2 < state->elements; i += 3) {
        const char *section = state->element[i]->str;
        const char *name = state->element[i + 1]->str;
        const char *value = state->element[i + 2]->str;

        if (!shown(section, name)) {
            continue;
        }
        buf_printf(out, "%s %s ", section, name[0] == '\0' ? "''" : name);
        if (strcmp(section, "why") == 0 || strcmp(section, "slot") == 0) {
            buf_printf(out, "%s\n", value[0] == '\0' ? "''" : value);
        } else {
            score_format(out, value);
            buf_printf(out, "\n");
        }
    }
}

static void compare(struct duel *duel, const char *what, struct buf *expected, struct buf *got)
{
    if (!duel->failed && strcmp(expected->data, got->data) != 0) {
        fail_duel(duel, what);
        buf_printf(duel->report, "--- the model:\n%s\n--- redis:\n%s\n", expected->data, got->data);
    }
}

static void compare_state(struct duel *duel)
{
    redisReply *state = fixture_reply(duel->fixture);
    struct buf expected = {0}, got = {0};

    model_show(&expected, duel->model);
    buf_add(&got, "", 0);
    if (state->type != REDIS_REPLY_ARRAY) {
        fail_msg("cannot look: %s", state->str);
    }
    show_state(&got, state);
    sort_lines(&expected);
    sort_lines(&got);
    compare(duel, "the states differ", &expected, &got);
    freeReplyObject(state);
    buf_fini(&expected);
    buf_fini(&got);
}

static size_t script_index(const char *name)
{
    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        if (strcmp(scripts_all[i]->name, name) == 0) {
            return i;
        }
    }
    abort();
}

static void append(struct duel *duel, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    assert_int_equal(redisvAppendCommand(duel->fixture->redis, format, args), REDIS_OK);
    va_end(args);
}

static void check_laws(struct duel *duel)
{
    const char *law = model_broken_law(duel->model);

    if (law != NULL && !duel->failed) {
        fail_duel(duel, law);
    }
}

static void note_sends(struct duel *duel, const struct call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        duel->sent_step[call->sends[i].member] = duel->model->step;
    }
}

static void report_call(struct duel *duel, const struct args *args, const char *reply)
{
    buf_printf(duel->report, "%" PRIu64 " at %" PRId64 ":", duel->model->step, duel->model->now);
    for (size_t i = 0; i < args->count; i++) {
        buf_add(duel->report, " ", 1);
        buf_add(duel->report, args->data[i], args->lens[i]);
    }
    buf_printf(duel->report, "\n    %s\n", reply);
}

/* Do the call on both sides and compare; `seen` gets the reply. */
static void execute(struct duel *duel, const struct call *call, struct buf *seen)
{
    size_t index = script_index(call_script(call));
    bool look = ++duel->model->step % LOOK_EVERY == 0;
    struct args *args = memory_new(sizeof(*args));
    struct buf expected = {0};
    redisReply *reply;

    call_args(args, duel->model, call);
    append(duel, "HSET slot{x} test.now %lld", (long long) duel->model->now);
    fixture_append(duel->fixture, scripts_all[index], duel->scripts[index], args);
    if (look) {
        append(duel, LOOK, look_text);
    }
    freeReplyObject(fixture_reply(duel->fixture));
    reply = fixture_reply(duel->fixture);
    buf_clear(seen);
    reply_format(seen, reply);
    freeReplyObject(reply);
    model_call(duel->model, &expected, call);
    report_call(duel, args, seen->data);
    compare(duel, "the replies differ", &expected, seen);
    if (look) {
        compare_state(duel);
    }
    check_laws(duel);
    if (call->kind == CALL_SEND && strncmp(seen->data, "OK", 2) == 0) {
        note_sends(duel, call);
    }
    buf_fini(&expected);
    args_clear(args);
    free(args);
}

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

/* --- senders --- */

static void send_some(struct duel *duel)
{
    static const int64_t priorities[] = {-8191, -1, 0, 0, 1, 5, 8191};
    struct call *call = memory_new(sizeof(*call));
    struct buf seen = {0};

    call->kind = CALL_SEND;
    call->definition = percent(duel, 3) ? 2 : 1;
    call->count = 1 + chance(duel, 3);
    for (size_t i = 0; i < call->count; i++) {
        bool relative = duel->model->kind == 'm' || chance(duel, 2) == 0;
        int64_t when = (int64_t) chance(duel, 12);

        if (duel->model->kind == 'p' || duel->model->kind == 'b') {
            relative = false;
            when = priorities[chance(duel, 7)];
        } else if (!relative) {
            when += duel->model->now - 4;
        } else if (chance(duel, 2) == 0) {
            when = 0;
        }
        call->sends[i].member = (int) chance(duel, MODEL_MEMBERS);
        call->sends[i].relative = relative;
        call->sends[i].when = when;
    }
    if (!deliver(duel, call, draw_fate(duel), &seen) && percent(duel, 80)) {
        execute(duel, call, &seen); /* unknown: repeated */
    }
    buf_fini(&seen);
    free(call);
}

/* --- consumers --- */

static void decide(struct duel *duel, struct held *held)
{
    uint64_t x = chance(duel, 100);

    held->op = "dtxb"[x < 60 ? 0 : x < 80 ? 1 : x < 85 ? 2 : 3];
    held->delay = chance(duel, 2) == 0 ? 0 : (int64_t) chance(duel, 20);
}

/* The answers that are decided, done first. */
static void fill_answers(struct call *call, const struct consumer *consumer)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < consumer->count && call->count < CALL_ITEMS_MAX; i++) {
            const struct held *held = &consumer->hand[i];

            if (held->op != 0 && (held->op == 'd') == (pass == 0)) {
                struct call_answer *answer = &call->answers[call->count++];

                answer->op = held->op;
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
        if (results[i] == '0' && !held->sent && !doubled && !duel->model->shared) {
            fail_duel(duel, "an owner lost a claim for no reason");
        }
        drop_held(consumer, held);
    }
}

static void see_messages(struct duel *duel, struct consumer *consumer, char *words)
{
    char *save = NULL;
    char *entry;

    for (entry = strtok_r(words, " ", &save); entry != NULL; entry = strtok_r(NULL, " ", &save)) {
        struct held held = {0};

        (void) strtok_r(NULL, " ", &save); /* attempts */
        if (find_held(consumer, entry) != NULL) {
            fail_duel(duel, "a message was delivered again while it was in hand");
            return;
        }
        assert_true(consumer->count < HAND_MAX);
        snprintf(held.entry, sizeof(held.entry), "%s", entry);
        consumer->hand[consumer->count++] = held;
    }
}

/* OK, now, next, claims, results, again, (entry, attempts)... */
static void see_consumed(struct duel *duel, struct consumer *consumer, const struct call *call,
                         struct buf *seen, bool doubled)
{
    char *save = NULL;
    char *words[6];
    static char nothing[] = "";

    for (size_t i = 0; i < 6; i++) {
        words[i] = strtok_r(i == 0 ? seen->data : NULL, " ", &save);
        if (words[i] == NULL) {
            return; /* FENCED or STALE */
        }
    }
    see_results(duel, consumer, call, words[4], doubled);
    consumer->last = strtoull(words[3], NULL, 10);
    see_messages(duel, consumer, save != NULL ? save : nothing);
}

static void fill_consume(struct duel *duel, struct call *call, const struct consumer *consumer)
{
    static const int32_t sizes[] = {0, 1, 2, 5};

    call->kind = CALL_CONSUME;
    call->definition = percent(duel, 2) ? 2 : 1;
    call->token = consumer->token;
    call->n = sizes[chance(duel, 4)];
    call->lease = duel->lease;
    call->max_retries = duel->max_retries;
    call->last = consumer->last;
    fill_answers(call, consumer);
}

static void consume(struct duel *duel, struct consumer *consumer)
{
    struct call *call = memory_new(sizeof(*call));
    enum fate fate = draw_fate(duel);
    struct buf seen = {0};

    for (size_t i = 0; i < consumer->count; i++) {
        if (consumer->hand[i].op == 0 && percent(duel, 60)) {
            decide(duel, &consumer->hand[i]);
        }
    }
    fill_consume(duel, call, consumer);
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

static void renew(struct duel *duel, const struct consumer *consumer)
{
    struct call *call = memory_new(sizeof(*call));
    struct buf seen = {0};

    call->kind = CALL_RENEW;
    call->definition = 1;
    call->token = consumer->token;
    call->lease = duel->lease + (int64_t) chance(duel, 5);
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

/* Until it is complete; now and then the new owner dies on the way. */
static void take_over(struct duel *duel)
{
    struct consumer *owner = &duel->consumers[0];
    struct call *call = memory_new(sizeof(*call));
    struct buf seen = {0};

    duel->consumers[1] = *owner;
    memset(owner, 0, sizeof(*owner));
    owner->token = ++duel->tokens;
    call->kind = CALL_TAKEOVER;
    call->definition = 1;
    call->token = owner->token;
    call->strict = duel->strict;
    call->max_retries = duel->max_retries;
    call->limit = 1 + (int32_t) chance(duel, 4);
    while (!owner->ready && !duel->failed && !(duel->faults && percent(duel, 5))) {
        unsigned long long base = 0;
        int more = 1;

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

/* --- one round --- */

static void run_late(struct duel *duel)
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

static void call_plainly(struct duel *duel, enum call_kind kind, uint64_t token)
{
    struct call *call = memory_new(sizeof(*call));
    struct buf seen = {0};

    call->kind = kind;
    call->definition = percent(duel, 3) ? 2 : 1;
    call->token = token;
    call->limit = 1 + (int32_t) chance(duel, 3);
    call->lease = duel->lease;
    call->max_retries = duel->max_retries;
    call->n = 2;
    call->strict = duel->strict;
    execute(duel, call, &seen);
    buf_fini(&seen);
    free(call);
}

static void pass_time(struct duel *duel)
{
    uint64_t x = chance(duel, 40);

    if (x == 0) {
        duel->model->now -= 3; /* clocks are set back */
    } else if (x < 5) {
        duel->model->now += duel->lease + (int64_t) chance(duel, 100);
    } else {
        duel->model->now += 1 + (int64_t) chance(duel, 10);
    }
}

/* The owner before goes on as if nothing had happened. */
static void zombie_calls(struct duel *duel)
{
    static const enum call_kind kinds[] = {CALL_CONSUME, CALL_RENEW, CALL_TAKEOVER, CALL_VACATE};
    struct consumer *zombie = &duel->consumers[1];

    if (duel->model->shared || zombie->token == 0) {
        return;
    }
    if (percent(duel, 50)) {
        consume(duel, zombie);
    } else {
        call_plainly(duel, kinds[chance(duel, 4)], zombie->token);
    }
}

static void step(struct duel *duel)
{
    bool shared = duel->model->shared;
    struct consumer *consumer = &duel->consumers[shared ? chance(duel, SHARERS) : 0];
    uint64_t x = chance(duel, 100);

    if (x < 30) {
        send_some(duel);
    } else if (x < 42) {
        pass_time(duel);
    } else if (x < 78) {
        if (consumer->ready) {
            consume(duel, consumer);
        }
    } else if (x < 83) {
        renew(duel, consumer);
    } else if (x < 87) {
        if (!shared) {
            take_over(duel);
        }
    } else if (x < 91) {
        run_late(duel);
    } else if (x < 94) {
        zombie_calls(duel);
    } else if (x < 96) {
        call_plainly(duel, CALL_INSPECT, 0);
    } else if (x < 98) {
        call_plainly(duel, CALL_REQUEUE, 0);
    } else if (!shared) {
        call_plainly(duel, CALL_VACATE, consumer->token);
    }
}

static bool is_empty(const struct duel *duel)
{
    return duel->model->waiting.count == 0 && duel->model->prepare.count == 0;
}

/* No more faults: everything must be handled. */
static void drain(struct duel *duel)
{
    struct consumer *consumer = &duel->consumers[0];

    duel->faults = false;
    while (duel->late_count > 0 && !duel->failed) {
        run_late(duel);
    }
    if (!consumer->ready && !duel->failed) {
        take_over(duel);
    }
    for (int i = 0; i < 400 && !duel->failed && !is_empty(duel); i++) {
        for (size_t j = 0; j < consumer->count; j++) {
            if (consumer->hand[j].op == 0) {
                consumer->hand[j].op = 'd';
            }
        }
        consume(duel, consumer);
        duel->model->now += duel->lease / 4;
    }
    if (!duel->failed && !is_empty(duel)) {
        fail_duel(duel, "the slot does not drain");
    }
    for (int i = 0; i < MODEL_MEMBERS && !duel->failed; i++) {
        if (duel->sent_step[i] > 0 && duel->model->handled_step[i] <= duel->sent_step[i]) {
            fail_duel(duel, "a message that was sent was never handled");
        }
    }
}

static void open_slot(struct duel *duel)
{
    const char kind[2] = {duel->model->kind, '\0'};
    struct args args = {0};
    redisReply *reply;

    fixture_flush(duel->fixture);
    args_add(&args, "n.1");
    args_add(&args, kind);
    args_add(&args, duel->model->shared ? "1" : "0");
    reply = fixture_call(duel->fixture, fixture_script("slot_open"), &args);
    if (reply->type != REDIS_REPLY_ARRAY) {
        fail_msg("slot_open: %s", reply->str);
    }
    freeReplyObject(reply);
    args_clear(&args);
}

static void play_round(struct duel *duel)
{
    static const int32_t retries[] = {0, 1, 2, 16, 63};
    bool shared = chance(duel, 4) == 0;
    bool heard = chance(duel, 2) == 0;

    model_init(duel->model, "mtpb"[chance(duel, 4)], shared, heard);
    duel->model->now = 1700000000000 + (int64_t) chance(duel, 1000);
    duel->strict = chance(duel, 3) == 0;
    duel->faults = chance(duel, 5) != 0;
    duel->max_retries = retries[chance(duel, 5)];
    duel->lease = 20 + (int64_t) chance(duel, 60);
    for (size_t i = 0; i < SHARERS; i++) {
        duel->consumers[i].ready = shared;
    }
    buf_clear(duel->report);
    buf_printf(duel->report, "kind %c, %s, %s, retries %d, lease %" PRId64 "\n", duel->model->kind,
               shared ? "shared" : "exclusive", duel->strict ? "strict" : "fast", duel->max_retries,
               duel->lease);
    fixture_listen(duel->fixture, heard);
    open_slot(duel);
    if (!shared) {
        take_over(duel);
    }
    for (int i = 0; i < ROUND_CALLS && !duel->failed; i++) {
        step(duel);
    }
    if (!duel->failed) {
        drain(duel);
    }
    if (!duel->failed) {
        append(duel, LOOK, look_text);
        compare_state(duel);
    }
    if (fixture_woken(duel->fixture) != duel->model->wakes && !duel->failed) {
        fail_duel(duel, "other wake-ups came than should");
    }
}

bool duel(struct fixture *fixture, const char *const scripts[], uint64_t seed, uint64_t calls,
          struct buf *report)
{
    struct model *model = memory_new(sizeof(*model));
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    uint64_t done = 0;
    bool failed = false;

    while (done < calls && !failed) {
        struct duel *round = memory_new(sizeof(*round));

        round->fixture = fixture;
        round->scripts = scripts;
        round->report = report;
        round->model = model;
        round->random = random;
        play_round(round);
        random = round->random;
        done += model->step;
        failed = round->failed;
        free(round);
    }
    free(model);
    return !failed;
}
