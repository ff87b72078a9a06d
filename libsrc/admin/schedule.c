/* schedule.c - schedules: put, read, removed, paused, resumed, run.
 *
 * A change reads the schedule, and is stored if it has the same version then; else it is made anew.
 *
 * A put that brings a schedule into a slot first stores it half there, which makes no ticks, then
 * removes it from the other slots, and then makes it whole if it has still the same version.  So
 * nothing is lost and nothing ticks twice wherever a put ends; a repeat finds what is half put, and
 * completes it.  Of two puts with different keys the one that stores later sees the other's, and
 * removes it: the last one stays.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>
#include <string.h>

#include "admin/fail.h"
#include "admin/schedule_find.h"
#include "base/status.h"
#include "core/zones.h"
#include "model/slot.h"

enum { MOVED_TRIES = 10 };

static smq_status schedule_fail_moved(const struct schedule_op *op, smq_error *err)
{
    return status_set(err, SMQ_IN_WORK,
                      "schedule \"%.100s\" of topic %s was changed by others again and again; "
                      "repeat the call",
                      op->id, op->topic->name);
}

/* A call failed when it had written something. */
static smq_status schedule_fail_half(const struct schedule_op *op, const smq_error *why,
                                     smq_error *err)
{
    const bool is_retry = smq_status_class(why->status) == SMQ_CLASS_RETRY;

    return status_set(err, is_retry ? SMQ_UNKNOWN : why->status,
                      "schedule \"%.100s\" of topic %s is changed in part, repeat the call: %.200s",
                      op->id, op->topic->name, why->text);
}

/* What is to be put.  The reply of a try may have been lost: an equal schedule that is found then
 * is what the try has changed. */
struct schedule_given {
    smq_schedule schedule;
    struct ticks ticks;
    const struct zone *zone;
    const smq_schedule_info *saved; /* what it was, and is to be again; NULL: it is a new one */
    smq_schedule_change change, largest; /* of this group, and of all */
    smq_schedule_change tried;           /* what a try has sent; SMQ_SCHEDULE_SAME: none has */
    bool is_half;                        /* a try has stored it half */
};

/* The same, but when it was due then, and with the ticks that it had. */
static void schedule_start_saved(struct schedule_state *out, const struct schedule_op *op,
                                 const struct schedule_given *given)
{
    const smq_schedule_info *saved = given->saved;
    const bool is_used_up = saved->schedule->limit != 0 && saved->ticks >= saved->schedule->limit;
    const int64_t after_ms = saved->next_at_ms != 0 ? saved->next_at_ms - 1 : op->now_ms;
    const int64_t next_ms =
        is_used_up ? TICKS_NEVER : ticks_after(&given->ticks, given->zone, after_ms);

    *out = (struct schedule_state){.due_ms = next_ms != TICKS_NEVER ? next_ms : -1,
                                   .ticks = saved->ticks,
                                   .last_ms = saved->last_at_ms != 0 ? saved->last_at_ms : -1,
                                   .paused = saved->paused,
                                   .note = saved->paused ? saved->note : ""};
    schedule_make_whole(out);
}

/* The state of a schedule that is stored anew, or with other times: it counts from now. */
static smq_status schedule_start(struct schedule_state *out, const struct schedule_op *op,
                                 const struct schedule_given *given, smq_error *err)
{
    const int64_t next_ms = ticks_after(&given->ticks, given->zone, op->now_ms);

    if (given->saved != NULL) {
        schedule_start_saved(out, op, given);
        return SMQ_OK;
    }
    if (next_ms == TICKS_NEVER) {
        return status_set(err, SMQ_INVALID,
                          "schedule \"%.120s\" is never due: its end has passed, or no time fits",
                          op->id);
    }
    *out = (struct schedule_state){.due_ms = next_ms, .last_ms = -1, .note = ""};
    return SMQ_OK;
}

/* Are the times of the definition those that are stored? */
static bool schedule_has_times(const struct schedule_op *op, const smq_schedule *schedule)
{
    char now[SCHEDULE_TIMES_MAX], before[SCHEDULE_TIMES_MAX];

    schedule_format_times(now, schedule);
    schedule_format_times(before, &op->copy->schedule);
    return strcmp(now, before) == 0;
}

/* What is stored of it from now on, and given->change. */
static smq_status schedule_change(struct schedule_state *out, const struct schedule_op *op,
                                  struct schedule_given *given, smq_error *err)
{
    struct schedule_state before = {.note = ""};
    smq_status status;

