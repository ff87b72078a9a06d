/* schedule_list.c - all schedules of a topic: visited, and copied to another group.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdlib.h>
#include <string.h>

#include "admin/fail.h"
#include "admin/schedule_find.h"
#include "base/memory.h"

/* All schedules of a part of a topic, with the first parts of their definitions. */
struct schedule_list {
    struct core *core;
    const struct topic *topic;
    uint64_t *cursors;
    struct schedule_copy **copies;
    size_t count, size;
};

static void schedule_list_send(struct store_call *call, int32_t index, void *user)
{
    const struct schedule_list *list = user;
    struct store_slot slot;

    store_slot_fill(&slot, list->topic, index);
    store_schedule_list(call, list->core->redis, &slot, list->cursors[index], 0);
}

static void schedule_list_add(struct schedule_list *list, struct schedule_copy *copy)
{
    if (list->count == list->size) {
        list->size = list->size == 0 ? 64 : 2 * list->size;
        list->copies = memory_grow(list->copies, list->size, sizeof(*list->copies));
    }
    list->copies[list->count++] = copy;
}

static enum fanout_next schedule_list_done(const struct store_result *result, int32_t index,
                                           void *user, smq_error *err)
{
    struct schedule_list *list = user;
    struct store_schedules read;
    struct store_schedule stored;
    struct schedule_copy *copy;

    if (result->outcome != STORE_OK || !store_schedules_read(&read, result)) {
        return admin_fail(err, list->topic, index, result);
    }
    for (size_t i = 0; i < read.count; i++) {
        if (!store_schedule_read(&stored, result, i) || !stored.there) {
            return admin_fail(err, list->topic, index, result);
        }
        copy = schedule_copy_new(&stored);
        schedule_list_add(list, copy);
        if (!schedule_copy_describe(copy, list->topic, index, false)) {
            return admin_fail(err, list->topic, index, result);
        }
    }
    list->cursors[index] = read.cursor;
    return read.cursor == 0 ? FANOUT_DONE : FANOUT_AGAIN;
}

/* Of one id the one that is half put comes last. */
static int schedule_list_compare(const void *a, const void *b)
{
    const struct schedule_copy *left = *(const struct schedule_copy *const *) a;
    const struct schedule_copy *right = *(const struct schedule_copy *const *) b;
    int order = strcmp(left->info.id, right->info.id);

    if (order == 0) {
        order = (int) schedule_is_half(&left->state) - (int) schedule_is_half(&right->state);
    }
    return order != 0 ? order : left->info.slot - right->info.slot;
}

/* Returns false if the visitor ended the visit. */
static bool schedule_list_visit(const struct schedule_list *list, smq_schedule_fn *visit,
                                void *user)
{
    for (size_t i = 0; i < list->count; i++) {
        const smq_schedule_info *info = &list->copies[i]->info;

        if ((i == 0 || strcmp(info->id, list->copies[i - 1]->info.id) != 0) && !visit(info, user)) {
            return false;
        }
    }
    return true;
}

/* Free what it has read with schedule_list_fini(). */
static smq_status schedule_list_read(struct schedule_list *list, smq_error *err)
{
    smq_status status;

    list->cursors = memory_new((size_t) list->topic->slots * sizeof(*list->cursors));
    status = fanout_many(list->core, list->topic->slots, schedule_list_send, schedule_list_done,
                         list, err);
    if (list->count > 0) {
        qsort(list->copies, list->count, sizeof(*list->copies), schedule_list_compare);
    }
    return status;
}

static void schedule_list_fini(struct schedule_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        schedule_copy_free(list->copies[i]);
    }
    free(list->copies);
    free(list->cursors);
}

