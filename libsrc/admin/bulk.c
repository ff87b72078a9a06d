/* bulk.c - requeueing or purging many messages.
 *
 * Several workers run at once, each on the messages of one state of one slot.  A worker reads a
 * page, and edits the messages that pass the filter, each by its exact name, as far as limit and
 * rate allow.  Messages that were not there at the beginning are left alone; otherwise messages
 * that keep dying would keep the call busy for ever.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>
#include <stdlib.h>

#include "admin/admin.h"
#include "admin/fail.h"
#include "admin/filter.h"
#include "admin/slot_walk.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/waiter.h"

enum { BULK_WORKERS = 32, ROUNDS_PER_S = 10, PROGRESS_MS = 100 };

/* Works on the messages of one state of one slot.  The messages of its page before `at` are
 * done. */
struct bulk_worker {
    struct page_reader reader;
    size_t at;
    size_t take;        /* messages to edit in this round; 0: read the next page */
    uint64_t left;      /* messages left of those that were there at the beginning */
    int64_t started_ms; /* the server's time at the beginning */
    int sends;          /* how often the present edit was sent */
    bool busy, last;    /* the worker has work; its page is the last one */
};

struct bulk {
    struct core *core;
    const struct topic *topic;
    const struct filter *filter;
    bool requeue; /* otherwise purge */
    smq_progress_fn *progress;
    void *user;
    int64_t reported_ms; /* when progress was reported last, by clock_now_ms() */
    int64_t next_ms;     /* when the next round begins, by the rate */
    uint64_t changed;
    uint64_t unknown;       /* messages whose outcome is unknown, because a reply was lost */
    uint64_t reported;      /* changed messages, as reported last */
    uint64_t found, looked; /* messages of the states, in the slots that were inspected */
    struct bulk_worker workers[BULK_WORKERS];
    struct bulk_worker *round[BULK_WORKERS]; /* the workers of this round */
    int32_t round_count;
    bool stopped;
};

/* --- the calls --- */

static void bulk_edit_send(struct store_call *call, const struct bulk *bulk,
                           struct bulk_worker *worker)
{
    const struct page *page = &worker->reader.page;
    struct store_slot slot;

    store_slot_fill(&slot, bulk->topic, worker->reader.slot);
    worker->sends++;
    if (bulk->requeue) {
        store_requeue_begin(call, &slot);
    } else {
        store_remove_begin(call, &slot, worker->reader.query.state, worker->reader.query.scheduled);
    }
    for (size_t i = worker->at; i < worker->at + worker->take; i++) {
        store_edit_add(call, page->rows[i].name, page->rows[i].name_len);
    }
    store_edit(call, bulk->core->redis, 0);
}

/* The message is gone at a repeated try: the first try, whose reply was lost, may have edited it,
 * or another caller. */
static enum fanout_next bulk_edit_done(struct bulk *bulk, struct bulk_worker *worker,
                                       const struct store_result *result, smq_error *err)
{
    const char *results;

    if (result->outcome != STORE_OK || !store_edit_read(&results, result, worker->take)) {
        return admin_fail(err, bulk->topic, worker->reader.slot, result);
    }
    for (size_t i = 0; i < worker->take; i++) {
        if (results[i] == '1') {
            bulk->changed++;
        } else if (worker->sends > 1) {
            bulk->unknown++;
        }
    }
    worker->at += worker->take;
    worker->left -= worker->take;
    return FANOUT_DONE;
}

static void bulk_worker_send(struct store_call *call, int32_t index, void *user)
{
    const struct bulk *bulk = user;
    struct bulk_worker *worker = bulk->round[index];

    if (worker->take > 0) {
        bulk_edit_send(call, bulk, worker);
    } else {
        page_read_send(call, &worker->reader);
    }
}

static enum fanout_next bulk_worker_done(const struct store_result *result, int32_t index,
                                         void *user, smq_error *err)
{
    struct bulk *bulk = user;
    struct bulk_worker *worker = bulk->round[index];
    enum fanout_next next;

    if (worker->take > 0) {
        return bulk_edit_done(bulk, worker, result, err);
    }
    next = page_read_done(result, &worker->reader, err);
    worker->at = 0;
    return next;
}

/* --- workers --- */

/* How many messages of the page are to be edited and were there at the beginning. */
static size_t bulk_worker_pending(const struct bulk_worker *worker)
{
    const struct page *page = &worker->reader.page;
    size_t count = page->paged.count - worker->at;

    if (worker->reader.query.state == SMQ_STATE_DEAD) {
        for (size_t i = 0; i < count; i++) {
            if (page->rows[worker->at + i].integer > worker->started_ms) {
                count = i; /* they are in the order of their deaths */
            }
        }
    }
    return count < worker->left ? count : (size_t) worker->left;
}

