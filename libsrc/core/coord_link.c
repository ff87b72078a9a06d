/* coord_link.c - the link of one client to coordination.
 *
 * What coordination says on smq:coord is copied and posted to smq:io; answers go the other way by
 * the functions of coord.h.  The lease of a topic without ZooKeeper is kept in Redis for it.
 *
 * Thread: as each function of coord_link.h says. */
#include "core/coord_link.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "coord/coord.h"
#include "core/confirmation.h"
#include "core/core.h"
#include "store/store.h"

/* A topic that this client consumes, or has not yet left.  Invariant: `wanted` is how it was joined
 * last or, while `rejoin` is set, how it is joined next; it points to `name` and `wanted_nonce`.
 * Thread: smq:io. */
struct fleet_topic {
    LIST_ENTRY(fleet_topic) link;
    struct fleet_listener listener;
    bool heard;  /* there is a listener; without one coordination has not yet said `left` */
    bool joined; /* coord_join() was called, and `left` did not come */
    bool rejoin; /* a new listener waits for `left` */
    struct coord_topic wanted;
    char name[TOPIC_NAME_MAX + 1];
    char wanted_nonce[TOPIC_NONCE_LEN + 1];
    char nonce[TOPIC_NONCE_LEN + 1]; /* of the topic that coordination knows */
};

/* It counts references: its hub's, and one of each notice and each lease call on its way. */
struct fleet {
    struct hub *hub;
    atomic_int references;
    struct membership *membership;
    pthread_mutex_t opening; /* held while coordination is joined */
    LIST_HEAD(, fleet_topic) topics;
    struct {
        pthread_mutex_t lock;
        struct coord *coord; /* NULL: not joined yet, or left */
    } state;
};

static void fleet_unref(struct fleet *fleet)
{
    if (atomic_fetch_sub(&fleet->references, 1) == 1) {
        membership_unref(fleet->membership);
        pthread_mutex_destroy(&fleet->opening);
        pthread_mutex_destroy(&fleet->state.lock);
        free(fleet);
    }
}

static struct coord *fleet_coord(struct fleet *fleet)
{
    struct coord *coord;

    pthread_mutex_lock(&fleet->state.lock);
    coord = fleet->state.coord;
    pthread_mutex_unlock(&fleet->state.lock);
    return coord;
}

static struct fleet_topic *topic_find(const struct fleet *fleet, const char *name)
{
    struct fleet_topic *topic;

    LIST_FOREACH(topic, &fleet->topics, link)
    {
        if (strcmp(topic->name, name) == 0) {
            return topic;
        }
    }
    return NULL;
}

/* --- what coordination says --- */

enum fleet_notice_kind { FLEET_GRANTED, FLEET_REVOKED, FLEET_LOST, FLEET_FAILED, FLEET_LEFT };

/* One call of the listener on its way from smq:coord to smq:io. */
struct fleet_notice {
    struct loop_task task;
    struct fleet *fleet;
    enum fleet_notice_kind kind;
    char topic[TOPIC_NAME_MAX + 1];
    smq_error why;
    size_t count;
    struct coord_grant grants[]; /* tokens of GRANTED only */
};

static void topic_join(struct fleet *fleet, struct fleet_topic *topic)
{
    topic->joined = true;
    topic->rejoin = false;
    memcpy(topic->nonce, topic->wanted_nonce, sizeof(topic->nonce));
    coord_join(fleet_coord(fleet), &topic->wanted);
}

static void topic_tell(const struct fleet_topic *topic, const struct fleet_notice *notice)
{
    const struct fleet_listener *listener = &topic->listener;

    for (size_t i = 0; i < notice->count; i++) {
        const struct coord_grant *grant = &notice->grants[i];

        if (notice->kind == FLEET_GRANTED) {
            listener->granted(listener->user, grant->slot, grant->token);
        } else if (notice->kind == FLEET_REVOKED) {
            listener->revoked(listener->user, grant->slot);
        } else {
            listener->lost(listener->user, grant->slot);
        }
    }
}

static void topic_left(struct fleet *fleet, struct fleet_topic *topic)
{
    topic->joined = false;
    if (!topic->heard) {
        LIST_REMOVE(topic, link);
        free(topic);
    } else if (topic->rejoin) {
        topic_join(fleet, topic);
    } else {
        topic->listener.left(topic->listener.user);
    }
}

