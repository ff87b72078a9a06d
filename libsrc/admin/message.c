/* message.c - one message: found, ranked, removed, rescheduled.
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

/* A message may move between two of our steps. */
enum { MOVED_TRIES = 5 };

/* One message while it is worked on. */
struct work {
    struct core *core;
    struct topic topic;
    struct which which;
    struct store_slot slot; /* its own */
    struct {
        struct store_find next;
        struct buf bytes;       /* what next.from points to */
        struct seen_page *page; /* of one message; count 0: nowhere */
    } find;
    struct {
        const char *when; /* NULL: remove */
        int sends;
        bool done;
        bool gone; /* removed by a try whose reply was lost, unless it turns up again */
    } edit;
    struct {
        uint64_t count;
        char score[STORE_SCORE_MAX];
        bool waits;
    } rank;
};

static smq_status work_begin(struct work *work, struct core *core, const char *topic,
                             const smq_message *which, smq_error *err)
{
    smq_status status = topic_check_name(topic, err);

    *work = (struct work){.core = core};
    if (status == SMQ_OK) {
        status = calls_definition(&work->topic, core, topic, err);
    }
    if (status == SMQ_OK) {
        status = which_take(&work->which, &work->topic, which, err);
    }
    if (status == SMQ_OK) {
        store_slot_fill(&work->slot, &work->topic, work->which.slot);
    }
    return status;
}

static void work_end(struct work *work)
{
    which_fini(&work->which);
    buf_fini(&work->find.bytes);
}

static smq_status work_run(struct work *work, void (*send)(struct store_call *, int32_t, void *),
                           enum calls_next (*done)(const struct store_result *, int32_t, void *,
                                                   smq_error *),
                           smq_error *err)
{
    return calls_run(
        work->core, &(struct calls_job){.count = 1, .user = work, .send = send, .done = done}, err);
}

static smq_status no_message(const struct work *work, const char *why, smq_error *err)
{
    return status_set(err, SMQ_NO_MESSAGE, "no such message in slot %d of topic %s%s",
                      (int) work->which.slot, work->topic.name, why);
}

static smq_status in_work(const struct work *work, smq_error *err)
{
    return status_set(err, SMQ_IN_WORK,
                      "a consumer works on this message of slot %d of topic %s; try again when it "
                      "has answered",
                      (int) work->which.slot, work->topic.name);
}

/* --- find --- */

static void find_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_find(call, work->core->redis, &work->slot, &work->find.next, 0);
}

static void find_go_on(struct work *work, const struct store_find *next)
{
    struct buf *bytes = &work->find.bytes;
    size_t score_len = strlen(next->from.score);

    buf_clear(bytes);
    buf_add(bytes, next->from.score, score_len + 1);
    if (next->from.name_len > 0) {
        buf_add(bytes, next->from.name, next->from.name_len);
    }
    work->find.next.dead = next->dead;
    work->find.next.from = (struct store_position){
        .score = bytes->data, .name = bytes->data + score_len + 1, .name_len = next->from.name_len};
}

static enum calls_next find_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct work *work = user;
    struct store_found found;

    (void) index;
    if (result->outcome != STORE_OK ||
        !store_find_read(&found, result, &work->slot, &work->find.next)) {
        return admin_fail(err, &work->topic, work->which.slot, result);
    }
    if (found.more) {
        find_go_on(work, &found.next);
        return CALLS_AGAIN;
    }
    seen_keep(work->find.page, found.found ? &found.seen : NULL, found.token);
    return CALLS_DONE;
}

/* page->paged.count tells whether it is there. */
static smq_status find(struct work *work, struct seen_page *page, smq_error *err)
{
    work->find.page = page;
    work->find.next =
        (struct store_find){.member = work->which.member, .member_len = work->which.member_len};
    return work_run(work, find_send, find_done, err);
}

/* A message that is given away. */
struct owned {
    smq_message_info info; /* first: smq_message_info_free() gets its address */
    char topic[TOPIC_NAME_MAX + 1];
    struct seen_page page;
};

