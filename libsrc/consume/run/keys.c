/* keys.c - see keys.h.
 *
 * Thread: any. */
#include "consume/run/keys.h"

#include <stdlib.h>

#include "consume/run/scheduler.h"

enum {
    SPARE_MAX = 1000,      /* keys that are kept for later deliveries */
    SPARE_SIZE_MAX = 512,  /* of the name of a spare key; others are freed */
    PASSED_MAX = 100,      /* keys that a claim passes over */
    PASSED_LEN_MAX = 1024, /* a longer one, in layout inline a body, is not named */
};

void run_key_table_init(struct run_key_table *table)
{
    *table = (struct run_key_table){.keys = NULL};
    TAILQ_INIT(&table->spare);
}

static void run_key_destroy(struct run_key *key)
{
    buf_fini(&key->name);
    free(key);
}

void run_key_table_fini(struct run_key_table *table)
{
    struct run_key *key;

    while ((key = TAILQ_FIRST(&table->spare)) != NULL) {
        TAILQ_REMOVE(&table->spare, key, link);
        run_key_destroy(key);
    }
    buf_fini(&table->name);
}

/* --- keys that exist while they are needed --- */

static const smq_bytes *run_key_bytes(const smq_delivery *delivery)
{
    const smq_message_info *info = &delivery->info;

    return info->key.data != NULL ? &info->key : &info->id;
}

static uint32_t run_key_hash(const smq_delivery *delivery)
{
    const smq_bytes *key = run_key_bytes(delivery);
    unsigned hash;

    HASH_JEN(key->data, key->len, hash);
    return hash;
}

/* The hash of the key's bytes is given, so only the queue has to be mixed in. */
static unsigned run_key_bucket(const struct run_queue *queue, uint32_t hash)
{
    return (unsigned) (hash ^ ((uintptr_t) queue >> 4) * 2654435769U);
}

/* Of the name in the table. */
static struct run_key *run_key_new(struct run_key_table *table, struct run_queue *queue,
                                   uint32_t hash)
{
    struct run_key *key = TAILQ_FIRST(&table->spare);
    struct buf name;

    if (key != NULL) {
        TAILQ_REMOVE(&table->spare, key, link);
        table->spare_count--;
    } else {
        key = memory_new(sizeof(*key));
    }
    name = key->name; /* its memory is used again */
    *key = (struct run_key){.queue = queue, .name = name};
    STAILQ_INIT(&key->waiting);
    buf_clear(&key->name);
    buf_add(&key->name, table->name.data, table->name.len);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, table->keys, key->name.data, key->name.len,
                                run_key_bucket(queue, hash), key);
    TAILQ_INSERT_TAIL(&queue->keys, key, link);
    queue->key_count++;
    return key;
}

/* The name that is looked for is left in the table. */
static struct run_key *run_key_find(struct run_key_table *table, const struct run_queue *queue,
                                    const smq_delivery *delivery, uint32_t hash)
{
    const smq_bytes *bytes = run_key_bytes(delivery);
    struct buf *name = &table->name;
    struct run_key *key;

    buf_clear(name);
    buf_add(name, &queue, sizeof(queue));
    buf_add(name, bytes->data, bytes->len);
    HASH_FIND_BYHASHVALUE(hh, table->keys, name->data, name->len, run_key_bucket(queue, hash), key);
    return key;
}

static struct run_key *run_key_get(struct run_key_table *table, struct run_queue *queue,
                                   const smq_delivery *delivery, uint32_t hash)
{
    struct run_key *key = run_key_find(table, queue, delivery, hash);

    return key != NULL ? key : run_key_new(table, queue, hash);
}

static void run_key_free(struct run_key_table *table, struct run_key *key)
{
    HASH_DELETE(hh, table->keys, key);
    TAILQ_REMOVE(&key->queue->keys, key, link);
    key->queue->key_count--;
    if (table->spare_count == SPARE_MAX || key->name.size > SPARE_SIZE_MAX) {
        run_key_destroy(key);
        return;
    }
    TAILQ_INSERT_HEAD(&table->spare, key, link);
    table->spare_count++;
}

