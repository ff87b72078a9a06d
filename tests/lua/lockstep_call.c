/* lockstep_call.c - the two sides of a round: does calls on both and compares. */
#include "lockstep_round.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "call.h"
#include "clocked.h"
#include "support/testing.h"

enum { LINES_MAX = 4096 };

/* Every reply is compared, and after a number of calls the whole state. */
enum { LOOK_EVERY = 4 };

static const char look_text[] =
    "local out = {} "
    "for i, name in ipairs({'store', 'prepare', 'dead', 'done'}) do "
    "  local all = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES') "
    "  for j = 1, #all, 2 do "
    "    out[#out + 1] = name out[#out + 1] = all[j] out[#out + 1] = all[j + 1] "
    "  end "
    "end "
    "for i, name in ipairs(redis.call('ZRANGE', KEYS[8], 0, -2)) do "
    "  out[#out + 1] = 'schedule' out[#out + 1] = name "
    "  out[#out + 1] = redis.call('ZSCORE', KEYS[8], name) "
    "end "
    "for i, name in ipairs({'why', 'slot', 'body'}) do "
    "  local all = redis.call('HGETALL', KEYS[i + 4]) "
    "  for j = 1, #all, 2 do "
    "    out[#out + 1] = name out[#out + 1] = all[j] out[#out + 1] = all[j + 1] "
    "  end "
    "end "
    "return out";

#define LOOK "EVAL %s 8 x prepare{x} dead{x} done{x} why{x} slot{x} body{x} schedule{x}"

/* --- chance --- */

uint64_t round_chance(struct round *round, uint64_t below)
{
    round->random ^= round->random << 13;
    round->random ^= round->random >> 7;
    round->random ^= round->random << 17;
    return (round->random >> 11) % below;
}

bool round_percent(struct round *round, uint64_t of)
{
    return round_chance(round, 100) < of;
}

/* --- one call on both sides --- */

void round_fail(struct round *round, const char *what)
{
    buf_printf(round->report, "step %" PRIu64 ": %s\n", round->model->step, what);
    round->failed = true;
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
    buf_add(&sorted, "", 0);
    for (size_t i = 0; i < count; i++) {
        buf_printf(&sorted, "%s\n", lines[i]);
    }
    buf_fini(text);
    *text = sorted;
}

static bool shown(const char *section, const char *name)
{
    bool slot = strcmp(section, "slot") == 0;

    return !(slot && (strcmp(name, "token") == 0 || strcmp(name, "owner") == 0 ||
                      strcmp(name, "passed") == 0 || strcmp(name, "looked") == 0 ||
                      strcmp(name, "look_again") == 0)); /* these save work, and change nothing */
}

static void show_state(struct buf *out, const redisReply *state)
{
    for (size_t i = 0; i + 2 < state->elements; i += 3) {
        const char *section = state->element[i]->str;
        const redisReply *name = state->element[i + 1], *value = state->element[i + 2];

        if (!shown(section, name->str)) {
            continue;
        }
        buf_printf(out, "%s ", section);
        text_format(out, name->str, (size_t) name->len);
        buf_printf(out, " ");
        if (strcmp(section, "why") == 0 || strcmp(section, "slot") == 0 ||
            strcmp(section, "body") == 0) {
            text_format(out, value->str, (size_t) value->len);
        } else {
            score_format(out, value->str);
        }
        buf_printf(out, "\n");
    }
}

static void compare(struct round *round, const char *what, struct buf *expected, struct buf *got)
{
    if (!round->failed && !reply_same(expected->data, got->data)) {
        round_fail(round, what);
        buf_printf(round->report, "--- the model:\n%s\n--- redis:\n%s\n", expected->data,
                   got->data);
    }
}

