/* admin_look.c - what topics and slots hold and have done; dead letters.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "queue/admin.h"
#include "queue/calls.h"

enum { CHUNK_SLOTS = 1024, PAGE_LETTERS = 100 };

/* A run of slots of one topic that is looked at. */
struct looking {
    struct hub *hub;
    struct topic topic;
    int32_t first; /* slot number of looks[0] */
    struct store_look *looks;
};

/* Fill `err` for an answer that is not what was asked for. */
static enum calls_next look_fail(smq_error *err, const struct topic *topic, int32_t slot,
                                 const struct store_result *result)
{
    if (result->outcome == STORE_NO_TOPIC || result->outcome == STORE_STALE) {
        (void) status_set(err, SMQ_NO_TOPIC, "topic %s was deleted or changed meanwhile (slot %d)",
                          topic->name, (int) slot);
    } else if (result->outcome == STORE_OK) {
        (void) status_set(err, SMQ_INTERNAL, "an answer about slot %d of topic %s cannot be read",
                          (int) slot, topic->name);
    } else {
        (void) status_set(err, result->status, "slot %d of topic %s: %s", (int) slot, topic->name,
                          result->text);
    }
    return CALLS_STOP;
}

static void look_send(struct store_call *call, int32_t index, void *user)
{
    const struct looking *looking = user;
    struct store_slot slot;

    store_slot_fill(&slot, &looking->topic, looking->first + index);
    store_inspect(call, looking->hub->redis, &slot, 0);
}

static enum calls_next look_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct looking *looking = user;

    if (result->outcome == STORE_OK && store_inspect_read(&looking->looks[index], result)) {
        return CALLS_DONE;
    }
    return look_fail(err, &looking->topic, looking->first + index, result);
}

static int32_t looking_count(const struct looking *looking)
{
    int32_t left = looking->topic.slots - looking->first;

    return left < CHUNK_SLOTS ? left : CHUNK_SLOTS;
}

/* Look at the next run of slots: looks[0 .. looking_count()). */
static smq_status looking_run(struct looking *looking, smq_error *err)
{
    return calls_run(
        looking->hub,
        &(struct calls_job){
            .count = looking_count(looking), .user = looking, .send = look_send, .done = look_done},
        err);
}

static smq_status looking_begin(struct looking *looking, struct hub *hub, const char *topic,
                                smq_error *err)
{
    smq_status status = topic_check_name(topic, err);

    *looking = (struct looking){.hub = hub};
    if (status == SMQ_OK) {
        status = calls_definition(&looking->topic, hub, topic, err);
    }
    if (status == SMQ_OK) {
        looking->looks = memory_new((size_t) looking_count(looking) * sizeof(*looking->looks));
    }
    return status;
}

static void looking_end(struct looking *looking)
{
    free(looking->looks);
}

/* Call `each` for every slot; false ends it. */
static smq_status look_at_all(struct looking *looking,
                              bool (*each)(const struct looking *looking, int32_t index,
                                           void *user),
                              void *user, smq_error *err)
{
    for (looking->first = 0; looking->first < looking->topic.slots; looking->first += CHUNK_SLOTS) {
        int32_t count = looking_count(looking);
        smq_status status = looking_run(looking, err);

        if (status != SMQ_OK) {
            return status;
        }
        for (int32_t i = 0; i < count; i++) {
            if (!each(looking, i, user)) {
                return SMQ_OK;
            }
        }
    }
    return SMQ_OK;
}

/* --- stats --- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void stats_add(smq_stats *stats, const struct store_look *look)
{
    stats->waiting += look->waiting;
    stats->due += look->due;
    stats->claimed += look->claimed;
    stats->resting += look->resting;
    stats->dead += look->dead;
    if (look->oldest_due_ms >= 0) {
        stats->oldest_due_age_ms =
            later(stats->oldest_due_age_ms, look->now_ms - look->oldest_due_ms);
    }
    if (look->next_due_ms >= 0 &&
        (stats->next_due_at_ms == 0 || look->next_due_ms < stats->next_due_at_ms)) {
        stats->next_due_at_ms = look->next_due_ms;
    }
    stats->sent += look->sent;
    stats->merged += look->merged;
    stats->done += look->done;
    stats->retried += look->retried;
    stats->rejected += look->rejected;
    stats->expired += look->expired;
    stats->released += look->released;
    stats->lease_lost += look->lease_lost;
}

static bool stats_each(const struct looking *looking, int32_t index, void *user)
{
    stats_add(user, &looking->looks[index]);
    return true;
}

smq_status admin_stats(smq_stats *out, struct hub *hub, const char *topic, smq_error *err)
{
    smq_stats stats = SMQ_STATS_INIT;
    struct looking looking;
    smq_status status = looking_begin(&looking, hub, topic, err);

    if (status == SMQ_OK) {
        status = look_at_all(&looking, stats_each, &stats, err);
    }
    if (status == SMQ_OK) {
        *out = stats;
    }
    looking_end(&looking);
    return status;
}

/* --- slots --- */