    if (op->found) {
        before = op->copy->state;
        schedule_make_whole(&before);
    }
    if (op->found && schedule_has_times(op, &given->schedule)) {
        given->change = SMQ_SCHEDULE_CHANGED;
        *out = before;
        return SMQ_OK;
    }
    given->change = op->found ? SMQ_SCHEDULE_RESTARTED : SMQ_SCHEDULE_MADE;
    status = schedule_start(out, op, given, err);
    if (status == SMQ_OK && op->found) {
        out->paused = before.paused;
        out->note = before.note;
    }
    return status;
}

/* After a change in the slot of its key: remove it from the other slots, where versions before this
 * one, or a failover, may have left it.  A server that is away does not make the change fail.  Was
 * one found? */
static bool schedule_remove_others(const struct schedule_op *op)
{
    struct schedule_op other = {.core = op->core, .topic = op->topic, .id = op->id};
    bool found = false;

    for (int i = 0; i < MOVED_TRIES; i++) {
        other.number = op->number;
        if (schedule_find_elsewhere(&other, NULL) != SMQ_OK || !other.found ||
            schedule_store(&other, NULL, NULL, NULL) != SMQ_OK) {
            break;
        }
        found = true;
    }
    schedule_op_clear(&other);
    return found;
}

/* Store it in its slot, where op->copy has what was there. */
static smq_status schedule_put_there(struct schedule_op *op, struct schedule_given *given,
                                     const struct buf *definition, smq_error *err)
{
    struct schedule_state state;
    smq_status status = schedule_change(&state, op, given, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (given->change == SMQ_SCHEDULE_CHANGED && definition->len == op->copy->definition.len &&
        memcmp(definition->data, op->copy->definition.data, definition->len) == 0) {
        given->change = given->tried;
        op->moved = false;
        return SMQ_OK;
    }
    given->tried = given->change;
    status = schedule_store(op, &state, definition, err);
    if (status == SMQ_OK && !op->moved) {
        op->moved = schedule_remove_others(op);
    }
    return status;
}

/* It is not in its slot, or half put there: take a step, and look again.  The one slot of a topic
 * needs no steps. */
static smq_status schedule_put_anew(struct schedule_op *op, struct schedule_given *given,
                                    const struct buf *definition, smq_error *err)
{
    struct schedule_op other = {
        .core = op->core, .topic = op->topic, .id = op->id, .number = op->number};
    const smq_schedule_change tried = given->tried;
    struct schedule_state state;
    char note[SCHEDULE_HALF_MAX];
    smq_status status = schedule_find_elsewhere(&other, err);
    const bool is_last = op->topic->slots == 1 || (op->found && !other.found);

    if (status != SMQ_OK) {
        goto out;
    }
    status = schedule_change(&state, other.found ? &other : op, given, err);
    if (status != SMQ_OK) {
        goto out;
    }
    if (given->change == SMQ_SCHEDULE_CHANGED && tried != SMQ_SCHEDULE_SAME) {
        given->change = tried;
    }
    given->tried = given->change;
    if (!is_last) {
        schedule_make_half(&state, note);
    }
    status = schedule_store(op, &state, definition, err);
    if (status != SMQ_OK || op->moved || is_last) {
        goto out;
    }
    given->is_half = true;
    op->moved = true;
    if (other.found) {
        status = schedule_store(&other, NULL, NULL, err);
    }
out:
    schedule_op_clear(&other);
    return status;
}

/* One try. */
static smq_status schedule_put_once(struct schedule_op *op, struct schedule_given *given,
                                    smq_error *err)
{
    struct buf definition = {0};
    smq_status status =
        schedule_define(&definition, &op->number, op->topic, op->id, &given->schedule, err);

    if (status != SMQ_OK) {
        goto out;
    }
    status = schedule_find_there(op, err);
    if (status == SMQ_OK) {
        status = op->found && !schedule_is_half(&op->copy->state)
                     ? schedule_put_there(op, given, &definition, err)
                     : schedule_put_anew(op, given, &definition, err);
    }
out:
    buf_fini(&definition);
    return status;
}

/* What is done with the schedule of each part of a topic. */
typedef smq_status schedule_once_fn(struct schedule_op *op, void *user, smq_error *err);

static smq_status schedule_do(struct core *core, const struct topic *topic, const char *id,
                              schedule_once_fn *once, void *user, smq_error *err)
{
    struct schedule_op op = {.core = core, .topic = topic, .id = id, .moved = true};
    smq_status status = SMQ_OK;

    for (int i = 0; i < MOVED_TRIES && status == SMQ_OK && op.moved; i++) {
        op.number = slot_of_key(id, strlen(id), topic->slots);
        op.moved = false;
        status = once(&op, user, err);
    }
    if (status == SMQ_OK && op.moved) {
        status = schedule_fail_moved(&op, err);
    }
    schedule_op_clear(&op);
    return status;
}

/* A group may lack it, as a call for another group alone has put or removed it: NO_SCHEDULE if all
 * parts do. */
static smq_status schedule_do_parts(struct core *core, const char *topic, const char *id,
                                    schedule_once_fn *once, void *user, smq_error *err)
{
    struct topic whole, part;
    smq_error lacking = {SMQ_OK, ""};
    int lacks = 0;
    smq_status status = schedule_check_id(id, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = fanout_topic(&whole, core, topic, err);
    for (int i = 0; status == SMQ_OK && i < topic_parts(&whole); i++) {
        smq_error found = {SMQ_OK, ""};

        topic_part(&part, &whole, i);
        status = schedule_do(core, &part, id, once, user, &found);
        if (status == SMQ_NO_SCHEDULE) {
            lacking = found;
            lacks++;
            status = SMQ_OK;
        } else if (status != SMQ_OK && err != NULL) {
            *err = found;
        }
    }
    if (status == SMQ_OK && lacks == topic_parts(&whole)) {
        status = SMQ_NO_SCHEDULE;
        if (err != NULL) {
            *err = lacking;
        }
    }
    return status;
}

static smq_status schedule_put_part(struct schedule_op *op, void *user, smq_error *err)
{
    struct schedule_given *given = user;
    smq_error own;
    smq_status status;

    if (op->put.id == NULL) { /* the first try in this part */
        given->is_half = false;
        given->tried = SMQ_SCHEDULE_SAME;
    }
    status = schedule_put_once(op, given, &own);
    if (status != SMQ_OK) {
        return given->is_half ? schedule_fail_half(op, &own, err) : status_copy(err, &own);
    }
    if (!op->moved && given->change > given->largest) {
        given->largest = given->change;
    }
    return status;
}

static smq_status schedule_put_given(smq_schedule_change *change, struct core *core,
                                     const char *topic, const char *id,
                                     struct schedule_given *given, smq_error *err)
{
    struct zones zones = {.next = 0};
    smq_status status = schedule_check(&given->ticks, &given->schedule, err);

    if (status != SMQ_OK) {
        return status;
    }
    given->zone = zones_get(&zones, given->schedule.zone, err);
    if (given->zone == NULL) {
        return SMQ_INVALID;
    }
    status = schedule_do_parts(core, topic, id, schedule_put_part, given, err);
    zones_fini(&zones);
    if (status == SMQ_OK && change != NULL) {
        *change = given->largest;
    }
    return status;
}

smq_status admin_schedule_put(smq_schedule_change *change, struct core *core, const char *topic,
                              const char *id, const smq_schedule *schedule, smq_error *err)
{
    struct schedule_given given = {.schedule = *schedule};

    return schedule_put_given(change, core, topic, id, &given, err);
}

smq_status admin_schedule_restore(smq_schedule_change *change, struct core *core, const char *topic,
                                  const smq_schedule_info *saved, smq_error *err)
{
    struct schedule_given given = {.schedule = *saved->schedule, .saved = saved};
    smq_status status = schedule_check_saved(saved, err);

    return status == SMQ_OK ? schedule_put_given(change, core, topic, saved->id, &given, err)
                            : status;
}

/* Until it is found in no slot. */
static smq_status schedule_remove_part(struct schedule_op *op, void *user, smq_error *err)
{
    const bool was_sent = op->put.id != NULL;
    smq_error own;
    smq_status status = schedule_find_existing(op, &own);

    (void) user;
    if (status == SMQ_NO_SCHEDULE && was_sent) {
        return SMQ_OK;
    }
    if (status == SMQ_OK) {
        status = schedule_store(op, NULL, NULL, &own);
        op->moved = true;
    }
    if (status != SMQ_OK) {
        return was_sent ? schedule_fail_half(op, &own, err) : status_copy(err, &own);
    }
    return SMQ_OK;
}

smq_status admin_schedule_remove(struct core *core, const char *topic, const char *id,
                                 smq_error *err)
{
    return schedule_do_parts(core, topic, id, schedule_remove_part, NULL, err);
}

/* `user`: the note of a pause; NULL: resume. */
static smq_status schedule_pause_part(struct schedule_op *op, void *user, smq_error *err)
{
    smq_status status = schedule_find_existing(op, err);
    struct schedule_state state;

    if (status != SMQ_OK) {
        return status;
    }
    state = op->copy->state;
    state.paused = user != NULL;
    state.note = user != NULL ? user : "";
    if (state.paused == op->copy->state.paused && strcmp(state.note, op->copy->state.note) == 0) {
        return SMQ_OK;
    }
    return schedule_store(op, &state, NULL, err);
}

smq_status admin_schedule_pause(struct core *core, const char *topic, const char *id,
                                const char *note, smq_error *err)
{
    char copy[SMQ_REASON_MAX + 1];
    smq_status status = note != NULL ? schedule_check_note(note, err) : SMQ_OK;

    if (status == SMQ_OK && note != NULL) {
        (void) snprintf(copy, sizeof(copy), "%s", note);
    }
    return status == SMQ_OK ? schedule_do_parts(core, topic, id, schedule_pause_part,
                                                note != NULL ? copy : NULL, err)
                            : status;
}

/* --- running one --- */

static void schedule_run_send(struct store_call *call, void *user)
{
    const struct schedule_op *op = user;

    store_ticks_begin(call, &op->slot);
    store_ticks_add(call, &op->tick);
    store_ticks(call, op->core->redis, 0);
}

static enum fanout_next schedule_run_done(const struct store_result *result, void *user,
                                          smq_error *err)
{
    struct schedule_op *op = user;
    const char *results;
    int64_t tick_ms;

    if (result->outcome != STORE_OK || !store_ticks_read(&results, &tick_ms, result, 1)) {
        return admin_fail(err, op->topic, op->number, result);
    }
    op->result = results[0];
    op->moved = results[0] == 'o';
    return FANOUT_DONE;
}

/* `user`: the time in the id of the message, the same in all groups; 0: it is not known yet. */
static smq_status schedule_run_part(struct schedule_op *op, void *user, smq_error *err)
{
    int64_t *at_ms = user;
    smq_status status = schedule_find_existing(op, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (*at_ms == 0) {
        *at_ms = op->now_ms;
    }
    op->tick = (struct store_tick){.id = op->id,
                                   .version = op->copy->state.version,
                                   .due_ms = *at_ms,
                                   .next_ms = -1,
                                   .what = STORE_TICK_RUN};
    status = fanout_one(op->core, schedule_run_send, schedule_run_done, op, err);
    if (status == SMQ_OK && op->result == 'f') {
        return status_set(err, SMQ_FULL, "slot %d of topic %s has max_waiting messages",
                          (int) op->number, op->topic->name);
    }
    return status; /* a duplicate: this call has stored it, and its reply was lost */
}

smq_status admin_schedule_run(int64_t *at_ms, struct core *core, const char *topic, const char *id,
                              smq_error *err)
{
    if (*at_ms < 0 || *at_ms > TOPIC_TIME_MAX_MS) {
        return status_set(err, SMQ_INVALID, "the time must be from 0 to %" PRId64 ", not %" PRId64,
                          TOPIC_TIME_MAX_MS, *at_ms);
    }
    return schedule_do_parts(core, topic, id, schedule_run_part, at_ms, err);
}

/* --- reading one --- */

smq_status admin_schedule_get(smq_schedule_info **out, struct core *core, const char *topic,
                              const char *id, smq_error *err)
{
    struct schedule_op op = {.core = core, .id = id};
    struct topic whole, part;
    smq_status status = schedule_check_id(id, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = fanout_topic(&whole, core, topic, err);
    if (status != SMQ_OK) {
        return status;
    }
    topic_part(&part, &whole, 0);
    op.topic = &part;
    op.number = slot_of_key(id, strlen(id), part.slots);
    status = schedule_find_existing(&op, err);
    if (status == SMQ_OK && out != NULL) {
        *out = &op.copy->info;
    } else {
        schedule_op_clear(&op);
    }
    return status;
}
