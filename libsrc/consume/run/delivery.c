/* delivery.c - a claimed message, on its way from a slot to a handler, and back as an answer.
 *
 * Thread: as each function of delivery.h says. */
#include "consume/run/delivery.h"

#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/status.h"
#include "model/headers.h"
#include "model/member.h"

enum {
    USUAL_LEN = 256, /* bytes of entry and body */
    SPARE_MAX = 1000 /* deliveries in a pool */
};

/* The id comes as a value, here and below: a processor that reads again what it has just written in
 * two parts waits until both have arrived in its cache. */
static void delivery_fill_keyed(smq_delivery *delivery, smq_bytes id,
                                const struct store_claimed *claimed)
{
    smq_message_info *info = &delivery->info;

    if (info->key.data == NULL) {
        info->key = id;
    }
    info->body = (smq_bytes){delivery->entry + delivery->entry_len + claimed->header.headers_len,
                             claimed->body_len};
    info->sent_at_ms = claimed->header.first_ms;
    info->expires_at_ms = claimed->header.expires_ms > 0 ? claimed->header.expires_ms : 0;
    delivery->max_retries = claimed->header.max_retries;
}

static void delivery_fill_inline(smq_delivery *delivery, smq_bytes id)
{
    delivery->info.body = id;
    delivery->max_retries = -1;
}

static void delivery_fill_order(smq_message_info *info, const struct topic *topic,
                                const struct entry *entry)
{
    if (topic->type == SMQ_TYPE_PRIORITY) {
        info->priority = entry_priority(topic_kind(topic), entry->before);
    } else if (topic->type != SMQ_TYPE_FIFO) {
        info->due_at_ms = entry->before;
    }
}

/* The headers lie between the entry and the body. */
static void delivery_fill_headers(smq_delivery *delivery, size_t len)
{
    smq_header headers[SMQ_HEADERS_MAX];
    size_t count = headers_decode(headers, delivery->entry + delivery->entry_len, len);

    delivery->headers = memory_grow(NULL, count, sizeof(headers[0]));
    memcpy(delivery->headers, headers, count * sizeof(headers[0]));
    delivery->info.headers = delivery->headers;
    delivery->info.header_count = count;
}