static void topic_failed(struct fleet *fleet, struct fleet_topic *topic, const smq_error *why)
{
    if (!topic->heard || topic->rejoin) {
        topic_left(fleet, topic);
        return;
    }
    topic->joined = false;
    topic->listener.failed(topic->listener.user, why->status, why->text);
}

static void on_notice(struct loop_task *task)
{
    struct fleet_notice *notice =
        (struct fleet_notice *) ((char *) task - offsetof(struct fleet_notice, task));
    struct fleet *fleet = notice->fleet;
    struct fleet_topic *topic = topic_find(fleet, notice->topic);

    if (notice->kind == FLEET_LEFT && topic != NULL) {
        topic_left(fleet, topic);
    } else if (notice->kind == FLEET_FAILED && topic != NULL) {
        topic_failed(fleet, topic, &notice->why);
    } else if (topic != NULL && topic->heard && !topic->rejoin) {
        topic_tell(topic, notice);
    }
    free(notice);
    fleet_unref(fleet);
}

static struct fleet_notice *notice_new(struct fleet *fleet, enum fleet_notice_kind kind,
                                       const char *topic, size_t count)
{
    struct fleet_notice *notice = memory_new(sizeof(*notice) + count * sizeof(notice->grants[0]));

    atomic_fetch_add(&fleet->references, 1);
    notice->task.run = on_notice;
    notice->fleet = fleet;
    notice->kind = kind;
    notice->count = count;
    snprintf(notice->topic, sizeof(notice->topic), "%s", topic);
    return notice;
}

static void notice_post(struct fleet_notice *notice)
{
    loop_post(notice->fleet->hub->io, &notice->task);
}

static void on_granted(void *user, const char *topic, const struct coord_grant *grants,
                       size_t count)
{
    struct fleet_notice *notice = notice_new(user, FLEET_GRANTED, topic, count);

    memcpy(notice->grants, grants, count * sizeof(*grants));
    notice_post(notice);
}

static void post_slots(struct fleet *fleet, enum fleet_notice_kind kind, const char *topic,
                       const int32_t *slots, size_t count)
{
    struct fleet_notice *notice = notice_new(fleet, kind, topic, count);

    for (size_t i = 0; i < count; i++) {
        notice->grants[i].slot = slots[i];
    }
    notice_post(notice);
}

static void on_revoked(void *user, const char *topic, const int32_t *slots, size_t count)
{
    post_slots(user, FLEET_REVOKED, topic, slots, count);
}

static void on_lost(void *user, const char *topic, const int32_t *slots, size_t count)
{
    post_slots(user, FLEET_LOST, topic, slots, count);
}

static void on_failed(void *user, const char *topic, smq_status status, const char *text)
{
    struct fleet_notice *notice = notice_new(user, FLEET_FAILED, topic, 0);

    status_set(&notice->why, status, "%s", text);
    notice_post(notice);
}

static void on_left(void *user, const char *topic)
{
    notice_post(notice_new(user, FLEET_LEFT, topic, 0));
}

static void on_leased(void *user, int64_t until_ms, int64_t lease_ms)
{
    struct fleet *fleet = user;

    atomic_store(&fleet->membership->trust_ms, lease_ms);
    if (fleet->hub->on_zk_loss == SMQ_ZK_LOSS_STOP) {
        atomic_store(&fleet->membership->until_ms, until_ms);
    }
}

/* --- what coordination asks --- */

/* topic{T} is lost, as `text` says, or is there (NULL). */
static void fleet_tell_definition(const struct fleet *fleet, const char *name, const char *text)
{
    const struct fleet_topic *topic = topic_find(fleet, name);

    if (topic != NULL && topic->heard) {
        topic->listener.damaged(topic->listener.user, text);
    }
}

/* Is the topic still the same, and bound to the fleet of `binding`? */
struct fleet_check {
    struct loop_task task;
    struct fleet *fleet;
    struct store_call call;
    char topic[TOPIC_NAME_MAX + 1];
    char binding[COORD_BINDING_MAX];
};

static void check_reply(struct fleet_check *check, smq_status status, const char *text)
{
    struct fleet *fleet = check->fleet;

    pthread_mutex_lock(&fleet->state.lock); /* coordination is there as long as we hold it */
    if (fleet->state.coord != NULL) {
        coord_checked(fleet->state.coord, check->topic, status, text);
    }
    pthread_mutex_unlock(&fleet->state.lock);
    store_call_fini(&check->call);
    free(check);
    fleet_unref(fleet);
}

