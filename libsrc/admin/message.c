/* message.c - finding, ranking, removing and rescheduling one message.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/fail.h"
#include "admin/filter.h"
#include "base/memory.h"
#include "base/status.h"
#include "model/send.h"

/* A message may move between two steps of a call. */
enum { MOVED_TRIES = 5 };

/* An operation on one message. */
struct message_op {
    struct core *core;
    struct topic topic;
    struct message_ref which;
    struct store_slot slot; /* the slot of the message */
    bool slot_known;
    struct {
        struct store_find next;
        struct buf bytes;  /* next.from points into it */
        struct page *page; /* holds one message; count 0: it was not found */
    } find;
    struct {
        const char *when; /* NULL: remove */
        int sends;
        bool done;
        bool gone; /* a try whose reply was lost may have removed it */
    } edit;
    struct {
        uint64_t count;
        char score[STORE_SCORE_MAX];
        bool waits;
    } rank;
};

static smq_status message_begin(struct message_op *op, struct core *core, const char *topic,
                                const smq_message_ref *which, smq_error *err)
{
    smq_status status;

    *op = (struct message_op){.core = core};
    status = fanout_holder(&op->topic, core, topic, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = message_ref_check_and_copy(&op->which, &op->topic, which, err);
    if (status == SMQ_OK) {
        store_slot_fill(&op->slot, &op->topic, op->which.slot);
        op->slot_known = true;
    }
    return status;
}

/* A slot that does not know its topic, while the definition is what it was when the call began, has
 * lost its keys. */
static smq_status message_explain_missing_slot(const struct message_op *op, smq_error *err)
{
    struct topic now;
    smq_error ignored;

    if (fanout_holder(&now, op->core, op->topic.name, &ignored) != SMQ_OK ||
        strcmp(now.nonce, op->topic.nonce) != 0 || now.version != op->topic.version) {
        return SMQ_NO_TOPIC;
    }
    return status_set(err, SMQ_DAMAGED,
                      "Redis has lost a part of slot %d of topic %.100s: run slotmq topic repair "
                      "%.100s",
                      (int) op->which.slot, op->topic.name, op->topic.name);
}

/* Gives the result of the call, which was `status`. */
static smq_status message_end(struct message_op *op, smq_status status, smq_error *err)
{
    if (status == SMQ_NO_TOPIC && op->slot_known) {
        status = message_explain_missing_slot(op, err);
    }
    message_ref_fini(&op->which);
    buf_fini(&op->find.bytes);
    return status;
}

static smq_status message_fail_missing(const struct message_op *op, const char *why, smq_error *err)
{
    return status_set(err, SMQ_NO_MESSAGE, "no such message in slot %d of topic %s%s",
                      (int) op->which.slot, op->topic.name, why);
}

static smq_status message_fail_claimed(const struct message_op *op, smq_error *err)
{
    return status_set(err, SMQ_IN_WORK,
                      "a consumer works on this message of slot %d of topic %s; try again when it "
                      "has answered",
                      (int) op->which.slot, op->topic.name);
}

/* --- find --- */

static void message_find_send(struct store_call *call, void *user)
{
    const struct message_op *op = user;

    store_find(call, op->core->redis, &op->slot, &op->find.next, 0);
}

static void message_find_continue(struct message_op *op, const struct store_find *next)
{
    struct buf *bytes = &op->find.bytes;
    size_t score_len = strlen(next->from.score);

    buf_clear(bytes);
    buf_add(bytes, next->from.score, score_len + 1);
    if (next->from.name_len > 0) {
        buf_add(bytes, next->from.name, next->from.name_len);
    }
    op->find.next.where = next->where;
    op->find.next.from = (struct store_position){
        .score = bytes->data, .name = bytes->data + score_len + 1, .name_len = next->from.name_len};
}

static enum fanout_next message_find_done(const struct store_result *result, void *user,
                                          smq_error *err)
{
    struct message_op *op = user;
    struct store_found found;

    if (result->outcome != STORE_OK ||
        !store_find_read(&found, result, &op->slot, &op->find.next)) {
        return admin_fail(err, &op->topic, op->which.slot, result);
    }
    if (found.more) {
        message_find_continue(op, &found.next);
        return FANOUT_AGAIN;
    }
    page_set_one(op->find.page, found.found ? &found.row : NULL, &found.holder);
    return FANOUT_DONE;
}

/* page->paged.count is 1 if the message was found, else 0. */
static smq_status message_find(struct message_op *op, struct page *page, smq_error *err)
{
    op->find.page = page;
    op->find.next = (struct store_find){
        .member = op->which.member, .member_len = op->which.member_len, .whole = op->which.whole};
    return fanout_one(op->core, message_find_send, message_find_done, op, err);
}

static smq_status message_find_existing(struct message_op *op, struct page *page, smq_error *err)
{
    smq_status status = message_find(op, page, err);

    return status == SMQ_OK && page->paged.count == 0 ? message_fail_missing(op, "", err) : status;
}

/* An smq_message_info that owns its memory. */
struct info_owned {
    smq_message_info info; /* first, because smq_message_info_free() gets its address */
    char topic[TOPIC_NAME_MAX + 1];
    struct page page;
};

void admin_message_info_free(smq_message_info *info)
{
    struct info_owned *owned = (struct info_owned *) info;

    if (owned != NULL) {
        page_fini(&owned->page);
        free(owned);
    }
}

smq_status admin_message_get(smq_message_info **out, struct core *core, const char *topic,
                             const smq_message_ref *which, smq_error *err)
{
    struct info_owned *owned = memory_new(sizeof(*owned));
    struct message_op op;
    smq_status status = message_begin(&op, core, topic, which, err);

    if (status == SMQ_OK) {
        status = message_find_existing(&op, &owned->page, err);
    }
    if (status == SMQ_OK && out != NULL) {
        memcpy(owned->topic, op.topic.name, sizeof(owned->topic));
        page_describe(&owned->info, &owned->page, 0, &op.topic, op.which.slot);
        owned->info.topic = owned->topic;
        *out = &owned->info;
    } else {
        admin_message_info_free(&owned->info);
    }
    return message_end(&op, status, err);
}

/* --- rank --- */

static void message_rank_send(struct store_call *call, void *user)
{
    const struct message_op *op = user;

    store_rank(call, op->core->redis, &op->slot, op->which.member, op->which.member_len, 0);
}

static enum fanout_next message_rank_done(const struct store_result *result, void *user,
                                          smq_error *err)
{
    struct message_op *op = user;

    op->rank.waits = result->outcome != STORE_REFUSED || result->status != SMQ_NO_MESSAGE;
    if (!op->rank.waits ||
        (result->outcome == STORE_OK && store_rank_read(&op->rank.count, op->rank.score, result))) {
        return FANOUT_DONE;
    }
    return admin_fail(err, &op->topic, op->which.slot, result);
}

/* The number of the other slot with this index: the message's own slot is skipped. */
static int32_t message_other_slot(const struct message_op *op, int32_t index)
{
    return index < op->which.slot ? index : index + 1;
}

static void message_rank_other_send(struct store_call *call, int32_t index, void *user)
{
    const struct message_op *op = user;
    struct store_slot slot;

    store_slot_fill(&slot, &op->topic, message_other_slot(op, index));
    store_rank_elsewhere(call, op->core->redis, &slot, op->rank.score, 0);
}

static enum fanout_next message_rank_other_done(const struct store_result *result, int32_t index,
                                                void *user, smq_error *err)
{
    struct message_op *op = user;
    char score[STORE_SCORE_MAX];
    uint64_t count;

    if (result->outcome != STORE_OK || !store_rank_read(&count, score, result)) {
        return admin_fail(err, &op->topic, message_other_slot(op, index), result);
    }
    op->rank.count += count;
    return FANOUT_DONE;
}

/* The next try is for the message as it waits, which is another member if it is whole. */
static void message_take_member(struct message_op *op, const struct store_page_row *row)
{
    struct message_ref *which = &op->which;

    if (which->whole && !row->scheduled) {
        buf_clear(&which->scratch);
        buf_add(&which->scratch, row->name, row->name_len);
        which->member = which->scratch.data;
        which->member_len = which->scratch.len;
        which->whole = false;
    }
}

/* Fill `err` with the reason why the message does not wait. */
static smq_status message_fail_not_waiting(struct message_op *op, smq_error *err)
{
    struct page page = {0};
    smq_status status = message_find_existing(op, &page, err);

    if (status == SMQ_OK) {
        switch (page.rows[0].state) {
        case SMQ_STATE_WAITING:
            message_take_member(op, &page.rows[0]);
            break;
        case SMQ_STATE_CLAIMED:
            status = message_fail_claimed(op, err);
            break;
        case SMQ_STATE_RESTING:
            status = message_fail_missing(
                op, ": it rests after a failure or release, so it does not wait", err);
            break;
        case SMQ_STATE_DEAD:
            status = message_fail_missing(op, ": it is a dead letter, so it does not wait", err);
            break;
        }
    }
    page_fini(&page);
    return status;
}

static smq_status message_rank_everywhere(struct message_op *op, smq_error *err)
{
    smq_status status = SMQ_OK;

    for (int i = 0; i < MOVED_TRIES && status == SMQ_OK && !op->rank.waits; i++) {
        status = fanout_one(op->core, message_rank_send, message_rank_done, op, err);
        if (status == SMQ_OK && !op->rank.waits) {
            status = message_fail_not_waiting(op, err);
        }
    }
    if (status == SMQ_OK && !op->rank.waits) {
        return message_fail_claimed(op, err);
    }
    if (status != SMQ_OK || op->topic.type == SMQ_TYPE_FIFO) {
        return status;
    }
    return fanout_many(op->core, op->topic.slots - 1, message_rank_other_send,
                       message_rank_other_done, op, err);
}

smq_status admin_message_rank(uint64_t *out, struct core *core, const char *topic,
                              const smq_message_ref *which, smq_error *err)
{
    struct message_op op;
    smq_status status = message_begin(&op, core, topic, which, err);

    if (status != SMQ_OK) {
        goto out;
    }
    status = message_rank_everywhere(&op, err);
    if (status == SMQ_OK) {
        *out = op.rank.count;
    }
out:
    return message_end(&op, status, err);
}

/* --- remove, reschedule --- */

static void message_edit_send(struct store_call *call, void *user)
{
    struct message_op *op = user;
    const struct store_page_row *row;

    op->edit.sends++;
    if (op->edit.when != NULL) {
        store_reschedule(call, op->core->redis, &op->slot, op->which.member, op->which.member_len,
                         op->edit.when, 0);
        return;
    }
    row = &op->find.page->rows[0];
    store_remove_begin(call, &op->slot, row->state, row->scheduled);
    store_edit_add(call, row->name, row->name_len);
    store_edit(call, op->core->redis, 0);
}

/* The message is gone at a repeated try: the first try, whose reply was lost, has removed it, or a
 * consumer has claimed it. */
static enum fanout_next message_edit_done(const struct store_result *result, void *user,
                                          smq_error *err)
{
    struct message_op *op = user;
    const char *results;

    if (result->outcome != STORE_OK || !store_edit_read(&results, result, 1)) {
        return admin_fail(err, &op->topic, op->which.slot, result);
    }
    op->edit.done = results[0] == '1';
    op->edit.gone = !op->edit.done && op->edit.when == NULL && op->edit.sends > 1;
    return FANOUT_DONE;
}

static smq_status message_edit(struct message_op *op, smq_error *err)
{
    op->edit.sends = 0;
    return fanout_one(op->core, message_edit_send, message_edit_done, op, err);
}

static smq_status message_remove_found(struct message_op *op, struct page *page, smq_error *err)
{
    smq_status status = message_find(op, page, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (page->paged.count == 0 && op->edit.gone) {
        op->edit.done = true;
        return SMQ_OK;
    }
    if (page->paged.count == 0) {
        return message_fail_missing(op, "", err);
    }
    if (page->rows[0].state == SMQ_STATE_CLAIMED) {
        return message_fail_claimed(op, err);
    }
    return message_edit(op, err);
}

smq_status admin_message_remove(struct core *core, const char *topic, const smq_message_ref *which,
                                smq_error *err)
{
    struct page page = {0};
    struct message_op op;
    smq_status status = message_begin(&op, core, topic, which, err);

    for (int i = 0; i < MOVED_TRIES && status == SMQ_OK && !op.edit.done; i++) {
        status = message_remove_found(&op, &page, err);
    }
    if (status == SMQ_OK && !op.edit.done) {
        status = message_fail_claimed(&op, err);
    }
    page_fini(&page);
    return message_end(&op, status, err);
}

/* Where `to` would be put, if it were this message. */
static smq_status message_make_place(struct send_place *place, const struct message_op *op,
                                     const smq_message *to, smq_error *err)
{
    struct message message = op->which.message;
    smq_status status;

    if (op->topic.type == SMQ_TYPE_FIFO) {
        return status_set(err, SMQ_WRONG_TYPE,
                          "topic %s has type fifo: its messages have neither time nor priority",
                          op->topic.name);
    }
    message.priority = to->priority;
    message.delay_ms = to->delay_ms;
    message.due_at_ms = to->due_at_ms;
    status = send_check(&message, err);
    return status == SMQ_OK ? send_place(place, &op->topic, &message, err) : status;
}

smq_status admin_message_reschedule(struct core *core, const char *topic,
                                    const smq_message_ref *which, const smq_message *to,
                                    smq_error *err)
{
    struct send_place place;
    struct message_op op;
    smq_status status = message_begin(&op, core, topic, which, err);

    if (status != SMQ_OK) {
        goto out;
    }
    status = message_make_place(&place, &op, to, err);
    op.edit.when = place.when;
    for (int i = 0; i < MOVED_TRIES && status == SMQ_OK && !op.edit.done; i++) {
        status = message_edit(&op, err);
        if (status == SMQ_OK && !op.edit.done) {
            status = message_fail_not_waiting(&op, err);
        }
    }
    if (status == SMQ_OK && !op.edit.done) {
        status = message_fail_claimed(&op, err);
    }
out:
    return message_end(&op, status, err);
}