/* Returns false if the entry holds no valid member. */
static bool delivery_fill_info(smq_delivery *delivery, const struct topic *topic, int32_t slot,
                               const struct entry *entry, const struct store_claimed *claimed)
{
    smq_message_info *info = &delivery->info;
    struct member member;
    smq_bytes id;

    if (!member_decode(&member, entry->member, entry->member_len)) {
        return false;
    }
    info->key = (smq_bytes){member.key, member.key_len};
    id = (smq_bytes){member.id, member.id_len};
    info->id = id;
    if (topic->layout == SMQ_LAYOUT_INLINE) {
        delivery_fill_inline(delivery, id);
    } else {
        delivery_fill_keyed(delivery, id, claimed);
    }
    delivery_fill_order(info, topic, entry);
    info->struct_size = sizeof(*info);
    info->topic = delivery->origin->topic;
    info->slot = slot;
    info->state = SMQ_STATE_CLAIMED;
    info->attempt = delivery->attempts.retries + 1;
    info->redelivered = attempts_any(&delivery->attempts);
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

/* --- origins --- */

void delivery_origin_init(struct delivery_origin *origin, const char *topic,
                          void (*free)(struct delivery_origin *origin))
{
    atomic_init(&origin->references, 1);
    origin->forks = fork_count();
    origin->topic = memory_string(topic);
    origin->free = free;
}

void delivery_origin_fini(struct delivery_origin *origin)
{
    free(origin->topic);
}

static void delivery_origin_ref(struct delivery_origin *origin)
{
    atomic_fetch_add_explicit(&origin->references, 1, memory_order_relaxed);
}

void delivery_origin_unref(struct delivery_origin *origin)
{
    if (atomic_fetch_sub(&origin->references, 1) == 1) {
        origin->free(origin);
    }
}

/* --- memory --- */

/* A delivery with room for `len` bytes of entry and body, which are not zeroed.  It holds a
 * reference of the origin. */
static smq_delivery *delivery_alloc(struct delivery_pool *pool, struct delivery_origin *origin,
                                    size_t len)
{
    bool usual = pool != NULL && len <= USUAL_LEN;
    smq_delivery *delivery = usual ? STAILQ_FIRST(&pool->spare) : NULL;

    if (delivery != NULL) {
        STAILQ_REMOVE_HEAD(&pool->spare, link);
        pool->count--;
    } else {
        delivery = memory_grow(NULL, 1, sizeof(*delivery) + (usual ? USUAL_LEN : len) + 1);
        delivery_origin_ref(origin);
    }
    *delivery = (smq_delivery){.origin = origin, .usual = usual};
    return delivery;
}

static void delivery_free(smq_delivery *delivery)
{
    struct delivery_origin *origin = delivery->origin;

    free(delivery);
    delivery_origin_unref(origin);
}

/* Precondition: the delivery has no reference left. */
static void delivery_recycle(smq_delivery *delivery, struct delivery_pool *pool)
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

smq_delivery *delivery_new(struct delivery_pool *pool, struct delivery_origin *origin,
                           struct run_queue *queue, const struct topic *topic, int32_t slot,
                           const char *token, const struct store_claimed *claimed)
{
    size_t headers_len = topic->layout == SMQ_LAYOUT_KEYED ? claimed->header.headers_len : 0;
    size_t body_len = topic->layout == SMQ_LAYOUT_KEYED ? headers_len + claimed->body_len : 0;
    size_t len = claimed->entry_len + body_len;
    struct entry entry;
    smq_delivery *delivery;

    if (!entry_decode(&entry, claimed->entry, claimed->entry_len) || entry.kind != ENTRY_CLAIMED) {
        return NULL;
    }
    delivery = delivery_alloc(pool, origin, len);
    memcpy(delivery->entry, claimed->entry, claimed->entry_len);
    delivery->entry_len = claimed->entry_len;
    entry.member = delivery->entry + (entry.member - claimed->entry);
    if (body_len > 0) {
        memcpy(delivery->entry + claimed->entry_len, claimed->body - headers_len, body_len);
    }
    delivery->entry[len] = '\0';
    delivery->queue = queue;
    delivery->attempts = claimed->attempts;
    delivery->held = 1;
    atomic_init(&delivery->references, 2);
    memcpy(delivery->token, token, strnlen(token, sizeof(delivery->token) - 1));
    if (!delivery_fill_info(delivery, topic, slot, &entry, claimed)) {
        delivery_recycle(delivery, pool);
        return NULL;
    }
    if (headers_len > 0) {
        delivery_fill_headers(delivery, headers_len);
    }
    return delivery;
}

/* --- references --- */

void delivery_ref(smq_delivery *delivery)
{
    atomic_fetch_add_explicit(&delivery->references, 1, memory_order_relaxed);
}

/* Drops `count` references; returns whether these were the last ones.  A caller that holds all
 * references shares the delivery with no other thread, so it needs no atomic step. */
static bool delivery_drop(smq_delivery *delivery, int count)
{
    if (atomic_load_explicit(&delivery->references, memory_order_acquire) != count &&
        atomic_fetch_sub(&delivery->references, count) != count) {
        return false;
    }
    free(delivery->answer.reason);
    free(delivery->headers);
    return true;
}

void delivery_unref(smq_delivery *delivery)
{
    if (delivery_drop(delivery, 1)) {
        delivery_free(delivery);
    }
}

void delivery_leave_flight(smq_delivery *delivery, struct delivery_pool *pool)
{
    if (delivery_drop(delivery, delivery->held)) {
        delivery_recycle(delivery, pool);
    }
}

bool delivery_is_late(smq_status validity)
{
    return validity == SMQ_LEASE_LOST || validity == SMQ_FENCED;
}

void delivery_set_validity(smq_delivery *delivery, smq_status validity)
{
    if (!delivery_is_late(delivery_validity(delivery))) {
        atomic_store(&delivery->validity, validity);
    }
}

smq_status delivery_validity(const smq_delivery *delivery)
{
    return (smq_status) atomic_load_explicit(&delivery->validity, memory_order_relaxed);
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
    if (delivery->origin->forks != fork_count()) {
        return status_set(err, SMQ_FORKED, "the consumer was made before fork()");
    }
    return SMQ_OK;
}

bool delivery_op_is_final(enum store_answer_op op)
{
    return op == STORE_DONE || op == STORE_REJECT;
}

void delivery_id(char out[DELIVERY_ID_MAX], const smq_delivery *delivery)
{
    line_escape(out, DELIVERY_ID_MAX, delivery->info.id.data, delivery->info.id.len, true);
}