void admin_message_info_free(smq_message_info *info)
{
    struct owned *owned = (struct owned *) info;

    if (owned != NULL) {
        seen_fini(&owned->page);
        free(owned);
    }
}

smq_status admin_message_get(smq_message_info **out, struct core *core, const char *topic,
                             const smq_message *which, smq_error *err)
{
    struct owned *owned = memory_new(sizeof(*owned));
    struct work work;
    smq_status status = work_begin(&work, core, topic, which, err);

    if (status == SMQ_OK) {
        status = find(&work, &owned->page, err);
    }
    if (status == SMQ_OK && owned->page.paged.count == 0) {
        status = no_message(&work, "", err);
    }
    if (status == SMQ_OK && out != NULL) {
        memcpy(owned->topic, work.topic.name, sizeof(owned->topic));
        seen_describe(&owned->info, &work.topic, work.which.slot, owned->page.paged.token,
                      &owned->page.seen[0]);
        owned->info.topic = owned->topic;
        *out = &owned->info;
    } else {
        admin_message_info_free(&owned->info);
    }
    work_end(&work);
    return status;
}

/* --- rank --- */

static void rank_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_rank(call, work->core->redis, &work->slot, work->which.member, work->which.member_len, 0);
}

static enum calls_next rank_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct work *work = user;

    (void) index;
    work->rank.waits = result->outcome != STORE_REFUSED || result->status != SMQ_NO_MESSAGE;
    if (!work->rank.waits || (result->outcome == STORE_OK &&
                              store_rank_read(&work->rank.count, work->rank.score, result))) {
        return CALLS_DONE;
    }
    return admin_fail(err, &work->topic, work->which.slot, result);
}

/* The others are numbered as if the message's own slot were not there. */
static int32_t other_slot(const struct work *work, int32_t index)
{
    return index < work->which.slot ? index : index + 1;
}

static void elsewhere_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, other_slot(work, index));
    store_rank_elsewhere(call, work->core->redis, &slot, work->rank.score, 0);
}

static enum calls_next elsewhere_done(const struct store_result *result, int32_t index, void *user,
                                      smq_error *err)
{
    struct work *work = user;
    char score[STORE_SCORE_MAX];
    uint64_t count;

    if (result->outcome != STORE_OK || !store_rank_read(&count, score, result)) {
        return admin_fail(err, &work->topic, other_slot(work, index), result);
    }
    work->rank.count += count;
    return CALLS_DONE;
}

/* What does not wait: why not? */
static smq_status tell_why(struct work *work, smq_error *err)
{
    struct seen_page page = {0};
    smq_status status = find(work, &page, err);

    if (status == SMQ_OK && page.paged.count == 0) {
        status = no_message(work, "", err);
    } else if (status == SMQ_OK) {
        switch (page.seen[0].state) {
        case SMQ_WAITING:
            break;
        case SMQ_CLAIMED:
            status = in_work(work, err);
            break;
        case SMQ_RESTING:
            status = no_message(work, ": it failed and rests; it does not wait", err);
            break;
        case SMQ_DEAD:
            status = no_message(work, ": it is dead; it does not wait", err);
            break;
        }
    }
    seen_fini(&page);
    return status;
}

static smq_status rank_everywhere(struct work *work, smq_error *err)
{
    smq_status status = SMQ_OK;

    for (int i = 0; i < MOVED_TRIES && status == SMQ_OK && !work->rank.waits; i++) {
        status = work_run(work, rank_send, rank_done, err);
        if (status == SMQ_OK && !work->rank.waits) {
            status = tell_why(work, err);
        }
    }
    if (status == SMQ_OK && !work->rank.waits) {
        return in_work(work, err);
    }
    if (status != SMQ_OK || work->topic.type == SMQ_FIFO) {
        return status;
    }
    return calls_run(work->core,
                     &(struct calls_job){.count = work->topic.slots - 1,
                                         .user = work,
                                         .send = elsewhere_send,
                                         .done = elsewhere_done},
                     err);
}

