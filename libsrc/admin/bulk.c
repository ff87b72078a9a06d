/* bulk.c - many messages at once: requeued or purged.
 *
 * Some lanes at a time each work on the messages of one state of one slot: a page is read, then
 * what passes is edited by its exact name, as much as limit and rate allow.  What was not there at
 * the beginning is left alone, or a message that always dies would keep us here for ever.
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

enum { BULK_LANES = 32, ROUNDS_PER_S = 10, PROGRESS_MS = 100 };

/* The messages of one state of one slot.  Those of the page before `at` are done with. */
struct bulk_lane {
    struct page_reader reader;
    size_t at;
    size_t take;        /* edit so many now; 0: read the next page */
    uint64_t left;      /* of those that were there at the beginning */
    int64_t started_ms; /* the server's time then */
    int sends;          /* of the edit on its way */
    bool busy, last;    /* it has work; the page is the last one */
};

struct bulk {
    struct core *core;
    const struct topic *topic;
    const struct filter *filter;
    bool requeue; /* else purge */
    smq_progress_fn *progress;
    void *user;
    int64_t told_ms; /* clock_now_ms() of the last progress */
    int64_t next_ms; /* of the next round, by the rate */
    uint64_t changed;
    uint64_t unknown;       /* of these nobody knows: a reply was lost */
    uint64_t told;          /* of those that were changed */
    uint64_t found, looked; /* messages of the states in so many slots */
    struct bulk_lane lanes[BULK_LANES];
    struct bulk_lane *round[BULK_LANES]; /* that work in this round */
    int32_t round_count;
    bool stopped;
};

/* --- the calls --- */

static void bulk_edit_send(struct store_call *call, const struct bulk *bulk, struct bulk_lane *lane)
{
    const struct page *page = &lane->reader.page;
    struct store_slot slot;

    store_slot_fill(&slot, bulk->topic, lane->reader.slot);
    lane->sends++;
    if (bulk->requeue) {
        store_requeue_begin(call, &slot);
    } else {
        store_remove_begin(call, &slot, lane->reader.query.state);
    }
    for (size_t i = lane->at; i < lane->at + lane->take; i++) {
        store_edit_add(call, page->seen[i].name, page->seen[i].name_len);
    }
    store_edit(call, bulk->core->redis, 0);
}

/* Gone at a repeated try: the first, whose reply was lost, may have done it, or somebody else. */
static enum fanout_next bulk_edit_done(struct bulk *bulk, struct bulk_lane *lane,
                                       const struct store_result *result, smq_error *err)
{
    const char *results;

    if (result->outcome != STORE_OK || !store_edit_read(&results, result, lane->take)) {
        return admin_fail(err, bulk->topic, lane->reader.slot, result);
    }
    for (size_t i = 0; i < lane->take; i++) {
        if (results[i] == '1') {
            bulk->changed++;
        } else if (lane->sends > 1) {
            bulk->unknown++;
        }
    }
    lane->at += lane->take;
    lane->left -= lane->take;
    return FANOUT_DONE;
}

static void bulk_lane_send(struct store_call *call, int32_t index, void *user)
{
    const struct bulk *bulk = user;
    struct bulk_lane *lane = bulk->round[index];

    if (lane->take > 0) {
        bulk_edit_send(call, bulk, lane);
    } else {
        page_read_send(call, &lane->reader);
    }
}

static enum fanout_next bulk_lane_done(const struct store_result *result, int32_t index, void *user,
                                       smq_error *err)
{
    struct bulk *bulk = user;
    struct bulk_lane *lane = bulk->round[index];
    enum fanout_next next;

    if (lane->take > 0) {
        return bulk_edit_done(bulk, lane, result, err);
    }
    next = page_read_done(&lane->reader, result, err);
    lane->at = 0;
    return next;
}

/* --- lanes --- */

/* Of the page: what is to be edited and was there at the beginning. */
static size_t bulk_lane_pending(const struct bulk_lane *lane)
{
    const struct page *page = &lane->reader.page;
    size_t count = page->paged.count - lane->at;

    if (lane->reader.query.state == SMQ_STATE_DEAD) {
        for (size_t i = 0; i < count; i++) {
            if (page->seen[lane->at + i].integer > lane->started_ms) {
                count = i; /* they come in the order of their deaths */
            }
        }
    }
    return count < lane->left ? count : (size_t) lane->left;
}

/* After a round: is there more to do? */
static void bulk_lane_continue(struct bulk_lane *lane)
{
    const struct page *page = &lane->reader.page;

    if (bulk_lane_pending(lane) > 0) {
        return;
    }
    lane->busy = lane->left > 0 && lane->at == page->paged.count && page_next(&lane->reader);
}

static bool bulk_lane_begin(struct bulk_lane *lane, const struct bulk *bulk,
                            const struct slot_walk *walk, int32_t index, smq_state state)
{
    lane->left = filter_count(&walk->looks[index], state);
    if (lane->left == 0 || !filter_begin(bulk->filter, &lane->reader, walk->first + index, state)) {
        return false;
    }
    lane->started_ms = walk->looks[index].now_ms;
    lane->reader.page.paged.count = lane->at = 0;
    lane->busy = true;
    return true;
}

/* --- rounds --- */

/* Perhaps changed. */
static uint64_t bulk_tried(const struct bulk *bulk)
{
    return bulk->changed + bulk->unknown;
}