/* After a round: decide what the worker does next. */
static void bulk_worker_continue(struct bulk_worker *worker)
{
    const struct page *page = &worker->reader.page;

    if (bulk_worker_pending(worker) > 0) {
        return;
    }
    worker->busy =
        worker->left > 0 && worker->at == page->paged.count && page_next(&worker->reader);
}

static bool bulk_worker_begin(struct bulk_worker *worker, const struct bulk *bulk,
                              const struct slot_walk *walk, int32_t index, int part)
{
    worker->left = filter_count(&walk->looks[index], part);
    if (worker->left == 0 ||
        !filter_begin(bulk->filter, &worker->reader, walk->first + index, part)) {
        return false;
    }
    worker->started_ms = walk->looks[index].now_ms;
    worker->reader.page.paged.count = worker->at = 0;
    worker->busy = true;
    return true;
}

/* --- rounds --- */

/* How many messages were perhaps changed. */
static uint64_t bulk_tried(const struct bulk *bulk)
{
    return bulk->changed + bulk->unknown;
}

/* How many messages may be changed in the next round. */
static uint64_t bulk_room(const struct bulk *bulk)
{
    uint64_t room = bulk->filter->limit - bulk_tried(bulk);
    uint64_t rate = (uint64_t) bulk->filter->rate_per_s;
    uint64_t share = rate < ROUNDS_PER_S ? 1 : rate / ROUNDS_PER_S;

    return rate > 0 && share < room ? share : room;
}

/* Assign to each worker what it does in the next round. */
static void bulk_plan(struct bulk *bulk)
{
    uint64_t room = bulk_room(bulk);

    bulk->round_count = 0;
    for (int i = 0; i < BULK_WORKERS; i++) {
        struct bulk_worker *worker = &bulk->workers[i];
        size_t pending = worker->busy ? bulk_worker_pending(worker) : 0;

        worker->take = pending < room ? pending : (size_t) room;
        worker->sends = 0;
        room -= worker->take;
        if (worker->busy && (worker->take > 0 || pending == 0)) {
            bulk->round[bulk->round_count++] = worker;
        }
    }
}

static void bulk_sleep_ms(int64_t duration_ms)
{
    struct waiter waiter;

    waiter_init(&waiter, 1);
    (void) waiter_wait(&waiter, duration_ms);
    waiter_fini(&waiter);
}

/* Keep the rate after a round that began at `began_ms`.  Time that was lost to a stall is not made
 * up for. */
static void bulk_hold_rate(struct bulk *bulk, int64_t began_ms, uint64_t tried)
{
    int64_t rate = bulk->filter->rate_per_s;

    if (rate == 0 || tried == 0) {
        return;
    }
    if (bulk->next_ms < began_ms) {
        bulk->next_ms = began_ms;
    }
    bulk->next_ms += ((int64_t) tried * 1000 + rate - 1) / rate;
    bulk_sleep_ms(bulk->next_ms > clock_now_ms() ? bulk->next_ms - clock_now_ms() : 0);
}

/* An estimate: the messages of the slots that were inspected, extrapolated to all slots; 0: not
 * known. */
static uint64_t bulk_total(const struct bulk *bulk)
{
    if (filter_looks(bulk->filter)) {
        return 0;
    }

    int32_t slots = filter_end_slot(bulk->filter, bulk->topic) - filter_first_slot(bulk->filter);
    double total = (double) bulk->found * slots / (double) bulk->looked;

    return total < (double) bulk->filter->limit ? (uint64_t) total : bulk->filter->limit;
}

static void bulk_report_progress(struct bulk *bulk)
{
    bulk->reported_ms = clock_now_ms();
    bulk->reported = bulk->changed;
    if (bulk->progress != NULL && !bulk->progress(bulk->changed, bulk_total(bulk), bulk->user)) {
        bulk->stopped = true;
    }
}

static smq_status bulk_round(struct bulk *bulk, smq_error *err)
{
    uint64_t before = bulk_tried(bulk);
    int64_t began_ms = clock_now_ms();
    smq_status status;

    bulk_plan(bulk);
    status =
        fanout_many(bulk->core, bulk->round_count, bulk_worker_send, bulk_worker_done, bulk, err);
    if (status != SMQ_OK) {
        return status;
    }
    for (int32_t i = 0; i < bulk->round_count; i++) {
        bulk_worker_continue(bulk->round[i]);
    }
    bulk->stopped = bulk_tried(bulk) >= bulk->filter->limit;
    if (clock_now_ms() - bulk->reported_ms >= PROGRESS_MS) {
        bulk_report_progress(bulk);
    }
    if (!bulk->stopped) {
        bulk_hold_rate(bulk, began_ms, bulk_tried(bulk) - before);
    }
    return SMQ_OK;
}

/* Find a worker without work, after further rounds if all are busy. */
static smq_status bulk_free_worker(struct bulk_worker **out, struct bulk *bulk, smq_error *err)
{
    smq_status status = SMQ_OK;

    *out = NULL;
    while (*out == NULL && status == SMQ_OK && !bulk->stopped) {
        for (int i = 0; i < BULK_WORKERS && *out == NULL; i++) {
            *out = bulk->workers[i].busy ? NULL : &bulk->workers[i];
        }
        if (*out == NULL) {
            status = bulk_round(bulk, err);
        }
    }
    return status;
}