smq_status admin_message_rank(uint64_t *out, struct core *core, const char *topic,
                              const smq_message *which, smq_error *err)
{
    struct work work;
    smq_status status = work_begin(&work, core, topic, which, err);

    if (status == SMQ_OK) {
        status = rank_everywhere(&work, err);
    }
    if (status == SMQ_OK) {
        *out = work.rank.count;
    }
    work_end(&work);
    return status;
}

/* --- remove, reschedule --- */

static void edit_send(struct store_call *call, int32_t index, void *user)
{
    struct work *work = user;
    const struct store_seen *seen;

    (void) index;
    work->edit.sends++;
    if (work->edit.when != NULL) {
        store_reschedule(call, work->core->redis, &work->slot, work->which.member,
                         work->which.member_len, work->edit.when, 0);
        return;
    }
    seen = &work->find.page->seen[0];
    store_remove_begin(call, &work->slot, seen->state);
    store_edit_add(call, seen->name, seen->name_len);
    store_edit(call, work->core->redis, 0);
}

/* Gone at a repeated try: removed by the first, whose reply was lost, or claimed meanwhile. */
static enum calls_next edit_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct work *work = user;
    const char *results;

    (void) index;
    if (result->outcome != STORE_OK || !store_edit_read(&results, result, 1)) {
        return admin_fail(err, &work->topic, work->which.slot, result);
    }
    work->edit.done = results[0] == '1';
    work->edit.gone = !work->edit.done && work->edit.when == NULL && work->edit.sends > 1;
    return CALLS_DONE;
}

static smq_status edit(struct work *work, smq_error *err)
{
    work->edit.sends = 0;
    return work_run(work, edit_send, edit_done, err);
}

static smq_status remove_found(struct work *work, struct seen_page *page, smq_error *err)
{
    smq_status status = find(work, page, err);

    if (status == SMQ_OK && page->paged.count == 0 && work->edit.gone) {
        work->edit.done = true;
        return SMQ_OK;
    }
    if (status == SMQ_OK && page->paged.count == 0) {
        return no_message(work, "", err);
    }
    if (status == SMQ_OK && page->seen[0].state == SMQ_CLAIMED) {
        return in_work(work, err);
    }
    return status == SMQ_OK ? edit(work, err) : status;
}

smq_status admin_message_remove(struct core *core, const char *topic, const smq_message *which,
                                smq_error *err)
{
    struct seen_page page = {0};
    struct work work;
    smq_status status = work_begin(&work, core, topic, which, err);

    for (int i = 0; i < MOVED_TRIES && status == SMQ_OK && !work.edit.done; i++) {
        status = remove_found(&work, &page, err);
    }
    if (status == SMQ_OK && !work.edit.done) {
        status = in_work(&work, err);
    }
    seen_fini(&page);
    work_end(&work);
    return status;
}

static smq_status take_place(struct send_place *place, const struct work *work, smq_error *err)
{
    if (work->topic.type == SMQ_FIFO) {
        return status_set(err, SMQ_WRONG_TYPE,
                          "topic %s is of type fifo: its messages have neither time nor priority",
                          work->topic.name);
    }
    return send_place(place, &work->topic, &work->which.message, err);
}

smq_status admin_message_reschedule(struct core *core, const char *topic, const smq_message *which,
                                    smq_error *err)
{
    struct send_place place;
    struct work work;
    smq_status status = work_begin(&work, core, topic, which, err);

    if (status == SMQ_OK) {
        status = take_place(&place, &work, err);
        work.edit.when = place.when;
    }
    for (int i = 0; i < MOVED_TRIES && status == SMQ_OK && !work.edit.done; i++) {
        status = edit(&work, err);
        if (status == SMQ_OK && !work.edit.done) {
            status = tell_why(&work, err);
        }
    }
    if (status == SMQ_OK && !work.edit.done) {
        status = in_work(&work, err);
    }
    work_end(&work);
    return status;
}
