/* call.c - see call.h. */
#include "call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *call_script(const struct call *call)
{
    static const char *const names[] = {[CALL_SEND] = "send",
                                        [CALL_CONSUME] = "consume",
                                        [CALL_RENEW] = "renew",
                                        [CALL_TAKEOVER] = "takeover",
                                        [CALL_VACATE] = "vacate",
                                        [CALL_INSPECT] = "inspect",
                                        [CALL_RANK] = "rank",
                                        [CALL_FIND] = "find",
                                        [CALL_PAGE] = "page",
                                        [CALL_REQUEUE] = "edit",
                                        [CALL_REMOVE] = "edit",
                                        [CALL_RESCHEDULE] = "edit",
                                        [CALL_PAUSE] = "slot_pause",
                                        [CALL_ALTER] = "slot_alter",
                                        [CALL_SCHEDULE_PUT] = "schedule_put",
                                        [CALL_TICK] = "schedule_tick"};

    return names[call->kind];
}

static void add_token(struct args *args, const struct model *model, uint64_t token)
{
    char text[32];

    snprintf(text, sizeof(text), "%08x%016" PRIx64, token == 0 ? 0U : 1U, token);
    args_add(args, model->shared ? "shared" : text);
}

static void add_optional(struct args *args, int64_t value)
{
    if (value < 0) {
        args_add(args, "");
    } else {
        args_add_int(args, value);
    }
}

static void add_limit(struct args *args, int32_t limit, int headers)
{
    char text[48] = "";
    size_t used = 0;

    if (limit >= 0) {
        used = (size_t) snprintf(text, sizeof(text), "%" PRId32, limit);
    }
    if (headers > 0) {
        snprintf(text + used, sizeof(text) - used, "/%d", headers);
    }
    args_add(args, text);
}

static void add_when(struct args *args, const struct call *call, size_t index)
{
    char when[64];

    snprintf(when, sizeof(when), "%s%" PRId64 "%s", call->sends[index].relative ? "+" : "",
             call->sends[index].when, call->sends[index].time);
    args_add(args, when);
}

static void add_send_id(struct args *args, const struct call *call)
{
    char producer[8] = "-";

    if (call->producer > 0) {
        model_producer(producer, call->producer);
    }
    args_add(args, producer);
    args_add_int(args, (int64_t) call->sequence);
}

static void add_sends(struct args *args, const struct model *model, const struct call *call)
{
    args_add(args, "wake{x}");
    args_add_int(args, call->max_waiting);
    args_add_int(args, call->debounce);
    args_add_int(args, call->dedup);
    args_add_int(args, call->field_from);
    add_send_id(args, call);
    for (size_t i = 0; i < call->count; i++) {
        char text[MODEL_NAME];

        args_add_name(args, model_members[call->sends[i].member]);
        add_when(args, call, i);
        if (model->keyed && !call->whole) {
            model_text(text, call->sends[i].text);
            args_add_name(args, text);
            add_limit(args, call->sends[i].limit, call->sends[i].headers);
            add_optional(args, call->sends[i].ttl);
        }
    }
}

static void add_schedule(struct args *args, const struct model *model,
                         const struct call_schedule *given)
{
    const struct model_schedule its = {
        .due = given->due, .ticks = -1, .last = -1, .paused = given->paused};
    const char id[] = {'s', (char) ('0' + given->id), '\0'};
    struct buf state = {0}, definition = {0};

    buf_add(&state, "", 0);
    buf_add(&definition, "", 0);
    if (given->what != '-') {
        model_state(&state, &its);
    }
    if (given->what == '+') {
        model_definition(&definition, model, given);
    }
    args_add(args, "wake{x}");
    args_add(args, id);
    args_add_int(args, given->version);
    add_optional(args, given->what == '-' || given->paused ? -1 : given->due);
    args_add(args, state.data);
    args_add_name(args, definition.data);
    buf_fini(&state);
    buf_fini(&definition);
}