struct slots_visit {
    smq_slot_fn *visit;
    void *user;
};

static bool slots_each(const struct looking *looking, int32_t index, void *user)
{
    const struct slots_visit *visit = user;
    const struct store_look *look = &looking->looks[index];
    smq_slot_info info = {.struct_size = sizeof(info),
                          .topic = looking->topic.name,
                          .slot = looking->first + index,
                          .owner = look->owner,
                          .token = look->token,
                          .stats = SMQ_STATS_INIT};

    stats_add(&info.stats, look);
    return visit->visit(&info, visit->user);
}

smq_status admin_slots(struct hub *hub, const char *topic, smq_slot_fn *visit, void *user,
                       smq_error *err)
{
    struct slots_visit slots = {.visit = visit, .user = user};
    struct looking looking;
    smq_status status = looking_begin(&looking, hub, topic, err);

    if (status == SMQ_OK) {
        status = look_at_all(&looking, slots_each, &slots, err);
    }
    looking_end(&looking);
    return status;
}

/* --- dead letters: visit --- */

/* One dead letter, copied; the strings stand in the page's bytes. */
struct letter {
    size_t body_at, body_len, reason_at;
    int64_t before, dead_at_ms;
    int retries;
};

/* Dead letters of one slot, read at once. */
struct page {
    struct hub *hub;
    const struct topic *topic;
    int32_t slot;
    uint64_t offset;
    struct buf bytes;
    size_t count;
    struct letter letters[PAGE_LETTERS];
};

static void page_send(struct store_call *call, int32_t index, void *user)
{
    const struct page *page = user;
    struct store_slot slot;

    (void) index;
    store_slot_fill(&slot, page->topic, page->slot);
    store_dead_list(call, page->hub->redis, &slot, page->offset, PAGE_LETTERS, 0);
}

static bool page_add(struct page *page, const struct store_result *result, size_t index)
{
    struct letter *letter = &page->letters[index];
    struct store_dead dead;

    if (!store_dead_list_message(&dead, result, index)) {
        return false;
    }
    *letter = (struct letter){.body_at = page->bytes.len,
                              .body_len = dead.entry.member_len,
                              .before = dead.entry.before,
                              .dead_at_ms = dead.dead_at_ms,
                              .retries = dead.attempts.retries};
    buf_add(&page->bytes, dead.entry.member, dead.entry.member_len);
    letter->reason_at = page->bytes.len;
    buf_add(&page->bytes, dead.reason, strlen(dead.reason) + 1);
    return true;
}

static enum calls_next page_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct page *page = user;

    (void) index;
    buf_clear(&page->bytes);
    if (result->outcome != STORE_OK || !store_dead_list_read(&page->count, result, PAGE_LETTERS)) {
        return look_fail(err, page->topic, page->slot, result);
    }
    for (size_t i = 0; i < page->count; i++) {
        if (!page_add(page, result, i)) {
            return look_fail(err, page->topic, page->slot, result);
        }
    }
    return CALLS_DONE;
}

static smq_status page_read(struct page *page, smq_error *err)
{
    return calls_run(
        page->hub,
        &(struct calls_job){.count = 1, .user = page, .send = page_send, .done = page_done}, err);
}