static void compare_state(struct round *round)
{
    redisReply *state = fixture_reply(round->fixture);
    struct buf expected = {0}, got = {0};

    model_show(&expected, round->model);
    buf_add(&got, "", 0);
    if (state->type != REDIS_REPLY_ARRAY) {
        fail_msg("cannot look: %s", state->str);
    }
    show_state(&got, state);
    sort_lines(&expected);
    sort_lines(&got);
    compare(round, "the states differ", &expected, &got);
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

static void append(struct round *round, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    assert_int_equal(redisvAppendCommand(round->fixture->redis, format, args), REDIS_OK);
    va_end(args);
}

static void check_laws(struct round *round, const struct call *call)
{
    const char *law = model_broken_law(round->model);

    if (law == NULL && call->kind == CALL_CONSUME) {
        law = model_wrong_next(round->model, call);
    }
    if (law != NULL && !round->failed) {
        round_fail(round, law);
    }
}

/* "OK amfd" */
static void note_sends(struct round *round, const struct call *call, const char *seen)
{
    for (size_t i = 0; strncmp(seen, "OK", 2) == 0 && i < call->count; i++) {
        if (seen[3 + i] != 'f' && seen[3 + i] != 'd') {
            round->sent_step[call->sends[i].member] = round->model->step;
        }
    }
}

static void report_call(struct round *round, const struct args *args, const char *reply)
{
    buf_printf(round->report, "%" PRIu64 " at %" PRId64 ":", round->model->step, round->model->now);
    for (size_t i = 0; i < args->count; i++) {
        buf_add(round->report, " ", 1);
        text_format(round->report, args->data[i], args->lens[i]);
    }
    buf_printf(round->report, "\n    %s\n", reply);
}

/* whole: a send of whole messages, which gets no keys for what is beside them. */
static redisReply *run(struct round *round, const char *name, const struct args *args, bool look,
                       bool whole)
{
    size_t index = script_index(name);

    append(round, "SET test.now %lld", (long long) round->model->now);
    round->fixture->keyed = round->model->keyed && !whole;
    fixture_append(round->fixture, scripts_all[index], round->scripts[index], args);
    round->fixture->keyed = round->model->keyed;
    if (look) {
        append(round, LOOK, look_text);
    }
    freeReplyObject(fixture_reply(round->fixture));
    return fixture_reply(round->fixture);
}

/* As the library, which knows of some calls that they are not ordinary.  Both scripts take all. */
static redisReply *consume(struct round *round, const struct args *args, bool look)
{
    redisReply *reply;

    round->model->ordinary = round->model->step * 2654435761U % 100 < 70;
    if (!round->model->ordinary) {
        return run(round, "consume_any", args, look, false);
    }
    reply = run(round, "consume", args, look, false);
    if (!fixture_is_any(reply)) {
        round->ordinary += reply->type == REDIS_REPLY_ARRAY && reply->elements > 2 ? 1 : 0;
        return reply;
    }
    round->any++;
    freeReplyObject(reply);
    if (look) {
        compare_state(round); /* it wrote nothing */
    }
    round->model->ordinary = false;
    return run(round, "consume_any", args, look, false);
}

void round_execute(struct round *round, const struct call *call, struct buf *seen)
{
    bool look = ++round->model->step % LOOK_EVERY == 0;
    struct args *args = memory_new(sizeof(*args));
    struct buf expected = {0};
    redisReply *reply;

    call_args(args, round->model, call);
    reply = call->kind == CALL_CONSUME ? consume(round, args, look)
                                       : run(round, call_script(call), args, look, call->whole);
    buf_clear(seen);
    reply_format(seen, reply);
    freeReplyObject(reply);
    model_call(round->model, &expected, call);
    report_call(round, args, seen->data);
    compare(round, "the replies differ", &expected, seen);
    if (look) {
        compare_state(round);
    }
    check_laws(round, call);
    if (call->kind == CALL_SEND || call->kind == CALL_TICK) {
        if (call->kind == CALL_SEND && !round->model->sent_before) {
            note_sends(round, call, seen->data);
        }
        if (round->model->published[0] != '\0' && !round->failed) {
            round_hear_push(round);
        }
    }
    buf_fini(&expected);
    args_clear(args);
    free(args);
}

void round_compare(struct round *round)
{
    append(round, LOOK, look_text);
    compare_state(round);
}

void round_run_script(struct round *round, const char *name, struct args *args, struct buf *seen)
{
    size_t index = script_index(name);
    redisReply *reply;

    fixture_append(round->fixture, scripts_all[index], round->scripts[index], args);
    reply = fixture_reply(round->fixture);
    buf_clear(seen);
    reply_format(seen, reply);
    freeReplyObject(reply);
    buf_printf(round->report, "%s:", name);
    for (size_t i = 0; i < args->count; i++) {
        buf_printf(round->report, " %s", args->data[i]);
    }
    buf_printf(round->report, "\n    %s\n", seen->data);
    args_clear(args);
}

void round_open_slot(struct round *round)
{
    const char kind[2] = {round->model->kind, '\0'};
    char def[24];
    struct args args = {0};
    struct buf seen = {0};

    fixture_flush(round->fixture);
    round->fixture->keyed = round->model->keyed;
    snprintf(def, sizeof(def), "n.%d", round->model->version);
    args_add(&args, def);
    args_add(&args, kind);
    args_add(&args, "wake{x}");
    args_add(&args, round->model->shared ? "1" : "0");
    snprintf(def, sizeof(def), "d%d", round->model->version);
    args_add(&args, def);
    args_add(&args, "1");
    args_add(&args, "0");
    args_add(&args, "0");
    args_add(&args, "0");
    round_run_script(round, "slot_open", &args, &seen);
    round->model->text = round->model->version;
    round->model->wakes += round->model->heard ? 1 : 0;
    round->pauses = 0;
    if (strcmp(seen.data, "OK 1") != 0) {
        round_fail(round, "the slot does not open");
    }
    buf_fini(&seen);
}
