/* delivery.c - a claimed message on its way from a slot to a handler and back as an answer.
 *
 * Thread: as each function of delivery.h says. */
#include "consume/run/delivery.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/line.h"
#include "base/memory.h"
#include "base/status.h"
#include "consume/run/run_queue.h"
#include "model/member.h"

enum {
    REASON_MAX = 200,
    USUAL_LEN = 256, /* of entry and body */
    SPARE_MAX = 1000 /* deliveries in a pool */
};

static void fill_keyed(smq_delivery *delivery, const struct store_claimed *claimed)
{
    smq_message_info *info = &delivery->info;

    if (info->key == NULL) {
        info->key = info->id;
        info->key_len = info->id_len;
    }
    info->body = delivery->entry + delivery->entry_len;
    info->body_len = claimed->body_len;
    info->sent_at_ms = claimed->header.first_ms;
    info->expires_at_ms = claimed->header.expires_ms > 0 ? claimed->header.expires_ms : 0;
    delivery->max_retries = claimed->header.max_retries;
}

static void fill_inline(smq_delivery *delivery)
{
    smq_message_info *info = &delivery->info;

    info->body = info->id;
    info->body_len = info->id_len;
    delivery->max_retries = -1;
}

static void fill_order(smq_message_info *info, const struct topic *topic, const struct entry *entry)
{
    if (topic->type == SMQ_PRIORITY) {
        info->priority = entry_priority(topic_kind(topic), entry->before);
    } else if (topic->type != SMQ_FIFO) {
        info->due_at_ms = entry->before;
    }
}

/* false: what the entry holds is no member. */
static bool fill_info(smq_delivery *delivery, const struct topic *topic, int32_t slot,
                      const struct entry *entry, const struct store_claimed *claimed)
{
    smq_message_info *info = &delivery->info;
    struct member member;

    if (!member_decode(&member, entry->member, entry->member_len)) {
        return false;
    }
    info->key = member.key;
    info->key_len = member.key_len;
    info->id = member.id;
    info->id_len = member.id_len;
    if (topic->layout == SMQ_INLINE) {
        fill_inline(delivery);
    } else {
        fill_keyed(delivery, claimed);
    }
    fill_order(info, topic, entry);
    info->struct_size = sizeof(*info);
    info->topic = run_queue_topic(delivery->queue);
    info->slot = slot;
    info->state = SMQ_CLAIMED;
    info->attempt = delivery->attempts.retries + 1;
    info->retries_left = delivery_retries_left(delivery, topic);
    info->token = delivery->token;
    info->reason = "";
    return true;
}

int32_t delivery_retries_left(const smq_delivery *delivery, const struct topic *topic)
{
    int32_t limit = delivery->max_retries >= 0 ? delivery->max_retries : topic->max_retries;

    return limit > delivery->attempts.retries ? limit - delivery->attempts.retries : 0;
}

/* --- memory --- */

/* With room for `len` bytes of entry and body, not zeroed; it holds a reference of the queue. */
static smq_delivery *delivery_take(struct delivery_pool *pool, struct run_queue *queue, size_t len)
{
    bool usual = pool != NULL && len <= USUAL_LEN;
    smq_delivery *delivery = usual ? STAILQ_FIRST(&pool->spare) : NULL;

    if (delivery != NULL) {
        STAILQ_REMOVE_HEAD(&pool->spare, link);
        pool->count--;
    } else {
        delivery = memory_grow(NULL, 1, sizeof(*delivery) + (usual ? USUAL_LEN : len) + 1);
        (void) run_queue_ref(queue);
    }
    *delivery = (smq_delivery){.queue = queue, .usual = usual};
    return delivery;
}

static void delivery_free(smq_delivery *delivery)
{
    struct run_queue *queue = delivery->queue;

    free(delivery);
    run_queue_unref(queue);
}

/* It has no reference any more. */
static void delivery_give_back(smq_delivery *delivery, struct delivery_pool *pool)
{
    if (pool == NULL || !delivery->usual || pool->count == SPARE_MAX) {
        delivery_free(delivery);
        return;
    }
    STAILQ_INSERT_HEAD(&pool->spare, delivery, link);
    pool->count++;
}

void delivery_pool_init(struct delivery_pool *pool)
{
    STAILQ_INIT(&pool->spare);
    pool->count = 0;
}

void delivery_pool_fini(struct delivery_pool *pool)
{
    smq_delivery *delivery;

    while ((delivery = STAILQ_FIRST(&pool->spare)) != NULL) {
        STAILQ_REMOVE_HEAD(&pool->spare, link);
        delivery_free(delivery);
    }
    pool->count = 0;
}

