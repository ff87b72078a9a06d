/* scan.c - see scan.h.
 *
 * A topic whose topic{T} is lost is found by the keys of its slots.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include "admin/scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "base/waiter.h"
#include "model/slot.h"
#include "store/topic.h"

struct scan_master {
    int32_t hash_slot; /* one that it has */
    char cursor[STORE_CURSOR_MAX];
    int32_t rounds;
};

struct scanning {
    struct loop_task task;
    struct waiter waiter;
    struct core *core;
    struct scan *scan;
    struct scan_master *masters;
    size_t count;
    int32_t rounds_most;
};

static void scan_on_list(struct loop_task *task)
{
    struct scanning *scanning = OWNER_OF(task, struct scanning, task);
    int32_t *slots = memory_new(REDIS_MASTERS_MAX * sizeof(*slots));

    scanning->count = redis_masters(slots, scanning->core->redis);
    scanning->masters = memory_new((scanning->count + 1) * sizeof(*scanning->masters));
    for (size_t i = 0; i < scanning->count; i++) {
        scanning->masters[i] = (struct scan_master){.hash_slot = slots[i], .cursor = "0"};
    }
    free(slots);
    waiter_done(&scanning->waiter);
}

static void scan_send(struct store_call *call, int32_t index, void *user)
{
    const struct scanning *scanning = user;
    const struct scan_master *master = &scanning->masters[index];

    store_scan(call, scanning->core->redis, master->hash_slot, master->cursor, SLOT_KEY_PATTERN, 0);
}

static void scan_note(struct scan *scan, const char *key, size_t len)
{
    struct slot_key_named named;
    struct scan_name *name;

    if (!slot_key_read(&named, key, len)) {
        return;
    }
    HASH_FIND_STR(scan->names, named.topic, name);
    if (name == NULL) {
        name = memory_new(sizeof(*name));
        memcpy(name->name, named.topic, sizeof(name->name));
        HASH_ADD_STR(scan->names, name, name);
    }
    name->slots = named.slot >= name->slots ? named.slot + 1 : name->slots;
}

static enum fanout_next scan_done(const struct store_result *result, int32_t index, void *user,
                                  smq_error *err)
{
    struct scanning *scanning = user;
    struct scan_master *master = &scanning->masters[index];
    const char *key;
    size_t count, len;

    if (result->outcome != STORE_OK || !store_scan_read(master->cursor, &count, result)) {
        (void) status_set(err, result->status == SMQ_OK ? SMQ_INTERNAL : result->status,
                          "cannot look for topics: %s",
                          result->status == SMQ_OK ? "a reply cannot be read" : result->text);
        return FANOUT_STOP;
    }
    for (size_t i = 0; i < count; i++) {
        if (store_scan_key(&key, &len, result, i)) {
            scan_note(scanning->scan, key, len);
        }
    }
    if (strcmp(master->cursor, "0") == 0) {
        return FANOUT_DONE;
    }
    if (++master->rounds >= scanning->rounds_most) {
        scanning->scan->whole = false;
        return FANOUT_DONE;
    }
    return FANOUT_AGAIN;
}

smq_status scan_masters(struct scan *out, struct core *core, int32_t keys, smq_error *err)
{
    struct scanning scanning = {
        .task.run = scan_on_list, .core = core, .scan = out, .rounds_most = keys / STORE_SCAN_PAGE};
    smq_status status;

    *out = (struct scan){.whole = true};
    waiter_init(&scanning.waiter, 1);
    loop_post(core->io, &scanning.task);
    (void) waiter_wait(&scanning.waiter, SMQ_FOREVER);
    waiter_fini(&scanning.waiter);
    status = fanout_many(core, (int32_t) scanning.count, scan_send, scan_done, &scanning, err);
    out->whole = out->whole && status == SMQ_OK;
    free(scanning.masters);
    return status;
}

void scan_free(struct scan *scan)
{
    struct scan_name *name, *next;

    HASH_ITER(hh, scan->names, name, next)
    {
        HASH_DEL(scan->names, name);
        free(name);
    }
}