/* NO_TOPIC only when the creation is gone: one whose topic{T} is lost is asked for again, until it
 * is repaired, and so is one whose deletion may be taken back. */
static void on_check_definition(const struct topic *topic, smq_status status, const char *text,
                                void *user)
{
    struct fleet_check *check = user;
    const struct fleet_topic *found = topic_find(check->fleet, check->topic);
    bool gone = status == SMQ_NO_TOPIC || found == NULL ||
                (status == SMQ_OK && strcmp(topic->nonce, found->nonce) != 0);

    if (status == SMQ_DAMAGED) {
        fleet_tell_definition(check->fleet, check->topic, text);
    }
    check_reply(check, gone ? SMQ_NO_TOPIC : SMQ_UNAVAILABLE, "");
}

static void on_bound(struct store_call *call, const struct store_result *result)
{
    struct fleet_check *check = call->user;
    char bound[FLEET_KIND_MAX] = "";
    smq_status status = result->status;

    if (result->outcome == STORE_NO_TOPIC) {
        definitions_read(check->fleet->hub->definitions, check->topic, on_check_definition, check);
        return;
    }
    if (result->outcome == STORE_OK) {
        fleet_tell_definition(check->fleet, check->topic, NULL);
    }
    if (status == SMQ_OTHER_FLEET && !store_bound_read(bound, sizeof(bound), result)) {
        status = SMQ_INTERNAL;
    } else if (result->outcome == STORE_REFUSED && status == SMQ_NO_TOPIC) {
        status = SMQ_UNAVAILABLE; /* it is being deleted, which may be taken back */
    }
    check_reply(check, status, bound);
}

static void on_check_task(struct loop_task *task)
{
    struct fleet_check *check =
        (struct fleet_check *) ((char *) task - offsetof(struct fleet_check, task));
    struct hub *hub = check->fleet->hub;
    const struct fleet_topic *topic = topic_find(check->fleet, check->topic);

    if (topic == NULL) {
        check_reply(check, SMQ_NO_TOPIC, "");
        return;
    }
    store_bind(&check->call, hub->redis, topic->name, topic->nonce, check->binding,
               hub->request_timeout_ms);
}

static void on_check(void *user, const char *topic, const char *binding)
{
    struct fleet *fleet = user;
    struct fleet_check *check = memory_new(sizeof(*check));

    atomic_fetch_add(&fleet->references, 1);
    check->task.run = on_check_task;
    check->fleet = fleet;
    store_call_init(&check->call, on_bound, check);
    snprintf(check->topic, sizeof(check->topic), "%s", topic);
    snprintf(check->binding, sizeof(check->binding), "%s", binding);
    loop_post(fleet->hub->io, &check->task);
}

/* --- the lease of a topic without ZooKeeper --- */

struct fleet_lease {
    struct loop_task task;
    struct fleet *fleet;
    struct store_call call;
    enum coord_lease_op op;
    uint64_t cookie;
    char topic[TOPIC_NAME_MAX + 1];
    char *owner;
};

static void lease_reply(struct fleet_lease *lease, const struct coord_lease_reply *reply)
{
    struct fleet *fleet = lease->fleet;

    pthread_mutex_lock(&fleet->state.lock); /* coordination is there as long as we hold it */
    if (fleet->state.coord != NULL) {
        coord_lease_replied(fleet->state.coord, lease->cookie, reply);
    }
    pthread_mutex_unlock(&fleet->state.lock);
    store_call_fini(&lease->call);
    free(lease->owner);
    free(lease);
    fleet_unref(fleet);
}

/* A lease that is not there because topic{T} is lost is asked for again, until it is repaired. */
static void on_lease_definition(const struct topic *topic, smq_status status, const char *text,
                                void *user)
{
    struct fleet_lease *lease = user;
    bool gone = status == SMQ_NO_TOPIC;

    (void) topic;
    if (status == SMQ_DAMAGED) {
        fleet_tell_definition(lease->fleet, lease->topic, text);
    }
    lease_reply(lease,
                &(struct coord_lease_reply){.status = gone ? SMQ_NO_TOPIC : SMQ_UNAVAILABLE});
}