/* So many may be changed in the next round. */
static uint64_t bulk_room(const struct bulk *bulk)
{
    uint64_t room = bulk->filter->limit - bulk_tried(bulk);
    uint64_t rate = (uint64_t) bulk->filter->rate_per_s;
    uint64_t share = rate < ROUNDS_PER_S ? 1 : rate / ROUNDS_PER_S;

    return rate > 0 && share < room ? share : room;
}

/* What each lane does in the next round. */
static void bulk_plan(struct bulk *bulk)
{
    uint64_t room = bulk_room(bulk);

    bulk->round_count = 0;
    for (int i = 0; i < BULK_LANES; i++) {
        struct bulk_lane *lane = &bulk->lanes[i];
        size_t pending = lane->busy ? bulk_lane_pending(lane) : 0;

        lane->take = pending < room ? pending : (size_t) room;
        lane->sends = 0;
        room -= lane->take;
        if (lane->busy && (lane->take > 0 || pending == 0)) {
            bulk->round[bulk->round_count++] = lane;
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

/* After a round that began at `began_ms`: what was lost to a stall is not made up for. */
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

/* At once the messages of the slots that were looked at, the others guessed from these. */
static uint64_t bulk_total(const struct bulk *bulk)
{
    int32_t slots = filter_end_slot(bulk->filter, bulk->topic) - filter_first_slot(bulk->filter);
    double total = (double) bulk->found * slots / (double) bulk->looked;

    return total < (double) bulk->filter->limit ? (uint64_t) total : bulk->filter->limit;
}

static void bulk_report_progress(struct bulk *bulk)
{
    bulk->told_ms = clock_now_ms();
    bulk->told = bulk->changed;
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
    status = fanout_many(bulk->core, bulk->round_count, bulk_lane_send, bulk_lane_done, bulk, err);
    if (status != SMQ_OK) {
        return status;
    }
    for (int32_t i = 0; i < bulk->round_count; i++) {
        bulk_lane_continue(bulk->round[i]);
    }
    bulk->stopped = bulk_tried(bulk) >= bulk->filter->limit;
    if (clock_now_ms() - bulk->told_ms >= PROGRESS_MS) {
        bulk_report_progress(bulk);
    }
    if (!bulk->stopped) {
        bulk_hold_rate(bulk, began_ms, bulk_tried(bulk) - before);
    }
    return SMQ_OK;
}

/* A lane without work, after rounds if need be. */
static smq_status bulk_free_lane(struct bulk_lane **out, struct bulk *bulk, smq_error *err)
{
    smq_status status = SMQ_OK;

    *out = NULL;
    while (*out == NULL && status == SMQ_OK && !bulk->stopped) {
        for (int i = 0; i < BULK_LANES && *out == NULL; i++) {
            *out = bulk->lanes[i].busy ? NULL : &bulk->lanes[i];
        }
        if (*out == NULL) {
            status = bulk_round(bulk, err);
        }
    }
    return status;
}

static bool bulk_is_busy(const struct bulk *bulk)
{
    for (int i = 0; i < BULK_LANES; i++) {
        if (bulk->lanes[i].busy) {
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
            for (int j = 0; j < FILTER_STATES; j++) {
                bool asked = (bulk->filter->states & (unsigned) filter_states[j]) != 0;

                bulk->found += asked ? filter_count(&walk->looks[i], filter_states[j]) : 0;
            }
        }
        bulk->looked += (uint64_t) walk->count;
    }
    for (int i = 0; i < FILTER_STATES && status == SMQ_OK && !bulk->stopped; i++) {
        struct bulk_lane *lane;

        status = bulk_free_lane(&lane, bulk, err);
        if (lane != NULL) {
            (void) bulk_lane_begin(lane, bulk, walk, index, filter_states[i]);
        }
    }
    *more = !bulk->stopped;
    return status;
}

static smq_status bulk_run(struct bulk *bulk, struct slot_walk *walk, smq_error *err)
{
    smq_status status;

    bulk->told_ms = clock_now_ms();
    for (int i = 0; i < BULK_LANES; i++) {
        bulk->lanes[i].reader = (struct page_reader){.core = bulk->core, .topic = bulk->topic};
    }
    status = slot_walk_visit(walk, filter_first_slot(bulk->filter),
                             filter_end_slot(bulk->filter, bulk->topic), bulk_slot, bulk, err);
    while (status == SMQ_OK && !bulk->stopped && bulk_is_busy(bulk)) {
        status = bulk_round(bulk, err);
    }
    for (int i = 0; i < BULK_LANES; i++) {
        page_fini(&bulk->lanes[i].reader.page);
    }
    if (status != SMQ_OK) {
        return status;
    }
    if (bulk->changed > bulk->told) {
        bulk_report_progress(bulk);
    }
    return slot_walk_faults(walk, err);
}

/* Of all that was done to the end: is it certain? */
static smq_status bulk_result(const struct bulk *bulk, smq_error *err)
{
    if (bulk->unknown == 0) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_UNKNOWN,
                      "a reply was lost: nobody knows of %" PRIu64
                      " messages of topic %s whether they were %s; do it again",
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
    status = filter_take(&checked, &walk.topic, filter, SMQ_STATE_DEAD, err);
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
        return status_set(err, SMQ_INVALID, "states of the filter must be given: purge what?");
    }
    if ((filter->states & SMQ_STATE_CLAIMED) != 0) {
        return status_set(err, SMQ_INVALID,
                          "claimed messages cannot be purged: a consumer works on them");
    }
    return bulk_edit(count, core, topic, filter, false, progress, user, err);
}