static void add_ticks(struct args *args, const struct call *call)
{
    args_add(args, "wake{x}");
    args_add_int(args, call->max_waiting);
    args_add_int(args, call->debounce);
    args_add_int(args, call->dedup);
    args_add_int(args, call->field_from);
    add_optional(args, call->schedule_ttl);
    for (size_t i = 0; i < call->count; i++) {
        const struct call_schedule *tick = &call->schedules[i];
        const char id[] = {'s', (char) ('0' + tick->id), '\0'}, what[] = {tick->what, '\0'};

        args_add(args, id);
        args_add_int(args, tick->version);
        add_optional(args, tick->due);
        add_optional(args, tick->next);
        args_add(args, what);
    }
}

static void add_answers(struct args *args, const struct call *call)
{
    size_t done = 0;

    while (done < call->count && call->answers[done].op == 'd') {
        done++;
    }
    args_add_int(args, (int64_t) done);
    for (size_t i = 0; i < done; i++) {
        args_add_name(args, call->answers[i].entry);
    }
    for (size_t i = done; i < call->count; i++) {
        char op[2] = {(char) (call->answers[i].op == 'D' ? 'd' : call->answers[i].op), '\0'};

        args_add(args, op);
        args_add_name(args, call->answers[i].entry);
        args_add_int(args, call->answers[i].delay);
        args_add(args, call->answers[i].reason);
    }
}

bool call_is_whole(const struct call_answer *answer)
{
    const char *member = strchr(answer->entry, ':') + 1;

    return member[0] == '!' && (member[1] == 'w' || member[1] == 'e');
}

bool call_all_whole(const struct call *call)
{
    size_t done = 0;

    while (done < call->count && call->answers[done].op == 'd') {
        if (!call_is_whole(&call->answers[done])) {
            return false;
        }
        done++;
    }
    return done > 0;
}

static void add_flags(struct args *args, const struct model *model, const struct call *call)
{
    char flags[8];

    snprintf(flags, sizeof(flags), "%s%s%s%s%s%s", call->skip_failed ? "s" : "",
             call->expired_to_dead ? "x" : "", call->repeated ? "r" : "",
             call->strict && !model->shared ? "w" : "",
             model->keyed && call_all_whole(call) ? "e" : "", call->rested ? "t" : "");
    args_add(args, flags[0] != '\0' ? flags : "-");
}

/* "16", or "16,2,20c17:a". */
static void add_last(struct args *args, const struct call *call)
{
    char last[MODEL_NAME + 32];

    snprintf(last, sizeof(last), "%" PRIu64, call->last);
    if (call->position[0] != '\0') {
        snprintf(last, sizeof(last), "%" PRIu64 ",%d,%s", call->last, call->position_attempts,
                 call->position);
    }
    args_add_name(args, last);
}

/* "LEN:KEY" of each. */
static void add_passes(struct args *args, unsigned passes)
{
    struct buf text = {0};

    buf_add(&text, "-", passes == 0 ? 1 : 0);
    for (int i = 0; i < MODEL_MEMBERS; i++) {
        int len;
        const char *key = model_key_text(i, &len);

        if ((passes >> i & 1) != 0) {
            buf_printf(&text, "%d:%.*s", len, len, key);
        }
    }
    args_add_bytes(args, text.data, text.len);
    buf_fini(&text);
}

static void add_consume(struct args *args, const struct model *model, const struct call *call)
{
    args_add(args, "wake{x}");
    args_add_int(args, call->n);
    args_add_int(args, call->max_bytes);
    args_add_int(args, call->lease);
    args_add_int(args, call->max_retries);
    args_add_int(args, call->dedup);
    if (model->shared) {
        char caller[16];

        snprintf(caller, sizeof(caller), "w%x", (unsigned) call->caller);
        args_add(args, caller);
        args_add(args, "-");
    } else {
        add_last(args, call);
        args_add_int(args, (int64_t) call->oldest);
    }
    args_add(args, call->open ? "1" : "0");
    args_add_int(args, call->pushed);
    add_passes(args, call->passes);
    add_flags(args, model, call);
    add_answers(args, call);
}

static void add_takeover(struct args *args, const struct call *call)
{
    char owner[32], coord[32];

    snprintf(owner, sizeof(owner), "owner-%" PRIu64, call->token);
    snprintf(coord, sizeof(coord), "fleet-%" PRIu64, call->token);
    args_add(args, call->strict ? "strict" : "fast");
    args_add_int(args, call->max_retries);
    args_add_int(args, call->limit);
    args_add(args, owner);
    args_add(args, coord);
}

