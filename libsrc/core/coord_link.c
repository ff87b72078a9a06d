/* coord_link.c - the link of a client to coordination.
 *
 * Calls of coordination's listener on smq:coord are copied and posted to smq:io.  The answers of
 * smq:io go to coordination through the functions of coord.h.
 *
 * Thread: as each function of coord_link.h says. */
#include "core/coord_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "core/confirmation.h"
#include "core/coord_link_internal.h"
#include "core/core.h"
#include "core/tree_port.h"

static struct coord *coord_link_coord(struct coord_link *link)
{
    struct coord *coord;

    pthread_mutex_lock(&link->state.lock);
    coord = link->state.coord;
    pthread_mutex_unlock(&link->state.lock);
    return coord;
}

/* --- notices of coordination --- */

enum coord_link_notice_kind {
    NOTICE_GRANTED,
    NOTICE_REVOKED,
    NOTICE_LOST,
    NOTICE_FAILED,
    NOTICE_EXPLAINED,
    NOTICE_LEFT
};

/* One call of the listener, posted from smq:coord to smq:io. */
struct coord_link_notice {
    struct loop_task task;
    struct coord_link *link;
    enum coord_link_notice_kind kind;
    char topic[TOPIC_NAME_MAX + 1];
    smq_error why;
    enum coord_no_slot no_slot; /* EXPLAINED */
    size_t count;
    struct coord_grant grants[]; /* the tokens are set for GRANTED only */
};

/* The fingerprint of the cluster has changed, or is known for the first time. */
static void coord_link_on_fingerprint(const struct fingerprint *fingerprint, void *user)
{
    struct coord_link *link = user;

    pthread_mutex_lock(&link->state.lock); /* coordination is not freed while the lock is held */
    if (link->state.coord != NULL) {
        coord_set_fingerprint(link->state.coord, fingerprint);
    }
    pthread_mutex_unlock(&link->state.lock);
}

/* No node of Redis answers, or one answers again. */
static void coord_link_on_reach(bool reached, void *user)
{
    struct coord_link *link = user;

    pthread_mutex_lock(&link->state.lock); /* coordination is not freed while the lock is held */
    if (link->state.coord != NULL) {
        coord_set_reachable(link->state.coord, reached);
    }
    pthread_mutex_unlock(&link->state.lock);
}

static void coord_link_topic_join(struct coord_link *link, struct coord_link_topic *topic)
{
    if (!link->watching) { /* before the first topic, because the member's node is made with it */
        link->watching = true;
        redis_watch_fingerprint(link->core->redis, coord_link_on_fingerprint, link);
        redis_watch_reach(link->core->redis, coord_link_on_reach, link);
    }
    topic->joined = true;
    topic->rejoin = false;
    memcpy(topic->nonce, topic->wanted_nonce, sizeof(topic->nonce));
    coord_join(coord_link_coord(link), &topic->wanted);
    topic->wanted.first_reign = 0; /* another time it is not */
}

static void coord_link_topic_dispatch(const struct coord_link_topic *topic,
                                      const struct coord_link_notice *notice)
{
    const struct coord_link_listener *listener = &topic->listener;

    if (notice->kind == NOTICE_EXPLAINED) {
        listener->explained(listener->user, notice->no_slot);
    }
    for (size_t i = 0; i < notice->count; i++) {
        const struct coord_grant *grant = &notice->grants[i];

        if (notice->kind == NOTICE_GRANTED) {
            listener->granted(listener->user, grant->slot, grant->token);
        } else if (notice->kind == NOTICE_REVOKED) {
            listener->revoked(listener->user, grant->slot);
        } else {
            listener->lost(listener->user, grant->slot);
        }
    }
}

static void coord_link_topic_left(struct coord_link *link, struct coord_link_topic *topic)
{
    topic->joined = false;
    if (!topic->has_listener) {
        LIST_REMOVE(topic, link);
        free(topic);
    } else if (topic->rejoin) {
        coord_link_topic_join(link, topic);
    } else {
        topic->listener.left(topic->listener.user);
    }
}

