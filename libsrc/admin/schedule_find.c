/* schedule_find.c - see schedule_find.h.
 *
 * The slot of a schedule is that of the key of its message, or of its id: a schedule that is not
 * there is looked for in all slots, as its key may have been another one.
 *
 * Thread: as schedule_find.h says. */
#include "admin/schedule_find.h"

#include <stdlib.h>
#include <string.h>

#include "admin/fail.h"
#include "base/memory.h"
#include "base/status.h"

/* --- copies --- */

void schedule_copy_free(struct schedule_copy *copy)
{
    if (copy != NULL) {
        buf_fini(&copy->id);
        buf_fini(&copy->note);
        buf_fini(&copy->definition);
        free(copy);
    }
}

void admin_schedule_info_free(smq_schedule_info *info)
{
    schedule_copy_free((struct schedule_copy *) info);
}

bool schedule_copy_describe(struct schedule_copy *copy, const struct topic *topic, int32_t slot,
                            bool whole)
{
    smq_schedule *schedule = &copy->schedule;

    if (whole && !schedule_read(copy->times, &copy->message, copy->headers, topic,
                                copy->definition.data, copy->definition.len)) {
        return false;
    }
    if (!whole) {
        if (copy->definition.len >= SCHEDULE_TIMES_MAX) {
            return false;
        }
        memcpy(copy->times, copy->definition.data, copy->definition.len + 1);
    }
    (void) snprintf(copy->topic, sizeof(copy->topic), "%s", topic->name);
    copy->info =
        (smq_schedule_info){.struct_size = sizeof(copy->info),
                            .topic = copy->topic,
                            .id = copy->id.data,
                            .schedule = schedule,
                            .version = copy->state.version,
                            .next_at_ms = copy->state.due_ms > 0 ? copy->state.due_ms : 0,
                            .last_at_ms = copy->state.last_ms > 0 ? copy->state.last_ms : 0,
                            .ticks = copy->state.ticks,
                            .paused = copy->state.paused,
                            .note = copy->note.data,
                            .slot = slot};
    if (!schedule_parse_times(schedule, copy->times)) {
        return false;
    }
    schedule->message = whole ? &copy->message : NULL;
    return true;
}

struct schedule_copy *schedule_copy_new(const struct store_schedule *stored)
{
    struct schedule_copy *copy = memory_new(sizeof(*copy));

    buf_add(&copy->id, stored->id, strlen(stored->id));
    buf_add(&copy->note, stored->state.note, strlen(stored->state.note));
    buf_add(&copy->definition, stored->definition, stored->definition_len);
    copy->state = stored->state;
    copy->state.note = copy->note.data;
    return copy;
}

/* --- reading one --- */

void schedule_op_clear(struct schedule_op *op)
{
    schedule_copy_free(op->copy);
    op->copy = NULL;
    op->found = false;
}

/* Keep the schedule of a reply, if there is one. */
static enum fanout_next schedule_keep(struct schedule_op *op, int32_t number,
                                      const struct store_result *result, smq_error *err)
{
    struct store_schedules read;
    struct store_schedule stored;

    if (result->outcome != STORE_OK || !store_schedules_read(&read, result)) {
        return admin_fail(err, op->topic, number, result);
    }
    op->now_ms = read.now_ms;
    if (read.count == 0) {
        return FANOUT_DONE;
    }
    if (!store_schedule_read(&stored, result, 0)) {
        return admin_fail(err, op->topic, number, result);
    }
    if (op->found && (!schedule_is_half(&op->copy->state) || schedule_is_half(&stored.state))) {
        return FANOUT_DONE;
    }
    schedule_op_clear(op);
    op->copy = schedule_copy_new(&stored);
    op->found = true;
    op->number = number;
    if (!schedule_copy_describe(op->copy, op->topic, number, true)) {
        return admin_fail(err, op->topic, number, result);
    }
    return FANOUT_DONE;
}

static void schedule_search_send(struct store_call *call, int32_t index, void *user)
{
    const struct schedule_op *op = user;
    struct store_slot slot;

    store_slot_fill(&slot, op->topic, op->first + index);
    store_schedule_get(call, op->core->redis, &slot, op->id, 0);
}

static enum fanout_next schedule_search_done(const struct store_result *result, int32_t index,
                                             void *user, smq_error *err)
{
    struct schedule_op *op = user;

    return schedule_keep(op, op->first + index, result, err);
}

static smq_status schedule_search(struct schedule_op *op, int32_t first, int32_t count,
                                  smq_error *err)
{
    op->first = first;
    return fanout_many(op->core, count, schedule_search_send, schedule_search_done, op, err);
}

smq_status schedule_find_there(struct schedule_op *op, smq_error *err)
{
    schedule_op_clear(op);
    store_slot_fill(&op->slot, op->topic, op->number);
    return schedule_search(op, op->number, 1, err);
}

smq_status schedule_find(struct schedule_op *op, smq_error *err)
{
    smq_status status = schedule_find_there(op, err);

    if (status == SMQ_OK && op->topic->slots > 1 &&
        !(op->found && !schedule_is_half(&op->copy->state))) {
        status = schedule_search(op, 0, op->topic->slots, err);
        store_slot_fill(&op->slot, op->topic, op->number);
    }
    return status;
}

static bool schedule_search_passes(int32_t index, void *user)
{
    const struct schedule_op *op = user;

    return index == op->passed;
}

smq_status schedule_find_elsewhere(struct schedule_op *op, smq_error *err)
{
    smq_status status;

    schedule_op_clear(op);
    op->first = 0;
    op->passed = op->number;
    status = fanout_some(op->core, op->topic->slots, schedule_search_passes, schedule_search_send,
                         schedule_search_done, op, err);
    store_slot_fill(&op->slot, op->topic, op->number);
    return status;
}

smq_status schedule_find_existing(struct schedule_op *op, smq_error *err)
{
    smq_status status = schedule_find(op, err);

    if (status == SMQ_OK && !op->found) {
        return status_set(err, SMQ_NO_SCHEDULE, "topic %s has no schedule \"%.120s\"",
                          op->topic->name, op->id);
    }
    return status;
}

/* --- changing one --- */

static void schedule_put_send(struct store_call *call, void *user)
{
    const struct schedule_op *op = user;

    store_schedule_put(call, op->core->redis, &op->slot, &op->put, 0);
}

static enum fanout_next schedule_put_done(const struct store_result *result, void *user,
                                          smq_error *err)
{
    struct schedule_op *op = user;

    op->moved = result->outcome == STORE_REFUSED && strcmp(result->word, "MOVED") == 0;
    return result->outcome == STORE_OK || op->moved
               ? FANOUT_DONE
               : admin_fail(err, op->topic, op->number, result);
}

smq_status schedule_store(struct schedule_op *op, const struct schedule_state *state,
                          const struct buf *definition, smq_error *err)
{
    op->put = (struct store_schedule_put){.id = op->id,
                                          .known = op->found ? op->copy->state.version : 0,
                                          .state = state,
                                          .definition = definition};
    return fanout_one(op->core, schedule_put_send, schedule_put_done, op, err);
}