static void on_lease_reply(struct store_call *call, const struct store_result *result)
{
    struct fleet_lease *lease = call->user;
    struct coord_lease_reply reply = {.status = result->status};

    if (result->outcome == STORE_NO_TOPIC) {
        definitions_read(lease->fleet->hub->definitions, lease->topic, on_lease_definition, lease);
        return;
    }
    if (result->outcome == STORE_OK) {
        fleet_tell_definition(lease->fleet, lease->topic, NULL);
    }
    if ((result->status == SMQ_OK || result->status == SMQ_IN_WORK) &&
        !store_lease_read(&reply.token, &reply.remaining_ms, result)) {
        reply.status = SMQ_INTERNAL;
    }
    lease_reply(lease, &reply);
}

static enum store_lease_op lease_op(enum coord_lease_op op)
{
    switch (op) {
    case COORD_LEASE_ACQUIRE:
        return STORE_LEASE_ACQUIRE;
    case COORD_LEASE_RENEW:
        return STORE_LEASE_RENEW;
    case COORD_LEASE_RELEASE:
        break;
    }
    return STORE_LEASE_RELEASE;
}

static int64_t topic_lease_ms(const struct hub *hub)
{
    return hub->session_timeout_ms * 3 / 2;
}

static void on_lease_task(struct loop_task *task)
{
    struct fleet_lease *lease =
        (struct fleet_lease *) ((char *) task - offsetof(struct fleet_lease, task));
    struct hub *hub = lease->fleet->hub;
    struct fleet_topic *topic = topic_find(lease->fleet, lease->topic);

    if (topic == NULL) {
        lease_reply(lease, &(struct coord_lease_reply){.status = SMQ_NO_TOPIC});
        return;
    }
    store_lease(&lease->call, hub->redis, topic->name, topic->nonce, lease_op(lease->op),
                lease->owner, topic_lease_ms(hub), hub->request_timeout_ms);
}

static void on_lease(void *user, enum coord_lease_op op, const char *topic, const char *owner,
                     uint64_t cookie)
{
    struct fleet *fleet = user;
    struct fleet_lease *lease = memory_new(sizeof(*lease));

    atomic_fetch_add(&fleet->references, 1);
    lease->task.run = on_lease_task;
    lease->fleet = fleet;
    lease->op = op;
    lease->cookie = cookie;
    store_call_init(&lease->call, on_lease_reply, lease);
    snprintf(lease->topic, sizeof(lease->topic), "%s", topic);
    lease->owner = memory_string(owner);
    loop_post(fleet->hub->io, &lease->task);
}

/* --- life --- */

struct fleet *fleet_new(struct hub *hub)
{
    struct fleet *fleet = memory_new(sizeof(*fleet));

    fleet->hub = hub;
    atomic_init(&fleet->references, 1);
    fleet->membership = membership_new();
    pthread_mutex_init(&fleet->opening, NULL);
    pthread_mutex_init(&fleet->state.lock, NULL);
    LIST_INIT(&fleet->topics);
    return fleet;
}

/* What stays after coordination was left early: nobody will say `left`. */
static void topics_free(struct fleet *fleet)
{
    struct fleet_topic *topic;

    while ((topic = LIST_FIRST(&fleet->topics)) != NULL) {
        LIST_REMOVE(topic, link);
        free(topic);
    }
}

struct fleet_closing {
    struct loop_task task;
    struct fleet *fleet;
};

/* After the last task that coordination posted: nothing looks at the topics any more. */
static void on_closed(struct loop_task *task)
{
    struct fleet_closing *closing =
        (struct fleet_closing *) ((char *) task - offsetof(struct fleet_closing, task));

    topics_free(closing->fleet);
    fleet_unref(closing->fleet);
    free(closing);
}

void fleet_free(struct fleet *fleet)
{
    struct fleet_closing *closing = memory_new(sizeof(*closing));
    struct coord *coord;

    pthread_mutex_lock(&fleet->state.lock);
    coord = fleet->state.coord;
    fleet->state.coord = NULL;
    pthread_mutex_unlock(&fleet->state.lock);
    if (coord != NULL) {
        coord_free(coord);
    }
    closing->task.run = on_closed;
    closing->fleet = fleet;
    loop_post(fleet->hub->io, &closing->task);
}

void fleet_kind(char out[FLEET_KIND_MAX], struct fleet *fleet)
{
    *out = '\0';
    pthread_mutex_lock(&fleet->state.lock);
    if (fleet->state.coord != NULL) {
        coord_binding(fleet->state.coord, out);
    }
    pthread_mutex_unlock(&fleet->state.lock);
}