smq_status admin_schedule_each(struct core *core, const char *topic, smq_schedule_fn *visit,
                               void *user, smq_error *err)
{
    struct topic whole, part;
    bool more = true;
    smq_status status = fanout_topic(&whole, core, topic, err);

    for (int i = 0; status == SMQ_OK && more && i < topic_parts(&whole); i++) {
        struct schedule_list list = {.core = core, .topic = &part};

        topic_part(&part, &whole, i);
        status = schedule_list_read(&list, err);
        more = status == SMQ_OK && schedule_list_visit(&list, visit, user);
        schedule_list_fini(&list);
    }
    return status;
}

/* --- copying --- */

static bool schedule_list_has(const struct schedule_list *list, const struct schedule_copy *copy)
{
    return list->count > 0 && bsearch(&copy, list->copies, list->count, sizeof(*list->copies),
                                      schedule_list_compare) != NULL;
}

/* Remove those that `kept` does not have. */
static smq_status schedule_list_remove(const struct schedule_list *list,
                                       const struct schedule_list *kept, smq_error *err)
{
    smq_status status = SMQ_OK;

    for (size_t i = 0; i < list->count && status == SMQ_OK; i++) {
        const smq_schedule_info *info = &list->copies[i]->info;
        struct schedule_op op = {
            .core = list->core, .topic = list->topic, .id = info->id, .number = info->slot};

        if (schedule_list_has(kept, list->copies[i])) {
            continue;
        }
        status = schedule_find_there(&op, err);
        if (status == SMQ_OK && op.found) {
            status = schedule_store(&op, NULL, NULL, err);
        }
        schedule_op_clear(&op);
    }
    return status;
}

/* Does it make the same ticks?  How many it has made does not count. */
static bool schedule_copy_is_like(const struct schedule_copy *copy,
                                  const struct schedule_copy *other)
{
    return copy->state.paused == other->state.paused &&
           strcmp(copy->note.data, other->note.data) == 0 &&
           copy->definition.len == other->definition.len &&
           memcmp(copy->definition.data, other->definition.data, copy->definition.len) == 0;
}

/* Store it in the same slot of another group, unless that has it. */
static smq_status schedule_copy_to(const struct schedule_copy *copy, struct core *core,
                                   const struct topic *to, int32_t number, smq_error *err)
{
    struct schedule_op op = {.core = core, .topic = to, .id = copy->id.data, .number = number};
    smq_status status = schedule_find_there(&op, err);

    if (status == SMQ_OK && !(op.found && schedule_copy_is_like(op.copy, copy))) {
        status = schedule_store(&op, &copy->state, &copy->definition, err);
    }
    schedule_op_clear(&op);
    return status;
}

static smq_status schedule_list_copy(const struct schedule_list *list, const struct topic *to,
                                     smq_error *err)
{
    smq_status status = SMQ_OK;

    for (size_t i = 0; i < list->count && status == SMQ_OK; i++) {
        const smq_schedule_info *info = &list->copies[i]->info;
        struct schedule_op op = {
            .core = list->core, .topic = list->topic, .id = info->id, .number = info->slot};

        status = schedule_find(&op, err);
        if (status == SMQ_OK && op.found) {
            status = schedule_copy_to(op.copy, list->core, to, op.number, err);
        }
        schedule_op_clear(&op);
    }
    return status;
}

/* What is put in all groups comes into the first one first.  So what the other one has, and the
 * first one has not when it is read after it, was removed there. */
smq_status admin_schedules_copy(struct core *core, const char *from, const char *to, smq_error *err)
{
    struct topic source, target;
    struct schedule_list list = {.core = core, .topic = &source};
    struct schedule_list there = {.core = core, .topic = &target};
    smq_status status = fanout_definition(&source, core, from, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = fanout_definition(&target, core, to, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = schedule_list_read(&there, err);
    if (status != SMQ_OK) {
        goto out;
    }
    status = schedule_list_read(&list, err);
    if (status != SMQ_OK) {
        goto out;
    }
    status = schedule_list_remove(&there, &list, err);
    if (status == SMQ_OK) {
        status = schedule_list_copy(&list, &target, err);
    }
out:
    schedule_list_fini(&there);
    schedule_list_fini(&list);
    return status;
}