static void add_entries(struct args *args, const struct call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        args_add_name(args, call->answers[i].entry);
    }
}

static void add_find(struct args *args, const struct call *call)
{
    const char state[2] = {call->state, '\0'};

    args_add_name(args, model_members[call->sends[0].member]);
    args_add(args, state);
    args_add(args, "");
    args_add(args, "");
    args_add(args, "1000");
}

static void add_page(struct args *args, const struct call *call)
{
    const char state[2] = {call->state, '\0'};

    args_add(args, state);
    args_add(args, "");
    args_add(args, "");
    args_add(args, "1000");
    args_add(args, "1048576");
    args_add(args, "1");
    args_add_name(args, model_members[call->sends[0].member]);
    args_add(args, "");
    args_add(args, "");
    args_add(args, "0");
    args_add(args, "");
    args_add(args, "");
    args_add(args, "1");
}

static void add_remove(struct args *args, const struct call *call)
{
    char state[2] = {call->state, '\0'};

    args_add(args, "wake{x}");
    args_add(args, "remove");
    args_add(args, state);
    add_entries(args, call);
}

static void add_edit(struct args *args, const struct call *call)
{
    if (call->kind == CALL_REMOVE) {
        add_remove(args, call);
        return;
    }
    args_add(args, "wake{x}");
    args_add(args, call->kind == CALL_REQUEUE ? "requeue" : "reschedule");
    if (call->kind == CALL_REQUEUE) {
        add_entries(args, call);
    } else {
        args_add_name(args, model_members[call->sends[0].member]);
        add_when(args, call, 0);
    }
}

/* What follows the definition, and the token and kind of calls that have them. */
static void add_own(struct args *args, const struct model *model, const struct call *call)
{
    char definition[24];

    switch (call->kind) {
    case CALL_SEND:
        add_sends(args, model, call);
        break;
    case CALL_CONSUME:
        add_consume(args, model, call);
        break;
    case CALL_RENEW:
        args_add_int(args, call->lease);
        args_add(args, "me");
        args_add_int(args, call->age);
        args_add_name(args, call->noted);
        add_entries(args, call);
        break;
    case CALL_TAKEOVER:
        add_takeover(args, call);
        break;
    case CALL_VACATE:
        break;
    case CALL_INSPECT:
        model_add_counters(args);
        break;
    case CALL_RANK:
        args_add_name(args, model_members[call->sends[0].member]);
        args_add(args, "");
        break;
    case CALL_FIND:
        add_find(args, call);
        break;
    case CALL_PAGE:
        add_page(args, call);
        break;
    case CALL_REQUEUE:
    case CALL_REMOVE:
    case CALL_RESCHEDULE:
        add_edit(args, call);
        break;
    case CALL_PAUSE:
        args_add(args, "wake{x}");
        args_add_int(args, call->pauses);
        args_add(args, call->paused ? "1" : "0");
        break;
    case CALL_ALTER:
        args_add(args, "wake{x}");
        snprintf(definition, sizeof(definition), "d%d", call->version);
        args_add(args, definition);
        args_add(args, "1");
        args_add_int(args, call->dedup);
        break;
    case CALL_SCHEDULE_PUT:
        add_schedule(args, model, &call->schedules[0]);
        break;
    case CALL_TICK:
        add_ticks(args, call);
        break;
    }
}

void call_args(struct args *args, const struct model *model, const struct call *call)
{
    const char kind[2] = {model->kind, '\0'};
    char def[24];
    bool has_token = call->kind == CALL_CONSUME || call->kind == CALL_RENEW ||
                     call->kind == CALL_TAKEOVER || call->kind == CALL_VACATE;
    bool has_kind = call->kind != CALL_RENEW && call->kind != CALL_VACATE &&
                    call->kind != CALL_PAUSE && call->kind != CALL_ALTER &&
                    call->kind != CALL_SCHEDULE_PUT;

    snprintf(def, sizeof(def), "%c.%d", call->other_topic ? 'o' : 'n', call->version);
    args_add(args, def);
    if (has_token) {
        add_token(args, model, call->token);
    }
    if (has_kind) {
        args_add(args, kind);
    }
    add_own(args, model, call);
}