static void coord_link_topic_failed(struct coord_link *link, struct coord_link_topic *topic,
                                    const smq_error *why)
{
    if (!topic->has_listener || topic->rejoin) {
        coord_link_topic_left(link, topic);
        return;
    }
    topic->joined = false;
    topic->listener.failed(topic->listener.user, why->status, why->text);
}

static void coord_link_on_notice(struct loop_task *task)
{
    struct coord_link_notice *notice = OWNER_OF(task, struct coord_link_notice, task);
    struct coord_link *link = notice->link;
    struct coord_link_topic *topic = coord_link_topic_find(link, notice->topic);
    /* copied, because the topic may be freed in the meantime */
    struct coord_link_listener listener = {0};

    if (topic != NULL && topic->has_listener) {
        listener = topic->listener;
    }
    if (notice->kind == NOTICE_LEFT && topic != NULL) {
        coord_link_topic_left(link, topic);
    } else if (notice->kind == NOTICE_FAILED && topic != NULL) {
        coord_link_topic_failed(link, topic, &notice->why);
    } else if (topic != NULL && topic->has_listener && !topic->rejoin) {
        coord_link_topic_dispatch(topic, notice);
    }
    if (listener.turn != NULL) {
        listener.turn(listener.user);
    }
    free(notice);
    coord_link_unref(link);
}

static struct coord_link_notice *coord_link_notice_new(struct coord_link *link,
                                                       enum coord_link_notice_kind kind,
                                                       const char *topic, size_t count)
{
    struct coord_link_notice *notice =
        memory_new(sizeof(*notice) + count * sizeof(notice->grants[0]));

    atomic_fetch_add(&link->references, 1);
    notice->task.run = coord_link_on_notice;
    notice->link = link;
    notice->kind = kind;
    notice->count = count;
    snprintf(notice->topic, sizeof(notice->topic), "%s", topic);
    return notice;
}

static void coord_link_notice_post(struct coord_link_notice *notice)
{
    loop_post(notice->link->core->io, &notice->task);
}

static void coord_link_on_granted(void *user, const char *topic, const struct coord_grant *grants,
                                  size_t count)
{
    struct coord_link_notice *notice = coord_link_notice_new(user, NOTICE_GRANTED, topic, count);

    memcpy(notice->grants, grants, count * sizeof(*grants));
    coord_link_notice_post(notice);
}

static void coord_link_post_slots(struct coord_link *link, enum coord_link_notice_kind kind,
                                  const char *topic, const int32_t *slots, size_t count)
{
    struct coord_link_notice *notice = coord_link_notice_new(link, kind, topic, count);

    for (size_t i = 0; i < count; i++) {
        notice->grants[i].slot = slots[i];
    }
    coord_link_notice_post(notice);
}

static void coord_link_on_revoked(void *user, const char *topic, const int32_t *slots, size_t count)
{
    coord_link_post_slots(user, NOTICE_REVOKED, topic, slots, count);
}

static void coord_link_on_lost(void *user, const char *topic, const int32_t *slots, size_t count)
{
    coord_link_post_slots(user, NOTICE_LOST, topic, slots, count);
}

static void coord_link_on_failed(void *user, const char *topic, smq_status status, const char *text)
{
    struct coord_link_notice *notice = coord_link_notice_new(user, NOTICE_FAILED, topic, 0);

    status_set(&notice->why, status, "%s", text);
    coord_link_notice_post(notice);
}

static void coord_link_on_left(void *user, const char *topic)
{
    coord_link_notice_post(coord_link_notice_new(user, NOTICE_LEFT, topic, 0));
}

static void coord_link_on_explained(void *user, const char *topic, enum coord_no_slot why)
{
    struct coord_link_notice *notice = coord_link_notice_new(user, NOTICE_EXPLAINED, topic, 0);

    notice->no_slot = why;
    coord_link_notice_post(notice);
}