static bool run_key_is_unused(const struct run_key *key)
{
    return key->begun == 0 && key->called == 0 && key->held == 0 && STAILQ_EMPTY(&key->waiting);
}

/* --- which may run --- */

bool run_key_may_begin(const struct run_key *key)
{
    return !STAILQ_EMPTY(&key->waiting) && key->called == 0 && key->held == 0 && key->begun == 0;
}

/* Behind the ready keys whose next delivery was added before that of this one. */
static void run_key_insert_ready(struct run_key *key)
{
    struct run_keys *ready = &key->queue->ready;
    struct run_key *before = TAILQ_LAST(ready, run_keys);

    key->number = STAILQ_FIRST(&key->waiting)->number;
    while (before != NULL && before->number > key->number) {
        before = TAILQ_PREV(before, run_keys, ready_link);
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(ready, before, key, ready_link);
    } else {
        TAILQ_INSERT_HEAD(ready, key, ready_link);
    }
}

void run_key_update(struct run_key_table *table, struct run_key *key)
{
    bool ready = run_key_may_begin(key);

    if (ready && !key->ready) {
        run_key_insert_ready(key);
    } else if (!ready && key->ready) {
        TAILQ_REMOVE(&key->queue->ready, key, ready_link);
    }
    key->ready = ready;
    if (run_key_is_unused(key)) {
        run_key_free(table, key);
    }
}

/* --- deliveries --- */

void run_keys_prepare(struct delivery_list *list)
{
    smq_delivery *delivery;

    STAILQ_FOREACH(delivery, list, link)
    {
        delivery->key_hash = run_key_hash(delivery);
    }
}

void run_keys_add(struct run_key_table *table, struct run_queue *queue, struct delivery_list *list)
{
    smq_delivery *delivery;

    while ((delivery = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, link);
        delivery->number = queue->added++;
        delivery->key = run_key_get(table, queue, delivery, delivery->key_hash);
        STAILQ_INSERT_TAIL(&delivery->key->waiting, delivery, link);
        run_key_update(table, delivery->key);
    }
}

struct run_key *run_key_look_up(struct run_key_table *table, struct run_queue *queue,
                                const smq_delivery *delivery)
{
    return run_key_find(table, queue, delivery, run_key_hash(delivery));
}

void run_key_hold(struct run_key_table *table, struct run_queue *queue, smq_delivery *delivery)
{
    delivery->key = run_key_get(table, queue, delivery, run_key_hash(delivery));
    delivery->holds = true;
    delivery->key->held++;
    run_key_update(table, delivery->key);
}

void run_key_recall(struct run_key_table *table, struct run_key *key, struct delivery_list *out)
{
    STAILQ_CONCAT(out, &key->waiting);
    run_key_update(table, key);
}

void run_keys_recall(struct run_key_table *table, struct run_queue *queue,
                     struct delivery_list *out)
{
    struct run_key *key, *next;

    for (key = TAILQ_FIRST(&queue->keys); key != NULL; key = next) {
        next = TAILQ_NEXT(key, link);
        run_key_recall(table, key, out);
    }
}

void run_keys_append_blocked(const struct run_queue *queue, struct buf *out)
{
    const struct run_key *key;
    int count = 0;

    TAILQ_FOREACH(key, &queue->keys, link)
    {
        const smq_delivery *delivery = STAILQ_FIRST(&key->waiting);

        if (delivery == NULL || key->ready || run_key_bytes(delivery)->len > PASSED_LEN_MAX) {
            continue;
        }
        if (count++ == PASSED_MAX) {
            return;
        }
        buf_printf(out, "%zu:", run_key_bytes(delivery)->len);
        buf_add(out, run_key_bytes(delivery)->data, run_key_bytes(delivery)->len);
    }
}

bool run_key_remove(struct run_key_table *table, smq_delivery *delivery)
{
    struct run_key *key = delivery->key;
    smq_delivery *waiting;

    STAILQ_FOREACH(waiting, &key->waiting, link)
    {
        if (waiting == delivery) {
            STAILQ_REMOVE(&key->waiting, delivery, smq_delivery, link);
            run_key_update(table, key);
            return true;
        }
    }
    return false;
}