static void letter_describe(smq_message_info *out, const struct page *page, size_t index)
{
    const struct topic *topic = page->topic;
    const struct letter *letter = &page->letters[index];

    *out = (smq_message_info){.struct_size = sizeof(*out),
                              .topic = topic->name,
                              .slot = page->slot,
                              .state = SMQ_DEAD,
                              .body = page->bytes.data + letter->body_at,
                              .body_len = letter->body_len,
                              .dead_at_ms = letter->dead_at_ms,
                              .attempt = letter->retries + 1,
                              .token = "",
                              .reason = page->bytes.data + letter->reason_at};
    if (topic->type == SMQ_PRIORITY) {
        out->priority = entry_priority(topic_kind(topic), letter->before);
    } else {
        out->due_at_ms = letter->before;
    }
    if (topic->max_retries > letter->retries) {
        out->retries_left = topic->max_retries - letter->retries;
    }
}

struct dead_visit {
    struct page *page;
    smq_message_fn *visit;
    void *user;
    smq_status status;
    smq_error err;
};

/* false: the visitor wants no more. */
static bool page_visit(const struct page *page, const struct dead_visit *dead)
{
    smq_message_info info;

    for (size_t i = 0; i < page->count; i++) {
        letter_describe(&info, page, i);
        if (!dead->visit(&info, dead->user)) {
            return false;
        }
    }
    return true;
}

static bool dead_each_slot(const struct looking *looking, int32_t index, void *user)
{
    struct dead_visit *dead = user;
    struct page *page = dead->page;

    page->slot = looking->first + index;
    page->offset = 0;
    page->count = looking->looks[index].dead > 0 ? PAGE_LETTERS : 0;
    while (page->count == PAGE_LETTERS) {
        dead->status = page_read(page, &dead->err);
        if (dead->status != SMQ_OK || !page_visit(page, dead)) {
            return false;
        }
        page->offset += page->count;
    }
    return true;
}

smq_status admin_dead_each(struct hub *hub, const char *topic, smq_message_fn *visit, void *user,
                           smq_error *err)
{
    struct looking looking;
    struct dead_visit dead = {.visit = visit, .user = user, .status = SMQ_OK};
    smq_status status = looking_begin(&looking, hub, topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    dead.page = memory_new(sizeof(*dead.page));
    dead.page->hub = hub;
    dead.page->topic = &looking.topic;
    status = look_at_all(&looking, dead_each_slot, &dead, err);
    if (dead.status != SMQ_OK) {
        status = status_copy(err, &dead.err);
    }
    buf_fini(&dead.page->bytes);
    free(dead.page);
    looking_end(&looking);
    return status;
}

/* --- dead letters: requeue --- */

struct requeue {
    struct hub *hub;
    struct topic topic;
    uint64_t count;
    uint64_t *left; /* of each slot: of those that were dead at first; UINT64_MAX: not asked yet */
};

static void requeue_send(struct store_call *call, int32_t index, void *user)
{
    const struct requeue *requeue = user;
    struct store_slot slot;

    store_slot_fill(&slot, &requeue->topic, index);
    store_dead_requeue(call, requeue->hub->redis, &slot, 0);
}

/* What dies again meanwhile is not requeued again, or a hopeless message would keep us here. */
static enum calls_next requeue_done(const struct store_result *result, int32_t index, void *user,
                                    smq_error *err)
{
    struct requeue *requeue = user;
    uint64_t *rest = &requeue->left[index];
    uint64_t moved, left;

    if (result->outcome != STORE_OK || !store_dead_requeue_read(&moved, &left, result)) {
        return look_fail(err, &requeue->topic, index, result);
    }
    requeue->count += moved;
    if (*rest == UINT64_MAX) {
        *rest = moved + left;
    }
    *rest -= moved < *rest ? moved : *rest;
    return *rest > 0 && left > 0 && moved > 0 ? CALLS_AGAIN : CALLS_DONE;
}

smq_status admin_dead_requeue(uint64_t *count, struct hub *hub, const char *topic, smq_error *err)
{
    struct requeue requeue = {.hub = hub};
    struct calls_job job = {.user = &requeue, .send = requeue_send, .done = requeue_done};
    smq_status status = topic_check_name(topic, err);

    if (status == SMQ_OK) {
        status = calls_definition(&requeue.topic, hub, topic, err);
    }
    if (status == SMQ_OK) {
        job.count = requeue.topic.slots;
        requeue.left = memory_grow(NULL, (size_t) job.count, sizeof(*requeue.left));
        memset(requeue.left, 0xff, (size_t) job.count * sizeof(*requeue.left));
        status = calls_run(hub, &job, err);
    }
    free(requeue.left);
    if (count != NULL) {
        *count = requeue.count;
    }
    return status;
}
