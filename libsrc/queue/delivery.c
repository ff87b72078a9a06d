/* delivery.c - a claimed message on its way from a strand to a handler and back as an answer.
 *
 * Thread: as each function of delivery.h says. */
#include "queue/delivery.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "queue/run_queue.h"

enum { REASON_MAX = 200 };

static void fill_info(smq_delivery *delivery, const struct topic *topic, int32_t slot,
                      const struct entry *entry)
{
    smq_message_info *info = &delivery->info;
    int left = topic->max_retries - delivery->attempts.retries;

    info->struct_size = sizeof(*info);
    info->topic = run_queue_topic(delivery->queue);
    info->slot = slot;
    info->state = SMQ_CLAIMED;
    info->body = entry->member;
    info->body_len = entry->member_len;
    if (topic->type == SMQ_PRIORITY) {
        info->priority = entry_priority(topic_kind(topic), entry->before);
    } else {
        info->due_at_ms = entry->before;
    }
    info->attempt = delivery->attempts.retries + 1;
    info->retries_left = left > 0 ? left : 0;
    info->token = delivery->token;
    info->reason = "";
}

smq_delivery *delivery_new(struct run_queue *queue, struct run_lane *lane,
                           const struct topic *topic, int32_t slot, const char *token,
                           const char *entry, size_t len, struct attempts attempts)
{
    smq_delivery *delivery = memory_new(sizeof(*delivery) + len + 1);
    struct entry decoded;

    memcpy(delivery->entry, entry, len);
    delivery->entry_len = len;
    if (!entry_decode(&decoded, delivery->entry, len) || decoded.kind != ENTRY_CLAIMED) {
        free(delivery);
        return NULL;
    }
    delivery->queue = run_queue_ref(queue);
    delivery->lane = lane;
    delivery->attempts = attempts;
    atomic_init(&delivery->references, 2);
    snprintf(delivery->token, sizeof(delivery->token), "%s", token);
    fill_info(delivery, topic, slot, &decoded);
    return delivery;
}

void delivery_ref(smq_delivery *delivery)
{
    atomic_fetch_add_explicit(&delivery->references, 1, memory_order_relaxed);
}

void delivery_unref(smq_delivery *delivery)
{
    struct run_queue *queue = delivery->queue;

    if (atomic_fetch_sub(&delivery->references, 1) != 1) {
        return;
    }
    free(delivery->answer.reason);
    free(delivery);
    run_queue_unref(queue);
}

static bool is_late(smq_status standing)
{
    return standing == SMQ_LEASE_LOST || standing == SMQ_FENCED;
}

void delivery_tell(smq_delivery *delivery, smq_status standing)
{
    if (!is_late(delivery_standing(delivery))) {
        atomic_store(&delivery->standing, standing);
    }
}

smq_status delivery_standing(const smq_delivery *delivery)
{
    return (smq_status) atomic_load_explicit(&delivery->standing, memory_order_relaxed);
}

smq_status delivery_check_process(const smq_delivery *delivery, smq_error *err)
{
    return run_queue_check_process(delivery->queue, err);
}

static smq_status refuse(const smq_delivery *delivery, smq_status status, smq_error *err)
{
    const smq_message_info *info = &delivery->info;

    if (status == SMQ_FENCED) {
        return status_set(err, status, "slot %d of topic %s has a newer owner", info->slot,
                          info->topic);
    }
    if (status == SMQ_LEASE_LOST) {
        return status_set(err, status, "the lease of this message of slot %d of topic %s is over",
                          info->slot, info->topic);
    }
    return status_set(err, status,
                      "the worker of topic %s has ended; the message is delivered "
                      "again",
                      info->topic);
}

/* Take the right to answer.  INVALID: somebody has answered; LEASE_LOST, FENCED: it is too late.
 * Only after INVALID the caller's reference is not his to end. */
static smq_status take_right(smq_delivery *delivery)
{
    smq_status standing = delivery_standing(delivery);
    int was = atomic_exchange(&delivery->answered, DELIVERY_ANSWERED);

    if (was == DELIVERY_ANSWERED) {
        return SMQ_INVALID;
    }
    if (was == DELIVERY_OVERDUE && !is_late(standing)) {
        return SMQ_LEASE_LOST;
    }
    return is_late(standing) ? standing : SMQ_OK;
}

bool delivery_is_over(enum store_answer_op op)
{
    return op == STORE_DONE || op == STORE_REJECT;
}

static char *copy_reason(const char *reason)
{
    return reason != NULL && reason[0] != '\0' ? memory_copy(reason, strnlen(reason, REASON_MAX))
                                               : NULL;
}

smq_status delivery_answer(smq_delivery *delivery, enum store_answer_op op, int64_t delay_ms,
                           const char *reason, smq_error *err)
{
    smq_status status = take_right(delivery);

    if (status == SMQ_INVALID) {
        return status_set(err, status, "the delivery was answered already");
    }
    if (status != SMQ_OK) {
        (void) refuse(delivery, status, err);
        delivery_unref(delivery);
        return status;
    }
    delivery->answer.op = op;
    delivery->answer.delay_ms = delay_ms;
    delivery->answer.reason = copy_reason(reason);
    if (!run_queue_answer(delivery->queue, delivery)) {
        (void) refuse(delivery, SMQ_CLOSED, err);
        delivery_unref(delivery);
        return SMQ_CLOSED;
    }
    return SMQ_OK;
}

static enum store_answer_op verdict_op(smq_verdict verdict)
{
    switch (verdict) {
    case SMQ_DONE:
        return STORE_DONE;
    case SMQ_REJECT:
        return STORE_REJECT;
    case SMQ_RELEASE:
        return STORE_RELEASE;
    case SMQ_RETRY:
    case SMQ_LATER:
        break;
    }
    return STORE_RETRY;
}

bool delivery_take_verdict(smq_delivery *delivery, smq_verdict verdict)
{
    smq_status status = verdict == SMQ_LATER ? SMQ_INVALID : take_right(delivery);

    if (status == SMQ_INVALID) {
        return false;
    }
    if (status != SMQ_OK) {
        delivery_unref(delivery);
        return false;
    }
    delivery->answer.op = verdict_op(verdict);
    delivery->answer.delay_ms = delivery->answer.op == STORE_RETRY ? SMQ_BACKOFF : 0;
    return true;
}

void delivery_id(char out[DELIVERY_ID_MAX], const smq_delivery *delivery)
{
    const unsigned char *body = delivery->info.body;
    size_t used = 0;

    for (size_t i = 0; i < delivery->info.body_len && used + 4 < DELIVERY_ID_MAX; i++) {
        if (isprint(body[i]) && body[i] != '\\') {
            out[used++] = (char) body[i];
        } else {
            used += (size_t) snprintf(out + used, 5, "\\x%02x", body[i]);
        }
    }
    out[used] = '\0';
}