static smq_status make_coord(struct coord **out, struct fleet *fleet, smq_error *err)
{
    struct hub *hub = fleet->hub;
    struct coord_options options = {.name = hub->name,
                                    .servers = hub->zookeeper,
                                    .auth = hub->zookeeper_auth,
                                    .session_timeout_ms = hub->session_timeout_ms,
                                    .on_zk_loss = hub->on_zk_loss,
                                    .events = hub->events,
                                    .listener = {.check = on_check,
                                                 .granted = on_granted,
                                                 .revoked = on_revoked,
                                                 .lost = on_lost,
                                                 .failed = on_failed,
                                                 .left = on_left,
                                                 .leased = on_leased,
                                                 .user = fleet}};

    if (hub->zookeeper != NULL) {
        return coord_zookeeper_new(out, &options, err);
    }
    atomic_store(&fleet->membership->trust_ms, topic_lease_ms(hub) * 2 / 3);
    return coord_standalone_new(out, &options, on_lease, fleet, err);
}

smq_status fleet_open(struct fleet *fleet, smq_error *err)
{
    struct coord *coord = NULL;
    smq_status status = SMQ_OK;

    pthread_mutex_lock(&fleet->opening);
    if (fleet_coord(fleet) == NULL) {
        status = make_coord(&coord, fleet, err);
        pthread_mutex_lock(&fleet->state.lock);
        fleet->state.coord = coord;
        pthread_mutex_unlock(&fleet->state.lock);
    }
    pthread_mutex_unlock(&fleet->opening);
    return status;
}

/* --- smq:io --- */

bool fleet_add(struct fleet *fleet, const struct topic *topic,
               const struct fleet_listener *listener)
{
    struct fleet_topic *known = topic_find(fleet, topic->name);

    if (known == NULL) {
        known = memory_new(sizeof(*known));
        snprintf(known->name, sizeof(known->name), "%s", topic->name);
        LIST_INSERT_HEAD(&fleet->topics, known, link);
    }
    if (known->heard) {
        return false;
    }
    known->heard = true;
    known->listener = *listener;
    if (!known->joined) {
        memcpy(known->nonce, topic->nonce, sizeof(known->nonce));
    }
    return true;
}

void fleet_remove(struct fleet *fleet, const char *name, const void *user)
{
    struct fleet_topic *topic = topic_find(fleet, name);

    if (topic == NULL || !topic->heard || topic->listener.user != user) {
        return;
    }
    topic->heard = topic->rejoin = false;
    if (!topic->joined) {
        LIST_REMOVE(topic, link);
        free(topic);
    }
}

void fleet_join(struct fleet *fleet, const struct coord_topic *join)
{
    struct fleet_topic *topic = topic_find(fleet, join->name);

    snprintf(topic->wanted_nonce, sizeof(topic->wanted_nonce), "%s", join->nonce);
    topic->wanted = *join;
    topic->wanted.name = topic->name;
    topic->wanted.nonce = topic->wanted_nonce;
    if (topic->joined) {
        topic->rejoin = true;
    } else {
        topic_join(fleet, topic);
    }
}

void fleet_leave(struct fleet *fleet, const char *name)
{
    struct fleet_topic *topic = topic_find(fleet, name);

    if (topic->rejoin) { /* it was never joined: that of the former listener is still left */
        topic->rejoin = false;
        topic->listener.left(topic->listener.user);
        return;
    }
    coord_leave(fleet_coord(fleet), name);
}

void fleet_acquired(struct fleet *fleet, const char *topic, int32_t slot, struct token token)
{
    coord_acquired(fleet_coord(fleet), topic, slot, token);
}

void fleet_refused(struct fleet *fleet, const char *topic, int32_t slot, struct token token)
{
    coord_refused(fleet_coord(fleet), topic, slot, token);
}

void fleet_released(struct fleet *fleet, const char *topic, int32_t slot, struct token token)
{
    coord_released(fleet_coord(fleet), topic, slot, token);
}

void fleet_raise(struct fleet *fleet, const char *topic, uint32_t generation)
{
    topic_find(fleet, topic)->wanted.generation = generation;
    coord_raise(fleet_coord(fleet), topic, generation);
}

bool fleet_may_claim(const struct fleet *fleet)
{
    return clock_now_ms() < atomic_load(&fleet->membership->until_ms);
}

struct membership *fleet_membership(const struct fleet *fleet)
{
    return fleet->membership;
}

void fleet_doubt(const struct fleet *fleet)
{
    membership_doubt(fleet->membership, clock_now_ms());
}