static bool bulk_is_busy(const struct bulk *bulk)
{
    for (int i = 0; i < BULK_WORKERS; i++) {
        if (bulk->workers[i].busy) {
            return true;
        }
    }
    return false;
}

static smq_status bulk_slot(const struct slot_walk *walk, int32_t index, bool *more, void *user,
                            smq_error *err)
{
    struct bulk *bulk = user;
    smq_status status = SMQ_OK;

    if (index == 0) {
        for (int32_t i = 0; i < walk->count; i++) {
            for (int part = 0; part < FILTER_PARTS; part++) {
                bool asked = (bulk->filter->states & (unsigned) filter_state(part)) != 0;

                bulk->found += asked ? filter_count(&walk->looks[i], part) : 0;
            }
        }
        bulk->looked += (uint64_t) walk->count;
    }
    for (int part = 0; part < FILTER_PARTS && status == SMQ_OK && !bulk->stopped; part++) {
        struct bulk_worker *worker;

        status = bulk_free_worker(&worker, bulk, err);
        if (worker != NULL) {
            (void) bulk_worker_begin(worker, bulk, walk, index, part);
        }
    }
    *more = !bulk->stopped;
    return status;
}

static smq_status bulk_run(struct bulk *bulk, struct slot_walk *walk, smq_error *err)
{
    smq_status status;

    bulk->reported_ms = clock_now_ms();
    for (int i = 0; i < BULK_WORKERS; i++) {
        bulk->workers[i].reader = (struct page_reader){.core = bulk->core, .topic = bulk->topic};
    }
    status = slot_walk_visit(walk, filter_first_slot(bulk->filter),
                             filter_end_slot(bulk->filter, bulk->topic), bulk_slot, bulk, err);
    while (status == SMQ_OK && !bulk->stopped && bulk_is_busy(bulk)) {
        status = bulk_round(bulk, err);
    }
    for (int i = 0; i < BULK_WORKERS; i++) {
        page_fini(&bulk->workers[i].reader.page);
    }
    if (status != SMQ_OK) {
        return status;
    }
    if (bulk->changed > bulk->reported) {
        bulk_report_progress(bulk);
    }
    return slot_walk_faults(walk, err);
}

/* Is the outcome of all edits certain? */
static smq_status bulk_result(const struct bulk *bulk, smq_error *err)
{
    if (bulk->unknown == 0) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_UNKNOWN,
                      "a reply was lost: the outcome is unknown for %" PRIu64
                      " messages of topic %s, which may have been %s; repeat the call",
                      bulk->unknown, bulk->topic->name, bulk->requeue ? "requeued" : "purged");
}

static smq_status bulk_edit(uint64_t *count, struct core *core, const char *topic,
                            const smq_filter *filter, bool requeue, smq_progress_fn *progress,
                            void *user, smq_error *err)
{
    struct bulk *bulk = memory_new(sizeof(*bulk));
    struct slot_walk walk;
    struct filter checked = {0};
    smq_status status = slot_walk_begin(&walk, core, topic, err);

    bulk->core = core;
    bulk->topic = &walk.topic;
    bulk->filter = &checked;
    bulk->requeue = requeue;
    bulk->progress = progress;
    bulk->user = user;
    if (status != SMQ_OK) {
        goto out;
    }
    status = filter_check_and_copy(&checked, &walk.topic, filter, SMQ_STATE_DEAD, err);
    if (status != SMQ_OK) {
        goto out;
    }
    status = bulk_run(bulk, &walk, err);
    if (status == SMQ_OK) {
        status = bulk_result(bulk, err);
    }
out:
    if (count != NULL) {
        *count = bulk->changed;
    }
    filter_fini(&checked);
    slot_walk_end(&walk);
    free(bulk);
    return status;
}

smq_status admin_dead_requeue(uint64_t *count, struct core *core, const char *topic,
                              const smq_filter *filter, smq_progress_fn *progress, void *user,
                              smq_error *err)
{
    smq_filter dead = *filter;

    dead.states = SMQ_STATE_DEAD;
    return bulk_edit(count, core, topic, &dead, true, progress, user, err);
}

smq_status admin_topic_purge(uint64_t *count, struct core *core, const char *topic,
                             const smq_filter *filter, smq_progress_fn *progress, void *user,
                             smq_error *err)
{
    if (filter->states == 0) {
        return status_set(err, SMQ_INVALID,
                          "set the states of the filter: they say which messages are purged");
    }
    if ((filter->states & SMQ_STATE_CLAIMED) != 0) {
        return status_set(err, SMQ_INVALID,
                          "claimed messages cannot be purged: a consumer works on them");
    }
    return bulk_edit(count, core, topic, filter, false, progress, user, err);
}