smq_delivery *delivery_new(struct delivery_pool *pool, struct run_queue *queue,
                           struct run_lane *lane, const struct topic *topic, int32_t slot,
                           const char *token, const struct store_claimed *claimed)
{
    size_t body_len = topic->layout == SMQ_KEYED ? claimed->body_len : 0;
    size_t len = claimed->entry_len + body_len;
    struct entry entry;
    smq_delivery *delivery;

    if (!entry_decode(&entry, claimed->entry, claimed->entry_len) || entry.kind != ENTRY_CLAIMED) {
        return NULL;
    }
    delivery = delivery_take(pool, queue, len);
    memcpy(delivery->entry, claimed->entry, claimed->entry_len);
    delivery->entry_len = claimed->entry_len;
    entry.member = delivery->entry + (entry.member - claimed->entry);
    if (body_len > 0) {
        memcpy(delivery->entry + claimed->entry_len, claimed->body, body_len);
    }
    delivery->entry[len] = '\0';
    delivery->lane = lane;
    delivery->attempts = claimed->attempts;
    delivery->held = 1;
    atomic_init(&delivery->references, 2);
    memcpy(delivery->token, token, strnlen(token, sizeof(delivery->token) - 1));
    if (!fill_info(delivery, topic, slot, &entry, claimed)) {
        delivery_give_back(delivery, pool);
        return NULL;
    }
    return delivery;
}

/* --- references --- */

void delivery_ref(smq_delivery *delivery)
{
    atomic_fetch_add_explicit(&delivery->references, 1, memory_order_relaxed);
}

/* Were these the last ones?  Whoever has all that there are shares them with nobody. */
static bool drop(smq_delivery *delivery, int count)
{
    if (atomic_load_explicit(&delivery->references, memory_order_acquire) != count &&
        atomic_fetch_sub(&delivery->references, count) != count) {
        return false;
    }
    free(delivery->answer.reason);
    return true;
}

void delivery_unref(smq_delivery *delivery)
{
    if (drop(delivery, 1)) {
        delivery_free(delivery);
    }
}

void delivery_leave_flight(smq_delivery *delivery, struct delivery_pool *pool)
{
    if (drop(delivery, delivery->held)) {
        delivery_give_back(delivery, pool);
    }
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

smq_status delivery_check(const smq_delivery *delivery)
{
    smq_status standing = delivery_standing(delivery);

    if (is_late(standing) || standing == SMQ_UNKNOWN) {
        return standing;
    }
    return run_queue_is_over(delivery->queue) ? SMQ_LEASE_LOST : standing;
}

void delivery_leased(smq_delivery *delivery, int64_t asked_ms, int64_t lease_ms)
{
    if (asked_ms + lease_ms >
        atomic_load_explicit(&delivery->leased_until_ms, memory_order_relaxed)) {
        atomic_store_explicit(&delivery->leased_until_ms, asked_ms + lease_ms,
                              memory_order_relaxed);
    }
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
                      "what consumed topic %s has ended; the message is delivered again",
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
    return reason != NULL && reason[0] != '\0' ? memory_copy(reason, line_fit(reason, REASON_MAX))
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
        run_queue_refuse(delivery->queue, delivery, status);
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

smq_status delivery_extend(smq_delivery *delivery, int64_t lease_ms, smq_error *err)
{
    smq_status status = delivery_standing(delivery);

    if (is_late(status)) {
        return refuse(delivery, status, err);
    }
    delivery_ref(delivery);
    status = extension_ask(run_queue_extensions(delivery->queue), delivery, lease_ms, err);
    delivery_unref(delivery);
    return status;
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

enum delivery_verdict delivery_take_verdict(smq_delivery *delivery, smq_verdict verdict)
{
    smq_status status = verdict == SMQ_LATER ? SMQ_INVALID : take_right(delivery);

    if (status != SMQ_OK) {
        return status == SMQ_INVALID ? DELIVERY_LEFT : DELIVERY_TOO_LATE;
    }
    delivery->answer.op = verdict_op(verdict);
    delivery->answer.delay_ms = delivery->answer.op == STORE_RETRY ? SMQ_BACKOFF : 0;
    return DELIVERY_TAKEN;
}

void delivery_id(char out[DELIVERY_ID_MAX], const smq_delivery *delivery)
{
    const unsigned char *id = delivery->info.id;
    size_t used = 0;

    for (size_t i = 0; i < delivery->info.id_len && used + 4 < DELIVERY_ID_MAX; i++) {
        if (isprint(id[i]) && id[i] != '\\') {
            out[used++] = (char) id[i];
        } else {
            used += (size_t) snprintf(out + used, 5, "\\x%02x", id[i]);
        }
    }
    out[used] = '\0';
}