static void coord_link_on_leased(void *user, int64_t until_ms, int64_t lease_ms)
{
    struct coord_link *link = user;

    atomic_store(&link->membership->valid_ms, lease_ms);
    atomic_store(&link->leased_until_ms, until_ms);
    if (link->core->on_coordination_loss == SMQ_COORDINATION_LOSS_STOP) {
        atomic_store(&link->membership->until_ms, until_ms);
    }
}

static void coord_link_on_not_released(void *user, size_t slots)
{
    struct coord_link *link = user;

    metric_share_add(&link->core->metrics.slots_not_released, slots);
}

/* --- life --- */

struct coord_link *coord_link_new(struct core *core)
{
    struct coord_link *link = memory_new(sizeof(*link));

    link->core = core;
    atomic_init(&link->references, 1);
    link->membership = membership_new();
    pthread_mutex_init(&link->opening, NULL);
    pthread_mutex_init(&link->state.lock, NULL);
    LIST_INIT(&link->topics);
    return link;
}

/* Frees topics for which `left` will never be called, because coordination was closed before. */
static void coord_link_topics_free(struct coord_link *link)
{
    struct coord_link_topic *topic;

    while ((topic = LIST_FIRST(&link->topics)) != NULL) {
        LIST_REMOVE(topic, link);
        free(topic);
    }
}

struct coord_link_closing {
    struct loop_task task;
    struct coord_link *link;
};

/* Runs after the last task that coordination posted, so the topics are no longer used. */
static void coord_link_on_closed(struct loop_task *task)
{
    struct coord_link_closing *closing = OWNER_OF(task, struct coord_link_closing, task);

    redis_watch_fingerprint(closing->link->core->redis, NULL, NULL);
    redis_watch_reach(closing->link->core->redis, NULL, NULL);
    coord_link_topics_free(closing->link);
    coord_link_unref(closing->link);
    free(closing);
}

void coord_link_free(struct coord_link *link)
{
    struct coord_link_closing *closing = memory_new(sizeof(*closing));
    struct coord *coord;

    pthread_mutex_lock(&link->state.lock);
    coord = link->state.coord;
    link->state.coord = NULL;
    pthread_mutex_unlock(&link->state.lock);
    if (coord != NULL) {
        coord_free(coord);
    }
    tree_port_free(link->tree);
    closing->task.run = coord_link_on_closed;
    closing->link = link;
    loop_post(link->core->io, &closing->task);
}

void coord_link_binding(char out[COORD_BINDING_MAX], struct coord_link *link)
{
    *out = '\0';
    pthread_mutex_lock(&link->state.lock);
    if (link->state.coord != NULL) {
        coord_binding(link->state.coord, out);
    }
    pthread_mutex_unlock(&link->state.lock);
}

int64_t coord_link_reign(struct coord_link *link)
{
    return coord_reign(coord_link_coord(link));
}

smq_session coord_link_session(struct coord_link *link)
{
    if (coord_link_coord(link) == NULL) {
        return SMQ_SESSION_NONE;
    }
    return clock_now_ms() < atomic_load(&link->leased_until_ms) ? SMQ_SESSION_LIVE
                                                                : SMQ_SESSION_LOST;
}

static smq_status coord_link_make_coord(struct coord **out, struct coord_link *link, smq_error *err)
{
    struct core *core = link->core;
    struct coord_options options = {.name = core->name,
                                    .servers = core->zookeeper,
                                    .auth = core->zookeeper_auth,
                                    .auth_file = core->zookeeper_auth_file,
                                    .session_timeout_ms = core->session_timeout_ms,
                                    .on_coordination_loss = core->on_coordination_loss,
                                    .events = core->events,
                                    .listener = {.check = coord_link_on_check,
                                                 .granted = coord_link_on_granted,
                                                 .revoked = coord_link_on_revoked,
                                                 .lost = coord_link_on_lost,
                                                 .failed = coord_link_on_failed,
                                                 .left = coord_link_on_left,
                                                 .leased = coord_link_on_leased,
                                                 .not_released = coord_link_on_not_released,
                                                 .explained = coord_link_on_explained,
                                                 .user = link}};

    if (core->root != NULL) {
        link->tree = tree_port_new(core->io, core->redis, core->root);
        options.port = tree_port_door(link->tree);
        options.root = core->root;
    }
    return coord_fleet_new(out, &options, err);
}

smq_status coord_link_open(struct coord_link *link, smq_error *err)
{
    struct coord *coord = NULL;
    smq_status status = SMQ_OK;

    pthread_mutex_lock(&link->opening);
    if (coord_link_coord(link) == NULL) {
        status = coord_link_make_coord(&coord, link, err);
        if (status != SMQ_OK) {
            tree_port_free(link->tree);
            link->tree = NULL;
        }
        pthread_mutex_lock(&link->state.lock);
        link->state.coord = coord;
        pthread_mutex_unlock(&link->state.lock);
    }
    pthread_mutex_unlock(&link->opening);
    return status;
}

/* --- smq:io --- */

bool coord_link_add(struct coord_link *link, const struct topic *topic,
                    const struct coord_link_listener *listener)
{
    struct coord_link_topic *known = coord_link_topic_find(link, topic->name);

    if (known == NULL) {
        known = memory_new(sizeof(*known));
        snprintf(known->name, sizeof(known->name), "%s", topic->name);
        LIST_INSERT_HEAD(&link->topics, known, link);
    }
    if (known->has_listener) {
        return false;
    }
    known->has_listener = true;
    known->listener = *listener;
    if (!known->joined) {
        memcpy(known->nonce, topic->nonce, sizeof(known->nonce));
    }
    return true;
}

void coord_link_remove(struct coord_link *link, const char *name, const void *user)
{
    struct coord_link_topic *topic = coord_link_topic_find(link, name);

    if (topic == NULL || !topic->has_listener || topic->listener.user != user) {
        return;
    }
    topic->has_listener = topic->rejoin = false;
    if (!topic->joined) {
        LIST_REMOVE(topic, link);
        free(topic);
    }
}

void coord_link_join(struct coord_link *link, const struct coord_topic *join)
{
    struct coord_link_topic *topic = coord_link_topic_find(link, join->name);

    snprintf(topic->wanted_nonce, sizeof(topic->wanted_nonce), "%s", join->nonce);
    topic->wanted = *join;
    topic->wanted.name = topic->name;
    topic->wanted.nonce = topic->wanted_nonce;
    if (topic->joined) {
        topic->rejoin = true;
    } else {
        coord_link_topic_join(link, topic);
    }
}

void coord_link_leave(struct coord_link *link, const char *name)
{
    struct coord_link_topic *topic = coord_link_topic_find(link, name);

    /* it was not joined for this listener; only that of the former one is still being left */
    if (topic->rejoin) {
        topic->rejoin = false;
        topic->listener.left(topic->listener.user);
        return;
    }
    coord_leave(coord_link_coord(link), name);
}

void coord_link_answer(struct coord_link *link, enum coord_answer answer, const char *topic,
                       int32_t slot, struct token token)
{
    coord_answer(coord_link_coord(link), answer, topic, slot, token);
}

void coord_link_raise(struct coord_link *link, const char *topic, uint32_t generation)
{
    coord_link_topic_find(link, topic)->wanted.generation = generation;
    coord_raise(coord_link_coord(link), topic, generation);
}

void coord_link_surpassed(struct coord_link *link, const char *topic, struct token token)
{
    coord_surpassed(coord_link_coord(link), topic, token);
}

void coord_link_explain(struct coord_link *link, const char *topic)
{
    coord_explain(coord_link_coord(link), topic);
}

bool coord_link_may_claim(const struct coord_link *link)
{
    return clock_now_ms() < atomic_load(&link->membership->until_ms);
}

struct membership *coord_link_membership(const struct coord_link *link)
{
    return link->membership;
}

void coord_link_invalidate(const struct coord_link *link)
{
    membership_invalidate(link->membership, clock_now_ms());
}
